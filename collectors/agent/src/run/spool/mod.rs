//! The spool: data of sources that cannot be read again, until it was shipped.
//!
//! Sources append; one thread syncs what they appended every few milliseconds; only synced data is read. A source whose
//! record the spool refuses waits.

mod frame;
mod head;
mod reader;
mod segment;
mod writer;

pub use head::{LineRun, Position, What};
pub use reader::{Item, SpoolReader};
pub use writer::{Refused, SpoolRoom};

use crate::error::{Error, FailureKind};
use crate::machine;
use crate::run::metrics::Metrics;
use prometheus_client::metrics::gauge::Gauge;
use segment::Segment;
use std::path::Path;
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};
use writer::SpoolWriter;

/// How long appended records wait for others to be synced with them.
const GROUP: Duration = Duration::from_millis(3);
/// Longest time between two looks at whether there is room.
const LOOK: Duration = Duration::from_millis(50);

/// A sync that takes longer is slow: what was given meanwhile cannot be read.
const SLOW: Duration = Duration::from_millis(500);

/// The spool of one collector.
pub struct Spool {
    inner: Mutex<Inner>,
    changed: Condvar,
    drops_events: bool,
    max_bytes: u64,
    metrics: Metrics,
}

struct Inner {
    writer: SpoolWriter,
    /// Number of the segment that is written to, and how much of it was synced.
    synced: (u64, u64),
    is_dirty: bool,
    /// Since when something is there that was not synced.
    waits_since: Option<Instant>,
    is_stopped: bool,
    is_pressed: bool,
    /// Bytes of the last record, where it did not fit: its source waits, or has given it up.
    refused: Option<u64>,
    fault: Option<Error>,
}

impl Inner {
    fn is_refusing(&self) -> bool {
        self.refused.is_some_and(|bytes| !self.writer.has_room(bytes))
    }

    /// A segment that was begun since the last sync is to be marked as synced too.
    fn note_segment(&mut self) {
        if self.writer.segments.back().is_some_and(|active| active.number > self.synced.0) {
            self.dirty();
        }
    }

    fn dirty(&mut self) {
        self.is_dirty = true;
        self.waits_since.get_or_insert_with(machine::now);
    }
}

impl Spool {
    /// Opens or makes the spool in `folder`. `drops_events`: when it fills, events are dropped before it is full.
    pub fn open(folder: &Path, room: SpoolRoom, drops_events: bool, metrics: &Metrics) -> Result<Arc<Self>, Error> {
        let writer = SpoolWriter::open(folder, room).map_err(|error| Error::of_state(folder.display(), &error))?;
        let inner = Inner {
            writer,
            synced: (0, 0),
            is_dirty: true,
            waits_since: Some(machine::now()),
            is_stopped: false,
            is_pressed: false,
            refused: None,
            fault: None,
        };
        let max_bytes = room.max_bytes;
        let metrics = metrics.clone();
        let spool = Self { inner: Mutex::new(inner), changed: Condvar::new(), drops_events, max_bytes, metrics };
        spool.measure(&spool.lock());
        Ok(Arc::new(spool))
    }

    /// Starts the thread that syncs.
    pub fn start(self: &Arc<Self>) -> Result<JoinHandle<()>, Error> {
        let spool = Arc::clone(self);
        std::thread::Builder::new()
            .name("spool".into())
            .spawn(move || while spool.sync() {})
            .map_err(|error| Error::internal(format!("cannot start a thread: {error}")))
    }

    /// How much is there, for the metrics.
    fn measure(&self, inner: &Inner) {
        let set = |gauge: &Gauge, value: u64| gauge.set(i64::try_from(value).unwrap_or(i64::MAX));
        set(&self.metrics.spool_bytes, inner.writer.used());
        set(&self.metrics.spool_segments, inner.writer.segments.len() as u64);
        set(&self.metrics.spool_behind_bytes, inner.writer.unshipped());
    }

    fn lock(&self) -> MutexGuard<'_, Inner> {
        self.inner.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Waits for something to sync, and syncs it. False when the spool was stopped and nothing is left, or it broke.
    fn sync(&self) -> bool {
        let mut inner = self.lock();
        while !inner.is_dirty && !inner.is_stopped {
            inner = self.changed.wait(inner).unwrap_or_else(PoisonError::into_inner);
        }
        if !inner.is_dirty || inner.fault.is_some() {
            return false;
        }
        if !inner.is_stopped {
            drop(inner);
            machine::sleep(GROUP);
            inner = self.lock();
        }
        inner.is_dirty = false;
        let unsynced = inner.writer.unsynced();
        drop(inner);
        let began = machine::now();
        let done = unsynced.and_then(|(file, active)| file.sync_data().map(|()| (active.number, active.bytes)));
        self.metrics.spool_sync_seconds.observe(machine::now().duration_since(began).as_secs_f64());
        let mut inner = self.lock();
        match done {
            Ok(mark) => {
                inner.synced = inner.synced.max(mark);
                inner.waits_since = inner.is_dirty.then_some(began);
            }
            // After a failed sync it is unknown what is on disk.
            Err(error) => {
                inner.fault = Some(Error::new(FailureKind::State, "the spool", format!("cannot be synced: {error}")))
            }
        }
        self.changed.notify_all();
        inner.fault.is_none()
    }

    /// Syncs what was appended, if anything was; false when that cannot be any more.
    #[cfg(test)]
    pub fn sync_now(&self) -> bool {
        let is_dirty = self.lock().is_dirty;
        if is_dirty { self.sync() } else { self.fault().is_ok() }
    }

    /// Appends a record, if there is room.
    pub fn append(&self, what: What, payload: &[u8]) -> Result<(), Refused> {
        let mut inner = self.lock();
        if let Some(fault) = &inner.fault {
            return Err(Refused::Broken(fault.clone()));
        }
        let done = inner.writer.append(what, payload);
        inner.refused = matches!(done, Err(Refused::Full)).then_some(payload.len() as u64);
        match &done {
            Ok(()) => inner.dirty(),
            Err(Refused::Full) => {
                self.metrics.spool_refusals.inc();
                inner.is_pressed |= self.drops_events;
            }
            Err(Refused::Broken(fault)) => inner.fault = Some(fault.clone()),
            Err(Refused::TooLarge) => {}
        }
        inner.is_pressed |= self.drops_events && inner.writer.used() > self.max_bytes / 4 * 3;
        inner.note_segment();
        self.measure(&inner);
        if !matches!(done, Err(Refused::Full)) {
            // Another source that waits for room would be told of none.
            self.changed.notify_all();
        }
        done
    }

    /// The spool is full: senders have to wait, so that their silence does not end connections.
    pub fn is_refusing(&self) -> bool {
        self.lock().is_refusing()
    }

    /// A sync takes long, and its records cannot be read before: silence does not end their connections.
    pub fn is_slow(&self) -> bool {
        self.lock().waits_since.is_some_and(|since| machine::now().duration_since(since) >= SLOW)
    }

    /// Waits until there may be room again, or a moment.
    pub fn wait(&self) {
        let inner = self.lock();
        drop(self.changed.wait_timeout(inner, LOOK).unwrap_or_else(PoisonError::into_inner));
    }

    /// Waits until everything that was appended before is synced; false when it never will be.
    pub fn acknowledged(&self) -> bool {
        let mut inner = self.lock();
        let Some(wanted) = inner.writer.segments.back().map(|active| (active.number, active.bytes)) else {
            return false;
        };
        while inner.synced < wanted && inner.fault.is_none() {
            inner = self.changed.wait_timeout(inner, LOOK).unwrap_or_else(PoisonError::into_inner).0;
        }
        inner.synced >= wanted
    }

    /// Newest position of a source, or of a partition of it (-1 where it has none).
    pub fn position(&self, source: &str, partition: i32) -> Option<Position> {
        self.lock().writer.position(source, partition)
    }

    /// Tells this spool from every other.
    pub fn id(&self) -> u64 {
        self.lock().writer.id
    }

    /// Everything before `offset` was shipped and noted.
    pub fn passed(&self, offset: u64) -> Result<(), Error> {
        let mut inner = self.lock();
        inner.writer.passed(offset).map_err(|error| Error::of_state("the spool", &error))?;
        if inner.writer.used() < self.max_bytes / 2 {
            inner.is_pressed = false;
        }
        inner.note_segment();
        self.measure(&inner);
        self.changed.notify_all();
        Ok(())
    }

    /// The spool fills, and events are to be dropped.
    pub fn is_pressed(&self) -> bool {
        let mut inner = self.lock();
        // A refused record may never be offered again; the pressure must end all the same.
        inner.is_pressed &= inner.writer.used() >= self.max_bytes / 2 || inner.is_refusing();
        inner.is_pressed
    }

    /// Why nothing can be appended any more.
    pub fn fault(&self) -> Result<(), Error> {
        self.lock().fault.clone().map_or(Ok(()), Err)
    }

    /// Lets the thread that syncs end, when everything is synced.
    pub fn stop(&self) {
        self.lock().is_stopped = true;
        self.changed.notify_all();
    }

    /// The segments, oldest first, each with the bytes of it that were synced.
    fn synced(&self) -> Vec<Segment> {
        let inner = self.lock();
        let (number, bytes) = inner.synced;
        let known = inner.writer.segments.iter().filter(|segment| segment.number <= number).cloned();
        known.map(|it| if it.number == number { Segment { bytes, ..it } } else { it }).collect()
    }
}

#[cfg(test)]
mod model;
