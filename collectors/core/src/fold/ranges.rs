//! A set of byte ranges, for what of a stream was received or acknowledged.

use serde::{Deserialize, Serialize};

/// Disjoint half-open ranges in order.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Ranges(Vec<(u64, u64)>);

impl Ranges {
    /// Adds `[from, to)`.
    pub fn add(&mut self, from: u64, to: u64) {
        if from >= to {
            return;
        }
        if let Some(last) = self.0.last_mut()
            && last.0 <= from
            && from <= last.1
        {
            last.1 = last.1.max(to);
            return;
        }
        let first = self.0.partition_point(|range| range.1 < from);
        let after = self.0.partition_point(|range| range.0 <= to);
        let mut merged = (from, to);
        if first < after {
            merged = (merged.0.min(self.0[first].0), merged.1.max(self.0[after - 1].1));
        }
        self.0.splice(first..after, [merged]);
    }

    /// Bytes in the set.
    pub fn length(&self) -> u64 {
        self.0.iter().map(|(from, to)| to - from).sum()
    }

    /// All of `[from, to)` is in the set.
    pub fn covers(&self, from: u64, to: u64) -> bool {
        if from >= to {
            return true;
        }
        let at = self.0.partition_point(|range| range.1 <= from);
        self.0.get(at).is_some_and(|range| range.0 <= from && to <= range.1)
    }

    /// End of the run that begins at 0.
    pub fn prefix(&self) -> u64 {
        self.0.first().filter(|range| range.0 == 0).map_or(0, |range| range.1)
    }

    /// Something lies behind a gap.
    pub fn has_gap(&self) -> bool {
        self.0.len() > 1 || self.0.first().is_some_and(|range| range.0 > 0)
    }

    /// Number of runs, which bounds the memory.
    pub fn runs(&self) -> usize {
        self.0.len()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ranges_merge_where_they_touch() {
        let mut set = Ranges::default();
        for (from, to) in [(10, 20), (30, 40), (0, 5), (20, 30), (5, 6), (50, 50)] {
            set.add(from, to);
        }
        assert_eq!(set.0, [(0, 6), (10, 40)]);
        assert!(set.covers(10, 40) && !set.covers(5, 11) && set.has_gap());
        set.add(0, 100);
        assert_eq!((set.prefix(), set.runs(), set.has_gap()), (100, 1, false));
    }
}
