//! A set of byte ranges, for what of a stream was received or acknowledged.

use get_size2::GetSize;
use serde::{Deserialize, Serialize};

/// Disjoint half-open ranges in order.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, GetSize)]
pub struct Ranges {
    runs: Vec<(u64, u64)>,
    /// Sum of their lengths.
    length: u64,
}

impl Ranges {
    /// Adds `[from, to)`.
    pub fn add(&mut self, from: u64, to: u64) {
        if from >= to {
            return;
        }
        if let Some(last) = self.runs.last_mut()
            && last.0 <= from
            && from <= last.1
        {
            self.length += to.saturating_sub(last.1);
            last.1 = last.1.max(to);
            return;
        }
        let first = self.runs.partition_point(|range| range.1 < from);
        let after = self.runs.partition_point(|range| range.0 <= to);
        let mut merged = (from, to);
        if first < after {
            merged = (merged.0.min(self.runs[first].0), merged.1.max(self.runs[after - 1].1));
        }
        let before: u64 = self.runs[first..after].iter().map(|(from, to)| to - from).sum();
        self.length += (merged.1 - merged.0) - before;
        self.runs.splice(first..after, [merged]);
    }

    /// Bytes in the set.
    pub fn length(&self) -> u64 {
        self.length
    }

    /// All of `[from, to)` is in the set.
    pub fn covers(&self, from: u64, to: u64) -> bool {
        if from >= to {
            return true;
        }
        let at = self.runs.partition_point(|range| range.1 <= from);
        self.runs.get(at).is_some_and(|range| range.0 <= from && to <= range.1)
    }

    /// Some of `[from, to)` is in the set.
    pub fn meets(&self, from: u64, to: u64) -> bool {
        let at = self.runs.partition_point(|range| range.1 <= from);
        from < to && self.runs.get(at).is_some_and(|range| range.0 < to)
    }

    /// End of the run that begins at 0.
    pub fn prefix(&self) -> u64 {
        self.runs.first().filter(|range| range.0 == 0).map_or(0, |range| range.1)
    }

    /// Something lies behind a gap.
    pub fn has_gap(&self) -> bool {
        self.runs.len() > 1 || self.runs.first().is_some_and(|range| range.0 > 0)
    }

    /// Number of runs, which bounds the memory.
    pub fn runs(&self) -> usize {
        self.runs.len()
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
        assert_eq!((&set.runs[..], set.length()), (&[(0, 6), (10, 40)][..], 36));
        assert!(set.covers(10, 40) && !set.covers(5, 11) && set.has_gap());
        assert!(set.meets(5, 11) && !set.meets(6, 10) && !set.meets(40, 50) && !set.meets(20, 20));
        set.add(0, 100);
        assert_eq!((set.prefix(), set.runs(), set.has_gap(), set.length()), (100, 1, false, 100));
    }
}
