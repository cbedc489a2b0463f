//! `run`: follows files that servers are still writing, and ships what they say.
//!
//! One thread reads and folds; one ships. A cut of all that is ready, with the state of every file it came from, is one
//! cycle; its states become checkpoints when the sink has acknowledged all of its batches, and not before.

pub mod config;
mod follow;
mod followed;
mod health;
mod heartbeat;
pub mod journal;
mod metrics;
mod process;
mod ship;
pub mod sink;
mod to_clickhouse;
mod to_files;
mod to_kafka;

use config::Config;
use follow::Follower;
use journal::Journal;
use metrics::Metrics;
use quiclens_core::catalogue::Catalogue;
use ship::Shipper;
use signal_hook::consts::{SIGINT, SIGTERM};
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

/// Prints the effective configuration.
pub fn check(path: &Path) -> Result<(), String> {
    print!("{}", Config::read(path)?.effective());
    Ok(())
}

/// Follows until it is told to stop, or a promise cannot be kept.
pub fn run(path: &Path) -> Result<(), String> {
    let config = Config::read(path)?;
    let catalogue = Catalogue::load()?;
    let stop = Arc::new(AtomicBool::new(false));
    for signal in [SIGTERM, SIGINT] {
        signal_hook::flag::register(signal, Arc::clone(&stop)).map_err(|error| format!("signals: {error}"))?;
    }
    let (journal, found) = Journal::open(&config.state_dir)?;
    if found.damaged > 0 {
        eprintln!("quiclens-collector: {} damaged checkpoints; their files are read again", found.damaged);
    }
    let metrics = Metrics::new(Instant::now());
    metrics.damaged_checkpoints.inc_by(found.damaged);
    if !config.metrics_address.is_empty() {
        metrics.serve(&config.metrics_address)?;
    }
    let shipper = Shipper::start(sink::open(&config.sink, &config.name)?, journal, metrics.clone())?;
    let mut follower = Follower::new(&catalogue, &config, found.entries, shipper, metrics);
    eprintln!("quiclens-collector: following {} places", config.traces.len() + config.access_logs.len());
    let pause =
        Duration::from_millis(config.scan_interval_ms.min(config.batch_interval_ms) / 4).max(Duration::from_millis(5));
    while !stop.load(Ordering::Relaxed) {
        if !follower.turn()? {
            std::thread::sleep(pause);
        }
    }
    follower.stop()
}

/// Which catalogue the batches are of.
pub fn catalogue_version() -> String {
    env!("CARGO_PKG_VERSION").to_owned()
}
