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
    window: Option<u64>,
    in_flight: u64,
}

/// The window.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub struct Blocked {
    full_since: Option<(i64, u64)>,
    pending: Vec<Pending>,
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
    blocked: Option<(i64, u64)>,
    others: std::collections::BTreeMap<u64, u64>,
}

/// Room that is too small to send: mvfst's gate until March 2020 was 44 bytes (quic_trace.md 4.1).
const ROW_GATE: u64 = 45;

/// Most unidirectional streams whose bytes are counted; HTTP/3 needs three.
const OTHER_STREAMS: usize = 256;

impl Credit {
    /// Bytes of streams that are no requests count towards the connection's credit too.
    pub fn other_streams(&mut self, chunk: &Chunk) {
        if self.others.len() < OTHER_STREAMS || self.others.contains_key(&chunk.stream_id) {
            let highest = self.others.entry(chunk.stream_id).or_default();
            self.data_sent += chunk.to.saturating_sub(*highest);
            *highest = (*highest).max(chunk.to);
        }
    }
}

impl Fold {
    /// Some stream may have data to send.
    fn data_may_wait(&self) -> bool {
        self.streams.values().any(super::stream::Stream::may_wait)
    }

    /// After each event: is there still room in the window?
    pub(super) fn watch_window(&mut self) {
        let Some(window) = self.window else { return };
        let gate = if self.trace.frameless { ROW_GATE } else { self.largest_packet.max(1) };
        let full = window.saturating_sub(self.in_flight) < gate && self.in_flight > 0;
        match (full, self.blocked.full_since) {
            (true, None) if self.probe.series.is_none() && self.data_may_wait() => {
                self.blocked.full_since = Some((self.now_us, self.seq));
            }
            (false, Some((start_us, first_seq))) => {
                self.blocked.full_since = None;
                self.blocked.pending.push(Pending {
                    cause: Cause::CwndBlocked,
                    stream_id: -1,
                    start_us,
                    end_us: self.now_us,
                    first_seq,
                    window: self.window,
                    in_flight: self.in_flight,
                });
            }
            (true, Some(_)) if !self.data_may_wait() => self.blocked.full_since = None,
            _ => {}
        }
        self.watch_credit();
    }

    fn watch_credit(&mut self) {
        let Some(limit) = self.credit.connection else { return };
        let used_up = self.credit.data_sent >= limit;
        match (used_up, self.credit.blocked) {
            (true, None) if self.data_may_wait() => self.credit.blocked = Some((self.now_us, self.seq)),
            (false, Some((start_us, first_seq))) => {
                self.credit.blocked = None;
                self.pend(Cause::ConnectionFlowControl, -1, start_us, first_seq);
            }
            _ => {}
        }
    }

    /// After data of a stream went out.
    pub(super) fn watch_stream_credit(&mut self, id: u64) {
        let (now, seq) = (self.now_us, self.seq);
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
        self.credit.connection = Some(self.credit.connection.map_or(limit, |known| known.max(limit)));
    }

    /// QUIC_TRACE says outright that credit was used up.
    pub(super) fn flow_control_event(&mut self, event: &Event) {
        self.seen.flow_events = true;
        let id = event.get(Number::StreamId);
        match (event.word(Word::Trigger), id) {
            ("conn_blocked", _) if self.credit.blocked.is_none() => {
                self.credit.blocked = Some((self.now_us, self.seq));
            }
            ("rx_conn", _) => {
                if let Some((start_us, first_seq)) = self.credit.blocked.take() {
                    self.pend(Cause::ConnectionFlowControl, -1, start_us, first_seq);
                }
            }
            ("stream_blocked", Some(id)) => {
                let (now, seq) = (self.now_us, self.seq);
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

    fn pend(&mut self, cause: Cause, stream_id: i64, start_us: i64, first_seq: u64) {
        let (end_us, window, in_flight) = (self.now_us, self.window, self.in_flight);
        self.blocked.pending.push(Pending { cause, stream_id, start_us, end_us, first_seq, window, in_flight });
    }

    /// A packet goes out; with new data it confirms that data waited (Barford and Crovella 2000: the
    /// acknowledgement "liberated" it).
    pub(super) fn confirm(&mut self, new_data: bool) {
        if new_data && !self.blocked.pending.is_empty() {
            for pending in std::mem::take(&mut self.blocked.pending) {
                self.decide(&pending, true);
            }
        }
    }

    /// Time has come to `to_us`: waits that nothing followed were none.
    pub(super) fn settle(&mut self, to_us: i64) {
        while let Some(at) =
            self.blocked.pending.iter().position(|pending| to_us.saturating_sub(pending.end_us) > TURN_US)
        {
            let pending = self.blocked.pending.swap_remove(at);
            self.decide(&pending, false);
        }
    }

    fn decide(&mut self, pending: &Pending, confirmed: bool) {
        let interval = Interval { cause: pending.cause, start_us: pending.start_us, end_us: pending.end_us };
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
        if interval.start_us < interval.end_us {
            self.episode(Episode {
                kind: pending.cause.name(),
                stream_id: pending.stream_id,
                first_seq: pending.first_seq,
                start_us: pending.start_us,
                end_us: pending.end_us,
                confirmed,
                bytes: pending.in_flight,
                congestion_window: pending.window,
                ..Episode::default()
            });
        }
    }
}
