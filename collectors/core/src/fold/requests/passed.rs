//! Which streams have bytes that a packet skipped, by the packet numbers right before it that have no record.

use crate::crossed::Bound;
use crate::fold::recovery::holes::Hole;
use crate::limits::{PASSED_OVER_OF_ALL, PATHS};
use get_size2::GetSize;
use serde::{Deserialize, Serialize};
use std::collections::BTreeSet;

/// First and last number of a hole, and a stream whose next packet after the hole skipped bytes.
#[derive(Clone, Debug, Default, Serialize, Deserialize, GetSize)]
pub struct Passed(BTreeSet<(u64, u64, u64)>);

impl Passed {
    /// A packet behind a hole passed over bytes of a stream.
    pub fn add(&mut self, hole: &Hole, stream_id: u64) {
        if self.0.len() >= PASSED_OVER_OF_ALL {
            Bound::PassedOverOfAll.cross();
            self.0.pop_first();
        }
        self.0.insert((hole.from, hole.to, stream_id));
    }

    /// Packets of a hole did come: takes the streams of which they may have brought something.
    pub fn take(&mut self, hole: &Hole) -> BTreeSet<u64> {
        let (mut before, mut found) = ((hole.from, u64::MAX, u64::MAX), Vec::new());
        // Holes of one path are disjoint, so at most one hole of each path contains these numbers.
        for _ in 0..PATHS {
            let Some((from, to, _)) = self.0.range(..before).next_back().copied() else { break };
            before = (from, to, 0);
            if to >= hole.to {
                found.extend(self.0.range(before..=(from, to, u64::MAX)).copied());
            }
        }
        for passed in &found {
            self.0.remove(passed);
        }
        found.into_iter().map(|(_, _, id)| id).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::crossed::crosses;

    const fn hole(from: u64, to: u64) -> Hole {
        Hole { from, to, after_us: 0, before_us: 0, acked_us: None }
    }

    #[test]
    fn streams_are_found_by_any_part_of_the_hole_and_once() {
        let mut passed = Passed::default();
        for (hole, id) in [(hole(5, 9), 4), (hole(5, 9), 0), (hole(12, 12), 8), (hole(2, 3), 12)] {
            passed.add(&hole, id);
        }
        assert_eq!(passed.take(&hole(10, 10)), BTreeSet::new());
        assert_eq!(passed.take(&hole(8, 9)), BTreeSet::from([0, 4]));
        assert_eq!(passed.take(&hole(5, 7)), BTreeSet::new());
        assert_eq!((passed.take(&hole(12, 12)), passed.0.len()), (BTreeSet::from([8]), 1));
    }

    #[test]
    fn the_oldest_of_too_many_is_forgotten() {
        let mut passed = Passed::default();
        (0..PASSED_OVER_OF_ALL as u64).for_each(|number| passed.add(&hole(2 * number, 2 * number), 4));
        let last = 2 * PASSED_OVER_OF_ALL as u64;
        crosses(Bound::PassedOverOfAll, || passed.add(&hole(last, last), 4));
        assert_eq!((passed.take(&hole(0, 0)), passed.take(&hole(last, last))), (BTreeSet::new(), BTreeSet::from([4])));
        assert_eq!(passed.0.len(), PASSED_OVER_OF_ALL - 1);
    }
}
