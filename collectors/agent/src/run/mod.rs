//! `run`: follows files that servers are still writing and listens to sockets, and ships what they say.
//!
//! One thread reads and folds; one ships. A cycle has all rows that were ready at one moment (its cut), and the state
//! of every file they came from; the states become checkpoints when the sink has acknowledged all batches of the cycle.

pub mod config;
mod folders;
mod follow;
mod followed;
mod health;
mod heartbeat;
mod https;
mod input;
pub mod journal;
pub mod keep;
mod limits;
mod listen;
pub mod log;
mod metrics;
mod name;
mod notice;
mod outbox;
mod process;
mod refresh;
mod relief;
mod replay;
mod secret;
mod server;
mod ship;
#[cfg(test)]
mod simulation;
pub mod sink;
mod spool;
mod spooled;
mod supervised;
mod to_clickhouse;
mod to_files;
mod to_kafka;
mod to_quiclens;

use crate::error::{Error, ErrorHandling, FailureKind};
use crate::machine;
use crate::output::{printable, written};
use config::Config;
use follow::{Follower, Surroundings};
use journal::Journal;
use listen::Listening;
use listen::config::WhenFull;
use log::LogRateLimit;
use metrics::Metrics;
use outbox::Outbox;
use quiclens_core::catalogue::Catalogue;
use quiclens_core::tables::Tables;
use quiclens_edge::deployment::Deployment;
use relief::Relief;
use ship::Shipper;
use signal_hook::consts::{SIGHUP, SIGINT, SIGTERM};
use spool::{Spool, SpoolRoom};
use spooled::Spooled;
use std::io::Write as _;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};
use supervised::Supervisor;
use tracing::{info, warn};

/// Pause before the next attempt while a disk is full.
const ROOM: Duration = Duration::from_secs(1);
/// How soon a signal is seen.
const SIGNAL: Duration = Duration::from_millis(100);

/// Checks a configuration and the files that it names for `[enrich]`, and unless `is_quiet` tells
/// of places that are not there and prints its effective values, secrets hidden.
pub fn check(path: &Path, is_quiet: bool) -> Result<(), Error> {
    let config = Config::read(path)?;
    deployment_of(&config)?;
    if is_quiet {
        return Ok(());
    }
    for place in config.places().filter(|place| !place.exists()) {
        let said = format!("quiclens-collector: {} is not there; it is followed once it is\n", place.display());
        written(std::io::stderr().write_all(printable(&said).as_bytes()))?;
    }
    written(std::io::stdout().write_all(printable(&config.effective()).as_bytes()))
}

/// Follows until it is told to stop, or an error makes it impossible to keep the collector's guarantees.
pub fn run(path: &Path) -> Result<(), Error> {
    let config = Config::read(path)?;
    let limit = log::start(&config.log)?;
    if config.state_dir.metadata().is_ok_and(|folder| folder.permissions().mode() & 0o007 != 0) {
        let state_dir = config.state_dir.display();
        warn!(%state_dir, "the folder is open to every user of this machine, and holds pieces of logs as they are");
    }
    let catalogue = Arc::new(Catalogue::load().map_err(Error::internal)?);
    let stop = Arc::new(AtomicBool::new(false));
    let no_signals = |error: std::io::Error| Error::internal(format!("signals: {error}"));
    for signal in [SIGTERM, SIGINT] {
        signal_hook::flag::register(signal, Arc::clone(&stop)).map_err(no_signals)?;
    }
    // SIGHUP (a logout, or a request to reload) must not end the process; the configuration is read at the next start.
    let hung_up = Arc::new(AtomicBool::new(false));
    signal_hook::flag::register(SIGHUP, hung_up).map_err(no_signals)?;
    let metrics = Metrics::new(Instant::now());
    let (asked, patience, counted) = (Arc::clone(&stop), Duration::from_secs(config.stop_timeout_s), metrics.clone());
    std::thread::Builder::new()
        .name("stop".into())
        .spawn(move || leave(&asked, patience, &limit, &counted))
        .map_err(|error| Error::internal(format!("cannot start a thread: {error}")))?;
    match follow(&config, &catalogue, &stop, metrics) {
        // Nothing was begun that has to be finished.
        Err(error) if error.kind == FailureKind::Told => {
            info!("{error}");
            Ok(())
        }
        done => done,
    }
}

/// Repeats `work` until it does not fail for a temporary reason, such as a full disk, or the process is told to stop.
fn patiently<T>(stop: &AtomicBool, metrics: &Metrics, mut work: impl FnMut() -> Result<T, Error>) -> Result<T, Error> {
    loop {
        match work() {
            Err(error) if error.handling() == ErrorHandling::Retry => {
                metrics.retries.inc();
                warn!(kind = error.kind.name(), "{error}; nothing is read before; trying again");
            }
            done => return done,
        }
        let began = machine::now();
        while machine::now().duration_since(began) < ROOM {
            if stop.load(Ordering::Relaxed) {
                return Err(Error::new(FailureKind::Told, "", "told to stop before anything was begun"));
            }
            machine::sleep(SIGNAL);
        }
    }
}

/// What the configuration says of clients and servers, its secret and its databases read.
fn deployment_of(config: &Config) -> Result<Deployment, Error> {
    Deployment::open(&config.enrich, &config.name, config.redact).map_err(Error::configuration)
}

fn follow(config: &Config, catalogue: &Arc<Catalogue>, stop: &Arc<AtomicBool>, metrics: Metrics) -> Result<(), Error> {
    limits::raise_open_files();
    limits::refuse_huge_pages();
    let deployment = Arc::new(deployment_of(config)?);
    if !config.metrics_address.is_empty() {
        metrics.serve(&config.metrics_address)?;
    }
    let (journal, mut found) = patiently(stop, &metrics, || Journal::open(&config.state_dir))?;
    if found.damaged > 0 {
        warn!(checkpoints = found.damaged, "damaged checkpoints; their files are read again");
    }
    if found.is_torn {
        warn!("the newest checkpoints are not whole; what they said is read again");
    }
    if found.is_of_another_build {
        warn!(files = found.files.len(), "checkpoints of another build; their files are read again");
    }
    metrics.damaged_checkpoints.inc_by(found.damaged);
    patiently(stop, &metrics, || name::keep(&config.state_dir, &config.name))?;
    let mut intake = SpoolIntake::open(config, stop, &metrics)?;
    let relief = match &intake {
        Some(intake) => Some(patiently(stop, &metrics, || intake.relief(config, catalogue, &metrics))?),
        None => None,
    };
    let sink = patiently(stop, &metrics, || sink::open(&config.sink, &config.name))?;
    let shipper = Shipper::start(sink, journal, relief, metrics.clone())?;
    let known = found.files.remove(&spooled::ID).filter(|known| !known.is_doubtful);
    // What a socket gave is not read a second time: all of its events are kept, or none.
    let retention = keep::retention(None, config.events, &config.state_dir);
    let tables = Tables { wants_events: true, retention, edge: Some(deployment.clone()), ..Tables::default() };
    let spooled = intake.as_ref().map(|intake| Spooled::open(catalogue, &intake.spool, known.as_ref(), tables));
    let surroundings = Surroundings { deployment, shipper, metrics, stop: Arc::clone(stop) };
    let mut follower = Follower::new(catalogue, config, found.files, spooled, surroundings)?;
    let places = config.traces.len() + config.access_logs.len() + config.listen.len();
    info!("following {places} places");
    supervised::begun();
    let pause =
        Duration::from_millis(config.scan_interval_ms.min(config.batch_interval_ms) / 4).max(Duration::from_millis(5));
    let follows_files = !config.traces.is_empty() || !config.access_logs.is_empty();
    let mut is_busy = true;
    while !stop.load(Ordering::Relaxed) {
        let is_over = !follows_files && intake.as_ref().is_some_and(SpoolIntake::is_over);
        is_busy = follower.turn(if is_busy { Duration::ZERO } else { pause })?;
        if is_over && !is_busy {
            // Standard input has ended, and nothing else is followed.
            follower.end_spooled()?;
            break;
        }
    }
    if let Some(intake) = intake.take() {
        intake.stop();
    }
    follower.stop()
}

/// Ends the process some time after it was told to stop, whatever is being read or waits for an unreachable sink. No
/// checkpoint covers rows that were not acknowledged; they are read again at the next start, as after a kill.
fn leave(asked: &AtomicBool, patience: Duration, limit: &LogRateLimit, metrics: &Metrics) {
    let mut supervisor = Supervisor::new(Arc::clone(&metrics.health));
    while !asked.load(Ordering::Relaxed) {
        std::thread::sleep(SIGNAL);
        let now = Instant::now();
        metrics.log_suppressed.inc_by(limit.tell(now));
        supervisor.watch(now);
    }
    supervised::ends();
    std::thread::sleep(patience);
    let seconds = patience.as_secs();
    warn!("not everything was read and taken in {seconds} s; the rest is read again at the next start");
    std::process::exit(0);
}

/// The spool with the threads that fill and sync it.
struct SpoolIntake {
    spool: Arc<Spool>,
    listening: Listening,
    syncing: JoinHandle<()>,
}

impl SpoolIntake {
    /// Opens spool and sources. None where there are no sources, and no spool of earlier ones.
    fn open(config: &Config, stop: &AtomicBool, metrics: &Metrics) -> Result<Option<Self>, Error> {
        let folder = config.state_dir.join("spool");
        if config.listen.is_empty() && !folder.is_dir() {
            return Ok(None);
        }
        let room = SpoolRoom { max_bytes: config.spool.max_bytes, min_free_bytes: config.spool.min_free_bytes };
        let drops_events = config.spool.when_full == WhenFull::DropEvents;
        let spool = patiently(stop, metrics, || Spool::open(&folder, room, drops_events, metrics))?;
        let syncing = spool.start()?;
        let listening = Listening::start(&config.listen, &spool, metrics)?;
        Ok(Some(Self { spool, listening, syncing }))
    }

    fn relief(&self, config: &Config, catalogue: &Arc<Catalogue>, metrics: &Metrics) -> Result<Relief, Error> {
        let folder = config.state_dir.join("outbox");
        let outbox = Outbox::open(&folder, config.spool.outbox_max_bytes)
            .map_err(|error| Error::of_state(folder.display(), &error))?;
        Ok(Relief::new(&self.spool, outbox, &config.name, catalogue, metrics))
    }

    /// No source gives anything any more, and all that they gave is synced.
    fn is_over(&self) -> bool {
        self.listening.is_over() && self.spool.acknowledged()
    }

    /// Ends the sources, then the spool: what they have given is synced.
    fn stop(self) {
        self.listening.stop();
        self.spool.stop();
        let _ = self.syncing.join();
    }
}

/// The version of the catalogue that the batches follow.
pub fn catalogue_version() -> String {
    env!("CARGO_PKG_VERSION").to_owned()
}
