//! The shipping thread: gives cycles to the sink in order, and writes their checkpoints once they are acknowledged.

use crate::run::journal::{Entry, Journal};
use crate::run::metrics::Metrics;
use crate::run::relief::Relief;
use crate::run::sink::{Message, Refusal, Sink};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::mpsc::{Receiver, RecvTimeoutError, SyncSender, sync_channel};
use std::sync::{Arc, Mutex};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

/// What was cut at one moment: batches, and the states of the files that they came from.
pub struct Cycle {
    /// Batches.
    pub messages: Vec<Message>,
    /// Raw events that may be dropped when the spool is full.
    pub droppable: Vec<Message>,
    /// What became of those files' parts.
    pub entries: Vec<Entry>,
    /// Where in the spool its reading stands.
    pub passed: Option<u64>,
}

impl Cycle {
    /// Of files alone.
    pub fn of_files(messages: Vec<Message>, entries: Vec<Entry>) -> Self {
        Self { messages, droppable: Vec::new(), entries, passed: None }
    }
}

/// The thread.
pub struct Shipper {
    cycles: Option<SyncSender<Cycle>>,
    /// Why shipping ended.
    fatal: Arc<Mutex<Option<String>>>,
    thread: Option<JoinHandle<()>>,
    /// Cycles that were given and are not acknowledged.
    in_flight: Arc<AtomicUsize>,
    metrics: Metrics,
}

/// Cycles on their way at once; when so many are, reading waits.
const IN_FLIGHT: usize = 2;
const FIRST_PAUSE: Duration = Duration::from_millis(100);
const LONGEST_PAUSE: Duration = Duration::from_secs(10);

impl Shipper {
    /// Starts the thread.
    pub fn start(
        sink: Box<dyn Sink>,
        journal: Journal,
        relief: Option<Relief>,
        metrics: Metrics,
    ) -> Result<Self, String> {
        let (cycles, taken) = sync_channel(IN_FLIGHT);
        let fatal = Arc::new(Mutex::new(None));
        let shared = Arc::clone(&fatal);
        let counted = metrics.clone();
        let in_flight = Arc::new(AtomicUsize::new(0));
        let given = Arc::clone(&in_flight);
        let thread = std::thread::Builder::new()
            .name("ship".into())
            .spawn(move || work(Ship { sink, journal, relief, in_flight: given, metrics: counted }, &taken, &shared))
            .map_err(|error| format!("cannot start a thread: {error}"))?;
        Ok(Self { cycles: Some(cycles), fatal, thread: Some(thread), in_flight, metrics })
    }

    /// Gives a cycle away; waits while too many are on their way.
    pub fn ship(&self, cycle: Cycle) -> Result<(), String> {
        self.fault()?;
        let in_flight = self.in_flight.fetch_add(1, Ordering::SeqCst) + 1;
        self.metrics.cycles_in_flight.set(i64::try_from(in_flight).unwrap_or(i64::MAX));
        let sent = self.cycles.as_ref().is_some_and(|cycles| cycles.send(cycle).is_ok());
        if sent { Ok(()) } else { self.fault().and_then(|()| Err("the shipping thread is gone".into())) }
    }

    /// Too many cycles are on their way: one more would wait.
    pub fn is_full(&self) -> bool {
        self.in_flight.load(Ordering::SeqCst) > IN_FLIGHT
    }

    /// Nothing is on its way.
    pub fn is_idle(&self) -> bool {
        self.in_flight.load(Ordering::SeqCst) == 0
    }

    /// Why shipping ended, if it did.
    pub fn fault(&self) -> Result<(), String> {
        match self.fatal.lock().ok().and_then(|fatal| fatal.clone()) {
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

/// What the thread has.
struct Ship {
    sink: Box<dyn Sink>,
    journal: Journal,
    relief: Option<Relief>,
    in_flight: Arc<AtomicUsize>,
    metrics: Metrics,
}

fn work(mut ship: Ship, cycles: &Receiver<Cycle>, fatal: &Mutex<Option<String>>) {
    loop {
        let done = match cycles.recv_timeout(FIRST_PAUSE) {
            Ok(cycle) => ship.take(&cycle),
            Err(RecvTimeoutError::Timeout) => ship.idle(),
            Err(RecvTimeoutError::Disconnected) => return,
        };
        if let Err(said) = done {
            if let Ok(mut fatal) = fatal.lock() {
                *fatal = Some(said);
            }
            return;
        }
    }
}

impl Ship {
    /// Gives a cycle until it is taken, and notes that it was.
    fn take(&mut self, cycle: &Cycle) -> Result<(), String> {
        let mut pause = FIRST_PAUSE;
        let is_dropped = loop {
            match self.offer(cycle) {
                Ok(()) => break false,
                Err(Refusal::Never(said)) => return Err(said),
                // The world may be bad for hours; files and spool wait, as long as there is room.
                Err(Refusal::Later(said)) => {
                    if let Some(relief) = self.relief.as_mut().filter(|relief| relief.is_wanted())
                        && relief.put_by(cycle)?
                    {
                        break true;
                    }
                    self.metrics.retries.inc();
                    eprintln!("quiclens-collector: {said}; trying again in {} ms", pause.as_millis());
                    self.rest(pause);
                    pause = (pause * 2).min(LONGEST_PAUSE);
                }
            }
        };
        // A full disk is no fault of ours: what was acknowledged waits for its checkpoint, and nothing is read on.
        let mut pause = FIRST_PAUSE;
        while let Err(said) = self.journal.commit(&cycle.entries) {
            self.metrics.retries.inc();
            eprintln!("quiclens-collector: {said}; trying again in {} ms", pause.as_millis());
            std::thread::sleep(pause);
            pause = (pause * 2).min(LONGEST_PAUSE);
        }
        let events = cycle.droppable.iter().filter(|_| !is_dropped);
        for message in cycle.messages.iter().chain(events) {
            self.metrics.sent(message.table, message.rows, message.bytes.len());
        }
        self.metrics.checkpoint_bytes.set(i64::try_from(self.journal.size()).unwrap_or(i64::MAX));
        let in_flight = self.in_flight.fetch_sub(1, Ordering::SeqCst) - 1;
        self.metrics.cycles_in_flight.set(i64::try_from(in_flight).unwrap_or(i64::MAX));
        self.metrics.acknowledged(Instant::now());
        match (&self.relief, cycle.passed) {
            (Some(relief), Some(offset)) => relief.passed(offset),
            _ => Ok(()),
        }
    }

    /// What has waited goes first.
    fn offer(&mut self, cycle: &Cycle) -> Result<(), Refusal> {
        self.drain()?;
        let relief = self.relief.as_ref();
        let patience = || !relief.is_some_and(Relief::is_wanted);
        for messages in [&cycle.droppable, &cycle.messages] {
            if !messages.is_empty() {
                self.sink.give(messages, &patience)?;
            }
        }
        Ok(())
    }

    fn drain(&mut self) -> Result<(), Refusal> {
        match &mut self.relief {
            Some(relief) if relief.is_waiting() => relief.drain(self.sink.as_mut(), &|| false),
            _ => Ok(()),
        }
    }

    /// Nothing new has come for a while.
    fn idle(&mut self) -> Result<(), String> {
        match self.drain() {
            Err(Refusal::Never(said)) => Err(said),
            Ok(()) | Err(Refusal::Later(_)) => Ok(()),
        }
    }

    /// Waits, but no longer than until room must be made.
    fn rest(&self, pause: Duration) {
        let began = Instant::now();
        while began.elapsed() < pause && !self.relief.as_ref().is_some_and(Relief::is_wanted) {
            std::thread::sleep(FIRST_PAUSE.min(pause));
        }
        if began.elapsed() < FIRST_PAUSE {
            std::thread::sleep(FIRST_PAUSE);
        }
    }
}
