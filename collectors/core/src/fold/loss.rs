//! Packets that were declared lost, and the recovery periods of the congestion controller.

use crate::event::{Event, Number, Word};
use crate::fold::Fold;
use crate::fold::finish::Episode;
use crate::fold::packets::Sent;
use crate::fold::period::PeriodOver;
use crate::fold::recovery::{Lost, SpaceKind};

impl Fold {
    pub(super) fn packet_lost(&mut self, event: &Event) {
        self.seen.losses = true;
        let probe = event.leftover("is_mtu_probe_packet") == Some("true");
        let count = event.get(Number::LostPackets).unwrap_or(1);
        let bytes = event.get(Number::LostBytes);
        let Some(largest) = event.get(Number::PacketNumber) else {
            self.recovery.count_lost(count, bytes.unwrap_or(0), None);
            return;
        };
        let place = self.place(event);
        let Lost { packets: lost, largest_acked: acked, is_by_probe } =
            self.recovery.lose(self.now.us, place, largest, count);
        let sum = |sum: u64, packet: &Sent| sum.saturating_add(packet.bytes);
        let known = lost.iter().fold(0, sum);
        let in_flight = lost.iter().filter(|packet| packet.in_flight).fold(0, sum);
        let gone = if self.trace.frameless { bytes.unwrap_or(in_flight) } else { in_flight };
        let flight = &mut self.paths.path(place.path).in_flight;
        *flight = flight.saturating_sub(gone);
        self.instant.has_opened |= gone > 0;
        if probe {
            // A lost MTU probe says nothing of congestion (RFC 9000, 14.4).
            return;
        }
        self.recovery.count_lost(count, bytes.unwrap_or(known), Some(place.kind));
        let now = self.now.us;
        for packet in &lost {
            let trigger = match event.word(Word::Trigger) {
                // RFC 9002, 6.1.1: three packets later, else time.
                "" | "repeat" => match acked {
                    Some(acked) if acked >= packet.number.saturating_add(3) => "packet_threshold",
                    _ => "time_threshold",
                },
                "reordering_threshold" => "packet_threshold",
                "pto_expired" => "pto",
                other => other,
            };
            for chunk in packet.chunks() {
                if let Some(stream) = self.streams.get_mut(&chunk.stream_id) {
                    stream.packets_lost += 1;
                    // Of a copy, the first packet with these bytes is on its way, or was lost before.
                    if !packet.repetition.is_copy() {
                        stream.lose(packet, chunk, now, trigger, is_by_probe);
                        self.recovery.lose_data(chunk.stream_id);
                    }
                }
            }
        }
        if !self.trace.frameless && !lost.is_empty() {
            if let Some(over) = self.recovery.end_period_before(&lost) {
                self.period_over(over);
            }
            self.recovery.begin_period(self.now);
        }
    }

    /// "Packets declared lost can be acknowledged later": its bytes needed no repair, so nobody waited for one.
    pub(super) fn was_not_lost(&mut self, packet: &Sent) {
        self.recovery.count_spurious();
        let (now, sent) = (self.now.us, packet.time_us);
        for chunk in packet.chunks() {
            let Some(stream) = self.streams.get_mut(&chunk.stream_id) else { continue };
            if stream.was_not_lost(packet.number) {
                self.episode(Episode {
                    kind: "spurious_loss",
                    stream_id: chunk.stream_id.cast_signed(),
                    first_seq: packet.seq,
                    start_us: sent,
                    end_us: now,
                    confirmed: true,
                    packet_number: Some(packet.number),
                    bytes: packet.bytes,
                    ..Episode::default()
                });
            }
        }
    }

    pub(super) fn end_period(&mut self) {
        if let Some(over) = self.recovery.end_period() {
            self.period_over(over);
        }
    }

    pub(super) fn period_over(&mut self, over: PeriodOver) {
        self.ssthresh = self.window().or(self.ssthresh);
        self.episode(Episode {
            kind: "recovery",
            first_seq: over.since.seq,
            start_us: over.since.us,
            end_us: self.now.us,
            confirmed: true,
            wait_us: Some(over.flight_us),
            congestion_window: self.window(),
            ..Episode::default()
        });
    }

    /// Keys were discarded.
    pub(super) fn discard(&mut self, kind: SpaceKind) {
        for (path, bytes) in self.recovery.discard(kind) {
            let flight = &mut self.paths.path(path).in_flight;
            *flight = flight.saturating_sub(bytes);
            self.instant.has_opened |= bytes > 0;
        }
    }

    /// What the congestion controller says of its state.
    pub(super) fn congestion_state(&mut self, state: &str) {
        self.delivery.controller_state(state);
        if state.eq_ignore_ascii_case("recovery") {
            self.recovery.begin_period(self.now);
        }
    }
}
