//! The rows that come out: streams and episodes as they become final, the connection at any time.

use crate::event::{Event, Word};
use crate::fold::cause::{CAUSES, Cause, Interval};
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
    pub stream_id: i64,
    pub first_seq: u64,
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
            stream_id: -1,
            first_seq: 0,
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
    zero_rtt_seen: bool,
}

impl Handshake {
    pub(super) fn sent(&mut self, event: &Event, now_us: i64) {
        self.first_us.get_or_insert(now_us);
        self.zero_rtt_seen |= event.word(Word::PacketType) == "0RTT";
        if event.word(Word::PacketType) == "1RTT" {
            self.sent_us.get_or_insert(now_us);
        }
    }

    pub(super) fn received(&mut self, event: &Event, now_us: i64) {
        self.first_us.get_or_insert(now_us);
        self.zero_rtt_seen |= event.word(Word::PacketType) == "0RTT";
        if event.word(Word::PacketType) == "1RTT" {
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

/// Requests that stay open after they ended, to hear their last HTTP frames.
const LINGERING: usize = 64;

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
        row.set("path_id", 0u64);
        row.set("stream_id", episode.stream_id);
        row.set("first_seq", episode.first_seq);
        row.set("last_seq", self.seq);
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

    /// Streams that ended before the current moment become rows: their last HTTP frames have been seen.
    pub(super) fn let_go(&mut self) {
        if self.ended.is_empty() {
            return;
        }
        let now = self.now_us;
        let all = self.ended.len() > LINGERING;
        let ids = std::mem::take(&mut self.ended);
        for id in ids {
            let due = self
                .streams
                .get(&id)
                .is_none_or(|stream| all || stream.marks.end_us.saturating_add(super::TURN_US) < now);
            if !due {
                self.ended.push(id);
            } else if let Some(mut stream) = self.streams.remove(&id) {
                // The first sample may come with the very acknowledgement that ended the request.
                stream.rtt = (stream.rtt.0.or(self.rtt.min_us), stream.rtt.1.or(self.rtt.smoothed_us));
                self.stream_row(&stream);
            }
        }
    }

    fn stream_row(&mut self, stream: &Stream) {
        self.closed.add(stream.id / 4, stream.id / 4 + 1);
        let skip = usize::try_from(stream.conditions_from.saturating_sub(self.conditions_gone)).unwrap_or(0);
        let mut held: Vec<Interval> = stream.intervals.clone();
        held.extend(self.conditions.iter().skip(skip));
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
        let parts = self.split(stream, &held);
        for cause in Cause::ALL {
            row.set(cause.column(), parts[cause as usize]);
        }
        row.set("inferred", Cell::List(self.inferred(stream)));
        row.set("cannot_show", Cell::List(self.cannot_show()));
        self.count.requests_complete += u64::from(stream.complete);
        self.output.streams.push(row);
    }

    fn split(&self, stream: &Stream, held: &[Interval]) -> parts::Parts {
        let marks = parts::Marks { fins_are_logged: self.seen.fins || self.seen.stream_events, ..stream.marks };
        match self.role {
            Vantage::Server => {
                let min_rtt = stream.rtt.0.filter(|_| stream.end_is == "acked");
                parts::server(&marks, held, min_rtt)
            }
            Vantage::Client => parts::client(&marks, held, stream.rtt.0),
            Vantage::Network | Vantage::Unknown => {
                // No attribution from the middle: nobody knows which side waited.
                let mut parts = [0; CAUSES];
                parts[Cause::Unattributed as usize] = stream.marks.duration_us();
                parts
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
        self.settle(i64::MAX);
        let (now, rtt) = (self.now_us, (self.rtt.min_us, self.rtt.smoothed_us));
        let is_server = self.is_server();
        for (_, mut stream) in std::mem::take(&mut self.streams) {
            if stream.end_is.is_empty() {
                stream.rtt = rtt;
                if let Some(since) = stream.gap_since {
                    let cause = Cause::ReceiverHol;
                    stream.intervals.push(Interval { cause, start_us: since, end_us: now });
                }
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
            self.stream_row(&stream);
        }
        self.ended.clear();
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
        row.set("zero_rtt", if shake.zero_rtt_seen { "attempted" } else { "" });
        row.set("close_reason", self.close.reason.as_str());
        row.set("close_code", self.close.code.as_str());
        row.set("close_owner", self.close.owner.as_str());
        let count = &self.count;
        row.set("retries", count.retries);
        row.set("migrations", count.migrations);
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
        let kinds = [("pto", self.probe.series.is_some()), ("recovery", self.epoch.is_open())];
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
