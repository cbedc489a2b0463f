//! The rows that come out: streams and episodes as they become final, the connection at any time.

use crate::event::{Event, Word};
use crate::fold::cause::{Cause, Interval};
use crate::fold::saves::{self, Saves};
use crate::fold::stream::Stream;
use crate::fold::{ANALYSIS_VERSION, Fold, parts};
use crate::header::Vantage;
use crate::record::rows::{Cell, Row};
use serde::{Deserialize, Serialize};

/// A row of `episodes`, all but the trace's key.
#[derive(Clone, Copy, Debug)]
#[expect(missing_docs, reason = "named after the columns")]
pub struct Episode<'a> {
    pub kind: &'static str,
    pub path_id: u64,
    pub stream_id: i64,
    pub first_seq: u64,
    pub last_seq: Option<u64>,
    pub start_us: i64,
    pub end_us: i64,
    pub confirmed: bool,
    pub trigger: &'a str,
    pub packet_number: Option<u64>,
    pub bytes: u64,
    pub count: u32,
    pub detection_us: Option<u64>,
    pub wait_us: Option<u64>,
    pub congestion_window: Option<u64>,
}

impl Default for Episode<'_> {
    fn default() -> Self {
        Self {
            kind: "",
            path_id: 0,
            stream_id: -1,
            first_seq: 0,
            last_seq: None,
            start_us: 0,
            end_us: 0,
            confirmed: false,
            trigger: "",
            packet_number: None,
            bytes: 0,
            count: 0,
            detection_us: None,
            wait_us: None,
            congestion_window: None,
        }
    }
}

/// The handshake's clock.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub struct Handshake {
    first_us: Option<i64>,
    sent_us: Option<i64>,
    received_us: Option<i64>,
}

impl Handshake {
    pub(super) fn sent(&mut self, event: &Event, now_us: i64) {
        self.first_us.get_or_insert(now_us);
        if event.is(Word::PacketType, "1RTT") {
            self.sent_us.get_or_insert(now_us);
        }
    }

    pub(super) fn received(&mut self, event: &Event, now_us: i64) {
        self.first_us.get_or_insert(now_us);
        if event.is(Word::PacketType, "1RTT") {
            self.received_us.get_or_insert(now_us);
        }
    }

    /// Time until the peer's (server) or our own (client) first 1-RTT packet: RFC 9001, 4.1.
    fn duration(&self, is_server: bool) -> Option<u64> {
        let done = if is_server { self.received_us } else { self.sent_us };
        Some(done?.abs_diff(self.first_us?))
    }
}

/// How the connection ended.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub struct Close {
    reason: String,
    code: String,
    owner: String,
}

impl Close {
    pub(super) fn read(&mut self, event: &Event) {
        let text = |key: &str| {
            event.leftover(key).map(|json| serde_json::from_str::<String>(json).unwrap_or_else(|_| json.to_owned()))
        };
        let reason = ["reason", "reason_and_error", "error"].iter().find_map(|key| text(key)).unwrap_or_default();
        let code =
            ["application_code", "connection_code", "error_code", "application_error", "code", "connection_error"]
                .iter()
                .find_map(|key| text(key))
                .unwrap_or_default();
        let ordinary = ["graceful", "destructor"].iter().any(|word| reason.starts_with(word));
        // mvfst prints two or three: the first that is not the ordinary end is the reason (quic_trace.md 1.4).
        if self.reason.is_empty()
            || (!ordinary && ["graceful", "destructor"].iter().any(|word| self.reason.starts_with(word)))
        {
            self.reason = if reason.is_empty() { event.word(Word::Trigger).to_owned() } else { reason };
            self.code = code;
            event.word(Word::Owner).clone_into(&mut self.owner);
        }
    }
}

impl Fold {
    /// Version of rows that know the events up to now.
    fn version(&self) -> u64 {
        (ANALYSIS_VERSION << 40) + self.seq + 1
    }

    fn key(&self, row: &mut Row) {
        row.set("connection_id", self.trace.connection_id.as_str());
        row.set("vantage", self.trace.vantage.name());
        row.set("trace_id", self.trace.trace_id.as_str());
        row.set("version", self.version());
        row.set("analysis_version", ANALYSIS_VERSION);
        row.set("trace_day", i64::from(self.trace.trace_day));
    }

    fn wall(&self, us: i64) -> Option<i64> {
        self.trace.started_us.map(|start| start.saturating_add(us))
    }

    pub(super) fn episode(&mut self, episode: Episode<'_>) {
        let mut row = Row::default();
        self.key(&mut row);
        row.set("kind", episode.kind);
        row.set("path_id", episode.path_id);
        row.set("stream_id", episode.stream_id);
        row.set("first_seq", episode.first_seq);
        row.set("last_seq", episode.last_seq.unwrap_or(self.seq));
        row.set("start_us", episode.start_us);
        row.set("end_us", episode.end_us);
        row.set("confirmed", episode.confirmed);
        row.set("trigger", episode.trigger);
        row.set("packet_number", episode.packet_number);
        row.set("bytes", episode.bytes);
        row.set("count", episode.count);
        row.set("detection_us", episode.detection_us);
        row.set("wait_us", episode.wait_us);
        row.set("congestion_window", episode.congestion_window);
        self.output.episodes.push(row);
    }

    /// The row of a stream that is over.
    pub(super) fn stream_row(&mut self, mut stream: Stream) {
        self.closed.add(stream.id / 4, stream.id / 4 + 1);
        let saves = self.split(&mut stream);
        let mut row = Row::default();
        self.key(&mut row);
        let marks = &stream.marks;
        row.set("stream_id", stream.id);
        row.set("started_at", self.wall(marks.start_us));
        row.set("start_us", marks.start_us);
        row.set("request_end_us", marks.request_end_us);
        row.set("response_start_us", marks.response_start_us);
        row.set("first_byte_us", marks.first_byte_us);
        row.set("last_byte_us", marks.last_byte_us);
        row.set("end_us", marks.end_us);
        row.set("start_is", if stream.start_inferred { "inferred" } else { "observed" });
        row.set("end_is", stream.end_is.as_str());
        row.set("complete", stream.complete);
        row.set("duration_us", marks.duration_us());
        row.set("method", stream.http.method.clone());
        row.set("authority", stream.http.authority.clone());
        row.set("path", stream.http.path.clone());
        row.set("status", stream.http.status);
        row.set("external_id", stream.http.external_id.clone());
        let (request, response) =
            if self.is_server() { (&stream.received, &stream.sent) } else { (&stream.sent, &stream.received) };
        row.set("request_bytes", request.highest);
        row.set("response_bytes", response.highest);
        row.set("packets", response.packets);
        row.set("packets_lost", stream.packets_lost);
        row.set("retransmitted_bytes", stream.sent.repeated);
        row.set("detection_us", stream.detection_us);
        row.set("rtt_us", stream.rtt.1.map(i64::unsigned_abs));
        row.set("min_rtt_us", stream.rtt.0.map(i64::unsigned_abs));
        row.set("first_seq", stream.first_seq);
        row.set("last_seq", stream.last_seq);
        for cause in Cause::ALL {
            row.set(cause.column(), stream.sweep.parts[cause as usize]);
        }
        let named = |value: u64, cause: Cause| (value > 0).then(|| (cause.name().to_owned(), value));
        let held = Cause::ALL.into_iter().filter_map(|cause| named(stream.sweep.overlapping[cause as usize], cause));
        row.set("overlapping", Cell::Counts(held.collect()));
        // A cause without a part has nothing to give back, but for a slow path, which shows in other parts too.
        let saved = Cause::ALL.into_iter().filter_map(|cause| saves[cause as usize].map(|us| (cause, us)));
        let saved = saved
            .filter(|(cause, us)| stream.sweep.parts[*cause as usize] > 0 || (*cause == Cause::Bandwidth && *us > 0));
        let saved = saved.map(|(cause, us)| (cause.name().to_owned(), us));
        row.set("saves", Cell::Counts(saved.collect()));
        row.set("inferred", Cell::List(self.inferred(&stream)));
        row.set("cannot_show", Cell::List(self.cannot_show()));
        self.count.requests_complete += u64::from(stream.complete);
        self.output.streams.push(row);
    }

    /// Decides the rest of a stream's time, and what each cause's absence would have saved.
    fn split(&self, stream: &mut Stream) -> Saves {
        let marks = parts::Marks { fins_are_logged: self.seen.fins || self.seen.stream_events, ..stream.marks };
        let min_rtt = stream.rtt.0.filter(|_| stream.end_is == "acked" || self.role == Vantage::Client);
        let mut held: Vec<Interval> = std::mem::take(&mut stream.intervals);
        match self.role {
            Vantage::Server => {
                held.extend(self.conditions.iter().filter(|interval| interval.end_us > marks.answered_us()));
                parts::server(&marks, &mut stream.sweep, &mut held, &mut stream.gaps, min_rtt);
                let rtt = min_rtt.unwrap_or(0).unsigned_abs();
                saves::server(&stream.sweep, &marks, &stream.transfer, stream.sent.highest, rtt)
            }
            Vantage::Client => {
                parts::client(&marks, &mut stream.sweep, &mut held, min_rtt);
                saves::client(&stream.sweep, stream.dead_us)
            }
            Vantage::Network | Vantage::Unknown => {
                // No attribution from the middle: nobody knows which side waited.
                stream.sweep.parts[Cause::Unattributed as usize] = marks.duration_us();
                Saves::default()
            }
        }
    }

    /// Causes whose time would be an inference: by what this stream met, or by what the log can show at all.
    fn inferred(&self, stream: &Stream) -> Vec<String> {
        let abilities = self.abilities();
        Cause::ALL
            .into_iter()
            .filter(|cause| {
                stream.inferred.contains(cause)
                    || abilities.iter().any(|ability| ability.cause == cause.name() && ability.known == "inferred")
            })
            .map(|cause| cause.name().to_owned())
            .collect()
    }

    /// The trace is over, or all of it that there is: open streams become rows that say so.
    pub fn finish(&mut self) {
        self.close_instant();
        self.settle(i64::MAX);
        let (now, rtt) = (self.now_us, (self.rtt.min_us, self.rtt.smoothed_us));
        let is_server = self.is_server();
        for (_, mut stream) in std::mem::take(&mut self.streams) {
            if stream.end_is.is_empty() {
                stream.rtt = rtt;
                self.open_waits(&mut stream);
                // Every byte that was sent is out, only acknowledgements are missing: the request ended with the last.
                let whole = is_server && (stream.sent.fin.is_some() || stream.eom);
                match stream.marks.last_byte_us {
                    Some(last) if whole => stream.end(last, "last_byte", true),
                    // The last that was heard of it, in a log that only names it; else it was open when the trace ended.
                    None if !self.seen.frames && stream.named_us.is_some() => {
                        stream.end(stream.named_us.unwrap_or(now), "last_event", false);
                    }
                    // No stream's end is in this log: the last byte is all that is known of this one's.
                    Some(last) if self.seen.frames && !self.seen.fins => stream.end(last, "end_not_logged", false),
                    _ => stream.end(now, "trace_end", false),
                }
            }
            stream.rtt = (stream.rtt.0.or(rtt.0), stream.rtt.1.or(rtt.1));
            self.stream_row(stream);
        }
        self.ended.clear();
    }

    /// A request that was open when the trace ended waited for what still stopped it then.
    fn open_waits(&self, stream: &mut Stream) {
        let end_us = self.now_us;
        let losses = stream.losses.iter().map(|loss| (Cause::LossRecovery, loss.due_us));
        let since = |since: Option<(i64, u64)>, cause| since.map(|(start_us, _)| (cause, start_us));
        let waits: Vec<(Cause, i64)> = losses
            .chain(self.probe.series.as_ref().map(|series| (Cause::Pto, series.start_us)))
            .chain(since(self.credit.blocked, Cause::ConnectionFlowControl))
            .chain(since(stream.blocked, Cause::StreamFlowControl))
            .chain(since(stream.queue.empty_since, Cause::AppLimited))
            .chain(stream.gap_since.map(|start_us| (Cause::ReceiverHol, start_us)))
            .collect();
        for (cause, start_us) in waits {
            stream.intervals.push(Interval { cause, start_us, end_us });
            stream.infer(cause);
        }
    }

    /// The connection's row as of now. `complete`: the trace was not cut.
    pub fn connection(&self, complete: bool) -> Row {
        let mut row = Row::default();
        self.key(&mut row);
        row.set("started_at", self.trace.started_us);
        row.set("duration_us", self.now_us.max(0).unsigned_abs());
        row.set("complete", complete);
        row.0.extend(self.trace.facts.0.iter().cloned());
        row.set("events_seen", self.events);
        row.set("events_kept", "all");
        row.set("event_probability", 1.0);
        row.set("trace_probability", 1.0);
        let shake = &self.handshake;
        row.set("handshake_us", shake.duration(self.is_server()));
        row.set(
            "handshake_complete",
            shake.sent_us.is_some() && shake.received_us.is_some() || (self.trace.frameless && self.count.requests > 0),
        );
        row.set("zero_rtt", self.zero_rtt.state());
        row.set("close_reason", self.close.reason.as_str());
        row.set("close_code", self.close.code.as_str());
        row.set("close_owner", self.close.owner.as_str());
        let count = &self.count;
        row.set("retries", count.retries);
        row.set("migrations", count.migrations);
        row.set("paths", self.paths.count().max(1));
        row.set("paths_validated", count.paths_validated);
        row.set("key_updates", count.key_updates);
        row.set("packets_sent", count.packets_sent);
        row.set("packets_received", count.packets_received);
        row.set("bytes_sent", count.bytes_sent);
        row.set("bytes_received", count.bytes_received);
        row.set("pure_acks_sent", count.pure_acks_sent);
        row.set("data_packets_sent", count.data_packets_sent);
        row.set("stream_bytes_sent", count.stream_bytes_sent);
        row.set("unique_stream_bytes_sent", self.credit.data_sent);
        row.set("retransmitted_packets", count.retransmitted_packets);
        row.set("retransmitted_bytes", count.retransmitted_bytes);
        row.set("packets_out_of_order", count.packets_out_of_order);
        row.set("packets_dropped", count.packets_dropped);
        row.set("packets_lost", count.packets_lost);
        row.set("bytes_lost", count.bytes_lost);
        row.set("packets_spurious", count.packets_spurious);
        row.set("packets_lost_handshake", count.packets_lost_handshake);
        row.set("packets_lost_data", count.packets_lost_data);
        row.set("ptos", count.ptos + u64::from(self.probe.series.is_some()));
        row.set("ptos_spurious", count.ptos_spurious);
        row.set("idle_max_us", count.idle_max_us);
        row.set("initial_congestion_window", self.initial_window);
        row.set("bytes_in_flight_max", count.bytes_in_flight_max);
        #[expect(clippy::cast_precision_loss, reason = "a mean")]
        row.set("bytes_in_flight_mean", self.flight_area / self.flight_us.max(1) as f64);
        row.set("in_flight_disagreements", count.in_flight_disagreements);
        let rtt = &self.rtt.stats;
        row.set("rtt_samples", rtt.count);
        row.set("rtt_min_us", rtt.some(rtt.min));
        row.set("rtt_max_us", rtt.some(rtt.max));
        row.set("rtt_mean_us", rtt.mean());
        row.set("rtt_stdev_us", rtt.deviation());
        row.set("rtt_handshake_us", self.rtt.first_us.map(i64::unsigned_abs));
        row.set(
            "rtt_histogram",
            Cell::Histogram(self.rtt.histogram.iter().map(|(bucket, count)| (*bucket, *count)).collect()),
        );
        row.set("retransmissions_max", count.retransmissions_max);
        let repairs = &self.repairs;
        row.set("retransmission_delay_min_us", repairs.some(repairs.min));
        row.set("retransmission_delay_max_us", repairs.some(repairs.max));
        row.set("retransmission_delay_mean_us", repairs.mean());
        row.set("retransmission_delay_stdev_us", repairs.deviation());
        row.set("requests", count.requests);
        row.set("requests_complete", count.requests_complete);
        row.set("cannot_show", Cell::List(self.cannot_show()));
        row.set("open_episodes", self.open_episodes());
        row
    }

    fn open_episodes(&self) -> String {
        let kinds = [
            ("pto", self.probe.series.is_some()),
            ("recovery", self.epoch.since().is_some()),
            ("cwnd_blocked", self.blocked.full_since.is_some()),
            ("connection_flow_control", self.credit.blocked.is_some()),
            ("stream_flow_control", self.streams.values().any(|stream| stream.blocked.is_some())),
            ("amplification", self.amplification.since.is_some()),
            ("idle", self.idle_since.is_some()),
        ];
        let open: Vec<&str> = kinds.into_iter().filter(|(_, open)| *open).map(|(kind, _)| kind).collect();
        serde_json::to_string(&open).unwrap_or_default()
    }

    /// Rows of `connection_aliases`.
    pub fn alias_rows(&self) -> Vec<Row> {
        let rows = self.aliases.iter().map(|alias| {
            let mut row = Row::default();
            row.set("alias", alias.id.as_str());
            row.set("role", alias.role.as_str());
            row.set("server", self.trace.server.clone());
            row.set("first_us", alias.first_us);
            row.set("last_us", alias.last_us);
            row.set("first_at", self.wall(alias.first_us));
            row.set("last_at", self.wall(alias.last_us));
            self.key(&mut row);
            row
        });
        rows.collect()
    }
}
