//! Episodes: what happened to a connection or a stream between two of its events.

use crate::fold::moment::Moment;
use crate::record::columns::episodes::{self, Episodes};
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
    pub fn write(&self, row: &mut Row<Episodes>, seq: u64) {
        row.set(episodes::KIND, self.kind);
        row.set(episodes::PATH_ID, self.path_id);
        row.set(episodes::STREAM_ID, self.stream_id);
        row.set(episodes::FIRST_SEQ, self.first_seq);
        row.set(episodes::LAST_SEQ, self.last_seq.unwrap_or(seq));
        row.set(episodes::START_US, self.start_us);
        row.set(episodes::END_US, self.end_us);
        row.set(episodes::CONFIRMED, self.confirmed);
        row.set(episodes::TRIGGER, self.trigger);
        row.set(episodes::PACKET_NUMBER, self.packet_number);
        row.set(episodes::BYTES, self.bytes);
        row.set(episodes::COUNT, self.count);
        row.set(episodes::DETECTION_US, self.detection_us);
        row.set(episodes::WAIT_US, self.wait_us);
        row.set(episodes::CONGESTION_WINDOW, self.congestion_window);
    }
}
