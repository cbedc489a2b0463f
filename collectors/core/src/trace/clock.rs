//! A wall clock that is set back: from then on its connection's records would all lie before what has happened.
//!
//! A record that is older than the newest by more than records are put in order ([`WINDOW_NS`]) is taken for the first after
//! such a step, and happens at the newest time; the records after it go on from there. Where the next one is as new as ever,
//! it was a late record alone.

use super::order::WINDOW_NS;
use serde::{Deserialize, Serialize};

/// The clock of one connection's records.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Clock {
    newest_ns: Option<i64>,
    /// What is added to the times of the log.
    ahead_ns: i64,
    /// And was, before the newest record seemed to show a step.
    before_ns: Option<i64>,
}

impl Clock {
    /// The time of a record, by a clock that is not set back; and whether the log's was.
    pub fn read(&mut self, source_ns: i64) -> (i64, bool) {
        let Some(newest) = self.newest_ns else {
            self.newest_ns = Some(source_ns);
            return (source_ns, false);
        };
        let is_old = |at: i64| newest.saturating_sub(at) > WINDOW_NS;
        if let Some(before) = self.before_ns.take()
            && !is_old(source_ns.saturating_add(before))
        {
            self.ahead_ns = before;
        }
        let mut at = source_ns.saturating_add(self.ahead_ns);
        let is_step = is_old(at);
        if is_step {
            self.before_ns = Some(self.ahead_ns);
            self.ahead_ns = newest.saturating_sub(source_ns);
            at = newest;
        }
        self.newest_ns = Some(newest.max(at));
        (at, is_step)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(times_ms: &[i64]) -> Vec<(i64, bool)> {
        let mut clock = Clock::default();
        let of = |ms: &i64| {
            let (at, is_step) = clock.read(ms * 1_000_000);
            (at / 1_000_000, is_step)
        };
        times_ms.iter().map(of).collect()
    }

    #[test]
    fn a_clock_that_is_set_back_goes_on_where_it_was() {
        let wanted = [(0, false), (100, false), (100, true), (110, false), (130, false), (130, true), (135, false)];
        assert_eq!(read(&[0, 100, 40, 50, 70, -500, -495]), wanted);
    }

    #[test]
    fn records_that_are_late_set_no_clock() {
        assert_eq!(read(&[0, 100, 90, 101]), [(0, false), (100, false), (90, false), (101, false)]);
        assert_eq!(read(&[0, 100, 40, 101, 102]), [(0, false), (100, false), (100, true), (101, false), (102, false)]);
    }
}
