//! The identity of a trace, which does not depend on its file's name, compression or current length. For traces that
//! may still be confused see `schema/README.md`, "Identities".

use crate::crossed::Bound;
use crate::limits::{IDENTITY_RECORDS, TRACES};
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use xxhash_rust::xxh3::{Xxh3, xxh3_64};

/// Traces of one file by header and first record, and how many there were of each.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub struct Earlier(BTreeMap<u64, u32>);

impl Earlier {
    /// There was none.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Counts a trace, and gives how many of its kind came before. Beyond the limit a new kind is not remembered.
    fn count(&mut self, kind: u64) -> u32 {
        if self.0.len() >= TRACES && !self.0.contains_key(&kind) {
            Bound::Traces.cross();
            return 0;
        }
        let seen = self.0.entry(kind).or_default();
        *seen = seen.saturating_add(1);
        *seen - 1
    }
}

/// What a trace adds to the identity of its connections.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub(super) struct Identity {
    /// Hash of its first records, once they are known.
    begin: Option<u64>,
    /// Traces of the file before it with the same header and first record.
    repeats: u32,
    /// The traces of the file so far, this one with them.
    pub earlier: Earlier,
}

impl Identity {
    /// Decides the identity by the header's text and the first records.
    pub fn decide<'r>(&mut self, header: &[u8], records: impl Iterator<Item = &'r [u8]>) {
        let mut all = Xxh3::new();
        for (index, record) in records.take(IDENTITY_RECORDS).enumerate() {
            if index == 0 {
                let first = [header, b"\0", record].concat();
                self.repeats = self.earlier.count(xxh3_64(&first));
            }
            all.update(&record.len().to_le_bytes());
            all.update(record);
        }
        self.begin = Some(all.digest());
    }

    /// The trace id of the connection whose first record, declared id and vantage as the log says it `parts` has.
    /// `is_dated`: its header or that record says by a wall clock when it was.
    pub fn trace_id(&self, header: &[u8], parts: [&[u8]; 3], is_dated: bool) -> String {
        let mut identity = header.to_vec();
        let add = |identity: &mut Vec<u8>, part: &[u8]| {
            identity.push(0);
            identity.extend_from_slice(part);
        };
        for part in parts {
            add(&mut identity, part);
        }
        if let Some(begin) = self.begin.filter(|_| !is_dated) {
            add(&mut identity, &begin.to_le_bytes());
        }
        if self.repeats > 0 {
            add(&mut identity, &self.repeats.to_le_bytes());
        }
        format!("{:016x}", xxh3_64(&identity))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::crossed::crosses;

    const PARTS: [&[u8]; 3] = [b"first", b"", b"server"];

    fn id(header: &str, records: &[&str], is_dated: bool, earlier: &mut Earlier) -> String {
        let mut identity = Identity { earlier: std::mem::take(earlier), ..Identity::default() };
        identity.decide(header.as_bytes(), records.iter().map(|record| record.as_bytes()));
        let id = identity.trace_id(header.as_bytes(), PARTS, is_dated);
        *earlier = identity.earlier;
        id
    }

    fn alone(records: &[&str], is_dated: bool) -> String {
        id("h", records, is_dated, &mut Earlier::default())
    }

    #[test]
    fn a_trace_that_grows_keeps_its_id() {
        let all = ["a", "b", "c", "d", "e", "f", "g", "h", "i", "j"];
        for length in 1..all.len() {
            assert_eq!(alone(&all[..length], true), alone(&all, true), "dated, {length}");
            let is_enough = length >= IDENTITY_RECORDS;
            assert_eq!(alone(&all[..length], false) == alone(&all, false), is_enough, "{length}");
        }
    }

    #[test]
    fn without_a_clock_the_first_records_tell() {
        let all = ["a", "b", "c", "d", "e", "f", "g", "h", "i"];
        let with = |place: usize| {
            let mut other = all;
            other[place] = "x";
            alone(&other, false)
        };
        assert_ne!(with(IDENTITY_RECORDS - 1), alone(&all, false));
        assert_eq!(with(IDENTITY_RECORDS), alone(&all, false));
        // Where one record ends and the next begins is part of them.
        assert_ne!(alone(&["ab", "c"], false), alone(&["a", "bc"], false));
    }

    #[test]
    fn traces_of_one_file_that_begin_alike_are_told_by_their_place() {
        let mut earlier = Earlier::default();
        let ids: Vec<String> = [["a", "b"], ["a", "c"], ["a", "b"], ["x", "b"]]
            .iter()
            .map(|records| id("h", records, true, &mut earlier))
            .collect();
        assert_eq!(ids[0], alone(&["a"], true));
        assert!(ids[0] != ids[1] && ids[1] != ids[2] && ids[0] != ids[2], "{ids:?}");
        // Another first record, which is one of the parts, begins a count of its own.
        assert_eq!(ids[3], ids[0]);
    }

    #[test]
    fn kinds_of_traces_beyond_the_limit_are_not_remembered() {
        let mut earlier = Earlier::default();
        for kind in 0..TRACES as u64 {
            assert_eq!(earlier.count(kind), 0);
        }
        assert_eq!(crosses(Bound::Traces, || (earlier.count(u64::MAX), earlier.count(u64::MAX))), (0, 0));
        assert_eq!(earlier.count(0), 1);
    }
}
