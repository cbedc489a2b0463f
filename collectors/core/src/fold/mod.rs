//! Room 3, fold: the events of one connection to its summaries. One pass; the state is bounded and serializable.
//!
//! Rules stand in the modules: [`sender`] and [`loss`] for our packets, [`receiver`] for the peer's, [`rows`] for
//! QUIC_TRACE; [`blocked`], [`probe`], [`amplification`], [`zero_rtt`] for what stops a connection, [`instant`] for what
//! a stream waits for, [`pacer`] and [`delivery`] for pacer and path; [`parts`] and [`sweep`] for the split, [`saves`]
//! for what would be without a cause; [`requests`] for their life, [`finish`] for the rows that come out.

pub mod amplification;
pub mod blocked;
pub mod capability;
pub mod cause;
pub mod connection;
pub mod delivery;
pub mod finish;
pub mod http;
pub mod instant;
pub mod loss;
pub mod migration;
pub mod moment;
pub mod pacer;
pub mod packets;
pub mod parts;
pub mod paths;
pub mod period;
pub mod probe;
pub mod range_ends;
pub mod ranges;
pub mod receiver;
pub mod recovery;
pub mod repetition;
pub mod requests;
pub mod rows;
pub mod rtt;
pub mod saves;
pub mod sender;
mod standing;
pub mod stats;
pub mod stream;
pub mod sweep;
pub mod zero_rtt;

use crate::dialect::Losses;
use crate::event::{Event, Kind, Number, Word};
use crate::header::Vantage;
use crate::reader::skip::Skip;
use crate::record::rows::Row;
use cause::Interval;
use moment::Moment;
use recovery::{Place, SpaceKind};
use serde::{Deserialize, Serialize};
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use stream::Stream;

/// Rules that made a row; a higher one replaces all rows of a lower one.
pub const ANALYSIS_VERSION: u64 = 4;

/// Two records at most this far apart belong to one turn: an ACK and what it releases (quic_trace.md 1.5: the slowest
/// turn of the published rows takes 405 us).
pub const TURN_US: i64 = 1000;

/// What the fold must know of a trace before its first event.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub struct Trace {
    /// Its connection.
    pub connection_id: String,
    /// Its own id.
    pub trace_id: String,
    /// Who logged, as the trace says.
    pub vantage: Vantage,
    /// Day of its start, since 1970.
    pub trace_day: i32,
    /// Wall clock of the first record, us since 1970.
    pub started_us: Option<i64>,
    /// How losses are reported.
    pub losses: Losses,
    /// Rows without frames (QUIC_TRACE).
    pub frameless: bool,
    /// Columns of `connections` that the header decides.
    #[serde(skip)]
    pub facts: Arc<Row>,
    /// Server, for the aliases.
    pub server: Option<String>,
}

/// Rows that no later event can change, until someone takes them.
#[derive(Clone, Debug, Default)]
pub struct Output {
    /// Rows of `streams`.
    pub streams: Vec<Row>,
    /// Rows of `episodes`.
    pub episodes: Vec<Row>,
}

/// What of the log's abilities was seen so far.
#[derive(Clone, Copy, Debug, Default, Serialize, Deserialize)]
#[expect(missing_docs, clippy::struct_excessive_bools, reason = "one flag a field that a log may lack")]
pub struct Seen {
    pub packets_sent: bool,
    pub packets_received: bool,
    pub frames: bool,
    pub acks: bool,
    pub window: bool,
    pub rtt: bool,
    pub losses: bool,
    pub probe_timers: bool,
    pub http: bool,
    pub connection_credit: bool,
    pub stream_credit: bool,
    pub stream_events: bool,
    pub flow_events: bool,
    pub fins: bool,
    pub packet_sizes: bool,
    pub moves: bool,
}

/// Counters that go to `connections` as they are.
#[derive(Clone, Copy, Debug, Default, Serialize, Deserialize)]
#[expect(missing_docs, reason = "named after the columns")]
pub struct Counters {
    pub packets_sent: u64,
    pub packets_received: u64,
    pub bytes_sent: u64,
    pub bytes_received: u64,
    pub pure_acks_sent: u64,
    pub data_packets_sent: u64,
    pub stream_bytes_sent: u64,
    pub retransmitted_packets: u64,
    pub retransmitted_bytes: u64,
    pub packets_dropped: u64,
    pub key_updates: u64,
    pub idle_max_us: u64,
    pub bytes_in_flight_max: u64,
    pub in_flight_disagreements: u64,
    pub retries: u64,
    pub migrations: u64,
    pub paths_validated: u64,
    pub requests: u64,
    pub requests_complete: u64,
    pub retransmissions_max: u64,
}

/// State of one connection's fold.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub struct Fold {
    /// The trace.
    pub trace: Trace,
    role: Vantage,
    now: Moment,
    events: u64,
    recovery: recovery::Recovery,
    paths: paths::Paths,
    flight_us: u64,
    flight_area: f64,
    initial_window: Option<u64>,
    ssthresh: Option<u64>,
    /// In boxes of their own, as 65,536 folds of connections that are hardly used lie close to each other.
    pacer: Box<pacer::Pacer>,
    /// When something went out with nothing on its way before.
    busy_since: i64,
    delivery: Box<delivery::Delivery>,
    amplification: amplification::Amplification,
    zero_rtt: zero_rtt::ZeroRtt,
    migration: migration::Migration,
    instant: instant::Instant,
    last_senders: instant::LastSenders,
    /// Streams that wait and that no other has passed since they do.
    unpassed: Vec<u64>,
    largest_packet: u64,
    /// A node of the map has room for eleven values, which are large: most connections have one.
    streams: BTreeMap<u64, Box<Stream>>,
    hungry: BTreeSet<u64>,
    open: u64,
    idle_since: Option<(i64, u64)>,
    ended: Vec<u64>,
    closed: ranges::Ranges,
    conditions: Vec<Interval>,
    blocked: blocked::Blocked,
    credit: blocked::Credit,
    received_us: Option<i64>,
    repairs: stats::Stats,
    seen: Seen,
    count: Counters,
    aliases: Vec<receiver::Alias>,
    handshake: connection::Handshake,
    close: connection::Close,
    #[serde(skip)]
    /// Rows to take.
    pub output: Output,
    /// What of the newest event is beyond a limit.
    #[serde(skip)]
    pub beyond: Option<Skip>,
    #[serde(skip)]
    steps: u64,
}

impl Fold {
    /// A fold that has seen nothing.
    pub fn new(trace: Trace) -> Self {
        Self { role: trace.vantage, trace, ..Self::default() }
    }

    /// The server's side is ours.
    fn is_server(&self) -> bool {
        self.role == Vantage::Server
    }

    /// Packets and intervals that were looked at so far, beside one a record: the work that a log costs.
    pub fn steps(&self) -> u64 {
        self.steps + self.recovery.steps()
    }

    /// Events folded.
    pub fn events(&self) -> u64 {
        self.events
    }

    /// The next event, in order of `seq`.
    pub fn event(&mut self, event: &Event) {
        if event.time_us != self.now.us && self.events > 0 {
            self.close_instant();
            self.pass_time(event.time_us);
        }
        self.now.us = event.time_us;
        self.now.seq = event.seq;
        self.events += 1;
        match event.kind {
            Kind::PacketSent => self.packet_sent(event),
            Kind::PacketReceived => self.packet_received(event),
            Kind::PacketDropped => {
                self.count.packets_dropped += 1;
                self.zero_rtt.unreadable(event, self.now.us, true);
                self.amplification.receive(event);
            }
            Kind::PacketBuffered => self.zero_rtt.unreadable(event, self.now.us, false),
            Kind::PacketsAcked => self.packets_acked(event),
            Kind::PacketLost => self.packet_lost(event),
            Kind::SpuriousLoss => {
                if !self.seen.acks {
                    self.recovery.count_spurious();
                }
            }
            Kind::MetricsUpdated | Kind::UpdateRtt => self.metrics(event),
            Kind::CcAck => self.congestion_ack(event),
            Kind::CcLoss | Kind::CcPersistentCongestion => self.congestion_loss(event),
            Kind::CcRemoveInflight => self.remove_in_flight(event),
            Kind::CongestionStateUpdated => self.congestion_state(event.word(Word::NewState)),
            Kind::TimerUpdated => self.timer(event),
            Kind::PtoAlarm => self.probe_fired(true),
            Kind::HandshakeAlarm => self.seen.probe_timers = true,
            Kind::ParametersSet => self.parameters(event),
            Kind::KeyUpdated => self.key_updated(event),
            Kind::KeyDiscarded => self.key_discarded(event),
            Kind::ConnectionClosed => self.connection_closed(event),
            Kind::ConnectionIdUpdated | Kind::ConnectionStarted => self.connection_ids(event),
            Kind::MigrationStateUpdated => self.migrated(event),
            Kind::HttpFrameCreated | Kind::HttpFrameParsed => self.http_frame(event),
            Kind::StreamDataMoved => {
                self.data_moved(event);
                self.named(event);
            }
            Kind::StreamEvent => self.stream_event(event),
            Kind::FlowControlEvent => self.flow_control_event(event),
            Kind::CwndMayBlock => {
                if let Some(window) = event.get(Number::CongestionWindow) {
                    self.set_window(event, window);
                }
            }
            Kind::RecoveryParametersSet | Kind::StreamStateUpdated | Kind::ClockAnchor | Kind::Other => {
                self.named(event);
            }
        }
        if let Some(stream) = event.get(Number::StreamId).and_then(|id| self.streams.get_mut(&id)) {
            stream.last_seq = event.seq;
        }
        if event.is_packet() {
            self.settle_in_flight();
            self.let_go();
        }
    }

    /// A log without frames may name its streams all the same: all that is known is when.
    fn named(&mut self, event: &Event) {
        if self.seen.frames || self.trace.frameless {
            return;
        }
        let now = self.now.us;
        if let Some(stream) = event.get(Number::StreamId).and_then(|id| self.request_stream(id)) {
            stream.named_us = Some(now);
        }
    }

    /// Time goes on: figures that are weighted by time, and decisions that waited for the end of a turn.
    fn pass_time(&mut self, to_us: i64) {
        let passed = to_us.saturating_sub(self.now.us).max(0).unsigned_abs();
        self.count.idle_max_us = self.count.idle_max_us.max(passed);
        let in_flight = self.in_flight();
        if in_flight > 0 && passed > 0 {
            self.flight_us += passed;
            #[expect(clippy::cast_precision_loss, reason = "a mean")]
            let area = in_flight as f64 * passed as f64;
            self.flight_area += area;
            self.recovery.pass(passed);
        }
        self.settle(to_us);
    }

    /// The packet number space that an event's packet is in, and its path.
    fn place(&mut self, event: &Event) -> Place {
        // A path has its own numbers only with multipath, whose packets carry an id other than 0.
        let (path, is_beyond) = match event.get(Number::PathId) {
            Some(id) if id > 0 => self.paths.stands_for(id),
            _ => (0, false),
        };
        if is_beyond {
            self.beyond = Some(Skip::TooManyPaths);
        }
        Place { kind: SpaceKind::of(event), path }
    }

    /// The path that an event speaks of; packets without multipath name none.
    fn path(&mut self, event: &Event) -> &mut paths::Path {
        self.paths.path(event.get(Number::PathId).unwrap_or(0))
    }

    /// Bytes in flight on all paths.
    fn in_flight(&self) -> u64 {
        self.paths.in_flight()
    }

    /// Window of all paths, once one is known.
    fn window(&self) -> Option<u64> {
        self.paths.window()
    }
}
