//! Whether the path itself is the bottleneck: its round trip has grown, or its delivery rate has stopped growing.

use crate::fold::Rtt;
use crate::fold::packets::Sent;
use serde::{Deserialize, Serialize};
use std::collections::VecDeque;

/// One round trip's best delivery rate and most bytes in flight.
#[derive(Clone, Copy, Debug, Default, Serialize, Deserialize)]
struct Round {
    rate: f64,
    in_flight: u64,
}

/// Delivery rate of a path (draft-cheng-iccrg-delivery-rate-estimation: bytes acknowledged between a packet's sending
/// and its acknowledgement, over that time).
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub struct Delivery {
    /// Bytes acknowledged so far.
    pub delivered: u64,
    round_ends: u64,
    now: Round,
    rounds: VecDeque<Round>,
    controller_is_full: bool,
}

/// Rounds without growth after which BBR calls the pipe full (Cardwell et al., "BBR", 2016, and draft-ietf-ccwg-bbr).
const ROUNDS: usize = 3;

/// Growth below which the rate has not grown, there; in Startup the bytes in flight double each round.
const GROWTH: f64 = 1.25;

impl Delivery {
    /// Packets were acknowledged; `newest` is the one sent last, `in_flight` what was on its way before.
    pub fn acknowledge(&mut self, bytes: u64, newest: Option<&Sent>, now_us: i64, in_flight: u64) {
        self.delivered = self.delivered.saturating_add(bytes);
        self.now.in_flight = self.now.in_flight.max(in_flight);
        let Some(newest) = newest else { return };
        let us = now_us.saturating_sub(newest.time_us);
        if us <= 0 {
            return;
        }
        #[expect(clippy::cast_precision_loss, reason = "a rate")]
        let rate = self.delivered.saturating_sub(newest.delivered) as f64 / us as f64;
        self.now.rate = self.now.rate.max(rate);
        if newest.delivered >= self.round_ends {
            self.rounds.push_back(std::mem::take(&mut self.now));
            if self.rounds.len() > ROUNDS + 1 {
                self.rounds.pop_front();
            }
            self.round_ends = self.delivered;
        }
    }

    /// BBR beyond Startup: it leaves that state when the rate has stopped growing.
    pub fn controller_state(&mut self, state: &str) {
        if !state.is_empty() {
            let state = state.to_ascii_lowercase().replace('_', "");
            self.controller_is_full = ["probebw", "drain", "probertt"].iter().any(|full| state.contains(full));
        }
    }

    /// The controller has found the path's rate, or three rounds brought less than a quarter more although
    /// twice as much was in flight. (While no more is in flight, a constant rate says nothing of the path.)
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

/// The round trip is more than a quarter above the least, the peer's own delay taken off ("subtract the acknowledgment
/// delay", RFC 9002, 5.3): bytes stand in a queue.
pub fn has_queue(rtt: &Rtt) -> bool {
    let (Some(latest), Some(least)) = (rtt.latest_us, rtt.min_us) else { return false };
    latest.saturating_sub(rtt.ack_delay_us).saturating_mul(4) > least.saturating_mul(5)
}
