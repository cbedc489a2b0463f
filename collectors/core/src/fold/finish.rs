//! The output rows: streams and episodes when they become final, and the connection's current row.

use crate::client;
use crate::fold::attribution::Ending;
use crate::fold::cause::Cause;
use crate::fold::connection::Outcome;
use crate::fold::connection::capability::{Ability, CapabilityFacts, Sight};
use crate::fold::episode::Episode;
use crate::fold::requests::stream::Stream;
use crate::fold::{ANALYSIS_VERSION, Fold, Output};
use crate::limits::SEQ_LIMIT;
use crate::record::columns::TraceTable;
use crate::record::columns::connection_aliases::{self, ConnectionAliases};
use crate::record::columns::connections::{self, Connections};
use crate::record::columns::episodes;
use crate::record::columns::streams::{self, Streams};
use crate::record::rows::Row;

/// Approximate number of values in a row of each table, so that memory is allocated once.
const EPISODE: usize = 24;
const STREAM: usize = 61;
const CONNECTION: usize = 96;
const ALIAS: usize = 13;

impl Fold {
    /// Version of rows made from the events up to now. With equal numbers of events, the row of a whole trace has the
    /// higher version: a log and a truncated copy of it can have the same events, and either may be stored last.
    ///
    /// While sent packets of the current time are not processed, the version is lower than that of a row after them.
    fn version(&self, whole: bool) -> u64 {
        let level = match (whole, self.departures.are_none()) {
            (true, _) => 2,
            (false, true) => 1,
            (false, false) => 0,
        };
        (ANALYSIS_VERSION << 40) + (self.newest_seq.min(SEQ_LIMIT) + 1) * 3 + level
    }

    /// What every row begins with. `whole`: the row says that the trace is not cut.
    fn key<T: TraceTable>(&self, row: &mut Row<T>, whole: bool) {
        row.set(T::CONNECTION_ID, self.trace.connection_id.as_str());
        row.set(T::VANTAGE, self.trace.vantage.name());
        row.set(T::TRACE_ID, self.trace.trace_id.as_str());
        row.set(T::VERSION, self.version(whole));
        row.set(T::TRACE_DAY, i64::from(self.trace.trace_day));
    }

    fn wall(&self, us: i64) -> Option<i64> {
        self.trace.started_us.map(|start| start.saturating_add(us))
    }

    pub(super) fn episode(&mut self, episode: Episode<'_>) {
        let mut row = Row::of(EPISODE);
        self.key(&mut row, false);
        row.set(episodes::ANALYSIS_VERSION, ANALYSIS_VERSION);
        episode.write(&mut row, self.now.seq);
        self.output.episodes.push(row);
    }

    /// The row of a stream that is over.
    pub(super) fn stream_row(&mut self, mut stream: Stream) {
        self.look_for_start(&mut stream);
        self.look_for_sooner_end(&mut stream);
        self.stated_waits_until_now(&mut stream);
        self.requests.close(&stream);
        let ending = Ending {
            role: self.role,
            has_fins: self.seen.has(Sight::Fins),
            has_ends: self.seen.has(Sight::StreamEvents),
            carried_us: self.delivery.carried_us(stream.transfer().flight()),
        };
        let saves = self.attribution.split(&mut stream, ending);
        if let Some(stretch) = stream.end_behind() {
            self.behind(stream.id(), &stretch);
        }
        let mut row = Row::of(STREAM);
        self.key(&mut row, false);
        row.set(streams::ANALYSIS_VERSION, ANALYSIS_VERSION);
        stream.write(&mut row, self.wall(stream.marks().start_us), self.is_server(), &saves);
        row.set(streams::INFERRED, self.inferred(&stream));
        let mut cannot_show = self.cannot_show();
        // The response may have been ready before: apparent server think time may have been a wait for its turn or for
        // the pacer.
        let turn = stream.may_have_waited_for_its_turn(self.window.largest_packet()).then_some(Cause::Scheduling);
        let pacer = stream.may_have_waited_for_the_pacer().then_some(Cause::Pacing);
        for cause in turn.into_iter().chain(pacer) {
            if !cannot_show.iter().any(|known| known == cause.name()) {
                cannot_show.push(cause.name().to_owned());
            }
        }
        row.set(streams::CANNOT_SHOW, cannot_show);
        self.output.streams.push(row);
    }

    /// Causes whose time would be an inference: by what this stream met, or by what the log can show at all.
    fn inferred(&self, stream: &Stream) -> Vec<String> {
        let known = self.known();
        let sweep = stream.timeline().sweep();
        let is_inferred = |cause: &Cause| {
            // Time that the log states is not inferred. Time of a cause that the log states elsewhere but not here is
            // inferred.
            let (part, stated) = (sweep.part(*cause), sweep.stated(*cause));
            let is_beside = self.seen.is_stated(*cause) && part > stated;
            let is_stated = part > 0 && part == stated;
            is_beside || (!is_stated && (stream.timeline().is_inferred(*cause) || known.is_inferred(*cause)))
        };
        let inferred = Cause::ALL.into_iter().filter(is_inferred);
        inferred.map(|cause| cause.name().to_owned()).collect()
    }

    /// What decides how each cause could be known.
    fn known(&self) -> CapabilityFacts {
        CapabilityFacts {
            role: self.role,
            seen: self.seen,
            losses: self.trace.losses,
            has_rtt: self.recovery.rtt().min_us().is_some(),
            has_pacing_rate: self.pacer.is_stated(),
            has_packet_types: self.zero_rtt.is_readable(),
        }
    }

    /// How each cause could be known from what this log holds.
    pub fn abilities(&self) -> Vec<Ability> {
        self.known().abilities()
    }

    /// Causes that this log could not have shown.
    pub fn cannot_show(&self) -> Vec<String> {
        self.known().cannot_show()
    }

    /// The trace is over, or all of it that exists so far is read: open streams become rows that say so. If the log may
    /// go on, undecided waits of its last instant give no episodes, as later records may give them another cause.
    pub fn finish(&mut self) {
        let decided = self.output.episodes.len();
        self.close_instant();
        self.look_for_clock_step(i64::MAX);
        self.settle(i64::MAX);
        if !self.close.is_logged() {
            self.output.episodes.truncate(decided);
        }
        if self.requests.len() > 1 {
            self.settle_conditions();
        }
        let (now_us, rtt, is_server) = (self.now.us, self.recovery.rtt().round_trip(), self.is_server());
        let (has_frames, has_fins) = (self.seen.has(Sight::Frames), self.seen.has(Sight::Fins));
        for mut stream in self.requests.take_all() {
            if stream.is_open() {
                self.look_for_end(&mut stream);
            }
            if stream.is_open() {
                self.open_waits(&mut stream);
                stream.end_with_trace(now_us, rtt, is_server, has_frames, has_fins);
            }
            stream.settle_rtt(rtt);
            self.stream_row(*stream);
        }
    }

    /// A request that is open when the trace ends has waited for the conditions that still stop it.
    fn open_waits(&self, stream: &mut Stream) {
        let is_known = stream.queue().is_known() && stream.is_hungry();
        let is_told = is_known || self.seen.has(Sight::FlowEvents);
        let window = if self.path_is_bottleneck() { Cause::Bandwidth } else { Cause::CwndBlocked };
        let stops = [
            (Cause::Pto, self.recovery.probe().since_us()),
            (Cause::Amplification, self.amplification.since().filter(|_| is_known).map(|since| since.us)),
            (Cause::ConnectionFlowControl, self.credit.blocked_since().filter(|_| is_told).map(|since| since.us)),
            (window, self.window.full_since().filter(|_| is_known).map(|since| since.us)),
        ];
        let stops = stops.into_iter().filter_map(|(cause, since_us)| Some((cause, since_us?)));
        for (cause, start_us) in stops.chain(stream.stops(is_told)).collect::<Vec<_>>() {
            stream.wait_until(self.now.us, cause, start_us);
        }
    }

    /// Rows of the requests that ended and still wait for their last HTTP frames, as they would be if no record
    /// followed. So a connection that falls silent shows them too. The final rows have a higher version, or are the
    /// same.
    pub fn standing(&self) -> Vec<Row<Streams>> {
        if !self.requests.is_any_ended() {
            return Vec::new();
        }
        let mut copy = self.clone();
        copy.output = Output::default();
        copy.finish();
        let is_over = |row: &Row<Streams>| self.requests.has_ended(row.whole(streams::STREAM_ID));
        copy.output.streams.into_iter().filter(is_over).collect()
    }

    /// Facts about the connection so far.
    pub fn outcome(&self) -> Outcome {
        let (packets_sent, packets_received) = self.traffic.packets();
        Outcome {
            packets_sent,
            packets_received,
            packets_lost: self.recovery.packets_lost(),
            requests: self.requests.count(),
            is_error: self.close.is_error(),
        }
    }

    /// The connection's row as of now. `complete`: nothing of the trace is missing.
    pub fn connection(&self, complete: bool) -> Row<Connections> {
        let mut row = Row::of(CONNECTION);
        self.key(&mut row, complete);
        row.set(connections::ANALYSIS_VERSION, ANALYSIS_VERSION);
        row.set(connections::STARTED_AT, self.trace.started_us);
        row.set(connections::DURATION_US, self.latest_us.unsigned_abs());
        row.set(connections::COMPLETE, complete);
        row.extend(&self.trace.facts);
        row.set(connections::EVENTS_SEEN, self.events);
        row.set(connections::HANDSHAKE_US, self.handshake.duration(self.is_server()));
        let has_requests = self.trace.frameless && self.requests.count() > 0;
        row.set(connections::HANDSHAKE_COMPLETE, self.handshake.is_complete() || has_requests);
        row.set(connections::ZERO_RTT, self.zero_rtt.state());
        row.set(connections::QUIC_VERSION, self.version.text());
        self.close.write(&mut row);
        row.set(connections::RETRIES, self.handshake.retries());
        row.set(connections::MIGRATIONS, self.migration.migrations());
        row.set(connections::PATHS, self.window.paths().max(1));
        row.set(connections::PATHS_VALIDATED, self.migration.validated());
        row.set(connections::KEY_UPDATES, self.handshake.key_updates());
        let retransmitted_bytes = self.requests.retransmitted_bytes();
        let out_of_order = self.recovery.out_of_order();
        self.traffic.write(&mut row, self.credit.data_sent(), retransmitted_bytes, out_of_order);
        self.recovery.write(&mut row);
        row.set(connections::IDLE_MAX_US, self.traffic.idle_max_us());
        self.window.write(&mut row);
        self.recovery.rtt().write(&mut row);
        self.requests.write(&mut row);
        row.set(connections::CANNOT_SHOW, self.cannot_show());
        row.set(connections::DAMAGE, self.damage.named());
        row.set(connections::OPEN_EPISODES, self.open_episodes());
        row
    }

    fn open_episodes(&self) -> String {
        let kinds = [
            ("pto", self.recovery.probe().is_running()),
            ("recovery", self.recovery.is_in_period()),
            ("cwnd_blocked", self.window.full_since().is_some()),
            ("connection_flow_control", self.credit.blocked_since().is_some()),
            ("stream_flow_control", self.requests.all().any(|stream| stream.blocked_since().is_some())),
            ("amplification", self.amplification.since().is_some()),
            ("idle", self.requests.idle_since().is_some()),
        ];
        let open: Vec<&str> = kinds.into_iter().filter(|(_, open)| *open).map(|(kind, _)| kind).collect();
        serde_json::to_string(&open).unwrap_or_default()
    }

    /// Rows of `connection_aliases`.
    pub fn alias_rows(&self) -> Vec<Row<ConnectionAliases>> {
        let server = self.trace.server.as_deref();
        let aliases = self.aliases.iter();
        aliases.map(|alias| self.alias_row(&alias.id, &alias.role, server, (alias.first_us, alias.last_us))).collect()
    }

    /// Rows of `connection_aliases` by which lines of the client's address and port are found.
    pub fn client_rows(&self, client: &client::KnownClient) -> Vec<Row<ConnectionAliases>> {
        let server = self.trace.server.as_deref().or(client.server());
        let row = |(key, first_us)| self.alias_row(key, "client_key", server, (first_us, self.now.us));
        client.keys().map(row).collect()
    }

    fn alias_row(
        &self,
        id: &str,
        role: &str,
        server: Option<&str>,
        (first_us, last_us): (i64, i64),
    ) -> Row<ConnectionAliases> {
        let mut row = Row::of(ALIAS);
        row.set(connection_aliases::ALIAS, id);
        row.set(connection_aliases::ROLE, role);
        row.set(connection_aliases::SERVER, server);
        row.set(connection_aliases::FIRST_US, first_us);
        row.set(connection_aliases::LAST_US, last_us);
        row.set(connection_aliases::FIRST_AT, self.wall(first_us));
        row.set(connection_aliases::LAST_AT, self.wall(last_us));
        self.key(&mut row, false);
        row
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::event::Event;

    #[test]
    fn a_connection_lasts_until_its_latest_record_though_an_older_one_comes_last() {
        let mut fold = Fold::default();
        for (seq, time_us) in [0, 81_000, 79_000].into_iter().enumerate() {
            let mut event = Event::default();
            (event.seq, event.time_us) = (seq as u64, time_us);
            fold.event(&event);
        }
        assert_eq!(fold.connection(true).whole(connections::DURATION_US), 81_000);
    }
}
