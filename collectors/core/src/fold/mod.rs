//! Folds the events of one connection into its summaries, in one pass with bounded, serializable state.
//!
//! [`Fold`] gives each event to the types that it concerns, and passes their results to the other types. Each type owns
//! its state; no other code writes its fields:
//!
//! - [`recovery`] (RFC 9002): packets on their way, round trips, probe timeouts, recovery periods;
//! - [`window`]: bytes in flight and congestion window; beside it the pacer and the path's delivery rate;
//! - [`credit`] and [`amplification`]: other limits of a sender; [`blocked`]: times without room;
//! - [`stated_waits`]: waits that the log states;
//! - [`requests`]: streams, their losses, what the application queued, and why data was not sent earlier;
//! - [`attribution`]: conditions of the connection, and the split of a request's time;
//! - [`connection`]: handshake, close, ids, counters, and what the log can show;
//! - [`instant`]: what happened in one microsecond, which [`instant_over`] processes when it is over.
//!
//! [`sent`], [`received`], [`stated`] and [`frameless`] dispatch frames, rows and records to these types; [`finish`]
//! makes the rows.

pub mod amplification;
pub mod attribution;
pub mod blocked;
pub mod cause;
pub mod connection;
pub mod credit;
pub mod damage;
pub mod departures;
pub mod episode;
pub mod finish;
mod frameless;
pub mod instant;
mod instant_over;
mod missing;
pub mod moment;
mod received;
pub mod recovery;
pub mod requests;
mod sent;
mod stated;
pub mod stated_waits;
pub mod stats;
pub mod window;

use crate::dialect::LossReporting;
use crate::event::{Event, FrameNumber, Kind, Number, Word};
use crate::header::Vantage;
use crate::reader::skip::Skip;
use crate::record::columns::connections::Connections;
use crate::record::columns::episodes::Episodes;
use crate::record::columns::streams::Streams;
use crate::record::rows::Row;
use connection::capability::{Seen, Sight};
use episode::Episode;
use get_size2::GetSize;
use moment::Moment;
use recovery::clock_check::Overdue;
use recovery::period::PeriodOver;
use recovery::{SpaceId, SpaceKind};
use requests::Opened;
use requests::stream::RequestEnd;
use serde::{Deserialize, Serialize};
use std::sync::Arc;

/// Rules that made a row; a higher one replaces all rows of a lower one.
pub const ANALYSIS_VERSION: u64 = 6;

/// Two records at most this far apart belong to one turn of the stack's event loop: an ACK and the packets that it
/// releases (quic_trace.md 1.5: the slowest turn of the published rows takes 405 us).
pub const TURN_US: i64 = 1000;

/// What the fold must know of a trace before its first event.
#[derive(Clone, Debug, Default, Serialize, Deserialize, GetSize)]
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
    pub losses: LossReporting,
    /// Rows without frames (QUIC_TRACE).
    pub frameless: bool,
    /// Columns of `connections` that the header decides.
    #[serde(skip)]
    #[get_size(ignore)]
    pub facts: Arc<Row<Connections>>,
    /// Server, for the aliases.
    pub server: Option<String>,
    /// Of a network vantage: the sent packets are the server's.
    pub flow_is_server: bool,
}

/// Rows that no later event can change, until someone takes them.
#[derive(Clone, Debug, Default)]
pub struct Output {
    /// Rows of `streams`.
    pub streams: Vec<Row<Streams>>,
    /// Rows of `episodes`.
    pub episodes: Vec<Row<Episodes>>,
}

/// State of one connection's fold.
#[derive(Clone, Debug, Default, Serialize, Deserialize, GetSize)]
pub struct Fold {
    /// The trace.
    pub trace: Trace,
    role: Vantage,
    now: Moment,
    /// The largest seq so far: records that were out of order are folded in the order of their times.
    newest_seq: u64,
    /// The latest time of a record so far: the last record may be a late one.
    latest_us: i64,
    events: u64,
    recovery: recovery::Recovery,
    window: window::CongestionWindow,
    /// Boxed, so that a fold is small: a trace may have 32,768 connections that are hardly used.
    pacer: Box<window::pacer::Pacer>,
    delivery: Box<window::delivery::Delivery>,
    credit: credit::Credit,
    amplification: amplification::Amplification,
    undecided: blocked::Undecided,
    stated_waits: stated_waits::StatedWaits,
    requests: requests::Requests,
    attribution: attribution::Attribution,
    instant: instant::Instant,
    departures: departures::Departures,
    damage: damage::Damage,
    last_senders: instant::LastSenders,
    seen: Seen,
    traffic: connection::traffic::Traffic,
    handshake: connection::Handshake,
    zero_rtt: connection::zero_rtt::ZeroRtt,
    version: connection::version::SpokenVersion,
    migration: connection::migration::Migration,
    aliases: connection::aliases::Aliases,
    close: connection::Close,
    /// The newest record is a packet of which something could not be read.
    is_behind_unread: bool,
    /// Rows to take.
    #[serde(skip)]
    #[get_size(ignore)]
    pub output: Output,
    /// The limit that the newest event exceeds.
    #[serde(skip)]
    pub beyond: Option<Skip>,
    /// It may take no more memory: its events are counted, and change nothing else.
    #[serde(skip)]
    pub is_full: bool,
}

impl Fold {
    /// A fold that has seen nothing.
    pub fn new(trace: Trace) -> Self {
        Self { role: trace.vantage, requests: requests::Requests::of(trace.frameless), trace, ..Self::default() }
    }

    /// The server's side is ours.
    fn is_server(&self) -> bool {
        self.role == Vantage::Server || (self.role == Vantage::Network && self.trace.flow_is_server)
    }

    /// The client's side is ours.
    fn is_client(&self) -> bool {
        self.role == Vantage::Client
    }

    /// Packets, intervals and losses that were looked at so far: the work that a log costs in addition to one step per
    /// record.
    pub fn steps(&self) -> u64 {
        self.attribution.steps() + self.recovery.steps() + self.requests.steps()
    }

    /// How many requests have ended, and wait for their last HTTP frames.
    pub fn lingering(&self) -> usize {
        self.requests.lingering()
    }

    /// Requests that have ended become rows, even if their last HTTP frames may still come.
    pub fn let_all_go(&mut self) {
        self.let_go_until(i64::MAX);
    }

    /// Events folded.
    pub fn events(&self) -> u64 {
        self.events
    }

    /// The trace's declared id is an alias too, from the first record to the latest.
    pub fn declare(&mut self, id: &str) {
        for at_us in [0, self.latest_us] {
            self.aliases.see(id, "odcid", at_us);
        }
    }

    /// How long nothing was logged until `time_us`, us, if the log's clock may have been set forward in that time and
    /// the next acknowledgement can show it.
    pub fn silence_us(&self, time_us: i64) -> Option<i64> {
        let gap_us = time_us.saturating_sub(self.now.us);
        let is_awaited = || self.window.in_flight() > 0 || !self.departures.are_none();
        (self.recovery.can_tell_step(gap_us) && is_awaited()).then_some(gap_us)
    }

    /// The newest packet of ours that a received packet acknowledges, with its times in the log. `None` if it
    /// acknowledges nothing, `Some(None)` if that packet shows nothing about the clock.
    pub fn overdue(&self, event: &Event) -> Option<Option<Overdue>> {
        if event.kind != Kind::PacketReceived || SpaceKind::of(event) != SpaceKind::Application {
            return None;
        }
        let largest = |ranges: &[(u64, u64)]| self.recovery.packets_of(ranges).map(|(_, last)| last).max();
        let (frame, largest) =
            event.frames_with_ranges().find_map(|(frame, ranges)| Some((frame, largest(ranges)?)))?;
        let overdue = || {
            let space_id = SpaceId { kind: SpaceKind::Application, path: 0 };
            let goes_now = self.departures.have_any_of(space_id, [(largest, largest)]).then_some(self.now.us);
            let sent_us = self.recovery.on_its_way_since(largest).or(goes_now)?;
            let delay_us = frame.get(FrameNumber::AckDelayUs).unwrap_or(0).cast_signed();
            Some(Overdue { sent_us, now_us: event.time_us, delay_us })
        };
        Some(overdue())
    }

    /// The next event, in order of `seq`.
    pub fn event(&mut self, event: &Event) {
        if event.time_us != self.now.us && self.events > 0 {
            self.close_instant();
            if event.time_us < self.now.us {
                self.went_back(event.time_us);
            }
            self.pass_time(event.time_us);
        }
        self.note_unread(event);
        self.now = Moment { us: event.time_us, seq: event.seq };
        self.latest_us = self.latest_us.max(event.time_us);
        self.newest_seq = self.newest_seq.max(event.seq);
        self.events += 1;
        if self.is_full {
            self.beyond = Some(Skip::TooMuchState);
            return;
        }
        match event.kind {
            Kind::PacketSent => self.packet_sent(event),
            Kind::PacketReceived => self.packet_received(event),
            Kind::PacketDropped => {
                self.traffic.discard();
                self.zero_rtt.unreadable(event, self.now.us, true);
                self.amplification.receive(event);
            }
            Kind::PacketBuffered => self.zero_rtt.unreadable(event, self.now.us, false),
            Kind::PacketsAcked => self.packets_acked(event),
            Kind::PacketLost => self.packet_lost(event),
            Kind::SpuriousLoss => self.spurious_loss(),
            Kind::MetricsUpdated | Kind::UpdateRtt => self.metrics(event),
            Kind::CcAck => self.congestion_ack(event),
            Kind::CcLoss | Kind::CcPersistentCongestion => self.congestion_loss(event),
            Kind::CcRemoveInflight => self.remove_in_flight(event),
            Kind::CongestionStateUpdated => self.congestion_state(event.word(Word::NewState)),
            Kind::TimerUpdated => self.timer(event),
            Kind::PtoAlarm => self.probe_fired(true),
            Kind::HandshakeAlarm => self.seen.note(Sight::ProbeTimers),
            Kind::ParametersSet => self.parameters(event),
            Kind::KeyUpdated => self.handshake.key_updated(event, self.is_server()),
            Kind::KeyDiscarded => self.key_discarded(event),
            Kind::ConnectionClosed => {
                self.close.begin(self.now.us);
                self.close.read(event);
            }
            Kind::ConnectionIdUpdated => self.aliases.see_issued(event, self.now.us),
            Kind::ConnectionStarted => {
                self.version.told(event);
                self.aliases.see_issued(event, self.now.us);
            }
            Kind::VersionInformation => self.version.told(event),
            Kind::MigrationStateUpdated => self.migrated(event),
            Kind::HttpFrameCreated | Kind::HttpFrameParsed => self.http_frame(event),
            Kind::StreamDataMoved => {
                self.data_moved(event);
                self.named(event);
            }
            Kind::StreamEvent => self.stream_event(event),
            Kind::FlowControlEvent => self.flow_control_event(event),
            Kind::CwndMayBlock => self.window_stated(event),
            Kind::ConnectionDataBlocked | Kind::StreamDataBlocked => {
                self.data_blocked(event);
                self.named(event);
            }
            Kind::FramesCreated => self.frames_created(event),
            Kind::FramesParsed => self.frames_parsed(event),
            Kind::RecoveryParametersSet
            | Kind::StreamStateUpdated
            | Kind::DatagramDataMoved
            | Kind::DatagramDataBlocked
            | Kind::ClockAnchor
            | Kind::Other => {
                self.named(event);
            }
        }
        if let Some(id) = event.get(Number::StreamId) {
            self.requests.touch(id, event.seq);
        }
        if event.is_packet() {
            self.instant.packet();
            self.let_go();
        }
    }

    /// Time advances: updates figures that are weighted by time, and makes the decisions that waited for this.
    fn pass_time(&mut self, to_us: i64) {
        let us = to_us.saturating_sub(self.now.us).max(0).unsigned_abs();
        self.traffic.pass(us);
        self.recovery.pass_in_silence(us, to_us);
        self.pacer.begin_instant();
        if self.window.pass(us) {
            self.recovery.pass(us);
        }
        self.settle(to_us);
    }

    /// The packet number space that an event's packet is in, and its path.
    fn space_id(&mut self, event: &Event) -> SpaceId {
        // A path has its own numbers only with multipath, whose packets carry an id other than 0.
        let (path, is_beyond) = match event.get(Number::PathId) {
            Some(id) if id > 0 => self.window.stands_for(id),
            _ => (0, false),
        };
        if is_beyond {
            self.beyond = Some(Skip::TooManyPaths);
        }
        SpaceId { kind: SpaceKind::of(event), path }
    }

    /// The request stream `id`, opened by the current event if it is new: false for other kinds of streams and for
    /// those that ended long ago.
    fn open(&mut self, id: u64) -> bool {
        match self.requests.open(id, self.now, self.credit.initial_stream(), self.traffic.received_us()) {
            Opened::No => return false,
            Opened::Beyond => {
                self.beyond = Some(Skip::TooManyRequests);
                return false;
            }
            Opened::New(Some(idle_since)) => self.stretch("idle", None, idle_since),
            Opened::New(None) | Opened::Known => {}
        }
        self.requests.touch(id, self.now.seq);
        true
    }

    /// A request ends, if it has not.
    fn end_request(&mut self, id: u64, time_us: i64, why: RequestEnd) {
        self.requests.end(id, self.now, time_us, why, self.recovery.rtt());
    }

    /// Requests that ended before the current moment become rows.
    fn let_go(&mut self) {
        if !self.requests.is_any_ended() {
            return;
        }
        self.let_go_until(self.now.us);
    }

    fn let_go_until(&mut self, us: i64) {
        let round_trip = self.recovery.rtt().round_trip();
        for mut stream in self.requests.let_go(us) {
            stream.settle_rtt(round_trip);
            self.stream_row(*stream);
        }
        if self.requests.is_empty() {
            self.attribution.clear();
        }
    }

    /// A stretch of the connection or of a stream as an episode, up to now.
    fn stretch(&mut self, kind: &'static str, stream_id: Option<u64>, since: Moment) {
        if since.us < self.now.us {
            let episode = Episode::of(kind, since, self.now.us);
            self.episode(stream_id.map_or(episode, |id| episode.on(id)));
        }
    }

    /// A recovery period is over.
    fn period_over(&mut self, over: PeriodOver) {
        self.window.end_period();
        self.episode(Episode {
            wait_us: Some(over.flight_us),
            congestion_window: self.window.size(),
            ..Episode::of("recovery", over.since, self.now.us)
        });
    }
}
