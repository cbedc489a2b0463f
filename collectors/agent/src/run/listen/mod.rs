//! Sources that cannot be read again: sockets, standard input, a topic of raw lines. What they give goes into the spool.

pub mod config;
mod dropped;
mod kafka;
mod lines;
mod sockets;

use crate::error::Error;
use crate::run::listen::lines::StreamPiece;
use crate::run::metrics::Metrics;
use crate::run::spool::{Position, Refused, Spool, What};
use config::Listen;
use quiclens_core::reader::skip::Skip;
use quiclens_core::trace::REJECT_BYTES;
use sockets::Sockets;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::JoinHandle;
use std::time::Instant;

/// Where sources put what they give.
#[derive(Clone)]
pub struct Intake {
    spool: Arc<Spool>,
    stop: Arc<AtomicBool>,
    metrics: Metrics,
}

/// Why a source must end.
#[derive(Debug)]
enum Ended {
    /// It was told to; the record that it was about to append was not taken.
    Told,
    /// The spool broke.
    Broken,
}

impl Intake {
    fn is_stopped(&self) -> bool {
        self.stop.load(Ordering::Relaxed)
    }

    /// Appends lines, one record; waits while there is no room.
    fn lines(&self, source: &str, position: Position, mut lines: Vec<u8>) -> Result<(), Ended> {
        if lines.iter().all(u8::is_ascii_whitespace) {
            return Ok(());
        }
        if lines.last() != Some(&b'\n') {
            lines.push(b'\n');
        }
        match self.append(What::lines(source, position, &lines), &lines)? {
            true => Ok(()),
            false => self.reject(source, position, Skip::TooLong, lines.len() as u64, &lines),
        }
    }

    /// Appends bytes that are not a line, as a reject.
    fn reject(&self, source: &str, position: Position, reason: Skip, length: u64, bytes: &[u8]) -> Result<(), Ended> {
        let bytes = &bytes[..bytes.len().min(REJECT_BYTES)];
        self.append(What::Reject { source: source.to_owned(), position, reason, length }, bytes).map(|_| ())
    }

    fn piece(&self, source: &str, piece: StreamPiece) -> Result<(), Ended> {
        let position = Position::Running(0);
        match piece {
            StreamPiece::Lines(lines) => self.lines(source, position, lines),
            StreamPiece::Reject(reason, length, bytes) => self.reject(source, position, reason, length, &bytes),
        }
    }

    /// True when it was taken, false when it would never fit.
    fn append(&self, what: What, payload: &[u8]) -> Result<bool, Ended> {
        let mut waits_since = None;
        loop {
            match self.spool.append(what.clone(), payload) {
                Ok(()) => {
                    let waited = waits_since.map(|since: Instant| since.elapsed().as_secs_f64());
                    waited.into_iter().for_each(|seconds| self.metrics.spool_room_seconds.observe(seconds));
                    return Ok(true);
                }
                Err(Refused::TooLarge) => return Ok(false),
                Err(Refused::Broken(_)) => return Err(Ended::Broken),
                Err(Refused::Full) if self.is_stopped() => return Err(Ended::Told),
                Err(Refused::Full) => {
                    waits_since.get_or_insert_with(Instant::now);
                    self.spool.wait();
                }
            }
        }
    }
}

/// The threads of all sources.
pub struct Listening {
    threads: Vec<JoinHandle<()>>,
    stop: Arc<AtomicBool>,
}

impl Listening {
    /// Opens all sources; an error says which cannot be.
    pub fn start(sources: &[Listen], spool: &Arc<Spool>, metrics: &Metrics) -> Result<Self, Error> {
        let stop = Arc::new(AtomicBool::new(false));
        let intake = Intake { spool: Arc::clone(spool), stop: Arc::clone(&stop), metrics: metrics.clone() };
        let mut threads = Vec::new();
        let mut begin = |name: &str, work: Box<dyn FnOnce() + Send>| {
            let thread = std::thread::Builder::new().name(name.into()).spawn(work);
            threads.push(thread.map_err(|error| Error::internal(format!("cannot start a thread: {error}")))?);
            Ok::<_, Error>(())
        };
        let mut sockets = Sockets::default();
        for source in sources {
            match source {
                Listen::Kafka { brokers, topic, partitions, password_file, options } => {
                    let options = options.with_password(password_file.as_deref())?;
                    let reader = kafka::TopicReader::open(brokers, topic, partitions, &options, intake.clone())?;
                    begin("raw-topic", Box::new(move || reader.work()))?;
                }
                other => sockets.open(other)?,
            }
        }
        if !sockets.is_empty() {
            begin("sockets", Box::new(move || sockets.work(&intake)))?;
        }
        Ok(Self { threads, stop })
    }

    /// All sources are over, as standard input may be.
    pub fn is_over(&self) -> bool {
        self.threads.iter().all(JoinHandle::is_finished)
    }

    /// Ends all sources and waits for them.
    pub fn stop(self) {
        self.stop.store(true, Ordering::Relaxed);
        for thread in self.threads {
            let _ = thread.join();
        }
    }
}
