//! QUIC_TRACE: rows without frames. Which packets belong to which request is known while one response is under way.

use crate::event::{Event, Number, Word};
use crate::fold::Fold;
use crate::fold::stream::Stream;

impl Fold {
    /// `stream_event`: the HTTP layer's view of a request stream (proxygen's words).
    pub(super) fn stream_event(&mut self, event: &Event) {
        self.seen.stream_events = true;
        let Some(id) = event.get(Number::StreamId) else { return };
        let (now, transfer) = (self.now.us, self.transfer());
        let kind = event.word(Word::Trigger).to_owned();
        let Some(stream) = self.request_stream(id) else { return };
        // Milliseconds, rounded down, since the stream was created; on_flow_control and stream_blocked give bytes.
        if let Some(age) = event.get(Number::DeltaUs).and_then(|age| i64::try_from(age).ok()) {
            // Never later than what was seen of the stream before: a start after the end would be no time at all.
            stream.marks.start_us = stream.marks.start_us.min(now.saturating_sub(age));
            stream.start_inferred = true;
        }
        match kind.as_str() {
            "on_eom" => {
                stream.marks.request_end_us.get_or_insert(now);
            }
            "headers" => {
                stream.marks.response_start_us.get_or_insert(now);
                stream.answered_by_http = true;
                stream.transfer = transfer;
            }
            "eom" => stream.eom = true,
            "on_error" | "abort" => self.end_request(id, now, "reset"),
            _ => {}
        }
        self.note_hunger(id);
    }

    /// A packet in flight: the responses under way may be in it. A probe repeats, it is nobody's last byte.
    pub(super) fn row_sent(&mut self) {
        if self.recovery.probe().is_running() {
            return;
        }
        let now = self.now.us;
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
        // `eom` is queued, not sent: a response that used up its credit is not done.
        if !self.trace.frameless || self.in_flight() > 0 || self.credit.blocked.is_some() {
            return;
        }
        let acked = self.recovery.probe().news_us().unwrap_or(self.now.us);
        let is_done = |stream: &Stream| {
            stream.end_is.is_empty()
                && stream.eom
                && stream.blocked.is_none()
                && stream.marks.last_byte_us.is_some_and(|last| last <= acked)
        };
        let done: Vec<u64> = self.streams.values().filter(|stream| is_done(stream)).map(|stream| stream.id).collect();
        for id in done {
            self.end_request(id, acked, "acked");
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
            let flight = &mut self.path(event).in_flight;
            *flight = flight.saturating_sub(bytes);
            self.instant.has_opened = true;
            let acked = self.recovery.acknowledge_unnamed(self.now.us, true);
            self.newly_acknowledged(&acked);
        }
        self.drained();
    }

    /// State after an acknowledgement outside recovery: the only row whose bytes in flight are those of the moment
    /// (quic_trace.md 1.5).
    pub(super) fn congestion_ack(&mut self, event: &Event) {
        if let Some(window) = event.get(Number::CongestionWindow) {
            self.set_window(event, window);
        }
        if let Some(stated) = event.get(Number::BytesInFlight) {
            let packet = self.largest_packet.max(1200);
            let ours = std::mem::replace(&mut self.path(event).in_flight, stated);
            self.count.in_flight_disagreements += u64::from(ours.abs_diff(stated) > packet);
            self.instant.has_opened = true;
        }
        match event.leftover("bbr_recovery_state") {
            // BBR prints the same row in recovery and outside of it.
            Some(state) if state.trim_matches('"') != "NotRecovery" => self.recovery.begin_period(self.now),
            // Cubic prints it only outside of recovery; Copa always, so there the acknowledged packet decides.
            None if event.bytes(event.name).starts_with(b"copa") => self.recovery.period_ends_by_packet(),
            _ => self.end_period(),
        }
        self.delivery.controller_state(event.word(Word::NewState));
        self.drained();
    }

    pub(super) fn congestion_loss(&mut self, event: &Event) {
        self.seen.losses = true;
        // A row during recovery is a loss of a packet that was sent after it began (quic_trace.md 4.7).
        self.end_period();
        if let Some(window) = event.get(Number::CongestionWindow) {
            self.set_window(event, window);
        }
        self.recovery.begin_period(self.now);
        self.drained();
    }

    /// Printed before the acknowledgement's own bytes are taken off: its figure is never taken (quic_trace.md 1.5).
    pub(super) fn remove_in_flight(&mut self, event: &Event) {
        if let Some(window) = event.get(Number::CongestionWindow) {
            self.set_window(event, window);
        }
        self.drained();
    }
}
