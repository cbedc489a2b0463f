//! What a reading gives, in a form that can be compared, and what must hold of it whatever was read.

use crate::catalogue;
use crate::cuts::Cuts;
use crate::records::{Records, Turn};
use arrow_array::RecordBatch;
use quiclens_core::fold::cause::Cause;
use quiclens_core::reader::records::Window;
use quiclens_core::reader::sniff::{Framing, Sniffed, sniff};
use quiclens_core::record::columns::SummaryTable;
use quiclens_core::record::columns::connection_aliases::ConnectionAliases;
use quiclens_core::record::columns::connections::{self, Connections};
use quiclens_core::record::columns::episodes::Episodes;
use quiclens_core::record::columns::rejects::Rejects;
use quiclens_core::record::columns::streams::{self, Streams};
use quiclens_core::record::rows::Row;
use quiclens_core::tables::Tables;
use quiclens_core::trace::PRELUDE;
use std::collections::{BTreeSet, HashSet};
use std::iter::Peekable;

/// All rows of one reading.
#[derive(Debug, PartialEq)]
pub struct Rows {
    /// Rows of `events`, as they are shipped.
    pub events: Option<RecordBatch>,
    /// Rows of `streams`.
    pub streams: Vec<Row<Streams>>,
    /// Rows of `episodes`.
    pub episodes: Vec<Row<Episodes>>,
    /// Rows of `connections`.
    pub connections: Vec<Row<Connections>>,
    /// Rows of `connection_aliases`.
    pub aliases: Vec<Row<ConnectionAliases>>,
    /// Rows of `rejects`.
    pub rejects: Vec<Row<Rejects>>,
    /// Events that were read.
    pub counted: u64,
}

impl Rows {
    /// Takes what gathered in `tables`.
    pub fn of(mut tables: Tables) -> Self {
        let events = tables.events.flush().expect("events become a batch").map(|batch| batch.rows);
        let Tables { streams, episodes, connections, aliases, rejects, counted, .. } = tables;
        Self { events, streams, episodes, connections, aliases, rejects, counted }
    }

    /// Panics with the first difference where `self` and `whole` are not the same.
    pub fn check_same_as(&self, whole: &Self, how: &str) {
        check_same(&self.streams, &whole.streams, how);
        check_same(&self.episodes, &whole.episodes, how);
        check_same(&self.connections, &whole.connections, how);
        check_same(&self.aliases, &whole.aliases, how);
        check_same(&self.rejects, &whole.rejects, how);
        self.check_events_as(whole, how);
    }

    /// Panics where `self` and `whole` have not the same events.
    pub fn check_events_as(&self, whole: &Self, how: &str) {
        assert_eq!(self.counted, whole.counted, "{how}: events");
        assert!(self.events == whole.events, "{how}: {:?} instead of {:?}", self.events, whole.events);
    }

    /// The streams of which there are rows, here and in `more`.
    pub fn stream_keys(&self, more: &[Row<Streams>]) -> BTreeSet<String> {
        let key = |row: &Row<Streams>| format!("{:?} {:?}", row.get(streams::TRACE_ID), row.get(streams::STREAM_ID));
        self.streams.iter().chain(more).map(key).collect()
    }
}

fn check_same<T: SummaryTable>(ours: &[Row<T>], wanted: &[Row<T>], how: &str) {
    for (our, want) in ours.iter().zip(wanted) {
        let cells = our.named().zip(want.named()).find(|(our, want)| our != want);
        assert!(our == want, "{how}: {}: {cells:?} in {our:?}", T::NAME);
    }
    assert!(ours.len() == wanted.len(), "{how}: {}: {ours:?} instead of {wanted:?}", T::NAME);
}

/// The framing of a text that is no document.
pub fn sequence(text: &[u8]) -> Option<Framing> {
    match sniff(text, true) {
        Sniffed::Known(framing) => Some(framing).filter(|framing| *framing != Framing::Contained),
        Sniffed::More | Sniffed::Unknown => None,
    }
}

/// The text with what follows its first line said again until there are more records than a trace's reader waits for
/// before it decides what they are. A header stays alone.
pub fn lengthened(text: &[u8]) -> Vec<u8> {
    let first = memchr::memchr(b'\n', text).map_or(text.len(), |end| end + 1);
    let (head, body) = text.split_at(first);
    let lines = memchr::memchr_iter(b'\n', body).count();
    let mut long = text.to_vec();
    let mut count = lines;
    while lines > 0 && count <= PRELUDE + lines && long.len() + body.len() <= MOST + head.len() {
        long.extend_from_slice(body);
        count += lines;
    }
    long
}

/// Most bytes that a text is lengthened to.
const MOST: usize = 64 << 10;

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

/// Panics unless the rows keep the promises of `collectors/README.md`. `framing` is that of what was read; with
/// `is_encoded`, that they become Arrow too, which costs more than all else.
pub fn check(tables: &mut Tables, framing: Option<Framing>, is_encoded: bool) {
    // A row of line v1 says itself which seq it has: two of one are one to the store.
    let is_seq_ours = framing != Some(Framing::LineV1);
    let is_comparable = is_seq_ours && !has_a_trace_twice(tables);
    check_summaries(&tables.streams, if is_comparable { &tables.episodes } else { &[] });
    if is_encoded {
        for batch in tables.batches(catalogue(), true).expect("rows become batches") {
            batch.encode(&mut Vec::new()).expect("a batch can be written");
        }
    }
}

/// A log that stands twice in a file, under one id, gives rows of the same keys: to the store the later ones count.
pub fn has_a_trace_twice(tables: &Tables) -> bool {
    let mut seen = HashSet::new();
    !tables.connections.iter().all(|row| seen.insert(format!("{:?}", row.get(connections::TRACE_ID))))
}

/// Parts add up, and the store keeps every episode.
pub fn check_summaries(streams: &[Row<Streams>], episodes: &[Row<Episodes>]) {
    for row in streams {
        let parts: u64 = Cause::ALL.iter().map(|cause| row.whole(cause.column())).sum();
        assert_eq!(parts, row.whole(streams::DURATION_US), "parts add up: {row:?}");
    }
    let mut keys = HashSet::new();
    for row in episodes {
        let key =
            ["trace_id", "kind", "path_id", "stream_id", "first_seq"].map(|name| format!("{:?}", row.get_named(name)));
        assert!(keys.insert(key), "two episodes of one key: {row:?}");
    }
}
