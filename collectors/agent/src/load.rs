//! `load`: files to framed Arrow batches, once.
//!
//! A frame is one line of JSON; after one with `table` come `bytes` bytes of an Arrow IPC stream.

use crate::error::{Error, FailureKind};
use crate::file::Files;
use crate::output::written;
use crate::paths::{FolderLinks, find};
use crate::requests::LineReader;
use quiclens_core::catalogue::Catalogue;
use quiclens_core::client::Edge;
use quiclens_core::crossed::crossed;
use quiclens_core::tables::Tables;
use quiclens_edge::access_format::{AccessFormatConfig, Preset};
use quiclens_edge::deployment::Deployment;
use quiclens_edge::enrich::EnrichConfig;
use serde_json::json;
use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::{Duration, Instant};

/// How often progress is told.
const PROGRESS: Duration = Duration::from_millis(200);

/// Reads everything under `paths` and the access logs, and writes batches to `sink`. With a secret file, clients get
/// keys that join the access-log lines and the traces of one client; nothing else is looked up. Redaction is on only
/// with `is_redacting`, or where the format of the access logs asks for it. `host` is where the access logs were written.
pub fn run(
    paths: &[PathBuf],
    requests: &[PathBuf],
    format: Option<&Path>,
    host: &str,
    client_secret: Option<&Path>,
    is_redacting: bool,
    sink: &str,
) -> Result<(), Error> {
    if sink != "-" {
        return Err(Error::configuration(format!("unknown sink {sink}: only - (standard output) is known to load")));
    }
    let needs_one = is_redacting || client_secret.is_some();
    let deployment = needs_one.then(|| deployment(client_secret, is_redacting)).transpose()?;
    let reader = line_reader(format, is_redacting, deployment.clone(), host)?;
    let started = Instant::now();
    let catalogue = Catalogue::load().map_err(Error::internal)?;
    let search = find(paths, FolderLinks::Followed);
    let total: u64 =
        search.files.iter().chain(requests).filter_map(|path| path.metadata().ok()).map(|data| data.len()).sum();
    let mut out = io::BufWriter::with_capacity(1 << 20, io::stdout().lock());
    let mut told = Instant::now();
    let mut bytes = Vec::new();
    let shared = std::cell::RefCell::new(&mut out);
    let mut flush = |tables: &mut Tables, all: bool| -> Result<(), Error> {
        while let Some(batch) = tables
            .next_batch(&catalogue, all)
            .map_err(|error| Error::internal(format!("cannot build a batch: {error}")))?
        {
            batch
                .encode(&mut bytes)
                .map_err(|error| Error::internal(format!("cannot encode {}: {error}", batch.table)))?;
            let frame = json!({"table": batch.table, "rows": batch.rows.num_rows(), "bytes": bytes.len()});
            let mut out = shared.borrow_mut();
            written(writeln!(out, "{frame}").and_then(|()| out.write_all(&bytes)))?;
        }
        Ok(())
    };
    let mut files = Files::new(&catalogue, true, &mut flush);
    files.tables.edge = deployment.map(|deployment| deployment as Arc<dyn Edge>);
    for (path, reason) in &search.refused {
        files.whole_file(&path.to_string_lossy(), *reason, b"");
    }
    let mut done = 0u64;
    let mut lines = 0u64;
    let all = search.files.len() + requests.len();
    for (index, path) in search.files.iter().chain(requests).enumerate() {
        let is_trace = index < search.files.len();
        if let Some(file) = files.open(path, if is_trace { paths } else { requests }) {
            let name = path.to_string_lossy();
            if is_trace {
                files.read(&name, &file)?;
            } else {
                lines += files.read_requests(&name, &file, &reader)?;
            }
        }
        done += path.metadata().map_or(0, |data| data.len());
        if told.elapsed() >= PROGRESS {
            told = Instant::now();
            let progress = json!({"progress": {
                "files": index + 1, "files_total": all, "bytes": done, "bytes_total": total,
                "events": files.tables.counted, "rejected": files.tables.rejected.values().sum::<u64>(),
            }});
            let mut out = shared.borrow_mut();
            written(writeln!(out, "{progress}").and_then(|()| out.flush()))?;
        }
    }
    let Files { mut tables, bytes, files: opened, flush, .. } = files;
    flush(&mut tables, true)?;
    let summary = json!({"summary": {
        "files": opened, "connections": tables.traces.len(), "events": tables.counted, "requests": lines,
        "rejected": tables.rejected, "values_unread": tables.values_unread, "limits_crossed": crossed(), "bytes": bytes,
        "seconds": started.elapsed().as_secs_f64(),
    }});
    let mut out = shared.borrow_mut();
    written(writeln!(out, "{summary}").and_then(|()| out.flush()))
}

fn deployment(secret: Option<&Path>, is_redacting: bool) -> Result<Arc<Deployment>, Error> {
    let config = EnrichConfig { secret_file: secret.map(Path::to_owned), ..EnrichConfig::default() };
    Ok(Arc::new(Deployment::open(&config, "", is_redacting).map_err(Error::configuration)?))
}

/// Reads the format that `path` says, else JSON lines with the columns' names. The format may say of itself whether it
/// is redacted.
fn line_reader(
    path: Option<&Path>,
    is_redacting: bool,
    deployment: Option<Arc<Deployment>>,
    host: &str,
) -> Result<LineReader, Error> {
    let Some(path) = path else {
        let json = AccessFormatConfig { preset: Some(Preset::Json), ..AccessFormatConfig::default() };
        return LineReader::new(&json, is_redacting, deployment, host);
    };
    let said = |error: &dyn std::fmt::Display| {
        Error::new(FailureKind::Configuration, path.display(), error.to_string().trim())
    };
    let text = std::fs::read_to_string(path).map_err(|error| said(&error))?;
    let config: AccessFormatConfig = toml::from_str(&text).map_err(|error| said(&error))?;
    LineReader::new(&config, is_redacting, deployment, host).map_err(|error| said(&error))
}

/// Parses, folds and encodes, and says how fast; batches are dropped.
pub fn bench(paths: &[PathBuf]) -> Result<(), Error> {
    let catalogue = Catalogue::load().map_err(Error::internal)?;
    let search = find(paths, FolderLinks::Followed);
    let mut encoded = 0u64;
    let mut arrow = Vec::new();
    let started = Instant::now();
    let mut flush = |tables: &mut Tables, all: bool| -> Result<(), Error> {
        while let Some(batch) = tables.next_batch(&catalogue, all).map_err(Error::internal)? {
            batch.encode(&mut arrow).map_err(Error::internal)?;
            encoded += arrow.len() as u64;
        }
        Ok(())
    };
    let mut files = Files::new(&catalogue, true, &mut flush);
    for (path, reason) in &search.refused {
        files.whole_file(&path.to_string_lossy(), *reason, b"");
    }
    for path in &search.files {
        if let Some(file) = files.open(path, paths) {
            files.read(&path.to_string_lossy(), &file)?;
        }
    }
    let Files { mut tables, bytes, flush, .. } = files;
    flush(&mut tables, true)?;
    let seconds = started.elapsed().as_secs_f64();
    #[expect(clippy::cast_precision_loss, reason = "a rate")]
    let rates = (tables.counted as f64 / seconds, bytes as f64 / 1e6 / seconds);
    let measured = json!({"events": tables.counted, "bytes": bytes, "arrow_bytes": encoded, "seconds": seconds,
            "events_per_second": rates.0, "megabytes_per_second": rates.1,
            "rejected": tables.rejected, "peak_kib": peak_kib()});
    written(writeln!(io::stdout(), "{measured}"))
}

/// Most memory that this process ever held, where the system says so (Linux); else 0.
fn peak_kib() -> u64 {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:"));
    line.and_then(|line| line.split_whitespace().next()?.parse().ok()).unwrap_or(0)
}
