//! Recovery periods of the congestion controller (RFC 9002, 7.3.2).

use crate::fold::moment::Moment;
use get_size2::GetSize;
use serde::{Deserialize, Serialize};

/// The recovery period that is open, if one is.
#[derive(Clone, Debug, Default, Serialize, Deserialize, GetSize)]
pub struct Period {
    since: Option<Moment>,
    /// How long bytes were in flight meanwhile.
    flight_us: u64,
    is_by_packet: bool,
}

/// A recovery period that is over.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PeriodOver {
    /// When it began.
    pub since: Moment,
    /// How long bytes were in flight meanwhile.
    pub flight_us: u64,
}

impl Period {
    /// Recovery begins, unless it goes on.
    pub fn begin(&mut self, now: Moment) {
        self.since.get_or_insert(now);
    }

    /// It is over, if it was going on.
    pub fn end(&mut self) -> Option<PeriodOver> {
        let flight_us = std::mem::take(&mut self.flight_us);
        self.since.take().map(|since| PeriodOver { since, flight_us })
    }

    /// Time passed with bytes in flight.
    pub fn pass(&mut self, us: u64) {
        if self.since.is_some() {
            self.flight_us += us;
        }
    }

    /// Since when it is going on.
    pub fn since_us(&self) -> Option<i64> {
        self.since.map(|since| since.us)
    }

    /// No row tells when it is over: the first acknowledgement of a packet that was sent after it began ends it.
    pub fn ends_by_packet(&mut self) {
        self.is_by_packet = true;
    }

    /// Whether acknowledgements end it, in a log whose rows tell of recovery.
    pub fn is_by_packet(&self) -> bool {
        self.is_by_packet
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_period_counts_the_time_with_bytes_in_flight_once() {
        let mut period = Period::default();
        period.pass(5);
        assert_eq!(period.end(), None);
        let since = Moment { us: 10, seq: 3 };
        period.begin(since);
        period.pass(7);
        period.begin(Moment { us: 20, seq: 4 });
        period.pass(2);
        assert_eq!(period.since_us(), Some(10));
        assert_eq!(period.end(), Some(PeriodOver { since, flight_us: 9 }));
        assert_eq!((period.end(), period.since_us()), (None, None));
    }
}
