//! The time of one request: the conditions that held in it, and the parts that are decided.

use crate::fold::attribution::history::Shared;
use crate::fold::attribution::limit_of_undecided;
use crate::fold::attribution::parts::{self, LastFlight, Marks};
use crate::fold::attribution::sweep::{DOUBT, Gap, Sweep, waits_for_data};
use crate::fold::cause::{Cause, Causes, Interval};
use get_size2::GetSize;
use serde::{Deserialize, Serialize};

/// Undecided intervals of the connection or of a stream at which what is certain is summed up.
pub const SUMMED_UP_AT: usize = 1024;

/// What held a request, decided up to some microsecond.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, GetSize)]
pub struct Timeline {
    /// Conditions of this request alone that are not decided.
    held: Vec<Interval>,
    /// Gaps between sends that are not.
    gaps: Vec<Gap>,
    sweep: Sweep,
    /// Undecided intervals and gaps at which they are summed up again.
    summed_up_at: usize,
    /// Undecided conditions of the connection before this time are copied into `held`.
    shared_from_us: Option<i64>,
    /// Conditions that were inferred.
    inferred: Causes,
}

/// A gap is decided as a whole: gives the time up to which a sweep splits no gap.
fn whole(to_us: i64, gaps: &[Gap]) -> i64 {
    gaps.iter().find(|gap| gap.start_us < to_us && to_us < gap.end_us).map_or(to_us, |gap| gap.start_us)
}

/// Up to when a request's time can be decided.
#[derive(Clone, Copy, Debug)]
pub struct DecisionSpan {
    /// No condition of the request that is found later begins before this time.
    pub certain_us: i64,
    /// Now.
    pub now_us: i64,
    /// Its last byte so far.
    pub last_byte_us: Option<i64>,
}

impl Timeline {
    /// A condition of this request alone held.
    pub fn hold(&mut self, interval: Interval) {
        self.held.push(interval);
    }

    /// Data was sent after a wait that no condition explains in full.
    pub fn gap(&mut self, gap: Gap) {
        self.gaps.push(gap);
    }

    /// A condition was inferred.
    pub fn infer(&mut self, cause: Cause) {
        self.inferred.insert(cause);
    }

    /// Whether a condition was.
    pub fn is_inferred(&self, cause: Cause) -> bool {
        self.inferred.contains(cause)
    }

    /// Times beside missing records that end after `us`: those of this request, and of the connection.
    pub fn doubts_after<'t>(&'t self, us: i64, shared: Shared<'t>) -> impl Iterator<Item = &'t Interval> {
        let own = self.held.iter().filter(move |interval| interval.cause == DOUBT && interval.end_us > us);
        own.chain(shared.doubts_after(us))
    }

    /// What is decided.
    pub fn sweep(&self) -> &Sweep {
        &self.sweep
    }

    /// Intervals and gaps that no sweep has passed.
    pub fn undecided(&self) -> usize {
        self.held.len() + self.gaps.len()
    }

    /// Its own intervals have grown so many that they must be summed up, where a request may have `most`.
    pub fn is_long(&self, most: usize) -> bool {
        self.undecided() >= self.summed_up_at.max(SUMMED_UP_AT * 2).min(most.saturating_mul(2))
    }

    /// Its time begins at `us`, unless it has begun.
    pub fn begin(&mut self, us: i64) {
        self.sweep.begin(us);
    }

    /// It has.
    pub fn has_begun(&self) -> bool {
        self.sweep.has_begun()
    }

    /// Before this time nothing of the connection's history is needed.
    pub fn needs_from_us(&self) -> i64 {
        self.sweep.at_us().max(self.shared_from_us.unwrap_or(i64::MIN))
    }

    /// Decides the time before `certain_us`, which no later event can change. If more than `most` intervals of its own
    /// are left then, decides all up to `now_us`. Gives the steps that it took.
    pub fn sum_up(&mut self, span: DecisionSpan, most: usize, shared: Shared<'_>) -> u64 {
        // If the history covers this time, no fresh condition begins before it.
        let is_settled = shared.history.is_some_and(|history| history.until_us() >= Some(span.certain_us));
        let fresh = if is_settled { &[] } else { shared.fresh };
        let mut steps = self.advance(span.certain_us, Shared { fresh, ..shared });
        if self.undecided() > most {
            limit_of_undecided(most).cross();
            if let Some(last_us) = span.last_byte_us {
                // As `parts::server` does, though more data may still come.
                self.held.iter_mut().filter(|interval| waits_for_data(interval.cause)).for_each(|interval| {
                    interval.end_us = interval.end_us.min(last_us);
                });
                self.held.retain(|interval| interval.start_us < interval.end_us);
            }
        }
        if self.undecided() > most {
            steps += self.advance(span.now_us, shared);
        }
        // Not again before their number has doubled.
        self.summed_up_at = 2 * self.undecided();
        steps
    }

    /// The connection's history is too long to be kept. Its undecided conditions are copied to the request if that has
    /// at most `most` intervals then; otherwise all up to `until_us` is decided.
    pub fn leave_behind(&mut self, until_us: i64, span: DecisionSpan, most: usize, shared: Shared<'_>) -> u64 {
        let Some(history) = shared.history else { return 0 };
        let (from_us, data_until_us) = (self.needs_from_us(), span.last_byte_us.unwrap_or(i64::MAX));
        let room = most.saturating_sub(self.undecided());
        let steps = match history.intervals(from_us, until_us, data_until_us, room) {
            Some(intervals) => {
                self.held.extend(intervals);
                self.undecided() as u64
            }
            None => self.advance(until_us, Shared { data_until_us, ..shared }),
        };
        self.shared_from_us = Some(until_us);
        self.summed_up_at = 2 * self.undecided();
        steps
    }

    fn advance(&mut self, to_us: i64, shared: Shared<'_>) -> u64 {
        let to_us = whole(to_us, &self.gaps);
        let shared = self.shared(shared);
        self.sweep.advance(to_us, &mut self.held, &mut self.gaps, shared)
    }

    fn shared<'s>(&self, shared: Shared<'s>) -> Shared<'s> {
        Shared { since_us: self.shared_from_us.unwrap_or(i64::MIN), ..shared }
    }

    /// Decides the rest as the request's server saw it.
    pub fn end_at_server(&mut self, marks: &Marks, shared: Shared<'_>, last_flight: Option<LastFlight>) {
        let shared = self.shared(shared);
        let mut held = std::mem::take(&mut self.held);
        // A condition matters to what comes after the response began, a doubt to all of the request.
        let from_us = |interval: &Interval| if interval.cause == DOUBT { marks.start_us } else { marks.answered_us() };
        held.extend(shared.fresh.iter().filter(|interval| interval.end_us > from_us(interval)));
        let shared = Shared { fresh: &[], ..shared };
        parts::server(marks, &mut self.sweep, &mut held, &mut self.gaps, shared, last_flight);
    }

    /// Decides the rest as its client saw it.
    pub fn end_at_client(&mut self, marks: &Marks, shared: Shared<'_>, min_rtt_us: Option<i64>) {
        let shared = self.shared(shared);
        let mut held = std::mem::take(&mut self.held);
        held.extend(shared.fresh.iter().filter(|interval| interval.cause == DOUBT));
        let shared = Shared { fresh: &[], ..shared };
        parts::client(marks, &mut self.sweep, &mut held, shared, min_rtt_us);
    }

    /// A log from the middle of the path: nothing is attributed, as it does not show which side waited.
    pub fn end_in_the_middle(&mut self, marks: &Marks) {
        self.sweep.take_left();
        self.sweep.leave(marks.duration_us());
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::crossed::{Bound, crosses};
    use crate::fold::attribution::history::History;
    use crate::limits::UNDECIDED;

    /// The window is full every other 10 us, and nothing ever becomes certain. Gives the largest number of undecided
    /// intervals, and the timeline.
    fn undecided(cause: Cause, last_byte_us: Option<i64>, most: usize) -> (usize, Timeline) {
        let (mut timeline, mut longest) = (Timeline::default(), 0);
        timeline.begin(0);
        for number in 0..4 * most as i64 {
            let now_us = 20 * number + 10;
            timeline.hold(Interval::of(cause, 20 * number, now_us));
            if timeline.is_long(most) {
                timeline.sum_up(DecisionSpan { certain_us: 0, now_us, last_byte_us }, most, Shared::default());
            }
            longest = longest.max(timeline.undecided());
        }
        (longest, timeline)
    }

    #[test]
    fn intervals_that_nothing_decides_are_summed_up() {
        let last_us = 20_000;
        for most in [UNDECIDED, 1_200] {
            // The number may double before they are summed up again.
            let bound = most..=2 * most;
            for (cause, last_byte_us) in
                [(Cause::CwndBlocked, None), (Cause::LossRecovery, Some(last_us)), (Cause::CwndBlocked, Some(last_us))]
            {
                let limit = if most < UNDECIDED { Bound::UndecidedOfAll } else { Bound::Undecided };
                let (longest, timeline) = crosses(limit, || undecided(cause, last_byte_us, most));
                assert!(bound.contains(&longest), "{longest}");
                let us = timeline.sweep().part(cause);
                if cause == Cause::CwndBlocked && last_byte_us.is_some() {
                    // Conditions of waiting data end with the last byte; those before it are still undecided.
                    let of = |interval: &&Interval| interval.start_us < last_us;
                    assert_eq!((timeline.held.iter().filter(of).count(), us), (1000, 0));
                } else {
                    let until = timeline.sweep().at_us().unsigned_abs();
                    assert!(until > 0 && us.abs_diff(until / 2) <= 10, "{us} {until}");
                }
            }
        }
    }

    #[test]
    fn a_gap_that_goes_on_is_decided_as_a_whole() {
        let mut timeline = Timeline::default();
        let (short, long) = (Cause::Pacing, Cause::AppLimited);
        timeline.gap(Gap { start_us: 50, end_us: 200, short, limit_us: 100, long });
        timeline.begin(0);
        let mut sum_up = |us| {
            timeline.sum_up(
                DecisionSpan { certain_us: us, now_us: us, last_byte_us: None },
                UNDECIDED,
                Shared::default(),
            );
            (timeline.undecided(), timeline.sweep().part(long))
        };
        assert_eq!(sum_up(100), (1, 0));
        assert_eq!(sum_up(200), (0, 150));
    }

    /// A stream whose last byte went out at 1,000 while the window was full now and then, and nothing came back twice.
    #[test]
    fn history_that_is_not_kept_leaves_a_request_what_lasts_or_all_of_it() {
        let mut conditions: Vec<Interval> =
            (0..400).map(|number| Interval::of(Cause::CwndBlocked, 20 * number, 20 * number + 10)).collect();
        conditions.extend([1_500, 3_000].map(|us| Interval::of(Cause::Pto, us, us + 100)));
        let mut history = History::default();
        history.append(&mut conditions, 8_000);
        let shared = Shared { history: Some(&history), ..Shared::default() };
        let span = DecisionSpan { certain_us: 0, now_us: 8_000, last_byte_us: Some(1_000) };
        for (most, undecided, cwnd_us, pto_us) in [(100, 52, 0, 0), (20, 0, 500, 200)] {
            let mut timeline = Timeline::default();
            timeline.begin(0);
            timeline.leave_behind(8_000, span, most, shared);
            assert_eq!(timeline.undecided(), undecided);
            let sweep = timeline.sweep();
            assert_eq!((sweep.part(Cause::CwndBlocked), sweep.part(Cause::Pto)), (cwnd_us, pto_us));
            timeline.sum_up(DecisionSpan { certain_us: 8_000, ..span }, most, shared);
            let sweep = timeline.sweep();
            assert_eq!((sweep.part(Cause::CwndBlocked), sweep.part(Cause::Pto)), (500, 200));
        }
    }
}
