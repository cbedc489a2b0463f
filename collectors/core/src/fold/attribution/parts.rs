//! A request's time, split at its marks and swept between them.
//!
//! The duration is computed from the marks alone, in [`Marks::duration_us`], and never from the parts.

use crate::fold::attribution::history::Shared;
use crate::fold::attribution::sweep::{DOUBT, Gap, Sweep, waits_for_data};
use crate::fold::cause::{Cause, Interval};
use get_size2::GetSize;
use serde::{Deserialize, Serialize};

/// The clock of a request, microseconds since the trace's first record.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, GetSize)]
#[expect(missing_docs, reason = "named after the columns of streams")]
pub struct Marks {
    pub start_us: i64,
    /// The request came in 0-RTT and could be read only now.
    pub readable_us: Option<i64>,
    /// How long the peer's limit of streams kept a client from opening it, as the log states.
    pub limited_us: u64,
    pub request_end_us: Option<i64>,
    pub response_start_us: Option<i64>,
    pub first_byte_us: Option<i64>,
    pub last_byte_us: Option<i64>,
    pub end_us: i64,
    /// It ended before the response was complete: the last byte sent is not the response's last.
    pub is_unfinished: bool,
    /// The log shows where streams end, so a missing `request_end_us` means that the request had not ended.
    pub fins_are_logged: bool,
}

impl Marks {
    /// End minus start.
    pub fn duration_us(&self) -> u64 {
        self.end_us.abs_diff(self.start_us)
    }

    /// When the response began, on the server; the sweep begins here.
    pub fn answered_us(&self) -> i64 {
        self.response_start_us.unwrap_or(self.end_us).clamp(self.start_us, self.end_us)
    }
}

/// The bytes in flight when the last byte was sent.
#[derive(Clone, Copy, Debug)]
pub struct LastFlight {
    /// Least round trip.
    pub min_rtt_us: i64,
    /// How long the path takes to carry all of it, where its rate is known.
    pub carried_us: Option<i64>,
}

/// Splits a request as its server saw it. `sweep` may have advanced already; `held` and `gaps` are what it has not
/// passed yet, in any order, in addition to what is `shared`. `last_flight` is given when `end_us` is the last byte's
/// acknowledgement, because only then its round trip is known.
pub fn server(
    marks: &Marks,
    sweep: &mut Sweep,
    held: &mut Vec<Interval>,
    gaps: &mut Vec<Gap>,
    shared: Shared<'_>,
    last_flight: Option<LastFlight>,
) {
    let (answered, end) = (marks.answered_us(), marks.end_us);
    let readable = marks.readable_us.unwrap_or(marks.start_us).clamp(marks.start_us, answered);
    // Upload is over when the FIN came or when the application answered without waiting for it.
    let uploaded = marks.request_end_us.map(|uploaded| uploaded.clamp(marks.start_us, answered));
    let readable = uploaded.map_or(readable, |uploaded| readable.min(uploaded));
    // Time beside missing records before the response; the sweep handles the rest.
    let mut doubt = |cause: Cause, from: i64, to: i64| {
        let of = |interval: &Interval| interval.end_us.min(to).saturating_sub(interval.start_us.max(from)).max(0);
        let doubts = shared.doubts_after(from).chain(held.iter().filter(|interval| interval.cause == DOUBT));
        let us = doubts.map(of).fold(0, i64::saturating_add).min(to.saturating_sub(from).max(0));
        sweep.doubt(cause, us.unsigned_abs());
    };
    doubt(Cause::Handshake, marks.start_us, readable);
    doubt(Cause::Upload, readable, uploaded.unwrap_or(answered));
    if let Some(uploaded) = uploaded {
        doubt(Cause::ServerThink, uploaded, answered);
    }
    sweep.add(Cause::Handshake, readable.abs_diff(marks.start_us));
    if let Some(uploaded) = uploaded.or(marks.fins_are_logged.then_some(answered)) {
        sweep.add(Cause::Upload, uploaded.abs_diff(readable));
        sweep.add(Cause::ServerThink, answered.abs_diff(uploaded));
    } else {
        // A log without FINs cannot tell upload from thinking.
        sweep.leave(answered.abs_diff(readable));
    }
    let last_byte = marks.last_byte_us.unwrap_or(end).clamp(answered, end);
    for interval in held.iter_mut() {
        // Once the last byte is out no data waits for window or credit: ATTRIBUTION, rule 2.
        if waits_for_data(interval.cause) && !marks.is_unfinished {
            interval.end_us = interval.end_us.min(last_byte);
        }
    }
    if let Some(flight) = last_flight {
        // The round trip of the last flight: at most one minimum RTT is the network. The time beyond it that the path
        // needs to carry the bytes in flight is bandwidth, and the rest is queueing behind others.
        let back = last_byte.saturating_add(flight.min_rtt_us).min(end);
        let carried = last_byte.saturating_add(flight.carried_us.unwrap_or(0)).clamp(back, end);
        held.push(Interval::of(Cause::Network, last_byte, back));
        held.push(Interval::of(Cause::Bandwidth, back, carried));
        held.push(Interval::of(Cause::Queueing, carried, end));
    }
    let data_until_us = if marks.is_unfinished { i64::MAX } else { last_byte };
    sweep.begin(answered);
    sweep.advance(end, held, gaps, Shared { data_until_us, ..shared });
}

/// Splits a request as its client saw it.
pub fn client(marks: &Marks, sweep: &mut Sweep, held: &mut Vec<Interval>, shared: Shared<'_>, min_rtt_us: Option<i64>) {
    let end = marks.end_us;
    let first_byte = marks.first_byte_us.unwrap_or(end).clamp(marks.start_us, end);
    let Some(sent) = marks.request_end_us.or(marks.fins_are_logged.then_some(first_byte)) else {
        // Only events that name the request were seen, and the waits that the log states.
        *sweep = Sweep::default();
        let limited_us = marks.limited_us.min(marks.duration_us());
        sweep.add_stated(Cause::StreamLimit, limited_us);
        sweep.leave(marks.duration_us() - limited_us);
        return;
    };
    let sent = sent.clamp(marks.start_us, first_byte);
    let uploaded_us = sent.abs_diff(marks.start_us);
    let limited_us = marks.limited_us.min(uploaded_us);
    sweep.add_stated(Cause::StreamLimit, limited_us);
    sweep.add(Cause::Upload, uploaded_us - limited_us);
    // Time that the sweep left unattributed so far: data arrived in order and no gap held it back.
    let mut arrived = sweep.take_left();
    sweep.begin(first_byte);
    sweep.advance(end, held, &mut Vec::new(), shared);
    arrived += sweep.take_left();
    sweep.add(Cause::Receiving, arrived);
    // One round trip is the network's; the rest of the time to the first byte was spent where this log cannot see.
    let waited = first_byte.abs_diff(sent);
    let network = min_rtt_us.map_or(0, |rtt| waited.min(rtt.unsigned_abs()));
    sweep.add(Cause::Network, network);
    if min_rtt_us.is_some() {
        sweep.add(Cause::RemoteWait, waited - network);
    } else {
        sweep.leave(waited);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const FLIGHT: Option<LastFlight> = Some(LastFlight { min_rtt_us: 80, carried_us: None });

    const fn held(cause: Cause, start_us: i64, end_us: i64) -> Interval {
        Interval::of(cause, start_us, end_us)
    }

    const MARKS: Marks = Marks {
        start_us: 0,
        readable_us: None,
        limited_us: 0,
        request_end_us: Some(10),
        response_start_us: Some(100),
        first_byte_us: Some(110),
        last_byte_us: Some(300),
        end_us: 500,
        is_unfinished: false,
        fins_are_logged: true,
    };

    fn held_by_a_loss() -> Vec<Interval> {
        vec![
            held(Cause::CwndBlocked, 90, 400),
            held(Cause::LossRecovery, 150, 250),
            held(Cause::Pto, 200, 220),
            held(Cause::LossRecovery, 240, 260),
        ]
    }

    #[test]
    fn the_first_cause_in_order_takes_each_microsecond() {
        let mut sweep = Sweep::default();
        server(&MARKS, &mut sweep, &mut held_by_a_loss(), &mut Vec::new(), Shared::default(), FLIGHT);
        let part = |cause: Cause| sweep.part(cause);
        assert_eq!([part(Cause::Upload), part(Cause::ServerThink)], [10, 90]);
        assert_eq!([part(Cause::Pto), part(Cause::LossRecovery), part(Cause::CwndBlocked)], [20, 90, 90]);
        assert_eq!([part(Cause::Network), part(Cause::Queueing)], [80, 120]);
        assert_eq!(Cause::ALL.into_iter().map(part).sum::<u64>(), MARKS.duration_us());
        assert_eq!(sweep.overlapping(Cause::CwndBlocked), 200);
        // A full window follows from the loss, so it does not stand against it.
        assert_eq!(sweep.alone(Cause::LossRecovery), 110);
    }

    #[test]
    fn a_sweep_in_steps_ends_where_one_sweep_ends() {
        let gaps = [
            Gap { start_us: 100, end_us: 170, short: Cause::Pacing, limit_us: 100, long: Cause::Unattributed },
            Gap { start_us: 260, end_us: 300, short: Cause::Pacing, limit_us: 10, long: Cause::AppLimited },
        ];
        let mut whole = Sweep::default();
        server(&MARKS, &mut whole, &mut held_by_a_loss(), &mut gaps.to_vec(), Shared::default(), FLIGHT);
        for step in [180, 200, 230, 250] {
            let mut sweep = Sweep::default();
            sweep.begin(100);
            let (mut held, mut gaps) = (held_by_a_loss(), gaps.to_vec());
            sweep.advance(step, &mut held, &mut gaps, Shared::default());
            server(&MARKS, &mut sweep, &mut held, &mut gaps, Shared::default(), FLIGHT);
            assert_eq!(sweep, whole, "after a step to {step}");
        }
    }

    #[test]
    fn a_request_in_0_rtt_waited_for_keys() {
        let marks = Marks { readable_us: Some(7), ..MARKS };
        let mut sweep = Sweep::default();
        server(&marks, &mut sweep, &mut Vec::new(), &mut Vec::new(), Shared::default(), FLIGHT);
        let part = |cause: Cause| sweep.part(cause);
        assert_eq!([sweep.part(Cause::Handshake), sweep.part(Cause::Upload)], [7, 3]);
        assert_eq!(Cause::ALL.into_iter().map(part).sum::<u64>(), MARKS.duration_us());
    }

    #[test]
    fn a_path_full_of_the_connections_own_data_is_bandwidth_and_not_queueing() {
        for (carried_us, parts) in [(60, [80, 0, 120]), (130, [80, 50, 70]), (900, [80, 120, 0])] {
            let mut sweep = Sweep::default();
            let flight = LastFlight { min_rtt_us: 80, carried_us: Some(carried_us) };
            server(&MARKS, &mut sweep, &mut Vec::new(), &mut Vec::new(), Shared::default(), Some(flight));
            let part = |cause: Cause| sweep.part(cause);
            assert_eq!([part(Cause::Network), part(Cause::Bandwidth), part(Cause::Queueing)], parts);
        }
    }

    #[test]
    fn an_application_without_data_does_not_wait_for_the_window() {
        let mut sweep = Sweep::default();
        let mut conditions = vec![held(Cause::CwndBlocked, 100, 250), held(Cause::AppLimited, 200, 300)];
        server(&MARKS, &mut sweep, &mut conditions, &mut Vec::new(), Shared::default(), FLIGHT);
        assert_eq!([sweep.part(Cause::CwndBlocked), sweep.part(Cause::AppLimited)], [100, 100]);
    }

    #[test]
    fn a_client_sees_round_trip_wait_gap_and_arrival() {
        let marks =
            Marks { start_us: 5, request_end_us: Some(15), first_byte_us: Some(115), end_us: 215, ..Marks::default() };
        let mut sweep = Sweep::default();
        client(&marks, &mut sweep, &mut vec![held(Cause::ReceiverHol, 130, 150)], Shared::default(), Some(40));
        let part = |cause: Cause| sweep.part(cause);
        assert_eq!([part(Cause::Upload), part(Cause::Network), part(Cause::RemoteWait)], [10, 40, 60]);
        assert_eq!([part(Cause::ReceiverHol), part(Cause::Receiving)], [20, 80]);
        assert_eq!(Cause::ALL.into_iter().map(part).sum::<u64>(), marks.duration_us());
    }
}
