//! Packets that the log does not show: gaps in its packet numbers.
//!
//! A gap alone does not prove that a record is missing: stacks skip numbers to detect optimistic acknowledgements (RFC
//! 9000, 21.4), and a packet of the peer may have been lost on its way. An acknowledgement proves it: a receiver
//! acknowledges only packets that it received, so an acknowledged number without a record means that the record is
//! missing.

use crate::crossed::Bound;
use crate::limits::HOLES;
use get_size2::GetSize;
use serde::{Deserialize, Serialize};
use std::collections::VecDeque;

/// Packet numbers one after another that the log does not show.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, GetSize)]
pub struct Hole {
    /// First number.
    pub from: u64,
    /// Last number.
    pub to: u64,
    /// When the packet before the first was logged.
    pub after_us: i64,
    /// When the packet after the last was logged.
    pub before_us: i64,
    /// When the packets were acknowledged, which proves that their records are missing.
    pub acked_us: Option<i64>,
}

impl Hole {
    /// Packets in it.
    pub fn packets(&self) -> u64 {
        self.to.saturating_sub(self.from).saturating_add(1)
    }
}

/// The holes of one direction of a packet number space, in the order of their numbers; the oldest is forgotten when
/// there are more than [`HOLES`].
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, GetSize)]
pub struct Holes {
    newest: Option<(u64, i64)>,
    list: VecDeque<Hole>,
    /// Acknowledged numbers beyond the newest logged one, and when they were acknowledged. Boxed, as most connections
    /// have none.
    ahead: Option<Box<(u64, u64, i64)>>,
}

impl Holes {
    /// Packet `number` is logged. Gives the packets right before it, if they had been acknowledged.
    pub fn see(&mut self, number: u64, now_us: i64) -> Option<Hole> {
        match self.newest {
            Some((newest, _)) if number <= newest => self.fill(number),
            Some((newest, after_us)) if number > newest + 1 => {
                if self.list.len() >= HOLES {
                    Bound::Holes.cross();
                    self.list.pop_front();
                }
                let hole = Hole { from: newest + 1, to: number - 1, after_us, before_us: now_us, acked_us: None };
                self.list.push_back(hole);
                self.newest = Some((number, now_us));
                return self.were_acknowledged(number - 1);
            }
            _ => self.newest = Some((number, now_us)),
        }
        None
    }

    /// The numbers up to `last` that were acknowledged before any later packet was logged.
    fn were_acknowledged(&mut self, last: u64) -> Option<Hole> {
        let (from, to, acked_us) = *self.ahead.take()?;
        let mut proven = None;
        self.acknowledge(from, to.min(last), acked_us, |hole| proven = Some(hole));
        proven
    }

    /// No number is missing.
    pub fn are_none(&self) -> bool {
        self.list.is_empty()
    }

    /// The hole right before the newest packet.
    pub fn newest(&self) -> Option<&Hole> {
        self.list.back().filter(|hole| self.newest.is_some_and(|(newest, _)| hole.to + 1 == newest))
    }

    /// The last hole.
    pub fn last(&self) -> Option<&Hole> {
        self.list.back()
    }

    /// A number that was passed over comes late.
    fn fill(&mut self, number: u64) {
        let at = self.list.partition_point(|hole| hole.to < number);
        let Some(hole) = self.list.get(at).copied().filter(|hole| hole.from <= number) else { return };
        self.replace(at, hole, number, number, None);
    }

    /// Splits the hole at `at`: keeps the parts before and after `[from, to]`, and puts `middle` between them.
    fn replace(&mut self, at: usize, hole: Hole, from: u64, to: u64, middle: Option<Hole>) {
        let before = (hole.from < from).then(|| Hole { to: from - 1, ..hole });
        let after = (to < hole.to).then(|| Hole { from: to + 1, ..hole });
        self.list.remove(at);
        for part in [after, middle, before].into_iter().flatten() {
            self.list.insert(at, part);
        }
    }

    /// `[from, to]` is acknowledged: calls `proven` with each part of a hole in it that was not acknowledged before.
    pub fn acknowledge(&mut self, from: u64, to: u64, now_us: i64, mut proven: impl FnMut(Hole)) {
        if let Some((newest, _)) = self.newest.filter(|(newest, _)| *newest < to)
            && self.ahead.as_ref().is_none_or(|ahead| ahead.1 <= newest)
        {
            self.ahead = Some(Box::new((from.max(newest + 1), to, now_us)));
        }
        // Nearly all acknowledgements are of packets after the last hole.
        let mut at = match self.list.back() {
            Some(last) if last.to >= from => self.list.partition_point(|hole| hole.to < from),
            _ => return,
        };
        while let Some(hole) = self.list.get(at).copied().filter(|hole| hole.from <= to) {
            at += 1;
            if hole.acked_us.is_none() {
                let part = Hole { from: hole.from.max(from), to: hole.to.min(to), acked_us: Some(now_us), ..hole };
                self.replace(at - 1, hole, part.from, part.to, Some(part));
                at += usize::from(hole.from < part.from);
                proven(part);
            }
        }
        while self.list.len() > HOLES {
            Bound::Holes.cross();
            self.list.pop_front();
        }
    }

    /// Holes with numbers above `number`, in order.
    pub fn behind(&self, number: u64) -> impl Iterator<Item = &Hole> {
        let at = self.list.partition_point(|hole| hole.to <= number);
        self.list.range(at..)
    }

    /// The content of packet `number` is known, so it is removed from its hole. Gives it as a hole of one packet.
    pub fn take(&mut self, number: u64) -> Option<Hole> {
        let at = self.list.partition_point(|hole| hole.to < number);
        let hole = self.list.get(at).copied().filter(|hole| hole.from <= number)?;
        self.replace(at, hole, number, number, None);
        Some(Hole { from: number, to: number, ..hole })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::crossed::crosses;

    fn holes(seen: &[u64]) -> Holes {
        let mut holes = Holes::default();
        for (time, number) in seen.iter().enumerate() {
            holes.see(*number, time as i64);
        }
        holes
    }

    fn list(holes: &Holes) -> Vec<(u64, u64, bool)> {
        holes.list.iter().map(|hole| (hole.from, hole.to, hole.acked_us.is_some())).collect()
    }

    fn proven(holes: &mut Holes, from: u64, to: u64) -> Vec<(u64, u64)> {
        let mut found = Vec::new();
        holes.acknowledge(from, to, 100, |hole| found.push((hole.from, hole.to)));
        found
    }

    #[test]
    fn numbers_between_two_are_a_hole_until_they_come() {
        let mut holes = holes(&[0, 1, 5, 9]);
        assert_eq!(list(&holes), [(2, 4, false), (6, 8, false)]);
        holes.see(3, 9);
        holes.see(6, 9);
        holes.see(10, 9);
        assert_eq!(list(&holes), [(2, 2, false), (4, 4, false), (7, 8, false)]);
        assert_eq!((holes.list[0].after_us, holes.list[0].before_us), (1, 2));
    }

    #[test]
    fn only_an_acknowledgement_proves_that_a_record_is_missing_and_only_once() {
        let mut holes = holes(&[0, 1, 9]);
        assert_eq!(proven(&mut holes, 0, 3), [(2, 3)]);
        assert_eq!(proven(&mut holes, 0, 4), [(4, 4)]);
        assert_eq!(proven(&mut holes, 7, 30), [(7, 8)]);
        assert_eq!(proven(&mut holes, 0, 30), [(5, 6)]);
        assert_eq!(proven(&mut holes, 0, 30), []);
        assert_eq!(list(&holes), [(2, 3, true), (4, 4, true), (5, 6, true), (7, 8, true)]);
    }

    #[test]
    fn a_packet_acknowledged_beyond_the_newest_is_missing_once_a_later_one_is_logged() {
        let mut holes = holes(&[0, 1]);
        assert_eq!(proven(&mut holes, 0, 2), [], "the packet may be the next");
        assert_eq!(holes.see(2, 9), None);
        assert_eq!(proven(&mut holes, 1, 4), []);
        assert_eq!(proven(&mut holes, 1, 5), []);
        let hole = Hole { from: 3, to: 4, after_us: 9, before_us: 12, acked_us: Some(100) };
        assert_eq!(holes.see(7, 12), Some(hole));
        assert_eq!(proven(&mut holes, 0, 7), [(5, 6)]);
        assert_eq!(holes.see(9, 12), None);
    }

    #[test]
    fn a_packet_whose_content_is_known_leaves_its_hole() {
        let mut holes = holes(&[0, 5]);
        assert_eq!(holes.behind(0).count(), 1);
        assert_eq!(holes.take(2).map(|hole| (hole.from, hole.to)), Some((2, 2)));
        assert_eq!(list(&holes), [(1, 1, false), (3, 4, false)]);
        assert_eq!(holes.take(2), None);
        assert_eq!(holes.behind(1).map(|hole| hole.from).collect::<Vec<_>>(), [3]);
    }

    #[test]
    fn the_number_of_holes_is_bounded() {
        let mut holes = crosses(Bound::Holes, || holes(&(0..3000).map(|number| number * 9).collect::<Vec<_>>()));
        assert_eq!(holes.list.len(), HOLES);
        // Every other number is acknowledged: the split parts are bounded too.
        for number in (0..27_000).step_by(2) {
            holes.acknowledge(number, number, 0, |_| ());
        }
        assert_eq!(holes.list.len(), HOLES);
    }
}
