//! A packet of ours: what each of its frames tells the fold's types.

use crate::dialect::Losses;
use crate::event::{Event, FrameNumber, Number, Word};
use crate::fold::Fold;
use crate::fold::attribution::saves::Room;
use crate::fold::connection::capability::Sight;
use crate::fold::recovery::Place;
use crate::fold::recovery::packets::Repetition;
use crate::fold::recovery::packets::{Chunk, Sent};
use crate::fold::requests::stream::{Outgoing, Stream};

/// What a packet of ours carries.
#[derive(Clone, Copy, Debug, Default)]
#[expect(clippy::struct_excessive_bools, reason = "a set")]
struct Frames {
    eliciting: bool,
    acks: bool,
    padded: bool,
    pings: bool,
    /// What its stream data repeats.
    data: Repetition,
}

impl Fold {
    pub(super) fn packet_sent(&mut self, event: &Event) {
        let (now_us, number) = (self.now.us, event.get(Number::PacketNumber));
        self.handshake.sent(event, now_us);
        self.zero_rtt.packet(event, false);
        let bytes = event.get(Number::PacketBytes).unwrap_or(0);
        self.traffic.send(bytes);
        self.seen.note_if(bytes > 0, Sight::PacketSizes);
        self.amplification.send(event);
        self.instant.send(bytes);
        self.window.packet(bytes);
        self.aliases.see_packet(event, true, now_us);
        let round_trip = self.recovery.rtt().round_trip();
        let mut packet = Sent {
            number: number.unwrap_or(0),
            time_us: now_us,
            seq: self.now.seq,
            bytes,
            is_early: event.is(Word::PacketType, "0RTT"),
            rtt_us: round_trip.smoothed_us.or(round_trip.min_us).unwrap_or(0),
            stamp: self.delivery.stamp(),
            ..Sent::default()
        };
        let has_rows = self.trace.frameless;
        let kinds = if has_rows {
            Frames { eliciting: event.leftover("is_pure_ack") == Some("0"), ..Frames::default() }
        } else {
            self.seen.note_if(!event.frames.is_empty(), Sight::Frames);
            self.frames_sent(event, &mut packet)
        };
        packet.in_flight = kinds.eliciting || kinds.padded;
        packet.is_eliciting = kinds.eliciting;
        packet.repetition = kinds.data;
        let is_pure_ack = !kinds.eliciting && (kinds.acks || has_rows);
        self.traffic.sort(is_pure_ack, packet.chunk.is_some(), kinds.data);
        if kinds.eliciting {
            self.look_for_a_probe(event, kinds);
        }
        if has_rows && packet.in_flight {
            self.row_sent();
        }
        // A probe may exceed the window (RFC 9002, 7.5): it confirms nothing.
        let has_news = kinds.data.has_news() || (has_rows && packet.in_flight);
        self.instant.note_news(has_news && !self.recovery.probe().is_running());
        if kinds.eliciting {
            self.recovery.elicit(now_us);
        }
        if let Some(number) = number {
            let place = self.place(event);
            self.recovery.number(place, number);
            if packet.in_flight {
                self.window.send(event.get(Number::PathId).unwrap_or(0), bytes);
                self.recovery.send(place, packet);
            }
        }
    }

    /// Did a probe timer send the packet? The log says so, or it has no timers, and what goes out after a silence is a ping
    /// or a repetition.
    fn look_for_a_probe(&mut self, event: &Event, kinds: Frames) {
        let now_us = self.now.us;
        if event.is(Word::Trigger, "pto_probe") {
            self.probe_fired(true);
        } else if !self.seen.has(Sight::ProbeTimers)
            && !self.trace.frameless
            && self.recovery.was_silent(now_us, self.has_rows_in_flight())
            && (kinds.pings
                || kinds.data.is_again_unlost()
                || (kinds.data.is_again() && self.recovery.is_after_loss_timers(now_us)))
        {
            self.probe_fired(false);
        }
    }

    /// A probe timer fired.
    pub(super) fn probe_fired(&mut self, is_logged: bool) {
        self.seen.note_if(is_logged, Sight::ProbeTimers);
        self.recovery.fire_probe(self.now, is_logged, self.has_rows_in_flight());
    }

    /// Rows without packet numbers know only the sum of what is in flight.
    fn has_rows_in_flight(&self) -> bool {
        self.trace.frameless && self.window.in_flight() > 0
    }

    /// Reads the frames of a packet of ours.
    fn frames_sent(&mut self, event: &Event, packet: &mut Sent) -> Frames {
        let (mut kinds, mut acked) = (Frames::default(), 0);
        for frame in &event.frames {
            match event.bytes(frame.frame_type) {
                b"ack" | b"ack_ecn" | b"ack_mp" | b"path_ack" => {
                    kinds.acks = true;
                    let ranges = &event.acked[acked..(acked + usize::from(frame.ack_ranges)).min(event.acked.len())];
                    acked += ranges.len();
                    self.recovery.see_own_ranges(ranges);
                    continue;
                }
                b"padding" => {
                    kinds.padded = true;
                    continue;
                }
                // RFC 9002, 2: all frames but ACK, PADDING and CONNECTION_CLOSE elicit an acknowledgement.
                b"connection_close" => continue,
                b"stream" => {
                    let id = frame.get(FrameNumber::StreamId).unwrap_or(0);
                    let from = frame.get(FrameNumber::Offset).unwrap_or(0);
                    let to = from.saturating_add(frame.get(FrameNumber::Length).unwrap_or(0));
                    let chunk = Chunk { stream_id: id, from, to, fin: frame.fin };
                    self.stream_sent(chunk, &mut kinds.data);
                    packet.carry(chunk);
                }
                b"reset_stream" | b"reset_stream_at" => self.reset(frame.get(FrameNumber::StreamId), true),
                b"data_blocked" => self.seen.note(Sight::ConnectionCredit),
                b"stream_data_blocked" => self.seen.note(Sight::StreamCredit),
                b"max_data" | b"max_stream_data" => self.credit.give(self.now.us),
                b"path_challenge" => self.migration.challenge(self.now),
                b"ping" => kinds.pings = true,
                _ => {}
            }
            kinds.eliciting = true;
        }
        kinds
    }

    /// Stream data goes out.
    fn stream_sent(&mut self, chunk: Chunk, repetition: &mut Repetition) {
        let sent_before = self.traffic.send_data(chunk.to - chunk.from);
        self.seen.note_if(chunk.fin, Sight::Fins);
        let (now, is_server) = (self.now, self.is_server());
        let carriers = self.carriers_before(&chunk);
        // Unidirectional streams (RFC 9000, 2.1) carry settings and tables of headers, which take nobody's turn.
        if chunk.to > chunk.from && chunk.stream_id & 2 == 0 {
            self.instant.carry(chunk.stream_id);
        }
        if !self.open(chunk.stream_id) {
            repetition.add(self.credit.send_other(&chunk), false, false);
            return;
        }
        let Some(stream) = self.requests.get_mut(chunk.stream_id) else { return };
        let room = if stream.sent().packets() == 0 { self.window.room() } else { Room::default() };
        let sent = stream.send(&chunk, now, Outgoing { is_server, room, sent_before }, &carriers);
        self.recovery.count_inferred(sent.inferred.len() as u64, sent.inferred_bytes);
        self.credit.send(sent.grown);
        self.requests.count_sent(&sent);
        repetition.add(sent.is_new, sent.repeated > 0, sent.mends);
        if sent.is_new && is_server {
            self.instant.begin(chunk.stream_id, now.seq);
        }
        for (place, number) in sent.inferred {
            self.recovery.repeat(place, number);
        }
    }

    /// Packets on their way that carried what goes out again in `chunk`, where the log does not say what is lost.
    fn carriers_before(&self, chunk: &Chunk) -> Vec<(Place, Sent)> {
        let highest = self.requests.get(chunk.stream_id).map_or(0, |stream: &Stream| stream.sent().highest());
        let is_told = !matches!(self.trace.losses, Losses::None | Losses::Counter);
        if is_told || chunk.from >= highest {
            return Vec::new();
        }
        self.recovery.carriers(chunk, chunk.to.min(highest))
    }
}
