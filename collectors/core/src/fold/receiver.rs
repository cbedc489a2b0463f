//! What arrives: the peer's packets, and everything else that the log tells of the connection.

use crate::event::{Event, Frame, FrameNumber, Kind, Number, Word};
use crate::fold::packets::Chunk;
use crate::fold::rtt::StatedRtt;
use crate::fold::stream::Silence;
use crate::fold::{Fold, http};
use crate::header::Vantage;
use crate::limits::{ALIAS_LETTERS, ALIASES};
use serde::{Deserialize, Serialize};

impl Fold {
    pub(super) fn packet_received(&mut self, event: &Event) {
        if self.role == Vantage::Unknown && self.count.packets_sent == 0 && self.count.packets_received == 0 {
            // The client always speaks first (RFC 9000, 7): who receives first is the server.
            self.role = Vantage::Server;
        }
        self.handshake.received(event, self.now.us);
        self.zero_rtt.packet(event, self.is_server());
        self.amplification.receive(event);
        self.count.packets_received += 1;
        self.count.bytes_received =
            self.count.bytes_received.saturating_add(event.get(Number::PacketBytes).unwrap_or(0));
        self.received_us = Some(self.now.us);
        self.see_ids(event, false);
        if let Some(number) = event.get(Number::PacketNumber) {
            let place = self.place(event);
            self.recovery.receive(place, number);
        }
        self.count.retries += u64::from(event.is(Word::PacketType, "retry"));
        self.seen.frames |= !event.frames.is_empty();
        let mut acked = 0;
        for frame in &event.frames {
            let ranges = &event.acked[acked..(acked + usize::from(frame.ack_ranges)).min(event.acked.len())];
            acked += ranges.len();
            self.frame_received(event, frame, ranges);
        }
    }

    fn frame_received(&mut self, event: &Event, frame: &Frame, ranges: &[(u64, u64)]) {
        let id = frame.get(FrameNumber::StreamId);
        match event.bytes(frame.frame_type) {
            b"ack" | b"ack_ecn" | b"ack_mp" | b"path_ack" => {
                let delay = frame.get(FrameNumber::AckDelayUs).unwrap_or(0).min(MAX_ACK_DELAY_US);
                self.recovery.held_back(delay.cast_signed());
                self.acknowledged(event, ranges);
            }
            b"stream" => {
                let from = frame.get(FrameNumber::Offset).unwrap_or(0);
                let to = from.saturating_add(frame.get(FrameNumber::Length).unwrap_or(0));
                let id = id.unwrap_or(0);
                let is_new = !self.streams.contains_key(&id);
                self.stream_received(Chunk { stream_id: id, from, to, fin: frame.fin });
                if is_new && self.is_server() {
                    self.first_readable(event, id);
                }
            }
            b"path_response" => self.path_validated(event),
            b"max_data" => self.connection_credit(frame.get(FrameNumber::Maximum).unwrap_or(0)),
            b"max_stream_data" => {
                if let Some(id) = id {
                    self.stream_credit(id, frame.get(FrameNumber::Maximum).unwrap_or(0));
                }
            }
            b"reset_stream" | b"reset_stream_at" => self.reset(id, false),
            _ => {}
        }
    }

    fn stream_received(&mut self, chunk: Chunk) {
        let (now, is_server) = (self.now.us, self.is_server());
        self.seen.fins |= chunk.fin;
        // A window that the peer fills comes once a round trip, which may have grown, and after our acknowledgement.
        let rtt = self.recovery.rtt().smoothed_us().or(self.recovery.rtt().min_us()).filter(|_| !is_server);
        let silence = rtt.map(|rtt| Silence {
            since_us: self.credit.given_us,
            longest_us: rtt.saturating_mul(2).saturating_add(MAX_ACK_DELAY_US.cast_signed()),
        });
        let sent = self.count.stream_bytes_sent;
        let Some(stream) = self.request_stream(chunk.stream_id) else { return };
        stream.receive(&chunk, now, silence);
        stream.turn.begin(sent);
        stream.received.packets += 1;
        if is_server {
            if stream.received.is_whole() {
                stream.marks.request_end_us.get_or_insert(now);
            }
        } else {
            stream.marks.first_byte_us.get_or_insert(now);
            stream.marks.last_byte_us = Some(now);
            if stream.received.is_whole() && stream.end_is.is_empty() {
                self.end_request(chunk.stream_id, now, "received");
            }
        }
    }

    /// A stream was reset: by us (`ours`) or by the peer. The response's side ends the request.
    pub(super) fn reset(&mut self, id: Option<u64>, ours: bool) {
        let is_response = ours == self.is_server();
        if let Some(id) = id.filter(|_| is_response) {
            self.end_request(id, self.now.us, "reset");
        }
    }

    pub(super) fn http_frame(&mut self, event: &Event) {
        self.seen.http = true;
        let created = event.kind == Kind::HttpFrameCreated;
        let (now, is_server, transfer) = (self.now.us, self.is_server(), self.transfer());
        let Some(id) = event.get(Number::StreamId) else { return };
        let Some(stream) = self.request_stream(id) else { return };
        if event.is(Word::HttpFrameType, "headers") {
            http::headers(event, &mut stream.http);
        }
        // A response begins when its first frame is handed to the transport.
        if created && is_server {
            if stream.marks.response_start_us.is_none() {
                stream.marks.response_start_us = Some(now);
                stream.answered_by_http = true;
                stream.transfer = transfer;
            }
            self.queued(id, http::frame_bytes(event));
        }
    }

    /// Data that the application handed to the transport (quiche's `data_moved`).
    pub(super) fn data_moved(&mut self, event: &Event) {
        let to_transport = event.leftover("to").is_some_and(|to| to.trim_matches('"') == "transport");
        let (Some(id), Some(length)) = (event.get(Number::StreamId), event.get(Number::Length)) else { return };
        if to_transport && self.is_server() && !self.seen.http && self.streams.contains_key(&id) {
            self.seen.moves = true;
            let (now, transfer) = (self.now.us, self.transfer());
            if let Some(stream) = self.streams.get_mut(&id)
                && stream.marks.response_start_us.is_none()
            {
                stream.marks.response_start_us = Some(now);
                stream.transfer = transfer;
            }
            self.queued(id, length);
        }
    }

    pub(super) fn metrics(&mut self, event: &Event) {
        if let Some(window) = event.get(Number::CongestionWindow) {
            self.set_window(event, window);
        }
        self.ssthresh = event.get(Number::Ssthresh).or(self.ssthresh);
        if let Some(rate) = event.get(Number::PacingRate) {
            self.pacer.state_rate(rate);
        }
        let as_us = |number| event.get(number).and_then(|us| i64::try_from(us).ok()).filter(|us| *us > 0);
        self.recovery.state_rtt(StatedRtt {
            latest_us: as_us(Number::LatestRttUs),
            smoothed_us: as_us(Number::SmoothedRttUs),
            variance_us: as_us(Number::RttVarianceUs),
            is_sample: event.kind == Kind::UpdateRtt,
        });
        if let Some(stated) = event.get(Number::BytesInFlight)
            && event.kind == Kind::MetricsUpdated
            && !self.trace.frameless
        {
            self.compare_in_flight(event, stated);
        }
        if let Some(lost) = event.get(Number::LostPackets) {
            self.recovery.count_stated(lost, event.get(Number::LostBytes).unwrap_or(0));
        }
        if let Some(count) = event.get(Number::PtoCount) {
            self.seen.probe_timers = true;
            if self.recovery.state_probes(count) {
                self.probe_fired(true);
            }
        }
    }

    pub(super) fn set_window(&mut self, event: &Event, window: u64) {
        self.seen.window = true;
        let path = self.path(event);
        let grown = path.window.is_some_and(|known| known < window);
        path.window = Some(window);
        self.instant.has_opened |= grown;
        self.initial_window.get_or_insert(window);
    }

    /// Transport parameters of the peer give the initial credit (RFC 9000, 18.2).
    pub(super) fn parameters(&mut self, event: &Event) {
        if event.word(Word::Owner) != "remote" {
            return;
        }
        let value = |key: &str| event.leftover(key).and_then(|text| text.trim_matches('"').parse::<u64>().ok());
        if let Some(limit) = value("initial_max_data") {
            self.connection_credit(limit);
        }
        // Requests run on client-initiated streams: "local" for a client that receives, "remote" for a server.
        let key =
            if self.is_server() { "initial_max_stream_data_bidi_local" } else { "initial_max_stream_data_bidi_remote" };
        if let Some(limit) = value(key) {
            self.seen.stream_credit = true;
            self.credit.initial_stream = Some(limit);
            for stream in self.streams.values_mut() {
                stream.credit = Some(stream.credit.map_or(limit, |known| known.max(limit)));
            }
        }
    }

    /// Connection ids in packet headers, for the aliases.
    pub(super) fn see_ids(&mut self, event: &Event, sent: bool) {
        for (word, role) in
            [(Word::Dcid, if sent { "dcid" } else { "scid" }), (Word::Scid, if sent { "scid" } else { "dcid" })]
        {
            if event.word_at(word as usize).len >= 8 {
                self.alias(event.word(word), role);
            }
        }
    }

    /// Notes an id of the connection; short ones could be anybody's.
    pub(super) fn alias(&mut self, id: &str, role: &str) {
        let now = self.now.us;
        if let Some(seen) = self.aliases.iter_mut().find(|seen| seen.id == id && seen.role == role) {
            seen.last_us = now;
        } else if self.aliases.len() < ALIASES && id.len() <= ALIAS_LETTERS {
            self.aliases.push(Alias { id: id.to_owned(), role: role.to_owned(), first_us: now, last_us: now });
        }
    }

    /// The trace's declared id is an alias too.
    pub fn declare(&mut self, id: &str) {
        self.alias(id, "odcid");
    }

    pub(super) fn connection_ids(&mut self, event: &Event) {
        for key in ["src_cid", "dst_cid", "new", "connection_id", "local.connection_ids", "remote.connection_ids"] {
            let ids = event.leftover(key).unwrap_or("").to_owned();
            for id in ids.split('"').filter(|id| id.len() >= 8 && id.bytes().all(|byte| byte.is_ascii_hexdigit())) {
                self.alias(&id.to_lowercase(), "issued");
            }
        }
    }

    pub(super) fn connection_closed(&mut self, event: &Event) {
        self.close.read(event);
    }
}

/// Default of max_ack_delay (RFC 9000, 18.2): what an ACK frame claims beyond it is not believed (RFC 9002, 5.3).
const MAX_ACK_DELAY_US: u64 = 25_000;

/// A connection id that was seen.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Alias {
    /// Hex.
    pub id: String,
    /// Where.
    pub role: String,
    /// First seen.
    pub first_us: i64,
    /// Last seen.
    pub last_us: i64,
}
