//! The connection's row: its handshake, its close, and everything that was counted.

use crate::client::Known;
use crate::event::{Event, Word};
use crate::fold::receiver::Alias;
use crate::fold::{Counters, Fold};
use crate::record::rows::{Cell, Row};
use serde::{Deserialize, Serialize};

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
    /// The log says that it did.
    pub is_logged: bool,
    reason: String,
    code: String,
    owner: String,
}

impl Close {
    pub(super) fn read(&mut self, event: &Event) {
        self.is_logged = true;
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

    /// An error by its code where there is one (RFC 9000, 20.1; H3_NO_ERROR: RFC 9114, 8.1), else by its reason.
    fn is_error(&self) -> bool {
        let code = self.code.to_ascii_lowercase();
        if !code.is_empty() {
            return !matches!(code.as_str(), "0" | "0x0" | "256" | "0x100" | "no_error" | "h3_no_error");
        }
        let reason = self.reason.to_ascii_lowercase();
        let ordinary = ["graceful", "destructor", "clean", "idle_timeout", "idle timeout", "no_error", "no error"];
        !reason.is_empty() && !ordinary.iter().any(|word| reason.starts_with(word))
    }
}

/// What retention asks of a connection.
#[derive(Clone, Copy, Debug, Default)]
#[expect(missing_docs, reason = "named after the columns")]
pub struct Outcome {
    pub packets_sent: u64,
    pub packets_received: u64,
    pub packets_lost: u64,
    pub requests: u64,
    /// It was closed with an error.
    pub is_error: bool,
}

impl Fold {
    /// What became of the connection so far.
    pub fn outcome(&self) -> Outcome {
        let Counters { packets_sent, packets_received, requests, .. } = self.count;
        let packets_lost = self.recovery.packets_lost();
        Outcome { packets_sent, packets_received, packets_lost, requests, is_error: self.close.is_error() }
    }

    /// The connection's row as of now. `complete`: nothing of the trace is missing.
    pub fn connection(&self, complete: bool) -> Row {
        let mut row = Row::default();
        self.key(&mut row, complete);
        row.set("started_at", self.trace.started_us);
        row.set("duration_us", self.now.us.max(0).unsigned_abs());
        row.set("complete", complete);
        row.0.extend(self.trace.facts.0.iter().cloned());
        row.set("events_seen", self.events);
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
        row.set("packets_out_of_order", self.recovery.out_of_order());
        row.set("packets_dropped", count.packets_dropped);
        self.recovery.write(&mut row);
        row.set("idle_max_us", count.idle_max_us);
        row.set("initial_congestion_window", self.initial_window);
        row.set("bytes_in_flight_max", count.bytes_in_flight_max);
        #[expect(clippy::cast_precision_loss, reason = "a mean")]
        row.set("bytes_in_flight_mean", self.flight_area / self.flight_us.max(1) as f64);
        row.set("in_flight_disagreements", count.in_flight_disagreements);
        let rtt = self.recovery.rtt().stats();
        row.set("rtt_samples", rtt.count());
        row.set("rtt_min_us", rtt.min());
        row.set("rtt_max_us", rtt.max());
        row.set("rtt_mean_us", rtt.mean());
        row.set("rtt_stdev_us", rtt.deviation());
        row.set("rtt_handshake_us", self.recovery.rtt().first_us().map(i64::unsigned_abs));
        row.set("rtt_histogram", Cell::Histogram(self.recovery.rtt().histogram().collect()));
        row.set("retransmissions_max", count.retransmissions_max);
        let repairs = &self.repairs;
        row.set("retransmission_delay_min_us", repairs.min());
        row.set("retransmission_delay_max_us", repairs.max());
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
            ("pto", self.recovery.probe().is_running()),
            ("recovery", self.recovery.is_in_period()),
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
        let server = self.trace.server.as_deref();
        let row = |alias: &Alias| self.alias_row(&alias.id, &alias.role, server, (alias.first_us, alias.last_us));
        self.aliases.iter().map(row).collect()
    }

    /// Rows of `connection_aliases` by which lines of the client's address and port are found.
    pub fn client_rows(&self, client: &Known) -> Vec<Row> {
        let server = self.trace.server.as_deref().or(client.server());
        let row = |(key, first_us)| self.alias_row(key, "client_key", server, (first_us, self.now.us));
        client.keys().map(row).collect()
    }

    fn alias_row(&self, id: &str, role: &str, server: Option<&str>, (first_us, last_us): (i64, i64)) -> Row {
        let mut row = Row::default();
        row.set("alias", id);
        row.set("role", role);
        row.set("server", server);
        row.set("first_us", first_us);
        row.set("last_us", last_us);
        row.set("first_at", self.wall(first_us));
        row.set("last_at", self.wall(last_us));
        self.key(&mut row, false);
        row
    }
}
