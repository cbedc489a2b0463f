//! Output rows, and the batches that are made of them.

use crate::catalogue::Catalogue;
use crate::client::Edge;
use crate::fold::Trace;
use crate::fold::connection::capability::Ability;
use crate::limits::{BATCH_BYTES, EVENT_ROWS, SUMMARY_ROWS};
use crate::memory::TraceMemory;
use crate::record::Batch;
use crate::record::columns::SummaryTable;
use crate::record::columns::connection_aliases::ConnectionAliases;
use crate::record::columns::connections::{self, Connections};
use crate::record::columns::episodes::Episodes;
use crate::record::columns::rejects::{self, Rejects};
use crate::record::columns::request_lines::RequestLines;
use crate::record::columns::streams::Streams;
use crate::record::events::{Events, Key};
use crate::record::rows::{Row, batch};
use crate::retention::{Again, Owed, Retention, Standing};
use crate::trace::Reject;
use crate::unread::Unread;
use arrow_schema::ArrowError;
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use xxhash_rust::xxh3::xxh3_64;

/// The tables that batches are of.
pub const NAMES: [&str; 7] =
    ["events", "streams", "episodes", "connection_aliases", "request_lines", "rejects", "connections"];

/// Rows that no batch has taken yet, and counts.
#[derive(Default)]
pub struct Tables {
    /// Rows of `events`.
    pub events: Events,
    /// Whether events are wanted at all.
    pub wants_events: bool,
    /// The connections whose events are kept; `None`: all.
    pub retention: Option<Retention>,
    /// Only these events are wanted, and nothing else: what was read once is read again.
    pub again: Option<Again>,
    /// Events of traces that are over and must be read again.
    pub owed: Owed,
    /// Traces whose events were to be kept and could not be read again.
    pub lost: u64,
    /// Rows of `streams`.
    pub streams: Vec<Row<Streams>>,
    /// Rows of `episodes`.
    pub episodes: Vec<Row<Episodes>>,
    /// Rows of `connections`.
    pub connections: Vec<Row<Connections>>,
    /// Rows of `connection_aliases`.
    pub aliases: Vec<Row<ConnectionAliases>>,
    /// Rows of `request_lines`.
    pub request_lines: Vec<Row<RequestLines>>,
    /// Rows of `rejects`.
    pub rejects: Vec<Row<Rejects>>,
    /// Events so far.
    pub counted: u64,
    /// Values so far that their column cannot hold: of events and of lines of access logs.
    pub values_unread: u64,
    /// What other traces hold that are open at the same time.
    pub beside: TraceMemory,
    /// Distinct traces so far.
    pub traces: BTreeSet<String>,
    /// Rejects so far, by reason.
    pub rejected: BTreeMap<&'static str, u64>,
    /// What was not read of each trace, by its id; none: that is not asked.
    pub unread: Option<BTreeMap<String, Unread>>,
    /// What each finished trace can show, where `unread` is asked.
    pub abilities: Vec<(Key, Vec<Ability>, u64)>,
    /// Adds the client's facts to rows, and redacts what may not be kept.
    pub edge: Option<Arc<dyn Edge>>,
    /// Of each summary table in the order of [`NAMES`], the rows that were measured so far, and their bytes.
    pub measured: Measured,
}

/// How far the rows of the summary tables were measured.
#[derive(Debug, Default)]
pub struct Measured {
    tables: std::cell::Cell<[(usize, usize); 6]>,
    /// Numbers of rows at the last check, and whether a table was large then.
    found: std::cell::Cell<([usize; 6], bool)>,
}

impl Tables {
    /// What other traces hold, which leaves less to a trace; nothing where it is only read again, and holds no state.
    pub fn memory_beside(&self) -> TraceMemory {
        if self.again.is_some() { TraceMemory::default() } else { self.beside }
    }

    /// Counts a reject and keeps it. `source` is its trace, log or file.
    pub fn reject(&mut self, source: &str, reject: &Reject, file: &str, trace_id: &str, seq: Option<u64>) {
        let Some(reason) = reject.reason else { return };
        if self.again.is_some() {
            return;
        }
        *self.rejected.entry(reason.name()).or_default() += 1;
        let mut row = Row::default();
        row.set(rejects::SOURCE, source);
        row.set(rejects::OFFSET, reject.offset);
        row.set(rejects::LENGTH, reject.length);
        row.set(rejects::HASH, format!("{:016x}", xxh3_64(&reject.bytes)));
        row.set(rejects::REASON, reason.name());
        row.set(rejects::FILE, file);
        row.set(rejects::TRACE_ID, trace_id);
        row.set(rejects::SEQ, seq);
        if self.edge.as_ref().is_none_or(|edge| edge.keeps_reject_bytes()) {
            row.set(rejects::BYTES, reject.bytes.clone());
        }
        self.rejects.push(row);
    }

    /// How a connection stands when its first record has come.
    pub(crate) fn begin(&mut self, trace: &Trace) -> Standing {
        match (&self.again, &mut self.retention) {
            (Some(again), _) => Standing::again(again.owed.get(&trace.trace_id).map(|owing| owing.before)),
            (None, Some(retention)) => retention.begin(trace),
            (None, None) => Standing::ALL,
        }
    }

    /// Events of these traces cannot be read again: their rows, which are still here, say so.
    pub fn lose(&mut self, owed: &Owed) {
        self.lost += owed.len() as u64;
        for row in &mut self.connections {
            if row.text(connections::TRACE_ID).is_some_and(|trace_id| owed.contains_key(trace_id)) {
                row.replace(connections::EVENTS_KEPT, "none");
            }
        }
    }

    /// Counts a run of records, `first` to `last`, that is lost as one: see [`Tables::reject`].
    pub fn reject_run(&mut self, source: &str, reject: &Reject, file: &str, trace_id: &str, run: (u64, u64)) {
        self.reject(source, reject, file, trace_id, Some(run.0));
        if let Some(row) = self.rejects.last_mut() {
            row.set(rejects::SEQ_LAST, Some(run.1));
        }
    }

    /// The next batch that is large enough, or with `all` any. Connections come after what they speak of.
    pub fn next_batch(&mut self, catalogue: &Catalogue, all: bool) -> Result<Option<Batch>, ArrowError> {
        if (all || self.events.len() >= EVENT_ROWS || self.events.size() >= BATCH_BYTES)
            && let Some(events) = self.events.flush_redacted(catalogue, self.edge.as_deref())?
        {
            return Ok(Some(events));
        }
        let mut measured = self.measure();
        let is_due =
            |&(rows, bytes): &(usize, usize)| rows > 0 && (all || rows >= SUMMARY_ROWS || bytes >= BATCH_BYTES);
        let Some(place) = measured.iter().position(is_due) else { return Ok(None) };
        let edge = self.edge.clone();
        let edge = edge.as_deref();
        let (made, size) = match place {
            0 => take(&mut self.streams, catalogue, edge),
            1 => take(&mut self.episodes, catalogue, edge),
            2 => take(&mut self.aliases, catalogue, edge),
            3 => take(&mut self.request_lines, catalogue, edge),
            4 => take(&mut self.rejects, catalogue, edge),
            _ => take(&mut self.connections, catalogue, edge),
        }?;
        let (rows, bytes) = measured[place];
        measured[place] = (rows - made.rows.num_rows(), bytes.saturating_sub(size));
        self.measured.found.set(([usize::MAX; 6], false));
        self.measured.tables.set(measured);
        Ok(Some(made))
    }

    /// All that [`Tables::next_batch`] gives.
    pub fn batches(&mut self, catalogue: &Catalogue, all: bool) -> Result<Vec<Batch>, ArrowError> {
        std::iter::from_fn(|| self.next_batch(catalogue, all).transpose()).collect()
    }

    /// Rows and bytes of each summary table; only rows that came since the last time are looked at.
    fn measure(&self) -> [(usize, usize); 6] {
        let mut measured = self.measured.tables.get();
        let [streams, episodes, aliases, request_lines, rejects, connections] = &mut measured;
        measure(streams, &self.streams);
        measure(episodes, &self.episodes);
        measure(aliases, &self.aliases);
        measure(request_lines, &self.request_lines);
        measure(rejects, &self.rejects);
        measure(connections, &self.connections);
        self.measured.tables.set(measured);
        measured
    }

    fn rows(&self) -> [usize; 6] {
        [
            self.streams.len(),
            self.episodes.len(),
            self.aliases.len(),
            self.request_lines.len(),
            self.rejects.len(),
            self.connections.len(),
        ]
    }

    /// Nothing is large enough to go yet.
    pub fn is_small(&self) -> bool {
        if self.events.len() >= EVENT_ROWS || self.events.size() >= BATCH_BYTES {
            return false;
        }
        // After nearly every event no row has come.
        let rows = self.rows();
        let (known, was_large) = self.measured.found.get();
        if rows == known {
            return !was_large;
        }
        let is_large = self.measure().iter().any(|(rows, bytes)| *rows >= SUMMARY_ROWS || *bytes >= BATCH_BYTES);
        self.measured.found.set((rows, is_large));
        !is_large
    }
}

/// Takes as many of the rows as a batch may have, without what may not be kept; also gives their bytes.
fn take<T: SummaryTable>(
    rows: &mut Vec<Row<T>>,
    catalogue: &Catalogue,
    edge: Option<&dyn Edge>,
) -> Result<(Batch, usize), ArrowError> {
    let (mut taken, mut size) = (0, 0);
    for row in rows.iter() {
        let of_row = row.size();
        if taken > 0 && size + of_row > BATCH_BYTES {
            break;
        }
        size += of_row;
        taken += 1;
    }
    let columns = catalogue.columns(T::NAME);
    if let Some(edge) = edge {
        rows[..taken].iter_mut().for_each(|row| row.redact(columns, edge));
    }
    let made = batch(columns, &rows[..taken])?;
    rows.drain(..taken);
    Ok((made, size))
}

/// Adds to the rows and bytes of a table those that came.
fn measure<T>((known, bytes): &mut (usize, usize), rows: &[Row<T>]) {
    if rows.len() < *known {
        (*known, *bytes) = (0, 0);
    }
    *bytes += rows[*known..].iter().map(Row::size).sum::<usize>();
    *known = rows.len();
}
