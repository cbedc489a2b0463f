//! Did the log's clock make a step while a packet was on its way? A stack measures round trips by a clock that makes none, and
//! states them: where the times of the records give a sample that is longer, and they were silent for as long, it did.

use crate::fold::TURN_US;
use serde::{Deserialize, Serialize};

/// The newest sample, measured and stated; nothing before application data is acknowledged.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub struct ClockCheck(Option<Box<Samples>>);

#[derive(Clone, Copy, Debug, Default, Serialize, Deserialize)]
struct Samples {
    /// When application data was acknowledged first: what went out before, the peer may have held until the handshake was
    /// over.
    first_us: i64,
    /// When the packet of the newest sample went out, and when it was acknowledged.
    measured: Option<(i64, i64)>,
    /// What the log states since.
    stated_us: Option<i64>,
    /// How long the peer held the newest acknowledgement back, as it says.
    held_us: i64,
    /// The last long time without a record: how long, until when.
    silence: (i64, i64),
}

/// A packet of ours that is acknowledged: when it went out, when that is, and how long the peer held it back, as it says.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[expect(missing_docs, reason = "above")]
pub struct Overdue {
    pub sent_us: i64,
    pub now_us: i64,
    pub delay_us: i64,
}

impl Overdue {
    /// By how much the round trip that the times give is longer than the stated one.
    fn apart_us(&self, stated_us: i64) -> i64 {
        self.now_us.saturating_sub(self.sent_us).saturating_sub(stated_us)
    }

    /// The same, at least: some stacks state a sample without what the peer held back, however long that was.
    fn least_apart_us(&self, stated_us: i64) -> i64 {
        self.apart_us(stated_us).saturating_sub(self.delay_us)
    }

    /// By how much the log's clock was set forward in a silence of `gap_us` before it, where the stack measured
    /// `stated_us`; 0 where it was not.
    pub fn step_us(&self, stated_us: i64, gap_us: i64) -> i64 {
        let apart_us = self.apart_us(stated_us);
        let is_step = self.least_apart_us(stated_us) > STEP_US && gap_us.saturating_add(TURN_US) >= apart_us;
        if is_step { apart_us.min(gap_us) } else { 0 }
    }
}

/// Stated and measured samples are at most so far apart, us: what an acknowledgement may be held back, and nearly as much again.
pub const STEP_US: i64 = 45_000;

impl ClockCheck {
    /// When application data was acknowledged first: what went out before tells nothing.
    pub fn first_us(&self) -> Option<i64> {
        self.0.as_ref().map(|samples| samples.first_us)
    }

    /// A packet that went out then is acknowledged now, and is the newest that is.
    pub fn measure(&mut self, sent_us: i64, now_us: i64) {
        let samples = self.0.get_or_insert_with(|| Box::new(Samples { first_us: now_us, ..Samples::default() }));
        samples.measured = (sent_us >= samples.first_us).then_some((sent_us, now_us));
    }

    /// The log states a new sample.
    pub fn state(&mut self, sample_us: Option<i64>) {
        if let Some(samples) = &mut self.0 {
            samples.stated_us = sample_us;
        }
    }

    /// The peer says how long it held an acknowledgement back.
    pub fn hold(&mut self, held_us: i64) {
        if let Some(samples) = &mut self.0 {
            samples.held_us = held_us;
        }
    }

    /// Time passes without a record.
    pub fn pass(&mut self, us: u64, until_us: i64) {
        let us = i64::try_from(us).unwrap_or(i64::MAX);
        if us >= STEP_US
            && let Some(samples) = &mut self.0
        {
            samples.silence = (us, until_us);
        }
    }

    /// The instant is over: gives since when the clock made a step, if it did.
    pub fn step(&mut self) -> Option<i64> {
        let samples = self.0.as_deref_mut()?;
        let stated_us = samples.stated_us.take()?;
        let (sent_us, acked_us) = samples.measured.take()?;
        let overdue = Overdue { sent_us, now_us: acked_us, delay_us: samples.held_us };
        let apart_us = overdue.least_apart_us(stated_us);
        let (silent_us, until_us) = samples.silence;
        let is_within = until_us > sent_us && silent_us.saturating_add(TURN_US) >= apart_us;
        (apart_us > STEP_US && is_within).then_some(sent_us)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A packet that goes out at 100 ms after a silence of `silent_ms` within its way, is acknowledged at `acked_ms`, held
    /// back for `held_ms`, with a stated sample of 40 ms.
    fn step(silent_ms: u64, acked_ms: i64, held_ms: i64) -> Option<i64> {
        let mut check = ClockCheck::default();
        check.measure(0, 40_000);
        assert_eq!(check.step(), None, "nothing is stated");
        check.pass(silent_ms * 1000, acked_ms * 1000);
        check.hold(held_ms * 1000);
        check.measure(100_000, acked_ms * 1000);
        check.state(Some(40_000));
        check.step()
    }

    #[test]
    fn a_sample_that_is_too_long_after_a_silence_as_long_shows_a_step() {
        assert_eq!(step(340, 440, 0), Some(100_000));
        assert_eq!(step(30, 140, 0), None, "as stated");
        assert_eq!(
            step(80, 440, 0),
            None,
            "the records were not silent for so long: a queue, or another packet's sample"
        );
        assert_eq!(step(340, 440, 300), None, "the peer held it back");
    }

    #[test]
    fn what_the_handshake_may_have_held_back_shows_none() {
        let mut check = ClockCheck::default();
        check.measure(0, 400_000);
        check.state(Some(40_000));
        assert_eq!(check.step(), None);
        check.pass(300_000, 700_000);
        check.measure(10, 700_000);
        check.state(Some(40_000));
        assert_eq!(check.step(), None);
    }
}
