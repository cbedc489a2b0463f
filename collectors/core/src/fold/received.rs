//! Received packets: dispatches each frame to the fold's types; above all acknowledgements and losses. What a frame does
//! that comes and that goes (a reset) stands here too.

use crate::event::{Event, Frame, FrameNumber, Number, Word};
use crate::fold::Fold;
use crate::fold::TURN_US;
use crate::fold::cause::{Cause, Interval};
use crate::fold::connection::capability::Sight;
use crate::fold::episode::Episode;
use crate::fold::moment::Moment;
use crate::fold::recovery::ack_delay::DEFAULT_MAX_ACK_DELAY_US;
use crate::fold::recovery::holes::Hole;
use crate::fold::recovery::packets::{Acknowledged, Chunk, Sent};
use crate::fold::recovery::probe::Answered;
use crate::fold::recovery::{Acked, Lost, SpaceId, SpaceKind};
use crate::fold::requests::arrivals::SilenceThreshold;
use crate::fold::requests::losses::{Detection, Repair};
use crate::fold::requests::stream::RequestEnd;
use crate::header::Vantage;

/// The packet in which a chunk of the peer's came; both fields are `None` if it is imputed.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Arrival {
    number: Option<u64>,
    /// Numbers right before it that the log does not show.
    passed: Option<Hole>,
}

impl Fold {
    pub(super) fn packet_received(&mut self, event: &Event) {
        if self.role == Vantage::Unknown && self.traffic.is_none() {
            // The client always sends first (RFC 9000, 7), so an endpoint that receives first is the server.
            self.role = Vantage::Server;
        }
        let now_us = self.now.us;
        self.handshake.received(event, now_us);
        self.zero_rtt.packet(event, self.is_server());
        self.version.packet(event);
        self.amplification.receive(event);
        self.traffic.receive(event.get(Number::PacketBytes).unwrap_or(0), now_us);
        self.aliases.see_packet(event, false, now_us);
        let number = event.get(Number::PacketNumber);
        let mut passed = None;
        if let Some(number) = number {
            let space_id = self.space_id(event);
            if let Some(hole) = self.recovery.receive(space_id, number, now_us).filter(|_| self.window.paths() <= 1) {
                self.received_is_missing(space_id, &hole);
            }
            passed = self.recovery.newest_unreceived(space_id);
        }
        self.seen.note_if(!event.frames.is_empty(), Sight::PacketFrames);
        self.frames_received(event, Arrival { number, passed });
    }

    fn frames_received(&mut self, event: &Event, arrival: Arrival) {
        self.seen.note_if(!event.frames.is_empty(), Sight::Frames);
        for (frame, ranges) in event.frames_with_ranges() {
            self.frame_received(event, frame, ranges, arrival);
        }
    }

    /// An event with the frames of received packets: it counts only in logs whose packet events have no frames.
    pub(super) fn frames_parsed(&mut self, event: &Event) {
        if !self.seen.has(Sight::PacketFrames) {
            self.frames_received(event, Arrival::default());
        }
    }

    fn frame_received(&mut self, event: &Event, frame: &Frame, ranges: &[(u64, u64)], arrival: Arrival) {
        let id = frame.get(FrameNumber::StreamId);
        match event.bytes(frame.frame_type) {
            b"ack" | b"ack_ecn" | b"ack_mp" | b"path_ack" => {
                // quic-go omits a delay of 0. A delay that could not be parsed counts as the longest one.
                let most_us = self.recovery.max_ack_delay().us();
                let otherwise_us = if frame.is_unread(FrameNumber::AckDelayUs) { most_us } else { 0 };
                let told_us = frame.get(FrameNumber::AckDelayUs).map_or(otherwise_us, u64::cast_signed);
                self.recovery.held_back(told_us, event.time_us);
                self.acknowledged(event, ranges);
            }
            b"stream" => {
                let Some(id) = id else { return };
                let is_new = self.requests.get(id).is_none();
                let Some((from, to)) = frame.range() else {
                    self.open(id);
                    return;
                };
                self.stream_received(Chunk { stream_id: id, from, to, fin: frame.fin }, arrival);
                if is_new && self.is_server() {
                    self.first_readable(event, id);
                }
            }
            b"connection_close" => self.close.begin(self.now.us),
            b"path_response" => self.path_validated(event),
            b"max_data" => {
                if let Some(limit) = frame.get(FrameNumber::Maximum) {
                    self.connection_credit(limit);
                }
            }
            b"max_stream_data" => {
                if let (Some(id), Some(limit)) = (id, frame.get(FrameNumber::Maximum)) {
                    self.stream_credit(id, Some(limit));
                }
            }
            b"reset_stream" | b"reset_stream_at" => self.reset(id, false),
            _ => {}
        }
    }

    pub(super) fn stream_received(&mut self, chunk: Chunk, Arrival { number, passed }: Arrival) {
        let (now_us, is_server) = (self.now.us, self.is_server());
        self.seen.note_if(chunk.fin, Sight::Fins);
        if !self.open(chunk.stream_id) {
            return;
        }
        // A peer with a full window sends once per round trip, which may have grown, and after our acknowledgement,
        // which few stacks hold back for longer than the default.
        let rtt_us = self.recovery.rtt().round_trip().known_us().filter(|_| !is_server);
        let silence = rtt_us.map(|rtt_us| SilenceThreshold {
            since_us: self.credit.given_us(),
            longest_us: rtt_us.saturating_mul(2).saturating_add(DEFAULT_MAX_ACK_DELAY_US),
        });
        let sent = self.traffic.stream_bytes_sent();
        self.seen.note_if(is_server && chunk.from == 0, Sight::Requests);
        if let Some(hole) = passed {
            self.requests.pass_over(&chunk, &hole);
        }
        let Some(stream) = self.requests.get_mut(chunk.stream_id) else { return };
        if stream.receive(&chunk, self.now, is_server, sent, silence, number) {
            self.end_request(chunk.stream_id, now_us, RequestEnd::Received);
        }
    }

    /// A request's first packet could be decrypted: notes if an earlier copy of it had to wait for keys.
    fn first_readable(&mut self, event: &Event, id: u64) {
        let now_us = self.now.us;
        let flight_us = self.recovery.rtt().min_us().unwrap_or(0).max(TURN_US);
        let packet_type = event.word(Word::PacketType);
        let Some(since_us) = self.zero_rtt.waited_since(packet_type, now_us, flight_us) else { return };
        if let Some(stream) = self.requests.get_mut(id) {
            stream.was_unreadable_since(since_us, now_us);
        }
    }

    /// A stream was reset: by us (`ours`) or by the peer. The response's side ends the request.
    pub(super) fn reset(&mut self, id: Option<u64>, ours: bool) {
        let is_response = ours == self.is_server();
        if let Some(id) = id.filter(|_| is_response) {
            self.end_request(id, self.now.us, RequestEnd::Reset);
        }
    }

    fn path_validated(&mut self, event: &Event) {
        let Some(since) = self.migration.respond() else { return };
        self.episode(Episode {
            trigger: "path_validation",
            path_id: event.get(Number::PathId).unwrap_or(0),
            ..Episode::of("migration", since, self.now.us)
        });
    }

    /// More credit for a stream.
    pub(super) fn stream_credit(&mut self, id: u64, limit: Option<u64>) {
        self.seen.note(Sight::StreamCredit);
        let now_us = self.now.us;
        let raised = self.requests.get_mut(id).and_then(|stream| match limit {
            Some(limit) => stream.credit_mut().raise(limit, now_us),
            None => stream.credit_mut().state_open(),
        });
        if let Some(since) = raised {
            self.was_blocked(Cause::StreamFlowControl, Some(id), since);
        }
    }

    /// More credit for the connection.
    pub(super) fn connection_credit(&mut self, limit: u64) {
        self.seen.note(Sight::ConnectionCredit);
        self.credit.raise(limit, self.now.us);
    }

    /// The acknowledgements of one received packet.
    pub(super) fn acknowledged(&mut self, event: &Event, ranges: &[(u64, u64)]) {
        self.seen.note(Sight::Acks);
        let space_id = self.space_id(event);
        self.depart_before(space_id, self.recovery.packets_of(ranges));
        let named = self.recovery.acknowledge(self.now.us, space_id, ranges, self.trace.frameless);
        // With multipath a frame may name numbers of another path.
        if self.window.paths() <= 1 {
            named.missing.iter().for_each(|hole| self.unseen_is_acknowledged(space_id, hole));
        }
        if let Some(acked) = named.acked {
            self.newly_acknowledged(&acked);
        }
    }

    pub(super) fn newly_acknowledged(&mut self, acked: &Acked) {
        let mut bytes = 0u64;
        for Acknowledged { packet, was_lost } in &acked.packets {
            if packet.is_early {
                self.zero_rtt.acknowledged();
            }
            if *was_lost {
                self.was_not_lost(packet);
            } else if packet.in_flight {
                bytes = bytes.saturating_add(packet.bytes);
            }
            for chunk in packet.chunks() {
                if packet.repetition.is_again() {
                    self.instant.repair(chunk);
                }
                self.chunk_acknowledged(acked.space_id, chunk);
            }
        }
        let before = self.window.remove(acked.space_id.path, bytes);
        self.instant.note_room(bytes > 0);
        if acked.space_id.kind == SpaceKind::Application {
            self.delivery.acknowledge(bytes, acked.newest(), before);
        }
        if let Some(answered) = &acked.answered {
            self.probe_answered(answered);
        }
        if let Some(over) = acked.period {
            self.period_over(over);
        }
    }

    pub(super) fn chunk_acknowledged(&mut self, space_id: SpaceId, chunk: &Chunk) {
        let is_whole = self.repair(chunk);
        let (now_us, id) = (self.now.us, chunk.stream_id);
        if is_whole && self.is_server() {
            let hole = self.recovery.newest_unreceived(space_id);
            if let Some((hole, stream)) = hole.zip(self.requests.get_mut(id)) {
                stream.end_behind_hole(&hole, now_us);
            }
            self.end_request(id, now_us, RequestEnd::Acked);
        }
    }

    /// A chunk is acknowledged, and all losses of its stream with it that lack nothing more are repaired. True when the
    /// whole stream is acknowledged.
    fn repair(&mut self, chunk: &Chunk) -> bool {
        let (now_us, id) = (self.now.us, chunk.stream_id);
        let smoothed_us = self.recovery.rtt().smoothed_us().unwrap_or(0).unsigned_abs();
        let Some(stream) = self.requests.get_mut(id) else { return false };
        let (repairs, is_whole) = stream.acknowledge(chunk, now_us, smoothed_us);
        for repair in repairs {
            self.repaired(id, &repair);
        }
        is_whole
    }

    /// A loss is repaired. The wait of a packet without a record is not known, so it gives no episode.
    fn repaired(&mut self, id: u64, repair: &Repair) {
        if repair.is_imputed {
            return;
        }
        self.requests.count_repair(repair);
        let due = Moment { us: repair.due_us, seq: repair.sent_seq };
        self.episode(Episode {
            trigger: &repair.trigger,
            packet_number: Some(repair.number),
            bytes: repair.bytes,
            count: repair.resent,
            detection_us: Some(repair.detected_us.abs_diff(repair.sent_us)),
            wait_us: repair.wait_us(),
            ..Episode::of("repair", due, self.now.us).on(id)
        });
    }

    fn probe_answered(&mut self, answered: &Answered) {
        let end_us = self.now.us;
        if answered.is_spurious {
            for id in &answered.losers {
                if let Some(stream) = self.requests.get_mut(*id) {
                    stream.not_by_probe(answered.fired.us);
                }
            }
        } else {
            self.hold(Interval::of(Cause::Pto, answered.start_us, end_us));
        }
        if !answered.is_logged {
            self.requests.infer_probe();
        }
        self.episode(Episode {
            trigger: if answered.is_spurious { "spurious" } else { "" },
            count: answered.count,
            wait_us: Some(answered.waited_us),
            ..Episode::of("pto", answered.fired, end_us)
        });
    }

    /// The log says that packets are lost.
    pub(super) fn packet_lost(&mut self, event: &Event) {
        self.seen.note(Sight::Losses);
        let count = event.get(Number::LostPackets).unwrap_or(1);
        let bytes = event.get(Number::LostBytes);
        let Some(largest) = event.get(Number::PacketNumber) else {
            self.recovery.count_lost(count, bytes.unwrap_or(0), None);
            return;
        };
        let space_id = self.space_id(event);
        self.depart_before(space_id, [(largest, largest)]);
        let lost = self.recovery.lose(self.now.us, space_id, largest, count);
        let sum = |sum: u64, packet: &Sent| sum.saturating_add(packet.bytes);
        let known = lost.packets.iter().fold(0, sum);
        let in_flight = lost.packets.iter().filter(|packet| packet.in_flight).fold(0, sum);
        let gone = if self.trace.frameless { bytes.unwrap_or(in_flight) } else { in_flight };
        self.window.remove(space_id.path, gone);
        self.instant.note_room(gone > 0);
        if event.leftover("is_mtu_probe_packet") == Some("true") {
            // A lost MTU probe says nothing of congestion (RFC 9000, 14.4).
            return;
        }
        self.recovery.count_lost(count, bytes.unwrap_or(known), Some(space_id.kind));
        for packet in &lost.packets {
            self.lose(packet, &lost, event.word(Word::Trigger));
        }
        if !self.trace.frameless && !lost.packets.is_empty() {
            if let Some(over) = self.recovery.end_period_before(&lost.packets) {
                self.period_over(over);
            }
            self.recovery.begin_period(self.now);
        }
    }

    /// A packet is lost with its stream data, for the reason that the log calls `trigger`.
    fn lose(&mut self, packet: &Sent, lost: &Lost, trigger: &str) {
        let trigger = match trigger {
            // RFC 9002, 6.1.1: three packets later, else time.
            "" | "repeat" => match lost.largest_acked {
                Some(acked) if acked >= packet.number.saturating_add(3) => "packet_threshold",
                _ => "time_threshold",
            },
            "reordering_threshold" => "packet_threshold",
            "pto_expired" => "pto",
            other => other,
        };
        let found = Detection { us: self.now.us, trigger, is_by_probe: lost.is_by_probe };
        for chunk in packet.chunks() {
            let Some(stream) = self.requests.get_mut(chunk.stream_id) else { continue };
            // The acknowledgement of a copy may stand before the loss that it repairs.
            let is_repaired = self.instant.has_repaired(chunk) && stream.sent().has(chunk.from, chunk.to, chunk.fin);
            stream.lose(packet, chunk, found, is_repaired);
            self.requests.note_lost(chunk.stream_id);
            if !packet.repetition.is_copy() {
                self.recovery.lose_data(chunk.stream_id);
            }
            if is_repaired {
                self.repair(chunk);
            }
        }
    }

    /// A packet that was declared lost is acknowledged: its bytes needed no repair, so no stream waited for one. A
    /// packet without a record gives no episode, as its send time is not known.
    fn was_not_lost(&mut self, packet: &Sent) {
        self.recovery.count_spurious();
        let sent = Moment { us: packet.time_us, seq: packet.seq };
        for chunk in packet.chunks() {
            let Some(stream) = self.requests.get_mut(chunk.stream_id) else { continue };
            if stream.was_not_lost(packet.number) && !packet.is_imputed {
                self.episode(Episode {
                    packet_number: Some(packet.number),
                    bytes: packet.bytes,
                    ..Episode::of("spurious_loss", sent, self.now.us).on(chunk.stream_id)
                });
            }
        }
    }

    /// The log states a spurious loss: it counts only in logs without acknowledgements, as those show it too.
    pub(super) fn spurious_loss(&mut self) {
        if !self.seen.has(Sight::Acks) {
            self.recovery.count_spurious();
        }
    }
}
