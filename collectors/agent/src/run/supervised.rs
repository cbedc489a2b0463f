//! What systemd is told of a service of `Type=notify`: that it has begun, that its loop turns, that it ends. Nothing,
//! where nobody asked: sd_notify(3).

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

    /// Tells that the loop turns, when it is time; not where it stands still.
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
