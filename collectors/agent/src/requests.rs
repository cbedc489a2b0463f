//! Access logs to rows of `request_lines`.

use crate::file::{Files, kept, read_lines};
use quiclens_core::access_log;
use quiclens_core::reader::skip::Skip;
use quiclens_core::trace::Reject;
use std::path::Path;
use xxhash_rust::xxh3::xxh3_64;

impl Files<'_, '_> {
    /// Reads one access log; gives the number of its lines that became rows.
    pub fn read_requests(&mut self, path: &Path) -> Result<u64, String> {
        let name = path.to_string_lossy().into_owned();
        let catalogue = self.catalogue;
        let columns = catalogue.columns("request_lines");
        let (mut log_id, mut lines) = (None, 0);
        read_lines(self, path, |files, offset, line| {
            if line.iter().all(u8::is_ascii_whitespace) {
                return Ok(());
            }
            let log_id = log_id.get_or_insert_with(|| format!("{:016x}", xxh3_64(line)));
            match access_log::read(columns, line) {
                Ok(mut row) => {
                    row.set("log_id", log_id.as_str());
                    row.set("offset", offset);
                    files.tables.request_lines.push(row);
                    lines += 1;
                }
                Err(reason) => {
                    let reject = Reject { reason: Some(reason), offset, length: line.len() as u64, bytes: kept(line) };
                    files.tables.reject(log_id, &reject, &name, "", None);
                }
            }
            files.grown()
        })?;
        if lines == 0 && log_id.is_none() {
            let known = path.metadata().is_ok_and(|data| data.len() == 0);
            if known {
                self.whole_file(&name, Skip::EmptyFile, b"");
            }
        }
        Ok(lines)
    }
}
