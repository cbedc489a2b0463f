//! The exclusive split: each microsecond gets the first cause, in vocabulary order, that held.
//!
//! A sweep moves forward only and keeps sums, not intervals, so that a stream that stays open for hours costs no more
//! memory than one that is done at once (see [`Attribution`](crate::fold::attribution::Attribution)).

use crate::fold::attribution::history::{IntervalCounts, Shared, Together};
use crate::fold::cause::{CAUSES, Cause, Interval};
use get_size2::GetSize;
use serde::{Deserialize, Serialize};

/// Microseconds by [`Cause`].
pub type Parts = [u64; CAUSES];

/// The time from when data waited, as far as the log shows, until it was sent. The part of it that no condition
/// explains is attributed by its length, once the whole gap is known.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, GetSize)]
pub struct Gap {
    /// Ready since.
    pub start_us: i64,
    /// Sent.
    pub end_us: i64,
    /// Cause of an unexplained rest up to `limit_us`.
    pub short: Cause,
    /// Longest rest that a pacer explains.
    pub limit_us: u64,
    /// Cause of a longer rest.
    pub long: Cause,
}

/// Sums of a stream up to `at_us`.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, GetSize)]
pub struct Sweep {
    /// First microsecond that is not decided yet.
    at_us: Option<i64>,
    /// Boxed, as nothing is decided yet for most open streams.
    sums: Option<Box<Sums>>,
    /// Time of window, pacer or a late last acknowledgement after a loss or a probe timeout.
    after_loss_us: u64,
    /// Loss recovery that began without a probe timeout.
    repair_us: u64,
    /// When a loss or a probe timeout first held.
    lost_us: Option<i64>,
    /// The loss that is open was found by a probe timeout.
    is_linked: bool,
    /// Unexplained time of the gap that is open.
    rest_us: u64,
    /// Part of `rest_us` beside missing records.
    rest_doubtful_us: u64,
}

/// Sums by cause.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, GetSize)]
struct Sums {
    /// Exclusive parts.
    parts: Parts,
    /// The share of `parts` that the log states.
    stated: Parts,
    /// How long each condition held, whatever else held.
    overlapping: Parts,
    /// How long each condition held while no condition held that would have held without it too.
    alone: Parts,
    /// The share of `parts` beside missing records.
    doubtful: Parts,
}

/// Conditions of a sender that has data; while the application is known to have none they do not hold.
pub const fn waits_for_data(cause: Cause) -> bool {
    LASTING & bit(cause) == 0
}

/// An interval of this cause is not a condition: it lies beside missing records, and any cause may have held in it.
pub const DOUBT: Cause = Cause::Unattributed;

/// The bit of a cause in a set of causes.
pub const fn bit(cause: Cause) -> u32 {
    1 << cause as u32
}

/// Probe timeouts, and repairs of losses.
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

/// The conditions that would have stopped the request even if `cause` had been absent. A full window, used-up credit
/// and a waiting pacer follow from a loss (nothing was acknowledged or read), so they do not count for a loss.
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
    /// The cause, and whether the log states it.
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

    /// Adds time of one cause alone, outside of the sweep.
    pub fn add(&mut self, cause: Cause, us: u64) {
        let sums = self.sums();
        for of_cause in [&mut sums.parts, &mut sums.overlapping, &mut sums.alone] {
            of_cause[cause as usize] += us;
        }
    }

    /// Adds time that cannot be attributed.
    pub fn leave(&mut self, us: u64) {
        self.sums().parts[Cause::Unattributed as usize] += us;
    }

    /// Takes out the unattributed time so far.
    pub fn take_left(&mut self) -> u64 {
        self.sums.as_mut().map_or(0, |sums| std::mem::take(&mut sums.parts[Cause::Unattributed as usize]))
    }

    /// The part of a cause, exclusive.
    pub fn part(&self, cause: Cause) -> u64 {
        self.sum(|sums| &sums.parts, cause)
    }

    /// The share of a cause's part that the log states.
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

    /// How long a condition held while no condition held that would have held without it too.
    pub fn alone(&self, cause: Cause) -> u64 {
        self.sum(|sums| &sums.alone, cause)
    }

    /// Time of window, pacer or a late last acknowledgement after a loss or a probe timeout.
    pub fn after_loss_us(&self) -> u64 {
        self.after_loss_us
    }

    /// Loss recovery that began without a probe timeout.
    pub fn repair_us(&self) -> u64 {
        self.repair_us
    }

    /// When a loss or a probe timeout first held.
    pub fn lost_us(&self) -> Option<i64> {
        self.lost_us
    }

    /// The share of a cause's part beside missing records.
    pub fn doubtful(&self, cause: Cause) -> u64 {
        self.sum(|sums| &sums.doubtful, cause)
    }

    /// Adds time beside missing records to a cause's part before the sweep.
    pub fn doubt(&mut self, cause: Cause, us: u64) {
        if us > 0 {
            self.sums().doubtful[cause as usize] += us;
        }
    }

    /// Advances to `to_us`: removes from `held` and `gaps` what ends before it, and looks at what is `shared`. No gap
    /// may reach beyond `to_us`, unless this is the last call. Gives the steps that it took.
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

    /// From `at_us` to `to_us` the request's own conditions do not change; adds the shared ones. Gives the steps that
    /// it took.
    fn go_on(&mut self, (at_us, to_us): (i64, i64), own: Together, in_gap: bool, shared: Shared<'_>) -> u64 {
        if at_us >= to_us {
            return 0;
        }
        let is_link_open = own.all & LOSS == bit(Cause::LossRecovery) && !self.is_linked;
        let is_order_open = is_link_open || (own.all & LOSS == 0 && self.lost_us.is_none());
        shared.pass((at_us, to_us), own, is_order_open, |at_us, us, together| self.pass(at_us, us, together, in_gap))
    }

    /// These conditions hold for `us` from `at_us` on.
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
            // A stated condition of waiting data takes precedence over inferred ones.
            let is_inferred = |cause: &Cause| waits_for_data(*cause) && stated & bit(*cause) == 0;
            Cause::ALL.into_iter().filter(is_inferred).for_each(|cause| mask &= !bit(cause));
        }
        if mask & bit(Cause::AppLimited) != 0 {
            // The application is known to have had no data, so no data waited for window, credit or pacer.
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
