//! `[retention]` of the configuration, and the file of the kinds of connections that are no longer novel.

use crate::error::Error;
use crate::machine;
use crate::run::folders::write_durably;
use quiclens_core::retention::{Novelty, Retention, Rules};
use serde::{Deserialize, Serialize};
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};
use tracing::warn;
use xxhash_rust::xxh3::xxh3_64;

/// Which connections' events are kept; a rule that is absent does not apply. Summaries are always kept.
#[derive(Clone, Debug, Deserialize, Serialize)]
#[serde(deny_unknown_fields)]
pub struct Keep {
    /// A request slower than this decides at once, ms.
    pub slow_ms: Option<u64>,
    /// A status from 500, a reset, a connection closed with an error or over without a request.
    #[serde(default)]
    pub failed: bool,
    /// Share of the sent packets that were lost, at `decide_after_s` and at the end.
    pub lossy: Option<f64>,
    /// The first connection of a vantage, stack, version, congestion controller and app version not seen for a day.
    #[serde(default)]
    pub novel: bool,
    /// Share of all other connections, by a hash of the connection id; needed beside a rule.
    pub share: Option<f64>,
    /// Age at which an open connection is looked at, s of its trace.
    #[serde(default = "decide_after_s")]
    pub decide_after_s: u32,
    /// The server's own sampling: the probability with which a connection has a trace at all.
    #[serde(default = "one")]
    pub trace_probability: f64,
}

const fn decide_after_s() -> u32 {
    60
}

const fn one() -> f64 {
    1.0
}

impl Keep {
    /// Refuses values that cannot be meant.
    pub fn check(&self) -> Result<(), Error> {
        let has_rule = self.slow_ms.is_some() || self.failed || self.lossy.is_some() || self.novel;
        if has_rule && self.share.is_none() {
            return Err(Error::configuration(
                "retention.share is missing: the share of other connections that is kept, 0 for none",
            ));
        }
        for (name, value, may_be_none) in [
            ("share", self.share.unwrap_or(1.0), true),
            ("lossy", self.lossy.unwrap_or(1.0), false),
            ("trace_probability", self.trace_probability, false),
        ] {
            if !(0.0..=1.0).contains(&value) || (value == 0.0 && !may_be_none) {
                return Err(Error::configuration(format!("retention.{name} is {value}, it must be a share of 1")));
            }
        }
        Ok(())
    }

    fn rules(&self) -> Rules {
        Rules {
            slow_us: self.slow_ms.map(|ms| ms.saturating_mul(1000)),
            failed: self.failed,
            lossy: self.lossy,
            novel: self.novel,
            share: self.share.unwrap_or(1.0),
            decide_after_us: i64::from(self.decide_after_s) * 1_000_000,
            trace_probability: self.trace_probability,
        }
    }
}

/// The retention that `keep` asks for; without it, `None` for all events, or rules that keep none.
pub fn retention(keep: Option<&Keep>, wants_events: bool, state_dir: &Path) -> Option<Retention> {
    let mut rules = match (keep, wants_events) {
        (None, true) => return None,
        (Some(keep), _) => keep.rules(),
        (None, false) => Rules {
            slow_us: None,
            failed: false,
            lossy: None,
            novel: false,
            share: 0.0,
            decide_after_us: 0,
            trace_probability: 1.0,
        },
    };
    if !wants_events {
        rules = Rules { slow_us: None, failed: false, lossy: None, novel: false, share: 0.0, ..rules };
    }
    let novelty = take_up(&place(state_dir)).unwrap_or_default();
    Some(Retention { rules, novelty })
}

/// Pause before the file is written again after an error.
const PATIENCE: Duration = Duration::from_secs(10);

/// The file of the kinds of connections that are no longer novel. Without it, known kinds are novel once more after a
/// restart; nothing else depends on it.
pub struct NoveltyFile {
    place: PathBuf,
    /// Not tried before.
    next: Instant,
}

impl NoveltyFile {
    /// In a collector's folder.
    pub fn new(state_dir: &Path, now: Instant) -> Self {
        Self { place: place(state_dir), next: now }
    }

    /// Sets the time, and writes the file when a kind was added. A failed write is retried.
    pub fn remember(&mut self, retention: &mut Retention, now: Instant) {
        let novelty = &mut retention.novelty;
        novelty.now_s = machine::wall().as_secs();
        if !retention.rules.novel || !novelty.is_dirty || now < self.next {
            return;
        }
        match put_away(novelty, &self.place) {
            Ok(()) => novelty.is_dirty = false,
            Err(error) => {
                warn!(file = %self.place.display(), "cannot be written: {error}; trying again");
                self.next = now + PATIENCE;
            }
        }
    }
}

fn place(state_dir: &Path) -> PathBuf {
    state_dir.join("novel")
}

fn put_away(novelty: &Novelty, place: &Path) -> std::io::Result<()> {
    let payload = postcard::to_stdvec(novelty).map_err(std::io::Error::other)?;
    write_durably(&place.with_extension("new"), place, &[&xxh3_64(&payload).to_le_bytes(), &payload])
}

/// Reads the file; a damaged one counts as absent.
fn take_up(place: &Path) -> Option<Novelty> {
    let bytes = machine::read(place).ok()?;
    let (hash, payload) = bytes.split_at_checked(8)?;
    (hash == xxh3_64(payload).to_le_bytes()).then(|| postcard::from_bytes(payload).ok())?
}
