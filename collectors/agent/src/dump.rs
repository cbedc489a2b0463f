//! `dump`: any room's output as JSON lines.

use crate::DumpRoom;
use crate::error::Error;
use crate::file::Files;
use crate::output::{printable, written};
use crate::paths::{FolderLinks, find};
use quiclens_core::catalogue::Catalogue;
use quiclens_core::record::columns::{SummaryTable, connections, rejects, streams};
use quiclens_core::record::rows::Row;
use quiclens_core::tables::Tables;
use serde_json::json;
use std::collections::BTreeMap;
use std::io::{self, Write};
use std::path::PathBuf;

/// Prints what `room` makes of the files.
pub fn run(paths: &[PathBuf], room: DumpRoom) -> Result<(), Error> {
    let catalogue = Catalogue::load().map_err(Error::internal)?;
    let search = find(paths, FolderLinks::Followed);
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
        for line in &lines {
            write_line(&mut out, line)?;
        }
        match room {
            DumpRoom::Summaries => {
                write_rows(&mut out, &tables.connections)?;
                write_rows(&mut out, &tables.streams)?;
                write_rows(&mut out, &tables.episodes)?;
                write_rows(&mut out, &tables.aliases)?;
                write_rows(&mut out, &tables.rejects)?;
            }
            DumpRoom::Check => {
                let unread = tables.unread.unwrap_or_default();
                // Requests of each trace by how far their answers can be trusted.
                let mut grades = BTreeMap::<&str, BTreeMap<&str, u64>>::new();
                for row in &tables.streams {
                    let of_trace = grades.entry(row.text(streams::TRACE_ID).unwrap_or_default()).or_default();
                    *of_trace.entry(row.text(streams::GRADE).unwrap_or_default()).or_default() += 1;
                }
                for ((key, abilities, events), row) in tables.abilities.iter().zip(&tables.connections) {
                    let text = |column| row.text(column).unwrap_or("");
                    let requests = row.whole(connections::REQUESTS);
                    let line = json!({
                        "file": path, "connection_id": key.connection_id, "trace_id": key.trace_id, "vantage": key.vantage,
                        "stack": text(connections::STACK), "dialect": text(connections::DIALECT), "serialization": text(connections::SERIALIZATION),
                        "events": events, "requests": requests, "causes": abilities,
                        "damage": row.get(connections::DAMAGE), "grades": grades.get(key.trace_id.as_str()),
                        "unread": unread.get(&key.trace_id),
                    });
                    write_line(&mut out, &line.to_string())?;
                }
                for row in &tables.rejects {
                    write_line(
                        &mut out,
                        &json!({"file": path, "rejected": row.get(rejects::REASON), "offset": row.get(rejects::OFFSET)}).to_string(),
                    )?;
                }
            }
            DumpRoom::Events | DumpRoom::Records => {}
        }
    }
    Ok(())
}

fn write_line(out: &mut impl Write, line: &str) -> Result<(), Error> {
    written(writeln!(out, "{}", printable(line)))
}

fn write_rows<T: SummaryTable>(out: &mut impl Write, rows: &[Row<T>]) -> Result<(), Error> {
    rows.iter().try_for_each(|row| write_line(out, &json!({"table": T::NAME, "row": row}).to_string()))
}
