//! The shipping thread: gives cycles to the sink in order, and writes their checkpoints once they are acknowledged.

use crate::run::journal::{Entry, Journal};
use crate::run::sink::{Message, Refusal, Sink};
use std::sync::mpsc::{Receiver, SyncSender, sync_channel};
use std::sync::{Arc, Mutex};
use std::thread::JoinHandle;
use std::time::Duration;

/// What was cut at one moment: batches, and the states of the files that they came from.
pub struct Cycle {
    /// Batches.
    pub messages: Vec<Message>,
    /// What became of those files' parts.
    pub entries: Vec<Entry>,
}

/// The thread.
pub struct Shipper {
    cycles: Option<SyncSender<Cycle>>,
    /// Why shipping ended.
    fatal: Arc<Mutex<Option<String>>>,
    thread: Option<JoinHandle<()>>,
}

/// Cycles on their way at once; when so many are, reading waits.
const IN_FLIGHT: usize = 2;
const FIRST_PAUSE: Duration = Duration::from_millis(100);
const LONGEST_PAUSE: Duration = Duration::from_secs(10);

impl Shipper {
    /// Starts the thread.
    pub fn start(sink: Box<dyn Sink>, journal: Journal) -> Result<Self, String> {
        let (cycles, taken) = sync_channel(IN_FLIGHT);
        let fatal = Arc::new(Mutex::new(None));
        let shared = Arc::clone(&fatal);
        let thread = std::thread::Builder::new()
            .name("ship".into())
            .spawn(move || work(sink, journal, &taken, &shared))
            .map_err(|error| format!("cannot start a thread: {error}"))?;
        Ok(Self { cycles: Some(cycles), fatal, thread: Some(thread) })
    }

    /// Gives a cycle away; waits while too many are on their way.
    pub fn ship(&self, cycle: Cycle) -> Result<(), String> {
        self.fault()?;
        let sent = self.cycles.as_ref().is_some_and(|cycles| cycles.send(cycle).is_ok());
        if sent { Ok(()) } else { self.fault().and_then(|()| Err("the shipping thread is gone".into())) }
    }

    /// Why shipping ended, if it did.
    fn fault(&self) -> Result<(), String> {
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

fn work(mut sink: Box<dyn Sink>, mut journal: Journal, cycles: &Receiver<Cycle>, fatal: &Mutex<Option<String>>) {
    for cycle in cycles {
        let done = give(sink.as_mut(), &cycle.messages).and_then(|()| journal.commit(&cycle.entries));
        if let Err(said) = done {
            if let Ok(mut fatal) = fatal.lock() {
                *fatal = Some(said);
            }
            return;
        }
    }
}

/// Gives until it is taken: the world may be bad for hours, and the files wait.
fn give(sink: &mut dyn Sink, messages: &[Message]) -> Result<(), String> {
    let mut pause = FIRST_PAUSE;
    loop {
        match sink.give(messages) {
            Ok(()) => return Ok(()),
            Err(Refusal::Never(said)) => return Err(said),
            Err(Refusal::Later(said)) => {
                eprintln!("quiclens-collector: {said}; trying again in {} ms", pause.as_millis());
                std::thread::sleep(pause);
                pause = (pause * 2).min(LONGEST_PAUSE);
            }
        }
    }
}
