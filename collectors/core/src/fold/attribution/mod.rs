//! Attribution of a request's time: the conditions of the connection that open requests may have waited for, summed up
//! so that the memory of a stream that stays open is bounded.

pub mod history;
pub mod parts;
pub mod saves;
pub mod sweep;
pub mod timeline;
pub mod trust;

use crate::crossed::Bound;
use crate::fold::attribution::history::{History, Shared};
use crate::fold::attribution::parts::{LastFlight, Marks};
use crate::fold::attribution::saves::Saves;
use crate::fold::attribution::timeline::SUMMED_UP_AT;
use crate::fold::cause::Interval;
use crate::fold::requests::stream::Stream;
use crate::header::Vantage;
use crate::limits::{UNDECIDED, UNDECIDED_OF_ALL};
use get_size2::GetSize;
use serde::{Deserialize, Serialize};

/// Conditions of the connection.
#[derive(Clone, Debug, Default, Serialize, Deserialize, GetSize)]
pub struct Attribution {
    /// Those that are not in its history yet.
    fresh: Vec<Interval>,
    history: Option<Box<History>>,
    /// Fresh conditions at which they are moved into the history.
    settled_at: u32,
    /// Runs of the history at which requests are summed up.
    summed_up_at: u32,
    /// Steps that were taken so far: a measure of work.
    #[serde(skip)]
    steps: u64,
}

/// Most fresh conditions times requests: each request looks at each of them as it ends.
const LOOKED_AT: usize = 1 << 16;

/// Fewer fresh conditions than these are not moved into the history.
const FEW: usize = 64;

/// Undecided intervals that the connection, or a request, may have while `requests` are open.
pub fn most_undecided(requests: usize) -> usize {
    UNDECIDED.min(UNDECIDED_OF_ALL / requests.max(1))
}

/// The limit that more than `most` undecided intervals of a request exceed: that of one request, or its share of the
/// total.
fn limit_of_undecided(most: usize) -> Bound {
    if most < UNDECIDED { Bound::UndecidedOfAll } else { Bound::Undecided }
}

/// Up to when conditions are certain and can be summed up.
#[derive(Clone, Copy, Debug)]
pub struct Certain {
    /// No condition of the connection that is found later begins before this time.
    pub us: i64,
    /// The same, except for conditions that an unacknowledged packet may still show.
    pub begun_us: i64,
    /// Now.
    pub now_us: i64,
    /// The log is a client's.
    pub is_client: bool,
}

/// Facts about the log that decide how the end of a request's time is split.
#[derive(Clone, Copy, Debug)]
pub struct Ending {
    /// Who logged.
    pub role: Vantage,
    /// The log shows FINs.
    pub has_fins: bool,
    /// Or the HTTP layer's view of where streams end.
    pub has_ends: bool,
    /// How long the path takes to carry what was in flight last, where its rate is known.
    pub carried_us: Option<i64>,
}

impl Attribution {
    /// A condition of the connection held; open requests may have waited for it. True when there are so many fresh
    /// conditions that they must be summed up: each of the `requests` looks at all fresh ones as it ends.
    pub fn hold(&mut self, interval: Interval, requests: usize) -> bool {
        if interval.start_us >= interval.end_us {
            return false;
        }
        self.fresh.push(interval);
        self.fresh.len() >= (self.settled_at as usize).max(SUMMED_UP_AT.min(LOOKED_AT / requests.max(1)).max(FEW))
    }

    /// The conditions as requests look at them.
    pub fn shared(&self) -> Shared<'_> {
        Shared { history: self.history.as_deref(), fresh: &self.fresh, ..Shared::default() }
    }

    /// No request is left that may have waited.
    pub fn clear(&mut self) {
        self.fresh.clear();
        (self.history, self.settled_at, self.summed_up_at) = (None, 0, 0);
    }

    /// Moves what no later event can change into the history. True when that has become so long that the `requests`
    /// must be summed up.
    pub fn settle(&mut self, certain: Certain, requests: usize) -> bool {
        let history = self.history.get_or_insert_default();
        self.steps += self.fresh.len() as u64;
        history.append(&mut self.fresh, certain.us);
        let may_have = most_undecided(requests);
        let most = may_have.max(2 * FEW);
        if self.fresh.len() > most {
            limit_of_undecided(may_have).cross();
        }
        for us in [certain.begun_us, certain.now_us] {
            if self.fresh.len() > most {
                self.steps += self.fresh.len() as u64;
                history.append(&mut self.fresh, us);
            }
        }
        // Not again before their number has doubled.
        self.settled_at = 2 * self.fresh.len() as u32;
        history.is_too_long() || history.runs() >= (self.summed_up_at as usize).max(2 * SUMMED_UP_AT).max(requests)
    }

    /// Sums up what no later event can change for all requests, so that the history is as short as it may be.
    pub fn sum_up<'s>(&mut self, streams: impl Iterator<Item = &'s mut Stream>, certain: Certain, requests: usize) {
        let Some(mut history) = self.history.take() else { return };
        let shared = Shared { history: Some(&history), fresh: &self.fresh, ..Shared::default() };
        let until_us = history.until_us().unwrap_or(i64::MIN);
        let (most, is_too_long) = (most_undecided(requests), history.is_too_long());
        let (mut needed_us, mut doubts_us) = (until_us, until_us);
        for stream in streams {
            doubts_us = doubts_us.min(stream.marks().start_us);
            self.steps += stream.sum_up(shared, certain, most);
            if is_too_long {
                self.steps += stream.leave_behind(shared, certain, until_us, most);
            }
            needed_us = needed_us.min(stream.needs_from_us().unwrap_or(i64::MAX));
        }
        if is_too_long {
            limit_of_undecided(most).cross();
            history.forget_runs();
        }
        history.forget(needed_us, doubts_us);
        self.summed_up_at = 2 * history.runs() as u32;
        self.history = Some(history);
    }

    /// Sums up what no later event can change for one request, which has many intervals of its own.
    pub fn sum_up_one(&mut self, stream: &mut Stream, certain: Certain, requests: usize) {
        self.steps += stream.sum_up(self.shared(), certain, most_undecided(requests));
    }

    /// Decides the rest of a stream's time, and what each cause's absence would have saved.
    pub fn split(&self, stream: &mut Stream, ending: Ending) -> Saves {
        let fins_are_logged = ending.has_fins || ending.has_ends;
        if fins_are_logged && ending.role == Vantage::Server {
            stream.look_for_request_end(self.shared());
        }
        let marks =
            Marks { fins_are_logged, is_unfinished: ending.has_fins && stream.is_unfinished(), ..*stream.marks() };
        let min_rtt_us = stream.last_min_rtt_us(ending.role == Vantage::Client);
        match ending.role {
            Vantage::Server => {
                let carried_us = ending.carried_us;
                let last_flight = min_rtt_us.map(|min_rtt_us| LastFlight { min_rtt_us, carried_us });
                stream.timeline_mut().end_at_server(&marks, self.shared(), last_flight);
                let rtt = min_rtt_us.unwrap_or(0).unsigned_abs();
                saves::server(stream.timeline().sweep(), &marks, stream.transfer(), stream.sent().highest(), rtt)
            }
            Vantage::Client => {
                stream.timeline_mut().end_at_client(&marks, self.shared(), min_rtt_us);
                saves::client(stream.timeline().sweep(), stream.dead_us())
            }
            Vantage::Network | Vantage::Unknown => {
                stream.timeline_mut().end_in_the_middle(&marks);
                Saves::default()
            }
        }
    }

    /// Steps that were taken so far.
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
    use crate::fold::requests::stream::RequestEnd;

    const ENDING: Ending = Ending { role: Vantage::Server, has_fins: false, has_ends: true, carried_us: None };

    const fn held(start_us: i64, end_us: i64) -> Interval {
        Interval::of(Cause::CwndBlocked, start_us, end_us)
    }

    /// A response that began at 0 and ended at 100.
    fn stream() -> Stream {
        let mut stream = Stream::open(0, 0, Moment::default(), None, None);
        stream.begin_response(0, Room::default());
        stream.end(100, RequestEnd::Acked, true);
        stream
    }

    #[test]
    fn the_connections_conditions_count_for_a_request_whether_summed_up_or_not() {
        for certain_us in [None, Some(20), Some(50)] {
            let (mut attribution, mut stream) = (Attribution::default(), stream());
            assert!(!attribution.hold(held(20, 20), 1) && !attribution.hold(held(10, 40), 1));
            if let Some(us) = certain_us {
                let certain = Certain { us, begun_us: us, now_us: 50, is_client: false };
                assert!(!attribution.settle(certain, 1));
                attribution.sum_up([&mut stream].into_iter(), certain, 1);
                assert_eq!(attribution.fresh.len(), usize::from(us < 40));
            }
            attribution.split(&mut stream, ENDING);
            assert_eq!(stream.timeline().sweep().part(Cause::CwndBlocked), 30, "{certain_us:?}");
        }
    }

    #[test]
    fn many_conditions_must_be_summed_up_and_none_is_left_without_requests() {
        let mut attribution = Attribution::default();
        let due = (0..SUMMED_UP_AT as i64).filter(|at| attribution.hold(held(*at, at + 1), 1)).count();
        assert_eq!(due, 1);
        attribution.clear();
        let mut stream = stream();
        attribution.split(&mut stream, ENDING);
        assert_eq!(stream.timeline().sweep().part(Cause::CwndBlocked), 0);
    }

    /// Conditions that never become certain, and streams without progress: what is kept stays bounded for the
    /// connection.
    #[test]
    fn what_is_undecided_is_bounded_for_all_requests_together() {
        for requests in [1, 100] {
            let mut streams: Vec<Stream> = (0..requests).map(|_| stream()).collect();
            let (mut attribution, most) = (Attribution::default(), most_undecided(requests));
            for number in 0..4 * UNDECIDED as i64 {
                let now_us = 20 * number + 10;
                if attribution.hold(held(now_us - 10, now_us), requests) {
                    let certain = Certain { us: 0, begun_us: now_us - 100, now_us, is_client: false };
                    if attribution.settle(certain, requests) {
                        attribution.sum_up(streams.iter_mut(), certain, requests);
                    }
                }
                assert!(attribution.fresh.len() <= 2 * most);
                assert!(attribution.history.as_ref().is_none_or(|history| history.runs() <= 4 * UNDECIDED + 2 * most));
            }
            assert!(streams.iter().all(|stream| stream.timeline().undecided() <= most));
        }
    }
}
