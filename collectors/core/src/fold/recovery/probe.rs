//! Probe timeouts (RFC 9002, 6.2): series of them without an acknowledgement, and how long each made requests wait.

use crate::fold::moment::Moment;
use crate::fold::recovery::packets::Acknowledged;
use get_size2::GetSize;
use serde::{Deserialize, Serialize};
use std::collections::BTreeSet;

/// What the probe timer is set by, and the series of timeouts that is going on.
#[derive(Clone, Debug, Default, Serialize, Deserialize, GetSize)]
pub struct ProbeTimer {
    /// Last ack-eliciting send.
    elicited_us: Option<i64>,
    /// Last ack-eliciting send of an earlier microsecond.
    elicited_before_us: Option<i64>,
    /// Last acknowledgement of anything new.
    news_us: Option<i64>,
    series: Option<Box<Series>>,
    /// When a timer fired last.
    fired_us: Option<i64>,
    /// Count that the log's metrics gave last.
    stated_count: u64,
    /// When a series that was not spurious was answered last.
    answered_us: Option<i64>,
    count: u64,
    spurious: u64,
}

/// From the first timer that fired to the first acknowledgement of anything new.
#[derive(Clone, Debug, Serialize, Deserialize, GetSize)]
struct Series {
    start_us: i64,
    fired: Moment,
    waited_us: u64,
    count: u32,
    is_logged: bool,
    /// Streams of which something was declared lost meanwhile.
    losers: BTreeSet<u64>,
}

/// A series of probe timeouts was answered.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Answered {
    /// When the silence began.
    pub start_us: i64,
    /// When the first timer fired.
    pub fired: Moment,
    /// How long after the last ack-eliciting send it fired.
    pub waited_us: u64,
    /// Timers that fired.
    pub count: u32,
    /// The log states them.
    pub is_logged: bool,
    /// The acknowledged packets were sent before the timer fired, and no packet of the peer is missing since the last
    /// new acknowledgement. So the probe was not needed: a queue, or an acknowledgement delay of the peer, caused the
    /// wait. Where a packet of the peer is missing, it may have carried the first acknowledgement: that is no spurious
    /// timeout.
    pub is_spurious: bool,
    /// Streams of which something was declared lost meanwhile.
    pub losers: BTreeSet<u64>,
}

impl ProbeTimer {
    /// A packet that elicits an acknowledgement goes out.
    pub fn elicit(&mut self, now_us: i64) {
        if self.elicited_us != Some(now_us) {
            self.elicited_before_us = self.elicited_us;
        }
        self.elicited_us = Some(now_us);
    }

    /// Last ack-eliciting send.
    pub fn elicited_us(&self) -> Option<i64> {
        self.elicited_us
    }

    /// Last acknowledgement of anything new.
    pub fn news_us(&self) -> Option<i64> {
        self.news_us
    }

    /// Time since the last ack-eliciting send before now.
    pub fn idle_us(&self, now_us: i64) -> i64 {
        self.elicited_before(now_us).map_or(0, |last| now_us.saturating_sub(last))
    }

    /// Last ack-eliciting send before now: a probe may be logged before the timer that sent it.
    fn elicited_before(&self, now_us: i64) -> Option<i64> {
        self.elicited_us.filter(|last| *last < now_us).or(self.elicited_before_us)
    }

    /// The timer fired while something was unanswered. A log may show one expiry several times: by its event, by its
    /// count of timeouts, and by the probe that is sent.
    pub fn fire(&mut self, now: Moment, is_logged: bool, min_rtt_us: i64) {
        let is_told_again = self.fired_us.replace(now.us) == Some(now.us);
        if let Some(series) = &mut self.series {
            series.count += 1;
            return;
        }
        if self.news_us == Some(now.us) {
            // An acknowledgement of the same instant answered it: a spurious timeout, whichever record stands first.
            let count = u64::from(!is_told_again);
            (self.count, self.spurious) = (self.count + count, self.spurious + count);
            return;
        }
        let sent = self.elicited_before(now.us).unwrap_or(now.us);
        let due = sent.saturating_add(min_rtt_us);
        let start_us = self.news_us.map_or(due, |news| news.max(due)).min(now.us);
        let waited_us = now.us.abs_diff(sent);
        let series = Series { start_us, fired: now, waited_us, count: 1, is_logged, losers: BTreeSet::new() };
        self.series = Some(Box::new(series));
    }

    /// The log gives a count of timeouts: true when it has grown.
    pub fn state_count(&mut self, count: u64) -> bool {
        std::mem::replace(&mut self.stated_count, count) < count
    }

    /// Data of a stream is declared lost; the loss belongs to the series of timeouts, if one is going on.
    pub fn lose(&mut self, stream_id: u64) {
        if let Some(series) = &mut self.series {
            series.losers.insert(stream_id);
        }
    }

    /// Something new is acknowledged, which ends a series. `is_behind_lost`: packets of the peer are missing since the
    /// last new acknowledgement, and may have carried an earlier one.
    pub fn acknowledged(&mut self, now_us: i64, packets: &[Acknowledged], is_behind_lost: bool) -> Option<Answered> {
        self.news_us = Some(now_us);
        let Series { start_us, fired, waited_us, count, is_logged, losers } = *self.series.take()?;
        let is_before = !packets.is_empty() && packets.iter().all(|acked| acked.packet.time_us < fired.us);
        let is_spurious = is_before && !is_behind_lost;
        self.count += 1;
        self.spurious += u64::from(is_spurious);
        if !is_spurious {
            self.answered_us = Some(now_us);
        }
        Some(Answered { start_us, fired, waited_us, count, is_logged, is_spurious, losers })
    }

    /// A probe timer has fired since the last new acknowledgement.
    pub fn is_running(&self) -> bool {
        self.series.is_some()
    }

    /// When the silence of the series that is going on began.
    pub fn since_us(&self) -> Option<i64> {
        self.series.as_ref().map(|series| series.start_us)
    }

    /// Losses that are declared now were found because of a probe.
    pub fn shows_losses(&self, now_us: i64) -> bool {
        self.answered_us == Some(now_us) || self.series.is_some()
    }

    /// Series of timeouts, including the one that is going on.
    pub fn count(&self) -> u64 {
        self.count + u64::from(self.series.is_some())
    }

    /// Those that were not needed.
    pub fn spurious(&self) -> u64 {
        self.spurious
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fold::recovery::packets::Sent;

    fn acked(time_us: i64) -> Vec<Acknowledged> {
        vec![Acknowledged { packet: Sent { time_us, ..Sent::default() }, was_lost: false }]
    }

    fn fired() -> ProbeTimer {
        let mut timer = ProbeTimer::default();
        timer.elicit(1_000);
        timer.fire(Moment { us: 60_000, seq: 7 }, true, 20_000);
        timer.elicit(60_000);
        timer.fire(Moment { us: 160_000, seq: 9 }, true, 20_000);
        timer.lose(4);
        timer
    }

    #[test]
    fn a_series_lasts_from_the_silence_to_the_first_answer() {
        let mut timer = fired();
        assert_eq!((timer.count(), timer.since_us()), (1, Some(21_000)));
        let answered = timer.acknowledged(180_000, &acked(160_000), false);
        let wanted = Answered {
            start_us: 21_000,
            fired: Moment { us: 60_000, seq: 7 },
            waited_us: 59_000,
            count: 2,
            is_logged: true,
            is_spurious: false,
            losers: BTreeSet::from([4]),
        };
        assert_eq!(answered, Some(wanted));
        assert!(timer.shows_losses(180_000) && !timer.shows_losses(180_001) && !timer.is_running());
        assert_eq!(timer.acknowledged(190_000, &acked(170_000), false), None);
    }

    #[test]
    fn an_answer_to_what_was_sent_before_the_timer_makes_it_spurious() {
        let mut timer = fired();
        assert!(timer.acknowledged(180_000, &acked(1_000), false).is_some_and(|answered| answered.is_spurious));
        assert_eq!((timer.count(), timer.spurious(), timer.shows_losses(180_000)), (1, 1, false));
    }

    #[test]
    fn a_timer_that_is_told_twice_beside_its_answer_fired_once() {
        for order in ["fire fire answer", "fire answer fire", "answer fire fire"] {
            let mut timer = ProbeTimer::default();
            timer.elicit(1_000);
            for happens in order.split(' ') {
                if happens == "fire" {
                    timer.fire(Moment { us: 60_000, seq: 7 }, true, 20_000);
                } else {
                    timer.acknowledged(60_000, &acked(1_000), false);
                }
            }
            assert_eq!((timer.count(), timer.spurious(), timer.is_running()), (1, 1, false), "{order}");
        }
    }

    #[test]
    fn a_probe_that_is_logged_before_its_timer_is_not_what_was_waited_for() {
        let mut timer = ProbeTimer::default();
        timer.elicit(1_000);
        timer.elicit(60_000);
        assert_eq!(timer.idle_us(60_000), 59_000);
        timer.elicit(60_000);
        assert_eq!((timer.idle_us(60_000), timer.idle_us(61_000)), (59_000, 1_000));
    }

    #[test]
    fn a_count_fires_when_it_grows() {
        let mut timer = ProbeTimer::default();
        assert_eq!([0, 1, 1, 2, 0, 1].map(|count| timer.state_count(count)), [false, true, false, true, false, true]);
    }
}
