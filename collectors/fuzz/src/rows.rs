//! What a reading gives, in a form that can be compared, and what must hold of it whatever was read.

use crate::catalogue;
use crate::cuts::Cuts;
use crate::records::{Records, Turn};
use arrow_array::RecordBatch;
use quiclens_core::fold::cause::Cause;
use quiclens_core::reader::records::Window;
use quiclens_core::reader::sniff::Framing;
use quiclens_core::record::rows::Row;
use quiclens_core::tables::Tables;
use std::collections::HashSet;
use std::iter::Peekable;

/// All rows of one reading.
#[derive(Debug, PartialEq)]
pub struct Rows {
    /// Rows of `events`, as they are shipped.
    pub events: Option<RecordBatch>,
    /// Rows of `streams`, `episodes`, `connections`, `connection_aliases`, `rejects`.
    pub summaries: [Vec<Row>; 5],
    /// Events that were read.
    pub counted: u64,
}

impl Rows {
    /// Takes what gathered in `tables`.
    pub fn of(mut tables: Tables) -> Self {
        let events = tables.events.flush().expect("events become a batch").map(|batch| batch.rows);
        let Tables { streams, episodes, connections, aliases, rejects, counted, .. } = tables;
        Self { events, summaries: [streams, episodes, connections, aliases, rejects], counted }
    }

    /// Panics with the first difference where `self` and `whole` are not the same.
    pub fn check_same_as(&self, whole: &Self, how: &str) {
        for ((ours, wanted), table) in self.summaries.iter().zip(&whole.summaries).zip(SUMMARIES) {
            for (our, want) in ours.iter().zip(wanted) {
                let cells = our.0.iter().zip(&want.0).find(|(our, want)| our != want);
                assert!(our == want, "{how}: {table}: {cells:?} in {our:?}");
            }
            assert!(ours.len() == wanted.len(), "{how}: {table}: {ours:?} instead of {wanted:?}");
        }
        assert_eq!(self.counted, whole.counted, "{how}: events");
        assert!(self.events == whole.events, "{how}: {:?} instead of {:?}", self.events, whole.events);
    }
}

const SUMMARIES: [&str; 5] = ["streams", "episodes", "connections", "connection_aliases", "rejects"];

/// Tables that want everything.
pub fn tables() -> Tables {
    Tables { wants_events: true, ..Tables::default() }
}

/// Reads a sequence or rows that come in pieces.
pub fn read(framing: Framing, text: &[u8], cuts: Cuts) -> Tables {
    let mut tables = tables();
    let (mut window, mut pieces) = (Window::default(), cuts.pieces(text).peekable());
    let mut records = Records::new(catalogue(), framing, "input");
    loop {
        match records.next(&mut window, &mut tables) {
            Turn::NeedMore => more(&mut window, &mut pieces, cuts),
            Turn::Taken => {}
            Turn::Over => break,
        }
    }
    records.finish(true, &mut tables);
    tables
}

/// Appends the next piece, or says that there is none.
pub fn more<'t>(window: &mut Window, pieces: &mut Peekable<impl Iterator<Item = &'t [u8]>>, cuts: Cuts) {
    assert!(!window.end, "more is asked for after the end");
    let piece = pieces.next();
    window.space().extend_from_slice(piece.unwrap_or(&[]));
    window.end = piece.is_none() || cuts.is_end_known && pieces.peek().is_none();
}

/// Panics unless the rows keep the promises of `collectors/README.md`. `framing` is that of what was read.
pub fn check(tables: &mut Tables, framing: Option<Framing>) {
    // A row of line v1 says itself which seq it has: two of one are one to the store.
    let is_seq_ours = framing != Some(Framing::LineV1);
    check_summaries(&tables.streams, if is_seq_ours { &tables.episodes } else { &[] });
    for batch in tables.batches(catalogue(), true).expect("rows become batches") {
        let mut bytes = Vec::new();
        batch.encode(&mut bytes).expect("a batch can be written");
    }
}

/// Parts add up, and the store keeps every episode.
pub fn check_summaries(streams: &[Row], episodes: &[Row]) {
    for row in streams {
        let parts: u64 = Cause::ALL.iter().map(|cause| row.whole(cause.column())).sum();
        assert_eq!(parts, row.whole("duration_us"), "parts add up: {row:?}");
    }
    let mut keys = HashSet::new();
    for row in episodes {
        let key = ["trace_id", "kind", "path_id", "stream_id", "first_seq"].map(|name| format!("{:?}", row.get(name)));
        assert!(keys.insert(key), "two episodes of one key: {row:?}");
    }
}
