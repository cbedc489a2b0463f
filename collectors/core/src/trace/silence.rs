//! A silence in which the log's clock may have been set forward: packets of ours were in flight, and the log states
//! round trips, which a stack measures by a monotonic clock.
//!
//! The records behind it wait until the first acknowledgement and what is stated with it. Where the round trip that the
//! times give is longer than the stated one, by no more than the silence, the clock was set forward by the difference,
//! and all times from then on are earlier by it. A first acknowledgement that comes long after the silence says nothing
//! of it: what it acknowledges may have been lost, or held up behind it.

use crate::crossed::Bound;
use crate::event::Event;
use crate::fold::recovery::clock_check::Overdue;
use crate::fold::{Fold, TURN_US};
use crate::limits::BEHIND_SILENCE;
use crate::trace::order::HeldRecord;

/// What the records after the silence show.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Verdict {
    /// Nothing yet.
    Waits,
    /// The clock was set forward by this, ns; 0 where it was not, or where nothing shows it.
    Forward(i64),
}

/// So long after the silence no acknowledgement is waited for: several round trips of nearly all paths.
const PATIENCE_US: i64 = 1_000_000;

/// The silence, and the records behind it.
#[derive(Debug)]
pub(super) struct Silence {
    gap_us: i64,
    held: Vec<HeldRecord>,
    bytes: usize,
    overdue: Option<Overdue>,
    /// The sample that the log states, and when.
    stated: Option<(i64, i64)>,
}

impl Silence {
    /// A silence of so long ends with the record that is held first.
    pub fn of(gap_us: i64) -> Self {
        Self { gap_us, held: Vec::new(), bytes: 0, overdue: None, stated: None }
    }

    /// Holds a record.
    pub fn hold(&mut self, held: HeldRecord, fold: &Fold) -> Verdict {
        let verdict = self.look_at(&held.event, fold);
        self.bytes += held.bytes();
        self.held.push(held);
        if self.held.len() >= BEHIND_SILENCE && verdict == Verdict::Waits {
            Bound::BehindSilence.cross();
            return Verdict::Forward(0);
        }
        verdict
    }

    fn look_at(&mut self, event: &Event, fold: &Fold) -> Verdict {
        let is_with = |at_us: i64| event.time_us.saturating_sub(at_us) <= TURN_US;
        if self.overdue.is_some_and(|overdue| !is_with(overdue.now_us)) {
            return Verdict::Forward(0);
        }
        let began_us = self.held.first().map_or(event.time_us, |first| first.event.time_us);
        if self.overdue.is_none() && event.time_us.saturating_sub(began_us) > PATIENCE_US {
            return Verdict::Forward(0);
        }
        // A sample that was stated longer ago is another's.
        self.stated = self.stated.filter(|(_, at_us)| is_with(*at_us));
        if let Some(us) = fold.sample_in(event) {
            self.stated = Some((us, event.time_us));
        }
        if self.overdue.is_none() {
            match fold.overdue(event) {
                Some(None) => return Verdict::Forward(0),
                found => self.overdue = found.flatten(),
            }
        }
        match (self.overdue, self.stated) {
            (Some(overdue), Some((stated_us, _))) => Verdict::Forward(1000 * overdue.step_us(stated_us, self.gap_us)),
            _ => Verdict::Waits,
        }
    }

    /// The records that waited, in their order.
    pub fn into_held(self) -> Vec<HeldRecord> {
        self.held
    }

    /// Bytes that they take, about; room for more is held beside them.
    pub fn bytes(&self) -> usize {
        self.bytes + (self.held.capacity() - self.held.len()) * size_of::<HeldRecord>()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::event::Number;

    /// A packet that went out at 100 ms is acknowledged at 440, held back for so long.
    const fn overdue(delay_us: i64) -> Overdue {
        Overdue { sent_us: 100_000, now_us: 440_000, delay_us }
    }

    #[test]
    fn a_clock_was_set_forward_by_what_a_round_trip_is_too_long_and_silence_explains() {
        assert_eq!(overdue(0).step_us(40_000, 340_000), 300_000);
        assert_eq!(overdue(0).step_us(40_000, 299_000), 299_000, "by no more than the silence");
        assert_eq!(overdue(0).step_us(40_000, 200_000), 0, "records came meanwhile: a queue");
        assert_eq!(overdue(0).step_us(340_000, 340_000), 0, "as stated");
        assert_eq!(overdue(0).step_us(296_000, 340_000), 0, "by no more than an acknowledgement is held back");
        assert_eq!(overdue(280_000).step_us(40_000, 340_000), 0, "the peer held it back");
    }

    #[test]
    fn records_wait_until_the_instant_of_an_acknowledgement_is_over() {
        let held = |ms: i64, latest_us: Option<u64>| {
            let mut event = Event::default();
            event.time_us = ms * 1000;
            latest_us.into_iter().for_each(|us| _ = event.set(Number::LatestRttUs, us));
            HeldRecord { event, is_step: false, place: 0, raw: Vec::new(), length: 0 }
        };
        let fold = Fold::default();
        let mut silence = Silence::of(340_000);
        assert_eq!(silence.hold(held(440, None), &fold), Verdict::Waits);
        silence.overdue = Some(overdue(0));
        assert_eq!(silence.hold(held(440, None), &fold), Verdict::Waits);
        assert_eq!(silence.hold(held(440, Some(40_000)), &fold), Verdict::Forward(300_000_000));
        assert_eq!(silence.into_held().len(), 3);
        let mut silence = Silence { overdue: Some(overdue(0)), ..Silence::of(340_000) };
        assert_eq!(
            silence.hold(held(442, Some(40_000)), &fold),
            Verdict::Forward(0),
            "it is over, and nothing was stated"
        );
        let mut silence = Silence { stated: Some((40_000, 440_000)), ..Silence::of(340_000) };
        silence.overdue = Some(overdue(0));
        assert_eq!(silence.hold(held(440, None), &fold), Verdict::Forward(300_000_000), "stated before");
        let mut silence = Silence { stated: Some((40_000, 430_000)), ..Silence::of(340_000) };
        silence.overdue = Some(overdue(0));
        assert_eq!(silence.hold(held(440, None), &fold), Verdict::Waits, "long before: another's");
        let mut silence = Silence::of(340_000);
        assert_eq!(silence.hold(held(440, None), &fold), Verdict::Waits);
        assert_eq!(silence.hold(held(1440, None), &fold), Verdict::Waits);
        assert_eq!(silence.hold(held(1441, None), &fold), Verdict::Forward(0), "nothing is acknowledged for so long");
    }
}
