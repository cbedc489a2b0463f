//! The shipping thread: gives cycles to the sink in order, and writes their checkpoints once they are acknowledged.

use crate::error::{Error, ErrorHandling};
use crate::machine;
use crate::run::journal::{Entry, Journal};
use crate::run::metrics::Metrics;
use crate::run::relief::Relief;
use crate::run::sink::{Message, Sink};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::mpsc::{Receiver, RecvTimeoutError, SyncSender, sync_channel};
use std::sync::{Arc, Mutex};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};
use tracing::warn;

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
    /// When it was cut.
    pub cut: Instant,
}

impl Cycle {
    /// Of files alone.
    pub fn of_files(messages: Vec<Message>, entries: Vec<Entry>) -> Self {
        Self { messages, droppable: Vec::new(), entries, passed: None, cut: machine::now() }
    }
}

/// The thread.
pub struct Shipper {
    cycles: Option<SyncSender<Cycle>>,
    /// Why shipping ended.
    fatal: Arc<Mutex<Option<Error>>>,
    thread: Option<JoinHandle<()>>,
    /// Cycles that were given and are not acknowledged.
    in_flight: Arc<AtomicUsize>,
    metrics: Metrics,
    /// The state of the thread, where the test does its work by hand.
    #[cfg(test)]
    by_hand: Option<std::cell::RefCell<(Ship, Receiver<Cycle>)>>,
}

/// Cycles that may wait for the sink; while more are in flight, reading waits.
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
    ) -> Result<Self, Error> {
        let (cycles, taken) = sync_channel(IN_FLIGHT);
        let fatal = Arc::new(Mutex::new(None));
        let shared = Arc::clone(&fatal);
        let counted = metrics.clone();
        let in_flight = Arc::new(AtomicUsize::new(0));
        let given = Arc::clone(&in_flight);
        let thread = std::thread::Builder::new()
            .name("ship".into())
            .spawn(move || {
                work(Ship { sink, journal, relief, failed: None, in_flight: given, metrics: counted }, &taken, &shared)
            })
            .map_err(|error| Error::internal(format!("cannot start a thread: {error}")))?;
        Ok(Self {
            cycles: Some(cycles),
            fatal,
            thread: Some(thread),
            in_flight,
            metrics,
            #[cfg(test)]
            by_hand: None,
        })
    }

    /// Without a thread: see [`Self::work`].
    #[cfg(test)]
    pub fn by_hand(sink: Box<dyn Sink>, journal: Journal, relief: Option<Relief>, metrics: Metrics) -> Self {
        let (cycles, taken) = sync_channel(IN_FLIGHT);
        let in_flight = Arc::new(AtomicUsize::new(0));
        let ship =
            Ship { sink, journal, relief, failed: None, in_flight: Arc::clone(&in_flight), metrics: metrics.clone() };
        let by_hand = Some(std::cell::RefCell::new((ship, taken)));
        Self { cycles: Some(cycles), fatal: Arc::default(), thread: None, in_flight, metrics, by_hand }
    }

    /// Takes the next cycle, or idles.
    #[cfg(test)]
    pub fn work(&self) {
        // A thread ends where shipping does.
        let Some(by_hand) = self.by_hand.as_ref().filter(|_| self.fault().is_ok()) else { return };
        let mut held = by_hand.borrow_mut();
        let (ship, cycles) = &mut *held;
        let done = match cycles.try_recv() {
            Ok(cycle) => ship.take(&cycle),
            Err(_) => ship.idle(),
        };
        if let (Err(error), Ok(mut fatal)) = (done, self.fatal.lock()) {
            *fatal = Some(error);
        }
    }

    /// Without a thread, ships until at most `most` cycles are in flight.
    #[cfg(test)]
    fn make_room(&self, most: usize) {
        while self.by_hand.is_some() && !self.is_idle() && self.fault().is_ok() {
            if self.in_flight.load(Ordering::SeqCst) <= most {
                return;
            }
            self.work();
        }
    }

    /// Hands a cycle to the thread; waits while too many are in flight.
    pub fn ship(&self, mut cycle: Cycle) -> Result<(), Error> {
        self.fault()?;
        cycle.messages.sort_by_key(is_last);
        #[cfg(test)]
        self.make_room(IN_FLIGHT - 1);
        let in_flight = self.in_flight.fetch_add(1, Ordering::SeqCst) + 1;
        self.metrics.cycles_in_flight.set(i64::try_from(in_flight).unwrap_or(i64::MAX));
        let sent = self.cycles.as_ref().is_some_and(|cycles| cycles.send(cycle).is_ok());
        if sent { Ok(()) } else { self.fault().and_then(|()| Err(Error::internal("the shipping thread is gone"))) }
    }

    /// Too many cycles are in flight: one more would wait.
    pub fn is_full(&self) -> bool {
        self.in_flight.load(Ordering::SeqCst) > IN_FLIGHT
    }

    /// No cycle is in flight.
    pub fn is_idle(&self) -> bool {
        self.in_flight.load(Ordering::SeqCst) == 0
    }

    /// Why shipping ended, if it did.
    pub fn fault(&self) -> Result<(), Error> {
        match self.fatal.lock().ok().and_then(|fatal| fatal.clone()) {
            Some(fatal) => Err(fatal),
            None => Ok(()),
        }
    }

    /// Waits until everything that was given is acknowledged and noted.
    pub fn finish(mut self) -> Result<(), Error> {
        #[cfg(test)]
        self.make_room(0);
        self.cycles = None;
        if let Some(thread) = self.thread.take() {
            thread.join().map_err(|_| Error::internal("the shipping thread broke"))?;
        }
        self.fault()
    }
}

/// A row of `connections` counts the other rows of its connection, so it is given to the sink after them: after a kill
/// in between, with a log that cannot be read again, it must not count rows that have not arrived.
fn is_last(message: &Message) -> bool {
    message.table == "connections"
}

/// What the thread has.
struct Ship {
    sink: Box<dyn Sink>,
    journal: Journal,
    relief: Option<Relief>,
    /// When the sink did not take a cycle, if it was the last that it was given.
    failed: Option<Instant>,
    in_flight: Arc<AtomicUsize>,
    metrics: Metrics,
}

fn work(mut ship: Ship, cycles: &Receiver<Cycle>, fatal: &Mutex<Option<Error>>) {
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
    fn take(&mut self, cycle: &Cycle) -> Result<(), Error> {
        let mut pause = FIRST_PAUSE;
        let mut are_events_stored = cycle.droppable.is_empty();
        let is_put_by = loop {
            // Where the spool needs room, not each cycle waits for a sink that was away a moment ago.
            let is_away = self.failed.is_some_and(|failed| machine::now().duration_since(failed) < LONGEST_PAUSE);
            let offered = if is_away && matches!(self.put_by(cycle, are_events_stored), Ok(true)) {
                break true;
            } else {
                self.offer(cycle, &mut are_events_stored)
            };
            self.failed = offered.is_err().then(machine::now);
            match offered {
                Ok(()) => break false,
                // The fault may last for hours; files and spool hold what comes in meanwhile, as long as they can.
                Err(error) => {
                    self.try_again(error, pause)?;
                    match self.put_by(cycle, are_events_stored) {
                        Ok(true) => break true,
                        Ok(false) => {}
                        Err(error) => self.try_again(error, pause)?,
                    }
                    self.rest(pause);
                    pause = (pause * 2).min(LONGEST_PAUSE);
                }
            }
        };
        // While the disk is full, the acknowledged cycle waits for its checkpoint, and reading stops.
        let mut pause = FIRST_PAUSE;
        let began = machine::now();
        while let Err(error) = self.journal.commit(&cycle.entries) {
            self.try_again(error, pause)?;
            machine::sleep(pause);
            pause = (pause * 2).min(LONGEST_PAUSE);
        }
        self.metrics.checkpoint_seconds.observe(machine::now().duration_since(began).as_secs_f64());
        let events = cycle.droppable.iter().filter(|_| are_events_stored || !is_put_by);
        for message in cycle.messages.iter().chain(events) {
            self.metrics.sent(message.table, message.rows, message.bytes.len());
        }
        self.metrics.checkpoint_bytes.set(i64::try_from(self.journal.size()).unwrap_or(i64::MAX));
        let in_flight = self.in_flight.fetch_sub(1, Ordering::SeqCst) - 1;
        self.metrics.cycles_in_flight.set(i64::try_from(in_flight).unwrap_or(i64::MAX));
        self.metrics.batch_wait_seconds.observe(machine::now().duration_since(cycle.cut).as_secs_f64());
        self.metrics.acknowledged(machine::now());
        let (Some(relief), Some(offset)) = (&self.relief, cycle.passed) else { return Ok(()) };
        let mut pause = FIRST_PAUSE;
        while let Err(error) = relief.passed(offset) {
            self.try_again(error, pause)?;
            machine::sleep(pause);
            pause = (pause * 2).min(LONGEST_PAUSE);
        }
        Ok(())
    }

    /// What is to be retried is counted and said; every other error is given back, and ends shipping.
    fn try_again(&self, error: Error, pause: Duration) -> Result<(), Error> {
        match error.handling() {
            ErrorHandling::Retry | ErrorHandling::Reject => {
                self.metrics.retries.inc();
                warn!(kind = error.kind.name(), "{error}; trying again in {} ms", pause.as_millis());
                Ok(())
            }
            ErrorHandling::Stop => Err(error),
        }
    }

    /// Where the spool needs room, a cycle waits in the outbox, but for events that are stored. False when it does not.
    fn put_by(&mut self, cycle: &Cycle, are_events_stored: bool) -> Result<bool, Error> {
        match self.relief.as_mut().filter(|relief| relief.is_wanted()) {
            Some(relief) => relief.put_by(&cycle.messages, if are_events_stored { &[] } else { &cycle.droppable }),
            None => Ok(false),
        }
    }

    /// What has waited goes first. `are_events_stored`: those of the cycle are, and need not be given again.
    fn offer(&mut self, cycle: &Cycle, are_events_stored: &mut bool) -> Result<(), Error> {
        self.drain()?;
        let relief = self.relief.as_ref();
        let patience = || !relief.is_some_and(Relief::is_wanted);
        let (rows, last) = cycle.messages.split_at(cycle.messages.partition_point(|message| !is_last(message)));
        let events = if *are_events_stored { &[][..] } else { &cycle.droppable };
        for messages in [events, rows, last] {
            if !messages.is_empty() {
                let began = machine::now();
                let given = self.sink.give(messages, &patience);
                self.metrics.sink_answer_seconds.observe(machine::now().duration_since(began).as_secs_f64());
                given?;
            }
            *are_events_stored = true;
        }
        Ok(())
    }

    fn drain(&mut self) -> Result<(), Error> {
        match &mut self.relief {
            Some(relief) if relief.is_waiting() => relief.drain(self.sink.as_mut(), &|| false),
            _ => Ok(()),
        }
    }

    /// Nothing new has come for a while.
    fn idle(&mut self) -> Result<(), Error> {
        match self.drain() {
            Err(error) if error.handling() == ErrorHandling::Stop => Err(error),
            Ok(()) | Err(_) => Ok(()),
        }
    }

    /// Waits, but not while the spool needs space.
    fn rest(&self, pause: Duration) {
        let began = machine::now();
        while machine::now().duration_since(began) < pause && !self.relief.as_ref().is_some_and(Relief::is_wanted) {
            machine::sleep(FIRST_PAUSE.min(pause));
        }
        if machine::now().duration_since(began) < FIRST_PAUSE {
            machine::sleep(FIRST_PAUSE);
        }
    }
}

#[cfg(test)]
#[expect(clippy::unwrap_used, reason = "tests")]
mod tests {
    use super::*;
    use crate::error::FailureKind;
    use crate::run::journal::{FileHead, FileId, HEAD};
    use crate::run::outbox::Outbox;
    use crate::run::sink::Patience;
    use crate::run::spool::{Position, Spool, SpoolRoom, What};
    use quiclens_core::catalogue::Catalogue;

    /// Gives each of its answers once, the last first, then takes everything.
    struct Scripted(Vec<FailureKind>);

    impl Sink for Scripted {
        fn give(&mut self, _: &[Message], _: &Patience<'_>) -> Result<(), Error> {
            self.0.pop().map_or(Ok(()), |kind| Err(Error::new(kind, "scripted", "injected")))
        }
    }

    /// Notes which tables come together, and refuses those of one of them for good.
    struct Noted(Arc<Mutex<Vec<Vec<&'static str>>>>, &'static str);

    impl Sink for Noted {
        fn give(&mut self, messages: &[Message], _: &Patience<'_>) -> Result<(), Error> {
            let tables: Vec<_> = messages.iter().map(|message| message.table).collect();
            let is_refused = tables.contains(&self.1);
            self.0.lock().unwrap().push(tables);
            if is_refused { Err(Error::new(FailureKind::SinkRefuses, "noted", "injected")) } else { Ok(()) }
        }
    }

    #[test]
    fn rows_of_connections_go_when_all_else_of_the_cycle_is_there() {
        let given = |refused| {
            let (folder, given) = (tempfile::tempdir().unwrap(), Arc::default());
            let (journal, _) = Journal::open(folder.path()).unwrap();
            let sink = Box::new(Noted(Arc::clone(&given), refused));
            let shipper = Shipper::start(sink, journal, None, Metrics::new(Instant::now())).unwrap();
            let message =
                |table| Message { table, rows: 1, batch: table.into(), made_us: 0, heartbeat_us: None, bytes: vec![7] };
            let messages = ["streams", "connections", "events", "connections", "rejects"].map(message).into();
            shipper.ship(Cycle::of_files(messages, Vec::new())).unwrap();
            let is_done = shipper.finish().is_ok();
            (is_done, std::mem::take(&mut *given.lock().unwrap()))
        };
        let (rest, last) = (vec!["streams", "events", "rejects"], vec!["connections"; 2]);
        assert_eq!(given("none"), (true, vec![rest.clone(), last]));
        assert_eq!(given("events"), (false, vec![rest]), "no row of a connection without its events");
    }

    /// Takes events, and is away for all else.
    struct EventsAlone(Arc<Mutex<Vec<&'static str>>>);

    impl Sink for EventsAlone {
        fn give(&mut self, messages: &[Message], _: &Patience<'_>) -> Result<(), Error> {
            self.0.lock().unwrap().extend(messages.iter().map(|message| message.table));
            let takes = messages.iter().all(|message| message.table == "events");
            if takes { Ok(()) } else { Err(Error::new(FailureKind::SinkAway, "scripted", "away")) }
        }
    }

    /// Rows that say that events were dropped would be false; and each cycle that waits for a sink which is away holds up
    /// the spool.
    #[test]
    fn stored_events_are_not_dropped_and_where_the_spool_fills_a_sink_that_is_away_is_not_asked_for_each_cycle() {
        let (folder, given) = (tempfile::tempdir().unwrap(), Arc::default());
        let metrics = Metrics::new(Instant::now());
        let room = SpoolRoom { max_bytes: 8 << 10, min_free_bytes: 0 };
        let spool = Spool::open(&folder.path().join("spool"), room, true, &metrics).unwrap();
        let line = b"a\t1\t0\tx\t\n".repeat(40);
        while !spool.is_pressed() {
            let _ = spool.append(What::lines("s", Position::Running(0), &line), &line);
        }
        let outbox = Outbox::open(&folder.path().join("outbox"), 1 << 20).unwrap();
        let catalogue = Arc::new(Catalogue::load().unwrap());
        let relief = Relief::new(&spool, outbox, "here", &catalogue, &metrics);
        let (journal, _) = Journal::open(&folder.path().join("state")).unwrap();
        let sink = Box::new(EventsAlone(Arc::clone(&given)));
        let shipper = Shipper::start(sink, journal, Some(relief), metrics.clone()).unwrap();
        let message =
            |table| Message { table, rows: 1, batch: table.into(), made_us: 0, heartbeat_us: None, bytes: vec![7] };
        let cycle = |droppable: &[&'static str]| Cycle {
            messages: vec![message("streams"), message("connections")],
            droppable: droppable.iter().map(|table| message(table)).collect(),
            ..Cycle::of_files(Vec::new(), Vec::new())
        };
        // Were they looked at again, these events, which are no batch, would end it.
        shipper.ship(cycle(&["events"])).unwrap();
        shipper.ship(cycle(&[])).unwrap();
        shipper.finish().unwrap();
        assert_eq!(metrics.events_dropped.get(), 0);
        let asked = given.lock().unwrap().clone();
        assert_eq!(asked.iter().filter(|table| **table == "events").count(), 1);
        assert_eq!(asked.iter().filter(|table| **table == "connections").count(), 0);
        assert!(asked.len() <= 4, "{asked:?}");
        let waiting = std::fs::read_dir(folder.path().join("outbox")).unwrap().count();
        assert_eq!(waiting, 4, "the rows of both cycles");
    }

    /// Ships one cycle to a sink that first answers `answers`; how shipping ended, how often it was tried again, and
    /// whether its checkpoint is there.
    fn shipped(answers: &[FailureKind]) -> (Result<(), Error>, u64, bool) {
        let folder = tempfile::tempdir().unwrap();
        let file = FileId { device: 1, inode: 2 };
        let (journal, _) = Journal::open(folder.path()).unwrap();
        let metrics = Metrics::new(Instant::now());
        let shipper = Shipper::start(Box::new(Scripted(answers.to_vec())), journal, None, metrics.clone()).unwrap();
        let head = postcard::to_stdvec(&FileHead { state: vec![1], ..FileHead::default() }).unwrap();
        let entries = vec![Entry { file, part: HEAD, state: Some(head) }];
        let message =
            Message { table: "streams", rows: 1, batch: "b".into(), made_us: 0, heartbeat_us: None, bytes: vec![7] };
        shipper.ship(Cycle::of_files(vec![message], entries)).unwrap();
        let ended = shipper.finish();
        let (_, found) = Journal::open(folder.path()).unwrap();
        (ended, metrics.retries.get(), found.files.contains_key(&file))
    }

    #[test]
    fn of_every_kind_of_error_what_passes_is_retried_and_the_rest_ends_shipping_without_a_checkpoint() {
        for kind in FailureKind::ALL {
            let (ended, retries, is_noted) = shipped(&[kind]);
            match kind.handling() {
                ErrorHandling::Retry | ErrorHandling::Reject => {
                    assert!(ended.is_ok() && retries == 1 && is_noted, "{kind:?}: {ended:?}, {retries}");
                }
                ErrorHandling::Stop => {
                    let error = ended.unwrap_err();
                    assert!(error.kind == kind && retries == 0 && !is_noted, "{kind:?}: {error}, {retries}");
                }
            }
        }
    }
}
