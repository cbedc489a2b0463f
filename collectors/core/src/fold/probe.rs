//! Probe timeouts (RFC 9002, 6.2): when nothing comes back, and how long a request pays for it.

use crate::event::{Event, Number, Word};
use crate::fold::cause::{Cause, Interval};
use crate::fold::finish::Episode;
use crate::fold::packets::Sent;
use crate::fold::{Fold, TURN_US};
use serde::{Deserialize, Serialize};

/// A series of probe timeouts.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub struct Probe {
    /// Last ack-eliciting send.
    pub last_eliciting_us: Option<i64>,
    /// And the last of an earlier microsecond.
    before_us: Option<i64>,
    /// Last acknowledgement of anything new.
    pub last_news_us: Option<i64>,
    /// Last loss declared.
    pub last_lost_us: Option<i64>,
    /// Last packet received.
    pub last_received_us: Option<i64>,
    /// The series that is going on.
    pub series: Option<Series>,
    /// Count that the log's metrics gave last.
    pub logged: u64,
    /// When a series was answered last by a packet that was sent after its timer.
    pub answered_us: Option<i64>,
}

/// From the first timer that fired to the first acknowledgement of anything new.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Series {
    /// When the silence began.
    pub start_us: i64,
    fired_us: i64,
    waited_us: u64,
    seq: u64,
    count: u32,
    logged: bool,
    /// Streams of which something was declared lost meanwhile.
    losers: Vec<u64>,
}

impl Series {
    /// Something of a stream is declared lost before anything came back.
    pub fn lost(&mut self, stream_id: u64) {
        self.losers.push(stream_id);
    }
}

impl Probe {
    /// A packet that elicits an acknowledgement goes out.
    pub fn elicit(&mut self, now_us: i64) {
        if self.last_eliciting_us != Some(now_us) {
            self.before_us = self.last_eliciting_us;
        }
        self.last_eliciting_us = Some(now_us);
    }

    /// How long nothing went out until now that elicits an acknowledgement.
    pub fn idle_us(&self, now_us: i64) -> i64 {
        self.elicited_before(now_us).map_or(0, |last| now_us.saturating_sub(last))
    }

    /// When such a packet went out last before now: a probe may be logged before the timer that sent it.
    fn elicited_before(&self, now_us: i64) -> Option<i64> {
        self.last_eliciting_us.filter(|last| *last < now_us).or(self.before_us)
    }
}

impl Fold {
    /// For logs without timer events: as long as a probe timeout has passed since "time_of_last_ack_eliciting_packet",
    /// smoothed_rtt + max(4 * rttvar, kGranularity) (RFC 9002, 6.2.1 and A.8); max_ack_delay comes on top where it counts.
    pub(super) fn was_silent(&self) -> bool {
        let (Some(sent), Some(smoothed)) = (self.probe.last_eliciting_us, self.rtt.smoothed_us) else { return false };
        let variance = self.rtt.variance_us.unwrap_or(smoothed / 2);
        let timeout = smoothed.saturating_add(variance.saturating_mul(4).max(1000));
        // A tenth is allowed for the difference between the log's figures and the stack's.
        self.now_us.saturating_sub(sent) >= timeout - timeout / 10 - 1000 && self.is_unanswered()
    }

    /// No loss timer explains what goes out now: it is set when an acknowledgement comes, to an eighth of a round trip
    /// from then at most (RFC 9002, 6.1.2).
    pub(super) fn is_after_loss_timers(&self) -> bool {
        let longest = self.rtt.smoothed_us.unwrap_or(0) / 4 + TURN_US;
        self.probe.last_news_us.is_none_or(|news| self.now_us.saturating_sub(news) > longest)
    }

    /// Something that elicits an acknowledgement went out and nothing new was acknowledged since.
    fn is_unanswered(&self) -> bool {
        let timeouts = self.rtt.smoothed_us.unwrap_or(INITIAL_RTT_US).saturating_mul(TIMEOUTS);
        let since_us = self.now_us.saturating_sub(timeouts);
        self.spaces.iter().any(|space| space.is_waiting(since_us))
            // aioquic declares its oldest packet lost when it probes.
            || self.probe.last_lost_us.is_some_and(|lost| self.now_us.saturating_sub(lost) <= TURN_US)
            // Rows without packet numbers know only the sum.
            || (self.trace.frameless && self.in_flight() > 0)
            || self.probe.last_eliciting_us > self.probe.last_news_us
    }

    /// A probe timer fired.
    pub(super) fn probe_fired(&mut self, logged: bool) {
        self.seen.probe_timers |= logged;
        if !self.is_unanswered() {
            return;
        }
        let (now, seq) = (self.now_us, self.seq);
        match &mut self.probe.series {
            Some(series) => series.count += 1,
            None => {
                let sent = self.probe.elicited_before(now).unwrap_or(now);
                let due = sent.saturating_add(self.rtt.min_us.unwrap_or(0));
                let start_us = self.probe.last_news_us.map_or(due, |news| news.max(due)).min(now);
                let waited_us = now.abs_diff(sent);
                self.probe.series =
                    Some(Series { start_us, fired_us: now, waited_us, seq, count: 1, logged, losers: Vec::new() });
            }
        }
    }

    pub(super) fn probe_answered(&mut self, series: &Series, packets: &[Sent]) {
        self.count.ptos += 1;
        let end_us = self.now_us;
        // The acknowledged packet was sent before the timer fired: the probe was not needed, and what was waited for was a
        // queue, or an acknowledgement that the peer held back.
        let spurious = !packets.is_empty() && packets.iter().all(|packet| packet.time_us < series.fired_us);
        self.count.ptos_spurious += u64::from(spurious);
        if spurious {
            for id in &series.losers {
                if let Some(stream) = self.streams.get_mut(id) {
                    stream.losses.iter_mut().for_each(|loss| loss.is_by_probe &= loss.detected_us < series.fired_us);
                }
            }
        } else {
            self.probe.answered_us = Some(end_us);
            self.held(Interval { cause: Cause::Pto, start_us: series.start_us, end_us });
        }
        if !series.logged {
            self.streams.values_mut().for_each(|stream| stream.infer(Cause::Pto));
        }
        self.episode(Episode {
            kind: "pto",
            first_seq: series.seq,
            start_us: series.fired_us,
            end_us,
            confirmed: true,
            trigger: if spurious { "spurious" } else { "" },
            count: series.count,
            wait_us: Some(series.waited_us),
            ..Episode::default()
        });
    }

    pub(super) fn timer(&mut self, event: &Event) {
        let expired = event.word(Word::EventType) == "expired" && event.word(Word::TimerType) != "ack";
        // mvfst logs its alarm only when it fires, with a count (quic_trace.md 2.2).
        let alarm = event.leftover("outstanding_packets").is_some() || event.get(Number::Count).is_some();
        let kind = event.word(Word::TimerType);
        self.seen.probe_timers |=
            alarm || kind == "pto" || (kind.is_empty() && !event.word(Word::EventType).is_empty());
        if kind == "pacing" {
            self.pacing_timer(event);
        }
        if (expired && matches!(event.word(Word::TimerType), "pto" | "")) || alarm {
            self.probe_fired(true);
        }
    }
}

/// kInitialRtt (RFC 9002, 6.2.2).
pub const INITIAL_RTT_US: i64 = 333_000;

/// Round trips for which a packet that others overtook may still be waited for.
const TIMEOUTS: i64 = 10;
