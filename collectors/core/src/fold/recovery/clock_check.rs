//! Did the log's clock make a step while a packet was on its way?
//!
//! A stack measures round trips by a monotonic clock and states them. The log's clock made a step forward where the
//! records' times give a longer sample than the stated one and no record was written for as long, and a step back where
//! they give a shorter one. It also made a step where a loss timer does not fire in time.

use crate::fold::TURN_US;
use get_size2::GetSize;
use serde::{Deserialize, Serialize};

/// The newest sample, measured and stated, and the other evidence of clock steps.
#[derive(Clone, Debug, Default, Serialize, Deserialize, GetSize)]
pub struct ClockCheck(Option<Box<Samples>>);

#[derive(Clone, Debug, Default, Serialize, Deserialize, GetSize)]
struct Samples {
    /// When application data was acknowledged first.
    first_us: Option<i64>,
    /// When a packet of the handshake came last.
    handshake_us: Option<i64>,
    /// The times between which the clock seems to have made a step. The measured and the stated sample may be of
    /// different packets, so the suspicion is dropped when a later pair fits.
    suspected: Option<(i64, i64)>,
    /// The stated sample may be of an acknowledgement that came earlier and could not be decrypted until now.
    is_late: bool,
    /// The acknowledgement of the newest sample.
    measured: Option<Overdue>,
    /// The stated sample, and when the log states it.
    stated: Option<(i64, i64)>,
    /// There are several measured or stated samples: it is not known which of them belong together.
    are_many: bool,
    /// How long the peer held the newest acknowledgement back, as it says.
    held_us: i64,
    silences: Silences,
    with_delay: WithDelay,
    timer: LossTimer,
}

/// Whether stated samples include the peer's acknowledgement delay (RFC 9002, 5.3: `latest_rtt` does; quic-go subtracts
/// the delay where the rest is no less than the minimum RTT).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, GetSize)]
enum WithDelay {
    /// No sample has shown it yet.
    #[default]
    Unknown,
    /// All samples that show it include the delay.
    Always,
    /// Some sample does not include it.
    NotAlways,
}

/// Long times without a record, as start and end: the oldest first, each shorter than the one before.
#[derive(Clone, Debug, Default, Serialize, Deserialize, GetSize)]
struct Silences(Vec<(i64, i64)>);

/// The loss timer, in a log that says when it fires.
#[derive(Clone, Copy, Debug, Default, Serialize, Deserialize, GetSize)]
struct LossTimer {
    due_us: Option<i64>,
    has_fired: bool,
}

/// A packet of ours that is acknowledged: when it was sent, when it is acknowledged, and the acknowledgement delay that
/// the peer states.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, GetSize)]
#[expect(missing_docs, reason = "above")]
pub struct Overdue {
    pub sent_us: i64,
    pub now_us: i64,
    pub delay_us: i64,
}

impl Overdue {
    /// By how much the round trip by the records' times is longer than the stated one.
    fn apart_us(&self, stated_us: i64) -> i64 {
        self.now_us.saturating_sub(self.sent_us).saturating_sub(stated_us)
    }

    /// The least such difference: some stacks subtract the peer's acknowledgement delay from the sample that they
    /// state.
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

/// Without a clock step, stated and measured samples differ by this at most, us: the default max_ack_delay of 25 ms
/// (RFC 9000, 18.2) and nearly as much again.
pub const STEP_US: i64 = 45_000;

/// Silences that are remembered. More than these, each shorter than the one before, hardly fit into one round trip.
const SILENCES: usize = 8;

impl Silences {
    fn add(&mut self, us: i64, until_us: i64) {
        self.0.retain(|silence| length_us(*silence) > us);
        if self.0.len() == SILENCES {
            self.0.remove(0);
        }
        self.0.push((until_us.saturating_sub(us), until_us));
    }

    /// Length of the longest silence that ends after `since_us`; 0 where there is none.
    fn longest_since(&self, since_us: i64) -> i64 {
        self.0.iter().find(|(_, until_us)| *until_us > since_us).map_or(0, |silence| length_us(*silence))
    }

    /// The newest silence fills the time between these moments, up to [`TURN_US`] at each end.
    fn is_all_between(&self, from_us: i64, to_us: i64) -> bool {
        let is_a_turn = |us: i64| (0..=TURN_US).contains(&us);
        self.0.last().is_some_and(|(since_us, until_us)| {
            is_a_turn(since_us.saturating_sub(from_us)) && is_a_turn(to_us.saturating_sub(*until_us))
        })
    }

    /// The silence that contains this moment.
    fn around(&self, at_us: i64) -> Option<(i64, i64)> {
        self.0.iter().copied().find(|(since_us, until_us)| (*since_us..*until_us).contains(&at_us))
    }
}

fn length_us((since_us, until_us): (i64, i64)) -> i64 {
    until_us.saturating_sub(since_us)
}

impl WithDelay {
    /// The sample by the records' times was longer than the stated one by `apart_us`.
    fn learn(&mut self, apart_us: i64, delay_us: i64) {
        if delay_us < 2 * TURN_US {
            return;
        }
        if apart_us.abs_diff(delay_us) <= TURN_US.unsigned_abs() {
            *self = Self::NotAlways;
        } else if apart_us.abs() <= TURN_US && *self == Self::Unknown {
            *self = Self::Always;
        }
    }
}

impl ClockCheck {
    fn samples(&mut self) -> &mut Samples {
        self.0.get_or_insert_default()
    }

    /// When application data was acknowledged first: the peer may have held the acknowledgement of earlier packets back
    /// until the handshake was complete.
    pub fn first_us(&self) -> Option<i64> {
        self.0.as_ref().and_then(|samples| samples.first_us)
    }

    /// An Initial or Handshake packet came.
    pub fn receive_handshake(&mut self, now_us: i64) {
        self.samples().handshake_us = Some(now_us);
    }

    /// A packet that was sent at `sent_us` is acknowledged now; it is the newest of those that this acknowledges.
    pub fn measure(&mut self, sent_us: i64, now_us: i64, is_application: bool) {
        let samples = self.samples();
        let overdue = Overdue { sent_us, now_us, delay_us: samples.held_us };
        if is_application {
            samples.first_us.get_or_insert(now_us);
            let has_keys_now = samples.handshake_us.is_some_and(|came_us| now_us.saturating_sub(came_us) <= TURN_US);
            samples.is_late |= has_keys_now && samples.is_of_handshake(&overdue);
        }
        // Where one instant has several, any may be the packet whose sample is stated; the newest packet's is the
        // shortest.
        samples.are_many |= samples.measured.is_some();
        let is_newer = samples.measured.is_none_or(|last| last.now_us != now_us || last.sent_us < sent_us);
        if is_newer {
            samples.measured = Some(overdue);
        }
    }

    /// The log states a new sample. Where one instant has several, the longest is nearest to what the records give.
    pub fn state(&mut self, sample_us: i64, now_us: i64) {
        let samples = self.samples();
        samples.are_many |= samples.stated.is_some();
        let is_longest = samples.stated.is_none_or(|(last_us, at_us)| at_us != now_us || last_us < sample_us);
        if is_longest {
            samples.stated = Some((sample_us, now_us));
        }
    }

    /// The peer says how long it held an acknowledgement back.
    pub fn hold(&mut self, held_us: i64) {
        self.samples().held_us = held_us;
    }

    /// The loss timer was set to fire then; `None`: it was cancelled.
    pub fn set_timer(&mut self, due_us: Option<i64>) {
        self.samples().timer.due_us = due_us;
    }

    /// It fired.
    pub fn fire_timer(&mut self) {
        self.samples().timer = LossTimer { due_us: None, has_fired: true };
    }

    /// Time passes without a record.
    pub fn pass(&mut self, us: u64, until_us: i64) {
        let us = i64::try_from(us).unwrap_or(i64::MAX);
        if us >= STEP_US {
            self.samples().silences.add(us, until_us);
        }
    }

    /// The instant is over: gives the times between which the clock made a step, if it did.
    pub fn step(&mut self, now_us: i64) -> Option<(i64, i64)> {
        let samples = self.0.as_deref_mut()?;
        samples.confirmed_step(now_us).or_else(|| {
            samples.compare();
            samples.step_by_timer(now_us)
        })
    }
}

impl Samples {
    /// The packet was sent before application data was acknowledged first, see [`ClockCheck::first_us`].
    fn is_of_handshake(&self, overdue: &Overdue) -> bool {
        self.first_us.is_none_or(|first_us| overdue.sent_us < first_us)
    }

    /// Compares the stated sample with the measured one beside it.
    fn compare(&mut self) {
        let is_late = std::mem::take(&mut self.is_late);
        let (Some((stated_us, at_us)), Some(overdue)) = (self.stated, self.measured) else { return };
        let is_torn = !self.is_of_handshake(&overdue) && self.silences.is_all_between(at_us, overdue.now_us);
        if at_us.abs_diff(overdue.now_us) > TURN_US.unsigned_abs() && !is_torn {
            // They are of different packets: the older one is dropped. quic-go logs a sample before the packet that
            // gives it.
            self.are_many = false;
            if at_us < overdue.now_us {
                self.stated = None;
            } else {
                self.measured = None;
            }
            return;
        }
        let apart_us = overdue.apart_us(stated_us);
        self.with_delay.learn(apart_us, overdue.delay_us);
        let least_us = overdue.least_apart_us(stated_us);
        let surely_us = if self.with_delay == WithDelay::Always { apart_us } else { least_us };
        let is_silent = self.silences.longest_since(overdue.sent_us).saturating_add(TURN_US) >= least_us;
        let is_long = surely_us > STEP_US && is_silent && !is_late;
        // No sample is longer than the time that really passed, so the log's clock was set back. A sample that is
        // stated at another time may be of an earlier packet.
        let is_short = apart_us < -STEP_US && !self.are_many && at_us == overdue.now_us;
        if !is_long && !is_short {
            let is_what_seemed_apart = |(_, told_us): &mut (i64, i64)| *told_us == at_us || *told_us == overdue.now_us;
            _ = self.suspected.take_if(is_what_seemed_apart);
            (self.stated, self.measured, self.are_many) = (None, None, false);
            return;
        }
        self.are_many = at_us != overdue.now_us;
        // The newer one may still find its partner.
        if at_us <= overdue.now_us {
            self.stated = None;
        }
        if overdue.now_us <= at_us {
            self.measured = None;
        }
        self.suspected = Some((overdue.sent_us, at_us.max(overdue.now_us)));
    }

    fn confirmed_step(&mut self, now_us: i64) -> Option<(i64, i64)> {
        self.suspected.take_if(|(_, at_us)| now_us.saturating_sub(*at_us) > TURN_US)
    }

    /// The timer was due in a silence and did not fire, though the stack runs again: that time did not pass for the
    /// stack.
    fn step_by_timer(&mut self, now_us: i64) -> Option<(i64, i64)> {
        let due_us = self.timer.due_us.filter(|_| self.timer.has_fired)?;
        let (from_us, until_us) = self.silences.around(due_us)?;
        let is_step = until_us.saturating_sub(due_us) > STEP_US && now_us.saturating_sub(until_us) > TURN_US;
        is_step.then(|| {
            self.timer.due_us = None;
            (from_us, until_us)
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const MS: i64 = 1000;

    /// Application data was acknowledged as stated, at 50 ms.
    fn after_a_round_trip() -> ClockCheck {
        let mut check = ClockCheck::default();
        check.measure(10 * MS, 50 * MS, true);
        check.state(40 * MS, 50 * MS);
        assert_eq!(check.step(50 * MS), None, "as stated");
        check
    }

    /// Nothing is logged for so long, until then.
    fn pass(check: &mut ClockCheck, silent_ms: u64, until_ms: i64) {
        check.pass(silent_ms * 1000, until_ms * MS);
    }

    /// A packet that went out then is acknowledged, with a sample that the log states in the same instant.
    fn acknowledge(check: &mut ClockCheck, sent_ms: i64, acked_ms: i64, stated_ms: i64) -> Option<i64> {
        check.measure(sent_ms * MS, acked_ms * MS, true);
        check.state(stated_ms * MS, acked_ms * MS);
        step_since(check, acked_ms)
    }

    /// Since when the clock made a step: asked at the end of the instant, and again after [`TURN_US`].
    fn step_since(check: &mut ClockCheck, now_ms: i64) -> Option<i64> {
        let found = check.step(now_ms * MS).or_else(|| check.step(now_ms * MS + TURN_US + 1));
        found.map(|(since_us, until_us)| {
            assert_eq!(until_us, now_ms * MS);
            since_us
        })
    }

    /// A packet goes out at 100 ms and is acknowledged at `acked_ms`, after a silence of `silent_ms`, with an
    /// acknowledgement delay of `held_ms` and a stated sample of 40 ms.
    fn step(silent_ms: u64, acked_ms: i64, held_ms: i64) -> Option<i64> {
        let mut check = after_a_round_trip();
        pass(&mut check, silent_ms, acked_ms);
        check.hold(held_ms * MS);
        acknowledge(&mut check, 100, acked_ms, 40)
    }

    #[test]
    fn a_sample_that_is_too_long_after_a_silence_as_long_shows_a_step() {
        assert_eq!(step(340, 440, 0), Some(100_000));
        assert_eq!(step(30, 140, 0), None, "as stated");
        assert_eq!(
            step(80, 440, 0),
            None,
            "the silence was too short: there was a queue, or the sample is another packet's"
        );
        assert_eq!(step(340, 440, 300), None, "the peer held it back");
    }

    #[test]
    fn a_shorter_silence_after_a_longer_one_hides_no_step() {
        let mut check = after_a_round_trip();
        pass(&mut check, 300, 400);
        pass(&mut check, 60, 460);
        assert_eq!(acknowledge(&mut check, 100, 460, 60), Some(100_000));
        pass(&mut check, 70, 540);
        assert_eq!(acknowledge(&mut check, 470, 540, 70), None, "the next packet was sent after it");
    }

    #[test]
    fn a_sample_may_be_stated_right_before_the_step() {
        let mut check = after_a_round_trip();
        check.state(39 * MS, 139 * MS);
        assert_eq!(check.step(139 * MS), None);
        pass(&mut check, 300, 439);
        check.measure(100 * MS, 439 * MS, true);
        assert_eq!(step_since(&mut check, 439), Some(100_000));
        let mut check = after_a_round_trip();
        check.state(39 * MS, 139 * MS);
        assert_eq!(check.step(139 * MS), None);
        pass(&mut check, 300, 500);
        check.measure(100 * MS, 500 * MS, true);
        assert_eq!(step_since(&mut check, 500), None, "records came between: it is another packet's sample");
    }

    #[test]
    fn a_stated_sample_belongs_to_the_acknowledgement_beside_it() {
        let mut check = after_a_round_trip();
        let mut told = |sent_ms: i64, acked_ms: i64, silent_ms: u64| {
            pass(&mut check, silent_ms, acked_ms);
            check.state((acked_ms - sent_ms) * MS, acked_ms * MS);
            assert_eq!(check.step(acked_ms * MS), None);
            check.measure(sent_ms * MS, acked_ms * MS + 14, true);
            check.step(acked_ms * MS + 14)
        };
        assert_eq!(told(100, 300, 180), None);
        assert_eq!(told(400, 440, 60), None, "the 200 ms of the packet before, with its silence, do not count");
        assert_eq!(told(500, 700, 180), None);
    }

    #[test]
    fn a_sample_that_is_longer_than_what_passed_shows_a_step_back() {
        let mut check = after_a_round_trip();
        assert_eq!(acknowledge(&mut check, 100, 110, 80), Some(100_000));
        assert_eq!(acknowledge(&mut check, 200, 210, 30), None);
        check.measure(300 * MS, 500 * MS, true);
        assert_eq!(acknowledge(&mut check, 400, 500, 200), None, "it is the older packet's");
        check.state(200 * MS, 599 * MS);
        assert_eq!(check.step(599 * MS), None);
        check.measure(580 * MS, 600 * MS, true);
        assert_eq!(step_since(&mut check, 600), None, "it was stated before: it may be another packet's");
    }

    #[test]
    fn some_acknowledgements_of_a_burst_have_no_sample() {
        let mut check = after_a_round_trip();
        pass(&mut check, 400, 1_000);
        check.measure(100 * MS, 1_000 * MS, true);
        assert_eq!(check.step(1_000 * MS), None);
        check.state(500 * MS, 1_000 * MS + 20);
        assert_eq!(check.step(1_000 * MS + 20), None);
        check.measure(500 * MS, 1_000 * MS + 30, true);
        assert_eq!(step_since(&mut check, 1_000), None, "it is the second one's");
    }

    #[test]
    fn a_log_shows_whether_its_samples_include_the_delay() {
        let apart_by = |has_delay: bool| {
            let mut check = after_a_round_trip();
            check.hold(20 * MS);
            assert_eq!(acknowledge(&mut check, 100, 160, if has_delay { 60 } else { 40 }), None);
            pass(&mut check, 60, 260);
            check.hold(20 * MS);
            acknowledge(&mut check, 200, 320, 60)
        };
        assert_eq!(apart_by(true), Some(200_000), "60 ms more than stated");
        assert_eq!(apart_by(false), None, "40 ms more than stated");
    }

    #[test]
    fn packets_of_the_handshake_show_a_step_too() {
        let handshake = |is_application| {
            let mut check = ClockCheck::default();
            pass(&mut check, 300, 400);
            check.receive_handshake(400 * MS);
            check.measure(0, 400 * MS, is_application);
            check.state(100 * MS, 400 * MS);
            step_since(&mut check, 400)
        };
        assert_eq!(handshake(false), Some(0));
        assert_eq!(
            handshake(true),
            None,
            "it came earlier, and could not be decrypted before the handshake was complete"
        );
        let mut check = ClockCheck::default();
        pass(&mut check, 300, 400);
        assert_eq!(acknowledge(&mut check, 0, 400, 100), Some(0), "keys were there");
    }

    #[test]
    fn a_sample_may_be_of_either_of_two_acknowledgements_of_an_instant() {
        let mut check = after_a_round_trip();
        pass(&mut check, 300, 400);
        check.measure(360 * MS, 400 * MS, false);
        assert_eq!(acknowledge(&mut check, 100, 400, 40), None);
    }

    #[test]
    fn a_timer_that_does_not_fire_in_time_shows_a_step() {
        let timer = |has_fired: bool, silent_ms: u64, now_ms: i64| {
            let mut check = ClockCheck::default();
            if has_fired {
                check.fire_timer();
            }
            check.set_timer(Some(200 * MS));
            pass(&mut check, silent_ms, 300);
            check.step(300 * MS).or_else(|| check.step(now_ms * MS))
        };
        assert_eq!(timer(true, 180, 310), Some((120_000, 300_000)));
        assert_eq!(timer(true, 180, 301), None, "the process may have slept and may still fire the timer");
        assert_eq!(timer(true, 90, 310), None, "the silence after it was due is too short");
        assert_eq!(timer(false, 180, 310), None, "this log may never say that it fires");
    }

    #[test]
    fn silences_are_few() {
        let mut check = ClockCheck::default();
        (0_u32..100).for_each(|ago| pass(&mut check, u64::from(200 - ago), 1000 * i64::from(ago + 1)));
        assert_eq!(check.0.map(|samples| samples.silences.0.len()), Some(SILENCES));
    }
}
