//! Window and credit: when we could not send, and whether data waited.

use crate::event::{Event, Number, Word};
use crate::fold::cause::{Cause, Interval};
use crate::fold::finish::Episode;
use crate::fold::packets::Chunk;
use crate::fold::{Fold, TURN_US};
use serde::{Deserialize, Serialize};

/// A time without room, that is a wait only when new data follows at once.
#[derive(Clone, Debug, Serialize, Deserialize)]
struct Pending {
    cause: Cause,
    stream_id: i64,
    start_us: i64,
    end_us: i64,
    first_seq: u64,
    last_seq: u64,
    window: Option<u64>,
    in_flight: u64,
    /// Data is known to have waited all the time.
    is_known: bool,
}

/// What stops the connection.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub struct Blocked {
    /// The window is full since, at which event.
    pub full_since: Option<(i64, u64)>,
    pending: Vec<Pending>,
}

impl Blocked {
    /// Start of the earliest time that is not decided yet.
    pub fn oldest_us(&self) -> Option<i64> {
        let full = self.full_since.map(|(since, _)| since);
        self.pending.iter().map(|pending| pending.start_us).chain(full).min()
    }
}

/// The peer's credit (RFC 9000, 4.1).
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub struct Credit {
    /// MAX_DATA of the peer.
    pub connection: Option<u64>,
    /// Its initial MAX_STREAM_DATA for request streams.
    pub initial_stream: Option<u64>,
    /// Stream bytes of ours, each counted once.
    pub data_sent: u64,
    /// Used up since, at which event.
    pub blocked: Option<(i64, u64)>,
    /// When we gave the peer credit last, on any stream.
    pub given_us: i64,
    /// More of it came in the current instant.
    has_grown: bool,
    others: std::collections::BTreeMap<u64, u64>,
}

/// Room that is too small to send: mvfst's gate until March 2020 was 44 bytes (quic_trace.md 4.1).
const ROW_GATE: u64 = 45;

/// Most unidirectional streams whose bytes are counted; HTTP/3 needs three.
const OTHER_STREAMS: usize = 256;

impl Credit {
    /// Bytes of streams that are no requests count towards the connection's credit too: "the sum of the final sizes
    /// on all streams" (RFC 9000, 4.5).
    pub fn other_streams(&mut self, chunk: &Chunk) -> bool {
        if self.others.len() < OTHER_STREAMS || self.others.contains_key(&chunk.stream_id) {
            let highest = self.others.entry(chunk.stream_id).or_default();
            let grown = chunk.to.saturating_sub(*highest);
            self.data_sent = self.data_sent.saturating_add(grown);
            *highest = (*highest).max(chunk.to);
            return grown > 0;
        }
        false
    }
}

impl Fold {
    /// At the end of an instant: is there still room in the window? "An endpoint MUST NOT send a packet if it would
    /// cause bytes_in_flight to be larger than the congestion window" (RFC 9002, 7).
    pub(super) fn watch_window(&mut self, let_go: bool) {
        let gate = if self.trace.frameless { ROW_GATE } else { self.largest_packet.max(1) };
        let Some(full) = self.paths.are_full(gate) else { return };
        if let Some((start_us, first_seq)) = self.blocked.full_since
            && (let_go || !full)
        {
            // Or it opened and was filled again in one instant.
            self.blocked.full_since = None;
            self.pend(Cause::CwndBlocked, -1, start_us, first_seq);
            if let_go {
                self.confirm();
            }
        }
        if !full || self.hungry.is_empty() {
            self.blocked.full_since = None;
        } else if !self.recovery.probe().is_running() {
            self.blocked.full_since.get_or_insert((self.now.us, self.now.seq));
        }
    }

    /// At the end of an instant: is there credit left?
    pub(super) fn watch_credit(&mut self, has_news: bool) {
        let Some(limit) = self.credit.connection else { return };
        let used_up = self.credit.data_sent >= limit;
        // Or more came and was used up in one instant.
        let let_go = std::mem::take(&mut self.credit.has_grown) && has_news;
        if let Some((start_us, first_seq)) = self.credit.blocked
            && (let_go || !used_up)
        {
            self.credit.blocked = None;
            self.pend(Cause::ConnectionFlowControl, -1, start_us, first_seq);
            if has_news {
                self.confirm();
            }
        }
        if used_up && !self.hungry.is_empty() {
            self.credit.blocked.get_or_insert((self.now.us, self.now.seq));
        }
    }

    /// After data of a stream went out. "A sender MUST NOT send data that exceeds either limit" (RFC 9000, 4.1).
    pub(super) fn watch_stream_credit(&mut self, id: u64) {
        let (now, seq) = (self.now.us, self.now.seq);
        let Some(stream) = self.streams.get_mut(&id) else { return };
        if stream.blocked.is_none()
            && stream.sent.fin.is_none()
            && stream.credit.is_some_and(|credit| stream.sent.highest >= credit)
        {
            stream.blocked = Some((now, seq));
        }
    }

    /// More credit for a stream.
    pub(super) fn stream_credit(&mut self, id: u64, limit: u64) {
        self.seen.stream_credit = true;
        let Some(stream) = self.streams.get_mut(&id) else { return };
        if stream.credit.is_none_or(|known| known < limit) {
            stream.credit = Some(limit);
            if let Some((start_us, first_seq)) = stream.blocked.take() {
                self.pend(Cause::StreamFlowControl, id.cast_signed(), start_us, first_seq);
            }
        }
    }

    /// More credit for the connection.
    pub(super) fn connection_credit(&mut self, limit: u64) {
        self.seen.connection_credit = true;
        self.credit.has_grown |= self.credit.connection.is_some_and(|known| known < limit);
        self.credit.connection = Some(self.credit.connection.map_or(limit, |known| known.max(limit)));
    }

    /// QUIC_TRACE says outright that credit was used up.
    pub(super) fn flow_control_event(&mut self, event: &Event) {
        self.seen.flow_events = true;
        let id = event.get(Number::StreamId);
        match (event.word(Word::Trigger), id) {
            ("conn_blocked", _) if self.credit.blocked.is_none() => {
                self.credit.blocked = Some((self.now.us, self.now.seq));
            }
            ("rx_conn", _) => {
                if let Some((start_us, first_seq)) = self.credit.blocked.take() {
                    self.pend(Cause::ConnectionFlowControl, -1, start_us, first_seq);
                }
            }
            ("stream_blocked", Some(id)) => {
                let (now, seq) = (self.now.us, self.now.seq);
                if let Some(stream) = self.request_stream(id) {
                    stream.blocked.get_or_insert((now, seq));
                }
            }
            ("rx_stream", Some(id)) => {
                let limit = event.leftover("maximum_data").and_then(|limit| limit.parse().ok());
                self.stream_credit(id, limit.unwrap_or(u64::MAX));
            }
            _ => {}
        }
    }

    /// A time without room is over; what follows says whether data waited for it.
    pub(super) fn pend(&mut self, cause: Cause, stream_id: i64, start_us: i64, first_seq: u64) {
        if start_us >= self.now.us {
            return;
        }
        let is_known = self.hungry.iter().any(|id| {
            (stream_id < 0 || id.cast_signed() == stream_id)
                && self.streams.get(id).is_some_and(|stream| {
                    stream.queue.is_known && stream.queue.ready.is_some_and(|ready| ready.since_us <= start_us)
                })
        });
        self.blocked.pending.push(Pending {
            cause,
            stream_id,
            start_us,
            end_us: self.now.us,
            first_seq,
            last_seq: self.now.seq,
            window: self.window(),
            in_flight: self.in_flight(),
            is_known,
        });
    }

    /// New data goes out: it waited for all that has just ended (Barford and Crovella 2000: the acknowledgement
    /// "liberated" it).
    pub(super) fn confirm(&mut self) {
        for pending in std::mem::take(&mut self.blocked.pending) {
            self.decide(&pending, true);
        }
    }

    /// Time has come to `to_us`: waits that nothing followed were none, unless data is known to have waited. A pacer
    /// may stand between the acknowledgement and the data that it let go.
    pub(super) fn settle(&mut self, to_us: i64) {
        if self.blocked.pending.is_empty() {
            return;
        }
        let paced = if self.pacer.has_sent() { self.pacing_us(self.largest_packet) } else { 0 };
        let limit = TURN_US.saturating_add_unsigned(paced);
        while let Some(at) =
            self.blocked.pending.iter().position(|pending| to_us.saturating_sub(pending.end_us) > limit)
        {
            let pending = self.blocked.pending.swap_remove(at);
            self.decide(&pending, pending.is_known);
        }
    }

    fn decide(&mut self, pending: &Pending, confirmed: bool) {
        let cause = match pending.cause {
            // The window was full because the path was.
            Cause::CwndBlocked if self.path_is_bottleneck() => Cause::Bandwidth,
            cause => cause,
        };
        let interval = Interval { cause, start_us: pending.start_us, end_us: pending.end_us };
        if cause == Cause::Bandwidth {
            let rate = self.delivery.rate();
            for id in &self.hungry {
                if let Some(stream) = self.streams.get_mut(id) {
                    stream.transfer.measured(rate);
                }
            }
        }
        if confirmed {
            match self.streams.get_mut(&pending.stream_id.cast_unsigned()) {
                Some(stream) if pending.stream_id >= 0 => {
                    stream.intervals.push(interval);
                    stream.infer(pending.cause);
                }
                None if pending.stream_id >= 0 => {}
                Some(_) | None => self.held(interval),
            }
        }
        self.episode(Episode {
            kind: cause.name(),
            stream_id: pending.stream_id,
            first_seq: pending.first_seq,
            last_seq: Some(pending.last_seq),
            start_us: pending.start_us,
            end_us: pending.end_us,
            confirmed,
            bytes: pending.in_flight,
            congestion_window: pending.window,
            ..Episode::default()
        });
    }
}
