//! How far a request's split can be trusted: its grade, and bounds of each part.
//!
//! In the time between the records before and after a missing one, any cause may have held: that time is doubtful. The
//! time of a part outside of it is certain, and the part can be larger by all of the doubtful time at most. In a log
//! with missing records, unattributed time is not certain either, as a missing record may have explained it.

use crate::fold::attribution::parts::Marks;
use crate::fold::attribution::sweep::{Sweep, waits_for_data};
use crate::fold::cause::Cause;
use crate::record::columns::streams::{self, Streams};
use crate::record::rows::Row;
use get_size2::GetSize;
use serde::{Deserialize, Serialize};

/// How inexact a request's start and end are.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, GetSize)]
pub struct Slack {
    /// By how much it may have begun earlier.
    pub earlier_us: u64,
    /// By how much it may have ended later.
    pub later_us: u64,
    /// By how much it may have ended sooner.
    pub sooner_us: u64,
    /// One of its marks, or some of its data, comes from a missing record.
    pub is_imputed: bool,
    /// The log's clock made a step while it was open: no time of it is sure.
    pub has_clock_step: bool,
}

/// Least and most that a part can be, us.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[expect(missing_docs, reason = "a pair")]
pub struct PartBounds {
    pub low: u64,
    pub high: u64,
}

/// The parts of a request, with their doubtful time.
#[derive(Clone, Copy, Debug)]
pub struct Trust<'s> {
    sweep: &'s Sweep,
    doubtful_us: u64,
    duration_us: u64,
    slack: Slack,
}

impl<'s> Trust<'s> {
    /// Of a request that was swept.
    pub fn of(sweep: &'s Sweep, marks: &Marks, slack: Slack) -> Self {
        let doubtful_us = Cause::ALL.into_iter().fold(0u64, |sum, cause| sum.saturating_add(sweep.doubtful(cause)));
        Self { sweep, doubtful_us, duration_us: marks.duration_us(), slack }
    }

    /// Something of it is missing or uncertain.
    fn is_hurt(&self) -> bool {
        self.doubtful_us > 0 || self.slack_us() > 0 || self.slack.is_imputed
    }

    /// Unattributed time outside of doubtful time; in a damaged request any part may have it.
    fn unexplained_us(&self) -> u64 {
        let cause = Cause::Unattributed;
        if self.is_hurt() { self.sweep.part(cause).saturating_sub(self.sweep.doubtful(cause)) } else { 0 }
    }

    fn slack_us(&self) -> u64 {
        self.slack.earlier_us.saturating_add(self.slack.later_us).saturating_add(self.slack.sooner_us)
    }

    /// `whole`: nothing is missing. `repaired`: the same part is the largest whatever happened in the doubtful time,
    /// and the duration is off by a twentieth at most. `damaged`: otherwise.
    pub fn grade(&self) -> &'static str {
        if self.slack.has_clock_step {
            return "damaged";
        }
        if !self.is_hurt() {
            return "whole";
        }
        let top = Cause::ALL.into_iter().rev().max_by_key(|cause| self.sweep.part(*cause));
        let least = top.map_or(0, |top| self.bound(top).low);
        let is_sure = Cause::ALL.into_iter().all(|cause| Some(cause) == top || self.bound(cause).high <= least);
        if is_sure && self.slack_us().saturating_mul(20) <= self.duration_us { "repaired" } else { "damaged" }
    }

    /// Its columns of a stream's row.
    pub fn write(&self, row: &mut Row<Streams>) {
        row.set(streams::GRADE, self.grade());
        row.set(streams::IMPUTED_US, self.doubtful_us);
        row.set(streams::BOUNDS_LOW, self.bounds(|bound| bound.low));
        row.set(streams::BOUNDS_HIGH, self.bounds(|bound| bound.high));
    }

    fn bound(&self, cause: Cause) -> PartBounds {
        let (part, doubtful) = (self.sweep.part(cause), self.sweep.doubtful(cause));
        let more = match cause {
            Cause::Handshake | Cause::Upload | Cause::ServerThink => self.slack.earlier_us,
            Cause::Queueing | Cause::Network | Cause::LossRecovery | Cause::Pto => self.slack.later_us,
            Cause::Unattributed => self.slack_us(),
            _ => 0,
        };
        // Causes that may hold in doubtful time: those of waiting data, and those that a missing record may have shown.
        // The limit of streams is never inferred, so it has no doubtful time.
        let may_have_more = (waits_for_data(cause) && cause != Cause::StreamLimit)
            || part > 0
            || matches!(cause, Cause::Pto | Cause::LossRecovery | Cause::Queueing | Cause::Unattributed);
        let others = if may_have_more { self.doubtful_us - doubtful } else { 0 };
        let (less, unexplained) = match cause {
            Cause::Unattributed => (self.unexplained_us(), 0),
            _ if may_have_more => (0, self.unexplained_us()),
            _ => (0, 0),
        };
        PartBounds {
            low: part.saturating_sub(doubtful).saturating_sub(less),
            high: part.saturating_add(others).saturating_add(more).saturating_add(unexplained),
        }
    }

    /// One side of the bounds of all parts that are not known exactly, and of the duration, by name.
    pub fn bounds(&self, side: impl Fn(PartBounds) -> u64) -> Vec<(String, u64)> {
        let Slack { earlier_us, later_us, sooner_us, .. } = self.slack;
        let duration = PartBounds {
            low: self.duration_us.saturating_sub(sooner_us),
            high: self.duration_us.saturating_add(earlier_us).saturating_add(later_us),
        };
        let parts = Cause::ALL.into_iter().map(|cause| (cause.name(), self.bound(cause)));
        let all = parts.chain([("duration", duration)]).filter(|(_, bound)| bound.low < bound.high);
        all.map(|(name, bound)| (name.to_owned(), side(bound))).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sweep(parts: &[(Cause, u64, u64)]) -> Sweep {
        let mut sweep = Sweep::default();
        for (cause, part, doubtful) in parts {
            sweep.add(*cause, *part);
            sweep.doubt(*cause, *doubtful);
        }
        sweep
    }

    fn grade(parts: &[(Cause, u64, u64)], slack: Slack) -> &'static str {
        let sweep = sweep(parts);
        let end_us = parts.iter().map(|(_, part, _)| *part as i64).sum();
        Trust::of(&sweep, &Marks { end_us, ..Marks::default() }, slack).grade()
    }

    #[test]
    fn a_grade_is_whole_while_nothing_is_missing() {
        assert_eq!(grade(&[(Cause::CwndBlocked, 500, 0), (Cause::Network, 500, 0)], Slack::default()), "whole");
        assert_eq!(grade(&[], Slack::default()), "whole");
    }

    #[test]
    fn it_is_repaired_while_the_doubtful_time_cannot_make_another_part_the_largest() {
        let parts = |us| [(Cause::CwndBlocked, 600, us), (Cause::Network, 400, 0)];
        assert_eq!(grade(&parts(100), Slack::default()), "repaired");
        assert_eq!(grade(&parts(101), Slack::default()), "damaged");
        let slack = |later_us| Slack { later_us, ..Slack::default() };
        assert_eq!(grade(&parts(0), slack(50)), "repaired");
        assert_eq!(grade(&parts(0), slack(51)), "damaged");
        assert_eq!(grade(&parts(0), Slack { is_imputed: true, ..Slack::default() }), "repaired");
    }

    #[test]
    fn unattributed_time_may_belong_to_any_part_if_records_are_missing() {
        let bounds = |doubtful| {
            let sweep = sweep(&[(Cause::CwndBlocked, 600, doubtful), (Cause::Unattributed, 400, 0)]);
            let trust = Trust::of(&sweep, &Marks { end_us: 1000, ..Marks::default() }, Slack::default());
            [Cause::CwndBlocked, Cause::Unattributed, Cause::Pto, Cause::Receiving].map(|cause| {
                let PartBounds { low, high } = trust.bound(cause);
                (low, high)
            })
        };
        assert_eq!(bounds(0), [(600, 600), (400, 400), (0, 0), (0, 0)], "nothing is missing");
        assert_eq!(bounds(100), [(500, 1000), (0, 500), (0, 500), (0, 0)]);
    }

    #[test]
    fn bounds_hold_all_that_may_have_happened_in_doubtful_time() {
        let sweep = sweep(&[(Cause::CwndBlocked, 600, 100), (Cause::Network, 300, 20), (Cause::ServerThink, 100, 0)]);
        let marks = Marks { end_us: 1000, ..Marks::default() };
        let trust = Trust::of(&sweep, &marks, Slack { earlier_us: 7, ..Slack::default() });
        assert_eq!(trust.doubtful_us, 120);
        let (low, high) = (trust.bounds(|bound| bound.low), trust.bounds(|bound| bound.high));
        let of = |list: &[(String, u64)], name: &str| list.iter().find(|(known, _)| known == name).map(|(_, us)| *us);
        for (name, bound) in [
            ("cwnd_blocked", Some((500, 620))),
            ("network", Some((280, 400))),
            ("server_think", Some((100, 227))),
            ("loss_recovery", Some((0, 120))),
            ("upload", Some((0, 7))),
            ("receiving", None),
            ("duration", Some((1000, 1007))),
        ] {
            assert_eq!(of(&low, name).zip(of(&high, name)), bound, "{name}");
        }
    }
}
