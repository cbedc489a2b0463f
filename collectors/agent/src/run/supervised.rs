//! Notifications to systemd for a service of `Type=notify` (sd_notify(3)): ready, watchdog, stopping. Without
//! `NOTIFY_SOCKET` nothing is sent.

use crate::run::health::Health;
use sd_notify::NotifyState;
use std::sync::Arc;
use std::time::{Duration, Instant};

/// The supervisor, and when it wants to hear next.
pub struct Supervisor {
    health: Arc<Health>,
    /// Half of `WatchdogSec`.
    interval: Option<Duration>,
    told: Option<Instant>,
}

impl Supervisor {
    /// As the environment says.
    pub fn new(health: Arc<Health>) -> Self {
        Self { health, interval: sd_notify::watchdog_enabled().map(|most| most / 2), told: None }
    }

    /// Resets the watchdog when it is time, unless the loop stands still.
    pub fn watch(&mut self, now: Instant) {
        let Some(interval) = self.interval else { return };
        if self.told.is_none_or(|told| now.duration_since(told) >= interval) && self.health.turns(now) {
            say(&[NotifyState::Watchdog]);
            self.told = Some(now);
        }
    }
}

/// All is open, and following begins.
pub fn begun() {
    say(&[NotifyState::Ready]);
}

/// It was told to stop.
pub fn ends() {
    say(&[NotifyState::Stopping]);
}

fn say(states: &[NotifyState<'_>]) {
    if let Err(error) = sd_notify::notify(states) {
        tracing::warn!("the supervisor cannot be told: {error}");
    }
}
