//! Times without room in window or credit. They count as waits only if new data follows at once, or if data is known to
//! have waited.

use crate::fold::cause::{Cause, Interval};
use crate::fold::moment::Moment;
use get_size2::GetSize;
use serde::{Deserialize, Serialize};
use std::collections::VecDeque;

/// A time without room in window or credit.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, GetSize)]
pub struct Blocked {
    /// What had no room.
    pub cause: Cause,
    /// The stream that it stopped, if it was one.
    pub stream_id: Option<u64>,
    /// From.
    pub since: Moment,
    /// To.
    pub until: Moment,
    /// The window at its end.
    pub window: Option<u64>,
    /// Bytes in flight then.
    pub in_flight: u64,
    /// Data is known to have waited all the time.
    pub is_known: bool,
}

impl Blocked {
    /// Its time as an interval of `cause`.
    pub fn interval(&self, cause: Cause) -> Interval {
        Interval::of(cause, self.since.us, self.until.us)
    }
}

/// Times for which it is not decided yet whether data waited, in order of their ends.
#[derive(Clone, Debug, Default, Serialize, Deserialize, GetSize)]
pub struct Undecided(VecDeque<Blocked>);

impl Undecided {
    /// A time without room is over; what follows says whether data waited for it.
    pub fn add(&mut self, blocked: Blocked) {
        if blocked.since.us < blocked.until.us {
            let at = self.0.partition_point(|known| known.until.us <= blocked.until.us);
            self.0.insert(at, blocked);
        }
    }

    /// New data goes out: it waited for all that has just ended (Barford and Crovella 2000: the acknowledgement
    /// "liberated" it).
    pub fn confirm(&mut self) -> VecDeque<Blocked> {
        std::mem::take(&mut self.0)
    }

    /// Takes the first that no new data followed within `limit_us`, at the time `to_us`.
    pub fn expire(&mut self, to_us: i64, limit_us: i64) -> Option<Blocked> {
        let is_over = |blocked: &Blocked| to_us.saturating_sub(blocked.until.us) > limit_us;
        if self.0.front().is_some_and(is_over) { self.0.pop_front() } else { None }
    }

    /// There are none.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Start of the earliest.
    pub fn oldest_us(&self) -> Option<i64> {
        self.0.iter().map(|blocked| blocked.since.us).min()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn blocked(start_us: i64, end_us: i64) -> Blocked {
        let at = |us| Moment { us, seq: 0 };
        Blocked {
            cause: Cause::CwndBlocked,
            stream_id: None,
            since: at(start_us),
            until: at(end_us),
            window: None,
            in_flight: 0,
            is_known: false,
        }
    }

    #[test]
    fn a_time_that_no_data_follows_in_time_expires_and_later_ones_stay() {
        let mut undecided = Undecided::default();
        for (start_us, end_us) in [(0, 10), (5, 2_000), (7, 7)] {
            undecided.add(blocked(start_us, end_us));
        }
        assert_eq!(undecided.oldest_us(), Some(0));
        assert_eq!(undecided.expire(1_010, 1_000), None);
        assert_eq!(undecided.expire(1_011, 1_000), Some(blocked(0, 10)));
        assert_eq!((undecided.expire(1_011, 1_000), undecided.oldest_us()), (None, Some(5)));
        assert_eq!(undecided.confirm(), [blocked(5, 2_000)]);
        assert!(undecided.is_empty());
    }
}
