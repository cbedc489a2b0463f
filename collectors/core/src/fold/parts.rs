//! The exclusive split: each microsecond between two marks gets the first cause, in vocabulary order, that held.
//!
//! The duration is computed from the marks alone, in [`Marks::duration_us`], and never from the parts.

use crate::fold::cause::{CAUSES, Cause, Interval};
use serde::{Deserialize, Serialize};

/// The clock of a request, microseconds since the trace's first record.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[expect(missing_docs, reason = "named after the columns of streams")]
pub struct Marks {
    pub start_us: i64,
    pub request_end_us: Option<i64>,
    pub response_start_us: Option<i64>,
    pub first_byte_us: Option<i64>,
    pub last_byte_us: Option<i64>,
    pub end_us: i64,
    /// The log shows where streams end, so a missing `request_end_us` means that the request had not ended.
    pub fins_are_logged: bool,
}

impl Marks {
    /// End minus start.
    pub fn duration_us(&self) -> u64 {
        self.end_us.abs_diff(self.start_us)
    }
}

/// Microseconds by [`Cause`].
pub type Parts = [u64; CAUSES];

/// Splits a request as its server saw it. `intervals` are the conditions that held, in any order; `min_rtt_us` is
/// given when `end_us` is the last byte's acknowledgement, for only then was its round trip seen.
pub fn server(marks: &Marks, intervals: &[Interval], min_rtt_us: Option<i64>) -> Parts {
    let mut parts = [0; CAUSES];
    let end = marks.end_us;
    // Upload is over when the FIN came or when the application answered without waiting for it.
    let answered = marks.response_start_us.unwrap_or(end).clamp(marks.start_us, end);
    if let Some(uploaded) = marks.request_end_us.or(marks.fins_are_logged.then_some(answered)) {
        let uploaded = uploaded.clamp(marks.start_us, answered);
        parts[Cause::Upload as usize] = uploaded.abs_diff(marks.start_us);
        parts[Cause::ServerThink as usize] = answered.abs_diff(uploaded);
    } else {
        // A log without FINs cannot tell upload from thinking.
        parts[Cause::Unattributed as usize] = answered.abs_diff(marks.start_us);
    }
    let last_byte = marks.last_byte_us.unwrap_or(end).clamp(answered, end);
    let mut held: Vec<Interval> = intervals
        .iter()
        .map(|interval| {
            // Once the last byte is out no data waits for window or credit: ATTRIBUTION, rule 2.
            let limit = if waits_for_data(interval.cause) { last_byte } else { end };
            Interval {
                start_us: interval.start_us.clamp(answered, limit),
                end_us: interval.end_us.clamp(answered, limit),
                ..*interval
            }
        })
        .collect();
    if let Some(min_rtt) = min_rtt_us {
        // The round trip of the last flight: at most one minimum RTT is the network, the rest stood in queues.
        let back = last_byte.saturating_add(min_rtt).min(end);
        held.push(Interval { cause: Cause::Network, start_us: last_byte, end_us: back });
        held.push(Interval { cause: Cause::Queueing, start_us: back, end_us: end });
    }
    exclusive(answered, end, &held, &mut parts);
    parts
}

/// Splits a request as its client saw it.
pub fn client(marks: &Marks, intervals: &[Interval], min_rtt_us: Option<i64>) -> Parts {
    let mut parts = [0; CAUSES];
    let end = marks.end_us;
    let first_byte = marks.first_byte_us.unwrap_or(end).clamp(marks.start_us, end);
    let Some(sent) = marks.request_end_us.or(marks.fins_are_logged.then_some(first_byte)) else {
        // Nothing of the request or its answer was seen but its name.
        parts[Cause::Unattributed as usize] = marks.duration_us();
        return parts;
    };
    let sent = sent.clamp(marks.start_us, first_byte);
    parts[Cause::Upload as usize] = sent.abs_diff(marks.start_us);
    // One round trip is the network's; what the first byte took beyond it was spent where this log cannot see.
    let network = min_rtt_us.map_or(0, |rtt| first_byte.abs_diff(sent).min(rtt.unsigned_abs()));
    parts[Cause::Network as usize] = network;
    let waited = if min_rtt_us.is_some() { Cause::RemoteWait } else { Cause::Unattributed };
    parts[waited as usize] += first_byte.abs_diff(sent) - network;
    let mut held: Vec<Interval> =
        intervals.iter().copied().filter(|interval| interval.cause == Cause::ReceiverHol).collect();
    for interval in &mut held {
        interval.start_us = interval.start_us.clamp(first_byte, end);
        interval.end_us = interval.end_us.clamp(first_byte, end);
    }
    let before = parts[Cause::Unattributed as usize];
    parts[Cause::Unattributed as usize] = 0;
    exclusive(first_byte, end, &held, &mut parts);
    // What no gap held back arrived in order.
    parts[Cause::Receiving as usize] = std::mem::replace(&mut parts[Cause::Unattributed as usize], before);
    parts
}

fn waits_for_data(cause: Cause) -> bool {
    matches!(
        cause,
        Cause::ConnectionFlowControl
            | Cause::StreamFlowControl
            | Cause::Scheduling
            | Cause::Bandwidth
            | Cause::CwndBlocked
            | Cause::Pacing
            | Cause::AppLimited
    )
}

/// Adds each microsecond of `[from, to)` to the first cause that held, else to `unattributed`.
fn exclusive(from: i64, to: i64, held: &[Interval], parts: &mut Parts) {
    let mut edges: Vec<(i64, Cause, i32)> = Vec::with_capacity(held.len() * 2);
    for interval in held {
        let (start, end) = (interval.start_us.max(from), interval.end_us.min(to));
        if start < end {
            edges.push((start, interval.cause, 1));
            edges.push((end, interval.cause, -1));
        }
    }
    edges.sort_unstable();
    let mut open = [0i32; CAUSES];
    let mut at = from;
    for (time, cause, change) in edges {
        if time > at {
            let first = open.iter().position(|count| *count > 0).unwrap_or(Cause::Unattributed as usize);
            parts[first] += time.abs_diff(at);
            at = time;
        }
        open[cause as usize] += change;
    }
    parts[Cause::Unattributed as usize] += to.abs_diff(at);
}

#[cfg(test)]
mod tests {
    use super::*;

    const fn held(cause: Cause, start_us: i64, end_us: i64) -> Interval {
        Interval { cause, start_us, end_us }
    }

    #[test]
    fn the_first_cause_in_order_takes_each_microsecond() {
        let marks = Marks {
            start_us: 0,
            request_end_us: Some(10),
            response_start_us: Some(100),
            first_byte_us: Some(110),
            last_byte_us: Some(300),
            end_us: 500,
            fins_are_logged: true,
        };
        let held = [
            held(Cause::CwndBlocked, 90, 400),
            held(Cause::LossRecovery, 150, 250),
            held(Cause::Pto, 200, 220),
            held(Cause::LossRecovery, 240, 260),
        ];
        let parts = server(&marks, &held, Some(80));
        assert_eq!(parts[Cause::Upload as usize], 10);
        assert_eq!(parts[Cause::ServerThink as usize], 90);
        assert_eq!(parts[Cause::Pto as usize], 20);
        assert_eq!(parts[Cause::LossRecovery as usize], 90);
        assert_eq!(parts[Cause::CwndBlocked as usize], 90);
        assert_eq!(parts[Cause::Network as usize], 80);
        assert_eq!(parts[Cause::Queueing as usize], 120);
        assert_eq!(parts.iter().sum::<u64>(), marks.duration_us());
    }

    #[test]
    fn a_client_sees_round_trip_wait_gap_and_arrival() {
        let marks =
            Marks { start_us: 5, request_end_us: Some(15), first_byte_us: Some(115), end_us: 215, ..Marks::default() };
        let parts = client(&marks, &[held(Cause::ReceiverHol, 130, 150)], Some(40));
        assert_eq!(parts[Cause::Upload as usize], 10);
        assert_eq!(parts[Cause::Network as usize], 40);
        assert_eq!(parts[Cause::RemoteWait as usize], 60);
        assert_eq!(parts[Cause::ReceiverHol as usize], 20);
        assert_eq!(parts[Cause::Receiving as usize], 80);
        assert_eq!(parts.iter().sum::<u64>(), marks.duration_us());
    }
}
