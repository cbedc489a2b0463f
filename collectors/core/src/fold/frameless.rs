//! QUIC_TRACE: rows without frames. Packets can be assigned to a request only while a single response is in progress.

use crate::event::{Event, Number, Word};
use crate::fold::Fold;
use crate::fold::connection::capability::Sight;
use crate::fold::requests::stream::RequestEnd;

impl Fold {
    /// `stream_event`: the HTTP layer's view of a request stream (proxygen's words).
    pub(super) fn stream_event(&mut self, event: &Event) {
        self.seen.note(Sight::StreamEvents);
        let Some(id) = event.get(Number::StreamId) else { return };
        if !self.open(id) {
            return;
        }
        let (now_us, room) = (self.now.us, self.window.room());
        let Some(stream) = self.requests.get_mut(id) else { return };
        // Milliseconds, rounded down, since the stream was created; on_flow_control and stream_blocked give bytes.
        if let Some(age_us) = event.get(Number::DeltaUs).and_then(|age| i64::try_from(age).ok()) {
            stream.began(age_us, now_us);
        }
        match event.word(Word::Trigger) {
            "on_eom" => stream.request_ended(now_us),
            "headers" => {
                stream.row_headers(now_us, room);
                self.requests.begin_again(id);
            }
            "eom" => stream.queue_end(),
            "on_error" | "abort" => self.end_request(id, now_us, RequestEnd::Reset),
            _ => {}
        }
        self.requests.note_hunger(id);
    }

    /// A packet in flight: it may carry any response in progress. A probe repeats data, so it is no response's last
    /// byte.
    pub(super) fn row_sent(&mut self) {
        if !self.recovery.probe().is_running() {
            self.requests.row_sent(self.now.us);
        }
    }

    /// Nothing is in flight any more: responses that were queued whole have been acknowledged.
    fn drained(&mut self) {
        // The end is queued, not sent: a response that used up its credit is not done.
        if !self.trace.frameless || self.window.in_flight() > 0 || self.credit.blocked_since().is_some() {
            return;
        }
        let acked_us = self.recovery.probe().news_us().unwrap_or(self.now.us);
        for id in self.requests.rows_acknowledged(acked_us) {
            self.end_request(id, acked_us, RequestEnd::Acked);
        }
    }

    /// `packet_acked`, one row a packet, or `packets_acked`, only bytes.
    pub(super) fn packets_acked(&mut self, event: &Event) {
        if !self.trace.frameless {
            return;
        }
        self.seen.note(Sight::Acks);
        if let Some(number) = event.get(Number::PacketNumber) {
            self.acknowledged(event, &[(number, number)]);
        } else if let Some(bytes) = event.get(Number::Length) {
            self.window.remove(event.get(Number::PathId).unwrap_or(0), bytes);
            self.instant.note_room(true);
            let acked = self.recovery.acknowledge_unnamed(self.now.us, true);
            self.newly_acknowledged(&acked);
        }
        self.drained();
    }

    /// State after an acknowledgement outside recovery: the only row whose bytes in flight are those of the moment
    /// (quic_trace.md 1.5).
    pub(super) fn congestion_ack(&mut self, event: &Event) {
        self.window_stated(event);
        if let Some(stated) = event.get(Number::BytesInFlight) {
            self.window.state_in_flight(event.get(Number::PathId).unwrap_or(0), stated);
            self.instant.note_room(true);
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
        // A row during recovery is a loss of a packet that was sent after it began (quic_trace.md 4.7).
        self.end_period();
        self.window_stated(event);
        self.recovery.begin_period(self.now);
        self.drained();
    }

    fn end_period(&mut self) {
        if let Some(over) = self.recovery.end_period() {
            self.period_over(over);
        }
    }

    /// Printed before the acknowledgement's own bytes are taken off: its figure is never taken (quic_trace.md 1.5).
    pub(super) fn remove_in_flight(&mut self, event: &Event) {
        self.window_stated(event);
        self.drained();
    }
}
