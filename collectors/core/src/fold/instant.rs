//! One microsecond of a connection: what happened in it is judged when it is over, so the order of records within it
//! changes nothing (ATTRIBUTION, rule 8).

use crate::event::{Event, Number, Word};
use crate::fold::cause::{Cause, Interval};
use crate::fold::finish::Episode;
use crate::fold::pacer::{Spread, tolerated};
use crate::fold::stream::{Queue, Ready, Stretch};
use crate::fold::sweep::Gap;
use crate::fold::{Fold, TURN_US};
use rustc_hash::FxHashSet;
use serde::{Deserialize, Serialize};

/// What happened at the current time.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub struct Instant {
    /// New data went out, and not as a probe.
    pub has_news: bool,
    /// Streams whose new data did, and the seq with which it began to. A log that was cut within the instant says the
    /// same of it.
    pub senders: Vec<(u64, u64)>,
    /// Those streams.
    pub sending: Ids,
    /// Streams of which anything went out.
    pub carried: Ids,
    /// Bytes that went out.
    pub bytes: u64,
    /// Bytes left the flight, or the window grew.
    pub has_opened: bool,
}

/// Ids in the order in which they came, each once.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub struct Ids {
    list: Vec<u64>,
    /// The same, where they are more than are looked through one by one.
    #[serde(skip)]
    set: FxHashSet<u64>,
}

impl Ids {
    /// True when it is new.
    pub fn insert(&mut self, id: u64) -> bool {
        let is_new = if self.list.len() < FEW {
            !self.list.contains(&id)
        } else {
            if self.set.len() < self.list.len() {
                self.set.extend(&self.list);
            }
            self.set.insert(id)
        };
        if is_new {
            self.list.push(id);
        }
        is_new
    }

    fn contains(&self, id: u64) -> bool {
        if self.set.is_empty() { self.list.contains(&id) } else { self.set.contains(&id) }
    }

    fn clear(&mut self) {
        self.list.clear();
        self.set.clear();
    }
}

/// As many are looked through.
const FEW: usize = 16;

/// The two streams that sent last before the current time: of any stream, one of them is another.
#[derive(Clone, Copy, Debug, Default, Serialize, Deserialize)]
pub struct LastSenders([Option<(i64, u64)>; 2]);

impl LastSenders {
    /// When a stream other than `id` sent last.
    fn other_than(&self, id: u64) -> Option<i64> {
        self.0.iter().flatten().filter(|(_, stream)| *stream != id).map(|(time, _)| *time).max()
    }

    fn note(&mut self, id: u64, time_us: i64) {
        let [newest, older] = self.0;
        self.0 = match newest {
            Some((_, stream)) if stream == id => [Some((time_us, id)), older],
            _ => [Some((time_us, id)), newest],
        };
    }
}

impl Fold {
    /// The current time is over.
    pub(super) fn close_instant(&mut self) {
        let instant = std::mem::take(&mut self.instant);
        if instant.has_news {
            self.confirm();
        }
        // Until when what had been sent before made the next packet wait.
        let owed_until = self.pacer.until_us();
        if instant.bytes > 0 && self.in_flight() <= instant.bytes && !self.is_by_ack() {
            // Nothing was on its way, and no acknowledgement had just made room: the connection had been idle, and nobody's
            // turn is older than this.
            let is_long = self.recovery.probe().idle_us(self.now.us)
                > self.recovery.rtt().smoothed_us().unwrap_or(0).saturating_mul(2);
            if is_long {
                self.delivery.restart();
            }
            self.busy_since = self.now.us;
        }
        if instant.bytes > 0 {
            self.close_pacing();
            self.pacer.send(self.now.us, instant.bytes, self.spread());
        }
        for (id, seq) in &instant.senders {
            self.close_gap_of(*id, *seq, owed_until);
        }
        self.pass(&instant.carried, instant.bytes);
        for id in &instant.carried.list {
            self.last_senders.note(*id, self.now.us);
        }
        self.watch_window(instant.has_news && instant.has_opened);
        self.watch_credit(instant.has_news);
        self.watch_amplification(instant.has_news);
        if instant.bytes > 0 && self.hungry.is_empty() {
            self.delivery.no_data_waits(self.in_flight());
        }
        // The buffers are used again.
        let Instant { mut senders, mut sending, mut carried, .. } = instant;
        senders.clear();
        sending.clear();
        carried.clear();
        self.instant = Instant { senders, sending, carried, ..Instant::default() };
    }

    /// New data of a stream went out, first with `seq`: why not earlier? And does more of it wait?
    fn close_gap_of(&mut self, id: u64, seq: u64, owed_until: i64) {
        let now = self.now.us;
        let limit = self.pacer.owed_us(now);
        let other = self.last_senders.other_than(id);
        let is_bottleneck = self.path_is_bottleneck();
        let rate = self.delivery.rate();
        let wait = Wait {
            is_by_timer: self.received_us.is_none_or(|received| now.saturating_sub(received) > TURN_US),
            is_by_ack: self.is_by_ack(),
            is_paced: self.pacer.is_evident(),
            is_stated: self.pacer.is_stated(),
            pacer: self.cause_of_pacing(),
        };
        // The connection sent nothing since the other stream's packet, for its pacer or for its window.
        let turn_us = owed_until.max(other.unwrap_or(i64::MIN)).saturating_add(TURN_US);
        let full_since = self.blocked.full_since.map(|(since, _)| since);
        let held_back = |other: i64| {
            self.pacer.held_back(other, now) || full_since.is_some_and(|full| full <= other.saturating_add(TURN_US))
        };
        let is_next = now <= turn_us || other.is_some_and(held_back);
        let rtt = self.recovery.rtt().smoothed_us().unwrap_or(0);
        let (mut done, mut is_idle) = (None, false);
        let (flight, busy_since) = (self.in_flight(), self.busy_since);
        let Some(stream) = self.streams.get_mut(&id) else { return };
        stream.transfer.flight = flight;
        if let Some(ready) = stream.queue.ready.filter(|ready| ready.since_us < now) {
            let is_known = stream.queue.is_known;
            let (since_us, limit_us) = (ready.since_us, ready.paced_us);
            let others_went = other.is_some_and(|other| other >= since_us);
            // The packets of others came first, and this stream's followed at once, or is known to have waited.
            let other = other.filter(|other| *other > since_us && (is_known || is_next));
            // What held the connection back since then held this stream back as far as others had filled it.
            let ends_us = |other: i64| match held_back(other) {
                true => other.saturating_add_unsigned(ready.of_others(now.abs_diff(other))),
                false => other,
            };
            let begins_us = if is_known { i64::MIN } else { busy_since };
            let behind = other.map(|other| (ready.passed_us.unwrap_or(since_us).max(begins_us), ends_us(other)));
            let behind = behind.filter(|(start_us, end_us)| start_us < end_us);
            if let Some((start_us, end_us)) = behind {
                stream.intervals.push(Interval { cause: Cause::Scheduling, start_us, end_us });
                done = stream.queue.was_behind(start_us, end_us, seq, rtt);
                if !is_known {
                    stream.infer(Cause::Scheduling);
                }
            }
            let start_us = behind.map_or(since_us, |(_, end_us)| end_us);
            if is_bottleneck && start_us < now {
                stream.transfer.measured(rate);
            }
            // What others sent meanwhile the pacer spreads too.
            let owed_us = owed_until.saturating_sub(other.unwrap_or(start_us).max(start_us)).max(0).unsigned_abs();
            let limit_us = if others_went { limit_us.max(owed_us) } else { limit_us };
            let may_pace = limit_us > 0 || others_went;
            let gap = wait.unexplained(is_known, may_pace.then_some(limit_us), now.abs_diff(start_us));
            if gap.long == Cause::AppLimited {
                stream.infer(Cause::AppLimited);
            }
            is_idle = gap.long == Cause::AppLimited && now.abs_diff(start_us) > gap.limit_us && full_since.is_none();
            if let Some((end_us, _)) = behind.filter(|(start_us, _)| since_us < *start_us) {
                stream.gaps.push(Gap { start_us: since_us, end_us, ..gap });
            }
            stream.gaps.push(Gap { start_us, end_us: now, ..gap });
            if is_known && wait.is_by_timer {
                self.pacer.sent_by_timer();
            }
        }
        if stream.queue.is_known && stream.sent.highest > stream.queue.bytes {
            // More went out than was seen to be queued: this log does not show all of it.
            stream.queue.is_known = false;
        }
        let is_empty = stream.queue.is_known && stream.sent.highest >= stream.queue.bytes;
        stream.queue.empty_since = (is_empty && stream.may_wait()).then_some((now, seq));
        stream.queue.ready = None;
        if stream.is_hungry() {
            self.wait(id, limit);
        }
        self.note_hunger(id);
        self.bound(id);
        if let Some(stretch) = done {
            self.behind(id, &stretch);
        }
        if is_idle {
            self.delivery.no_data_waits(flight);
        }
    }

    /// Something new had been acknowledged within a turn.
    fn is_by_ack(&self) -> bool {
        self.recovery.probe().news_us().is_some_and(|news| self.now.us.saturating_sub(news) <= TURN_US)
    }

    /// What a pacer spreads that states no rate.
    pub(super) fn spread(&self) -> Spread {
        Spread { window: self.window(), rtt_us: self.recovery.rtt().smoothed_us().unwrap_or(0).unsigned_abs() }
    }

    /// Whose limit it is when the pacer makes data wait.
    pub(super) fn cause_of_pacing(&self) -> Cause {
        if self.path_is_bottleneck() {
            Cause::Bandwidth
        } else if self.pacer.is_the_windows(self.spread()) {
            Cause::CwndBlocked
        } else {
            Cause::Pacing
        }
    }

    /// The log states that the pacer's timer was set, fired or was cancelled.
    pub(super) fn pacing_timer(&mut self, event: &Event) {
        match event.get(Number::DeltaUs) {
            Some(delta_us) if event.is(Word::EventType, "set") => self.pacer.set_timer(self.now.us, delta_us),
            _ => self.close_pacing(),
        }
    }

    /// Data waited for the pacer until now, if its timer ran.
    fn close_pacing(&mut self) {
        if let Some((start_us, end_us)) = self.pacer.end_timer(self.now.us)
            && !self.hungry.is_empty()
        {
            self.held(Interval { cause: self.cause_of_pacing(), start_us, end_us });
        }
    }

    /// Data of a stream waits from now on, where a pacer may make it wait for `paced_us`.
    fn wait(&mut self, id: u64, paced_us: u64) {
        let Some(stream) = self.streams.get_mut(&id) else { return };
        let ready = Ready { since_us: self.now.us, paced_us, passed_us: None, own: 0, in_flight: 0 };
        stream.queue.ready = Some(ready);
        if !std::mem::replace(&mut stream.queue.is_listed, true) {
            self.unpassed.push(id);
        }
    }

    /// Streams sent: those that waited and did not were passed. The turn that was taken began as long before as a pacer,
    /// or a window that a round trip's acknowledgements open evenly, makes such a packet wait. What a stream waited
    /// before its turn was taken, it waited for others as far as the bytes on their way were theirs: alone it would
    /// have had that room.
    fn pass(&mut self, carried: &Ids, bytes: u64) {
        if carried.list.is_empty() || self.unpassed.is_empty() {
            return;
        }
        let turn_us = self.now.us.saturating_sub_unsigned(self.pacing_us(bytes));
        let has_rate = self.pacer.is_stated() || self.window().is_some();
        let (in_flight, streams) = (self.in_flight(), &mut self.streams);
        self.unpassed.retain(|id| {
            let Some(stream) = streams.get_mut(id) else { return false };
            let own = if has_rate { stream.in_flight().min(in_flight) } else { 0 };
            let queue = &mut stream.queue;
            queue.is_listed = queue.ready.is_some() && carried.contains(*id);
            if let Some(ready) = queue.ready.as_mut().filter(|_| !queue.is_listed) {
                let before = turn_us.saturating_sub(ready.since_us).max(0).unsigned_abs();
                (ready.own, ready.in_flight) = (own, in_flight);
                ready.passed_us = Some(ready.since_us.saturating_add_unsigned(before - ready.of_others(before)));
            }
            queue.is_listed
        });
    }

    /// A stretch behind other streams is over.
    pub(super) fn behind(&mut self, id: u64, stretch: &Stretch) {
        self.episode(Episode {
            kind: Cause::Scheduling.name(),
            stream_id: id.cast_signed(),
            first_seq: stretch.first_seq,
            last_seq: Some(stretch.last_seq),
            start_us: stretch.start_us,
            end_us: stretch.end_us,
            confirmed: true,
            count: stretch.count,
            ..Episode::default()
        });
    }

    /// The application queued more of a response.
    pub(super) fn queued(&mut self, id: u64, bytes: u64) {
        let now = self.now.us;
        let limit = self.pacer.owed_us(now);
        let Some(stream) = self.streams.get_mut(&id) else { return };
        stream.queue.bytes = stream.queue.bytes.saturating_add(bytes);
        // Only what was seen from its beginning can be told to be all.
        stream.queue.is_known |= stream.sent.highest == 0;
        if let Some((start_us, first_seq)) = stream.queue.empty_since.take() {
            self.wait(id, limit);
            self.no_data(id, start_us, first_seq);
        } else if stream.queue.ready.is_none() && stream.may_wait() {
            self.wait(id, limit);
        }
        self.note_hunger(id);
    }

    /// The application is known to have had nothing for a response since `start_us`.
    pub(super) fn no_data(&mut self, id: u64, start_us: i64, first_seq: u64) {
        let end_us = self.now.us;
        let Some(stream) = self.streams.get_mut(&id).filter(|_| start_us < end_us) else { return };
        stream.intervals.push(Interval { cause: Cause::AppLimited, start_us, end_us });
        self.stretch(Cause::AppLimited, id.cast_signed(), first_seq, start_us);
    }

    /// Keeps count of the streams whose data may wait.
    pub(super) fn note_hunger(&mut self, id: u64) {
        if self.streams.get(&id).is_some_and(|stream| stream.is_hungry()) {
            self.hungry.insert(id);
        } else {
            self.hungry.remove(&id);
        }
    }

    /// How long a pacer waits after `bytes`, us.
    pub(super) fn pacing_us(&self, bytes: u64) -> u64 {
        self.pacer.interval_us(bytes, self.spread())
    }

    /// A larger window would have bought nothing: the round trip has grown by more than a quarter, the delivery rate
    /// has stopped growing or is the path's, or the controller has found the path's rate.
    pub(super) fn path_is_bottleneck(&self) -> bool {
        self.recovery.rtt().has_queue() || self.delivery.has_stopped_growing() || self.delivery.is_at_path_rate()
    }
}

/// How a wait ended.
#[derive(Clone, Copy, Debug)]
struct Wait {
    /// Nothing had been received within a turn: a timer, or the application, sent it.
    is_by_timer: bool,
    /// Something new had been acknowledged within a turn.
    is_by_ack: bool,
    /// This sender is seen to pace.
    is_paced: bool,
    /// It states its rate, which says how long a wait of its can be.
    is_stated: bool,
    /// Whose limit a pacer's wait is.
    pacer: Cause,
}

impl Wait {
    /// What of a wait of `length_us` no condition explains, short or long. Few log the pacer: what is known to wait although
    /// window and credit have room, and goes out by a timer, waits for it (RFC 9002, 7.7). After a pause the pacer has a
    /// burst to give (`paced_us` is none), so what waits then waits for the machine. Where it is not known whether data
    /// waited, a wait longer than the pacer's is the application's; but no application waits for an acknowledgement, so
    /// what goes out with one waited for a limit that the log does not name.
    fn unexplained(self, is_known: bool, paced_us: Option<u64>, length_us: u64) -> Gap {
        let limit_us = paced_us.filter(|paced| *paced > 0).map_or(0, |paced| tolerated(paced, self.is_by_timer));
        let is_the_pacers = is_known && (self.is_by_timer || self.is_paced) && paced_us.is_some();
        let is_turn = !self.is_by_timer && !self.is_paced && limit_us <= TURN_US.unsigned_abs();
        let short = if is_turn {
            Cause::Unattributed
        } else if is_the_pacers && length_us > limit_us && self.pacer == Cause::CwndBlocked {
            // Slower than a window a round trip.
            Cause::Pacing
        } else {
            self.pacer
        };
        let long = if is_known || self.is_by_ack { Cause::Unattributed } else { Cause::AppLimited };
        Gap {
            start_us: 0,
            end_us: 0,
            short,
            limit_us: if is_the_pacers && !self.is_stated { u64::MAX } else { limit_us },
            long,
        }
    }
}

impl Queue {
    /// Data waited behind other streams; gives the stretch before, when this one does not go on with it.
    fn was_behind(&mut self, start_us: i64, end_us: i64, seq: u64, rtt_us: i64) -> Option<Stretch> {
        match &mut self.behind {
            Some(stretch) if start_us.saturating_sub(stretch.end_us) <= rtt_us => {
                (stretch.end_us, stretch.last_seq) = (end_us, seq);
                stretch.count += 1;
                None
            }
            behind => behind.replace(Stretch { start_us, end_us, first_seq: seq, last_seq: seq, count: 1 }),
        }
    }
}
