//! Rows on their way out, and the batches they become.

use crate::catalogue::Catalogue;
use crate::client::Edge;
use crate::fold::Trace;
use crate::fold::capability::Ability;
use crate::record::Batch;
use crate::record::events::{Events, Key};
use crate::record::rows::{Cell, Row, batch};
use crate::retention::{Again, Owed, Retention, Standing};
use crate::trace::Reject;
use arrow_schema::ArrowError;
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use xxhash_rust::xxh3::xxh3_64;

/// The tables that batches are of.
pub const NAMES: [&str; 7] =
    ["events", "streams", "episodes", "connection_aliases", "request_lines", "rejects", "connections"];

/// Rows of a batch of events, about; a block that ClickHouse sorts in one go.
pub const EVENT_ROWS: usize = 65_536;
/// Bytes of a batch of events, about: it must stay small where records are large.
pub const EVENT_BYTES: usize = 16 << 20;
/// Rows of a batch of any other table.
pub const SUMMARY_ROWS: usize = 4096;

/// Rows that no batch has taken yet, and counts.
#[derive(Default)]
pub struct Tables {
    /// Rows of `events`.
    pub events: Events,
    /// Whether events are wanted at all.
    pub wants_events: bool,
    /// Of whose connections; none: of all.
    pub retention: Option<Retention>,
    /// Only these events are wanted, and nothing else: what was read once is read again.
    pub again: Option<Again>,
    /// Events of traces that are over and must be read again.
    pub owed: Owed,
    /// Traces whose events were to be kept and could not be read again.
    pub lost: u64,
    /// Rows of `streams`.
    pub streams: Vec<Row>,
    /// Rows of `episodes`.
    pub episodes: Vec<Row>,
    /// Rows of `connections`.
    pub connections: Vec<Row>,
    /// Rows of `connection_aliases`.
    pub aliases: Vec<Row>,
    /// Rows of `request_lines`.
    pub request_lines: Vec<Row>,
    /// Rows of `rejects`.
    pub rejects: Vec<Row>,
    /// Events so far.
    pub counted: u64,
    /// Distinct traces so far.
    pub traces: BTreeSet<String>,
    /// Rejects so far, by reason.
    pub rejected: BTreeMap<&'static str, u64>,
    /// What each finished trace can show.
    pub abilities: Vec<(Key, Vec<Ability>, u64)>,
    /// What adds to rows who the client is, and takes from them what may not be kept.
    pub edge: Option<Arc<dyn Edge>>,
}

impl Tables {
    /// Counts a reject and keeps it. `source` is its trace, log or file.
    pub fn reject(&mut self, source: &str, reject: &Reject, file: &str, trace_id: &str, seq: Option<u64>) {
        let Some(reason) = reject.reason else { return };
        if self.again.is_some() {
            return;
        }
        *self.rejected.entry(reason.name()).or_default() += 1;
        let mut row = Row::default();
        row.set("source", source);
        row.set("offset", reject.offset);
        row.set("length", reject.length);
        row.set("hash", format!("{:016x}", xxh3_64(&reject.bytes)));
        row.set("reason", reason.name());
        row.set("file", file);
        row.set("trace_id", trace_id);
        row.set("seq", seq);
        if self.edge.as_ref().is_none_or(|edge| edge.keeps_reject_bytes()) {
            row.0.push(("bytes", Cell::Bytes(reject.bytes.clone())));
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
            if row.text("trace_id").is_some_and(|trace_id| owed.contains_key(trace_id)) {
                row.0.retain(|(name, _)| *name != "events_kept");
                row.set("events_kept", "none");
            }
        }
    }

    /// Counts a run of records, `first` to `last`, that is lost as one: see [`Tables::reject`].
    pub fn reject_run(&mut self, source: &str, reject: &Reject, file: &str, trace_id: &str, run: (u64, u64)) {
        self.reject(source, reject, file, trace_id, Some(run.0));
        if let Some(row) = self.rejects.last_mut() {
            row.set("seq_last", run.1);
        }
    }

    /// Batches that are large enough, or with `all` everything. Connections come after what they speak of.
    pub fn batches(&mut self, catalogue: &Catalogue, all: bool) -> Result<Vec<Batch>, ArrowError> {
        let mut out = Vec::new();
        if (all || self.events.len() >= EVENT_ROWS || self.events.size() >= EVENT_BYTES)
            && let Some(events) = self.events.flush()?
        {
            out.push(events);
        }
        for (table, rows) in [
            ("streams", &mut self.streams),
            ("episodes", &mut self.episodes),
            ("connection_aliases", &mut self.aliases),
            ("request_lines", &mut self.request_lines),
            ("rejects", &mut self.rejects),
            ("connections", &mut self.connections),
        ] {
            if !rows.is_empty() && (all || rows.len() >= SUMMARY_ROWS) {
                out.push(batch(table, catalogue.columns(table), rows)?);
                rows.clear();
            }
        }
        Ok(out)
    }

    /// Nothing is large enough to go yet.
    pub fn is_small(&self) -> bool {
        self.events.len() < EVENT_ROWS
            && self.events.size() < EVENT_BYTES
            && self.streams.len() < SUMMARY_ROWS
            && self.episodes.len() < SUMMARY_ROWS
            && self.request_lines.len() < SUMMARY_ROWS
            && self.rejects.len() < 64
            && self.connections.len() < SUMMARY_ROWS
            && self.aliases.len() < SUMMARY_ROWS
    }
}
