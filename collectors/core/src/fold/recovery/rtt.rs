//! Round trips: as the log states them, else computed from acknowledgements as in RFC 9002, 5.3, but without a
//! subtraction of the acknowledgement delay.

use crate::fold::TURN_US;
use crate::fold::stats::{self, Stats};
use crate::record::columns::connections::{self, Connections};
use crate::record::rows::Row;
use get_size2::GetSize;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// kInitialRtt (RFC 9002, 6.2.2).
pub const INITIAL_RTT_US: i64 = 333_000;

/// RTT samples of a connection.
#[derive(Clone, Debug, Default, Serialize, Deserialize, GetSize)]
pub struct Rtt {
    /// Least sample so far (RFC 9002, 5.2).
    min_us: Option<i64>,
    latest_us: Option<i64>,
    smoothed_us: Option<i64>,
    variance_us: Option<i64>,
    /// When the newest sample was taken.
    latest_at_us: Option<i64>,
    /// The shortest sample of the newest instant that has one. A sample that is not stated because it equals the one
    /// before does not change it.
    shortest: OfInstant,
    /// Acknowledgement delay that the peer states with the newest acknowledgement, and the longest one of that instant.
    ack_delay_us: i64,
    longest_delay: OfInstant,
    /// The longest acknowledgement delay of the instant of the newest sample.
    latest_delay_us: i64,
    first_us: Option<i64>,
    stats: Stats,
    /// Samples by bucket.
    histogram: BTreeMap<u16, u32>,
    /// The log states RTTs; ours are used only when it does not.
    is_stated: bool,
}

/// One figure of several that were told in one instant, whose records may stand in any order.
#[derive(Clone, Copy, Debug, Default, Serialize, Deserialize, GetSize)]
struct OfInstant {
    at_us: Option<i64>,
    us: i64,
}

impl OfInstant {
    /// A figure is stated; `pick` chooses between it and the figure of this instant so far.
    fn tell(&mut self, us: i64, now_us: i64, pick: fn(i64, i64) -> i64) {
        let is_first = self.at_us.replace(now_us) != Some(now_us);
        self.us = if is_first { us } else { pick(self.us, us) };
    }
}

/// Least and smoothed RTT of a moment.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, GetSize)]
pub struct RoundTrip {
    /// Least sample.
    pub min_us: Option<i64>,
    /// Smoothed RTT.
    pub smoothed_us: Option<i64>,
}

impl RoundTrip {
    /// The smoothed RTT, else the least sample; none before there is one.
    pub fn known_us(self) -> Option<i64> {
        self.smoothed_us.or(self.min_us)
    }

    /// Takes what is not known from `other`.
    pub fn or(self, other: Self) -> Self {
        Self { min_us: self.min_us.or(other.min_us), smoothed_us: self.smoothed_us.or(other.smoothed_us) }
    }
}

/// RTT figures of one record.
#[derive(Clone, Copy, Debug, Default)]
pub struct StatedRtt {
    /// Newest sample, us.
    pub latest_us: Option<i64>,
    /// Smoothed RTT, us.
    pub smoothed_us: Option<i64>,
    /// Variance, us.
    pub variance_us: Option<i64>,
    /// The record says that the sample is new; a snapshot repeats the newest one.
    pub is_sample: bool,
}

impl Rtt {
    /// A packet was acknowledged so long after it was sent.
    pub fn measure(&mut self, sample_us: i64, now_us: i64) {
        if self.is_stated || sample_us <= 0 {
            return;
        }
        self.add(sample_us, now_us);
        self.shortest.tell(sample_us, now_us, i64::min);
        let (smoothed, variance) = match (self.smoothed_us, self.variance_us) {
            (Some(smoothed), Some(variance)) => {
                let apart = smoothed.saturating_sub(sample_us).saturating_abs();
                let smoothed = smoothed.saturating_mul(7).saturating_add(sample_us) / 8;
                (smoothed, variance.saturating_mul(3).saturating_add(apart) / 4)
            }
            _ => (sample_us, sample_us / 2),
        };
        (self.smoothed_us, self.variance_us) = (Some(smoothed), Some(variance));
    }

    /// The log states samples.
    pub fn is_stated(&self) -> bool {
        self.is_stated
    }

    /// The new sample among stated figures. Values that have not changed need not be stated again (quic-events,
    /// `recovery_metrics_updated`): a sample that equals the one before changes the smoothed RTT alone.
    pub fn sample_in(&self, stated: StatedRtt) -> Option<i64> {
        // Snapshots repeat the newest sample; a new sample changes the smoothed RTT too.
        let has_moved = stated.smoothed_us.is_some() && stated.smoothed_us != self.smoothed_us;
        let last = self.latest_us.filter(|_| self.is_stated && has_moved);
        let latest = self.latest_in(stated).or(last);
        latest.filter(|_| stated.is_sample || has_moved || self.latest_us != latest)
    }

    /// "When no previous RTT is available, the initial RTT SHOULD be set to 333 milliseconds" (RFC 9002, 6.2.2): quinn
    /// logs that as if it had been measured.
    fn latest_in(&self, stated: StatedRtt) -> Option<i64> {
        let is_initial =
            |us: i64| self.stats.count() == 0 && us == INITIAL_RTT_US && stated.smoothed_us == Some(INITIAL_RTT_US);
        stated.latest_us.filter(|latest| !is_initial(*latest))
    }

    /// The log states figures: gives the new sample among them.
    pub fn state(&mut self, stated: StatedRtt, now_us: i64) -> Option<i64> {
        let sample = self.sample_in(stated);
        if self.latest_in(stated).is_some() && !self.is_stated {
            // The stack's own figures replace those that were computed so far.
            *self = Self { is_stated: true, ..Self::default() };
        }
        sample.into_iter().for_each(|us| self.add(us, now_us));
        sample.and(self.latest_in(stated)).into_iter().for_each(|us| self.shortest.tell(us, now_us, i64::min));
        self.smoothed_us = stated.smoothed_us.or(self.smoothed_us);
        self.variance_us = stated.variance_us.or(self.variance_us);
        sample
    }

    fn add(&mut self, sample_us: i64, now_us: i64) {
        self.min_us = Some(self.min_us.map_or(sample_us, |least| least.min(sample_us)));
        self.latest_at_us = Some(now_us);
        (self.latest_us, self.latest_delay_us) = (Some(sample_us), self.longest_delay.us);
        self.first_us.get_or_insert(sample_us);
        self.stats.add(sample_us.unsigned_abs());
        *self.histogram.entry(stats::bucket(sample_us.unsigned_abs())).or_default() += 1;
    }

    /// The peer states an acknowledgement delay. quic-go logs the sample before the packet that states it.
    pub fn held_back(&mut self, ack_delay_us: i64, now_us: i64) {
        self.longest_delay.tell(ack_delay_us, now_us, i64::max);
        if self.latest_at_us == Some(now_us) {
            self.latest_delay_us = self.longest_delay.us;
        }
        self.ack_delay_us = ack_delay_us;
    }

    /// The connection has moved to another path: "the endpoint MUST immediately reset the ... round-trip time
    /// estimator" (RFC 9000, 9.4).
    pub fn restart(&mut self) {
        (self.min_us, self.smoothed_us, self.variance_us) = (None, None, None);
    }

    /// Least sample so far.
    pub fn min_us(&self) -> Option<i64> {
        self.min_us
    }

    /// Smoothed RTT.
    pub fn smoothed_us(&self) -> Option<i64> {
        self.smoothed_us
    }

    /// Least and smoothed.
    pub fn round_trip(&self) -> RoundTrip {
        RoundTrip { min_us: self.min_us, smoothed_us: self.smoothed_us }
    }

    /// Acknowledgement delay that the peer states with the newest acknowledgement.
    pub fn ack_delay_us(&self) -> u64 {
        self.ack_delay_us.unsigned_abs()
    }

    /// Its columns of the connection's row.
    pub fn write(&self, row: &mut Row<Connections>) {
        let stats = &self.stats;
        row.set(connections::RTT_SAMPLES, stats.count());
        row.set(connections::RTT_MIN_US, stats.min());
        row.set(connections::RTT_MAX_US, stats.max());
        row.set(connections::RTT_MEAN_US, stats.mean());
        row.set(connections::RTT_STDEV_US, stats.deviation());
        row.set(connections::RTT_HANDSHAKE_US, self.first_us.map(i64::unsigned_abs));
        let histogram = self.histogram.iter().map(|(bucket, count)| (*bucket, *count));
        row.set(connections::RTT_HISTOGRAM, histogram.collect::<Vec<_>>());
    }

    /// smoothed_rtt + max(4 * rttvar, kGranularity) (RFC 9002, 6.2.1); max_ack_delay comes on top where it counts.
    pub fn probe_timeout_us(&self) -> Option<i64> {
        let smoothed = self.smoothed_us?;
        let variance = self.variance_us.unwrap_or(smoothed / 2);
        Some(smoothed.saturating_add(variance.saturating_mul(4).max(1000)))
    }

    /// The round trip without the acknowledgement delay ("subtract the acknowledgment delay", RFC 9002, 5.3) is above
    /// the minimum RTT by more than a quarter of it and by more than [`TURN_US`]: bytes stand in a queue.
    pub fn has_queue(&self) -> bool {
        let Some(least) = self.min_us else { return false };
        let latest = self.shortest.us.saturating_sub(self.latest_delay_us);
        latest.saturating_mul(4) > least.saturating_mul(5) && latest.saturating_sub(least) > TURN_US
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn samples_of_ours_are_smoothed_as_the_rfc_says() {
        let mut rtt = Rtt::default();
        rtt.measure(0, 0);
        assert_eq!(rtt.round_trip(), RoundTrip::default(), "no time is no sample");
        rtt.measure(80_000, 0);
        assert_eq!((rtt.smoothed_us, rtt.variance_us), (Some(80_000), Some(40_000)));
        rtt.measure(40_000, 0);
        assert_eq!((rtt.smoothed_us, rtt.variance_us), (Some(75_000), Some(40_000)));
        assert_eq!((rtt.min_us, rtt.first_us, rtt.stats.count()), (Some(40_000), Some(80_000), 2));
        assert_eq!(rtt.probe_timeout_us(), Some(75_000 + 160_000));
    }

    #[test]
    fn what_the_log_states_replaces_what_was_computed_and_a_snapshot_is_counted_once() {
        let mut rtt = Rtt::default();
        rtt.measure(80_000, 0);
        let stated = StatedRtt { latest_us: Some(50_000), smoothed_us: Some(60_000), ..StatedRtt::default() };
        rtt.state(stated, 0);
        rtt.state(stated, 0);
        rtt.measure(1_000, 0);
        assert_eq!((rtt.min_us(), rtt.smoothed_us(), rtt.stats.count()), (Some(50_000), Some(60_000), 1));
        rtt.state(StatedRtt { is_sample: true, ..stated }, 0);
        assert_eq!(rtt.stats.count(), 2);
    }

    #[test]
    fn a_sample_that_equals_the_one_before_changes_the_smoothed_value_alone() {
        let mut rtt = Rtt::default();
        let of = |latest_us, smoothed_us| StatedRtt { latest_us, smoothed_us, ..StatedRtt::default() };
        assert_eq!(rtt.state(of(None, Some(60_000)), 0), None, "no sample is known");
        assert_eq!(rtt.state(of(Some(50_000), Some(60_000)), 0), Some(50_000));
        assert_eq!(rtt.state(of(None, Some(58_750)), 0), Some(50_000));
        assert_eq!(rtt.state(of(None, Some(58_750)), 0), None);
        assert_eq!(rtt.state(of(None, None), 0), None);
        assert_eq!((rtt.smoothed_us(), rtt.stats.count()), (Some(58_750), 2));
    }

    #[test]
    fn the_initial_rtt_is_no_sample() {
        let mut rtt = Rtt::default();
        let initial = Some(INITIAL_RTT_US);
        rtt.state(StatedRtt { latest_us: initial, smoothed_us: initial, ..StatedRtt::default() }, 0);
        assert_eq!((rtt.min_us(), rtt.smoothed_us(), rtt.stats.count()), (None, initial, 0));
    }

    #[test]
    fn a_queue_is_a_quarter_and_a_turn_above_the_least_without_the_peers_delay() {
        let mut rtt = Rtt::default();
        rtt.measure(40_000, 0);
        rtt.measure(52_000, 10);
        assert!(rtt.has_queue());
        rtt.held_back(3_000, 20);
        rtt.measure(52_000, 20);
        assert!(!rtt.has_queue());
        // The delay is that of the sample: the next acknowledgement, whose sample is not there yet, changes nothing.
        rtt.held_back(0, 30);
        assert!(!rtt.has_queue());
        rtt.measure(52_000, 30);
        assert!(rtt.has_queue());
        // The delay may be logged after its sample, and the longer of two may belong to the sample.
        rtt.held_back(3_000, 40);
        rtt.measure(52_000, 50);
        assert!(!rtt.has_queue(), "the older delay counts until the new one comes");
        rtt.held_back(0, 50);
        assert!(rtt.has_queue());
        rtt.held_back(3_000, 50);
        rtt.held_back(0, 50);
        assert!(!rtt.has_queue());
        rtt.restart();
        assert!(!rtt.has_queue());
    }
}
