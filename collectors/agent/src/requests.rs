//! Access logs to rows of `request_lines`.

use crate::error::Error;
use crate::file::{Files, kept};
use crate::passing::{Passing, pass};
use crate::records::{Turn, torn};
use quiclens_core::reader::records::{RecordStep, Window, next_record};
use quiclens_core::reader::skip::Skip;
use quiclens_core::reader::sniff::Framing;
use quiclens_core::record::columns::request_lines;
use quiclens_core::tables::Tables;
use quiclens_core::trace::Reject;
use quiclens_edge::access_format::{AccessFormatConfig, Format, Line};
use quiclens_edge::deployment::Deployment;
use serde::{Deserialize, Serialize};
use std::fs::File;
use std::sync::Arc;
use xxhash_rust::xxh3::{xxh3_64, xxh3_64_with_seed};

/// One log's lines to rows: its format, and who looks its clients up.
pub struct LineReader {
    format: Format,
    deployment: Option<Arc<Deployment>>,
    host: String,
}

impl LineReader {
    /// The error says what in the format cannot be used. `is_redacting` holds where the format does not say. `host` is
    /// where the logs are written, empty where nobody says.
    pub fn new(
        format: &AccessFormatConfig,
        is_redacting: bool,
        deployment: Option<Arc<Deployment>>,
        host: &str,
    ) -> Result<Self, Error> {
        let redact = format.redact.or(Some(is_redacting));
        Ok(Self {
            format: Format::compile(&AccessFormatConfig { redact, ..format.clone() }).map_err(Error::configuration)?,
            deployment,
            host: host.to_owned(),
        })
    }

    /// What names a log with this first line. Logs of two hosts often begin with one line: a health check of one balancer
    /// in one second.
    fn log_id(&self, line: &[u8]) -> String {
        let seed = if self.host.is_empty() { 0 } else { xxh3_64(self.host.as_bytes()) };
        format!("{:016x}", xxh3_64_with_seed(line, seed))
    }

    fn read(&self, line: &[u8]) -> Result<Line, Skip> {
        let mut read = self.format.read(line)?;
        if let Some(deployment) = &self.deployment {
            deployment.enrich_line(&mut read);
        }
        Ok(read)
    }
}

/// The lines of one access log, whole or growing.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Lines {
    name: String,
    log_id: Option<String>,
    /// Lines that became rows.
    pub count: u64,
    /// A line longer than the limit, of which the end has not come.
    passing: Option<Passing>,
}

impl Lines {
    /// Of a log called `name`.
    pub fn new(name: &str) -> Self {
        Self { name: name.to_owned(), log_id: None, count: 0, passing: None }
    }

    /// A log has had a line.
    pub fn has_begun(&self) -> bool {
        self.log_id.is_some()
    }

    /// Takes the next line out of the window.
    pub fn next(&mut self, reader: &LineReader, window: &mut Window, tables: &mut Tables) -> Turn {
        if self.passing.is_some() {
            return self.pass(window, tables);
        }
        match next_record(Framing::NdJson, window) {
            RecordStep::NeedMore => Turn::NeedMore,
            RecordStep::Record { len, taken } => {
                self.take(reader, window.offset(), &window.rest()[..len], tables);
                window.consume(taken);
                Turn::Taken
            }
            RecordStep::TooLong => {
                self.passing = Some(Passing::begin(Skip::TooLong, window.offset()));
                self.pass(window, tables)
            }
            RecordStep::Done => Turn::Over,
        }
    }

    /// What is left of the window is the beginning of a line, whose end will not come. `let_go`: see [`torn`].
    pub fn tear(&mut self, window: &mut Window, let_go: u64, tables: &mut Tables) {
        if let Some(reject) = torn(window, let_go) {
            tables.reject(self.log_id.as_deref().unwrap_or(""), &reject, &self.name, "", None);
        }
    }

    fn pass(&mut self, window: &mut Window, tables: &mut Tables) -> Turn {
        let Some(reject) = pass(&mut self.passing, window, b'\n') else { return Turn::NeedMore };
        tables.reject(self.log_id.as_deref().unwrap_or(""), &reject, &self.name, "", None);
        Turn::Taken
    }

    /// Takes one line that stands at `offset`.
    fn take(&mut self, reader: &LineReader, offset: u64, line: &[u8], tables: &mut Tables) {
        if line.iter().all(u8::is_ascii_whitespace) {
            return;
        }
        let log_id = self.log_id.get_or_insert_with(|| reader.log_id(line));
        match reader.read(line) {
            Ok(Line { mut row, values_unread, .. }) => {
                row.set(request_lines::LOG_ID, log_id.as_str());
                row.set(request_lines::OFFSET, offset);
                tables.request_lines.push(row);
                tables.values_unread += values_unread;
                self.count += 1;
            }
            Err(reason) => {
                let reject = Reject { reason: Some(reason), offset, length: line.len() as u64, bytes: kept(line) };
                tables.reject(log_id, &reject, &self.name, "", None);
            }
        }
    }
}

impl Files<'_, '_> {
    /// Reads one access log; gives the number of its lines that became rows.
    pub fn read_requests(&mut self, name: &str, file: &Arc<File>, reader: &LineReader) -> Result<u64, Error> {
        let mut lines = Lines::new(name);
        let Some(mut reading) = self.begin(name, file) else { return Ok(0) };
        loop {
            match lines.next(reader, &mut reading.window, &mut self.tables) {
                Turn::NeedMore => {
                    (self.breathe)()?;
                    reading.fill();
                }
                Turn::Taken => self.grown()?,
                Turn::Over => break,
            }
        }
        self.end_of(name, reading);
        if !lines.has_begun() && file.metadata().is_ok_and(|data| data.len() == 0) {
            self.whole_file(name, Skip::EmptyFile, b"");
        }
        Ok(lines.count)
    }
}
