//! The exclusive split: each microsecond gets the first cause, in vocabulary order, that held.
//!
//! A sweep moves forward only and keeps sums, not intervals, so that a stream that stays open for hours costs no more
//! memory than one that is done at once (see [`Attribution`](crate::fold::attribution::Attribution)).

use crate::fold::attribution::history::{IntervalCounts, Shared, Together};
use crate::fold::cause::{CAUSES, Cause, Interval};
use serde::{Deserialize, Serialize};

/// Microseconds by [`Cause`].
pub type Parts = [u64; CAUSES];

/// From the moment data waited, as far as the log can tell, to the moment it went out. What no condition explains of
/// it is decided by its length, once its whole is known.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Gap {
    /// Ready since.
    pub start_us: i64,
    /// Sent.
    pub end_us: i64,
    /// What an unexplained rest is up to `limit_us`.
    pub short: Cause,
    /// Longest rest that a pacer explains.
    pub limit_us: u64,
    /// What a longer rest is.
    pub long: Cause,
}

/// Sums of a stream up to `at_us`.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Sweep {
    /// First microsecond that is not decided yet.
    at_us: Option<i64>,
    /// In a box of its own: of most streams that are open nothing is decided.
    sums: Option<Box<Sums>>,
    /// Time in which window, pacer or a late last acknowledgement decided after a loss or a silence.
    after_loss_us: u64,
    /// Loss recovery that began without a probe timeout.
    repair_us: u64,
    /// Since when data was lost, or nothing came back.
    lost_us: Option<i64>,
    /// The loss that is open was found by a probe timeout.
    is_linked: bool,
    /// Unexplained time of the gap that is open.
    rest_us: u64,
    /// Of `rest_us`, what lies beside records that are missing.
    rest_doubtful_us: u64,
}

/// Sums by cause.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
struct Sums {
    /// Exclusive parts.
    parts: Parts,
    /// Of `parts`, what the log states.
    stated: Parts,
    /// How long each condition held, whatever else held.
    overlapping: Parts,
    /// How long each condition held while none that would have held without it did.
    alone: Parts,
    /// Of `parts`, what lies beside records that are missing.
    doubtful: Parts,
}

/// Conditions of a sender that has data; while the application is known to have none they do not hold.
pub const fn waits_for_data(cause: Cause) -> bool {
    LASTING & bit(cause) == 0
}

/// An interval of this cause is no condition that anything waits for: a record is missing beside it, and any cause may have
/// held in it.
pub const DOUBT: Cause = Cause::Unattributed;

/// A cause in a set of them.
pub const fn bit(cause: Cause) -> u32 {
    1 << cause as u32
}

/// Nothing comes back, or what was lost is repaired.
pub const LOSS: u32 = bit(Cause::Pto) | bit(Cause::LossRecovery);
/// Conditions that may hold whether data waits or not.
pub const LASTING: u32 = bit(Cause::Handshake)
    | bit(Cause::Upload)
    | bit(Cause::ServerThink)
    | LOSS
    | bit(Cause::Queueing)
    | bit(Cause::Network)
    | bit(Cause::RemoteWait)
    | bit(Cause::Receiving)
    | bit(Cause::ReceiverHol)
    | bit(Cause::Unattributed);
const CREDIT: u32 = bit(Cause::ConnectionFlowControl) | bit(Cause::StreamFlowControl) | bit(Cause::StreamLimit);
const WINDOW: u32 = bit(Cause::CwndBlocked) | bit(Cause::Bandwidth);

/// The conditions that would have stopped the request anyway, had `cause` been absent. A full window, used-up credit
/// and a waiting pacer follow from a loss (nothing was acknowledged, nothing was read), so they do not stand against it.
fn would_remain(cause: Cause) -> u32 {
    match cause {
        Cause::Pto | Cause::LossRecovery => bit(Cause::AppLimited),
        Cause::Amplification => LOSS | bit(Cause::AppLimited),
        Cause::ConnectionFlowControl | Cause::StreamFlowControl | Cause::StreamLimit => {
            LOSS | WINDOW | bit(Cause::AppLimited) | bit(Cause::Amplification) | CREDIT & !bit(cause)
        }
        Cause::Scheduling | Cause::Bandwidth | Cause::CwndBlocked | Cause::Pacing => {
            LOSS | CREDIT | bit(Cause::AppLimited) | bit(Cause::Amplification)
        }
        Cause::AppLimited | Cause::Queueing | Cause::Network | Cause::Receiving | Cause::ReceiverHol => LOSS,
        Cause::Handshake | Cause::Upload | Cause::ServerThink | Cause::RemoteWait | Cause::Unattributed => 0,
    }
}

#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum SweepEdge {
    GapEnds(usize),
    /// Beside the cause: whether the log states it.
    Ends(Cause, bool),
    Starts(Cause, bool),
    GapStarts(usize),
}

impl Sweep {
    fn sums(&mut self) -> &mut Sums {
        self.sums.get_or_insert_default()
    }

    fn sum(&self, of: impl Fn(&Sums) -> &Parts, cause: Cause) -> u64 {
        self.sums.as_ref().map_or(0, |sums| of(sums)[cause as usize])
    }

    /// Begins at `us`, unless it has begun.
    pub fn begin(&mut self, us: i64) {
        self.at_us.get_or_insert(us);
    }

    /// It has begun.
    pub fn has_begun(&self) -> bool {
        self.at_us.is_some()
    }

    /// First microsecond that is not decided yet.
    pub fn at_us(&self) -> i64 {
        self.at_us.unwrap_or(0)
    }

    /// Time that one cause has for itself, before the sweep begins or after it.
    pub fn add(&mut self, cause: Cause, us: u64) {
        let sums = self.sums();
        for of_cause in [&mut sums.parts, &mut sums.overlapping, &mut sums.alone] {
            of_cause[cause as usize] += us;
        }
    }

    /// Time that nobody can attribute.
    pub fn leave(&mut self, us: u64) {
        self.sums().parts[Cause::Unattributed as usize] += us;
    }

    /// Takes out what nobody could attribute so far.
    pub fn take_left(&mut self) -> u64 {
        self.sums.as_mut().map_or(0, |sums| std::mem::take(&mut sums.parts[Cause::Unattributed as usize]))
    }

    /// The part of a cause, exclusive.
    pub fn part(&self, cause: Cause) -> u64 {
        self.sum(|sums| &sums.parts, cause)
    }

    /// Of a cause's part, what the log states.
    pub fn stated(&self, cause: Cause) -> u64 {
        self.sum(|sums| &sums.stated, cause)
    }

    /// Time outside of the sweep for which the log states its cause.
    pub fn add_stated(&mut self, cause: Cause, us: u64) {
        self.add(cause, us);
        self.sums().stated[cause as usize] += us;
    }

    /// How long a condition held, whatever else held.
    pub fn overlapping(&self, cause: Cause) -> u64 {
        self.sum(|sums| &sums.overlapping, cause)
    }

    /// How long a condition held while none that would have held without it did.
    pub fn alone(&self, cause: Cause) -> u64 {
        self.sum(|sums| &sums.alone, cause)
    }

    /// Time in which window, pacer or a late last acknowledgement decided after a loss or a silence.
    pub fn after_loss_us(&self) -> u64 {
        self.after_loss_us
    }

    /// Loss recovery that began without a probe timeout.
    pub fn repair_us(&self) -> u64 {
        self.repair_us
    }

    /// Since when data was lost, or nothing came back.
    pub fn lost_us(&self) -> Option<i64> {
        self.lost_us
    }

    /// Of a cause's part, what lies beside records that are missing.
    pub fn doubtful(&self, cause: Cause) -> u64 {
        self.sum(|sums| &sums.doubtful, cause)
    }

    /// So much of a cause's part, before the sweep begins, does.
    pub fn doubt(&mut self, cause: Cause, us: u64) {
        if us > 0 {
            self.sums().doubtful[cause as usize] += us;
        }
    }

    /// Goes on to `to_us`; takes out of `held` and `gaps` what lies before it, and looks at what is `shared`. Gaps must be
    /// whole: none may reach beyond `to_us` and come again. Gives the steps that it took.
    pub fn advance(&mut self, to_us: i64, held: &mut Vec<Interval>, gaps: &mut Vec<Gap>, shared: Shared<'_>) -> u64 {
        let Some(from) = self.at_us.filter(|from| *from < to_us) else { return 0 };
        let mut edges: Vec<(i64, SweepEdge)> = Vec::with_capacity((held.len() + shared.fresh.len() + gaps.len()) * 2);
        for interval in held.iter().chain(shared.fresh) {
            let (start, end) = (interval.start_us.max(from), interval.end_us.min(to_us));
            if start < end {
                edges.push((start, SweepEdge::Starts(interval.cause, interval.is_stated)));
                edges.push((end, SweepEdge::Ends(interval.cause, interval.is_stated)));
            }
        }
        for (at, gap) in gaps.iter().enumerate() {
            let (start, end) = (gap.start_us.max(from), gap.end_us.min(to_us));
            if start < end {
                edges.push((start, SweepEdge::GapStarts(at)));
                edges.push((end, SweepEdge::GapEnds(at)));
            }
        }
        edges.sort_unstable();
        let mut steps = (held.len() + shared.fresh.len() + gaps.len()) as u64;
        let (mut own, mut gap, mut at) = (IntervalCounts::default(), None, from);
        for (time, edge) in edges {
            steps += self.go_on((at, time), own.together(), gap.is_some(), shared);
            at = time;
            match edge {
                SweepEdge::Starts(cause, is_stated) => own.start(cause, is_stated),
                SweepEdge::Ends(cause, is_stated) => own.end(cause, is_stated),
                SweepEdge::GapStarts(index) => gap = Some(index),
                SweepEdge::GapEnds(index) => {
                    if let Some(gap) = gaps.get(index) {
                        self.close_gap(gap);
                    }
                    gap = None;
                }
            }
        }
        steps += self.go_on((at, to_us), own.together(), gap.is_some(), shared);
        self.at_us = Some(to_us);
        held.retain(|interval| interval.end_us > to_us);
        gaps.retain(|gap| gap.end_us > to_us);
        steps
    }

    /// From `at_us` to `to_us` the same conditions of its own hold, beside what is shared. Gives the steps that it took.
    fn go_on(&mut self, (at_us, to_us): (i64, i64), own: Together, in_gap: bool, shared: Shared<'_>) -> u64 {
        if at_us >= to_us {
            return 0;
        }
        let is_link_open = own.all & LOSS == bit(Cause::LossRecovery) && !self.is_linked;
        let is_order_open = is_link_open || (own.all & LOSS == 0 && self.lost_us.is_none());
        shared.pass((at_us, to_us), own, is_order_open, |at_us, us, together| self.pass(at_us, us, together, in_gap))
    }

    /// From `at_us` on `us` pass in which these conditions hold: all, and those of them that the log states.
    fn pass(&mut self, at_us: i64, us: u64, Together { all, stated }: Together, in_gap: bool) {
        if us == 0 {
            return;
        }
        let is_doubtful = all & bit(DOUBT) != 0;
        let mut mask = all & !bit(DOUBT);
        for cause in Cause::ALL.into_iter().filter(|cause| mask & bit(*cause) != 0) {
            self.sums().overlapping[cause as usize] += us;
        }
        if stated != 0 {
            // Of what data waits for, what the log states outranks what is inferred.
            let is_inferred = |cause: &Cause| waits_for_data(*cause) && stated & bit(*cause) == 0;
            Cause::ALL.into_iter().filter(is_inferred).for_each(|cause| mask &= !bit(cause));
        }
        if mask & bit(Cause::AppLimited) != 0 {
            // The application is known to have had nothing: whatever else was full, no data waited for it.
            mask &= LOSS | bit(Cause::AppLimited);
        }
        if mask & LOSS != 0 {
            self.lost_us.get_or_insert(at_us);
        }
        self.is_linked = mask & bit(Cause::LossRecovery) != 0 && (self.is_linked || mask & bit(Cause::Pto) != 0);
        for cause in Cause::ALL {
            let linked = cause == Cause::Pto && self.is_linked;
            if (mask & bit(cause) != 0 || linked) && mask & would_remain(cause) == 0 {
                self.sums().alone[cause as usize] += us;
            }
        }
        match Cause::ALL.into_iter().find(|cause| mask & bit(*cause) != 0) {
            Some(cause) => {
                let sums = self.sums();
                sums.parts[cause as usize] += us;
                if stated & bit(cause) != 0 {
                    sums.stated[cause as usize] += us;
                }
                if cause == Cause::LossRecovery && !self.is_linked {
                    self.repair_us += us;
                }
                if self.lost_us.is_some() && matches!(cause, Cause::CwndBlocked | Cause::Queueing) {
                    self.after_loss_us += us;
                }
            }
            None if in_gap => {
                self.rest_us += us;
                self.rest_doubtful_us += if is_doubtful { us } else { 0 };
                return;
            }
            None => self.sums().parts[Cause::Unattributed as usize] += us,
        }
        if is_doubtful {
            let cause = Cause::ALL.into_iter().find(|cause| mask & bit(*cause) != 0).unwrap_or(Cause::Unattributed);
            self.sums().doubtful[cause as usize] += us;
        }
    }

    fn close_gap(&mut self, gap: &Gap) {
        let rest = std::mem::take(&mut self.rest_us);
        let cause = if rest <= gap.limit_us { gap.short } else { gap.long };
        let doubtful = std::mem::take(&mut self.rest_doubtful_us);
        let sums = self.sums();
        sums.parts[cause as usize] += rest;
        sums.doubtful[cause as usize] += doubtful;
        if cause != Cause::Unattributed {
            sums.overlapping[cause as usize] += rest;
            sums.alone[cause as usize] += rest;
        }
        if self.lost_us.is_some() && cause == Cause::Pacing {
            self.after_loss_us += rest;
        }
    }
}
