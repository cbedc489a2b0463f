//! Why data of a stream that is sent now was not sent before: whose turn it was, what held the connection back, and
//! which part of the wait neither explains.

use crate::fold::TURN_US;
use crate::fold::attribution::sweep::Gap;
use crate::fold::cause::Cause;
use crate::fold::requests::queue::Ready;
use crate::fold::window::pacer::tolerated;

/// What is known of the sender as its data goes out.
#[derive(Clone, Copy, Debug)]
pub struct Sender {
    /// Now.
    pub now_us: i64,
    /// Nothing was received within the last [`TURN_US`]: a timer, or the application, sent it.
    pub is_by_timer: bool,
    /// Something new was acknowledged within the last [`TURN_US`].
    pub is_by_ack: bool,
    /// The log shows that it paces.
    pub is_paced: bool,
    /// The log states its pacing rate, which bounds a wait for the pacer.
    pub is_rate_stated: bool,
    /// The cause to which a wait for the pacer is attributed.
    pub pacer: Cause,
    /// Until when the pacer held the next packet back because of what was sent before.
    pub owed_until_us: i64,
    /// Since when data waits for a full window.
    pub full_since_us: Option<i64>,
    /// When the pacer held everything back, as the log states: from, to.
    pub paced: Option<(i64, i64)>,
    /// When something was sent last with nothing in flight before.
    pub busy_since_us: i64,
}

impl Sender {
    /// Since another stream's packet the connection sent nothing, because of its pacer or its window.
    fn held_back(&self, other_us: i64) -> bool {
        let by_pacer = self.paced.is_some_and(|(since, until)| {
            since <= other_us.saturating_add(TURN_US) && self.now_us <= until.saturating_add(TURN_US)
        });
        by_pacer || self.full_since_us.is_some_and(|full| full <= other_us.saturating_add(TURN_US))
    }
}

/// A stream's wait that is over.
#[derive(Clone, Copy, Debug)]
pub struct Wait {
    /// Data that waited.
    pub ready: Ready,
    /// The data is known to have waited.
    pub is_known: bool,
    /// When another stream sent last.
    pub other_us: Option<i64>,
}

/// A wait with what explains it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Explained {
    /// The time in which it was the turn of other streams: from, to.
    pub behind: Option<(i64, i64)>,
    /// The rest of the wait, in order. The first gap exists where the turn of others began only after a while.
    pub gaps: [Option<Gap>; 2],
    /// From then on it was this stream's turn.
    pub rest_from_us: i64,
    /// The application had no data, as far as is known.
    pub is_idle: bool,
}

impl Explained {
    /// If the rest is long, it is attributed to the application.
    pub fn may_be_the_applications(&self) -> bool {
        self.gaps[1].is_some_and(|gap| gap.long == Cause::AppLimited)
    }
}

impl Wait {
    /// Splits the wait into the turn of others and the rest.
    pub fn explain(self, sender: &Sender) -> Explained {
        let other_us = self.passing(sender);
        let behind = other_us.and_then(|other_us| self.behind(sender, other_us));
        let since_us = self.ready.since_us;
        let rest_from_us = behind.map_or(since_us, |(_, end_us)| end_us);
        let gap = self.unexplained(sender, rest_from_us, other_us);
        let rest = Gap { start_us: rest_from_us, end_us: sender.now_us, ..gap };
        let before = behind.filter(|(start_us, _)| since_us < *start_us);
        let is_long = sender.now_us.abs_diff(rest_from_us) > gap.limit_us;
        Explained {
            behind,
            gaps: [before.map(|(_, end_us)| Gap { start_us: since_us, end_us, ..gap }), Some(rest)],
            rest_from_us,
            is_idle: gap.long == Cause::AppLimited && is_long && sender.full_since_us.is_none(),
        }
    }

    /// When others sent last during the wait, if this stream's packet followed at once or its data is known to have
    /// waited.
    fn passing(&self, sender: &Sender) -> Option<i64> {
        let other_us = self.other_us.filter(|other_us| *other_us > self.ready.since_us)?;
        let turn_us = sender.owed_until_us.max(other_us).saturating_add(TURN_US);
        (self.is_known || sender.now_us <= turn_us || sender.held_back(other_us)).then_some(other_us)
    }

    /// When it was the turn of other streams, which sent last at `other_us`: from, to.
    fn behind(&self, sender: &Sender, other_us: i64) -> Option<(i64, i64)> {
        let Ready { since_us, passed_us, .. } = self.ready;
        // If pacer or window held the connection back since then, others caused that in proportion to their bytes in
        // flight.
        let end_us = if sender.held_back(other_us) {
            other_us.saturating_add_unsigned(self.ready.of_others(sender.now_us.abs_diff(other_us)))
        } else {
            other_us
        };
        let least_us = if self.is_known { i64::MIN } else { sender.busy_since_us };
        let start_us = passed_us.unwrap_or(since_us).max(least_us);
        (start_us < end_us).then_some((start_us, end_us))
    }

    /// The causes of the part of the wait from `start_us` on that no condition explains, if that is short and if it is
    /// long. Few stacks log the pacer. Data that is known to wait although window and credit have room, and is sent by
    /// a timer, waits for the pacer (RFC 9002, 7.7). After a pause the pacer allows a burst, so data that waits then
    /// waits for the machine. Where it is not known whether data waited, a wait longer than the pacer's is the
    /// application's. But no application waits for an acknowledgement, so data that is sent with one waited for a limit
    /// that the log does not show.
    fn unexplained(&self, sender: &Sender, start_us: i64, other_us: Option<i64>) -> Gap {
        let length_us = sender.now_us.abs_diff(start_us);
        let others_went = self.other_us.is_some_and(|other| other >= self.ready.since_us);
        // The pacer also spreads what others sent meanwhile.
        let last_us = other_us.unwrap_or(start_us).max(start_us);
        let owed_us = sender.owed_until_us.saturating_sub(last_us).max(0).unsigned_abs();
        let paced_us = if others_went { self.ready.paced_us.max(owed_us) } else { self.ready.paced_us };
        let may_pace = paced_us > 0 || others_went;
        let limit_us = if paced_us > 0 { tolerated(paced_us, sender.is_by_timer) } else { 0 };
        let is_the_pacers = self.is_known && (sender.is_by_timer || sender.is_paced) && may_pace;
        let is_turn = !sender.is_by_timer && !sender.is_paced && limit_us <= TURN_US.unsigned_abs();
        let short = if is_turn {
            Cause::Unattributed
        } else if is_the_pacers && length_us > limit_us && sender.pacer == Cause::CwndBlocked {
            // The pacer is slower than one window per round trip.
            Cause::Pacing
        } else {
            sender.pacer
        };
        let long = if self.is_known || sender.is_by_ack { Cause::Unattributed } else { Cause::AppLimited };
        let limit_us = if is_the_pacers && !sender.is_rate_stated { u64::MAX } else { limit_us };
        Gap { start_us: 0, end_us: 0, short, limit_us, long }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// By a timer, in a log that shows neither pacer nor window.
    const SENDER: Sender = Sender {
        now_us: 50_000,
        is_by_timer: true,
        is_by_ack: false,
        is_paced: false,
        is_rate_stated: false,
        pacer: Cause::Pacing,
        owed_until_us: 0,
        full_since_us: None,
        paced: None,
        busy_since_us: 0,
    };

    const fn wait(since_us: i64, is_known: bool, other_us: Option<i64>) -> Wait {
        let ready = Ready { since_us, paced_us: 0, passed_us: None, own: 0, in_flight: 0 };
        Wait { ready, is_known, other_us }
    }

    /// Causes of the rest of the wait: if it is short, the limit of that, and if it is long.
    fn rest(wait: Wait, sender: Sender) -> Option<(Cause, u64, Cause)> {
        wait.explain(&sender).gaps[1].map(|gap| (gap.short, gap.limit_us, gap.long))
    }

    #[test]
    fn a_wait_is_behind_others_if_the_packet_follows_theirs_at_once_or_data_is_known_to_wait() {
        let follows = wait(10_000, false, Some(49_500)).explain(&SENDER);
        assert_eq!((follows.behind, follows.rest_from_us), (Some((10_000, 49_500)), 49_500));
        assert_eq!(wait(10_000, false, Some(40_000)).explain(&SENDER).behind, None);
        assert_eq!(wait(10_000, true, Some(40_000)).explain(&SENDER).behind, Some((10_000, 40_000)));
        assert_eq!(wait(10_000, true, Some(9_000)).explain(&SENDER).behind, None, "they went before it waited");
        let paced = Sender { owed_until_us: 49_500, ..SENDER };
        assert_eq!(wait(10_000, false, Some(40_000)).explain(&paced).behind, Some((10_000, 40_000)));
    }

    #[test]
    fn no_turn_begins_before_the_connection_was_idle_unless_data_is_known_to_have_waited() {
        let sender = Sender { busy_since_us: 30_000, ..SENDER };
        let explained = wait(10_000, false, Some(49_500)).explain(&sender);
        assert_eq!(explained.behind, Some((30_000, 49_500)));
        let before = explained.gaps[0].map(|gap| (gap.start_us, gap.end_us));
        assert_eq!(before, Some((10_000, 49_500)));
        assert_eq!(wait(10_000, true, Some(49_500)).explain(&sender).behind, Some((10_000, 49_500)));
    }

    #[test]
    fn others_account_for_a_full_window_in_proportion_to_their_bytes_in_flight() {
        let mut wait = wait(10_000, true, Some(20_000));
        (wait.ready.own, wait.ready.in_flight) = (1, 3);
        let full = Sender { full_since_us: Some(20_500), ..SENDER };
        assert_eq!(wait.explain(&full).behind, Some((10_000, 40_000)));
        let paced = Sender { paced: Some((20_000, 49_500)), ..SENDER };
        assert_eq!(wait.explain(&paced).behind, Some((10_000, 40_000)));
    }

    #[test]
    fn the_rest_is_attributed_to_the_pacer_the_application_or_nothing() {
        let mut known = wait(10_000, true, None);
        assert_eq!(rest(known, SENDER), Some((Cause::Pacing, 0, Cause::Unattributed)));
        known.ready.paced_us = 8_000;
        assert_eq!(rest(known, SENDER), Some((Cause::Pacing, u64::MAX, Cause::Unattributed)));
        let stated = Sender { is_rate_stated: true, ..SENDER };
        assert_eq!(rest(known, stated), Some((Cause::Pacing, 10_000, Cause::Unattributed)));
        let windows = Sender { pacer: Cause::CwndBlocked, ..stated };
        assert_eq!(rest(known, windows), Some((Cause::Pacing, 10_000, Cause::Unattributed)), "slower than the window");
        let unknown = wait(10_000, false, None);
        assert!(unknown.explain(&SENDER).is_idle && unknown.explain(&SENDER).may_be_the_applications());
        assert!(!unknown.explain(&Sender { full_since_us: Some(1), ..SENDER }).is_idle);
        let acked = Sender { is_by_timer: false, is_by_ack: true, ..SENDER };
        assert_eq!(rest(unknown, acked), Some((Cause::Unattributed, 0, Cause::Unattributed)));
    }
}
