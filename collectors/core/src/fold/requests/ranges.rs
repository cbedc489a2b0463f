//! A set of byte ranges, for what of a stream was received or acknowledged.

use get_size2::GetSize;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// Disjoint half-open ranges that do not touch.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, GetSize)]
pub struct Ranges {
    /// The lowest; empty where there is none. Most sets have no other.
    first: (u64, u64),
    /// The others: ends by beginnings. In whatever order they come, one costs the logarithm of their number.
    others: BTreeMap<u64, u64>,
    /// Sum of their lengths.
    length: u64,
}

impl Ranges {
    /// Adds `[from, to)`.
    pub fn add(&mut self, from: u64, to: u64) {
        if from >= to {
            return;
        }
        let (mut merged, mut known) = ((from, to), 0);
        let first = self.first;
        let has_first = first.0 < first.1;
        let is_within_first = has_first && first.0 <= to && from <= first.1;
        if is_within_first {
            merged = (from.min(first.0), to.max(first.1));
            known = first.1 - first.0;
        }
        while let Some((&begin, &end)) = self.others.range(..=merged.1).next_back()
            && end >= merged.0
        {
            self.others.remove(&begin);
            merged = (merged.0.min(begin), merged.1.max(end));
            known += end - begin;
        }
        self.length += merged.1 - merged.0 - known;
        if has_first && !is_within_first && first.0 < merged.0 {
            self.others.insert(merged.0, merged.1);
        } else {
            if has_first && !is_within_first {
                self.others.insert(first.0, first.1);
            }
            self.first = merged;
        }
    }

    /// Bytes in the set.
    pub fn length(&self) -> u64 {
        self.length
    }

    /// All of `[from, to)` is in the set.
    pub fn covers(&self, from: u64, to: u64) -> bool {
        from >= to || self.before(from.saturating_add(1)).is_some_and(|(_, end)| to <= end)
    }

    /// Some of `[from, to)` is in the set.
    pub fn meets(&self, from: u64, to: u64) -> bool {
        from < to && self.before(to).is_some_and(|(_, end)| from < end)
    }

    /// The last run that begins before `to`.
    fn before(&self, to: u64) -> Option<(u64, u64)> {
        let other = self.others.range(..to).next_back().map(|(begin, end)| (*begin, *end));
        other.or(Some(self.first).filter(|(begin, end)| begin < end && *begin < to))
    }

    /// End of the run that begins at 0.
    pub fn prefix(&self) -> u64 {
        if self.first.0 == 0 { self.first.1 } else { 0 }
    }

    /// Something lies behind a gap.
    pub fn has_gap(&self) -> bool {
        !self.others.is_empty() || self.first.0 > 0
    }

    /// Number of runs, which bounds the memory.
    pub fn runs(&self) -> usize {
        self.others.len() + usize::from(self.first.0 < self.first.1)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::chance;
    use std::collections::BTreeSet;

    #[test]
    fn ranges_merge_where_they_touch() {
        let mut set = Ranges::default();
        for (from, to) in [(10, 20), (30, 40), (0, 5), (20, 30), (5, 6), (50, 50)] {
            set.add(from, to);
        }
        assert_eq!((set.first, set.runs(), set.length()), ((0, 6), 2, 36));
        assert!(set.covers(10, 40) && !set.covers(5, 11) && set.has_gap());
        assert!(set.meets(5, 11) && !set.meets(6, 10) && !set.meets(40, 50) && !set.meets(20, 20));
        set.add(0, 100);
        assert_eq!((set.prefix(), set.runs(), set.has_gap(), set.length()), (100, 1, false, 100));
    }

    /// Compared with a plain set of bytes, for any order.
    #[test]
    fn ranges_hold_what_was_added() {
        let mut next = chance::numbers(3);
        for _ in 0..300 {
            let (mut set, mut bytes) = (Ranges::default(), BTreeSet::new());
            for _ in 0..30 {
                let from = next(60);
                let to = from + next(9);
                set.add(from, to);
                bytes.extend(from..to);
                let (from, to) = (next(60), next(70));
                assert_eq!(set.covers(from, to), (from..to).all(|byte| bytes.contains(&byte)), "{from} {to} {set:?}");
                assert_eq!(set.meets(from, to), (from..to).any(|byte| bytes.contains(&byte)), "{from} {to} {set:?}");
            }
            let begins = bytes.iter().filter(|byte| **byte == 0 || !bytes.contains(&(**byte - 1)));
            assert_eq!((set.length(), set.runs()), (bytes.len() as u64, begins.count()));
            assert_eq!(set.prefix(), (0..).take_while(|byte| bytes.contains(byte)).count() as u64);
            assert_eq!(set.has_gap(), set.length() > set.prefix());
        }
    }
}
