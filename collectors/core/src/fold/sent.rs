//! Sent packets: dispatches each frame to the fold's types.

use crate::dialect::LossReporting;
use crate::event::{Event, Frame, FrameNumber, Number, Word};
use crate::fold::Fold;
use crate::fold::attribution::saves::Room;
use crate::fold::connection::capability::Sight;
use crate::fold::departures::{Departure, Frames};
use crate::fold::recovery::SpaceId;
use crate::fold::recovery::packets::{Chunk, Sent};
use crate::fold::recovery::packets::{Looks, Repetition};
use crate::fold::requests::stream::Outgoing;
use std::collections::BTreeMap;

impl Fold {
    /// A packet is sent: what does not depend on the rest of its instant is processed at once.
    pub(super) fn packet_sent(&mut self, event: &Event) {
        let (now_us, number) = (self.now.us, event.get(Number::PacketNumber));
        self.handshake.sent(event, now_us);
        self.zero_rtt.packet(event, false);
        self.version.packet(event);
        let bytes = event.get(Number::PacketBytes).unwrap_or(0);
        self.traffic.send(bytes);
        self.seen.note_if(bytes > 0, Sight::PacketSizes);
        self.amplification.send(event);
        self.instant.send(bytes);
        self.window.packet(bytes);
        self.aliases.see_packet(event, true, now_us);
        let has_rows = self.trace.frameless;
        let mut departure = Departure {
            space_id: self.space_id(event),
            path_id: event.get(Number::PathId).unwrap_or(0),
            is_numbered: number.is_some(),
            is_loose: false,
            is_probe: event.is(Word::Trigger, "pto_probe"),
            packet: Sent {
                number: number.unwrap_or(0),
                time_us: now_us,
                seq: self.now.seq,
                bytes,
                is_early: event.is(Word::PacketType, "0RTT"),
                ..Sent::default()
            },
            frames: Frames::default(),
            resets: Vec::new(),
        };
        if has_rows {
            departure.frames.eliciting = event.leftover("is_pure_ack") == Some("0");
        } else {
            self.seen.note_if(!event.frames.is_empty(), Sight::PacketFrames);
            self.seen.note_if(!event.frames.is_empty(), Sight::Frames);
            for (frame, ranges) in event.frames_with_ranges() {
                self.frame_sent(event, frame, ranges, &mut departure);
            }
        }
        let frames = departure.frames;
        departure.packet.in_flight = frames.eliciting || frames.padded;
        departure.packet.is_eliciting = frames.eliciting;
        let is_pure_ack = !frames.eliciting && (frames.acks || has_rows);
        self.traffic.sort(is_pure_ack, departure.packet.chunk.is_some());
        if self.departures.add(departure) || has_rows {
            self.depart();
        }
    }

    /// An event with the frames of sent packets: it counts only in logs whose packet events have no frames.
    pub(super) fn frames_created(&mut self, event: &Event) {
        if self.seen.has(Sight::PacketFrames) {
            return;
        }
        self.seen.note_if(!event.frames.is_empty(), Sight::Frames);
        let (space_id, path_id) = (self.space_id(event), event.get(Number::PathId).unwrap_or(0));
        let (time_us, seq) = (self.now.us, self.now.seq);
        let numbers = event.packet_numbers();
        let mut departures: BTreeMap<Option<u64>, Departure> = BTreeMap::new();
        for (at, (frame, ranges)) in event.frames_with_ranges().enumerate() {
            // Each number belongs to the frame at the same index. The log does not state its number space; application
            // data is assumed, where CRYPTO frames are rare.
            let is_crypto = event.bytes(frame.frame_type) == b"crypto";
            let number = numbers.as_ref().and_then(|numbers| numbers.get(at).copied()).filter(|_| !is_crypto);
            let departure = departures.entry(number).or_insert_with(|| Departure {
                space_id,
                path_id,
                is_numbered: number.is_some(),
                is_loose: true,
                is_probe: false,
                packet: Sent { number: number.unwrap_or(0), time_us, seq, ..Sent::default() },
                frames: Frames::default(),
                resets: Vec::new(),
            });
            self.frame_sent(event, frame, ranges, departure);
        }
        for mut departure in departures.into_values() {
            departure.packet.is_eliciting = departure.frames.eliciting;
            departure.packet.in_flight = departure.frames.eliciting;
            if self.departures.add(departure) {
                self.depart();
            }
        }
    }

    /// A record names packets, as first and last of each run. If any of them is sent at the current time, sent packets
    /// are processed first.
    pub(super) fn depart_before(&mut self, space_id: SpaceId, packets: impl IntoIterator<Item = (u64, u64)>) {
        if self.departures.have_any_of(space_id, packets) {
            self.depart();
        }
    }

    /// Processes the packets that are sent at the current time.
    pub(super) fn depart(&mut self) {
        if self.departures.are_none() {
            return;
        }
        let now = self.now;
        let (mut departures, acknowledged) = self.departures.take();
        for departure in departures.drain(..) {
            self.now.seq = departure.packet.seq;
            self.departed(departure);
        }
        self.departures.give_back(departures);
        for (space_id, range) in acknowledged {
            for hole in self.recovery.acknowledge_own(space_id, range, self.now.us) {
                self.received_is_missing(space_id, &hole);
            }
        }
        self.now = now;
    }

    fn departed(&mut self, departure: Departure) {
        let Departure { space_id, path_id, is_numbered, is_probe, mut packet, frames, resets, .. } = departure;
        let now_us = self.now.us;
        packet.rtt_us = self.recovery.rtt().round_trip().known_us().unwrap_or(0);
        packet.stamp = self.delivery.stamp();
        if frames.challenges {
            self.migration.challenge(self.now);
        }
        let number = is_numbered.then_some(packet.number);
        if let Some(number) = number {
            if let Some(hole) = self.recovery.number(space_id, number, now_us).filter(|_| self.window.paths() <= 1) {
                self.sent_is_missing(&hole);
            }
            if self.recovery.is_imputed(space_id, number) {
                self.came_late(space_id, packet);
                return;
            }
        }
        let (mut data, mut looks) = (Repetition::default(), Looks::of_a_packet());
        for chunk in packet.chunks() {
            self.impute(space_id, chunk);
            self.stream_sent(*chunk, number, &mut data, &mut looks);
        }
        packet.repetition = data;
        self.seen.note_if(data.is_again_unlost(), Sight::Copies);
        resets.into_iter().for_each(|id| self.reset(Some(id), true));
        self.traffic.repeat(data);
        if frames.eliciting {
            self.look_for_a_probe(is_probe, frames, data);
        }
        let has_rows = self.trace.frameless;
        if has_rows && packet.in_flight {
            self.row_sent();
        }
        // A probe may exceed the window (RFC 9002, 7.5), so it does not confirm that data waited.
        let has_news = data.has_news() || (has_rows && packet.in_flight);
        self.instant.note_news(has_news && !self.recovery.probe().is_running());
        if frames.eliciting {
            self.recovery.elicit(now_us);
        }
        if is_numbered && packet.in_flight {
            self.window.send(path_id, packet.bytes);
            self.recovery.send(space_id, packet);
        }
    }

    /// Did a probe timer send the packet? Either the log says so, or it has no timer events, and a ping or a
    /// retransmission is sent after a silence.
    fn look_for_a_probe(&mut self, is_probe: bool, frames: Frames, data: Repetition) {
        let now_us = self.now.us;
        if is_probe {
            self.probe_fired(true);
        } else if !self.seen.has(Sight::ProbeTimers)
            && !self.trace.frameless
            && self.recovery.was_silent(now_us, self.has_rows_in_flight())
            && (frames.pings
                || data.is_again_unlost()
                || (data.is_again() && self.recovery.is_after_loss_timers(now_us)))
        {
            self.probe_fired(false);
        }
    }

    /// A probe timer fired.
    pub(super) fn probe_fired(&mut self, is_logged: bool) {
        self.seen.note_if(is_logged, Sight::ProbeTimers);
        self.recovery.fire_probe(self.now, is_logged, self.has_rows_in_flight());
    }

    /// Rows without packet numbers show only the sum of bytes in flight.
    fn has_rows_in_flight(&self) -> bool {
        self.trace.frameless && self.window.in_flight() > 0
    }

    /// Reads a frame of ours; `ranges` are those of an ACK frame.
    fn frame_sent(&mut self, event: &Event, frame: &Frame, ranges: &[(u64, u64)], departure: &mut Departure) {
        match event.bytes(frame.frame_type) {
            b"ack" | b"ack_ecn" | b"ack_mp" | b"path_ack" => {
                departure.frames.acks = true;
                let named = self.recovery.see_own_ranges(ranges);
                if self.window.paths() <= 1 && self.recovery.is_any_unreceived(departure.space_id) {
                    self.departures.acknowledge(departure.space_id, named);
                }
                return;
            }
            b"padding" => {
                departure.frames.padded = true;
                return;
            }
            // RFC 9002, 2: all frames but ACK, PADDING and CONNECTION_CLOSE elicit an acknowledgement.
            b"connection_close" => {
                self.close.begin(self.now.us);
                return;
            }
            b"stream" => {
                if let Some(stream_id) = frame.get(FrameNumber::StreamId) {
                    self.seen.note_if(frame.fin, Sight::Fins);
                    // The stream opens with its own record, so that a limit rejects that record.
                    self.open(stream_id);
                    if let Some((from, to)) = frame.range() {
                        departure.packet.carry(Chunk { stream_id, from, to, fin: frame.fin });
                    }
                }
            }
            b"reset_stream" | b"reset_stream_at" => departure.resets.extend(frame.get(FrameNumber::StreamId)),
            b"data_blocked" => {
                self.seen.note(Sight::ConnectionCredit);
                self.credit.tell_blocked(frame.get(FrameNumber::Maximum), self.now.us);
            }
            b"stream_data_blocked" => {
                self.seen.note(Sight::StreamCredit);
                let stream = frame.get(FrameNumber::StreamId).and_then(|id| self.requests.get_mut(id));
                if let Some(stream) = stream {
                    stream.credit_mut().tell_blocked(frame.get(FrameNumber::Maximum), self.now.us);
                }
            }
            b"max_data" | b"max_stream_data" => self.credit.give(self.now.us),
            b"path_challenge" => departure.frames.challenges = true,
            b"ping" => departure.frames.pings = true,
            _ => {}
        }
        departure.frames.eliciting = true;
    }

    /// Stream data goes out.
    fn stream_sent(&mut self, chunk: Chunk, number: Option<u64>, repetition: &mut Repetition, looks: &mut Looks) {
        let sent_before = self.traffic.send_data(chunk.to - chunk.from);
        let (now, is_server) = (self.now, self.is_server());
        // Unidirectional streams (RFC 9000, 2.1) carry settings and header tables; they do not delay other streams.
        if chunk.to > chunk.from && chunk.stream_id & 2 == 0 {
            self.instant.carry(chunk.stream_id);
        }
        let Some(stream) = self.requests.get_mut(chunk.stream_id) else {
            repetition.add(self.credit.send_other(&chunk), false, false);
            return;
        };
        let room = if stream.sent().packets() == 0 { self.window.room() } else { Room::default() };
        // Unacknowledged packets that carried bytes of the chunk before, if the log does not state losses.
        let highest = stream.sent().highest();
        let is_told = !matches!(self.trace.losses, LossReporting::None | LossReporting::Counter);
        let is_new = is_told || chunk.from >= highest;
        let carriers = if is_new { Vec::new() } else { self.recovery.carriers(&chunk, chunk.to.min(highest), looks) };
        let sent = stream.send(&chunk, now, Outgoing { is_server, room, sent_before, number }, &carriers, looks);
        let is_stated_to_wait = self.stated_waits.open().or(stream.stated_waits().open()).is_some();
        self.recovery.count_inferred(sent.inferred.len() as u64, sent.inferred_bytes);
        self.credit.send(sent.grown);
        self.requests.count_sent(&sent);
        repetition.add(sent.is_new, sent.repeated > 0, sent.mends);
        if sent.is_new && is_server {
            self.instant.begin(chunk.stream_id, now.seq);
        }
        if sent.is_new && is_stated_to_wait {
            self.no_longer_waits(chunk.stream_id);
        }
        for (space_id, number) in sent.inferred {
            self.recovery.repeat(space_id, number);
        }
    }
}
