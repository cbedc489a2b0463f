//! The clock of one connection's records, and whether its writer kept them in order.
//!
//! After a wall clock is set back, the times of all later records would lie in the past. A record that is older than
//! the newest by more than the reordering window ([`WINDOW_NS`]) is taken for the first one after such a step: it gets
//! the newest time, and later records continue from there. If the next record is as new as before the step, that record
//! was only late.
//!
//! A record that is older by less is such a first one only if it acknowledges a packet of ours that was sent later by
//! the record's own time. Otherwise it was either written late by one of several threads, and its time is right; or its
//! writer keeps records in order and its clock is inexact, e.g. in whole milliseconds. Our packet numbers show which,
//! as they are in the order of sending. Where nothing shows it, records are ordered by their times.

use super::order::WINDOW_NS;
use crate::event::{Event, Kind, Number, Word};
use crate::fold::recovery::range_ends::RangeEnds;
use serde::{Deserialize, Serialize};

/// Largest difference by which an inexact clock may put two ordered records out of order, ns: a millisecond for each.
const NOISE_NS: i64 = 2_000_000;

/// In which order records stand in a file.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(super) enum RecordOrder {
    /// Nothing has shown it yet.
    #[default]
    Unknown,
    /// In the order of events, whatever their times say: a packet of ours had a higher number and an earlier time than
    /// the one before.
    Ordered,
    /// Out of order: a packet had a lower number and an earlier time than the one before, or a record was older by more
    /// than an inexact clock explains.
    Unordered,
}

/// A packet of ours: of which kind, its number, and its time.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
struct SentPacketTime {
    kind: u8,
    number: u64,
    at_ns: i64,
    /// The time of the packet with the number before, where that came right before.
    before_ns: Option<i64>,
}

/// The clock of one connection's records.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Clock {
    newest_ns: i64,
    /// Correction that is added to the times of the log.
    ahead_ns: i64,
    /// The correction before the newest record seemed to show a step; otherwise the same.
    before_ns: i64,
    writer: RecordOrder,
    /// The last packet of ours in the file.
    sent: SentPacketTime,
    range_ends: RangeEnds,
}

impl Default for Clock {
    fn default() -> Self {
        Self::of(RecordOrder::Unknown)
    }
}

/// A record's time.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct ClockReading {
    /// Corrected time, ns.
    pub at_ns: i64,
    /// The log's clock was set back right before it.
    pub is_step: bool,
    /// It is older than a record before, and happened before it.
    pub is_late: bool,
}

impl Clock {
    /// A clock of records that such a writer wrote.
    pub fn of(writer: RecordOrder) -> Self {
        Self {
            newest_ns: i64::MIN,
            ahead_ns: 0,
            before_ns: 0,
            writer,
            sent: SentPacketTime::default(),
            range_ends: RangeEnds::default(),
        }
    }

    /// What is known of the writer so far.
    pub fn writer(&self) -> RecordOrder {
        self.writer
    }

    /// A later record shows that the clock was set forward by `step_ns`: the newest time and all later ones are
    /// corrected.
    pub fn set_back(&mut self, step_ns: i64) {
        for at_ns in [&mut self.newest_ns, &mut self.ahead_ns, &mut self.before_ns, &mut self.sent.at_ns] {
            *at_ns = at_ns.saturating_sub(step_ns);
        }
        self.sent.before_ns = self.sent.before_ns.map(|at_ns| at_ns.saturating_sub(step_ns));
    }

    /// The time of a record, whose own is in `source_ns`.
    pub fn read(&mut self, event: &Event) -> ClockReading {
        let (source_ns, newest) = (event.source_ns, self.newest_ns);
        let is_old = |at: i64| newest.saturating_sub(at) > WINDOW_NS;
        if !is_old(source_ns.saturating_add(self.before_ns)) {
            self.ahead_ns = self.before_ns;
        }
        self.before_ns = self.ahead_ns;
        let mut at_ns = source_ns.saturating_add(self.ahead_ns);
        let is_proven = self.acknowledges_the_future(event, at_ns);
        let is_step = is_proven || is_old(at_ns);
        if is_step {
            self.ahead_ns = newest.saturating_sub(source_ns);
            at_ns = newest;
        }
        if is_proven {
            self.before_ns = self.ahead_ns;
        }
        match event.kind {
            Kind::PacketSent => self.look_at(event, at_ns),
            Kind::PacketReceived => {
                event.frames_with_ranges().for_each(|(_, ranges)| self.range_ends.look(ranges, None));
            }
            _ => {}
        }
        if at_ns < newest {
            if newest.saturating_sub(at_ns) > NOISE_NS {
                self.writer = RecordOrder::Unordered;
            }
            if self.writer == RecordOrder::Ordered {
                at_ns = newest;
            }
        }
        self.newest_ns = newest.max(at_ns);
        ClockReading { at_ns, is_step, is_late: at_ns < newest }
    }

    /// The record acknowledges the last packet of ours, which was sent later than that by the record's time. Where a
    /// range may end with what follows its last packet, the packet before must be later too.
    fn acknowledges_the_future(&self, event: &Event, at_ns: i64) -> bool {
        let latest_ns = self.sent.at_ns.saturating_sub(NOISE_NS);
        if at_ns >= latest_ns || event.kind != Kind::PacketReceived || first_letter(event) != self.sent.kind {
            return false;
        }
        let SentPacketTime { number, before_ns, .. } = self.sent;
        let is_before_later = before_ns.is_some_and(|before_ns| at_ns < before_ns.saturating_sub(NOISE_NS));
        let is_named = |(one, other): &(u64, u64)| {
            let (from, to) = (*one.min(other), *one.max(other));
            (from..to).contains(&number)
                || (to == number && (from == to || self.range_ends.are_closed() || is_before_later))
        };
        !has_path(event) && event.acked.iter().any(is_named)
    }

    /// A packet of ours may tell in which order records stand. Paths may have numbers of their own.
    fn look_at(&mut self, event: &Event, at_ns: i64) {
        let Some(number) = event.get(Number::PacketNumber) else { return };
        let (kind, last) = (first_letter(event), self.sent);
        let before_ns = (last.kind == kind && last.number.checked_add(1) == Some(number)).then_some(last.at_ns);
        self.sent = SentPacketTime { kind, number, at_ns, before_ns };
        if at_ns < last.at_ns && kind == last.kind && self.writer != RecordOrder::Unordered && !has_path(event) {
            if number < last.number {
                self.writer = RecordOrder::Unordered;
            } else if number > last.number && last.at_ns.saturating_sub(at_ns) <= NOISE_NS {
                self.writer = RecordOrder::Ordered;
            }
        }
    }
}

fn first_letter(event: &Event) -> u8 {
    event.word(Word::PacketType).as_bytes().first().copied().unwrap_or_default()
}

fn has_path(event: &Event) -> bool {
    event.get(Number::PathId).is_some_and(|id| id > 0)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(clock: &mut Clock, ms: i64) -> ClockReading {
        let mut event = Event::default();
        event.source_ns = ms * 1_000_000;
        clock.read(&event)
    }

    fn read(times_ms: &[i64]) -> Vec<(i64, bool)> {
        let mut clock = Clock::default();
        let of = |ms: &i64| {
            let ClockReading { at_ns, is_step, .. } = at(&mut clock, *ms);
            (at_ns / 1_000_000, is_step)
        };
        times_ms.iter().map(of).collect()
    }

    /// Packets of ours by number and time, each followed by what the clock makes of its time.
    fn sends(packets: &[(u64, i64)]) -> (Vec<i64>, RecordOrder) {
        let mut clock = Clock::default();
        let of = |(number, ms): &(u64, i64)| {
            let mut event = Event::default();
            (event.source_ns, event.kind) = (ms * 1_000_000, Kind::PacketSent);
            event.set(Number::PacketNumber, *number);
            clock.read(&event).at_ns / 1_000_000
        };
        (packets.iter().map(of).collect(), clock.writer())
    }

    #[test]
    fn a_clock_that_is_set_back_goes_on_where_it_was() {
        let wanted = [(0, false), (100, false), (100, true), (110, false), (130, false), (130, true), (135, false)];
        assert_eq!(read(&[0, 100, 40, 50, 70, -500, -495]), wanted);
    }

    #[test]
    fn numbers_of_packets_tell_a_clock_that_is_off_from_threads() {
        assert_eq!(sends(&[(1, 10), (2, 9), (3, 11), (4, 10)]), (vec![10, 10, 11, 11], RecordOrder::Ordered));
        assert_eq!(sends(&[(2, 10), (1, 9), (4, 11), (3, 10)]), (vec![10, 9, 11, 10], RecordOrder::Unordered));
        assert_eq!(sends(&[(1, 10), (2, 9), (4, 11), (3, 10)]), (vec![10, 10, 11, 10], RecordOrder::Unordered));
        assert_eq!(
            sends(&[(1, 10), (2, 7), (3, 11), (4, 10)]),
            (vec![10, 7, 11, 10], RecordOrder::Unordered),
            "so much"
        );
        assert_eq!(
            read(&[10, 9, 11, 10]).iter().map(|(at, _)| *at).collect::<Vec<_>>(),
            [10, 9, 11, 10],
            "nothing tells"
        );
    }

    /// Packets of ours, and then a received packet that acknowledges a range at that time: whether that is a step.
    fn acknowledges(packets: &[(u64, i64)], range: (u64, u64), ms: i64) -> bool {
        read_acknowledgement(Clock::default(), packets, range, ms)
    }

    fn read_acknowledgement(mut clock: Clock, packets: &[(u64, i64)], range: (u64, u64), ms: i64) -> bool {
        for (number, ms) in packets {
            let mut event = Event::default();
            (event.source_ns, event.kind) = (ms * 1_000_000, Kind::PacketSent);
            event.set(Number::PacketNumber, *number);
            clock.read(&event);
        }
        let mut event = Event::default();
        (event.source_ns, event.kind) = (ms * 1_000_000, Kind::PacketReceived);
        event.acked.push(range);
        let ClockReading { at_ns, is_step, .. } = clock.read(&event);
        event.source_ns += 5_000_000;
        event.acked.clear();
        let next = clock.read(&event);
        assert_eq!(is_step, next.at_ns == at_ns + 5_000_000 && at_ns > ms * 1_000_000, "it goes on from there");
        is_step
    }

    #[test]
    fn an_acknowledgement_before_its_packet_tells_a_clock_that_is_set_back() {
        assert!(acknowledges(&[(1, 100), (2, 100)], (0, 2), 90));
        assert!(acknowledges(&[(1, 50), (2, 100)], (2, 2), 90));
        assert!(acknowledges(&[(1, 50), (2, 100)], (2, 3), 90));
        assert!(!acknowledges(&[(1, 50), (2, 100)], (0, 2), 90), "what follows the last one may be written");
        let mut clock = Clock::default();
        clock.range_ends.look(&[(5, 5)], None);
        assert!(read_acknowledgement(clock, &[(1, 50), (2, 100)], (0, 2), 90));
        assert!(!acknowledges(&[(1, 100), (2, 100)], (0, 1), 90), "a thread writes late");
        assert!(!acknowledges(&[(1, 100), (2, 100)], (0, 2), 99), "an inexact clock");
        assert!(!acknowledges(&[], (0, 2), 90));
    }

    #[test]
    fn records_that_are_late_set_no_clock() {
        assert_eq!(read(&[0, 100, 90, 101]), [(0, false), (100, false), (90, false), (101, false)]);
        assert_eq!(read(&[0, 100, 40, 101, 102]), [(0, false), (100, false), (100, true), (101, false), (102, false)]);
    }
}
