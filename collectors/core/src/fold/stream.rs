//! One request stream: what of it was received, sent, acknowledged and lost, and the marks of its clock.

use crate::fold::cause::{Cause, Interval};
use crate::fold::packets::{Chunk, Sent};
use crate::fold::parts::Marks;
use crate::fold::ranges::Ranges;
use crate::fold::rtt::RoundTrip;
use crate::fold::saves::Transfer;
use crate::fold::sweep::{Gap, Sweep};
use serde::{Deserialize, Serialize};

/// Bytes that were lost and are not acknowledged yet.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Loss {
    /// First byte.
    pub from: u64,
    /// Byte after the last.
    pub to: u64,
    /// The stream's end was in it.
    pub fin: bool,
    /// The lost packet.
    pub number: u64,
    /// When it was sent.
    pub sent_us: i64,
    /// By which event.
    pub sent_seq: u64,
    /// When its acknowledgement was due: sent plus the smoothed RTT of that moment.
    pub due_us: i64,
    /// When it was declared lost.
    pub detected_us: i64,
    /// How it was found.
    pub trigger: String,
    /// First retransmission.
    pub resent_us: Option<i64>,
    /// Retransmissions.
    pub resent: u32,
    /// Bytes of the same packet that were repaired before.
    pub repaired: u64,
    /// A probe timeout brought it to light.
    pub is_by_probe: bool,
}

/// One direction of a stream.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Side {
    /// Bytes received, or acknowledged.
    pub done: Ranges,
    /// Highest offset seen.
    pub highest: u64,
    /// Offset of the end, once a FIN was seen.
    pub fin: Option<u64>,
    /// The FIN itself was received, or acknowledged.
    pub fin_done: bool,
    /// Packets that carried it.
    pub packets: u64,
    /// Bytes sent again.
    pub repeated: u64,
}

impl Side {
    /// Every byte up to the FIN, and the FIN.
    pub fn is_whole(&self) -> bool {
        self.fin.is_some_and(|fin| self.fin_done && self.done.covers(0, fin))
    }

    /// Takes a chunk's extent; true when it brings something new.
    pub fn extend(&mut self, chunk: &Chunk) -> bool {
        let news = chunk.to > self.highest || (chunk.fin && self.fin.is_none());
        if !news && chunk.to > chunk.from {
            self.repeated = self.repeated.saturating_add(chunk.to - chunk.from);
        } else if chunk.from < self.highest {
            self.repeated = self.repeated.saturating_add(self.highest - chunk.from);
        }
        self.highest = self.highest.max(chunk.to);
        if chunk.fin {
            self.fin = Some(chunk.to);
        }
        news
    }
}

/// A stream that is open, or ended a moment ago.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Stream {
    /// Its id.
    pub id: u64,
    /// Its clock.
    pub marks: Marks,
    /// `start_us` was computed, not seen.
    pub start_inferred: bool,
    /// `response_start_us` is an HTTP frame, not the first packet.
    pub answered_by_http: bool,
    /// Why `end_us` is what it is; empty while the stream is open.
    pub end_is: String,
    /// Ended with both sides finished.
    pub complete: bool,
    /// What the peer sent.
    pub received: Side,
    /// What we sent; `done` is what was acknowledged.
    pub sent: Side,
    /// Losses that are not repaired.
    pub losses: Vec<Loss>,
    /// Packets of ours that were lost.
    pub packets_lost: u64,
    /// Longest detection.
    pub detection_us: Option<u64>,
    /// Conditions of this stream alone.
    pub intervals: Vec<Interval>,
    /// Conditions that were inferred.
    pub inferred: Vec<Cause>,
    /// Our credit on this stream, where known.
    pub credit: Option<u64>,
    /// Blocked by it since, at which event.
    pub blocked: Option<(i64, u64)>,
    /// A gap holds received bytes back since.
    pub gap_since: Option<i64>,
    /// First event that names it.
    pub first_seq: u64,
    /// Last event that names it.
    pub last_seq: u64,
    /// HTTP/3.
    pub http: Http,
    /// Last event that named it, in a log that shows no more of it than that.
    pub named_us: Option<i64>,
    /// The application queued the end (rows without frames).
    pub eom: bool,
    /// Least and smoothed RTT when it ended.
    pub rtt: RoundTrip,
    /// What of its time is decided.
    pub sweep: Sweep,
    /// Undecided intervals and gaps at which they are summed up again.
    pub summed_up_at: usize,
    /// Gaps between its sends that are not.
    pub gaps: Vec<Gap>,
    /// What the application has queued.
    pub queue: Queue,
    /// What the response had to work with.
    pub transfer: Transfer,
    /// What other streams sent before its first byte.
    pub turn: Turn,
    /// Newest arrival of anything beyond what had arrived.
    pub arrived_us: Option<i64>,
    /// Of the time behind gaps, that in which nothing else arrived.
    pub dead_us: u64,
}

/// Waits of one kind that follow each other within a round trip.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[expect(missing_docs, reason = "named after the columns of episodes")]
pub struct Stretch {
    pub start_us: i64,
    pub end_us: i64,
    pub first_seq: u64,
    pub last_seq: u64,
    pub count: u32,
}

/// Bytes of the response that wait, as far as the log tells.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Queue {
    /// The log says what the application queues, and it agrees with what goes out.
    pub is_known: bool,
    /// Stream bytes queued so far.
    pub bytes: u64,
    /// Known to be empty since, at which event.
    pub empty_since: Option<(i64, u64)>,
    /// A stretch behind other streams that may go on: from, to, at which events.
    pub behind: Option<Stretch>,
    /// Data waits.
    pub ready: Option<Ready>,
    /// Among the streams that no other has passed since they wait.
    pub is_listed: bool,
}

/// How long nothing may come before it is a silence of the other side.
#[derive(Clone, Copy, Debug)]
pub struct Silence {
    /// We gave credit last: what came before could not go on.
    pub since_us: i64,
    /// Longest time that a window or an acknowledgement that is held back explains.
    pub longest_us: i64,
}

/// Stream bytes that others sent between a request's last packet and its response's first: the response may have been
/// ready, and have waited for its turn. A log without the application's events cannot tell.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Turn {
    /// Stream bytes of the connection that had been sent then.
    before: u64,
    /// What others sent until the response's first byte.
    others: u64,
}

impl Turn {
    /// More of the request arrived, when the connection had sent so many stream bytes.
    pub fn begin(&mut self, sent: u64) {
        self.before = sent;
    }

    /// The response's first byte goes out, after so many.
    pub fn end(&mut self, sent: u64) {
        self.others = sent.saturating_sub(self.before);
    }

    /// As much as a packet of others went first.
    pub fn may_have_waited(&self, packet: u64) -> bool {
        self.others >= packet.max(1)
    }
}

/// Data of a stream that waits.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Ready {
    /// Since when.
    pub since_us: i64,
    /// How long a pacer may make it wait after what was sent then.
    pub paced_us: u64,
    /// Since when others had its turn, if their packets have passed it.
    pub passed_us: Option<i64>,
    /// Bytes on their way then: this stream's.
    pub own: u64,
    /// And all.
    pub in_flight: u64,
}

impl Ready {
    /// The share of a wait in which others' bytes were on their way: alone, the stream would have had that room.
    pub fn of_others(&self, us: u64) -> u64 {
        let own = u128::from(us) * u128::from(self.own) / u128::from(self.in_flight.max(1));
        us.saturating_sub(own as u64)
    }
}

/// What HTTP frames say.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[expect(missing_docs, reason = "named after the columns")]
pub struct Http {
    pub method: Option<String>,
    pub authority: Option<String>,
    pub path: Option<String>,
    pub status: Option<u64>,
    pub external_id: Option<String>,
}

/// A loss that was repaired.
#[derive(Clone, Debug)]
pub struct Repair {
    /// The loss.
    pub loss: Loss,
    /// Bytes that were lost.
    pub bytes: u64,
    /// When all of it was acknowledged.
    pub end_us: i64,
}

impl Stream {
    /// Intervals and gaps that no sweep has passed.
    pub fn undecided(&self) -> usize {
        self.intervals.len() + self.gaps.len()
    }

    /// Data of ours may be waiting: the answer has begun and its FIN is not out. (`eom` is queued, not sent.)
    pub fn may_wait(&self) -> bool {
        self.marks.response_start_us.is_some() && self.sent.fin.is_none() && self.end_is.is_empty()
    }

    /// Bytes of packets on their way that carry it, with what headers and tags add: a sixteenth at most of full ones.
    pub fn in_flight(&self) -> u64 {
        let data = self.sent.highest.saturating_sub(self.sent.done.length());
        data.saturating_add(data / 16)
    }

    /// Data of ours waits, for all that is known.
    pub fn is_hungry(&self) -> bool {
        self.may_wait() && self.queue.empty_since.is_none()
    }

    /// Ends the stream.
    pub fn end(&mut self, time_us: i64, why: &str, complete: bool) {
        if self.end_is.is_empty() {
            self.marks.end_us = time_us.max(self.marks.start_us);
            why.clone_into(&mut self.end_is);
            self.complete = complete;
        }
    }

    /// Bytes of ours were lost; `is_by_probe`: what came back after a probe timeout shows it.
    pub fn lose(&mut self, packet: &Sent, chunk: &Chunk, now_us: i64, trigger: &str, is_by_probe: bool) {
        if self.sent.done.covers(chunk.from, chunk.to) && (self.sent.fin_done || !chunk.fin) {
            return;
        }
        let detection = now_us.abs_diff(packet.time_us);
        self.detection_us = self.detection_us.max(Some(detection));
        self.losses.push(Loss {
            from: chunk.from,
            to: chunk.to,
            fin: chunk.fin,
            number: packet.number,
            sent_us: packet.time_us,
            sent_seq: packet.seq,
            due_us: packet.time_us.saturating_add(packet.rtt_us).min(now_us),
            detected_us: now_us,
            trigger: trigger.to_owned(),
            resent_us: None,
            resent: 0,
            repaired: 0,
            is_by_probe,
        });
    }

    /// A packet of ours is taken for lost with all that it carried. False when none of that is missing, or what is
    /// was known to be lost.
    pub fn infer_lost(&mut self, packet: &Sent, now_us: i64) -> bool {
        let (id, before) = (self.id, self.losses.len());
        if self.losses.iter().any(|loss| loss.number == packet.number) {
            return false;
        }
        for chunk in packet.chunks().filter(|chunk| chunk.stream_id == id) {
            if !self.losses[..before].iter().any(|loss| chunk.meets(loss.from, loss.to)) {
                self.lose(packet, chunk, now_us, "inferred", false);
            }
        }
        self.losses.len() > before
    }

    /// A chunk goes out (again): losses it mends are being repaired.
    pub fn resend(&mut self, chunk: &Chunk, now_us: i64) -> bool {
        let mut mends = false;
        for loss in &mut self.losses {
            let overlaps = chunk.from < loss.to && loss.from < chunk.to;
            let touches = loss.from == loss.to && chunk.from <= loss.from && loss.from <= chunk.to;
            if overlaps || touches || (loss.fin && chunk.fin) {
                loss.resent_us.get_or_insert(now_us);
                // A lost packet's bytes may go out again in two: its first byte counts the repetitions.
                loss.resent += u32::from(chunk.from <= loss.from);
                mends = true;
            }
        }
        mends
    }

    /// A chunk of ours was acknowledged: gives the losses that this repaired, one for a packet, when the last of what it
    /// carried is.
    pub fn acknowledge(&mut self, chunk: &Chunk, now_us: i64) -> Vec<Repair> {
        self.sent.done.add(chunk.from, chunk.to);
        self.sent.fin_done |= chunk.fin;
        let (done, fin_done) = (&self.sent.done, self.sent.fin_done);
        let is_repaired = |loss: &mut Loss| done.covers(loss.from, loss.to) && (!loss.fin || fin_done);
        let mut repairs: Vec<Repair> = Vec::new();
        for loss in self.losses.extract_if(.., is_repaired).collect::<Vec<_>>() {
            // Nothing came back, and the answer to the probe showed what was missing: all of it is the timeout's.
            let cause = if loss.is_by_probe { Cause::Pto } else { Cause::LossRecovery };
            self.intervals.push(Interval { cause, start_us: loss.due_us, end_us: now_us });
            let bytes = (loss.to - loss.from).saturating_add(loss.repaired);
            if let Some(rest) = self.losses.iter_mut().find(|rest| rest.number == loss.number) {
                rest.repaired = rest.repaired.saturating_add(bytes);
                rest.resent = rest.resent.max(loss.resent);
                rest.resent_us = rest.resent_us.into_iter().chain(loss.resent_us).min();
            } else if let Some(known) = repairs.iter_mut().find(|known| known.loss.number == loss.number) {
                known.bytes = known.bytes.saturating_add(bytes);
                known.loss.resent = known.loss.resent.max(loss.resent);
            } else {
                repairs.push(Repair { bytes, loss, end_us: now_us });
            }
        }
        repairs
    }

    /// The packet was declared lost and arrived all the same: nothing had to be repaired (RFC 9002, 6.1: "spuriously
    /// declared as lost"). True when its bytes still waited for a repair.
    pub fn was_not_lost(&mut self, number: u64) -> bool {
        let before = self.losses.len();
        self.losses.retain(|loss| loss.number != number);
        self.losses.len() < before
    }

    /// A chunk of the peer's arrived: opens or closes the wait for a gap. Nothing of the stream for longer than `silence` says
    /// is a silence: the peer, or the path, had nothing for it.
    pub fn receive(&mut self, chunk: &Chunk, now_us: i64, silence: Option<Silence>) {
        let arrived = self.arrived_us;
        if chunk.to > self.received.highest {
            self.arrived_us = Some(now_us);
        }
        if let (Some(arrived), Some(silence)) = (arrived, silence)
            && self.gap_since.is_none()
        {
            let start_us = arrived.max(silence.since_us);
            if now_us.saturating_sub(start_us) > silence.longest_us {
                self.intervals.push(Interval { cause: Cause::RemoteWait, start_us, end_us: now_us });
            }
        }
        self.received.extend(chunk);
        self.received.done.add(chunk.from, chunk.to);
        self.received.fin_done |= chunk.fin;
        match (self.received.done.has_gap(), self.gap_since) {
            (true, None) => self.gap_since = Some(now_us),
            (false, Some(since)) => {
                self.dead_us += now_us.abs_diff(arrived.unwrap_or(since).max(since));
                self.intervals.push(Interval { cause: Cause::ReceiverHol, start_us: since, end_us: now_us });
                self.gap_since = None;
                self.arrived_us = Some(now_us);
            }
            _ => {}
        }
    }

    /// Notes that a condition was inferred.
    pub fn infer(&mut self, cause: Cause) {
        if !self.inferred.contains(&cause) {
            self.inferred.push(cause);
        }
    }
}
