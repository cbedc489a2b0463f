//! The shipping thread: gives cycles to the sink in order, and writes their checkpoints once they are acknowledged.

use crate::run::journal::{Entry, Journal};
use crate::run::metrics::Metrics;
use crate::run::sink::{Message, Refusal, Sink};
use std::sync::mpsc::{Receiver, SyncSender, sync_channel};
use std::sync::{Arc, Mutex};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

/// What was cut at one moment: batches, and the states of the files that they came from.
pub struct Cycle {
    /// Batches.
    pub messages: Vec<Message>,
    /// States.
    pub entries: Vec<Entry>,
    /// The states are those of all files: the journal may be written anew.
    pub is_all: bool,
}

/// What the thread says to the other.
#[derive(Default)]
struct Said {
    fatal: Option<String>,
    is_heavy: bool,
}

/// The thread.
pub struct Shipper {
    cycles: Option<SyncSender<Cycle>>,
    said: Arc<Mutex<Said>>,
    thread: Option<JoinHandle<()>>,
    metrics: Metrics,
}

/// Cycles on their way at once; when so many are, reading waits.
const IN_FLIGHT: usize = 2;
const FIRST_PAUSE: Duration = Duration::from_millis(100);
const LONGEST_PAUSE: Duration = Duration::from_secs(10);

impl Shipper {
    /// Starts the thread.
    pub fn start(sink: Box<dyn Sink>, journal: Journal, metrics: Metrics) -> Result<Self, String> {
        let (cycles, taken) = sync_channel(IN_FLIGHT);
        let said = Arc::new(Mutex::new(Said::default()));
        let shared = Arc::clone(&said);
        let counted = metrics.clone();
        let thread = std::thread::Builder::new()
            .name("ship".into())
            .spawn(move || work(sink, journal, &taken, &shared, &counted))
            .map_err(|error| format!("cannot start a thread: {error}"))?;
        Ok(Self { cycles: Some(cycles), said, thread: Some(thread), metrics })
    }

    /// Gives a cycle away; waits while too many are on their way.
    pub fn ship(&self, cycle: Cycle) -> Result<(), String> {
        self.fault()?;
        self.metrics.cycles_in_flight.inc();
        let sent = self.cycles.as_ref().is_some_and(|cycles| cycles.send(cycle).is_ok());
        if sent { Ok(()) } else { self.fault().and_then(|()| Err("the shipping thread is gone".into())) }
    }

    /// Too many cycles are on their way: one more would wait.
    pub fn is_full(&self) -> bool {
        usize::try_from(self.metrics.cycles_in_flight.get()).is_ok_and(|cycles| cycles > IN_FLIGHT)
    }

    /// The journal is mostly old entries: the next cycle should hold the states of all files.
    pub fn wants_all(&self) -> bool {
        self.said.lock().is_ok_and(|said| said.is_heavy)
    }

    /// Why shipping ended, if it did.
    fn fault(&self) -> Result<(), String> {
        match self.said.lock().ok().and_then(|said| said.fatal.clone()) {
            Some(fatal) => Err(fatal),
            None => Ok(()),
        }
    }

    /// Waits until everything that was given is acknowledged and noted.
    pub fn finish(mut self) -> Result<(), String> {
        self.cycles = None;
        if let Some(thread) = self.thread.take() {
            thread.join().map_err(|_| "the shipping thread broke".to_owned())?;
        }
        self.fault()
    }
}

fn work(
    mut sink: Box<dyn Sink>,
    mut journal: Journal,
    cycles: &Receiver<Cycle>,
    said: &Mutex<Said>,
    metrics: &Metrics,
) {
    for cycle in cycles {
        let done = give(sink.as_mut(), &cycle.messages, metrics).and_then(|()| {
            if cycle.is_all { journal.rewrite(cycle.entries.iter()) } else { journal.commit(&cycle.entries) }
        });
        let Ok(mut said) = said.lock() else { return };
        said.is_heavy = journal.is_heavy();
        if let Err(fatal) = done {
            said.fatal = Some(fatal);
            return;
        }
        drop(said);
        for message in &cycle.messages {
            metrics.sent(message.table, message.rows, message.bytes.len());
        }
        metrics.checkpoint_bytes.set(i64::try_from(journal.size()).unwrap_or(i64::MAX));
        metrics.acknowledged(Instant::now());
    }
}

/// Gives until it is taken: the world may be bad for hours, and the files wait.
fn give(sink: &mut dyn Sink, messages: &[Message], metrics: &Metrics) -> Result<(), String> {
    let mut pause = FIRST_PAUSE;
    loop {
        match sink.give(messages) {
            Ok(()) => return Ok(()),
            Err(Refusal::Never(said)) => return Err(said),
            Err(Refusal::Later(said)) => {
                metrics.retries.inc();
                eprintln!("quiclens-collector: {said}; trying again in {} ms", pause.as_millis());
                std::thread::sleep(pause);
                pause = (pause * 2).min(LONGEST_PAUSE);
            }
        }
    }
}
