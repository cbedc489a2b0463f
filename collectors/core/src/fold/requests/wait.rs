//! Why data of a stream that goes out now did not go out before: whose turn it was, what held the connection back, and
//! what of the wait neither explains.

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
    /// Nothing had been received within a turn: a timer, or the application, sent it.
    pub is_by_timer: bool,
    /// Something new had been acknowledged within a turn.
    pub is_by_ack: bool,
    /// It is seen to pace.
    pub is_paced: bool,
    /// It states its rate, which says how long a wait of its pacer can be.
    pub is_rate_stated: bool,
    /// Whose limit a pacer's wait is.
    pub pacer: Cause,
    /// Until when what had been sent before made the next packet wait.
    pub owed_until_us: i64,
    /// Data waits for a full window since.
    pub full_since_us: Option<i64>,
    /// The pacer is stated to have held everything back: from, to.
    pub paced: Option<(i64, i64)>,
    /// Nothing was on its way before.
    pub busy_since_us: i64,
}

impl Sender {
    /// The connection sent nothing since another stream's packet, for its pacer or for its window.
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
    /// It is known to have.
    pub is_known: bool,
    /// When another stream sent last.
    pub other_us: Option<i64>,
}

/// A wait with what explains it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Explained {
    /// It was others' turn: from, to.
    pub behind: Option<(i64, i64)>,
    /// What is left of it, in order; the first is there where others had its turn only after a while.
    pub gaps: [Option<Gap>; 2],
    /// From then on it was nobody's turn but this stream's.
    pub rest_from_us: i64,
    /// The application had nothing, for all that is known.
    pub is_idle: bool,
}

impl Explained {
    /// A long rest would be the application's.
    pub fn may_be_the_applications(&self) -> bool {
        self.gaps[1].is_some_and(|gap| gap.long == Cause::AppLimited)
    }
}

impl Wait {
    /// Whose turn it was, and what of the wait that leaves.
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

    /// When others sent last, if their packets came first and this stream's followed at once, or is known to have waited.
    fn passing(&self, sender: &Sender) -> Option<i64> {
        let other_us = self.other_us.filter(|other_us| *other_us > self.ready.since_us)?;
        let turn_us = sender.owed_until_us.max(other_us).saturating_add(TURN_US);
        (self.is_known || sender.now_us <= turn_us || sender.held_back(other_us)).then_some(other_us)
    }

    /// It was the turn of others, who sent last at `other_us`: from, to.
    fn behind(&self, sender: &Sender, other_us: i64) -> Option<(i64, i64)> {
        let Ready { since_us, passed_us, .. } = self.ready;
        // What held the connection back since then held this stream back as far as others had filled it.
        let end_us = if sender.held_back(other_us) {
            other_us.saturating_add_unsigned(self.ready.of_others(sender.now_us.abs_diff(other_us)))
        } else {
            other_us
        };
        let least_us = if self.is_known { i64::MIN } else { sender.busy_since_us };
        let start_us = passed_us.unwrap_or(since_us).max(least_us);
        (start_us < end_us).then_some((start_us, end_us))
    }

    /// What of the wait from `start_us` on no condition explains, short or long. Few log the pacer: what is known to wait
    /// although window and credit have room, and goes out by a timer, waits for it (RFC 9002, 7.7). After a pause the pacer has
    /// a burst to give, so what waits then waits for the machine. Where it is not known whether data waited, a wait longer
    /// than the pacer's is the application's; but no application waits for an acknowledgement, so what goes out with one
    /// waited for a limit that the log does not name.
    fn unexplained(&self, sender: &Sender, start_us: i64, other_us: Option<i64>) -> Gap {
        let length_us = sender.now_us.abs_diff(start_us);
        let others_went = self.other_us.is_some_and(|other| other >= self.ready.since_us);
        // What others sent meanwhile the pacer spreads too.
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
            // Slower than a window a round trip.
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

    /// What a rest of the wait is: short, up to so long, and long.
    fn rest(wait: Wait, sender: Sender) -> Option<(Cause, u64, Cause)> {
        wait.explain(&sender).gaps[1].map(|gap| (gap.short, gap.limit_us, gap.long))
    }

    #[test]
    fn it_was_others_turn_when_this_packet_follows_theirs_at_once_or_data_is_known_to_wait() {
        let follows = wait(10_000, false, Some(49_500)).explain(&SENDER);
        assert_eq!((follows.behind, follows.rest_from_us), (Some((10_000, 49_500)), 49_500));
        assert_eq!(wait(10_000, false, Some(40_000)).explain(&SENDER).behind, None);
        assert_eq!(wait(10_000, true, Some(40_000)).explain(&SENDER).behind, Some((10_000, 40_000)));
        assert_eq!(wait(10_000, true, Some(9_000)).explain(&SENDER).behind, None, "they went before it waited");
        let paced = Sender { owed_until_us: 49_500, ..SENDER };
        assert_eq!(wait(10_000, false, Some(40_000)).explain(&paced).behind, Some((10_000, 40_000)));
    }

    #[test]
    fn no_turn_is_older_than_the_connections_idle_moment_where_nobody_says_that_data_waited() {
        let sender = Sender { busy_since_us: 30_000, ..SENDER };
        let explained = wait(10_000, false, Some(49_500)).explain(&sender);
        assert_eq!(explained.behind, Some((30_000, 49_500)));
        let before = explained.gaps[0].map(|gap| (gap.start_us, gap.end_us));
        assert_eq!(before, Some((10_000, 49_500)));
        assert_eq!(wait(10_000, true, Some(49_500)).explain(&sender).behind, Some((10_000, 49_500)));
    }

    #[test]
    fn what_held_the_connection_back_is_others_as_far_as_they_had_filled_it() {
        let mut wait = wait(10_000, true, Some(20_000));
        (wait.ready.own, wait.ready.in_flight) = (1, 3);
        let full = Sender { full_since_us: Some(20_500), ..SENDER };
        assert_eq!(wait.explain(&full).behind, Some((10_000, 40_000)));
        let paced = Sender { paced: Some((20_000, 49_500)), ..SENDER };
        assert_eq!(wait.explain(&paced).behind, Some((10_000, 40_000)));
    }

    #[test]
    fn a_rest_is_the_pacers_the_applications_or_nobodys() {
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
