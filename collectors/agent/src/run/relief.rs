//! What happens to a cycle that the sink does not take while the spool fills: its summaries wait in the outbox, its raw
//! events are dropped and counted.

use crate::error::Error;
use crate::run::metrics::Metrics;
use crate::run::outbox::{Oldest, Outbox};
use crate::run::sink::{Message, Patience, Sink, messages};
use crate::run::spool::Spool;
use arrow_ipc::reader::StreamReader;
use quiclens_core::catalogue::Catalogue;
use quiclens_core::reader::skip::Skip;
use quiclens_core::record::runs::{RecordRun, runs};
use quiclens_core::tables::Tables;
use quiclens_core::trace::{REJECT_BYTES, Reject};
use std::io::Cursor;
use std::sync::Arc;
use tracing::warn;
use xxhash_rust::xxh3::xxh3_64;

/// Knows when the spool fills up, and moves cycles to the outbox then.
pub struct Relief {
    spool: Arc<Spool>,
    outbox: Outbox,
    catalogue: Arc<Catalogue>,
    name: String,
    made: u64,
    metrics: Metrics,
}

fn said(error: &std::io::Error) -> Error {
    Error::of_state("the outbox", error)
}

impl Relief {
    /// For the collector called `name`.
    pub fn new(spool: &Arc<Spool>, outbox: Outbox, name: &str, catalogue: &Arc<Catalogue>, metrics: &Metrics) -> Self {
        let spool = Arc::clone(spool);
        let catalogue = Arc::clone(catalogue);
        let relief = Self { spool, outbox, catalogue, name: name.to_owned(), made: 0, metrics: metrics.clone() };
        relief.measure();
        relief
    }

    /// What waits, for the metrics.
    fn measure(&self) {
        let (messages, bytes) = self.outbox.waiting();
        self.metrics.outbox_messages.set(i64::try_from(messages).unwrap_or(i64::MAX));
        self.metrics.outbox_bytes.set(i64::try_from(bytes).unwrap_or(i64::MAX));
    }

    /// The spool needs space.
    pub fn is_wanted(&self) -> bool {
        self.spool.is_pressed()
    }

    /// Messages wait for the sink.
    pub fn is_waiting(&self) -> bool {
        !self.outbox.is_empty()
    }

    /// Everything before `offset` of the spool was shipped and noted.
    pub fn passed(&self, offset: u64) -> Result<(), Error> {
        self.spool.passed(offset)
    }

    /// Gives the sink what has waited, oldest first.
    pub fn drain(&mut self, sink: &mut dyn Sink, patience: &Patience<'_>) -> Result<(), Error> {
        while let Some((number, oldest)) = self.outbox.oldest().map_err(|error| said(&error))? {
            let message = match oldest {
                Oldest::Message(message) => message,
                Oldest::Damaged(bytes) => self.damaged(number, bytes)?,
            };
            sink.give(&[message], patience)?;
            self.outbox.taken().map_err(|error| said(&error))?;
            self.measure();
        }
        Ok(())
    }

    /// Puts rows of a cycle into the outbox, and a reject for each run of the events that are dropped; false when it is
    /// full too.
    pub fn put_by(&mut self, rows: &[Message], events: &[Message]) -> Result<bool, Error> {
        let mut tables = Tables::default();
        let mut dropped = 0;
        for message in events {
            dropped += message.rows;
            for run in runs_of(message)? {
                reject(&mut tables, &run);
            }
        }
        let mut messages = self.messages(&mut tables)?;
        messages.extend(rows.iter().cloned());
        let is_put = self.outbox.put(&messages).map_err(|error| said(&error))?;
        self.measure();
        if is_put {
            self.metrics.events_dropped.inc_by(dropped as u64);
        } else {
            self.metrics.outbox_refusals.inc();
        }
        if is_put && dropped > 0 {
            warn!(events = dropped, "the spool fills and the sink is away: events were dropped");
        }
        Ok(is_put)
    }

    fn messages(&mut self, tables: &mut Tables) -> Result<Vec<Message>, Error> {
        messages(tables, &self.catalogue, &format!("{}-relief", self.name), &mut self.made, true)
    }

    /// A row in place of a message whose bytes are others than were written.
    fn damaged(&mut self, number: u64, mut bytes: Vec<u8>) -> Result<Message, Error> {
        let length = bytes.len() as u64;
        bytes.truncate(REJECT_BYTES);
        let source = format!("{:016x}", xxh3_64(&bytes));
        let reject = Reject { reason: Some(Skip::SpoolCorrupt), offset: number, length, bytes };
        let mut tables = Tables::default();
        tables.reject(&source, &reject, "outbox", "", None);
        self.messages(&mut tables)?.pop().ok_or_else(|| Error::internal("a reject made no batch"))
    }
}

/// The runs of seq of a batch of events.
fn runs_of(message: &Message) -> Result<Vec<RecordRun>, Error> {
    let said = |error: &dyn std::fmt::Display| Error::internal(format!("cannot read a batch again: {error}"));
    let mut all = Vec::new();
    for batch in StreamReader::try_new(Cursor::new(&message.bytes), None).map_err(|error| said(&error))? {
        all.extend(batch.and_then(|batch| runs(&batch)).map_err(|error| said(&error))?);
    }
    Ok(all)
}

/// A run of dropped events. Its identity is the trace and where the run begins, so that a second drop of it is one row.
fn reject(tables: &mut Tables, (trace_id, first, last): &RecordRun) {
    let source = format!("{:016x}", xxh3_64(format!("{trace_id}/{}", Skip::SpoolFull.name()).as_bytes()));
    let reject = Reject { reason: Some(Skip::SpoolFull), offset: *first, ..Reject::default() };
    tables.reject_run(&source, &reject, "spool", trace_id, (*first, *last));
}
