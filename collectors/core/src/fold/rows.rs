//! QUIC_TRACE: rows without frames. Which packets belong to which request is known while one response is under way.

use crate::event::{Event, Number, Word};
use crate::fold::Fold;

impl Fold {
    /// `stream_event`: the HTTP layer's view of a request stream (proxygen's words).
    pub(super) fn stream_event(&mut self, event: &Event) {
        self.seen.stream_events = true;
        let Some(id) = event.get(Number::StreamId) else { return };
        let (now, rtt) = (self.now_us, (self.rtt.min_us, self.rtt.smoothed_us));
        let kind = event.word(Word::Trigger).to_owned();
        let Some(stream) = self.request_stream(id) else { return };
        // Milliseconds, rounded down, since the stream was created; on_flow_control and stream_blocked give bytes.
        if let Some(age) = event.get(Number::DeltaUs).and_then(|age| i64::try_from(age).ok()) {
            let created = now.saturating_sub(age);
            stream.marks.start_us = if stream.start_inferred { stream.marks.start_us.min(created) } else { created };
            stream.start_inferred = true;
        }
        match kind.as_str() {
            "on_eom" => {
                stream.marks.request_end_us.get_or_insert(now);
            }
            "headers" => {
                stream.marks.response_start_us.get_or_insert(now);
                stream.answered_by_http = true;
            }
            "eom" => stream.eom = true,
            "on_error" | "abort" if stream.end_is.is_empty() => {
                stream.rtt = rtt;
                stream.end(now, "reset", true);
                self.ended.push(id);
            }
            _ => {}
        }
    }

    /// A packet in flight: the responses under way may be in it. A probe repeats, it is nobody's last byte.
    pub(super) fn row_sent(&mut self) {
        if self.probe.series.is_some() {
            return;
        }
        let now = self.now_us;
        for stream in self.streams.values_mut().filter(|stream| stream.end_is.is_empty()) {
            if stream.marks.response_start_us.is_some() {
                stream.marks.first_byte_us.get_or_insert(now);
                stream.marks.last_byte_us = Some(now);
                stream.sent.packets += 1;
            }
        }
    }

    /// Nothing is in flight any more: responses that were queued whole have been acknowledged.
    pub(super) fn drained(&mut self) {
        if self.in_flight > 0 || !self.trace.frameless {
            return;
        }
        let acked = self.probe.last_news_us.unwrap_or(self.now_us);
        let rtt = (self.rtt.min_us, self.rtt.smoothed_us);
        for stream in self.streams.values_mut().filter(|stream| stream.end_is.is_empty()) {
            if stream.eom && stream.marks.last_byte_us.is_some_and(|last| last <= acked) {
                stream.rtt = rtt;
                stream.end(acked, "acked", true);
                self.ended.push(stream.id);
            }
        }
    }

    /// `packet_acked`, one row a packet, or `packets_acked`, only bytes.
    pub(super) fn packets_acked(&mut self, event: &Event) {
        if !self.trace.frameless {
            return;
        }
        self.seen.acks = true;
        if let Some(number) = event.get(Number::PacketNumber) {
            self.acknowledged(event, &[(number, number)]);
        } else if let Some(bytes) = event.get(Number::Length) {
            self.in_flight = self.in_flight.saturating_sub(bytes);
            self.newly_acknowledged(&[]);
        }
        self.drained();
    }

    /// State after an acknowledgement outside recovery: the only row whose bytes in flight are those of the moment
    /// (quic_trace.md 1.5).
    pub(super) fn congestion_ack(&mut self, event: &Event) {
        if let Some(window) = event.get(Number::CongestionWindow) {
            self.set_window(window);
        }
        if let Some(stated) = event.get(Number::BytesInFlight) {
            self.count.in_flight_disagreements +=
                u64::from(self.in_flight.abs_diff(stated) > self.largest_packet.max(1200));
            self.in_flight = stated;
        }
        self.end_epoch();
        self.drained();
    }

    pub(super) fn congestion_loss(&mut self, event: &Event) {
        self.seen.losses = true;
        if let Some(window) = event.get(Number::CongestionWindow) {
            self.set_window(window);
        }
        self.begin_epoch();
        self.drained();
    }

    /// Printed before the acknowledgement's own bytes are taken off: its figure is never taken (quic_trace.md 1.5).
    pub(super) fn remove_in_flight(&mut self, event: &Event) {
        if let Some(window) = event.get(Number::CongestionWindow) {
            self.set_window(window);
        }
        self.drained();
    }
}
