//! Facts that the log states: metrics, timers, parameters, keys, migrations, and what the application does.

use crate::event::{BlockedReason, Event, Kind, Number, Word};
use crate::fold::Fold;
use crate::fold::cause::{Cause, Interval};
use crate::fold::connection::capability::Sight;
use crate::fold::episode::Episode;
use crate::fold::moment::Moment;
use crate::fold::recovery::SpaceKind;
use crate::fold::recovery::rtt::StatedRtt;
use crate::fold::requests::http;
use crate::fold::requests::queue::HandedOver;
use crate::fold::requests::stream::Stream;
use crate::fold::stated_waits::StatedWait;
use crate::reader::number::{whole, whole_double};

fn stated_rtt(event: &Event) -> StatedRtt {
    let as_us = |number| event.get(number).and_then(|us| i64::try_from(us).ok()).filter(|us| *us > 0);
    StatedRtt {
        latest_us: as_us(Number::LatestRttUs),
        smoothed_us: as_us(Number::SmoothedRttUs),
        variance_us: as_us(Number::RttVarianceUs),
        is_sample: event.kind == Kind::UpdateRtt,
    }
}

/// A parameter as a column of counts reads it: 1000, "1000", 1000.0, 1e3.
fn count_of(token: &[u8]) -> Option<u64> {
    whole(token).or_else(|| whole_double(token))
}

impl Fold {
    /// The new RTT sample that a record states which is not folded yet.
    pub fn sample_in(&self, event: &Event) -> Option<i64> {
        self.recovery.rtt().sample_in(stated_rtt(event))
    }

    pub(super) fn metrics(&mut self, event: &Event) {
        self.window_stated(event);
        if let Some(ssthresh) = event.get(Number::Ssthresh) {
            self.window.state_ssthresh(ssthresh);
        }
        if let Some(rate) = event.get(Number::PacingRate) {
            self.pacer.state_rate(rate);
        }
        self.recovery.state_rtt(stated_rtt(event), self.now.us);
        if let Some(stated) = event.get(Number::BytesInFlight)
            && event.kind == Kind::MetricsUpdated
            && !self.trace.frameless
        {
            self.window.compare_in_flight(event.get(Number::PathId).unwrap_or(0), stated);
        }
        if let Some(lost) = event.get(Number::LostPackets) {
            self.recovery.count_stated(lost, event.get(Number::LostBytes).unwrap_or(0));
        }
        if let Some(count) = event.get(Number::PtoCount) {
            self.seen.note(Sight::ProbeTimers);
            if self.recovery.state_probes(count) {
                self.probe_fired(true);
            }
        }
    }

    /// A record may state the window.
    pub(super) fn window_stated(&mut self, event: &Event) {
        if let Some(window) = event.get(Number::CongestionWindow) {
            self.seen.note(Sight::Window);
            let has_grown = self.window.state(event.get(Number::PathId).unwrap_or(0), window);
            self.instant.note_room(has_grown);
        }
    }

    /// What the congestion controller says of its state.
    pub(super) fn congestion_state(&mut self, state: &str) {
        self.delivery.controller_state(state);
        if state.eq_ignore_ascii_case("recovery") {
            self.recovery.begin_period(self.now);
        }
    }

    pub(super) fn timer(&mut self, event: &Event) {
        let (kind, what) = (event.word(Word::TimerType), event.word(Word::EventType));
        // mvfst logs its alarm only when it fires, with a count (quic_trace.md 2.2).
        let is_alarm = event.leftover("outstanding_packets").is_some() || event.get(Number::Count).is_some();
        let is_probe_timer = is_alarm || kind == "pto" || (kind.is_empty() && !what.is_empty());
        self.seen.note_if(is_probe_timer, Sight::ProbeTimers);
        if kind == "pacing" {
            self.pacing_timer(event);
        }
        if matches!(kind, "pto" | "ack" | "loss_timeout" | "") {
            let due_us = || event.get(Number::DeltaUs).map(|delta_us| self.now.us.saturating_add_unsigned(delta_us));
            match what {
                "expired" => self.recovery.fire_loss_timer(),
                "set" => self.recovery.set_loss_timer(due_us()),
                _ => self.recovery.set_loss_timer(None),
            }
        }
        if (what == "expired" && matches!(kind, "pto" | "")) || is_alarm {
            self.probe_fired(true);
        }
    }

    /// The log states that the pacer's timer was set, fired or was cancelled.
    fn pacing_timer(&mut self, event: &Event) {
        match event.get(Number::DeltaUs) {
            Some(delta_us) if event.is(Word::EventType, "set") => self.pacer.set_timer(self.now.us, delta_us),
            _ => self.close_pacing(),
        }
    }

    /// Transport parameters of the peer give the initial credit, and how long it may hold acknowledgements back (RFC 9000,
    /// 18.2).
    pub(super) fn parameters(&mut self, event: &Event) {
        if event.word(Word::Owner) != "remote" {
            return;
        }
        let value = |key: &str| event.leftover(key).and_then(|text| count_of(text.trim_matches('"').as_bytes()));
        if let Some(limit) = value("initial_max_data") {
            self.connection_credit(limit);
        }
        if let Some(ms) = value("max_ack_delay") {
            self.recovery.state_max_ack_delay(ms);
        }
        // Requests run on client-initiated streams: "local" for a client that receives, "remote" for a server.
        let key =
            if self.is_server() { "initial_max_stream_data_bidi_local" } else { "initial_max_stream_data_bidi_remote" };
        if let Some(limit) = value(key) {
            self.seen.note(Sight::StreamCredit);
            if self.credit.state_initial_stream(limit) {
                self.requests.all_mut().for_each(|stream| stream.credit_mut().state_initial(limit));
            }
        }
    }

    /// Keys were discarded: Initial keys with the first Handshake packet, Handshake keys once the handshake is
    /// confirmed (RFC 9001, 4.9).
    pub(super) fn key_discarded(&mut self, event: &Event) {
        let key = event.leftover("key_type").unwrap_or("");
        let kind = if key.contains("initial") {
            SpaceKind::Initial
        } else if key.contains("handshake") {
            SpaceKind::Handshake
        } else {
            return;
        };
        for (path, bytes) in self.recovery.discard(kind) {
            self.window.remove(path, bytes);
            self.instant.note_room(bytes > 0);
        }
    }

    /// The log says that the connection moved. "The endpoint MUST immediately reset the congestion controller and
    /// round-trip time estimator for the new path" (RFC 9000, 9.4).
    pub(super) fn migrated(&mut self, event: &Event) {
        if let Some(since) = self.migration.state(event, self.now) {
            self.recovery.restart_rtt();
            self.delivery.change_path();
            self.episode(Episode::of("migration", since, self.now.us));
        }
    }

    pub(super) fn http_frame(&mut self, event: &Event) {
        self.seen.note(Sight::Http);
        let Some(id) = event.get(Number::StreamId) else { return };
        let is_first = event.kind == Kind::HttpFrameParsed && self.requests.get(id).is_none();
        if !self.open(id) {
            return;
        }
        if let Some(stream) = self.requests.get_mut(id) {
            if is_first {
                stream.name_by_http();
            }
            if event.is(Word::HttpFrameType, "headers") {
                stream.headers(event);
            }
        }
        // A response begins when its first frame is handed to the transport.
        if event.kind == Kind::HttpFrameCreated && self.is_server() {
            self.queued(id, HandedOver { offset: None, bytes: http::frame_bytes(event) });
        }
    }

    /// Data that the application handed to the transport (quiche's `data_moved`).
    pub(super) fn data_moved(&mut self, event: &Event) {
        let to_transport = event.leftover("to").is_some_and(|to| to.trim_matches('"') == "transport");
        let (Some(id), Some(length)) = (event.get(Number::StreamId), event.get(Number::Length)) else { return };
        let is_told = self.seen.has(Sight::Http);
        if to_transport && self.is_server() && !is_told && self.requests.get(id).is_some() {
            self.seen.note(Sight::Moves);
            self.queued(id, HandedOver { offset: event.get(Number::Offset), bytes: length });
        }
    }

    /// The application queued more of a response; the first such event begins the response.
    fn queued(&mut self, id: u64, more: HandedOver) {
        let (now_us, room) = (self.now.us, self.window.room());
        if let Some(stream) = self.requests.get_mut(id) {
            stream.begin_response(now_us, room);
        }
        let paced_us = self.pacer.owed_us(now_us);
        if let Some(since) = self.requests.hand_over(id, more, now_us, paced_us) {
            self.no_data(id, since);
        }
        self.requests.note_hunger(id);
    }

    /// The application queued nothing for a response since `since`: it had no data, or, while we stated so in a blocked
    /// frame, there was no credit for more.
    fn no_data(&mut self, id: u64, since: Moment) {
        let (start_us, end_us) = (since.us, self.now.us);
        let Some(stream) = self.requests.get_mut(id).filter(|_| start_us < end_us) else { return };
        let told = [
            (Cause::ConnectionFlowControl, self.credit.told().within(start_us, end_us)),
            (Cause::StreamFlowControl, stream.credit_mut().told().within(start_us, end_us)),
        ];
        let told = told.into_iter().find_map(|(cause, wait)| Some((cause, wait?)));
        let (cause, (from_us, to_us)) = told.unwrap_or((Cause::AppLimited, (start_us, end_us)));
        let waits =
            [(Cause::AppLimited, start_us, from_us), (cause, from_us, to_us), (Cause::AppLimited, to_us, end_us)];
        let waits = waits.into_iter().filter(|(_, from_us, to_us)| from_us < to_us);
        if told.is_some() {
            stream.timeline_mut().infer(cause);
        }
        for (cause, from_us, to_us) in waits.clone() {
            stream.timeline_mut().hold(Interval::of(cause, from_us, to_us));
        }
        for (cause, from_us, to_us) in waits {
            self.episode(Episode::of(cause.name(), Moment { us: from_us, ..since }, to_us).on(id));
        }
    }

    /// A log without frames may name its streams in other events; only the time of these is known.
    pub(super) fn named(&mut self, event: &Event) {
        if self.seen.has(Sight::Frames) || self.trace.frameless {
            return;
        }
        let now_us = self.now.us;
        if let Some(id) = event.get(Number::StreamId)
            && self.open(id)
            && let Some(stream) = self.requests.get_mut(id)
        {
            stream.name(now_us);
        }
    }

    /// The log states that data waits, of the connection or of a stream, or no longer does.
    pub(super) fn data_blocked(&mut self, event: &Event) {
        let Some(blocked) = event.blocked() else { return };
        if let Some(reason) = blocked.reason {
            self.seen.note_stated(reason.cause());
        }
        let now = self.now;
        let over = match blocked.stream_id {
            None => self.stated_waits.state(blocked, now),
            Some(id) => {
                // A client's request begins before its first packet: the application has asked for it.
                if self.is_client() && blocked.is_blocked {
                    self.open(id);
                }
                self.requests.get_mut(id).and_then(|stream| stream.stated_waits_mut().state(blocked, now))
            }
        };
        if let Some(over) = over {
            self.stated_wait_over(blocked.stream_id, over);
        }
    }

    /// New data of a stream is sent: neither the stream nor the connection waits any more, even if no record says so.
    pub(super) fn no_longer_waits(&mut self, id: u64) {
        let now = self.now;
        if let Some(over) = self.stated_waits.go_on(now) {
            self.stated_wait_over(None, over);
        }
        if let Some(over) = self.requests.get_mut(id).and_then(|stream| stream.stated_waits_mut().go_on(now)) {
            self.stated_wait_over(Some(id), over);
        }
    }

    fn stated_wait_over(&mut self, stream_id: Option<u64>, over: StatedWait) {
        let Some(interval) = self.stated_until_now(over) else { return };
        let rate = self.delivery.rate().filter(|_| interval.cause == Cause::Bandwidth);
        let is_client = self.is_client();
        match stream_id {
            None => {
                if rate.is_some() {
                    self.requests.measure_hungry(rate);
                }
                self.hold(interval);
            }
            Some(id) => {
                if let Some(stream) = self.requests.get_mut(id) {
                    if rate.is_some() {
                        stream.measure(rate);
                    }
                    stream.waited(interval, is_client);
                }
            }
        }
        self.stretch(interval.cause.name(), stream_id, over.since);
    }

    /// A stated wait up to now; `None` if the log states no reason or no time has passed.
    fn stated_until_now(&self, wait: StatedWait) -> Option<Interval> {
        let interval = Interval::of(self.cause_of(wait.reason?), wait.since.us, self.now.us).stated();
        (interval.start_us < interval.end_us).then_some(interval)
    }

    /// A request is over: stated waits that are still open lasted until now.
    pub(super) fn stated_waits_until_now(&self, stream: &mut Stream) {
        let of_connection = self.stated_waits.open().filter(|_| !self.is_client());
        for wait in of_connection.into_iter().chain(stream.stated_waits().open()) {
            if let Some(interval) = self.stated_until_now(wait) {
                stream.waited(interval, self.is_client());
            }
        }
    }

    /// The cause for a reason that the stack states. A stack knows its window and its pacer, but not whether the path
    /// is the bottleneck.
    fn cause_of(&self, reason: BlockedReason) -> Cause {
        match reason {
            // Only with a stated rate it is known whether the pacer just spreads the window.
            BlockedReason::Pacing if self.pacer.is_stated() || self.path_is_bottleneck() => self.cause_of_pacing(),
            BlockedReason::CongestionControl if self.path_is_bottleneck() => Cause::Bandwidth,
            reason => reason.cause(),
        }
    }

    /// QUIC_TRACE says outright that credit was used up.
    pub(super) fn flow_control_event(&mut self, event: &Event) {
        self.seen.note(Sight::FlowEvents);
        match (event.word(Word::Trigger), event.get(Number::StreamId)) {
            ("conn_blocked", _) => self.credit.state_blocked(self.now),
            ("rx_conn", _) => {
                if let Some(since) = self.credit.state_open() {
                    self.was_blocked(Cause::ConnectionFlowControl, None, since);
                }
            }
            ("stream_blocked", Some(id)) => {
                if self.open(id)
                    && let Some(stream) = self.requests.get_mut(id)
                {
                    stream.credit_mut().state_blocked(self.now);
                }
            }
            ("rx_stream", Some(id)) => {
                let limit = event.leftover("maximum_data").and_then(|limit| limit.parse().ok());
                self.stream_credit(id, limit);
            }
            _ => {}
        }
    }
}
