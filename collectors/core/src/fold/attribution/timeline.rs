//! The time of one request: the conditions that held in it, and what of it is decided.

use crate::fold::attribution::parts::{self, LastFlight, Marks};
use crate::fold::attribution::sweep::{DOUBT, Gap, Sweep, waits_for_data};
use crate::fold::cause::{Cause, Causes, Interval};
use crate::limits;
use serde::{Deserialize, Serialize};

/// Undecided intervals of the connection or of a stream at which what is certain is summed up.
pub const SUMMED_UP_AT: usize = 1024;

/// What held a request, decided up to some microsecond.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Timeline {
    /// Conditions that are not decided.
    held: Vec<Interval>,
    /// Gaps between sends that are not.
    gaps: Vec<Gap>,
    sweep: Sweep,
    /// Undecided intervals and gaps at which they are summed up again.
    summed_up_at: usize,
    /// Conditions that were inferred.
    inferred: Causes,
}

/// A gap is decided as a whole: the sweep stops before one that goes on.
fn whole(to_us: i64, gaps: &[Gap]) -> i64 {
    gaps.iter().find(|gap| gap.start_us < to_us && to_us < gap.end_us).map_or(to_us, |gap| gap.start_us)
}

impl Timeline {
    /// A condition of this request alone held.
    pub fn hold(&mut self, interval: Interval) {
        self.held.push(interval);
    }

    /// Data went out that had waited, with nothing that explains it.
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

    /// Times beside missing records that are not decided yet: those of this request, and of the connection.
    pub fn doubts<'t>(&'t self, conditions: &'t [Interval]) -> impl Iterator<Item = &'t Interval> {
        self.held.iter().chain(conditions).filter(|interval| interval.cause == DOUBT)
    }

    /// What is decided.
    pub fn sweep(&self) -> &Sweep {
        &self.sweep
    }

    /// Intervals and gaps that no sweep has passed.
    pub fn undecided(&self) -> usize {
        self.held.len() + self.gaps.len()
    }

    /// Its own intervals have grown so many that they must be summed up.
    pub fn is_long(&self) -> bool {
        self.undecided() >= self.summed_up_at.max(SUMMED_UP_AT * 2)
    }

    /// Takes conditions of the connection, for a request whose time begins at `begin_us`. True when it is worth while to
    /// sum up.
    pub fn take(&mut self, conditions: &[Interval], begin_us: i64) -> bool {
        self.held.extend(conditions);
        self.sweep.begin(begin_us);
        self.undecided() >= self.summed_up_at.max(SUMMED_UP_AT)
    }

    /// Decides what no later event can change: what lies before `certain_us`; where that leaves more than
    /// [`limits::UNDECIDED`], all up to `now_us`.
    pub fn sum_up(&mut self, certain_us: i64, now_us: i64, last_byte_us: Option<i64>) {
        self.advance(certain_us);
        if self.undecided() > limits::UNDECIDED
            && let Some(last_us) = last_byte_us
        {
            // As `parts::server` does, though more data may still come.
            self.held.iter_mut().filter(|interval| waits_for_data(interval.cause)).for_each(|interval| {
                interval.end_us = interval.end_us.min(last_us);
            });
            self.held.retain(|interval| interval.start_us < interval.end_us);
        }
        if self.undecided() > limits::UNDECIDED {
            self.advance(now_us);
        }
        // Not again before as many have come.
        self.summed_up_at = 2 * self.undecided();
    }

    fn advance(&mut self, to_us: i64) {
        let to_us = whole(to_us, &self.gaps);
        self.sweep.advance(to_us, &mut self.held, &mut self.gaps);
    }

    /// Decides the rest as the request's server saw it; `conditions` are the connection's that are not in it yet.
    pub fn end_at_server(&mut self, marks: &Marks, conditions: &[Interval], last_flight: Option<LastFlight>) {
        let mut held = std::mem::take(&mut self.held);
        // A condition matters to what comes after the response began, a doubt to all of the request.
        let from_us = |interval: &Interval| if interval.cause == DOUBT { marks.start_us } else { marks.answered_us() };
        held.extend(conditions.iter().filter(|interval| interval.end_us > from_us(interval)));
        parts::server(marks, &mut self.sweep, &mut held, &mut self.gaps, last_flight);
    }

    /// Decides the rest as its client saw it.
    pub fn end_at_client(&mut self, marks: &Marks, conditions: &[Interval], min_rtt_us: Option<i64>) {
        let mut held = std::mem::take(&mut self.held);
        held.extend(conditions.iter().filter(|interval| interval.cause == DOUBT));
        parts::client(marks, &mut self.sweep, &mut held, min_rtt_us);
    }

    /// No attribution from the middle: nobody knows which side waited.
    pub fn end_in_the_middle(&mut self, marks: &Marks) {
        self.sweep.take_left();
        self.sweep.leave(marks.duration_us());
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A window that is full every other 10 us, while something holds since the beginning: nothing after that is certain.
    /// Gives the most intervals that were undecided, and what became of them.
    fn undecided(cause: Cause, last_byte_us: Option<i64>) -> (usize, Timeline) {
        let (mut timeline, mut conditions, mut most) = (Timeline::default(), Vec::new(), 0);
        for number in 0..4 * limits::UNDECIDED as i64 {
            let now_us = 20 * number + 10;
            conditions.push(Interval::of(cause, 20 * number, now_us));
            if conditions.len() >= SUMMED_UP_AT && timeline.take(&std::mem::take(&mut conditions), 0) {
                timeline.sum_up(0, now_us, last_byte_us);
            }
            most = most.max(timeline.undecided());
        }
        (most, timeline)
    }

    #[test]
    fn intervals_that_nothing_decides_are_summed_up() {
        // As many as were left may come before they are looked at again.
        let bound = limits::UNDECIDED..=2 * limits::UNDECIDED + SUMMED_UP_AT;
        let last_us = 20_000;
        for (cause, last_byte_us) in
            [(Cause::CwndBlocked, None), (Cause::LossRecovery, Some(last_us)), (Cause::CwndBlocked, Some(last_us))]
        {
            let (most, timeline) = undecided(cause, last_byte_us);
            assert!(bound.contains(&most), "{most}");
            let us = timeline.sweep().part(cause);
            if cause == Cause::CwndBlocked && last_byte_us.is_some() {
                // What waits for data does not after the last byte; what it did before is still undecided.
                let of = |interval: &&Interval| interval.start_us < last_us;
                assert_eq!((timeline.held.iter().filter(of).count(), us), (1000, 0));
            } else {
                let until = timeline.sweep().at_us().unsigned_abs();
                assert!(until > 0 && us.abs_diff(until / 2) <= 10, "{us} {until}");
            }
        }
    }

    #[test]
    fn a_gap_that_goes_on_is_decided_as_a_whole() {
        let mut timeline = Timeline::default();
        let (short, long) = (Cause::Pacing, Cause::AppLimited);
        timeline.gap(Gap { start_us: 50, end_us: 200, short, limit_us: 100, long });
        assert!(!timeline.take(&[], 0));
        timeline.sum_up(100, 100, None);
        assert_eq!(timeline.undecided(), 1);
        timeline.sum_up(200, 200, None);
        assert_eq!((timeline.undecided(), timeline.sweep().part(long)), (0, 150));
    }
}
