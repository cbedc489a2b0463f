//! Whether a collector does its work: its loop turns, and what waits is acknowledged in the end.

use serde::Serialize;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

/// A loop that did not turn, or a sink that acknowledged nothing of what waits, for so long is not healthy. A heartbeat
/// waits at the latest after its interval, so that a sink that is away is told within a minute.
const STALE: Duration = Duration::from_secs(45);

/// When something happened last, each in ms since the collector began; the moments are given by the caller.
#[derive(Debug)]
pub struct Health {
    began: Instant,
    turned_ms: AtomicU64,
    acknowledged_ms: AtomicU64,
    /// Nothing waited.
    idle_ms: AtomicU64,
}

/// The answer of `/healthz`.
#[derive(Debug, PartialEq, Serialize)]
pub struct HealthReport {
    /// All is well.
    pub ok: bool,
    /// Since the loop turned last.
    pub seconds_since_turn: f64,
    /// Since the last cycle was acknowledged, or since the collector began.
    pub seconds_since_acknowledged: f64,
    /// How long something has been waiting of which nothing was acknowledged.
    pub waiting_seconds: f64,
}

impl Health {
    /// Of a collector that begins now.
    pub fn new(now: Instant) -> Self {
        let never = || AtomicU64::new(0);
        Self { began: now, turned_ms: never(), acknowledged_ms: never(), idle_ms: never() }
    }

    /// The loop turns.
    pub fn turned(&self, now: Instant) {
        self.turned_ms.store(self.since_began(now), Ordering::Relaxed);
    }

    /// A cycle was acknowledged.
    pub fn acknowledged(&self, now: Instant) {
        self.acknowledged_ms.store(self.since_began(now), Ordering::Relaxed);
    }

    /// Everything that was there is read and acknowledged.
    pub fn idle(&self, now: Instant) {
        self.idle_ms.store(self.since_began(now), Ordering::Relaxed);
    }

    /// Whether the loop has turned lately.
    pub fn turns(&self, now: Instant) -> bool {
        self.found(now).seconds_since_turn < STALE.as_secs_f64()
    }

    /// What is to be said now.
    pub fn found(&self, now: Instant) -> HealthReport {
        let seconds = |at: &AtomicU64| {
            let ms = self.since_began(now).saturating_sub(at.load(Ordering::Relaxed));
            Duration::from_millis(ms).as_secs_f64()
        };
        let (turned, acknowledged) = (seconds(&self.turned_ms), seconds(&self.acknowledged_ms));
        let waiting = acknowledged.min(seconds(&self.idle_ms));
        let stale = STALE.as_secs_f64();
        HealthReport {
            ok: turned < stale && waiting < stale,
            seconds_since_turn: turned,
            seconds_since_acknowledged: acknowledged,
            waiting_seconds: waiting,
        }
    }

    fn since_began(&self, now: Instant) -> u64 {
        u64::try_from(now.saturating_duration_since(self.began).as_millis()).unwrap_or(u64::MAX)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(began: Instant, seconds: u64) -> Instant {
        began + Duration::from_secs(seconds)
    }

    #[test]
    fn a_loop_that_stands_still_is_not_healthy() {
        let began = Instant::now();
        let health = Health::new(began);
        health.idle(at(began, 100));
        health.turned(at(began, 56));
        assert!(health.found(at(began, 100)).ok);
        assert!(!health.found(at(began, 102)).ok);
    }

    #[test]
    fn silence_of_the_sink_counts_only_while_something_waits() {
        let began = Instant::now();
        let health = Health::new(began);
        health.idle(at(began, 500));
        health.turned(at(began, 540));
        assert!(health.found(at(began, 540)).ok, "it began to wait 40 s ago");
        health.turned(at(began, 570));
        let found = health.found(at(began, 570));
        assert!(!found.ok && found.waiting_seconds > 69.0);
        health.acknowledged(at(began, 570));
        assert!(health.found(at(began, 570)).ok);
    }
}
