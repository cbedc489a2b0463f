//! How a writer states the end of a range of acknowledged packets: the last packet of it, or the one after.
//!
//! The drafts state the last packet. noq 1.4.0 writes the one after it (`AckRange::new(range.start, range.end)` of a
//! half-open range); if that were read as the last packet, each range would acknowledge one packet too many.

use get_size2::GetSize;
use serde::{Deserialize, Serialize};

/// What the ranges seen so far show.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, GetSize)]
pub struct RangeEnds {
    is_settled: bool,
    is_after: bool,
    hints: u8,
}

/// Acknowledgements of the packet after the newest, without one of the newest between them, that show half-open ranges.
const HINTS: u8 = 2;

impl RangeEnds {
    /// Looks at the ranges of one ACK frame, in any order. `newest` is the largest number sent, where the frame
    /// acknowledges ours.
    pub fn look(&mut self, ranges: &[(u64, u64)], newest: Option<u64>) {
        if self.is_settled || ranges.is_empty() {
            return;
        }
        if ranges.iter().any(|(from, to)| from == to) {
            // The two numbers of a half-open range differ.
            *self = Self { is_settled: true, is_after: false, hints: 0 };
        } else if ranges.windows(2).any(|two| touch(two[0], two[1])) {
            // Between two ranges of a frame at least one packet is missing (RFC 9000, 19.3.1).
            *self = Self { is_settled: true, is_after: true, hints: 0 };
        } else if let (Some(newest), Some(largest)) = (newest, ranges.iter().map(|(_, to)| *to).max()) {
            if largest == newest.saturating_add(1) {
                // The range is half-open, or the record of the newest packet is missing, which happens now and then.
                self.hints = self.hints.saturating_add(1);
                self.is_after |= self.hints >= HINTS;
            } else if largest == newest {
                // A closed range looks like this whenever everything is acknowledged.
                self.hints = 0;
            }
        }
    }

    /// It is shown that ranges end with their last packet.
    pub fn are_closed(self) -> bool {
        self.is_settled && !self.is_after
    }

    /// The last packet of a range that this log writes as `from` and `to`.
    pub fn last(self, from: u64, to: u64) -> u64 {
        if self.is_after && from < to { to - 1 } else { to }
    }
}

fn touch(one: (u64, u64), other: (u64, u64)) -> bool {
    let (low, high) = if one.0 < other.0 { (one, other) } else { (other, one) };
    low.1.saturating_add(1) == high.0
}

#[cfg(test)]
mod tests {
    use super::*;

    fn after(frames: &[(&[(u64, u64)], u64)]) -> u64 {
        let mut ends = RangeEnds::default();
        for (ranges, newest) in frames {
            ends.look(ranges, Some(*newest));
        }
        ends.last(0, 9)
    }

    #[test]
    fn ranges_that_touch_end_after_their_last_packet() {
        assert_eq!(after(&[(&[(2, 9), (10, 11)], 20)]), 8);
        assert_eq!(after(&[(&[(10, 11), (2, 9)], 20)]), 8);
        assert_eq!(after(&[(&[(2, 8), (10, 11)], 20)]), 9);
    }

    #[test]
    fn a_range_of_one_number_ends_with_it() {
        assert_eq!(after(&[(&[(0, 1)], 0), (&[(0, 2)], 1), (&[(5, 5)], 8), (&[(2, 9), (10, 11)], 20)]), 9);
    }

    #[test]
    fn one_lost_record_does_not_look_like_a_half_open_range() {
        assert_eq!(after(&[(&[(0, 1)], 0)]), 9);
        assert_eq!(after(&[(&[(0, 1)], 0), (&[(0, 2)], 1)]), 8);
        assert_eq!(after(&[(&[(0, 3)], 2), (&[(0, 5)], 5), (&[(0, 7)], 6)]), 9, "all was acknowledged between");
        assert_eq!(after(&[(&[(0, 2)], 0), (&[(0, 3)], 1)]), 9, "two after it are lost records");
    }
}
