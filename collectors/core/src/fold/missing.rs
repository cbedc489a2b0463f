//! Missing records are detected by the remaining ones: packet numbers have holes that are acknowledged, and stream data
//! is skipped that must have been sent. The content of such a packet is imputed where stream offsets show it. In the
//! time between the records before and after a hole, anything may have happened: that time is doubtful, and it widens
//! the bounds of a request's parts.

use crate::event::{Event, Frame};
use crate::fold::Fold;
use crate::fold::attribution::sweep::DOUBT;
use crate::fold::cause::Interval;
use crate::fold::connection::capability::Sight;
use crate::fold::damage::DamageKind;
use crate::fold::received::Arrival;
use crate::fold::recovery::holes::Hole;
use crate::fold::recovery::packets::{Chunk, Sent};
use crate::fold::recovery::rtt::INITIAL_RTT_US;
use crate::fold::recovery::{SpaceId, SpaceKind};
use crate::fold::requests::imputation::{Missing, share_out};
use crate::fold::requests::stream::Stream;
use crate::limits::IMPUTED;

/// What the frame says moves requests: an acknowledgement, or data of a stream.
fn matters(event: &Event, frame: &Frame) -> bool {
    let is_of = |word: &&[u8]| event.bytes(frame.frame_type) == *word;
    let words: [&[u8]; 8] =
        [b"", b"ack", b"ack_ecn", b"ack_mp", b"path_ack", b"stream", b"reset_stream", b"reset_stream_at"];
    frame.unread != 0 && words.iter().any(is_of)
}

impl Fold {
    /// Packets of ours are missing in the log.
    pub(super) fn sent_is_missing(&mut self, hole: &Hole) {
        self.damage.count(DamageKind::SentMissing, hole.packets());
        self.doubt(hole.after_us, hole.before_us);
    }

    /// Packets of ours without a record were acknowledged. They are taken to have carried lost data that was not sent
    /// again in any other packet.
    pub(super) fn unseen_is_acknowledged(&mut self, space_id: SpaceId, hole: &Hole) {
        self.sent_is_missing(hole);
        for number in (hole.from..=hole.to).take(IMPUTED as usize) {
            let chunks = self.requests.resend_unseen(hole);
            if chunks.is_empty() {
                return;
            }
            self.recovery.take_unsent(space_id, number);
            chunks.iter().for_each(|chunk| self.chunk_acknowledged(space_id, chunk));
        }
    }

    /// Packets of the peer are missing in the log: the stream data that they brought is known where bytes were skipped.
    pub(super) fn received_is_missing(&mut self, space_id: SpaceId, hole: &Hole) {
        self.damage.count(DamageKind::ReceivedMissing, hole.packets());
        self.doubt(hole.after_us, hole.before_us);
        if space_id.kind == SpaceKind::Application {
            let came = self.requests.came(hole);
            came.into_iter().for_each(|chunk| self.stream_received(chunk, Arrival::default()));
        }
    }

    /// The log's time goes back to `to_us`.
    pub(super) fn went_back(&mut self, to_us: i64) {
        self.damage.count(DamageKind::TimeWentBack, 1);
        self.doubt(to_us, self.now.us);
    }

    /// The log's clock made a step: how much time passed is not known.
    pub fn clock_made_a_step(&mut self) {
        self.damage.count(DamageKind::ClockStep, 1);
        self.requests.note_clock_step();
    }

    /// At the end of an instant, or of the trace: if a round trip by the records' times differs too much from the
    /// stated one, the log's clock made a step within it.
    pub(super) fn look_for_clock_step(&mut self, now_us: i64) {
        if let Some((since_us, until_us)) = self.recovery.clock_step(now_us) {
            self.doubt(since_us, until_us);
            self.clock_made_a_step();
        }
    }

    /// A frame of this packet says something that could not be read: what it would have changed, changed between the
    /// records before and after.
    pub(super) fn note_unread(&mut self, event: &Event) {
        let (before_us, now_us) = (self.now.us, event.time_us);
        if std::mem::take(&mut self.is_behind_unread) {
            self.doubt(before_us, now_us);
        }
        if !event.unread.is_empty() && event.is_packet() && event.frames.iter().any(|frame| matters(event, frame)) {
            self.damage.count(DamageKind::ValuesUnread, 1);
            self.is_behind_unread = true;
            if self.events > 0 {
                self.doubt(before_us, now_us);
            }
        }
    }

    /// Any cause may have held in this time.
    fn doubt(&mut self, start_us: i64, end_us: i64) {
        self.hold(Interval::of(DOUBT, start_us, end_us));
    }

    /// Data is sent that skips bytes: the skipped bytes were in packets without a record.
    pub(super) fn impute(&mut self, space_id: SpaceId, chunk: &Chunk) {
        let Some(stream) = self.requests.get(chunk.stream_id) else { return };
        let from = stream.sent().highest();
        if chunk.from <= from {
            return;
        }
        let (last, full) = (stream.imputation().last_number(), stream.imputation().largest_chunk());
        let holes = last.map(|last| self.recovery.unsent_behind(space_id, last)).unwrap_or_default();
        let imputed = share_out((from, chunk.from), full, &holes);
        if imputed.is_empty() {
            self.damage.count(DamageKind::DataMissing, 1);
        }
        for (number, from, to) in imputed {
            self.impute_packet(space_id, number, Chunk { stream_id: chunk.stream_id, from, to, fin: false });
        }
    }

    /// Imputes a packet. It is taken to have been sent as early as possible.
    fn impute_packet(&mut self, space_id: SpaceId, number: u64, chunk: Chunk) {
        let Some(hole) = self.recovery.take_unsent(space_id, number) else { return };
        if hole.acked_us.is_none() {
            self.sent_is_missing(&hole);
        }
        let data = chunk.to.saturating_sub(chunk.from);
        let packet = Sent {
            number,
            time_us: hole.after_us,
            seq: self.now.seq,
            bytes: data.saturating_add(data / 16).min(self.window.largest_packet()),
            in_flight: true,
            is_eliciting: true,
            is_imputed: true,
            rtt_us: self.recovery.rtt().round_trip().known_us().unwrap_or(0),
            stamp: self.delivery.stamp(),
            chunk: Some(chunk),
            ..Sent::default()
        };
        self.impute_chunk(&chunk);
        self.window.send(space_id.path, packet.bytes);
        self.recovery.send(space_id, packet);
        if hole.acked_us.is_some()
            && let Some(acked) = self.recovery.acknowledge_imputed(self.now.us, space_id, number)
        {
            self.newly_acknowledged(&acked);
        }
    }

    /// The record of a packet comes after it was imputed: what it carried is known now.
    pub(super) fn came_late(&mut self, space_id: SpaceId, packet: Sent) {
        let chunks: Vec<Chunk> = packet.chunks().copied().collect();
        let was_acked = self.recovery.replace_imputed(space_id, packet);
        for chunk in chunks {
            self.impute_chunk(&chunk);
            if was_acked {
                self.chunk_acknowledged(space_id, &chunk);
            }
        }
    }

    /// A chunk of ours was sent in a packet that has no record, or a late one.
    fn impute_chunk(&mut self, chunk: &Chunk) {
        if let Some(stream) = self.requests.get_mut(chunk.stream_id) {
            let grown = stream.impute_sent(chunk);
            self.credit.send(grown);
        }
    }

    /// A request is over; its first packet may have no record.
    pub(super) fn look_for_start(&mut self, stream: &mut Stream) {
        // A client begins its streams (RFC 9000, 2.1): a server that sends on one has received a request, whether or not
        // this log shows those of others.
        let shows_requests = self.seen.has(Sight::Requests) || self.seen.has(Sight::Frames);
        if self.is_server() && shows_requests && stream.look_for_start() {
            self.damage.count(DamageKind::RequestStartMissing, 1);
        }
    }

    /// A request is over, in a log with missing records: a missing acknowledgement may have ended it before the logged
    /// one.
    pub(super) fn look_for_sooner_end(&self, stream: &mut Stream) {
        if self.damage.is_any() {
            stream.doubt_end(self.recovery.rtt().min_us().unwrap_or(0));
        }
    }

    /// A request is open when the trace ends: its last packet, or the acknowledgement of that, may have no record.
    pub(super) fn look_for_end(&self, stream: &mut Stream) {
        if !self.seen.has(Sight::Frames) {
            return;
        }
        let is_server = self.is_server();
        let last = stream.imputation().last_number();
        stream.look_for_end(&Missing {
            is_server,
            has_fins: self.seen.has(Sight::Fins),
            is_damaged: self.damage.is_any(),
            is_probing: self.recovery.probe().is_running(),
            now_us: self.close.since_us().unwrap_or(self.now.us),
            rtt_us: self.recovery.rtt().round_trip().known_us().unwrap_or(0),
            probe_timeout_us: self.recovery.rtt().probe_timeout_us().unwrap_or(INITIAL_RTT_US),
            max_ack_delay_us: self.recovery.max_ack_delay().us(),
            hole: last.and_then(|last| self.recovery.missing_after(last, is_server)),
            shared: self.attribution.shared(),
        });
    }
}
