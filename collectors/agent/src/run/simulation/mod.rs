//! Production code on a simulated machine: follower, spool, shipper, journal, outbox and sinks, with servers that write,
//! a broker that misbehaves, and faults between any two calls of the system. One seed makes one schedule; what is held
//! in the end is compared with what was written.
//!
//! The threads of a collector run one at a time here, each until it waits. A kill may come at each of their calls.

#![expect(clippy::unwrap_used, clippy::panic, clippy::print_stdout, reason = "tests")]

mod documents;
mod sequences;
mod served;
mod start_up;
mod store;
mod writer;

use crate::error::{Error, FailureKind};
use crate::machine::simulated::{self, Chance, Fault, Killed, PLACES, When};
use crate::run::config::Config;
use crate::run::follow::{Follower, Surroundings};
use crate::run::journal::Journal;
use crate::run::metrics::Metrics;
use crate::run::outbox::Outbox;
use crate::run::patiently;
use crate::run::relief::Relief;
use crate::run::ship::Shipper;
use crate::run::sink::{ReopeningSink, Sink};
use crate::run::spool::{Position, Spool, SpoolRoom, What};
use crate::run::spooled::{self, Spooled};
use crate::run::to_clickhouse::ClickHouse;
use crate::run::to_files::BatchFolder;
use crate::run::to_kafka::Kafka;
use crate::run::to_quiclens::Quiclens;
use documents::Documents;
use quiclens_core::catalogue::Catalogue;
use quiclens_core::tables::Tables;
use quiclens_edge::deployment::Deployment;
use sequences::Sequences;
use serde_json::json;
use served::{Served, ServerKind};
use std::collections::{BTreeMap, BTreeSet};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use std::time::{Duration, Instant};
use store::{Held, SharedStore, Simulated, Store, value_of};
use writer::Writer;

const CONFIG: &str = r#"
state_dir = "/state"
watch = "poll"
scan_interval_ms = 100
batch_interval_ms = 100
idle_timeout_s = 2
cpu_cap = 0
redact = false
name = "sim"
traces = ["/logs/d", "/logs/s"]
[[access_log]]
path = "/logs/a"
[[access_log]]
path = "/logs/b/access.log"
[sink]
kind = "files"
folder = "/out"
"#;

/// What all schedules share.
struct Fixed {
    catalogue: Arc<Catalogue>,
    /// Where silent logs are soon over, and where they, and connections, never are.
    configs: [Config; 2],
    deployment: Arc<Deployment>,
}

impl Fixed {
    fn new() -> Self {
        let brief: Config = toml::from_str(CONFIG).unwrap();
        let deployment = Arc::new(Deployment::open(&brief.enrich, &brief.name, brief.redact).unwrap());
        let long = Config { idle_timeout_s: 1_000_000, ..brief.clone() };
        Self { catalogue: Arc::new(Catalogue::load().unwrap()), configs: [brief, long], deployment }
    }
}

/// Where batches go.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Far {
    Files,
    Kafka,
    Http(ServerKind),
}

impl Far {
    /// One by chance; files are never away for long.
    fn one(chance: &mut Chance, is_away: bool) -> Self {
        match chance.below(6) {
            0 | 1 if !is_away => Self::Files,
            4 => Self::Http(ServerKind::ClickHouse),
            5 => Self::Http(ServerKind::Quiclens),
            _ => Self::Kafka,
        }
    }
}

/// One schedule.
struct Schedule<'f> {
    fixed: &'f Fixed,
    chance: Chance,
    writer: Writer,
    documents: Documents,
    sequences: Sequences,
    store: SharedStore,
    far: Far,
    /// Silent logs are soon over, and so are silent connections.
    is_brief: bool,
    drops_events: bool,
    steps: u64,
    /// Steps beyond those that were planned, for a schedule in which too little happened.
    more: u64,
    lives: u64,
    may_miss: BTreeSet<(u64, u64)>,
}

/// Least that happens in a schedule.
const LEAST: Least = Least { logs: 3, records: 300, faults: 3 };
/// Most steps that one is made longer by, to get there.
const MORE: u64 = 2000;

/// See [`LEAST`].
struct Least {
    logs: usize,
    records: u64,
    faults: u64,
}

/// What came of one.
struct ScheduleOutcome {
    wrong: Vec<String>,
    records: u64,
    logs: usize,
    faults: u64,
    calls: u64,
    made: Vec<u64>,
    trail: u64,
    lives: u64,
    befell: BTreeMap<String, u64>,
}

/// Faults with the places that they can befall, as the report names them, and what writers and brokers do.
fn pairs() -> impl Iterator<Item = (Fault, usize)> {
    let faults = |at: usize| Fault::ALL.into_iter().filter(move |fault| fault.befalls(PLACES[at].0));
    (0..PLACES.len()).flat_map(move |at| faults(at).map(move |fault| (fault, at)))
}

fn named((fault, at): (Fault, usize)) -> String {
    format!("{fault:?}, {} {}", PLACES[at].0, PLACES[at].1)
}

/// One fault, anywhere or at a place; those at which few calls are made are chosen more often.
fn plan(chance: &mut Chance) -> (When, Fault) {
    if chance.one_in(8) {
        let fault = Fault::ALL[usize::try_from(chance.below(6)).unwrap()];
        return (When::After(5 + chance.below(900)), fault);
    }
    let mut left = chance.below(pairs().map(|(_, at)| PLACES[at].3).sum());
    for (fault, at) in pairs() {
        let (_, _, about, weight) = PLACES[at];
        if left < weight {
            return (When::At(at, chance.below(about)), fault);
        }
        left -= weight;
    }
    (When::After(0), Fault::Io)
}

/// A sink for a store behind HTTP, with the password of now.
fn over_http(server: ServerKind, store: &SharedStore) -> Result<Box<dyn Sink>, Error> {
    let password = Some(store.lock().unwrap().password.to_string());
    let way = Box::new(Served { server, store: Arc::clone(store) });
    Ok(match server {
        ServerKind::Quiclens => Box::new(Quiclens::over(way, "http://store", password)),
        ServerKind::ClickHouse => Box::new(ClickHouse::over(way, "http://store/quic", Some("collector"), password)?),
    })
}

fn make_folders() {
    for folder in ["/logs/a", "/logs/b", "/logs/d", "/logs/s", "/state", "/out"] {
        crate::machine::create_dir_all(Path::new(folder)).unwrap();
    }
}

fn run(seed: u64, fixed: &Fixed) -> ScheduleOutcome {
    simulated::begin(seed);
    let mut chance = Chance(seed ^ 0x5eed);
    let planned = (0..12 + chance.below(12)).map(|_| plan(&mut chance)).collect();
    let says = std::env::var("QUICLENS_SIMULATION_SAYS").is_ok();
    simulated::world(|world| (world.planned, world.says) = (planned, says));
    make_folders();
    // A small spool, and a broker that is often away: events are dropped, and the outbox fills.
    let drops_events = chance.one_in(2);
    let far = Far::one(&mut chance, drops_events);
    let is_brief = !drops_events && chance.one_in(2);
    let mut schedule = Schedule {
        store: Store::new(seed ^ 0xb10c, drops_events),
        far,
        is_brief,
        drops_events,
        steps: 130 + chance.below(60),
        chance,
        ..Schedule::new(fixed)
    };
    let mut wrong = Vec::new();
    loop {
        schedule.lives += 1;
        let broken = simulated::world(|world| world.broken());
        let refusals = schedule.refusals();
        let ended = catch_unwind(AssertUnwindSafe(|| schedule.live()));
        let is_crash = match ended {
            Ok(Ok(())) => break,
            // As a supervisor does, it is started again.
            Ok(Err(error)) => {
                if says {
                    println!("life {} ended: {error}", schedule.lives);
                }
                // A full disk and a lack of descriptors pass.
                let is_refused = error.kind == FailureKind::SinkRefuses && schedule.refusals() > refusals;
                if !is_refused && simulated::world(|world| world.broken()) == broken {
                    wrong.push(format!("life {} ended though no call failed for good: {error}", schedule.lives));
                }
                false
            }
            Err(payload) => match payload.downcast::<Killed>() {
                Ok(killed) => {
                    if says {
                        simulated::world(|world| {
                            println!("life {} ended: crash {}, {:?}", schedule.lives, killed.0, world.befell)
                        });
                    }
                    killed.0
                }
                Err(_) => {
                    wrong.push("it panicked".to_owned());
                    break;
                }
            },
        };
        for (connection, (from, to)) in schedule.writer.unsynced() {
            schedule.may_miss.extend((from..to).map(|seq| (connection, seq)));
        }
        simulated::world(|world| world.restart(is_crash));
        // Servers go on while no collector runs.
        for _ in 0..schedule.chance.below(8) {
            schedule.write();
        }
        if schedule.lives > 50 {
            wrong.push("it never ends in order".to_owned());
            break;
        }
    }
    if wrong.is_empty() {
        let held = Held::read(&schedule.store, Path::new("/out"));
        wrong = schedule.wrong(&held);
    }
    let world = simulated::end();
    let mut befell: BTreeMap<String, u64> = world.befell.iter().map(|(pair, count)| (named(*pair), *count)).collect();
    befell.extend(
        schedule
            .writer
            .did
            .iter()
            .chain(&schedule.documents.did)
            .chain(&schedule.sequences.did)
            .map(|(what, count)| (format!("writer, {what}"), *count)),
    );
    {
        let store = schedule.store.lock().unwrap();
        befell.extend(store.did.iter().map(|(what, count)| (format!("broker, {what}"), *count)));
        befell.extend(store.served.iter().map(|(what, count)| (format!("store, {what}"), *count)));
    }
    ScheduleOutcome {
        wrong,
        records: schedule.records(),
        logs: schedule.logs(),
        faults: world.struck,
        calls: world.calls(),
        trail: world.trail(),
        made: world.made,
        lives: schedule.lives,
        befell,
    }
}

impl<'f> Schedule<'f> {
    /// In which nothing happens by chance, and silent logs and connections are soon over.
    fn new(fixed: &'f Fixed) -> Self {
        Self {
            fixed,
            chance: Chance(0),
            writer: Writer::default(),
            documents: Documents::default(),
            sequences: Sequences::default(),
            store: Store::new(0, false),
            far: Far::Files,
            is_brief: true,
            drops_events: false,
            steps: 0,
            more: 0,
            lives: 0,
            may_miss: BTreeSet::new(),
        }
    }

    /// A collector from its start to its end in order; an error ends it too.
    fn live(&mut self) -> Result<(), Error> {
        let (mut follower, spool) = self.start()?;
        while self.goes_on() {
            self.step(&mut follower, &spool)?;
        }
        self.end(follower, &spool)
    }

    /// Nothing goes wrong any more: the collector does what is left, and ends in order.
    fn end(&mut self, mut follower: Follower<'_>, spool: &Arc<Spool>) -> Result<(), Error> {
        simulated::world(simulated::World::heal);
        self.store.lock().unwrap().is_healthy = true;
        for pause_ms in [20, 120, 120, 300, 1100, 2500, 300, 1100, 2500, 300, 1100, 300] {
            self.pass(Duration::from_millis(pause_ms), &mut follower, spool)?;
        }
        follower.stop()
    }

    /// Some time passes, and the collector does all that it can.
    fn pass(&mut self, time: Duration, follower: &mut Follower<'_>, spool: &Arc<Spool>) -> Result<(), Error> {
        simulated::world(|world| world.pass(time));
        for _ in 0..3 {
            self.sync(spool)?;
            while follower.turn(Duration::ZERO)? {}
            follower.shipper().work();
        }
        Ok(())
    }

    /// A collector begins.
    fn start(&mut self) -> Result<(Follower<'f>, Arc<Spool>), Error> {
        let fixed = self.fixed;
        let config = &fixed.configs[usize::from(!self.is_brief)];
        let metrics = Metrics::new(crate::machine::now());
        let stop = Arc::new(AtomicBool::new(false));
        let (journal, mut found) = patiently(&stop, &metrics, || Journal::open(&config.state_dir))?;
        self.writer.hear(&found.files);
        self.sequences.hear(&found.files);
        let room =
            SpoolRoom { max_bytes: if self.drops_events { 6 << 10 } else { 256 << 10 }, min_free_bytes: 4 << 10 };
        let folder = config.state_dir.join("spool");
        let spool = patiently(&stop, &metrics, || Spool::open(&folder, room, self.drops_events, &metrics))?;
        let folder = config.state_dir.join("outbox");
        let outbox = patiently(&stop, &metrics, || {
            Outbox::open(&folder, 1 << 20).map_err(|error| Error::of_state(folder.display(), &error))
        })?;
        let relief = Relief::new(&spool, outbox, &config.name, &fixed.catalogue, &metrics);
        let store = Arc::clone(&self.store);
        let sink: Box<dyn Sink> = match self.far {
            Far::Files => Box::new(patiently(&stop, &metrics, || BatchFolder::open(Path::new("/out")))?),
            Far::Kafka => Box::new(Kafka::of(Box::new(move |attempt| Ok(Box::new(Simulated::new(&store, attempt)))))?),
            Far::Http(server) => Box::new(ReopeningSink::with(Box::new(move || over_http(server, &store)))?),
        };
        let shipper = Shipper::by_hand(sink, journal, Some(relief), metrics.clone());
        let known = found.files.remove(&spooled::ID).filter(|known| !known.is_doubtful);
        let tables = Tables { wants_events: true, ..Tables::default() };
        let reading = Spooled::open(&fixed.catalogue, &spool, known.as_ref(), tables);
        let deployment = Arc::clone(&fixed.deployment);
        let surroundings = Surroundings { deployment, shipper, metrics, stop };
        let follower = Follower::new(&fixed.catalogue, config, found.files, Some(reading), surroundings)?;
        Ok((follower, spool))
    }

    /// What is wrong with what is held: rows that are missing, that stand twice, or that are not what was written.
    fn wrong(&self, held: &Held) -> Vec<String> {
        let mut wrong = held.damaged.clone();
        let written = self.writer.connections().chain(self.documents.connections());
        wrong.extend(held.strangers(&written.chain(self.sequences.connections()).collect()));
        wrong.extend(self.writer.wrong(held, &self.may_miss, self.lives));
        wrong.extend(self.documents.wrong(held, self.is_brief, self.lives));
        wrong.extend(self.sequences.wrong(held, self.is_brief, self.lives));
        wrong
    }

    /// Batches that a sink was told would never be taken.
    fn refusals(&self) -> u64 {
        self.store.lock().unwrap().refusals
    }

    fn records(&self) -> u64 {
        self.writer.records() + self.documents.records() + self.sequences.records()
    }

    fn logs(&self) -> usize {
        self.writer.logs() + self.documents.logs() + self.sequences.logs()
    }

    /// A server writes, or does something with its log.
    fn write(&mut self) {
        match self.chance.below(5) {
            0 => self.documents.act(&mut self.chance, self.lives),
            1 | 2 => self.sequences.act(&mut self.chance, self.is_brief, self.lives),
            _ => self.writer.act(&mut self.chance, self.lives),
        }
    }

    /// Whether there is another step: as many as were planned, and until enough has happened.
    fn goes_on(&mut self) -> bool {
        if self.steps > 0 {
            self.steps -= 1;
            return true;
        }
        let (struck, calls) = simulated::world(|world| (world.struck, world.calls()));
        let has_all = struck >= LEAST.faults && self.records() >= LEAST.records && self.logs() >= LEAST.logs;
        if has_all || self.more >= MORE {
            return false;
        }
        if struck < LEAST.faults && self.more.is_multiple_of(20) {
            let (when, fault) = plan(&mut self.chance);
            let soon = When::After(calls + self.chance.below(50));
            let when = if self.chance.one_in(2) { when } else { soon };
            simulated::world(|world| world.planned.push((when, fault)));
        }
        self.more += 1;
        true
    }

    fn step(&mut self, follower: &mut Follower<'_>, spool: &Arc<Spool>) -> Result<(), Error> {
        match self.chance.below(12) {
            0..=3 => self.write(),
            4 | 5 => self.writer.give(&mut self.chance, spool),
            6 => self.sync(spool)?,
            7..=9 => drop(follower.turn(Duration::ZERO)?),
            10 => follower.shipper().work(),
            _ => {
                let most_ms = if self.chance.one_in(8) { 4000 } else { 400 };
                let pause = Duration::from_millis(self.chance.below(most_ms));
                simulated::world(|world| world.pass(pause));
            }
        }
        Ok(())
    }

    fn sync(&mut self, spool: &Arc<Spool>) -> Result<(), Error> {
        if spool.sync_now() {
            self.writer.synced();
        }
        spool.fault()
    }
}

/// What came of many.
#[derive(Default)]
struct Sum {
    schedules: u64,
    records: u64,
    faults: u64,
    calls: u64,
    lives: u64,
    replays: u64,
    least: Option<(usize, u64, u64)>,
    made: Vec<u64>,
    befell: BTreeMap<String, u64>,
    failed: Vec<(u64, Vec<String>)>,
}

impl Sum {
    fn new() -> Self {
        let befell = pairs().map(|pair| (named(pair), 0)).collect();
        Self { made: vec![0; PLACES.len()], befell, ..Self::default() }
    }

    fn add(&mut self, seed: u64, mut outcome: ScheduleOutcome) {
        let (logs, records, faults) = self.least.unwrap_or((usize::MAX, u64::MAX, u64::MAX));
        self.least = Some((logs.min(outcome.logs), records.min(outcome.records), faults.min(outcome.faults)));
        if outcome.logs < LEAST.logs || outcome.records < LEAST.records || outcome.faults < LEAST.faults {
            outcome.wrong.push(format!(
                "{} logs, {} records and {} faults are too few",
                outcome.logs, outcome.records, outcome.faults
            ));
        }
        self.schedules += 1;
        self.records += outcome.records;
        self.faults += outcome.faults;
        self.calls += outcome.calls;
        self.lives += outcome.lives;
        self.made.iter_mut().zip(&outcome.made).for_each(|(sum, made)| *sum += made);
        for (fault, count) in outcome.befell {
            *self.befell.entry(fault).or_default() += count;
        }
        if !outcome.wrong.is_empty() {
            self.failed.push((seed, outcome.wrong));
        }
    }

    fn report(&self, seconds: f64) -> serde_json::Value {
        let (logs, records, faults) = self.least.unwrap_or_default();
        let made = self.made.iter().zip(PLACES).map(|(made, (call, place, ..))| (format!("{call} {place}"), *made));
        let failures = self
            .failed
            .iter()
            .map(|(seed, wrong)| json!({"seed": seed, "wrong": wrong.iter().take(5).collect::<Vec<_>>()}));
        json!({
            "schedules": self.schedules, "records": self.records, "struck": self.faults, "calls": self.calls,
            "lives": self.lives, "replays": self.replays, "seconds": seconds,
            "least": {"logs": logs, "records": records, "faults": faults},
            "made": made.collect::<BTreeMap<_, _>>(), "befell": self.befell,
            "failures": failures.collect::<Vec<_>>(),
        })
    }
}

/// Runs schedules for at most so long, until `most_failed` have failed; the first `replays` of them twice.
fn run_all(seeds: impl Iterator<Item = u64>, longest: Duration, replays: u64, most_failed: usize) -> Sum {
    let fixed = Fixed::new();
    let began = Instant::now();
    let mut sum = Sum::new();
    for seed in seeds {
        if began.elapsed() > longest || sum.failed.len() >= most_failed {
            break;
        }
        let mut outcome = run(seed, &fixed);
        if sum.replays < replays {
            sum.replays += 1;
            let again = run(seed, &fixed);
            if (outcome.trail, outcome.calls, outcome.lives) != (again.trail, again.calls, again.lives) {
                outcome.wrong.push("another trail the second time".to_owned());
            }
        }
        sum.add(seed, outcome);
    }
    sum
}

#[test]
fn simulation_of_some_schedules_loses_and_doubles_nothing_and_is_the_same_twice() {
    let sum = run_all(0..500, Duration::from_secs(15), 20, usize::MAX);
    assert!(sum.failed.is_empty(), "{:#}", sum.report(0.0));
}

/// Gives records of one connection to the spool, each with a seq of its own.
fn give(spool: &Spool, seqs: std::ops::Range<u64>) {
    let text: String = seqs.map(|seq| format!("c\t{seq}\t{}\tpacket_recvd\t{seq}, 300\n", 5000 + seq)).collect();
    spool.append(What::lines("stdin:-", Position::Running(0), text.as_bytes()), text.as_bytes()).unwrap();
}

/// A connection ends by its silence, a later record of it begins another trace, and the process is killed, each a moment
/// later than in the turn before.
#[test]
fn a_record_after_a_silence_is_of_one_trace_whenever_the_collector_is_killed() {
    let fixed = Fixed::new();
    for pause_ms in (100..1500).step_by(50) {
        simulated::begin(1);
        make_folders();
        let mut schedule = Schedule::new(&fixed);
        let (mut follower, spool) = schedule.start().unwrap();
        give(&spool, 0..5);
        for pause_ms in [20, 1500, pause_ms] {
            schedule.pass(Duration::from_millis(pause_ms), &mut follower, &spool).unwrap();
        }
        give(&spool, 5..9);
        schedule.pass(Duration::from_millis(110), &mut follower, &spool).unwrap();
        drop((follower, spool));
        simulated::world(|world| world.restart(false));
        let (follower, spool) = schedule.start().unwrap();
        schedule.end(follower, &spool).unwrap();
        let held = Held::read(&schedule.store, Path::new("/out"));
        assert_eq!(held.events.len(), 9, "{pause_ms}");
        assert!(held.events.values().all(|traces| traces.len() == 1), "{pause_ms} ms: {:?}", held.events);
        simulated::end();
    }
}

/// A log is rotated between the look at its name and the call that opens it, right after a start.
#[test]
fn a_file_that_takes_a_name_before_it_is_opened_is_not_taken_for_the_one_that_had_it() {
    let fixed = Fixed::new();
    simulated::begin(1);
    make_folders();
    let line = |number| format!("{{\"time\":\"2026-11-22T00:00:00Z\",\"path\":\"/{number}\"}}\n");
    let lines = |numbers: std::ops::Range<u64>| numbers.map(line).collect::<String>();
    simulated::world(|world| world.append("/logs/a/1.log", lines(0..5).as_bytes()));
    let mut schedule = Schedule::new(&fixed);
    let (follower, spool) = schedule.start().unwrap();
    schedule.end(follower, &spool).unwrap();
    simulated::world(|world| {
        world.restart(false);
        world.append("/logs/a/1.log", lines(5..9).as_bytes());
        world.before_open = Some(|world| {
            world.rename_log("/logs/a/1.log", "/logs/a/1.log.1");
            world.append("/logs/a/1.log", b"{\"time\":\"2026-11-22T00:00:00Z\",\"path\":\"/9\"}\n");
        });
    });
    let (follower, spool) = schedule.start().unwrap();
    schedule.end(follower, &spool).unwrap();
    let held = Held::read(&schedule.store, Path::new("/out"));
    let mut found: Vec<&str> = held.lines.values().flatten().filter_map(|row| value_of(row, "path")).collect();
    found.sort_unstable();
    assert_eq!(found, (0..10).map(|number| format!("/{number}")).collect::<Vec<_>>());
    assert!(held.rejects.is_empty(), "{:?}", held.rejects);
    simulated::end();
}

/// A world in which a few logs of each kind and a connection of the spool were written and are held, and what wrote them.
fn held_as_written(fixed: &Fixed) -> (Schedule<'_>, Held) {
    simulated::begin(3);
    make_folders();
    let mut schedule = Schedule { chance: Chance(5), ..Schedule::new(fixed) };
    let (mut follower, spool) = schedule.start().unwrap();
    for _ in 0..30 {
        let chance = &mut schedule.chance;
        schedule.documents.act(chance, 1);
        schedule.sequences.act(chance, true, 1);
        schedule.writer.act(chance, 1);
        schedule.writer.give(chance, &spool);
        schedule.pass(Duration::from_millis(50), &mut follower, &spool).unwrap();
    }
    schedule.lives = 1;
    schedule.end(follower, &spool).unwrap();
    let held = Held::read(&schedule.store, Path::new("/out"));
    (schedule, held)
}

/// Where nothing is wrong, one value of one row that is another, one row too much, or one too few, is found.
#[test]
fn one_wrong_value_of_one_row_is_found() {
    let fixed = Fixed::new();
    let (schedule, held) = held_as_written(&fixed);
    assert_eq!(schedule.wrong(&held), Vec::<String>::new());
    let change = |row: &str, line: usize| {
        let mut lines: Vec<String> = row.lines().map(|line| line.to_owned() + "\n").collect();
        let (name, value) = lines[line].split_once('=').unwrap();
        let first = if value.starts_with('7') { '8' } else { '7' };
        lines[line] = format!("{name}={first}{}", &value[1..]);
        lines.concat()
    };
    let mut tried = BTreeMap::new();
    for at in (0..held.lines.len()).step_by(17) {
        for line in 0..6 {
            let mut other = held.clone();
            let row = other.lines.values_mut().nth(at).unwrap();
            let changed = change(row.first().unwrap(), line);
            *row = [changed].into();
            assert!(!schedule.wrong(&other).is_empty(), "{:?}", other.lines.values().nth(at));
            *tried.entry("lines").or_insert(0) += 1;
        }
    }
    for at in (0..held.events.len()).step_by(11) {
        let lines = held.events.values().nth(at).unwrap().values().next().unwrap().first().unwrap().lines().count();
        for line in 0..lines {
            let mut other = held.clone();
            let row = other.events.values_mut().nth(at).unwrap().values_mut().next().unwrap();
            let changed = change(row.first().unwrap(), line);
            *row = [changed].into();
            assert!(!schedule.wrong(&other).is_empty(), "{:?}", other.events.iter().nth(at));
            *tried.entry("events").or_insert(0) += 1;
        }
    }
    assert!(tried["lines"] > 20 && tried["events"] > 100, "{tried:?}");
    let is_wrong = |change: &dyn Fn(&mut Held)| {
        let mut other = held.clone();
        change(&mut other);
        !schedule.wrong(&other).is_empty()
    };
    assert!(is_wrong(&|held| drop(held.lines.pop_first())), "a line is missing");
    let line = held.lines.first_key_value().unwrap();
    assert!(
        is_wrong(&|held| drop(held.lines.insert((line.0.0.clone(), 1), line.1.clone()))),
        "a line at another place"
    );
    let event = held.events.first_key_value().unwrap();
    let copy = |key: (String, u64)| {
        let traces = event.1.clone();
        move |held: &mut Held| held.events.extend([(key.clone(), traces.clone())])
    };
    assert!(is_wrong(&copy((event.0.0.clone(), 1_000_000))), "an event that nobody wrote");
    assert!(is_wrong(&copy(("ffff".to_owned(), 0))), "one of a connection that nobody wrote of");
    let stream = ("streams".to_owned(), "trace_id=1\n".to_owned());
    assert!(is_wrong(&|held| held.others.extend([(stream.clone(), 1)])), "a stream that nobody wrote");
    simulated::end();
}

/// What `quiclens-lab simulation` runs. `QUICLENS_SIMULATION="FIRST COUNT REPLAYS MOST"`: so many schedules from a seed
/// on, the first of them twice, until so many have failed. The report is a line of JSON.
#[test]
#[ignore = "as long as one likes: see collectors/README.md"]
fn simulation_of_many() {
    let asked = std::env::var("QUICLENS_SIMULATION").unwrap_or_else(|_| "0 1000 10 10".to_owned());
    let asked: Vec<u64> = asked.split(' ').map(|number| number.parse().unwrap()).collect();
    let [first, count, replays, most_failed] = asked[..] else { panic!("four numbers: {asked:?}") };
    let began = Instant::now();
    let sum = run_all(first..first + count, Duration::MAX, replays, usize::try_from(most_failed).unwrap());
    println!("\nsimulation: {}", sum.report(began.elapsed().as_secs_f64()));
    assert!(sum.failed.is_empty(), "{} of {} schedules failed", sum.failed.len(), sum.schedules);
}
