//! The access log: a line of JSON for each answer, with the columns of `request_lines`.

use std::fs::File;
use std::io::Write as _;
use std::path::Path;
use std::time::Instant;

use jiff::Timestamp;
use serde_json::json;

use crate::Failure;

/// What a server calls itself in its lines.
pub const SERVER: &str = "edge-quiche-01";

/// A request while it is answered.
pub struct AnsweredRequest {
    pub began_at: Timestamp,
    pub began: Instant,
    /// The server's own connection id, as hex: what names its log, and what quiche calls the connection by.
    pub connection_id: String,
    pub stream_id: u64,
    pub method: String,
    pub authority: String,
    pub path: String,
    pub external_id: Option<String>,
    pub response_bytes: usize,
}

/// An open log.
pub struct AccessLog(File);

impl AccessLog {
    /// Goes on with the file, or makes it.
    pub fn open(path: &Path) -> Result<Self, Failure> {
        Ok(Self(File::options().append(true).create(true).open(path)?))
    }

    /// Writes the line of a request that was answered just now, in one piece.
    pub fn write(&self, request: &AnsweredRequest) -> Result<(), Failure> {
        let mut line = json!({
            "time": request.began_at.to_string(),
            "time_is": "start",
            "method": request.method,
            "authority": request.authority,
            "path": request.path,
            "status": 200,
            "duration_us": request.began.elapsed().as_micros() as u64,
            "response_bytes": request.response_bytes,
            "protocol": "h3",
            "connection_id": request.connection_id,
            "stream_id": request.stream_id,
            "external_id": request.external_id,
            "server": SERVER,
        })
        .to_string();
        line.push('\n');
        Ok((&self.0).write_all(line.as_bytes())?)
    }
}
