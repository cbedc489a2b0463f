//! Production code on a simulated machine: follower, spool, shipper, journal, outbox and sinks, with servers that write,
//! a broker that misbehaves, and faults between any two calls of the system. One seed makes one schedule; what is held
//! in the end is compared with what was written.
//!
//! The threads of a collector take turns here: each works until it waits. A kill may come at each of their calls.

#![expect(clippy::unwrap_used, clippy::print_stdout, reason = "tests")]

mod store;
mod writer;

use crate::error::Error;
use crate::machine::simulated::{self, Chance, Fault, Killed};
use crate::run::config::Config;
use crate::run::follow::{Follower, Surroundings};
use crate::run::journal::Journal;
use crate::run::metrics::Metrics;
use crate::run::outbox::Outbox;
use crate::run::patiently;
use crate::run::relief::Relief;
use crate::run::ship::Shipper;
use crate::run::sink::Sink;
use crate::run::spool::{Room, Spool};
use crate::run::spooled::{self, Spooled};
use crate::run::to_files::Files;
use crate::run::to_kafka::Kafka;
use quiclens_core::catalogue::Catalogue;
use quiclens_core::tables::Tables;
use quiclens_edge::deployment::Deployment;
use serde_json::json;
use std::collections::{BTreeMap, BTreeSet};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use std::time::{Duration, Instant};
use store::{Held, SharedStore, Simulated, Store};
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

/// One schedule.
struct Schedule<'f> {
    fixed: &'f Fixed,
    chance: Chance,
    writer: Writer,
    store: SharedStore,
    is_kafka: bool,
    /// Silent logs are soon over. A connection that is silent is over too, by a clock that stands while the collector is
    /// down, so the source that cannot be read again gives nothing then.
    is_brief: bool,
    drops_events: bool,
    steps: u64,
    lives: u64,
    may_miss: BTreeSet<(u64, u64)>,
}

/// What came of one.
struct Outcome {
    wrong: Vec<String>,
    records: u64,
    logs: usize,
    calls: u64,
    trail: u64,
    lives: u64,
    befell: BTreeMap<String, u64>,
}

fn run(seed: u64, fixed: &Fixed) -> Outcome {
    simulated::begin(seed);
    let mut chance = Chance(seed ^ 0x5eed);
    simulated::world(|world| {
        for _ in 0..3 + chance.below(6) {
            let fault = match chance.below(12) {
                0..=2 => Fault::Kill,
                3..=5 => Fault::Crash,
                6 => Fault::NoSpace,
                7 => Fault::NoDescriptors,
                8 | 9 => Fault::Io,
                _ => Fault::Short,
            };
            world.planned.push((5 + chance.below(900), fault));
        }
    });
    for folder in ["/logs/a", "/logs/b", "/state", "/out"] {
        crate::machine::create_dir_all(Path::new(folder)).unwrap();
    }
    let mut schedule = Schedule {
        fixed,
        writer: Writer::default(),
        store: Store::new(seed ^ 0xb10c),
        is_kafka: !chance.one_in(3),
        is_brief: chance.one_in(2),
        drops_events: chance.one_in(4),
        steps: 130 + chance.below(60),
        lives: 0,
        may_miss: BTreeSet::new(),
        chance,
    };
    let mut wrong = Vec::new();
    loop {
        schedule.lives += 1;
        let ended = catch_unwind(AssertUnwindSafe(|| schedule.live()));
        let says = std::env::var_os("QUICLENS_SIMULATION_SAYS").is_some();
        let is_crash = match ended {
            Ok(Ok(())) => break,
            // As a supervisor does, it is started again.
            Ok(Err(error)) => {
                if says {
                    println!("life {} ended: {error}", schedule.lives);
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
            schedule.writer.act(&mut schedule.chance, schedule.lives);
        }
        if schedule.lives > 50 {
            wrong.push("it never ends in order".to_owned());
            break;
        }
    }
    if wrong.is_empty() {
        let held = Held::read(&schedule.store, Path::new("/out"));
        wrong = schedule.writer.wrong(&held, &schedule.may_miss, schedule.lives);
    }
    let world = simulated::end();
    let mut befell: BTreeMap<String, u64> = world
        .befell
        .iter()
        .map(|((fault, call, place), count)| (format!("{fault:?} {call} {place}"), *count))
        .collect();
    befell.extend(schedule.writer.did.iter().map(|(what, count)| (format!("writer {what}"), *count)));
    befell.extend(schedule.store.lock().unwrap().did.iter().map(|(what, count)| (format!("broker {what}"), *count)));
    Outcome {
        wrong,
        records: schedule.writer.records(),
        logs: schedule.writer.logs(),
        calls: world.calls(),
        trail: world.trail,
        lives: schedule.lives,
        befell,
    }
}

impl Schedule<'_> {
    /// A collector from its start to its end in order; an error ends it too.
    fn live(&mut self) -> Result<(), Error> {
        let fixed = self.fixed;
        let config = &fixed.configs[usize::from(!self.is_brief)];
        let metrics = Metrics::new(crate::machine::now());
        let stop = Arc::new(AtomicBool::new(false));
        let (journal, mut found) = patiently(&stop, &metrics, || Journal::open(&config.state_dir))?;
        self.writer.hear(&found.files);
        let room = Room { max_bytes: 256 << 10, min_free_bytes: 4 << 10 };
        let folder = config.state_dir.join("spool");
        let spool = patiently(&stop, &metrics, || Spool::open(&folder, room, self.drops_events, &metrics))?;
        let folder = config.state_dir.join("outbox");
        let outbox = patiently(&stop, &metrics, || {
            Outbox::open(&folder, 1 << 20).map_err(|error| Error::of_state(folder.display(), &error))
        })?;
        let relief = Relief::new(&spool, outbox, &config.name, &fixed.catalogue, &metrics);
        let store = Arc::clone(&self.store);
        let sink: Box<dyn Sink> = if self.is_kafka {
            Box::new(Kafka::of(Box::new(move |attempt| Ok(Box::new(Simulated::new(&store, attempt)))))?)
        } else {
            Box::new(patiently(&stop, &metrics, || Files::open(Path::new("/out")))?)
        };
        let shipper = Shipper::by_hand(sink, journal, Some(relief), metrics.clone());
        let known = found.files.remove(&spooled::ID);
        let tables = Tables { wants_events: true, ..Tables::default() };
        let reading = Spooled::open(&fixed.catalogue, &spool, known.as_ref(), tables);
        let deployment = Arc::clone(&fixed.deployment);
        let surroundings = Surroundings { deployment, shipper, metrics, stop };
        let mut follower = Follower::new(&fixed.catalogue, config, found.files, Some(reading), surroundings)?;
        while self.steps > 0 {
            self.steps -= 1;
            self.step(&mut follower, &spool)?;
        }
        simulated::world(simulated::World::heal);
        self.store.lock().unwrap().is_healthy = true;
        for pause_ms in [20, 120, 120, 300, 1100, 2500, 300, 1100, 2500, 300, 1100, 300] {
            simulated::world(|world| world.pass(Duration::from_millis(pause_ms)));
            for _ in 0..3 {
                self.sync(&spool)?;
                while follower.turn(Duration::ZERO)? {}
                follower.shipper().work();
            }
        }
        follower.stop()
    }

    fn step(&mut self, follower: &mut Follower<'_>, spool: &Arc<Spool>) -> Result<(), Error> {
        match self.chance.below(12) {
            0..=3 => self.writer.act(&mut self.chance, self.lives),
            4 | 5 if self.is_brief => self.writer.act(&mut self.chance, self.lives),
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

/// Runs schedules; a report, and the seeds that failed.
fn run_all(seeds: impl Iterator<Item = u64>, most: Duration) -> (serde_json::Value, Vec<(u64, Vec<String>)>) {
    let fixed = Fixed::new();
    let began = Instant::now();
    let (mut schedules, mut records, mut least, mut calls, mut lives) = (0u64, 0, u64::MAX, 0, 0);
    let mut logs = usize::MAX;
    let mut faults: BTreeMap<String, u64> = BTreeMap::new();
    let mut failed = Vec::new();
    for seed in seeds {
        if began.elapsed() > most {
            break;
        }
        let outcome = run(seed, &fixed);
        schedules += 1;
        records += outcome.records;
        least = least.min(outcome.records);
        logs = logs.min(outcome.logs);
        calls += outcome.calls;
        lives += outcome.lives;
        for (fault, count) in outcome.befell {
            *faults.entry(fault).or_default() += count;
        }
        if !outcome.wrong.is_empty() {
            failed.push((seed, outcome.wrong));
        }
    }
    let seconds = began.elapsed().as_secs_f64();
    #[expect(clippy::cast_precision_loss, reason = "a rate")]
    let ms = seconds * 1e3 / schedules.max(1) as f64;
    let report = json!({
        "schedules": schedules, "records": records, "least_records": least, "least_logs": logs, "calls": calls,
        "lives": lives, "seconds": seconds, "ms_per_schedule": ms, "faults": faults,
        "failures": failed.iter().take(20).map(|(seed, said)| json!({"seed": seed, "said": said})).collect::<Vec<_>>(),
        "failed": failed.len(),
    });
    (report, failed)
}

#[test]
fn simulation_of_some_schedules_loses_and_doubles_nothing() {
    let (report, failed) = run_all(0..1000, Duration::from_secs(20));
    assert!(failed.is_empty(), "{report:#}");
}

#[test]
fn simulation_of_one_seed_is_the_same_twice() {
    let fixed = Fixed::new();
    for seed in 0..20 {
        let (first, second) = (run(seed, &fixed), run(seed, &fixed));
        assert_eq!((first.calls, first.trail, first.lives), (second.calls, second.trail, second.lives), "seed {seed}");
    }
}

/// `QUICLENS_SIMULATION="FIRST COUNT"`: runs these seeds and prints a report.
#[test]
#[ignore = "as long as one likes: see collectors/README.md"]
fn simulation_of_many() {
    let asked = std::env::var("QUICLENS_SIMULATION").unwrap_or_else(|_| "0 10000".to_owned());
    let (first, count) = asked.split_once(' ').unwrap();
    let (first, count): (u64, u64) = (first.parse().unwrap(), count.parse().unwrap());
    let (report, failed) = run_all(first..first + count, Duration::MAX);
    println!("{report:#}");
    assert!(failed.is_empty(), "{} of {count} schedules failed", failed.len());
}
