//! How a connection begins and ends: its handshake, its keys, its close.

pub mod aliases;
pub mod capability;
pub mod migration;
pub mod traffic;
pub mod version;
pub mod zero_rtt;

use crate::event::{Event, Word};
use crate::record::columns::connections::{self, Connections};
use crate::record::rows::Row;
use get_size2::GetSize;
use serde::{Deserialize, Serialize};

/// The handshake's clock.
#[derive(Clone, Debug, Default, Serialize, Deserialize, GetSize)]
pub struct Handshake {
    first_us: Option<i64>,
    sent_us: Option<i64>,
    received_us: Option<i64>,
    retries: u64,
    key_updates: u64,
}

impl Handshake {
    /// A packet goes out.
    pub fn sent(&mut self, event: &Event, now_us: i64) {
        self.first_us.get_or_insert(now_us);
        if event.is(Word::PacketType, "1RTT") {
            self.sent_us.get_or_insert(now_us);
        }
    }

    /// A packet comes.
    pub fn received(&mut self, event: &Event, now_us: i64) {
        self.retries += u64::from(event.is(Word::PacketType, "retry"));
        self.first_us.get_or_insert(now_us);
        if event.is(Word::PacketType, "1RTT") {
            self.received_us.get_or_insert(now_us);
        }
    }

    /// Time until the peer's (server) or our own (client) first 1-RTT packet: RFC 9001, 4.1.
    pub fn duration(&self, is_server: bool) -> Option<u64> {
        let done = if is_server { self.received_us } else { self.sent_us };
        Some(done?.abs_diff(self.first_us?))
    }

    /// Both sides have sent 1-RTT packets.
    pub fn is_complete(&self) -> bool {
        self.sent_us.is_some() && self.received_us.is_some()
    }

    /// Application keys were changed (RFC 9001, 6); the first keys of a connection are not a change.
    pub fn key_updated(&mut self, event: &Event, is_server: bool) {
        let text = |key: &str| event.leftover(key).unwrap_or("").trim_matches('"');
        let generation = text("generation").parse::<u64>().or_else(|_| text("key_phase").parse());
        let is_ours = text("key_type").starts_with(if is_server { "server_1rtt" } else { "client_1rtt" });
        self.key_updates += u64::from(is_ours && generation.is_ok_and(|generation| generation > 0));
    }

    /// Times that the server asked for another Initial.
    pub fn retries(&self) -> u64 {
        self.retries
    }

    /// Times that our keys were changed.
    pub fn key_updates(&self) -> u64 {
        self.key_updates
    }
}

/// How the connection ended. Boxed, as most open connections have no close.
#[derive(Clone, Debug, Default, Serialize, Deserialize, GetSize)]
pub struct Close(Option<Box<Closing>>);

#[derive(Clone, Debug, Default, Serialize, Deserialize, GetSize)]
struct Closing {
    is_logged: bool,
    reason: String,
    code: String,
    owner: String,
    /// When either side closed the connection.
    since_us: Option<i64>,
}

impl Close {
    /// A CONNECTION_CLOSE frame goes out or comes, or the log says that the connection is over.
    pub fn begin(&mut self, now_us: i64) {
        self.0.get_or_insert_default().since_us.get_or_insert(now_us);
    }

    /// When either side closed the connection.
    pub fn since_us(&self) -> Option<i64> {
        self.0.as_ref()?.since_us
    }

    /// The log states the close.
    pub fn read(&mut self, event: &Event) {
        let closing = self.0.get_or_insert_default();
        closing.is_logged = true;
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
        // mvfst logs two or three reasons: the first that is not an ordinary end counts (quic_trace.md 1.4).
        if closing.reason.is_empty()
            || (!ordinary && ["graceful", "destructor"].iter().any(|word| closing.reason.starts_with(word)))
        {
            closing.reason = if reason.is_empty() { event.word(Word::Trigger).to_owned() } else { reason };
            closing.code = code;
            event.word(Word::Owner).clone_into(&mut closing.owner);
        }
    }

    /// An error by its code where there is one (RFC 9000, 20.1; H3_NO_ERROR: RFC 9114, 8.1), else by its reason.
    pub fn is_error(&self) -> bool {
        let Some(closing) = &self.0 else { return false };
        let code = closing.code.to_ascii_lowercase();
        if !code.is_empty() {
            return !matches!(code.as_str(), "0" | "0x0" | "256" | "0x100" | "no_error" | "h3_no_error");
        }
        let reason = closing.reason.to_ascii_lowercase();
        let ordinary = ["graceful", "destructor", "clean", "idle_timeout", "idle timeout", "no_error", "no error"];
        !reason.is_empty() && !ordinary.iter().any(|word| reason.starts_with(word))
    }

    /// The log states the close.
    pub fn is_logged(&self) -> bool {
        self.0.as_ref().is_some_and(|closing| closing.is_logged)
    }

    /// Its columns of the connection's row.
    pub fn write(&self, row: &mut Row<Connections>) {
        let text = |of: fn(&Closing) -> &str| self.0.as_deref().map_or("", of);
        row.set(connections::CLOSE_REASON, text(|closing| &closing.reason));
        row.set(connections::CLOSE_CODE, text(|closing| &closing.code));
        row.set(connections::CLOSE_OWNER, text(|closing| &closing.owner));
    }
}

/// Facts about a connection that retention decides by.
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
