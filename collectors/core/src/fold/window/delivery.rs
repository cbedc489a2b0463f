//! Whether the path itself is the bottleneck: its round trip has grown, or its delivery rate has stopped growing.

use crate::fold::recovery::packets::Sent;
use get_size2::GetSize;
use serde::{Deserialize, Serialize};
use std::collections::VecDeque;

/// One round trip's best delivery rate and most bytes in flight.
#[derive(Clone, Copy, Debug, Default, Serialize, Deserialize, GetSize)]
struct Round {
    rate: f64,
    in_flight: u64,
    /// Some sample was taken without a queue: the rate may be lower than the path's.
    is_free: bool,
}

/// Delivery rate of a path (draft-cheng-iccrg-delivery-rate-estimation: bytes acknowledged between a packet's sending
/// and its acknowledgement, over that time).
#[derive(Clone, Debug, Default, Serialize, Deserialize, GetSize)]
pub struct Delivery {
    /// Bytes acknowledged so far.
    delivered: u64,
    /// Packets that are sent before `delivered` exceeds this are app-limited.
    limited_until: u64,
    round_ends: u64,
    now: Round,
    /// What the acknowledgements of this instant delivered, in any order. It is judged when the instant is over, as
    /// only then it is known whether there is a queue.
    acked: Option<AckedBytes>,
    rounds: VecDeque<Round>,
    /// Rates of the path in the newest rounds that showed one.
    path_rates: VecDeque<f64>,
    controller_is_full: bool,
}

/// What acknowledgements delivered: `bytes` of the `in_flight` bytes before them, and send time and stamp of the newest
/// acknowledged packet.
#[derive(Clone, Copy, Debug, Serialize, Deserialize, GetSize)]
struct AckedBytes {
    bytes: u64,
    in_flight: u64,
    newest: Option<(i64, Stamp)>,
}

/// State of the delivery rate estimator when a packet is sent; its acknowledgement gives a rate sample from it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, GetSize)]
pub struct Stamp {
    /// Bytes that had been acknowledged.
    delivered: u64,
    /// App-limited: the sample shows how much data the application had, not what the path can carry.
    is_limited: bool,
}

/// Rounds without growth after which BBR calls the pipe full (Cardwell et al., "BBR", 2016, and draft-ietf-ccwg-bbr).
const ROUNDS: usize = 3;

/// Growth per BBR's full-pipe check: less does not count as growth. In Startup the bytes in flight double each round.
const GROWTH: f64 = 1.25;

/// Rounds whose path rates are kept: as many as BBR's filter keeps (draft-ietf-ccwg-bbr, MaxBwFilter of two cycles).
const PATH_ROUNDS: usize = 10;

/// A rate in this range, relative to the path's, equals the path's; a higher one shows that the path has become faster.
const AT_RATE: std::ops::RangeInclusive<f64> = 0.85..=1.25;

impl Delivery {
    /// A packet goes out.
    pub fn stamp(&self) -> Stamp {
        Stamp { delivered: self.delivered, is_limited: self.delivered <= self.limited_until && self.limited_until > 0 }
    }

    /// No data waits now, with `in_flight` bytes in flight: until these are delivered, samples are app-limited and say
    /// nothing about the path (draft-cheng-iccrg-delivery-rate-estimation, 3.4).
    pub fn no_data_waits(&mut self, in_flight: u64) {
        self.limited_until = self.delivered.saturating_add(in_flight.max(1));
    }

    /// Something is sent after the connection was idle: earlier rounds do not count any more.
    pub fn restart(&mut self) {
        self.rounds.clear();
        self.now = Round::default();
        self.round_ends = self.delivered;
    }

    /// The connection has moved to another path: rates of the one before say nothing of it.
    pub fn change_path(&mut self) {
        self.restart();
        self.path_rates.clear();
        self.controller_is_full = false;
    }

    /// Packets were acknowledged; `newest` is the one sent last, `in_flight` the bytes in flight before.
    pub fn acknowledge(&mut self, bytes: u64, newest: Option<&Sent>, in_flight: u64) {
        let newest = newest.map(|packet| (packet.time_us, packet.stamp));
        let acked = self.acked.get_or_insert(AckedBytes { bytes: 0, in_flight, newest });
        acked.bytes = acked.bytes.saturating_add(bytes);
        acked.in_flight = acked.in_flight.max(in_flight);
        acked.newest =
            acked.newest.into_iter().chain(newest).max_by_key(|(sent_us, stamp)| (*sent_us, stamp.delivered));
    }

    /// The received packets of this instant are complete; `has_queue`: there is a queue on the path.
    pub fn settle(&mut self, now_us: i64, has_queue: bool) {
        self.acked.take().into_iter().for_each(|acked| self.deliver(acked, now_us, has_queue));
    }

    fn deliver(&mut self, AckedBytes { bytes, in_flight, newest }: AckedBytes, now_us: i64, has_queue: bool) {
        self.delivered = self.delivered.saturating_add(bytes);
        let Some((sent_us, sent)) = newest else { return };
        let us = now_us.saturating_sub(sent_us);
        if us <= 0 {
            return;
        }
        #[expect(clippy::cast_precision_loss, reason = "a rate")]
        let rate = self.delivered.saturating_sub(sent.delivered) as f64 / us as f64;
        if !sent.is_limited {
            self.now.in_flight = self.now.in_flight.max(in_flight);
            self.now.rate = self.now.rate.max(rate);
            // The application had no more data meanwhile, so the path may not have been full.
            self.now.is_free |= !has_queue || sent.delivered < self.limited_until;
        }
        if sent.delivered >= self.round_ends {
            let round = std::mem::take(&mut self.now);
            self.round_ends = self.delivered;
            if round.rate <= 0.0 {
                return;
            }
            self.rounds.push_back(round);
            if self.rounds.len() > ROUNDS + 1 {
                self.rounds.pop_front();
            }
            if !round.is_free {
                self.path_rates.push_back(round.rate);
                if self.path_rates.len() > PATH_ROUNDS {
                    self.path_rates.pop_front();
                }
            } else if self.path_rate().is_some_and(|path| round.rate > AT_RATE.end() * path) {
                self.path_rates.clear();
            }
        }
    }

    /// Rate of the path, bytes per microsecond: the highest of the newest rounds in which data waited and there was a
    /// queue.
    pub fn path_rate(&self) -> Option<f64> {
        self.path_rates.iter().copied().reduce(f64::max)
    }

    /// How long the path takes to carry `bytes`, us, where its rate is known.
    pub fn carried_us(&self, bytes: u64) -> Option<i64> {
        #[expect(clippy::cast_precision_loss, clippy::cast_possible_truncation, reason = "an estimate, saturating")]
        self.path_rate().map(|rate| (bytes as f64 / rate) as i64)
    }

    /// The delivery rate equals the path's rate. This needs no queue where a pacer keeps to the path's rate.
    pub fn is_at_path_rate(&self) -> bool {
        let Some(path) = self.path_rate() else { return false };
        self.rounds.back().is_some_and(|round| AT_RATE.contains(&(round.rate / path)))
    }

    /// BBR beyond Startup: it leaves that state when the rate has stopped growing.
    pub fn controller_state(&mut self, state: &str) {
        if !state.is_empty() {
            let state = state.to_ascii_lowercase().replace('_', "");
            self.controller_is_full = ["probebw", "drain", "probertt"].iter().any(|full| state.contains(full));
        }
    }

    /// The congestion controller has found the path's rate, or the rate grew by less than a quarter in three rounds
    /// although the bytes in flight doubled. (While they do not grow, a constant rate says nothing about the path.)
    pub fn has_stopped_growing(&self) -> bool {
        if self.controller_is_full {
            return true;
        }
        let (Some(first), Some(last)) = (self.rounds.front(), self.rounds.back()) else { return false };
        let best = self.rounds.iter().skip(1).map(|round| round.rate).fold(0.0, f64::max);
        let opened = last.in_flight >= first.in_flight.saturating_mul(2);
        self.rounds.len() > ROUNDS && opened && first.rate > 0.0 && best < GROWTH * first.rate
    }

    /// Highest rate of the last rounds, bytes per microsecond.
    pub fn rate(&self) -> Option<f64> {
        let best = self.rounds.iter().map(|round| round.rate).fold(self.now.rate, f64::max);
        (best > 0.0).then_some(best)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const PACKET: u64 = 1_000;

    /// Rounds of `packets` each, acknowledged `us` after they were sent; `is_idle`: no data waits after each round.
    fn after(rounds: &[(u64, i64)], has_queue: bool, is_idle: bool) -> Delivery {
        let mut delivery = Delivery::default();
        let mut now_us = 0;
        for (packets, us) in rounds {
            let sent = Sent { time_us: now_us, stamp: delivery.stamp(), ..Sent::default() };
            if is_idle {
                delivery.no_data_waits(packets * PACKET);
            }
            now_us += us;
            delivery.acknowledge(packets * PACKET, Some(&sent), packets * PACKET);
            delivery.settle(now_us, has_queue);
        }
        delivery
    }

    #[test]
    fn a_rate_that_stays_while_ever_more_is_in_flight_is_the_paths() {
        let growing = [(10, 10_000), (20, 20_000), (40, 40_000), (80, 80_000), (160, 160_000)];
        assert!(after(&growing, false, false).has_stopped_growing());
        let as_fast = [(10, 10_000), (20, 10_000), (40, 10_000), (80, 10_000), (160, 10_000)];
        assert!(!after(&as_fast, false, false).has_stopped_growing());
    }

    #[test]
    fn rounds_in_which_no_data_waited_say_nothing_of_the_path() {
        let growing = [(10, 10_000), (20, 20_000), (40, 40_000), (80, 80_000), (160, 160_000)];
        assert!(!after(&growing, true, true).has_stopped_growing());
        assert_eq!(after(&growing, true, true).path_rate(), None);
    }

    #[test]
    fn the_rate_while_there_was_a_queue_is_remembered() {
        let mut delivery = after(&[(20, 20_000), (20, 20_000)], true, false);
        assert_eq!(delivery.path_rate(), Some(1.0));
        assert_eq!(delivery.carried_us(30_000), Some(30_000));
        // The queue is gone and as much comes through: a pacer keeps to the path's rate.
        let sent = Sent { time_us: 40_000, stamp: delivery.stamp(), ..Sent::default() };
        delivery.acknowledge(10 * PACKET, Some(&sent), 10 * PACKET);
        delivery.settle(50_500, false);
        assert!(delivery.is_at_path_rate());
        // Twice as much without a queue: the path has become faster.
        let sent = Sent { time_us: 50_500, stamp: delivery.stamp(), ..Sent::default() };
        delivery.acknowledge(20 * PACKET, Some(&sent), 20 * PACKET);
        delivery.settle(60_500, false);
        assert!(!delivery.is_at_path_rate());
        assert_eq!(delivery.path_rate(), None);
    }

    #[test]
    fn a_queue_for_a_part_of_a_round_shows_no_rate() {
        assert_eq!(after(&[(20, 20_000), (20, 20_000)], false, false).path_rate(), None);
    }
}
