//! Episodes: what happened to a connection or a stream between two of its events.

use crate::fold::moment::Moment;
use crate::record::rows::Row;

/// A row of `episodes`, all but the trace's key.
#[derive(Clone, Copy, Debug)]
#[expect(missing_docs, reason = "named after the columns")]
pub struct Episode<'a> {
    pub kind: &'static str,
    pub path_id: u64,
    pub stream_id: i64,
    pub first_seq: u64,
    /// None where it is the event of now.
    pub last_seq: Option<u64>,
    pub start_us: i64,
    pub end_us: i64,
    pub confirmed: bool,
    pub trigger: &'a str,
    pub packet_number: Option<u64>,
    pub bytes: u64,
    pub count: u32,
    pub detection_us: Option<u64>,
    pub wait_us: Option<u64>,
    pub congestion_window: Option<u64>,
}

impl Episode<'_> {
    /// Of the connection, from one event to a time.
    pub fn of(kind: &'static str, since: Moment, end_us: i64) -> Self {
        Self {
            kind,
            path_id: 0,
            stream_id: -1,
            first_seq: since.seq,
            last_seq: None,
            start_us: since.us,
            end_us,
            confirmed: true,
            trigger: "",
            packet_number: None,
            bytes: 0,
            count: 0,
            detection_us: None,
            wait_us: None,
            congestion_window: None,
        }
    }

    /// Of a stream.
    pub fn on(self, stream_id: u64) -> Self {
        Self { stream_id: stream_id.cast_signed(), ..self }
    }

    /// Its columns; `seq` is the event of now.
    pub fn write(&self, row: &mut Row, seq: u64) {
        row.set("kind", self.kind);
        row.set("path_id", self.path_id);
        row.set("stream_id", self.stream_id);
        row.set("first_seq", self.first_seq);
        row.set("last_seq", self.last_seq.unwrap_or(seq));
        row.set("start_us", self.start_us);
        row.set("end_us", self.end_us);
        row.set("confirmed", self.confirmed);
        row.set("trigger", self.trigger);
        row.set("packet_number", self.packet_number);
        row.set("bytes", self.bytes);
        row.set("count", self.count);
        row.set("detection_us", self.detection_us);
        row.set("wait_us", self.wait_us);
        row.set("congestion_window", self.congestion_window);
    }
}
