//! A wall clock that is set back: from then on its connection's records would all lie before what has happened.
//!
//! A record that is older than the newest by more than records are put in order ([`WINDOW_NS`]) is taken for the first after
//! such a step, and happens at the newest time; the records after it go on from there. Where the next one is as new as ever,
//! it was a late record alone.
//!
//! A record that is older by at most [`NOISE_NS`] happened after those before it, which its writer kept in order, and its
//! clock is off: it happens at the newest time. Where a record is older by more, threads write the log, and times say in
//! which order its records happened, also by less than that.

use super::order::WINDOW_NS;
use serde::{Deserialize, Serialize};

/// What two times of a writer that keeps its records in order may be off, ns: each by a millisecond, as logs are that write
/// whole ones.
pub const NOISE_NS: i64 = 2_000_000;

/// The clock of one connection's records.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Clock {
    newest_ns: i64,
    /// What is added to the times of the log.
    ahead_ns: i64,
    /// And was, before the newest record seemed to show a step; else the same.
    before_ns: i64,
    /// A record was older by more than [`NOISE_NS`]: the times say in which order records happened.
    is_unordered: bool,
}

impl Default for Clock {
    fn default() -> Self {
        Self { newest_ns: i64::MIN, ahead_ns: 0, before_ns: 0, is_unordered: false }
    }
}

/// A record's time.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Reading {
    /// By a clock that is not set back, ns.
    pub at_ns: i64,
    /// The log's clock was, right before it.
    pub is_step: bool,
    /// It is older than a record before, and happened before it.
    pub is_late: bool,
}

impl Clock {
    /// The time of a record.
    pub fn read(&mut self, source_ns: i64) -> Reading {
        let newest = self.newest_ns;
        let is_old = |at: i64| newest.saturating_sub(at) > WINDOW_NS;
        if !is_old(source_ns.saturating_add(self.before_ns)) {
            self.ahead_ns = self.before_ns;
        }
        self.before_ns = self.ahead_ns;
        let mut at_ns = source_ns.saturating_add(self.ahead_ns);
        let is_step = is_old(at_ns);
        if is_step {
            self.ahead_ns = newest.saturating_sub(source_ns);
            at_ns = newest;
        }
        self.is_unordered |= newest.saturating_sub(at_ns) > NOISE_NS;
        if !self.is_unordered {
            at_ns = at_ns.max(newest);
        }
        self.newest_ns = newest.max(at_ns);
        Reading { at_ns, is_step, is_late: at_ns < newest }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(times_ms: &[i64]) -> Vec<(i64, bool)> {
        let mut clock = Clock::default();
        let of = |ms: &i64| {
            let Reading { at_ns, is_step, .. } = clock.read(ms * 1_000_000);
            (at_ns / 1_000_000, is_step)
        };
        times_ms.iter().map(of).collect()
    }

    #[test]
    fn a_clock_that_is_set_back_goes_on_where_it_was() {
        let wanted = [(0, false), (100, false), (100, true), (110, false), (130, false), (130, true), (135, false)];
        assert_eq!(read(&[0, 100, 40, 50, 70, -500, -495]), wanted);
    }

    #[test]
    fn a_record_that_is_older_by_little_happens_after_those_before_it() {
        assert_eq!(
            read(&[10, 9, 11, 12, 10, 13]).iter().map(|(at, _)| *at).collect::<Vec<_>>(),
            [10, 10, 11, 12, 12, 13]
        );
        let unordered = read(&[10, 9, 11, 8, 10, 12]);
        assert_eq!(
            unordered.iter().map(|(at, _)| *at).collect::<Vec<_>>(),
            [10, 10, 11, 8, 10, 12],
            "from then on by time"
        );
    }

    #[test]
    fn records_that_are_late_set_no_clock() {
        assert_eq!(read(&[0, 100, 90, 101]), [(0, false), (100, false), (90, false), (101, false)]);
        assert_eq!(read(&[0, 100, 40, 101, 102]), [(0, false), (100, false), (100, true), (101, false), (102, false)]);
    }
}
