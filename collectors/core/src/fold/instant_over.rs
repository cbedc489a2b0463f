//! The end of an instant: the fold's types are queried and updated with each other's results.

use crate::fold::attribution::Certain;
use crate::fold::attribution::sweep::DOUBT;
use crate::fold::blocked::Blocked;
use crate::fold::cause::{Cause, Interval};
use crate::fold::connection::capability::Sight;
use crate::fold::episode::Episode;
use crate::fold::instant::Instant;
use crate::fold::moment::Moment;
use crate::fold::requests::queue::Stretch;
use crate::fold::requests::wait::Sender;
use crate::fold::window::pacer::{PacingDelay, Spread};
use crate::fold::{Fold, TURN_US};

impl Fold {
    /// The current time is over.
    pub(super) fn close_instant(&mut self) {
        self.window.begin_sending();
        self.look_for_clock_step(self.now.us);
        self.delivery.settle(self.now.us, self.recovery.rtt().has_queue());
        self.depart();
        let has_opened = self.window.settle_in_flight(self.instant.traffic());
        self.instant.note_room(has_opened);
        let instant = std::mem::take(&mut self.instant);
        if instant.has_news() {
            self.confirm();
        }
        // How long the packets before this instant made the pacer wait.
        let owed = self.pacer.owed();
        let (now_us, bytes) = (self.now.us, instant.bytes());
        if bytes > 0 {
            if self.window.in_flight() <= bytes && !self.recovery.is_by_ack(now_us) {
                self.end_idle();
            }
            self.close_pacing();
            self.pacer.send(now_us, bytes, self.spread());
        }
        for (id, seq) in instant.senders() {
            self.data_went_out(*id, *seq, owed);
        }
        self.pass_others(&instant);
        self.last_senders.note(instant.carried(), now_us);
        self.watch_window(instant.has_news_and_room());
        self.watch_credit(instant.has_news());
        self.watch_amplification(instant.has_news());
        if bytes > 0 && !self.requests.is_hungry() {
            self.delivery.no_data_waits(self.window.in_flight());
        }
        self.instant = instant.next();
    }

    /// Something is sent, nothing was in flight, and no acknowledgement had just made room. So the connection had been
    /// idle, and no stream's turn began before this.
    fn end_idle(&mut self) {
        let round_trips_us = self.recovery.rtt().smoothed_us().unwrap_or(0).saturating_mul(2);
        if self.recovery.probe().idle_us(self.now.us) > round_trips_us {
            self.delivery.restart();
        }
        self.window.begin_busy(self.now.us);
    }

    /// New data of a stream was sent, first with `seq`: finds out why it was not sent earlier, and whether more of it
    /// waits.
    fn data_went_out(&mut self, id: u64, seq: u64, owed: PacingDelay) {
        let (now, in_flight) = (self.now, self.window.in_flight());
        let paced_us = self.pacer.owed_us(now.us);
        let is_bottleneck = self.path_is_bottleneck();
        let sender = self.sender(owed.until_us);
        let other_us = self.last_senders.other_than(id);
        let smoothed_us = self.recovery.rtt().smoothed_us().unwrap_or(0);
        let Some(stream) = self.requests.get_mut(id) else { return };
        let was_known = stream.queue().is_known();
        if sender.is_by_timer && !was_known && owed.may_have_held(now.us) {
            stream.goes_on_as_paced(now.us, owed);
        }
        let (mut over, mut is_idle) = (None, false);
        if let Some(explained) = stream.explain(&sender, other_us, in_flight) {
            if let Some((start_us, end_us)) = explained.behind {
                over = stream.queue_mut().was_behind(start_us, end_us, seq, smoothed_us);
            }
            if is_bottleneck && explained.rest_from_us < now.us {
                stream.measure(self.delivery.rate());
            }
            if was_known && sender.is_by_timer {
                self.pacer.sent_by_timer();
            }
            is_idle = explained.is_idle;
        }
        stream.went_out(Moment { us: now.us, seq });
        if stream.is_hungry() {
            self.requests.wait(id, now.us, paced_us);
        }
        self.requests.note_hunger(id);
        if self.requests.is_long(id) {
            let certain = self.certain();
            self.requests.sum_up_one(id, &mut self.attribution, certain);
        }
        if let Some(stretch) = over {
            self.behind(id, &stretch);
        }
        if is_idle {
            self.delivery.no_data_waits(in_flight);
        }
    }

    /// The sender as its data goes out.
    fn sender(&self, owed_until_us: i64) -> Sender {
        let now_us = self.now.us;
        Sender {
            now_us,
            is_by_timer: self.traffic.received_us().is_none_or(|received| now_us.saturating_sub(received) > TURN_US),
            is_by_ack: self.recovery.is_by_ack(now_us),
            is_paced: self.pacer.is_evident(),
            is_rate_stated: self.pacer.is_stated(),
            pacer: self.cause_of_pacing(),
            owed_until_us,
            full_since_us: self.window.full_since().map(|since| since.us),
            paced: self.pacer.held_back(),
            busy_since_us: self.window.busy_since_us(),
        }
    }

    /// Window and round trip that a pacer without a stated rate spreads.
    fn spread(&self) -> Spread {
        Spread { window: self.window.size(), rtt_us: self.recovery.rtt().smoothed_us().unwrap_or(0).unsigned_abs() }
    }

    /// The cause to which a wait for the pacer is attributed.
    pub(super) fn cause_of_pacing(&self) -> Cause {
        if self.path_is_bottleneck() {
            Cause::Bandwidth
        } else if self.pacer.is_the_windows(self.spread()) {
            Cause::CwndBlocked
        } else {
            Cause::Pacing
        }
    }

    /// A larger window would not have helped: the round trip has grown by more than a quarter, the delivery rate has
    /// stopped growing or equals the path's, or the congestion controller has found the path's rate.
    pub(super) fn path_is_bottleneck(&self) -> bool {
        self.recovery.rtt().has_queue() || self.delivery.has_stopped_growing() || self.delivery.is_at_path_rate()
    }

    /// Data waited for the pacer until now, if its timer ran.
    pub(super) fn close_pacing(&mut self) {
        if let Some((start_us, end_us)) = self.pacer.end_timer(self.now.us)
            && self.requests.is_hungry()
        {
            self.hold(Interval::of(self.cause_of_pacing(), start_us, end_us));
        }
    }

    /// Some streams sent: the other waiting streams were passed. The turn of the senders began one pacing interval
    /// before now. A window that acknowledgements open evenly over a round trip gives the same interval.
    fn pass_others(&mut self, instant: &Instant) {
        if instant.is_idle() || !self.requests.is_any_unpassed() {
            return;
        }
        let paced_us = self.pacer.interval_us(instant.bytes(), self.spread());
        let began_us = self.now.us.saturating_sub_unsigned(paced_us);
        let has_rate = self.pacer.is_stated() || self.window.size().is_some();
        let has_sent = |id| instant.carried().contains(id);
        self.requests.pass(has_sent, began_us, self.window.in_flight(), has_rate);
    }

    /// A stretch behind other streams is over.
    pub(super) fn behind(&mut self, id: u64, stretch: &Stretch) {
        let since = Moment { us: stretch.start_us, seq: stretch.first_seq };
        self.episode(Episode {
            last_seq: Some(stretch.last_seq),
            count: stretch.count,
            ..Episode::of(Cause::Scheduling.name(), since, stretch.end_us).on(id)
        });
    }

    /// Is there still room in the window? `has_opened`: it opened, and new data went out.
    fn watch_window(&mut self, has_opened: bool) {
        let Some(is_full) = self.window.is_full(self.trace.frameless) else { return };
        if has_opened || !is_full {
            // There is room, or the window opened and was filled again in one instant.
            if let Some(since) = self.window.end_wait() {
                self.was_blocked(Cause::CwndBlocked, None, since);
                if has_opened {
                    self.confirm();
                }
            }
        }
        if !is_full || !self.requests.is_hungry() {
            self.window.end_wait();
        } else if !self.recovery.probe().is_running() {
            self.window.begin_wait(self.now);
        }
    }

    /// Is there credit left?
    fn watch_credit(&mut self, has_news: bool) {
        if let Some(since) = self.credit.end_wait(has_news) {
            self.was_blocked(Cause::ConnectionFlowControl, None, since);
            if has_news {
                self.confirm();
            }
        }
        if self.requests.is_hungry() {
            self.credit.begin_wait(self.now);
        }
    }

    /// May a server send to an address that is not validated?
    fn watch_amplification(&mut self, has_news: bool) {
        let is_limiting = self.is_server()
            && self.seen.has(Sight::PacketSizes)
            && self.amplification.is_limiting(self.window.largest_packet());
        if let Some(since) = self.amplification.watch(is_limiting, self.requests.is_hungry(), self.now) {
            self.was_blocked(Cause::Amplification, None, since);
            if has_news {
                self.confirm();
            }
        }
    }

    /// A time without room is over; later records show whether data waited for it.
    pub(super) fn was_blocked(&mut self, cause: Cause, stream_id: Option<u64>, since: Moment) {
        if since.us >= self.now.us {
            return;
        }
        self.undecided.add(Blocked {
            cause,
            stream_id,
            since,
            until: self.now,
            window: self.window.size(),
            in_flight: self.window.in_flight(),
            is_known: self.requests.is_known_to_wait_since(stream_id, since.us),
        });
    }

    /// New data is sent: it waited for all conditions that have just ended.
    fn confirm(&mut self) {
        for blocked in self.undecided.confirm() {
            self.decide(&blocked, true);
        }
    }

    /// Time advances to `to_us`: times without room that no data followed were no waits, unless data is known to have
    /// waited. A pacer may delay the data that an acknowledgement allowed.
    pub(super) fn settle(&mut self, to_us: i64) {
        if self.undecided.is_empty() {
            return;
        }
        let packet = self.window.largest_packet();
        let paced_us = if self.pacer.has_sent() { self.pacer.interval_us(packet, self.spread()) } else { 0 };
        let limit_us = TURN_US.saturating_add_unsigned(paced_us);
        while let Some(blocked) = self.undecided.expire(to_us, limit_us) {
            self.decide(&blocked, blocked.is_known);
        }
    }

    fn decide(&mut self, blocked: &Blocked, is_confirmed: bool) {
        let cause = match blocked.cause {
            // The window was full because the path was the bottleneck.
            Cause::CwndBlocked if self.path_is_bottleneck() => Cause::Bandwidth,
            cause => cause,
        };
        if cause == Cause::Bandwidth {
            self.requests.measure_hungry(self.delivery.rate());
        }
        let interval = blocked.interval(cause);
        match blocked.stream_id {
            _ if !is_confirmed => {}
            None => self.hold(interval),
            Some(id) => {
                if let Some(stream) = self.requests.get_mut(id) {
                    stream.timeline_mut().hold(interval);
                    stream.timeline_mut().infer(blocked.cause);
                }
            }
        }
        self.episode(Episode {
            stream_id: blocked.stream_id.map_or(-1, u64::cast_signed),
            last_seq: Some(blocked.until.seq),
            confirmed: is_confirmed,
            bytes: blocked.in_flight,
            congestion_window: blocked.window,
            ..Episode::of(cause.name(), blocked.since, blocked.until.us)
        });
    }

    /// A condition of the connection held; requests that are open may have waited for it.
    pub(super) fn hold(&mut self, interval: Interval) {
        // A client's request is split by its arrivals: conditions of sending are no part of it.
        let is_part = !self.is_client() || interval.cause == DOUBT;
        if is_part && self.requests.is_any() && self.attribution.hold(interval, self.requests.len()) {
            self.sum_up();
        }
    }

    /// Sums up what no later event can change, so that the memory of a stream that stays open is bounded.
    fn sum_up(&mut self) {
        let certain = self.certain();
        self.requests.sum_up(&mut self.attribution, certain);
    }

    /// Nothing comes any more: all is certain.
    pub(super) fn settle_conditions(&mut self) {
        let certain = Certain { us: self.now.us, ..self.certain() };
        self.attribution.settle(certain, self.requests.len());
    }

    fn certain(&mut self) -> Certain {
        let waits = [self.window.full_since(), self.credit.blocked_since(), self.amplification.since()];
        let waits = waits.into_iter().flatten().map(|since| since.us).chain(self.stated_waits.since_us());
        let begun = waits.chain(self.undecided.oldest_us()).chain(self.recovery.probe().since_us());
        // After the clock went back, the current time may be before the start of a wait.
        let begun_us = begun.fold(self.now.us, i64::min);
        let us = self.recovery.certain_us().map_or(begun_us, |us| us.min(begun_us));
        Certain { us, begun_us, now_us: self.now.us, is_client: self.is_client() }
    }
}
