//! The rows that come out as they become final: streams and episodes.

use crate::fold::cause::{Cause, Interval};
use crate::fold::saves::{self, Saves};
use crate::fold::stream::Stream;
use crate::fold::{ANALYSIS_VERSION, Fold, parts};
use crate::header::Vantage;
use crate::limits::SEQ_LIMIT;
use crate::record::rows::{Cell, Row};

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

impl Fold {
    /// Version of rows that know the events up to now: of two with as many of them, that of a whole trace is the later.
    /// A log and its copy that was cut can tell of the same events, and either may be stored last.
    fn version(&self, whole: bool) -> u64 {
        (ANALYSIS_VERSION << 40) + (self.now.seq.min(SEQ_LIMIT) + 1) * 2 + u64::from(whole)
    }

    /// What every row begins with. `whole`: the row says that the trace is not cut.
    pub(super) fn key(&self, row: &mut Row, whole: bool) {
        row.set("connection_id", self.trace.connection_id.as_str());
        row.set("vantage", self.trace.vantage.name());
        row.set("trace_id", self.trace.trace_id.as_str());
        row.set("version", self.version(whole));
        row.set("analysis_version", ANALYSIS_VERSION);
        row.set("trace_day", i64::from(self.trace.trace_day));
    }

    pub(super) fn wall(&self, us: i64) -> Option<i64> {
        self.trace.started_us.map(|start| start.saturating_add(us))
    }

    pub(super) fn episode(&mut self, episode: Episode<'_>) {
        let mut row = Row::default();
        self.key(&mut row, false);
        row.set("kind", episode.kind);
        row.set("path_id", episode.path_id);
        row.set("stream_id", episode.stream_id);
        row.set("first_seq", episode.first_seq);
        row.set("last_seq", episode.last_seq.unwrap_or(self.now.seq));
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
        if let Some(stretch) = stream.queue.behind.take() {
            self.behind(stream.id, &stretch);
        }
        let mut row = Row::default();
        self.key(&mut row, false);
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
        row.set("rtt_us", stream.rtt.smoothed_us.map(i64::unsigned_abs));
        row.set("min_rtt_us", stream.rtt.min_us.map(i64::unsigned_abs));
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
        let mut cannot_show = self.cannot_show();
        let turn = stream.turn.may_have_waited(self.largest_packet);
        if turn && !cannot_show.iter().any(|cause| cause == Cause::Scheduling.name()) {
            // The response may have been ready before: what looks like thinking may have been a wait for its turn.
            cannot_show.push(Cause::Scheduling.name().to_owned());
        }
        row.set("cannot_show", Cell::List(cannot_show));
        self.count.requests_complete += u64::from(stream.complete);
        self.output.streams.push(row);
    }

    /// Decides the rest of a stream's time, and what each cause's absence would have saved.
    fn split(&self, stream: &mut Stream) -> Saves {
        let marks = parts::Marks {
            fins_are_logged: self.seen.fins || self.seen.stream_events,
            is_unfinished: self.seen.fins && stream.sent.fin.is_none() && stream.end_is != "end_not_logged",
            ..stream.marks
        };
        let min_rtt = stream.rtt.min_us.filter(|_| stream.end_is == "acked" || self.role == Vantage::Client);
        let mut held: Vec<Interval> = std::mem::take(&mut stream.intervals);
        match self.role {
            Vantage::Server => {
                held.extend(self.conditions.iter().filter(|interval| interval.end_us > marks.answered_us()));
                let last_flight = min_rtt.map(|min_rtt_us| parts::LastFlight {
                    min_rtt_us,
                    carried_us: self.delivery.carried_us(stream.transfer.flight),
                });
                parts::server(&marks, &mut stream.sweep, &mut held, &mut stream.gaps, last_flight);
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

    /// The trace is over, or all of it that there is: open streams become rows that say so. Where the log may go on, what
    /// the records of its last instant have not decided is no episode: a longer reading may know it by another name.
    pub fn finish(&mut self) {
        let decided = self.output.episodes.len();
        self.close_instant();
        self.settle(i64::MAX);
        if !self.close.is_logged {
            self.output.episodes.truncate(decided);
        }
        let (now, rtt) = (self.now.us, self.recovery.rtt().round_trip());
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
            stream.rtt = stream.rtt.or(rtt);
            self.stream_row(*stream);
        }
        self.ended.clear();
    }

    /// A request that was open when the trace ended waited for what still stopped it then.
    fn open_waits(&self, stream: &mut Stream) {
        let end_us = self.now.us;
        let losses = stream.losses.iter().map(|loss| (Cause::LossRecovery, loss.due_us));
        let is_known = stream.queue.is_known && stream.is_hungry();
        let since = |since: Option<(i64, u64)>, cause, known| since.filter(|_| known).map(|(start, _)| (cause, start));
        let window = if self.path_is_bottleneck() { Cause::Bandwidth } else { Cause::CwndBlocked };
        let told = is_known || self.seen.flow_events;
        let waits: Vec<(Cause, i64)> = losses
            .chain(self.recovery.probe().since_us().map(|start_us| (Cause::Pto, start_us)))
            .chain(since(self.amplification.since, Cause::Amplification, is_known))
            .chain(since(self.credit.blocked, Cause::ConnectionFlowControl, told))
            .chain(since(stream.blocked, Cause::StreamFlowControl, told))
            .chain(since(self.blocked.full_since, window, is_known))
            .chain(since(stream.queue.empty_since, Cause::AppLimited, true))
            .chain(stream.gap_since.map(|start_us| (Cause::ReceiverHol, start_us)))
            .collect();
        for (cause, start_us) in waits {
            stream.intervals.push(Interval { cause, start_us, end_us });
            stream.infer(cause);
        }
    }
}
