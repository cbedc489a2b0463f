//! Packets that were declared lost, and the recovery periods of the congestion controller.

use crate::event::{Event, Number, Word};
use crate::fold::Fold;
use crate::fold::finish::Episode;
use crate::fold::packets::Sent;
use serde::{Deserialize, Serialize};

/// A congestion-control recovery period.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub struct Epoch {
    open: Option<(i64, u64)>,
    flight_us: u64,
    by_packet: bool,
}

impl Epoch {
    /// No row tells when it is over: the first acknowledgement of a packet that was sent after it began ends it.
    pub fn ends_by_packet(&mut self) {
        self.by_packet = true;
    }

    /// Whether acknowledgements end it.
    pub fn is_by_packet(&self) -> bool {
        self.by_packet
    }

    /// Since when recovery is going on.
    pub fn since(&self) -> Option<i64> {
        self.open.map(|(since, _)| since)
    }

    /// Time passed with bytes in flight.
    pub fn pass(&mut self, us: u64) {
        if self.open.is_some() {
            self.flight_us += us;
        }
    }
}

impl Fold {
    pub(super) fn packet_lost(&mut self, event: &Event) {
        self.seen.losses = true;
        let probe = event.leftover("is_mtu_probe_packet") == Some("true");
        let count = event.get(Number::LostPackets).unwrap_or(1);
        let bytes = event.get(Number::LostBytes);
        let Some(largest) = event.get(Number::PacketNumber) else {
            self.count.packets_lost = self.count.packets_lost.saturating_add(count);
            self.count.bytes_lost = self.count.bytes_lost.saturating_add(bytes.unwrap_or(0));
            return;
        };
        let space = self.space(event);
        let path = space.path;
        let numbers =
            if count > 1 { space.oldest(largest, usize::try_from(count).unwrap_or(usize::MAX)) } else { vec![largest] };
        let acked = space.largest_acked;
        let lost: Vec<Sent> = numbers.iter().filter_map(|number| space.lose(*number).cloned()).collect();
        let sum = |sum: u64, packet: &Sent| sum.saturating_add(packet.bytes);
        let known = lost.iter().fold(0, sum);
        let in_flight = lost.iter().filter(|packet| packet.in_flight).fold(0, sum);
        let gone = if self.trace.frameless { bytes.unwrap_or(in_flight) } else { in_flight };
        let flight = &mut self.paths.path(path).in_flight;
        *flight = flight.saturating_sub(gone);
        self.instant.has_opened |= gone > 0;
        self.probe.last_lost_us = Some(self.now_us);
        if probe {
            // A lost MTU probe says nothing of congestion (RFC 9000, 14.4).
            return;
        }
        self.count.packets_lost = self.count.packets_lost.saturating_add(count);
        self.count.bytes_lost = self.count.bytes_lost.saturating_add(bytes.unwrap_or(known));
        match event.word(Word::PacketType) {
            "initial" | "handshake" => {
                self.count.packets_lost_handshake = self.count.packets_lost_handshake.saturating_add(count);
            }
            _ => self.count.packets_lost_data = self.count.packets_lost_data.saturating_add(count),
        }
        let now = self.now_us;
        let is_by_probe = self.probe.answered_us == Some(now) || self.probe.series.is_some();
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
                    if !packet.is_copy {
                        stream.lose(packet, chunk, now, trigger, is_by_probe);
                        if let Some(series) = &mut self.probe.series {
                            series.lost(chunk.stream_id);
                        }
                    }
                }
            }
        }
        if !self.trace.frameless && !lost.is_empty() {
            // "No reaction if already in a recovery period", which is asked of the time the lost packet was sent
            // (RFC 9002, B.6): one sent after the period began starts another.
            if self.epoch.since().is_some_and(|since| lost.iter().any(|packet| packet.time_us > since)) {
                self.end_epoch();
            }
            self.begin_epoch();
        }
    }

    /// "Packets declared lost can be acknowledged later": its bytes needed no repair, so nobody waited for one.
    pub(super) fn was_not_lost(&mut self, packet: &Sent) {
        self.count.packets_spurious += 1;
        let (now, sent) = (self.now_us, packet.time_us);
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

    pub(super) fn begin_epoch(&mut self) {
        if self.epoch.open.is_none() {
            let by_packet = self.epoch.by_packet;
            self.epoch = Epoch { open: Some((self.now_us, self.seq)), flight_us: 0, by_packet };
        }
    }

    pub(super) fn end_epoch(&mut self) {
        let by_packet = self.epoch.by_packet;
        let over = std::mem::replace(&mut self.epoch, Epoch { by_packet, ..Epoch::default() });
        if let Epoch { open: Some((start_us, first_seq)), flight_us, .. } = over {
            let end_us = self.now_us;
            self.ssthresh = self.window().or(self.ssthresh);
            self.episode(Episode {
                kind: "recovery",
                first_seq,
                start_us,
                end_us,
                confirmed: true,
                wait_us: Some(flight_us),
                congestion_window: self.window(),
                ..Episode::default()
            });
        }
    }

    /// Keys were discarded: "the sender MUST discard all recovery state associated with those packets and MUST remove
    /// them from the count of bytes in flight" (RFC 9002, 6.4).
    pub(super) fn discard(&mut self, kind: u8) {
        for at in 0..self.spaces.len() {
            if self.spaces[at].kind == kind {
                let bytes = self.spaces[at].discard();
                let flight = &mut self.paths.path(self.spaces[at].path).in_flight;
                *flight = flight.saturating_sub(bytes);
                self.instant.has_opened |= bytes > 0;
            }
        }
    }

    /// What the congestion controller says of its state.
    pub(super) fn congestion_state(&mut self, state: &str) {
        self.delivery.controller_state(state);
        if state.eq_ignore_ascii_case("recovery") {
            self.begin_epoch();
        }
    }
}
