//! The pacer: what the log states about it, how long it makes data wait, and to which cause that wait is attributed.

use crate::fold::TURN_US;
use crate::fold::window::stated_limit::StatedLimit;
use get_size2::GetSize;
use serde::{Deserialize, Serialize};

/// What is known of the pacer of a connection.
#[derive(Clone, Debug, Default, Serialize, Deserialize, GetSize)]
pub struct Pacer {
    /// Stated rate, bits per second.
    rate: StatedLimit,
    /// The stated pacing timer that runs: since when data waits for it, and when it is due.
    timer: Option<(i64, i64)>,
    /// When the timer was set last. An expiry in the same instant is of the timer that was set before.
    set_us: Option<i64>,
    /// The stated timer that ran last: from, to.
    ran: Option<(i64, i64)>,
    /// Sends by a timer, of data that is known to have waited.
    sends: u32,
    /// How long the pacer holds the next packet back because of what was sent so far.
    owed: PacingDelay,
}

/// How long a pacer holds the next packet back.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, GetSize)]
pub struct PacingDelay {
    /// When the last packet was sent.
    pub from_us: i64,
    /// When the next packet may be sent.
    pub until_us: i64,
}

impl PacingDelay {
    /// Data that is sent now may have been ready long before and have waited only for the pacer, as it is sent about
    /// when the pacer allows it. Pacers that spread a window send up to a quarter faster than one window per round trip
    /// (RFC 9002, 7.7), clocks are rounded and timers fire late.
    pub fn may_have_held(&self, now_us: i64) -> bool {
        let length_us = self.until_us.abs_diff(self.from_us);
        let least_us = (length_us - length_us / 5).saturating_sub(TURN_US.unsigned_abs());
        let waited_us = now_us.saturating_sub(self.from_us);
        self.until_us > self.from_us
            && u64::try_from(waited_us).is_ok_and(|waited| (least_us..=tolerated(length_us, true)).contains(&waited))
    }
}

/// A pacer without a stated rate spreads this window over this round trip (RFC 9002, 7.7).
#[derive(Clone, Copy, Debug, Default)]
pub struct Spread {
    /// Congestion window, bytes.
    pub window: Option<u64>,
    /// Smoothed RTT, us.
    pub rtt_us: u64,
}

/// Sends by a timer, of data that is known to have waited, that show that the sender paces.
const SENDS: u32 = 4;

impl Pacer {
    /// The log states a rate; 0 is none.
    pub fn state_rate(&mut self, bits_per_second: u64) {
        if bits_per_second > 0 {
            self.rate.state(bits_per_second);
        } else {
            self.rate.state_none();
        }
    }

    /// A new instant begins.
    pub fn begin_instant(&mut self) {
        self.rate.begin_instant();
    }

    /// The log states that a timer of the pacer was set: data waits for it.
    pub fn set_timer(&mut self, now_us: i64, delta_us: u64) {
        let since_us = self.timer.map_or(now_us, |(since_us, _)| since_us);
        self.timer = Some((since_us, now_us.saturating_add_unsigned(delta_us)));
        self.set_us = Some(now_us);
    }

    /// The timer fired or was cancelled, or a packet was sent: gives when data waited for it. The wait ends [`TURN_US`]
    /// after the due time at the latest, even if the log states the expiry later. A timer that was set in this instant
    /// goes on: it is for the next packet.
    pub fn end_timer(&mut self, now_us: i64) -> Option<(i64, i64)> {
        let (since_us, until_us) = self.timer.take_if(|(since_us, _)| *since_us < now_us)?;
        if self.set_us == Some(now_us) {
            self.timer = Some((now_us, until_us));
        }
        self.ran = Some((since_us, until_us.saturating_add(TURN_US).min(now_us)));
        self.ran
    }

    /// When the pacer held everything back, as the log states: from, to, within [`TURN_US`] at each end.
    pub fn held_back(&self) -> Option<(i64, i64)> {
        self.ran
    }

    /// Data that is known to have waited went out, and nothing but a timer sent it.
    pub fn sent_by_timer(&mut self) {
        self.sends = self.sends.saturating_add(1);
    }

    /// The log shows that this sender paces.
    pub fn is_evident(&self) -> bool {
        self.rate.get().is_some() || self.timer.is_some() || self.ran.is_some() || self.sends >= SENDS
    }

    /// Some data is known to have been sent by a timer.
    pub fn has_sent(&self) -> bool {
        self.sends > 0
    }

    /// A rate is stated.
    pub fn is_stated(&self) -> bool {
        self.rate.get().is_some()
    }

    /// How long a pacer waits after `bytes`, us: by the stated rate, else by one window per round trip.
    pub fn interval_us(&self, bytes: u64, spread: Spread) -> u64 {
        match (self.rate.get(), spread.window) {
            (Some(rate), _) => bytes.saturating_mul(8_000_000) / rate,
            (None, Some(window)) if window > 0 => bytes.saturating_mul(spread.rtt_us) / window,
            _ => 0,
        }
    }

    /// The pacer only spreads one window over one round trip, so the window is the limit and not the pacer.
    pub fn is_the_windows(&self, spread: Spread) -> bool {
        match (self.rate.get(), spread.window) {
            // Bits per second times us. An eighth of the window is allowed for rounded figures.
            (Some(rate), Some(window)) => {
                let a_round_trip = u128::from(rate) * u128::from(spread.rtt_us) / 8_000_000;
                a_round_trip >= u128::from(window - window / 8)
            }
            (None, window) => window.is_some(),
            (Some(_), None) => false,
        }
    }

    /// Packets of `bytes` were sent together. After a pause the pacer allows a burst and then waits for all of it.
    pub fn send(&mut self, now_us: i64, bytes: u64, spread: Spread) {
        let from_us = if self.is_evident() { self.owed.until_us.max(now_us) } else { now_us };
        // The delay is never longer than a round trip, or than what these bytes alone need.
        let latest_us = now_us.saturating_add_unsigned(spread.rtt_us.max(self.interval_us(bytes, spread)));
        let until_us = from_us.saturating_add_unsigned(self.interval_us(bytes, spread)).min(latest_us);
        self.owed = PacingDelay { from_us: now_us, until_us };
    }

    /// How long the pacer holds the next packet back because of what was sent so far.
    pub fn owed(&self) -> PacingDelay {
        self.owed
    }

    /// How long the pacer holds data back that is ready now, us.
    pub fn owed_us(&self, now_us: i64) -> u64 {
        self.owed.until_us.saturating_sub(now_us).max(0).unsigned_abs()
    }
}

/// The longest wait that a pacing interval of `interval_us` explains. Sizes in logs may lack the packet's overhead,
/// clocks are rounded and timers fire late: an eighth more and, where a timer sent the data, [`TURN_US`] more.
pub fn tolerated(interval_us: u64, is_by_timer: bool) -> u64 {
    interval_us.saturating_add(interval_us / 8).saturating_add(if is_by_timer { TURN_US.unsigned_abs() } else { 0 })
}

#[cfg(test)]
mod tests {
    use super::*;

    const SPREAD: Spread = Spread { window: Some(100_000), rtt_us: 50_000 };

    #[test]
    fn without_a_stated_rate_a_window_is_spread_over_a_round_trip() {
        let pacer = Pacer::default();
        assert_eq!(pacer.interval_us(1_000, SPREAD), 500);
        assert!(pacer.is_the_windows(SPREAD));
        assert_eq!(pacer.interval_us(1_000, Spread::default()), 0);
    }

    #[test]
    fn a_stated_rate_counts_and_one_that_is_slower_than_the_window_is_a_limit_of_its_own() {
        let mut pacer = Pacer::default();
        pacer.state_rate(8_000_000);
        assert_eq!(pacer.interval_us(1_000, SPREAD), 1_000);
        assert!(!pacer.is_the_windows(SPREAD));
        pacer.state_rate(16_000_000);
        assert!(pacer.is_the_windows(SPREAD));
        pacer.state_rate(0);
        assert!(!pacer.is_stated());
    }

    #[test]
    fn a_timer_that_is_set_again_goes_on_and_ends_when_it_is_due() {
        let mut pacer = Pacer::default();
        pacer.set_timer(1_000, 500);
        pacer.set_timer(1_200, 500);
        assert_eq!(pacer.end_timer(1_700), Some((1_000, 1_700)));
        assert_eq!(pacer.end_timer(1_800), None);
        pacer.set_timer(1_000, 500);
        assert_eq!(pacer.end_timer(90_000), Some((1_000, 2_500)));
    }

    #[test]
    fn a_timer_that_is_set_in_the_instant_in_which_one_fires_goes_on_whichever_stands_first() {
        for is_set_first in [false, true] {
            let mut pacer = Pacer::default();
            pacer.set_timer(1_000, 500);
            if is_set_first {
                pacer.set_timer(1_500, 700);
            }
            assert_eq!(pacer.end_timer(1_500), Some((1_000, 1_500)));
            if !is_set_first {
                pacer.set_timer(1_500, 700);
            }
            assert_eq!(pacer.end_timer(1_500), None);
            assert_eq!(pacer.end_timer(2_200), Some((1_500, 2_200)));
        }
    }

    #[test]
    fn data_that_is_sent_when_the_pacer_allows_it_may_have_waited_for_the_pacer() {
        let mut pacer = Pacer::default();
        assert!(!pacer.owed().may_have_held(0), "nothing was sent");
        // 20 ms for a fifth of a window.
        pacer.send(1_000, 20_000, Spread { rtt_us: 100_000, ..SPREAD });
        let may_have_held = [1_000, 15_900, 16_000, 21_000, 24_500, 24_501].map(|us| pacer.owed().may_have_held(us));
        assert_eq!(may_have_held, [false, false, true, true, true, false]);
    }

    #[test]
    fn an_evident_pacer_owes_for_the_whole_burst() {
        let mut pacer = Pacer::default();
        pacer.send(0, 1_000, SPREAD);
        pacer.send(100, 1_000, SPREAD);
        assert_eq!(pacer.owed_us(100), 500, "nothing shows that it paces");
        pacer.state_rate(16_000_000);
        pacer.send(100, 1_000, SPREAD);
        pacer.send(101, 1_000, SPREAD);
        assert_eq!(pacer.owed_us(101), 1_499);
    }
}
