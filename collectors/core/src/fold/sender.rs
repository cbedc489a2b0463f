//! What we send, and its acknowledgements.

use crate::dialect::Losses;
use crate::event::{Event, FrameNumber, Number, Word};
use crate::fold::cause::Cause;
use crate::fold::delivery::has_queue;
use crate::fold::finish::Episode;
use crate::fold::packets::{APPLICATION, Chunk, Sent, Space};
use crate::fold::saves::Transfer;
use crate::fold::stream::Ready;
use crate::fold::{Fold, stats};

impl Fold {
    pub(super) fn packet_sent(&mut self, event: &Event) {
        self.seen.packets_sent = true;
        self.handshake.sent(event, self.now_us);
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
            time_us: self.now_us,
            seq: self.seq,
            bytes,
            early: event.is(Word::PacketType, "0RTT"),
            rtt_us: self.rtt.smoothed_us.or(self.rtt.min_us).unwrap_or(0),
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
        self.count.retransmitted_packets += u64::from(kinds.repeats);
        if kinds.eliciting {
            if event.is(Word::Trigger, "pto_probe") {
                self.probe_fired(true);
            } else if !self.seen.probe_timers
                && !self.trace.frameless
                && self.was_silent()
                && (kinds.pings || kinds.repeats_unlost || (kinds.repeats && self.is_after_loss_timers()))
            {
                self.probe_fired(false);
            }
        }
        if self.trace.frameless && packet.in_flight {
            self.row_sent();
        }
        // A probe may exceed the window (RFC 9002, 7.5): it confirms nothing.
        self.instant.has_news |=
            (kinds.news || (self.trace.frameless && packet.in_flight)) && self.probe.series.is_none();
        if kinds.eliciting {
            self.probe.elicit(self.now_us);
        }
        packet.is_eliciting = kinds.eliciting;
        packet.is_copy = kinds.repeats_unlost && !kinds.news && !kinds.mends;
        if let Some(number) = event.get(Number::PacketNumber) {
            let space = self.space(event);
            space.largest_sent = space.largest_sent.max(Some(number));
        }
        if packet.in_flight && event.get(Number::PacketNumber).is_some() {
            let path = self.path(event);
            path.in_flight = path.in_flight.saturating_add(bytes);
            self.count.bytes_in_flight_max = self.count.bytes_in_flight_max.max(self.in_flight());
            self.space(event).send(packet);
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
                    self.range_ends.look(ranges, None);
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
                    match packet.chunk {
                        None => packet.chunk = Some(chunk),
                        Some(_) => packet.chunks.push(chunk),
                    }
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
                    self.credit.given_us = self.now_us;
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
        let (now, is_server) = (self.now_us, self.is_server());
        let infers_loss = matches!(self.trace.losses, Losses::None | Losses::Counter);
        let carriers = if infers_loss { self.carriers_before(&chunk) } else { Vec::new() };
        // Unidirectional streams (RFC 9000, 2.1) carry settings and tables of headers, which take nobody's turn.
        if chunk.to > chunk.from && chunk.stream_id & 2 == 0 {
            self.instant.carried.insert(chunk.stream_id);
        }
        let transfer =
            self.streams.get(&chunk.stream_id).is_none_or(|stream| stream.sent.packets == 0).then(|| self.transfer());
        let Some(stream) = self.request_stream(chunk.stream_id) else {
            kinds.news |= self.credit.other_streams(&chunk);
            return;
        };
        let before = stream.sent.highest;
        // This stack does not say what it lost: what it sends again it took for lost (RFC 9002, 6).
        let lost: Vec<&(usize, Sent)> = carriers.iter().filter(|(_, packet)| stream.infer_lost(packet, now)).collect();
        let packets = lost.len() as u64;
        let bytes = lost.iter().fold(0u64, |sum, (_, packet)| sum.saturating_add(packet.bytes));
        let replaced: Vec<(usize, u64)> = lost.iter().map(|(space, packet)| (*space, packet.number)).collect();
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
        if !self.counter_losses {
            self.count.packets_lost = self.count.packets_lost.saturating_add(packets);
            self.count.packets_lost_data = self.count.packets_lost_data.saturating_add(packets);
            self.count.bytes_lost = self.count.bytes_lost.saturating_add(bytes);
        }
        self.credit.data_sent = self.credit.data_sent.saturating_add(grown);
        self.count.retransmitted_bytes = self.count.retransmitted_bytes.saturating_add(repeated);
        self.count.retransmissions_max = self.count.retransmissions_max.max(most);
        kinds.news |= news;
        kinds.repeats |= repeated > 0;
        kinds.repeats_unlost |= repeated > 0 && !mends;
        kinds.mends |= mends;
        if news && is_server && self.instant.sending.insert(chunk.stream_id) {
            self.instant.senders.push((chunk.stream_id, self.seq));
        }
        for (space, number) in replaced {
            self.spaces[space].repeat(number);
        }
        self.watch_stream_credit(chunk.stream_id);
    }

    /// Packets on their way that carried what goes out again in `chunk`, and the places of their spaces.
    fn carriers_before(&self, chunk: &Chunk) -> Vec<(usize, Sent)> {
        let highest = self.streams.get(&chunk.stream_id).map_or(0, |stream| stream.sent.highest);
        if chunk.from >= highest {
            return Vec::new();
        }
        let to = chunk.to.min(highest);
        let of = |(place, space): (usize, &'_ Space)| {
            let carriers = space.carriers(chunk.stream_id, chunk.from, to);
            carriers.map(|packet| (place, packet.clone())).collect::<Vec<_>>()
        };
        self.spaces.iter().enumerate().flat_map(of).collect()
    }

    /// The acknowledgements of one received packet.
    pub(super) fn acknowledged(&mut self, event: &Event, ranges: &[(u64, u64)]) {
        self.seen.acks = true;
        let mut newly = Vec::new();
        let newest = self.space(event).largest_sent;
        self.range_ends.look(ranges, newest);
        let ends = self.range_ends;
        let space = self.space(event);
        let (kind, path) = (space.kind, space.path);
        for (from, to) in ranges {
            let (from, to) = (*from.min(to), *from.max(to));
            space.ack(from, ends.last(from, to), |packet| newly.push(packet.clone()));
        }
        if !newly.is_empty() {
            self.newly_acknowledged(&newly, kind, path);
        }
    }

    pub(super) fn newly_acknowledged(&mut self, packets: &[Sent], kind: u8, path: u64) {
        let now = self.now_us;
        let newest = packets.iter().max_by_key(|packet| packet.number);
        if !self.rtt.logged
            && let Some(newest) = newest
        {
            self.rtt_sample(now.saturating_sub(newest.time_us), true);
        }
        let mut bytes = 0u64;
        for packet in packets {
            if packet.early {
                self.zero_rtt.acknowledged();
            }
            if packet.lost {
                self.was_not_lost(packet);
            } else if packet.in_flight {
                bytes = bytes.saturating_add(packet.bytes);
            }
            for chunk in packet.chunks() {
                self.stream_acknowledged(chunk);
            }
        }
        let flight = &mut self.paths.path(path).in_flight;
        let before = *flight;
        *flight = flight.saturating_sub(bytes);
        self.instant.has_opened |= bytes > 0;
        if kind == APPLICATION {
            self.delivery.acknowledge(bytes, newest, now, before, has_queue(&self.rtt));
        }
        self.probe.last_news_us = Some(now);
        if let Some(series) = self.probe.series.take() {
            self.probe_answered(&series, packets);
        }
        if let Some(start) = self.epoch.since()
            && (!self.trace.frameless || self.epoch.is_by_packet())
            && packets.iter().any(|packet| packet.time_us > start)
        {
            // "A recovery period ends and the sender enters congestion avoidance when a packet sent during the
            // recovery period is acknowledged" (RFC 9002, 7.3.2).
            self.end_epoch();
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
        let (now, is_server) = (self.now_us, self.is_server());
        let Some(stream) = self.streams.get_mut(&chunk.stream_id) else { return };
        let repairs = stream.acknowledge(chunk, now);
        if !repairs.is_empty() {
            let smoothed = self.rtt.smoothed_us.unwrap_or(0).unsigned_abs();
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

    /// One RTT sample; `own` when we computed it.
    pub(super) fn rtt_sample(&mut self, sample_us: i64, own: bool) {
        if sample_us <= 0 {
            return;
        }
        let rtt = &mut self.rtt;
        rtt.min_us = Some(rtt.min_us.map_or(sample_us, |least| least.min(sample_us)));
        rtt.latest_us = Some(sample_us);
        rtt.first_us.get_or_insert(sample_us);
        rtt.stats.add(sample_us.unsigned_abs());
        *rtt.histogram.entry(stats::bucket(sample_us.unsigned_abs())).or_default() += 1;
        if own {
            // RFC 9002, 5.3.
            let (smoothed, variance) = match (rtt.smoothed_us, rtt.variance_us) {
                (Some(smoothed), Some(variance)) => {
                    let apart = smoothed.saturating_sub(sample_us).saturating_abs();
                    let smoothed = smoothed.saturating_mul(7).saturating_add(sample_us) / 8;
                    (smoothed, variance.saturating_mul(3).saturating_add(apart) / 4)
                }
                _ => (sample_us, sample_us / 2),
            };
            (rtt.smoothed_us, rtt.variance_us) = (Some(smoothed), Some(variance));
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
    news: bool,
    repeats: bool,
    repeats_unlost: bool,
    mends: bool,
}
