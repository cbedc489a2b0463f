//! One request stream: its marks in time, what was received, sent, acknowledged and lost of it, and what its time was
//! spent on.

use crate::event::Event;
use crate::fold::attribution::Certain;
use crate::fold::attribution::history::Shared;
use crate::fold::attribution::parts::Marks;
use crate::fold::attribution::saves::{Room, Saves, Transfer};
use crate::fold::attribution::timeline::{DecisionSpan, Timeline};
use crate::fold::attribution::trust::Trust;
use crate::fold::cause::{Cause, Interval};
use crate::fold::credit::StreamCredit;
use crate::fold::moment::Moment;
use crate::fold::recovery::SpaceId;
use crate::fold::recovery::holes::Hole;
use crate::fold::recovery::packets::{Chunk, Looks, Sent};
use crate::fold::recovery::rtt::{RoundTrip, Rtt};
use crate::fold::requests::arrivals::{Arrivals, SilenceThreshold};
use crate::fold::requests::http::{self, Http};
use crate::fold::requests::imputation::{Imputation, Missing};
use crate::fold::requests::losses::{Detection, Losses, Repair};
use crate::fold::requests::queue::{HandedOver, Queue, StreamTurn, Stretch};
use crate::fold::requests::side::Side;
use crate::fold::requests::wait::{Explained, Sender, Wait};
use crate::fold::stated_waits::StatedWaits;
use crate::fold::window::pacer::PacingDelay;
use crate::record::columns::streams::{self, Streams};
use crate::record::rows::Row;
use get_size2::GetSize;
use serde::{Deserialize, Serialize};

/// Why a request's end is where it is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, GetSize)]
pub enum RequestEnd {
    /// Every byte of the response was acknowledged.
    Acked,
    /// Every byte of it was received.
    Received,
    /// It was reset.
    Reset,
    /// Its last packet, or the acknowledgement of that, has no record; the end follows from other records.
    Imputed,
    /// Every byte of it was sent, and only acknowledgements are missing.
    LastByte,
    /// The last event that names it, in a log that shows no more of it.
    LastEvent,
    /// The log shows no ends of streams: the last byte is taken as the end.
    NotLogged,
    /// It was open when the trace ended.
    TraceEnd,
}

impl RequestEnd {
    /// Name in `end_is`.
    pub fn name(self) -> &'static str {
        match self {
            Self::Acked => "acked",
            Self::Received => "received",
            Self::Reset => "reset",
            Self::Imputed => "imputed",
            Self::LastByte => "last_byte",
            Self::LastEvent => "last_event",
            Self::NotLogged => "end_not_logged",
            Self::TraceEnd => "trace_end",
        }
    }
}

/// Stream bytes that other streams sent between a request's last packet and its response's first: the response may have
/// been ready and have waited for its turn. A log without the application's events cannot tell.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, GetSize)]
struct Others {
    /// Stream bytes of the connection that had been sent when more of the request arrived.
    before: u64,
    /// What others sent until the response's first byte.
    bytes: u64,
}

/// A stream that is open, or ended a moment ago.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, GetSize)]
pub struct Stream {
    id: u64,
    /// Requests that were opened before it.
    ordinal: u64,
    marks: Marks,
    /// `start_us` was computed, not seen.
    is_start_inferred: bool,
    /// None while it is open.
    end: Option<RequestEnd>,
    /// It ended within the trace, by a reset too.
    is_complete: bool,
    /// The application queued the end (rows without frames).
    is_end_queued: bool,
    /// Packets that had been sent when it was told last (rows without frames).
    rows_told: u64,
    /// What the peer sent.
    received: Side,
    /// What we sent; its done bytes are the acknowledged ones.
    sent: Side,
    losses: Losses,
    timeline: Timeline,
    credit: StreamCredit,
    stated_waits: StatedWaits,
    arrivals: Arrivals,
    /// First event that names it.
    first_seq: u64,
    /// Last event that names it.
    last_seq: u64,
    /// What its HTTP frames say, in a log that has them.
    http: Option<Box<Http>>,
    /// Last event that named it, in a log that shows no more of it than that.
    named_us: Option<i64>,
    /// Round trips when it ended.
    rtt: RoundTrip,
    queue: Queue,
    transfer: Transfer,
    /// Its response began when the pacer allowed it; the pacer already held data back when the request was complete.
    begins_as_paced: bool,
    others: Others,
    imputation: Imputation,
}

/// What is known as a chunk of ours goes out.
#[derive(Clone, Copy, Debug, Default)]
pub struct Outgoing {
    /// It is a response's chunk.
    pub is_server: bool,
    /// The window's room, if this is the response's first packet.
    pub room: Room,
    /// Stream bytes that the connection had sent before.
    pub sent_before: u64,
    /// The packet's number, where the log gives it.
    pub number: Option<u64>,
}

/// What a chunk of ours was.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct SentChunk {
    /// Some of it went out for the first time.
    pub is_new: bool,
    /// Bytes that were sent for the first time.
    pub grown: u64,
    /// Bytes that had been sent before.
    pub repeated: u64,
    /// It repairs a loss.
    pub mends: bool,
    /// Packets that are taken for lost because of it: number space and packet number.
    pub inferred: Vec<(SpaceId, u64)>,
    /// Bytes of those packets.
    pub inferred_bytes: u64,
    /// Most retransmissions of a loss of the stream.
    pub most_resent: u64,
}

impl Stream {
    /// Opens a stream after `ordinal` others; the last packet of the peer before came at `received_us`.
    pub fn open(id: u64, ordinal: u64, now: Moment, credit: Option<u64>, received_us: Option<i64>) -> Self {
        Self {
            id,
            ordinal,
            marks: Marks { start_us: now.us, end_us: now.us, ..Marks::default() },
            is_start_inferred: false,
            end: None,
            is_complete: false,
            is_end_queued: false,
            rows_told: 0,
            received: Side::default(),
            sent: Side::default(),
            losses: Losses::default(),
            timeline: Timeline::default(),
            credit: StreamCredit::new(credit),
            stated_waits: StatedWaits::default(),
            arrivals: Arrivals::default(),
            first_seq: now.seq,
            last_seq: 0,
            http: None,
            named_us: None,
            rtt: RoundTrip::default(),
            queue: Queue::default(),
            transfer: Transfer::default(),
            begins_as_paced: false,
            others: Others::default(),
            imputation: Imputation::begin(received_us),
        }
    }

    /// An event names it.
    pub fn touch(&mut self, seq: u64) {
        self.last_seq = seq;
    }

    /// An event of a log that shows no more of it names it.
    pub fn name(&mut self, now_us: i64) {
        self.named_us = Some(now_us);
    }

    /// Its id.
    pub fn id(&self) -> u64 {
        self.id
    }

    /// Requests that were opened before it.
    pub fn ordinal(&self) -> u64 {
        self.ordinal
    }

    /// Its clock.
    pub fn marks(&self) -> &Marks {
        &self.marks
    }

    /// It has not ended.
    pub fn is_open(&self) -> bool {
        self.end.is_none()
    }

    /// What we sent of it.
    pub fn sent(&self) -> &Side {
        &self.sent
    }

    /// What held it up.
    pub fn timeline(&self) -> &Timeline {
        &self.timeline
    }

    /// What held it up, to be added to.
    pub fn timeline_mut(&mut self) -> &mut Timeline {
        &mut self.timeline
    }

    /// What its response had to work with.
    pub fn transfer(&self) -> &Transfer {
        &self.transfer
    }

    /// Credit of the stream.
    pub fn credit_mut(&mut self) -> &mut StreamCredit {
        &mut self.credit
    }

    /// Waits of its data that the log states.
    pub fn stated_waits(&self) -> &StatedWaits {
        &self.stated_waits
    }

    /// Waits of its data that the log states, to be changed.
    pub fn stated_waits_mut(&mut self) -> &mut StatedWaits {
        &mut self.stated_waits
    }

    /// The log states that its data waited. On a client only the limit of streams is a cause of its own; other waits
    /// are part of `upload`.
    pub fn waited(&mut self, interval: Interval, is_client: bool) {
        if !is_client {
            self.timeline.hold(interval);
        } else if interval.cause == Cause::StreamLimit {
            let start_us = interval.start_us.max(self.marks.start_us);
            // The record may be late: once the request was sent, the limit did not hold it back.
            let end_us = self.marks.request_end_us.map_or(interval.end_us, |sent_us| sent_us.min(interval.end_us));
            let us = end_us.saturating_sub(start_us).max(0).unsigned_abs();
            self.marks.limited_us = self.marks.limited_us.saturating_add(us);
        }
    }

    /// Since when its credit is used up.
    pub fn blocked_since(&self) -> Option<Moment> {
        self.credit.blocked_since()
    }

    /// What the application queued of it.
    pub fn queue(&self) -> &Queue {
        &self.queue
    }

    /// What the application queued of it, to be changed.
    pub fn queue_mut(&mut self) -> &mut Queue {
        &mut self.queue
    }

    /// Time with a gap in which no new bytes arrived.
    pub fn dead_us(&self) -> u64 {
        self.arrivals.dead_us()
    }

    /// Data of ours may be waiting: the response has begun and its FIN is not sent. (A queued end is not a sent one.)
    pub fn may_wait(&self) -> bool {
        self.marks.response_start_us.is_some() && !self.sent.has_fin() && self.is_open()
    }

    /// Data of ours waits, as far as is known.
    pub fn is_hungry(&self) -> bool {
        self.may_wait() && self.queue.empty_since().is_none()
    }

    /// More of the response was to come when it ended.
    pub fn is_unfinished(&self) -> bool {
        !self.sent.has_fin() && self.end != Some(RequestEnd::NotLogged)
    }

    /// Minimum RTT when it ended. On a server it is known only where the last flight was acknowledged.
    pub fn last_min_rtt_us(&self, is_client: bool) -> Option<i64> {
        self.rtt.min_us.filter(|_| matches!(self.end, Some(RequestEnd::Acked | RequestEnd::Imputed)) || is_client)
    }

    /// Other streams sent a packet's bytes at least between the request and the response.
    pub fn may_have_waited_for_its_turn(&self, packet: u64) -> bool {
        self.others.bytes >= packet.max(1)
    }

    /// Data of it was sent by a timer, just when the pacer allowed it.
    pub fn goes_on_as_paced(&mut self, now_us: i64, owed: PacingDelay) {
        let is_first = self.marks.response_start_us == Some(now_us);
        // Nothing was sent since the request was complete; otherwise the response may have waited for its turn.
        let was_complete = |end_us: i64| owed.from_us <= end_us && end_us < owed.until_us.min(now_us);
        self.begins_as_paced |= is_first && self.marks.request_end_us.is_some_and(was_complete);
    }

    /// The response may have been ready before, and have waited for the pacer.
    pub fn may_have_waited_for_the_pacer(&self) -> bool {
        self.begins_as_paced
    }

    /// A chunk of the peer's arrives, when the connection has sent `sent` stream bytes. True when it completes a
    /// response.
    pub fn receive(
        &mut self,
        chunk: &Chunk,
        now: Moment,
        is_server: bool,
        sent: u64,
        silence: Option<SilenceThreshold>,
        number: Option<u64>,
    ) -> bool {
        let now_us = now.us;
        if !is_server && chunk.to >= self.received.highest() {
            self.imputation.see(chunk, number);
        }
        if let Some(over) = self.arrivals.receive(&mut self.received, chunk, now_us, silence) {
            self.timeline.hold(over);
        }
        self.others.before = sent;
        self.received.packet(now.seq);
        if is_server {
            if self.received.is_whole() {
                self.marks.request_end_us.get_or_insert(now_us);
            }
            return false;
        }
        self.marks.first_byte_us.get_or_insert(now_us);
        self.marks.last_byte_us = Some(now_us);
        self.received.is_whole() && self.is_open()
    }

    /// The request that opens the stream now was in packets that could not be decrypted since `since_us`.
    pub fn was_unreadable_since(&mut self, since_us: i64, now_us: i64) {
        if self.marks.start_us == now_us {
            self.marks.start_us = since_us;
            self.marks.readable_us = Some(now_us);
            self.is_start_inferred = true;
        }
    }

    /// A chunk of ours goes out; `carriers` are packets on their way that carried some of it before, in a log that does
    /// not say what is lost.
    pub fn send(
        &mut self,
        chunk: &Chunk,
        now: Moment,
        out: Outgoing,
        carriers: &[(SpaceId, &Sent)],
        looks: &mut Looks,
    ) -> SentChunk {
        let before = (self.sent.highest(), self.sent.repeated());
        let mut done = SentChunk::default();
        // This stack does not log losses: what it sends again, it took for lost (RFC 9002, 6).
        for (space_id, packet) in carriers {
            if self.losses.infer(&self.sent, self.id, packet, now.us, looks) {
                done.inferred.push((*space_id, packet.number));
                done.inferred_bytes = done.inferred_bytes.saturating_add(packet.bytes);
            }
        }
        if !done.inferred.is_empty() {
            self.timeline.infer(Cause::LossRecovery);
            self.losses.count(done.inferred.len() as u64);
        }
        done.mends = self.losses.resend(chunk, now.us);
        done.most_resent = self.losses.most_resent();
        done.is_new = self.sent.extend(chunk);
        self.imputation.see(chunk, out.number.filter(|_| done.is_new));
        self.imputation.go_out(now.us);
        done.grown = self.sent.highest() - before.0;
        done.repeated = self.sent.repeated() - before.1;
        let is_first = self.sent.packets() == 0;
        self.sent.packet(now.seq);
        if done.is_new {
            self.marks.last_byte_us = Some(now.us);
        }
        if out.is_server {
            if self.marks.response_start_us.is_none() {
                self.marks.response_start_us = Some(now.us);
                self.transfer = if is_first { Transfer::begin(out.room) } else { Transfer::default() };
                self.others.bytes = out.sent_before.saturating_sub(self.others.before);
            }
            self.marks.first_byte_us.get_or_insert(now.us);
            if chunk.fin {
                self.queue.end_alone();
            }
        } else if done.is_new {
            // The client's request ends with the last first-time send of its data or FIN.
            self.marks.request_end_us = Some(now.us);
        }
        if !self.sent.has_fin() {
            self.credit.send(self.sent.highest(), now);
        }
        done
    }

    /// A chunk of ours was acknowledged, with the smoothed RTT `smoothed_us`: gives the repairs, and whether the whole
    /// stream is acknowledged with it.
    pub fn acknowledge(&mut self, chunk: &Chunk, now_us: i64, smoothed_us: u64) -> (Vec<Repair>, bool) {
        self.sent.take(chunk);
        let timeline = &mut self.timeline;
        let repairs = self.losses.repair(&self.sent, chunk, now_us, |interval| timeline.hold(interval));
        if !repairs.is_empty() {
            self.transfer.repair(smoothed_us);
        }
        (repairs, self.sent.is_whole())
    }

    /// A packet without a record, of `hole`, was acknowledged: gives the lost data that was sent again in it.
    pub fn resend_unseen(&mut self, hole: &Hole) -> Vec<Chunk> {
        let within = (hole.after_us, hole.before_us);
        let chunks = self.losses.resend_unseen(self.id, within, self.imputation.largest_chunk());
        if !chunks.is_empty() {
            self.imputation.note();
            self.imputation.go_out(hole.after_us);
        }
        chunks
    }

    /// Something that was lost has not gone out again.
    pub fn is_any_unsent(&self) -> bool {
        self.losses.is_any_unsent()
    }

    /// A packet with a chunk of it was declared lost; a copy of that may have been acknowledged right before
    /// (`is_repaired`).
    pub fn lose(&mut self, packet: &Sent, chunk: &Chunk, found: Detection<'_>, is_repaired: bool) {
        self.losses.count_packet(packet.number);
        // If it is a copy, the first packet with these bytes is in flight or was lost before.
        if !packet.repetition.is_copy() {
            self.losses.lose(&self.sent, packet, chunk, found, is_repaired);
        }
    }

    /// The packet was declared lost and arrived all the same. True when its bytes still waited for a repair.
    pub fn was_not_lost(&mut self, number: u64) -> bool {
        self.losses.was_not_lost(number)
    }

    /// The timeout that fired at `fired_us` was spurious.
    pub fn not_by_probe(&mut self, fired_us: i64) {
        self.losses.not_by_probe(fired_us);
    }

    /// The response begins, in the view of the application, unless it has.
    pub fn begin_response(&mut self, now_us: i64, room: Room) {
        if self.marks.response_start_us.is_none() {
            self.marks.response_start_us = Some(now_us);
            self.transfer = Transfer::begin(room);
        }
    }

    /// A HEADERS frame.
    pub fn headers(&mut self, event: &Event) {
        http::headers(event, self.http.get_or_insert_default());
    }

    /// The application queues more of the response. True when it is news.
    pub fn hand_over(&mut self, more: HandedOver) -> bool {
        self.queue.hand_over(more, self.sent.highest())
    }

    /// Data of it was sent. If it had waited, adds what explains the wait to the timeline, and gives it.
    pub fn explain(&mut self, sender: &Sender, other_us: Option<i64>, flight: u64) -> Option<Explained> {
        self.transfer.send(flight);
        let ready = self.queue.ready().filter(|ready| ready.since_us < sender.now_us)?;
        let is_known = self.queue.is_known();
        let explained = Wait { ready, is_known, other_us }.explain(sender);
        if let Some((start_us, end_us)) = explained.behind {
            self.timeline.hold(Interval::of(Cause::Scheduling, start_us, end_us));
            if !is_known {
                self.timeline.infer(Cause::Scheduling);
            }
        }
        if explained.may_be_the_applications() {
            self.timeline.infer(Cause::AppLimited);
        }
        explained.gaps.into_iter().flatten().for_each(|gap| self.timeline.gap(gap));
        Some(explained)
    }

    /// The path was the bottleneck and delivered at this rate.
    pub fn measure(&mut self, rate: Option<f64>) {
        self.transfer.measured(rate);
    }

    /// Data of it was sent: updates whether more of it waits.
    pub fn went_out(&mut self, now: Moment) {
        let may_wait = self.may_wait();
        self.queue.went_out(self.sent.highest(), may_wait, now);
    }

    /// Streams sent, this one among them (`has_sent`) or not; `in_flight` is of all streams. True when none has passed
    /// it.
    pub fn pass(&mut self, has_sent: bool, began_us: i64, in_flight: u64, has_rate: bool) -> bool {
        let own = if has_rate { self.sent.in_flight().min(in_flight) } else { 0 };
        self.queue.pass(has_sent, StreamTurn { began_us, own, in_flight })
    }

    /// The stretch behind other streams that does not go on any more.
    pub fn end_behind(&mut self) -> Option<Stretch> {
        self.queue.end_behind()
    }

    /// Rows without frames: it was created so long ago.
    pub fn began(&mut self, age_us: i64, now_us: i64) {
        // Never later than the first record of the stream: a start after the end would give no duration.
        self.marks.start_us = self.marks.start_us.min(now_us.saturating_sub(age_us));
        self.is_start_inferred = true;
    }

    /// Rows without frames: all of the request has come.
    pub fn request_ended(&mut self, now_us: i64) {
        self.marks.request_end_us.get_or_insert(now_us);
    }

    /// Rows without frames: the response's headers were queued.
    pub fn row_headers(&mut self, now_us: i64, room: Room) {
        self.marks.response_start_us.get_or_insert(now_us);
        self.transfer = Transfer::begin(room);
    }

    /// Rows without frames: the application has queued the end.
    pub fn queue_end(&mut self) {
        self.is_end_queued = true;
    }

    /// Rows without frames: `sent` packets have been sent by now, the last of them at `last_us`. Those since its
    /// response began may have carried some of it.
    pub fn rows_sent(&mut self, sent: u64, last_us: i64) {
        let more = sent.saturating_sub(std::mem::replace(&mut self.rows_told, sent));
        if more > 0 && self.is_open() && self.marks.response_start_us.is_some() {
            self.marks.first_byte_us.get_or_insert(last_us);
            self.marks.last_byte_us = Some(last_us);
            self.sent.add_packets(more);
        }
    }

    /// Rows without frames: its response has begun, and nothing of it has been sent.
    pub fn is_begun(&self) -> bool {
        self.is_open() && self.marks.response_start_us.is_some() && self.marks.first_byte_us.is_none()
    }

    /// Rows without frames: its response is queued whole.
    pub fn is_whole(&self) -> bool {
        self.is_open() && self.is_end_queued
    }

    /// Rows without frames: all that was queued was acknowledged, as nothing has been in flight since.
    pub fn is_row_done(&self, acked_us: i64) -> bool {
        let is_out = self.marks.last_byte_us.is_some_and(|last| last <= acked_us);
        self.is_whole() && self.blocked_since().is_none() && is_out
    }

    /// Ends it, if it has not ended; `rtt` has the round trips of this moment.
    pub fn end_now(&mut self, now_us: i64, time_us: i64, why: RequestEnd, rtt: &Rtt) {
        if let Some(since) = self.queue.end_empty() {
            // Cut off while the application had nothing.
            self.timeline.hold(Interval::of(Cause::AppLimited, since.us, now_us));
        }
        self.rtt = rtt.round_trip();
        self.transfer.end(rtt.ack_delay_us());
        self.end(time_us, why, true);
    }

    /// Ends it, if it has not ended.
    pub fn end(&mut self, time_us: i64, why: RequestEnd, is_complete: bool) {
        if self.end.is_none() {
            self.marks.end_us = time_us.max(self.marks.start_us);
            self.end = Some(why);
            self.is_complete = is_complete;
        }
    }

    /// The trace ends while it is open; `has_frames` and `has_fins`: what the log shows.
    pub fn end_with_trace(&mut self, now_us: i64, rtt: RoundTrip, is_server: bool, has_frames: bool, has_fins: bool) {
        self.rtt = rtt;
        // The whole response was sent and only acknowledgements are missing: the request ended with the last byte.
        let is_out = is_server && (self.sent.has_fin() || self.is_end_queued);
        match (self.marks.last_byte_us, self.named_us) {
            (Some(last_us), _) if is_out => self.end(last_us, RequestEnd::LastByte, true),
            (None, Some(named_us)) if !has_frames => self.end(named_us, RequestEnd::LastEvent, false),
            (Some(last_us), _) if has_frames && !has_fins => self.end(last_us, RequestEnd::NotLogged, false),
            _ => self.end(now_us, RequestEnd::TraceEnd, false),
        }
    }

    /// `chunk` was sent in a packet without a record. Gives by how many bytes that extends what was sent.
    pub fn impute_sent(&mut self, chunk: &Chunk) -> u64 {
        let before = self.sent.highest();
        self.sent.impute(chunk);
        self.imputation.note();
        self.sent.highest() - before
    }

    /// The clock made a step while it was open: its duration is not known.
    pub fn note_clock_step(&mut self) {
        if self.is_open() {
            self.imputation.note_clock_step();
        }
    }

    /// What is imputed of it.
    pub fn imputation(&self) -> &Imputation {
        &self.imputation
    }

    /// A chunk of the peer's comes in the packet right after packets without a record. True when it skips bytes.
    pub fn pass_over(&mut self, chunk: &Chunk, hole: &Hole) -> bool {
        self.imputation.pass_over(self.received.highest(), chunk, hole)
    }

    /// Packets of the peer without a record did come: gives what they brought of the stream.
    pub fn came(&mut self, hole: &Hole) -> Option<Chunk> {
        self.imputation.came(self.id, hole)
    }

    /// An HTTP frame that came from the peer names it first.
    pub fn name_by_http(&mut self) {
        self.imputation.name_by_http();
    }

    /// The first bytes of a request have no record, in a log that shows those of others. True when they are imputed: it
    /// began between the peer's previous packet and the first record that names it.
    pub fn look_for_start(&mut self) -> bool {
        if self.received.has(0, 1, false) || self.is_start_inferred {
            return false;
        }
        self.is_start_inferred = true;
        self.imputation.begin_missing(self.marks.start_us);
        true
    }

    /// The end of a request has no record: it is taken to have come at the start of the last time beside missing
    /// records before the response.
    pub fn look_for_request_end(&mut self, shared: Shared<'_>) {
        let (start_us, answered_us) = (self.marks.start_us, self.marks.answered_us());
        if self.marks.request_end_us.is_some() {
            return;
        }
        let within = |doubt: &&Interval| doubt.start_us < answered_us;
        let doubts = self.timeline.doubts_after(start_us, shared).filter(within);
        if let Some(end_us) = doubts.map(|doubt| doubt.start_us.clamp(start_us, answered_us)).max() {
            self.marks.request_end_us = Some(end_us);
            self.imputation.note();
        }
    }

    /// The packet that ends it at `now_us` comes right after packets without a record.
    pub fn end_behind_hole(&mut self, hole: &Hole, now_us: i64) {
        if self.is_open() && hole.before_us == now_us {
            self.imputation.end_behind(hole.after_us);
        }
    }

    /// Records are missing: one of them may have ended it, at the earliest `min_rtt_us` after its last send.
    pub fn doubt_end(&mut self, min_rtt_us: i64) {
        if self.end == Some(RequestEnd::Acked) {
            self.imputation.doubt_end(self.marks.end_us, min_rtt_us);
        }
    }

    /// No record ends the response, though the log goes on, and records are missing.
    pub fn look_for_end(&mut self, missing: &Missing<'_>) {
        let Some(last_us) = self.marks.last_byte_us else { return };
        let is_out = missing.is_server && (self.sent.has_fin() || self.is_end_queued);
        let end_us = if is_out {
            let last_us = self.imputation.last_out_us().map_or(last_us, |out_us| out_us.max(last_us));
            self.imputation.end_after(last_us, self.timeline.doubts_after(last_us, missing.shared), missing)
        } else {
            let has_all = if missing.is_server {
                !self.sent.has_fin() && self.sent.in_flight() == 0
            } else {
                !self.received.has_fin() && !self.received.has_gap()
            };
            self.imputation.end_with(last_us, missing.hole.filter(|_| has_all && missing.has_fins), missing)
        };
        if let Some(end_us) = end_us {
            self.end(end_us, RequestEnd::Imputed, true);
        }
    }

    /// It is taken to have waited until now for `cause`, which stops it now.
    pub fn wait_until(&mut self, now_us: i64, cause: Cause, start_us: i64) {
        self.timeline.hold(Interval::of(cause, start_us, now_us));
        self.timeline.infer(cause);
    }

    /// Causes of its own that stop it now, and since when; `is_told`: the log states where credit is used up.
    pub fn stops(&self, is_told: bool) -> Vec<(Cause, i64)> {
        let losses = self.losses.due_us().map(|due_us| (Cause::LossRecovery, due_us));
        let blocked = self.blocked_since().filter(|_| is_told).map(|since| (Cause::StreamFlowControl, since.us));
        let empty = self.queue.empty_since().map(|since| (Cause::AppLimited, since.us));
        let gap = self.arrivals.gap_since_us().map(|since_us| (Cause::ReceiverHol, since_us));
        losses.chain(blocked).chain(empty).chain(gap).collect()
    }

    /// Fills in round trips that were not known when it ended: their first samples may have come with the
    /// acknowledgement that ended it.
    pub fn settle_rtt(&mut self, rtt: RoundTrip) {
        self.rtt = self.rtt.or(rtt);
    }

    /// It ended so long ago that no HTTP frame of it comes any more.
    pub fn is_over(&self, now_us: i64) -> bool {
        self.marks.end_us.saturating_add(crate::fold::TURN_US) < now_us
    }

    /// It ended within the trace, by a reset too.
    pub fn is_complete(&self) -> bool {
        self.is_complete
    }

    /// The time of the response up to which causes can be decided; `None` before the response has begun, as conditions
    /// that ended before do not matter to it.
    fn span(&mut self, certain: Certain) -> Option<DecisionSpan> {
        let begin = if certain.is_client { self.marks.first_byte_us } else { self.marks.response_start_us };
        self.timeline.begin(begin?.max(self.marks.start_us));
        let own = self.losses.first_due_us().into_iter().chain(self.blocked_since().map(|since| since.us));
        let own = own.chain(self.stated_waits.since_us());
        let own = own.chain(self.arrivals.gap_since_us()).chain(self.queue.empty_since().map(|since| since.us));
        let own = own.chain(self.queue.ready().map(|ready| ready.since_us)).chain(self.marks.last_byte_us).min();
        let certain_us = own.map_or(certain.us, |own| own.min(certain.us));
        Some(DecisionSpan { certain_us, now_us: certain.now_us, last_byte_us: self.marks.last_byte_us })
    }

    /// Sums up what no later event can change; `most` intervals may stay undecided. Gives the steps that it took.
    pub fn sum_up(&mut self, shared: Shared<'_>, certain: Certain, most: usize) -> u64 {
        let span = self.span(certain);
        1 + span.map_or(0, |span| self.timeline.sum_up(span, most, shared))
    }

    /// The connection's history up to `until_us` is not kept; gives the steps that it took.
    pub fn leave_behind(&mut self, shared: Shared<'_>, certain: Certain, until_us: i64, most: usize) -> u64 {
        let span = self.span(certain);
        span.map_or(0, |span| self.timeline.leave_behind(until_us, span, most, shared))
    }

    /// From when on the connection's history is needed; `None` before the response begins.
    pub fn needs_from_us(&self) -> Option<i64> {
        self.timeline.has_begun().then(|| self.timeline.needs_from_us())
    }

    /// Losses that were looked at so far.
    pub fn steps(&self) -> u64 {
        self.losses.steps()
    }

    /// Its columns of its row; `started_at` is its start by the wall clock.
    pub fn write(&self, row: &mut Row<Streams>, started_at: Option<i64>, is_server: bool, saves: &Saves) {
        let marks = &self.marks;
        row.set(streams::STREAM_ID, self.id);
        row.set(streams::STARTED_AT, started_at);
        row.set(streams::START_US, marks.start_us);
        row.set(streams::REQUEST_END_US, marks.request_end_us);
        row.set(streams::RESPONSE_START_US, marks.response_start_us);
        row.set(streams::FIRST_BYTE_US, marks.first_byte_us);
        row.set(streams::LAST_BYTE_US, marks.last_byte_us);
        row.set(streams::END_US, marks.end_us);
        row.set(streams::START_IS, if self.is_start_inferred { "inferred" } else { "observed" });
        row.set(streams::END_IS, self.end.map_or("", RequestEnd::name));
        row.set(streams::COMPLETE, self.is_complete);
        row.set(streams::DURATION_US, marks.duration_us());
        self.http.as_deref().unwrap_or(&Http::default()).write(row);
        let (request, response) = if is_server { (&self.received, &self.sent) } else { (&self.sent, &self.received) };
        row.set(streams::REQUEST_BYTES, request.highest());
        row.set(streams::RESPONSE_BYTES, response.highest());
        row.set(streams::PACKETS, response.packets());
        row.set(streams::PACKETS_LOST, self.losses.packets());
        row.set(streams::RETRANSMITTED_BYTES, self.sent.repeated());
        row.set(streams::DETECTION_US, self.losses.detection_us());
        row.set(streams::RTT_US, self.rtt.smoothed_us.map(i64::unsigned_abs));
        row.set(streams::MIN_RTT_US, self.rtt.min_us.map(i64::unsigned_abs));
        row.set(streams::FIRST_SEQ, self.first_seq);
        row.set(streams::LAST_SEQ, self.last_seq);
        let sweep = self.timeline.sweep();
        Trust::of(sweep, marks, self.imputation.slack()).write(row);
        for cause in Cause::ALL {
            row.set(cause.column(), sweep.part(cause));
        }
        let named = |value: u64, cause: Cause| (value > 0).then(|| (cause.name().to_owned(), value));
        let held = Cause::ALL.into_iter().filter_map(|cause| named(sweep.overlapping(cause), cause));
        row.set(streams::OVERLAPPING, held.collect::<Vec<_>>());
        // A cause without a part saves nothing, except a slow path, which shows in other parts too.
        let saved = Cause::ALL.into_iter().filter_map(|cause| saves[cause as usize].map(|us| (cause, us)));
        let saved = saved.filter(|(cause, us)| sweep.part(*cause) > 0 || (*cause == Cause::Bandwidth && *us > 0));
        let saved = saved.map(|(cause, us)| (cause.name().to_owned(), us));
        row.set(streams::SAVES, saved.collect::<Vec<_>>());
    }
}
