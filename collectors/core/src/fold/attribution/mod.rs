//! Whose time a request's is: the conditions of the connection that open requests may have waited for, summed up so that
//! the memory of a stream that stays open is bounded.

pub mod parts;
pub mod saves;
pub mod sweep;
pub mod timeline;
pub mod trust;

use crate::fold::attribution::parts::{LastFlight, Marks};
use crate::fold::attribution::saves::Saves;
use crate::fold::attribution::timeline::SUMMED_UP_AT;
use crate::fold::cause::Interval;
use crate::fold::requests::stream::Stream;
use crate::header::Vantage;
use serde::{Deserialize, Serialize};

/// Conditions of the connection.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub struct Attribution {
    conditions: Vec<Interval>,
    /// Intervals that were looked at so far: what the work of a log is measured by.
    #[serde(skip)]
    steps: u64,
}

/// When, and as far as what, conditions are summed up.
#[derive(Clone, Copy, Debug)]
pub struct Certain {
    /// Before this time nothing of the connection can begin any more.
    pub us: i64,
    /// Now.
    pub now_us: i64,
    /// The log is a client's.
    pub is_client: bool,
}

/// What of the log decides how a request's time ends.
#[derive(Clone, Copy, Debug)]
pub struct Ending {
    /// Who logged.
    pub role: Vantage,
    /// The log shows FINs.
    pub has_fins: bool,
    /// Or the HTTP layer's view of where streams end.
    pub has_ends: bool,
    /// How long the path takes to carry what was in flight last, where its rate was seen.
    pub carried_us: Option<i64>,
}

impl Attribution {
    /// A condition of the connection held; requests that are open may have waited for it. True when there are so many that
    /// they must be summed up.
    pub fn hold(&mut self, interval: Interval) -> bool {
        if interval.start_us >= interval.end_us {
            return false;
        }
        self.conditions.push(interval);
        self.conditions.len() >= SUMMED_UP_AT
    }

    /// Conditions that are not summed up.
    pub fn conditions(&self) -> &[Interval] {
        &self.conditions
    }

    /// No request is left that may have waited.
    pub fn clear(&mut self) {
        self.conditions.clear();
    }

    /// Sums up what no later event can change.
    pub fn sum_up<'s>(&mut self, streams: impl Iterator<Item = &'s mut Stream>, certain: Certain) {
        let conditions = std::mem::take(&mut self.conditions);
        for stream in streams {
            self.steps += stream.sum_up(&conditions, certain);
        }
    }

    /// Decides the rest of a stream's time, and what each cause's absence would have saved.
    pub fn split(&self, stream: &mut Stream, ending: Ending) -> Saves {
        let fins_are_logged = ending.has_fins || ending.has_ends;
        if fins_are_logged && ending.role == Vantage::Server {
            stream.look_for_request_end(&self.conditions);
        }
        let marks =
            Marks { fins_are_logged, is_unfinished: ending.has_fins && stream.is_unfinished(), ..*stream.marks() };
        let min_rtt_us = stream.last_min_rtt_us(ending.role == Vantage::Client);
        match ending.role {
            Vantage::Server => {
                let carried_us = ending.carried_us;
                let last_flight = min_rtt_us.map(|min_rtt_us| LastFlight { min_rtt_us, carried_us });
                stream.timeline_mut().end_at_server(&marks, &self.conditions, last_flight);
                let rtt = min_rtt_us.unwrap_or(0).unsigned_abs();
                saves::server(stream.timeline().sweep(), &marks, stream.transfer(), stream.sent().highest(), rtt)
            }
            Vantage::Client => {
                stream.timeline_mut().end_at_client(&marks, &self.conditions, min_rtt_us);
                saves::client(stream.timeline().sweep(), stream.dead_us())
            }
            Vantage::Network | Vantage::Unknown => {
                stream.timeline_mut().end_in_the_middle(&marks);
                Saves::default()
            }
        }
    }

    /// Intervals that were looked at so far.
    pub fn steps(&self) -> u64 {
        self.steps
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fold::attribution::saves::Room;
    use crate::fold::cause::Cause;
    use crate::fold::moment::Moment;
    use crate::fold::requests::stream::End;

    const ENDING: Ending = Ending { role: Vantage::Server, has_fins: false, has_ends: true, carried_us: None };

    const fn held(start_us: i64, end_us: i64) -> Interval {
        Interval::of(Cause::CwndBlocked, start_us, end_us)
    }

    /// A response that began at 0 and ended at 100.
    fn stream() -> Stream {
        let mut stream = Stream::open(0, Moment::default(), None, None);
        stream.begin_response(0, Room::default());
        stream.end(100, End::Acked, true);
        stream
    }

    #[test]
    fn what_the_connection_waited_for_is_the_requests_time_whether_it_was_summed_up_or_not() {
        for is_summed_up in [false, true] {
            let (mut attribution, mut stream) = (Attribution::default(), stream());
            assert!(!attribution.hold(held(20, 20)) && !attribution.hold(held(10, 40)));
            if is_summed_up {
                let certain = Certain { us: 50, now_us: 50, is_client: false };
                attribution.sum_up([&mut stream].into_iter(), certain);
                assert!(attribution.conditions.is_empty());
            }
            attribution.split(&mut stream, ENDING);
            assert_eq!(stream.timeline().sweep().part(Cause::CwndBlocked), 30);
        }
    }

    #[test]
    fn many_conditions_are_to_be_summed_up_and_none_is_left_where_no_request_is() {
        let mut attribution = Attribution::default();
        let due = (0..SUMMED_UP_AT as i64).filter(|at| attribution.hold(held(*at, at + 1))).count();
        assert_eq!(due, 1);
        attribution.clear();
        let mut stream = stream();
        attribution.split(&mut stream, ENDING);
        assert_eq!(stream.timeline().sweep().part(Cause::CwndBlocked), 0);
    }
}
