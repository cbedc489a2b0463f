//! Imputation: parts of a request that have no record and follow from other records. These are bytes that were sent or
//! received in packets without a record, and how exactly the request's start and end are known.

use crate::crossed::Bound;
use crate::fold::attribution::history::Shared;
use crate::fold::attribution::trust::Slack;
use crate::fold::cause::Interval;
use crate::fold::recovery::holes::Hole;
use crate::fold::recovery::packets::Chunk;
use crate::limits::{IMPUTED, PASSED_OVER};
use get_size2::GetSize;
use serde::{Deserialize, Serialize};

/// What is imputed of a stream.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, GetSize)]
pub struct Imputation {
    /// The packet that carried its newest data.
    last_number: Option<u64>,
    /// Largest chunk of its data, bytes.
    largest_chunk: u64,
    /// When some of it was sent last, for the first time or again.
    last_out_us: Option<i64>,
    /// The packet that ended it came right after packets without a record: when the packet before those came.
    hidden_after_us: Option<i64>,
    /// When the last packet of the peer came before the first record that names the stream.
    before_us: Option<i64>,
    /// The first record that names it is a parsed HTTP frame; such a frame is parsed when its packet comes.
    is_named_by_http: bool,
    slack: Slack,
    /// Byte ranges that a packet skipped, with the packet numbers right before it that have no record.
    passed: Vec<PassedBytes>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, GetSize)]
struct PassedBytes {
    hole: (u64, u64),
    bytes: (u64, u64),
}

/// What is known of a request that no record ends.
#[derive(Clone, Copy, Debug)]
pub struct Missing<'c> {
    /// The response is ours.
    pub is_server: bool,
    /// The log shows FINs.
    pub has_fins: bool,
    /// Some damage was met.
    pub is_damaged: bool,
    /// Probes go out: the peer may be gone.
    pub is_probing: bool,
    /// When the connection was closed, or the trace ends.
    pub now_us: i64,
    /// A round trip.
    pub rtt_us: i64,
    /// How long a probe timeout is (RFC 9002, 6.2.1).
    pub probe_timeout_us: i64,
    /// How long the peer may hold its acknowledgements back.
    pub max_ack_delay_us: i64,
    /// The packet after the last that carried it, if that one was acknowledged and is missing.
    pub hole: Option<Hole>,
    /// Conditions of the connection, doubts among them.
    pub shared: Shared<'c>,
}

impl Missing<'_> {
    /// The log goes on for so long after `due_us` that an acknowledgement must have come, or a probe must have been
    /// sent.
    fn is_silent_after(&self, due_us: i64) -> bool {
        let delay_us = self.max_ack_delay_us.saturating_add(QUEUE_US);
        let longest_us = self.probe_timeout_us.saturating_mul(2).saturating_add(delay_us);
        !self.is_probing && self.now_us.saturating_sub(due_us) > longest_us
    }
}

/// What an acknowledgement may wait in a queue, which the timeouts before it did not know.
const QUEUE_US: i64 = 25_000;

impl Imputation {
    /// A record names a stream for the first time; the last packet of the peer before it came at `received_us`.
    pub fn begin(received_us: Option<i64>) -> Self {
        Self { before_us: received_us, ..Self::default() }
    }

    /// A chunk of the stream is in a record; `number` is its packet where the chunk is the newest.
    pub fn see(&mut self, chunk: &Chunk, number: Option<u64>) {
        self.largest_chunk = self.largest_chunk.max(chunk.to.saturating_sub(chunk.from));
        self.last_number = number.or(self.last_number);
    }

    /// Some of it goes out, for the first time or again.
    pub fn go_out(&mut self, now_us: i64) {
        self.last_out_us = Some(now_us);
    }

    /// When some of it was sent last, for the first time or again.
    pub fn last_out_us(&self) -> Option<i64> {
        self.last_out_us
    }

    /// It ends with a packet right after packets without a record, which came after `after_us`.
    pub fn end_behind(&mut self, after_us: i64) {
        self.hidden_after_us = Some(after_us);
    }

    /// One of those packets may have ended it before `end_us`.
    pub fn doubt_end(&mut self, end_us: i64, min_rtt_us: i64) {
        let Some(after_us) = self.hidden_after_us else { return };
        let soonest_us = self.last_out_us.unwrap_or(after_us).saturating_add(min_rtt_us).max(after_us);
        self.slack.sooner_us = self.slack.sooner_us.max(end_us.saturating_sub(soonest_us).max(0).unsigned_abs());
    }

    /// The packet that carried its newest data.
    pub fn last_number(&self) -> Option<u64> {
        self.last_number
    }

    /// Most of its data in one packet, bytes.
    pub fn largest_chunk(&self) -> u64 {
        self.largest_chunk
    }

    /// An HTTP frame of the peer's names it first.
    pub fn name_by_http(&mut self) {
        self.is_named_by_http = true;
    }

    /// Something of it is imputed.
    pub fn note(&mut self) {
        self.slack.is_imputed = true;
    }

    /// The clock made a step.
    pub fn note_clock_step(&mut self) {
        self.slack.has_clock_step = true;
    }

    /// How exactly its start and end are known.
    pub fn slack(&self) -> Slack {
        self.slack
    }

    /// A chunk skips the bytes from `highest` on, in the packet right after `hole`. If the packets of the hole came
    /// after all, they brought those bytes. False when nothing is skipped, or too many ranges are remembered already.
    pub fn pass_over(&mut self, highest: u64, chunk: &Chunk, hole: &Hole) -> bool {
        if chunk.from <= highest {
            return false;
        }
        if self.passed.len() >= PASSED_OVER {
            Bound::PassedOver.cross();
            return false;
        }
        self.passed.push(PassedBytes { hole: (hole.from, hole.to), bytes: (highest, chunk.from) });
        true
    }

    /// Packets of a hole did come: gives the bytes of stream `stream_id` that they brought, if all of them came.
    pub fn came(&mut self, stream_id: u64, hole: &Hole) -> Option<Chunk> {
        let at = self.passed.iter().position(|passed| passed.hole.0 <= hole.from && hole.to <= passed.hole.1)?;
        let PassedBytes { hole: numbers, bytes: (from, to) } = self.passed.swap_remove(at);
        self.note();
        (numbers == (hole.from, hole.to)).then_some(Chunk { stream_id, from, to, fin: false })
    }

    /// Its first packet is missing; a record names it first at `start_us`.
    pub fn begin_missing(&mut self, start_us: i64) {
        self.note();
        if !self.is_named_by_http {
            self.slack.earlier_us = start_us.abs_diff(self.before_us.unwrap_or(0).min(start_us));
        }
    }

    /// All of it was sent by `last_us`, and the acknowledgement has no record. It is taken to have come a round trip
    /// later, moved into a time beside missing records if there is one. Gives the end; `None` where the log simply ends
    /// before it.
    pub fn end_after<'i>(
        &mut self,
        last_us: i64,
        doubts: impl Iterator<Item = &'i Interval>,
        missing: &Missing<'_>,
    ) -> Option<i64> {
        let due_us = last_us.saturating_add(missing.rtt_us);
        let (mut first, mut last): (Option<&Interval>, Option<&Interval>) = (None, None);
        for doubt in doubts.filter(|doubt| doubt.end_us > last_us) {
            if doubt.end_us >= due_us && first.is_none_or(|known| doubt.start_us < known.start_us) {
                first = Some(doubt);
            }
            if last.is_none_or(|known| known.end_us < doubt.end_us) {
                last = Some(doubt);
            }
        }
        let (end_us, latest_us) = match first.or(last) {
            Some(doubt) => (due_us.clamp(doubt.start_us.max(last_us), doubt.end_us), doubt.end_us),
            None if missing.is_silent_after(due_us) => (due_us, missing.now_us),
            // The log ends before the acknowledgement could come.
            None => {
                self.slack.later_us = if missing.is_damaged { missing.rtt_us.unsigned_abs() } else { 0 };
                return None;
            }
        };
        self.note();
        self.slack.later_us = latest_us.abs_diff(end_us);
        Some(end_us)
    }

    /// All bytes of the response up to the highest offset seen are done by `last_us`; the next packet, in `hole`, may
    /// have carried its end.
    pub fn end_with(&mut self, last_us: i64, hole: Option<Hole>, missing: &Missing<'_>) -> Option<i64> {
        let Some(hole) = hole else {
            self.slack.sooner_us = if missing.is_damaged { missing.now_us.abs_diff(last_us) } else { 0 };
            return None;
        };
        self.note();
        if missing.is_server {
            return hole.acked_us.map(|acked_us| acked_us.max(last_us));
        }
        self.slack.later_us = hole.before_us.abs_diff(hole.after_us);
        Some(hole.after_us.max(last_us))
    }
}

/// Shares the bytes `[from, to)` out among the last packets of `holes`, which are nearest to the following record,
/// `full` bytes each or more where the packets are too few. Gives packet number, first byte and the byte after the last
/// of each; nothing where there are no packets, or more than [`IMPUTED`] would be needed.
pub fn share_out((from, to): (u64, u64), full: u64, holes: &[Hole]) -> Vec<(u64, u64, u64)> {
    let numbers = holes.iter().fold(0u64, |sum, hole| sum.saturating_add(hole.packets()));
    let missing = to.saturating_sub(from);
    if numbers == 0 || missing == 0 {
        return Vec::new();
    }
    let full = full.max(missing.div_ceil(numbers)).max(1);
    let packets = missing.div_ceil(full);
    if packets > IMPUTED {
        Bound::Imputed.cross();
        return Vec::new();
    }
    let mut passed = numbers.saturating_sub(packets);
    let mut shares = Vec::new();
    let mut at = from;
    for hole in holes {
        let skip = passed.min(hole.packets());
        passed -= skip;
        for number in hole.from.saturating_add(skip)..=hole.to {
            if at >= to {
                return shares;
            }
            let end = at.saturating_add(full).min(to);
            shares.push((number, at, end));
            at = end;
        }
    }
    shares
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::crossed::crosses;
    use crate::fold::attribution::sweep::DOUBT;

    const fn hole(from: u64, to: u64) -> Hole {
        Hole { from, to, after_us: 10, before_us: 30, acked_us: Some(50) }
    }

    const fn chunk(from: u64, to: u64) -> Chunk {
        Chunk { stream_id: 4, from, to, fin: false }
    }

    #[test]
    fn bytes_are_shared_out_among_the_nearest_packets() {
        let none: &[(u64, u64, u64)] = &[];
        assert_eq!(share_out((100, 1_300), 1_200, &[hole(7, 7)]), [(7, 100, 1_300)]);
        assert_eq!(share_out((0, 2_000), 1_200, &[hole(3, 4), hole(8, 9)]), [(8, 0, 1_200), (9, 1_200, 2_000)]);
        assert_eq!(share_out((0, 3_000), 1_200, &[hole(3, 4)]), [(3, 0, 1_500), (4, 1_500, 3_000)]);
        assert_eq!(share_out((0, 3_000), 1_200, &[]), none);
        assert_eq!(
            share_out((0, 1 << 60), 1_200, &[hole(0, 1 << 60)]),
            none,
            "that many packets cannot all be missing records"
        );
    }

    #[test]
    fn the_packets_that_one_jump_imputes_are_bounded() {
        let numbers = [hole(0, 2 * IMPUTED)];
        assert_eq!(share_out((0, IMPUTED * 1_200), 1_200, &numbers).len() as u64, IMPUTED);
        assert!(crosses(Bound::Imputed, || share_out((0, IMPUTED * 1_200 + 1), 1_200, &numbers)).is_empty());
    }

    #[test]
    fn the_stretches_that_are_remembered_are_bounded() {
        let mut imputation = Imputation::default();
        for number in 0..PASSED_OVER as u64 {
            assert!(imputation.pass_over(0, &chunk(100, 200), &hole(2 * number, 2 * number)));
        }
        assert!(!imputation.pass_over(200, &chunk(200, 300), &hole(1_000, 1_000)), "nothing is skipped");
        assert!(!crosses(Bound::PassedOver, || imputation.pass_over(0, &chunk(100, 200), &hole(1_000, 1_000))));
        assert_eq!(imputation.came(4, &hole(0, 0)), Some(chunk(0, 100)));
    }

    #[test]
    fn skipped_bytes_came_if_all_packets_of_the_hole_came() {
        let mut imputation = Imputation::default();
        imputation.pass_over(100, &chunk(300, 400), &hole(5, 6));
        imputation.pass_over(400, &chunk(400, 500), &hole(8, 8));
        assert_eq!(imputation.came(4, &hole(8, 8)), None, "nothing was passed over");
        assert_eq!(imputation.came(4, &hole(5, 6)), Some(chunk(100, 300)));
        imputation.pass_over(500, &chunk(600, 700), &hole(11, 12));
        assert_eq!(imputation.came(4, &hole(11, 11)), None, "one of two");
        assert!(imputation.slack().is_imputed);
    }

    fn missing(now_us: i64) -> Missing<'static> {
        Missing {
            is_server: true,
            has_fins: true,
            is_damaged: false,
            is_probing: false,
            now_us,
            rtt_us: 40_000,
            probe_timeout_us: 100_000,
            max_ack_delay_us: 25_000,
            hole: None,
            shared: Shared::default(),
        }
    }

    #[test]
    fn a_missing_acknowledgement_came_a_round_trip_later_or_in_the_doubtful_time_nearest_to_it() {
        let doubt = |start_us, end_us| Interval::of(DOUBT, start_us, end_us);
        let end = |doubts: &[Interval], now_us| {
            let mut imputation = Imputation::default();
            let end_us = imputation.end_after(100_000, doubts.iter(), &missing(now_us));
            (end_us, imputation.slack().later_us, imputation.slack().is_imputed)
        };
        assert_eq!(end(&[doubt(90_000, 150_000)], 900_000), (Some(140_000), 10_000, true));
        assert_eq!(end(&[doubt(0, 99_000), doubt(160_000, 170_000)], 900_000), (Some(160_000), 10_000, true));
        assert_eq!(end(&[], 900_000), (Some(140_000), 760_000, true), "nothing says what is missing");
        assert_eq!(end(&[], 350_000), (None, 0, false), "it was still to come");
        let probing = Missing { is_probing: true, ..missing(900_000) };
        assert_eq!(Imputation::default().end_after(100_000, [].iter(), &probing), None, "the peer is gone");
    }

    #[test]
    fn an_end_after_missing_packets_is_no_sooner_than_a_round_trip_after_the_last_send() {
        let sooner = |last_us, after_us| {
            let mut imputation = Imputation::default();
            imputation.go_out(last_us);
            imputation.end_behind(after_us);
            imputation.doubt_end(900_000, 40_000);
            imputation.slack().sooner_us
        };
        assert_eq!(sooner(100_000, 120_000), 760_000);
        assert_eq!(sooner(100_000, 200_000), 700_000, "no acknowledgement is missing before");
        assert_eq!(sooner(880_000, 120_000), 0);
        let mut imputation = Imputation::default();
        imputation.doubt_end(900_000, 40_000);
        assert_eq!(imputation.slack().sooner_us, 0, "the packet before is there");
    }

    #[test]
    fn the_packet_after_the_last_brought_the_end() {
        let mut imputation = Imputation::default();
        assert_eq!(imputation.end_with(20, Some(hole(5, 5)), &missing(90)), Some(50));
        let client = Missing { is_server: false, ..missing(90) };
        assert_eq!(imputation.end_with(20, Some(hole(5, 5)), &client), Some(20));
        assert_eq!(imputation.slack().later_us, 20);
        let damaged = Missing { is_damaged: true, ..missing(90) };
        assert_eq!((imputation.end_with(20, None, &damaged), imputation.slack().sooner_us), (None, 70));
    }
}
