//! `dump`: any room's output as JSON lines.

use crate::DumpRoom;
use crate::error::Error;
use crate::file::Files;
use crate::output::{printable, written};
use crate::paths::find;
use quiclens_core::catalogue::Catalogue;
use quiclens_core::tables::Tables;
use serde_json::json;
use std::collections::BTreeMap;
use std::io::{self, Write};
use std::path::PathBuf;

/// Prints what `room` makes of the files.
pub fn run(paths: &[PathBuf], room: DumpRoom) -> Result<(), Error> {
    let catalogue = Catalogue::load().map_err(Error::internal)?;
    let search = find(paths);
    let refused = search.refused.into_iter().map(|(path, reason)| (path, Some(reason)));
    for (path, refused) in search.files.into_iter().map(|path| (path, None)).chain(refused) {
        let mut lines = Vec::new();
        let mut stored = Vec::new();
        let mut flush = |tables: &mut Tables, all: bool| match room {
            DumpRoom::Records => {
                for batch in tables.batches(&catalogue, all).map_err(Error::internal)? {
                    let mut bytes = Vec::new();
                    batch.encode(&mut bytes).map_err(Error::internal)?;
                    let bytes = bytes.len();
                    lines
                        .push(json!({"table": batch.table, "rows": batch.rows.num_rows(), "bytes": bytes}).to_string());
                }
                Ok(())
            }
            DumpRoom::Events => {
                if let Some(batch) = tables.events.flush().map_err(Error::internal)? {
                    let mut bytes = Vec::new();
                    batch.encode(&mut bytes).map_err(Error::internal)?;
                    stored.push(bytes);
                }
                Ok(())
            }
            DumpRoom::Summaries | DumpRoom::Check => Ok(()),
        };
        let mut files = Files::new(&catalogue, matches!(room, DumpRoom::Records | DumpRoom::Events), &mut flush);
        files.tables.unread = matches!(room, DumpRoom::Check).then(BTreeMap::new);
        let name = path.to_string_lossy();
        match refused {
            Some(reason) => files.whole_file(&name, reason, b""),
            None => files.open(&path, paths).map_or(Ok(()), |file| files.read(&name, &file))?,
        }
        let Files { mut tables, flush, .. } = files;
        flush(&mut tables, true)?;
        lines.extend(crate::export::plain(&stored, &tables.connections)?);
        let mut out = io::stdout().lock();
        let write = |out: &mut io::StdoutLock<'_>, line: &str| written(writeln!(out, "{}", printable(line)));
        for line in &lines {
            write(&mut out, line)?;
        }
        match room {
            DumpRoom::Summaries => {
                for (table, rows) in [
                    ("connections", &tables.connections),
                    ("streams", &tables.streams),
                    ("episodes", &tables.episodes),
                    ("connection_aliases", &tables.aliases),
                    ("rejects", &tables.rejects),
                ] {
                    for row in rows {
                        write(&mut out, &json!({"table": table, "row": row}).to_string())?;
                    }
                }
            }
            DumpRoom::Check => {
                let unread = tables.unread.unwrap_or_default();
                // Requests of each trace by how far their answers can be trusted.
                let mut grades = BTreeMap::<&str, BTreeMap<&str, u64>>::new();
                for row in &tables.streams {
                    let of_trace = grades.entry(row.text("trace_id").unwrap_or_default()).or_default();
                    *of_trace.entry(row.text("grade").unwrap_or_default()).or_default() += 1;
                }
                for ((key, abilities, events), row) in tables.abilities.iter().zip(&tables.connections) {
                    let text = |name| row.text(name).unwrap_or("");
                    let requests = row.whole("requests");
                    let line = json!({
                        "file": path, "connection_id": key.connection_id, "trace_id": key.trace_id, "vantage": key.vantage,
                        "stack": text("stack"), "dialect": text("dialect"), "serialization": text("serialization"),
                        "events": events, "requests": requests, "causes": abilities,
                        "damage": row.get("damage"), "grades": grades.get(key.trace_id.as_str()),
                        "unread": unread.get(&key.trace_id),
                    });
                    write(&mut out, &line.to_string())?;
                }
                for row in &tables.rejects {
                    write(
                        &mut out,
                        &json!({"file": path, "rejected": row.get("reason"), "offset": row.get("offset")}).to_string(),
                    )?;
                }
            }
            DumpRoom::Events | DumpRoom::Records => {}
        }
    }
    Ok(())
}
