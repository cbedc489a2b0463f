//! What we send, and its acknowledgements.

use crate::dialect::Losses;
use crate::event::{Event, FrameNumber, Number, Word};
use crate::fold::Fold;
use crate::fold::cause::{Cause, Interval};
use crate::fold::finish::Episode;
use crate::fold::packets::{Acknowledged, Chunk, Sent};
use crate::fold::probe::Answered;
use crate::fold::recovery::{Acked, Place, SpaceKind};
use crate::fold::repetition::Repetition;
use crate::fold::saves::Transfer;
use crate::fold::stream::Ready;

impl Fold {
    pub(super) fn packet_sent(&mut self, event: &Event) {
        self.handshake.sent(event, self.now.us);
        self.zero_rtt.packet(event, false);
        let bytes = event.get(Number::PacketBytes).unwrap_or(0);
        self.count.packets_sent += 1;
        self.count.bytes_sent = self.count.bytes_sent.saturating_add(bytes);
        self.seen.packet_sizes |= bytes > 0;
        self.amplification.send(event);
        self.instant.bytes = self.instant.bytes.saturating_add(bytes);
        self.largest_packet = self.largest_packet.max(bytes);
        self.see_ids(event, true);
        let mut kinds = Frames::default();
        let mut packet = Sent {
            number: event.get(Number::PacketNumber).unwrap_or(0),
            time_us: self.now.us,
            seq: self.now.seq,
            bytes,
            is_early: event.is(Word::PacketType, "0RTT"),
            rtt_us: self.recovery.rtt().smoothed_us().or(self.recovery.rtt().min_us()).unwrap_or(0),
            stamp: self.delivery.stamp(),
            ..Sent::default()
        };
        if self.trace.frameless {
            kinds.eliciting = event.leftover("is_pure_ack") == Some("0");
            packet.in_flight = kinds.eliciting;
        } else {
            self.seen.frames |= !event.frames.is_empty();
            kinds = self.frames_sent(event, &mut packet);
            packet.in_flight = kinds.eliciting || kinds.padded;
        }
        self.count.pure_acks_sent += u64::from(!kinds.eliciting && (kinds.acks || self.trace.frameless));
        self.count.data_packets_sent += u64::from(packet.chunk.is_some());
        self.count.retransmitted_packets += u64::from(kinds.data.is_again());
        if kinds.eliciting {
            if event.is(Word::Trigger, "pto_probe") {
                self.probe_fired(true);
            } else if !self.seen.probe_timers
                && !self.trace.frameless
                && self.recovery.was_silent(self.now.us, self.has_rows_in_flight())
                && (kinds.pings
                    || kinds.data.is_again_unlost()
                    || (kinds.data.is_again() && self.recovery.is_after_loss_timers(self.now.us)))
            {
                self.probe_fired(false);
            }
        }
        if self.trace.frameless && packet.in_flight {
            self.row_sent();
        }
        // A probe may exceed the window (RFC 9002, 7.5): it confirms nothing.
        self.instant.has_news |= (kinds.data.has_news() || (self.trace.frameless && packet.in_flight))
            && !self.recovery.probe().is_running();
        if kinds.eliciting {
            self.recovery.elicit(self.now.us);
        }
        packet.is_eliciting = kinds.eliciting;
        packet.repetition = kinds.data;
        if let Some(number) = event.get(Number::PacketNumber) {
            let place = self.place(event);
            self.recovery.number(place, number);
        }
        if packet.in_flight && event.get(Number::PacketNumber).is_some() {
            let path = self.path(event);
            path.in_flight = path.in_flight.saturating_add(bytes);
            self.count.bytes_in_flight_max = self.count.bytes_in_flight_max.max(self.in_flight());
            let place = self.place(event);
            self.recovery.send(place, packet);
        }
    }

    /// Reads the frames of a packet of ours.
    fn frames_sent(&mut self, event: &Event, packet: &mut Sent) -> Frames {
        let (mut kinds, mut acked) = (Frames::default(), 0);
        for frame in &event.frames {
            let kind = event.bytes(frame.frame_type);
            match kind {
                b"ack" | b"ack_ecn" | b"ack_mp" | b"path_ack" => {
                    kinds.acks = true;
                    let ranges = &event.acked[acked..(acked + usize::from(frame.ack_ranges)).min(event.acked.len())];
                    acked += ranges.len();
                    self.recovery.see_own_ranges(ranges);
                }
                b"padding" => kinds.padded = true,
                // RFC 9002, 2: all frames but ACK, PADDING and CONNECTION_CLOSE elicit an acknowledgement.
                b"connection_close" => {}
                b"stream" => {
                    kinds.eliciting = true;
                    let id = frame.get(FrameNumber::StreamId).unwrap_or(0);
                    let from = frame.get(FrameNumber::Offset).unwrap_or(0);
                    let to = from.saturating_add(frame.get(FrameNumber::Length).unwrap_or(0));
                    let chunk = Chunk { stream_id: id, from, to, fin: frame.fin };
                    self.stream_sent(chunk, &mut kinds);
                    packet.carry(chunk);
                }
                b"reset_stream" | b"reset_stream_at" => {
                    kinds.eliciting = true;
                    self.reset(frame.get(FrameNumber::StreamId), true);
                }
                b"data_blocked" => {
                    kinds.eliciting = true;
                    self.seen.connection_credit = true;
                }
                b"stream_data_blocked" => {
                    kinds.eliciting = true;
                    self.seen.stream_credit = true;
                }
                b"max_data" | b"max_stream_data" => {
                    kinds.eliciting = true;
                    self.credit.given_us = self.now.us;
                }
                b"path_challenge" => {
                    kinds.eliciting = true;
                    self.path_challenged();
                }
                b"ping" => {
                    kinds.eliciting = true;
                    kinds.pings = true;
                }
                _ => kinds.eliciting = true,
            }
        }
        kinds
    }

    /// Stream data goes out.
    fn stream_sent(&mut self, chunk: Chunk, kinds: &mut Frames) {
        let sent_before = self.count.stream_bytes_sent;
        self.count.stream_bytes_sent = self.count.stream_bytes_sent.saturating_add(chunk.to - chunk.from);
        self.seen.fins |= chunk.fin;
        let (now, is_server) = (self.now.us, self.is_server());
        let infers_loss = matches!(self.trace.losses, Losses::None | Losses::Counter);
        let carriers = if infers_loss { self.carriers_before(&chunk) } else { Vec::new() };
        // Unidirectional streams (RFC 9000, 2.1) carry settings and tables of headers, which take nobody's turn.
        if chunk.to > chunk.from && chunk.stream_id & 2 == 0 {
            self.instant.carried.insert(chunk.stream_id);
        }
        let transfer =
            self.streams.get(&chunk.stream_id).is_none_or(|stream| stream.sent.packets == 0).then(|| self.transfer());
        let Some(stream) = self.request_stream(chunk.stream_id) else {
            kinds.data.add(self.credit.other_streams(&chunk), false, false);
            return;
        };
        let before = stream.sent.highest;
        // This stack does not say what it lost: what it sends again it took for lost (RFC 9002, 6).
        let lost: Vec<&(Place, Sent)> = carriers.iter().filter(|(_, packet)| stream.infer_lost(packet, now)).collect();
        let packets = lost.len() as u64;
        let bytes = lost.iter().fold(0u64, |sum, (_, packet)| sum.saturating_add(packet.bytes));
        let replaced: Vec<(Place, u64)> = lost.iter().map(|(place, packet)| (*place, packet.number)).collect();
        if packets > 0 {
            stream.infer(Cause::LossRecovery);
            stream.packets_lost = stream.packets_lost.saturating_add(packets);
        }
        let mends = stream.resend(&chunk, now);
        let most = stream.losses.iter().map(|loss| u64::from(loss.resent)).max().unwrap_or(0);
        let repeated = stream.sent.repeated;
        let news = stream.sent.extend(&chunk);
        let repeated = stream.sent.repeated - repeated;
        stream.sent.packets += 1;
        if news {
            stream.marks.last_byte_us = Some(now);
        }
        if is_server {
            if stream.marks.response_start_us.is_none() {
                stream.marks.response_start_us = Some(now);
                stream.transfer = transfer.unwrap_or_default();
                stream.turn.end(sent_before);
            }
            stream.marks.first_byte_us.get_or_insert(now);
            if chunk.fin
                && let Some((since, _)) = stream.queue.empty_since.take()
            {
                // The end comes alone. No log tells when the application closed the stream, so what this waited for is
                // as little known as in a log without the application's events.
                stream.queue.is_known = false;
                stream.queue.ready = Some(Ready { since_us: since, ..Ready::default() });
            }
        } else if news {
            // The client's request ends with the last first-time send of its data or FIN.
            stream.marks.request_end_us = Some(now);
        }
        let grown = stream.sent.highest - before;
        self.recovery.count_inferred(packets, bytes);
        self.credit.data_sent = self.credit.data_sent.saturating_add(grown);
        self.count.retransmitted_bytes = self.count.retransmitted_bytes.saturating_add(repeated);
        self.count.retransmissions_max = self.count.retransmissions_max.max(most);
        kinds.data.add(news, repeated > 0, mends);
        if news && is_server && self.instant.sending.insert(chunk.stream_id) {
            self.instant.senders.push((chunk.stream_id, self.now.seq));
        }
        for (place, number) in replaced {
            self.recovery.repeat(place, number);
        }
        self.watch_stream_credit(chunk.stream_id);
    }

    /// Packets on their way that carried what goes out again in `chunk`, and where they were sent.
    fn carriers_before(&self, chunk: &Chunk) -> Vec<(Place, Sent)> {
        let highest = self.streams.get(&chunk.stream_id).map_or(0, |stream| stream.sent.highest);
        if chunk.from >= highest { Vec::new() } else { self.recovery.carriers(chunk, chunk.to.min(highest)) }
    }

    /// The acknowledgements of one received packet.
    pub(super) fn acknowledged(&mut self, event: &Event, ranges: &[(u64, u64)]) {
        self.seen.acks = true;
        let place = self.place(event);
        if let Some(acked) = self.recovery.acknowledge(self.now.us, place, ranges, self.trace.frameless) {
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
                self.stream_acknowledged(chunk);
            }
        }
        let flight = &mut self.paths.path(acked.place.path).in_flight;
        let before = *flight;
        *flight = flight.saturating_sub(bytes);
        self.instant.has_opened |= bytes > 0;
        if acked.place.kind == SpaceKind::Application {
            let has_queue = self.recovery.rtt().has_queue();
            self.delivery.acknowledge(bytes, acked.newest(), self.now.us, before, has_queue);
        }
        if let Some(answered) = &acked.answered {
            self.probe_answered(answered);
        }
        if let Some(over) = acked.period {
            self.period_over(over);
        }
    }

    fn probe_answered(&mut self, answered: &Answered) {
        let end_us = self.now.us;
        if answered.is_spurious {
            for id in &answered.losers {
                if let Some(stream) = self.streams.get_mut(id) {
                    stream.losses.iter_mut().for_each(|loss| loss.is_by_probe &= loss.detected_us < answered.fired.us);
                }
            }
        } else {
            self.held(Interval { cause: Cause::Pto, start_us: answered.start_us, end_us });
        }
        if !answered.is_logged {
            self.streams.values_mut().for_each(|stream| stream.infer(Cause::Pto));
        }
        self.episode(Episode {
            kind: "pto",
            first_seq: answered.fired.seq,
            start_us: answered.fired.us,
            end_us,
            confirmed: true,
            trigger: if answered.is_spurious { "spurious" } else { "" },
            count: answered.count,
            wait_us: Some(answered.waited_us),
            ..Episode::default()
        });
    }

    /// A probe timer fired.
    pub(super) fn probe_fired(&mut self, is_logged: bool) {
        self.seen.probe_timers |= is_logged;
        self.recovery.fire_probe(self.now, is_logged, self.has_rows_in_flight());
    }

    /// Rows without packet numbers know only the sum of what is in flight.
    fn has_rows_in_flight(&self) -> bool {
        self.trace.frameless && self.in_flight() > 0
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

    /// What a response that begins now has to work with.
    pub(super) fn transfer(&self) -> Transfer {
        let window = self.window().unwrap_or(0);
        let ssthresh = self.ssthresh.unwrap_or(u64::MAX);
        Transfer {
            room: window.saturating_sub(self.in_flight()),
            window,
            ssthresh,
            packet: self.largest_packet,
            ..Transfer::default()
        }
    }

    fn stream_acknowledged(&mut self, chunk: &Chunk) {
        let (now, is_server) = (self.now.us, self.is_server());
        let Some(stream) = self.streams.get_mut(&chunk.stream_id) else { return };
        let repairs = stream.acknowledge(chunk, now);
        if !repairs.is_empty() {
            let smoothed = self.recovery.rtt().smoothed_us().unwrap_or(0).unsigned_abs();
            stream.transfer.repair_rtt_us = stream.transfer.repair_rtt_us.max(smoothed);
        }
        if is_server && stream.sent.is_whole() && stream.end_is.is_empty() {
            self.end_request(chunk.stream_id, now, "acked");
        }
        for repair in repairs {
            let wait = repair.loss.resent_us.map(|resent| resent.abs_diff(repair.loss.sent_us));
            if let Some(wait) = wait {
                self.repairs.add(wait);
            }
            self.episode(Episode {
                kind: "repair",
                stream_id: chunk.stream_id.cast_signed(),
                first_seq: repair.loss.sent_seq,
                start_us: repair.loss.due_us,
                end_us: repair.end_us,
                confirmed: true,
                trigger: &repair.loss.trigger,
                packet_number: Some(repair.loss.number),
                bytes: repair.bytes,
                count: repair.loss.resent,
                detection_us: Some(repair.loss.detected_us.abs_diff(repair.loss.sent_us)),
                wait_us: wait,
                ..Episode::default()
            });
        }
    }
}

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
