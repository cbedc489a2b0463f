//! What a connection waited for, in order of time, kept once for all its requests.
//!
//! Each request waits for the conditions of its connection and for some of its own. A copy of the connection's
//! conditions for each request would need memory in proportion to requests times conditions. Here they are runs of time
//! in which the same conditions hold, with prefix sums: a request without conditions of its own skips any number of
//! runs in a few steps.

use crate::fold::attribution::sweep::{DOUBT, LASTING, LOSS, bit};
use crate::fold::cause::{CAUSES, Cause, Interval};
use crate::limits::UNDECIDED;
use get_size2::GetSize;
use serde::{Deserialize, Serialize};
use std::collections::VecDeque;

/// Conditions that hold at one time, as bits.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, GetSize)]
pub struct Together {
    /// All.
    pub all: u32,
    /// Those of them that the log states.
    pub stated: u32,
}

impl Together {
    /// The union of both.
    pub fn and(self, other: Self) -> Self {
        Self { all: self.all | other.all, stated: self.stated | other.stated }
    }

    fn only(self, causes: u32) -> Self {
        Self { all: self.all & causes, stated: self.stated & causes }
    }
}

/// How many intervals of each cause hold.
#[derive(Default)]
pub struct IntervalCounts {
    all: [u32; CAUSES],
    stated: [u32; CAUSES],
    together: Together,
}

impl IntervalCounts {
    /// One begins.
    pub fn start(&mut self, cause: Cause, is_stated: bool) {
        self.all[cause as usize] += 1;
        self.together.all |= bit(cause);
        if is_stated {
            self.stated[cause as usize] += 1;
            self.together.stated |= bit(cause);
        }
    }

    /// One ends.
    pub fn end(&mut self, cause: Cause, is_stated: bool) {
        self.all[cause as usize] -= 1;
        if self.all[cause as usize] == 0 {
            self.together.all &= !bit(cause);
        }
        if is_stated {
            self.stated[cause as usize] -= 1;
            if self.stated[cause as usize] == 0 {
                self.together.stated &= !bit(cause);
            }
        }
    }

    /// What holds.
    pub fn together(&self) -> Together {
        self.together
    }
}

/// Number of runs of one block.
const BLOCK: usize = 64;

/// Distinct sets of conditions that are kept: a connection has about ten.
const SETS: usize = 256;

/// Times beside missing records that are kept as intervals, for requests whose response had not begun.
const DOUBTS: usize = 4096;

/// From its start to that of the next one the same conditions hold.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, GetSize)]
struct ConditionRun {
    start_us: i64,
    /// Which, by their place in `sets`.
    set: u32,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, GetSize)]
struct Block {
    runs: Vec<ConditionRun>,
    /// How long each set held before it.
    before: Vec<u64>,
    /// How long a loss or probe timeout held before it.
    lost_before: u64,
    /// All conditions of its runs.
    any: u32,
}

impl Block {
    fn start_us(&self) -> i64 {
        self.runs.first().map_or(i64::MAX, |run| run.start_us)
    }
}

/// Conditions of a connection up to `until_us`; no condition that is added later begins before that.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, GetSize)]
pub struct History {
    sets: Vec<Together>,
    blocks: VecDeque<Block>,
    /// How long each set held before the newest run.
    held: Vec<u64>,
    lost: u64,
    runs: usize,
    /// First microsecond that is not in it.
    until_us: Option<i64>,
    /// Times beside missing records, by their ends.
    doubts: VecDeque<Interval>,
}

impl History {
    /// First microsecond that is not in it.
    pub fn until_us(&self) -> Option<i64> {
        self.until_us
    }

    /// Runs that are kept.
    pub fn runs(&self) -> usize {
        self.runs
    }

    /// It is longer than its limits allow.
    pub fn is_too_long(&self) -> bool {
        self.runs > 2 * UNDECIDED || self.sets.len() > SETS
    }

    /// Moves what lies before `to_us` from `conditions` into the history.
    pub fn append(&mut self, conditions: &mut Vec<Interval>, to_us: i64) {
        let from_us = self.until_us.or_else(|| conditions.iter().map(|interval| interval.start_us).min());
        let Some(from_us) = from_us.filter(|from_us| *from_us < to_us) else { return };
        let mut edges: Vec<(i64, bool, Cause, bool)> = Vec::with_capacity(2 * conditions.len());
        for interval in &*conditions {
            let (start, end) = (interval.start_us.max(from_us), interval.end_us.min(to_us));
            if start < end {
                edges.push((start, true, interval.cause, interval.is_stated));
                edges.push((end, false, interval.cause, interval.is_stated));
            }
        }
        edges.sort_unstable_by_key(|(time, ..)| *time);
        // The order of starts and ends of one time does not matter: no interval is shorter than a microsecond.
        let (mut counts, mut at) = (IntervalCounts::default(), from_us);
        for (time, starts, cause, is_stated) in edges {
            if at < time {
                self.push(at, counts.together());
                at = time;
            }
            if starts {
                counts.start(cause, is_stated);
            } else {
                counts.end(cause, is_stated);
            }
        }
        if at < to_us {
            self.push(at, counts.together());
        }
        self.until_us = Some(to_us);
        let mut doubts: Vec<Interval> = Vec::new();
        conditions.retain(|interval| {
            let goes_on = interval.end_us > to_us;
            if !goes_on && interval.cause == DOUBT {
                doubts.push(*interval);
            }
            goes_on
        });
        doubts.sort_by_key(|doubt| doubt.end_us);
        self.doubts.extend(doubts);
        while self.doubts.len() > DOUBTS {
            self.doubts.pop_front();
        }
    }

    fn push(&mut self, start_us: i64, together: Together) {
        let newest = self.blocks.back().and_then(|block| block.runs.last()).copied();
        if newest.is_some_and(|newest| self.sets[newest.set as usize] == together) {
            return;
        }
        if let Some(newest) = newest {
            let us = start_us.abs_diff(newest.start_us);
            self.held[newest.set as usize] += us;
            self.lost += if self.sets[newest.set as usize].all & LOSS == 0 { 0 } else { us };
        }
        let set = self.sets.iter().position(|known| *known == together).unwrap_or_else(|| {
            self.sets.push(together);
            self.held.push(0);
            self.sets.len() - 1
        });
        if self.blocks.back().is_none_or(|block| block.runs.len() >= BLOCK) {
            let runs = Vec::with_capacity(BLOCK);
            self.blocks.push_back(Block { runs, before: self.held.clone(), lost_before: self.lost, any: 0 });
        }
        if let Some(block) = self.blocks.back_mut() {
            block.any |= together.all;
            block.runs.push(ConditionRun { start_us, set: set as u32 });
            self.runs += 1;
        }
    }

    /// Forgets runs that end before `us`, and doubts that end before `doubts_us`.
    pub fn forget(&mut self, us: i64, doubts_us: i64) {
        while self.blocks.get(1).is_some_and(|next| next.start_us() <= us)
            && let Some(gone) = self.blocks.pop_front()
        {
            self.runs -= gone.runs.len();
        }
        while self.doubts.front().is_some_and(|doubt| doubt.end_us <= doubts_us) {
            self.doubts.pop_front();
        }
    }

    /// Forgets all runs.
    pub fn forget_runs(&mut self) {
        let (until_us, doubts) = (self.until_us, std::mem::take(&mut self.doubts));
        *self = Self { until_us, doubts, ..Self::default() };
    }

    /// Times beside missing records that end after `us`.
    pub fn doubts_after(&self, us: i64) -> impl Iterator<Item = &Interval> {
        self.doubts.range(self.doubts.partition_point(|doubt| doubt.end_us <= us)..)
    }

    /// When the first run begins that is kept, and the last one ends.
    pub fn extent(&self) -> Option<(i64, i64)> {
        Some((self.blocks.front()?.start_us(), self.until_us?))
    }

    fn block_of(&self, us: i64) -> usize {
        self.blocks.partition_point(|block| block.start_us() <= us).saturating_sub(1)
    }

    /// Runs of one block: start, end and what holds.
    fn runs_of(&self, at: usize) -> impl Iterator<Item = (i64, i64, Together)> + '_ {
        let next_us = self.blocks.get(at + 1).map(Block::start_us).or(self.until_us).unwrap_or(i64::MAX);
        let runs = self.blocks.get(at).map_or(&[][..], |block| &block.runs);
        let ends = runs.iter().skip(1).map(|run| run.start_us).chain([next_us]);
        runs.iter().zip(ends).map(|(run, end_us)| (run.start_us, end_us, self.sets[run.set as usize]))
    }

    /// Runs within `[from_us, to_us)`.
    fn runs_within(&self, from_us: i64, to_us: i64) -> impl Iterator<Item = (i64, i64, Together)> + '_ {
        let blocks = self.block_of(from_us)..=self.block_of(to_us);
        let all = blocks.flat_map(|at| self.runs_of(at));
        let cut = move |(start, end, together): (i64, i64, Together)| (start.max(from_us), end.min(to_us), together);
        all.map(cut).filter(|(start, end, _)| start < end)
    }

    /// Calls `hold` with start, length and conditions of what held within `[from_us, to_us)`, in any order. Adds the
    /// steps that it took to `steps`.
    pub fn within(&self, from_us: i64, to_us: i64, steps: &mut u64, mut hold: impl FnMut(i64, u64, Together)) {
        let (first, last) = (self.block_of(from_us), self.block_of(to_us));
        if last <= first + 1 {
            for (start_us, end_us, together) in self.runs_within(from_us, to_us) {
                *steps += 1;
                hold(start_us, end_us.abs_diff(start_us), together);
            }
            return;
        }
        let mut sums = vec![0u64; self.sets.len()];
        self.add(to_us, last, &mut sums, u64::wrapping_add);
        self.add(from_us, first, &mut sums, u64::wrapping_sub);
        *steps += self.sets.len() as u64 + 2;
        for (us, together) in sums.into_iter().zip(&self.sets).filter(|(us, _)| *us > 0) {
            hold(from_us, us, *together);
        }
    }

    /// Adds to `sums`, by `add`, how long each set held before `us`, which is in block `at`.
    fn add(&self, us: i64, at: usize, sums: &mut [u64], add: impl Fn(u64, u64) -> u64) {
        let Some(block) = self.blocks.get(at) else { return };
        for (sum, before) in sums.iter_mut().zip(&block.before) {
            *sum = add(*sum, *before);
        }
        let ends = block.runs.iter().skip(1).map(|run| run.start_us).chain([i64::MAX]);
        for (run, end_us) in block.runs.iter().zip(ends).take_while(|(run, _)| run.start_us < us) {
            let sum = &mut sums[run.set as usize];
            *sum = add(*sum, end_us.min(us).abs_diff(run.start_us));
        }
    }

    /// The first run within `[from_us, to_us)` in which a loss or probe timeout held.
    pub fn first_lost(&self, from_us: i64, to_us: i64) -> Option<(i64, i64, Together)> {
        let at = self.block_of(from_us);
        let is_lost = |(_, end_us, together): &(i64, i64, Together)| *end_us > from_us && together.all & LOSS != 0;
        let found = self.runs_of(at).find(is_lost).or_else(|| {
            let lost = self.blocks.get(at + 1)?.lost_before;
            let after = self.blocks.partition_point(|block| block.lost_before <= lost);
            self.runs_of(after.saturating_sub(1).max(at + 1)).find(is_lost)
        })?;
        let (start_us, end_us, together) = found;
        Some((start_us.max(from_us), end_us.min(to_us), together)).filter(|(start_us, ..)| *start_us < to_us)
    }

    /// Intervals of `[from_us, to_us)`; `None` if they are more than `most`. Conditions of waiting data end at
    /// `data_until_us`.
    pub fn intervals(&self, from_us: i64, to_us: i64, data_until_us: i64, most: usize) -> Option<Vec<Interval>> {
        let (mut list, mut open) = (Vec::new(), Vec::<(Interval, u32)>::new());
        let mut go_on = |start_us: i64, together: Together| {
            open.retain(|(interval, bit)| {
                let mask = if interval.is_stated { together.stated } else { together.all & !together.stated };
                let goes_on = mask & bit != 0;
                if !goes_on {
                    list.push(Interval { end_us: start_us, ..*interval });
                }
                goes_on
            });
            for cause in Cause::ALL.into_iter().filter(|cause| together.all & bit(*cause) != 0) {
                let is_stated = together.stated & bit(cause) != 0;
                if !open.iter().any(|(known, _)| known.cause == cause && known.is_stated == is_stated) {
                    open.push((Interval { cause, start_us, end_us: to_us, is_stated }, bit(cause)));
                }
            }
            list.len() + open.len() <= most
        };
        let (from_us, data_until_us) = (from_us.max(self.extent()?.0), data_until_us.max(from_us));
        let mut is_idle = false;
        for at in self.block_of(from_us)..self.blocks.len() {
            let block = &self.blocks[at];
            if block.start_us() >= to_us {
                break;
            }
            // Most blocks have only conditions of waiting data.
            if block.start_us() >= data_until_us && block.any & LASTING == 0 {
                if !is_idle && !go_on(block.start_us(), Together::default()) {
                    return None;
                }
                is_idle = true;
                continue;
            }
            is_idle = false;
            for (start_us, end_us, together) in self.runs_of(at) {
                let (start_us, end_us) = (start_us.max(from_us), end_us.min(to_us));
                if start_us >= end_us {
                    continue;
                }
                if start_us < data_until_us && !go_on(start_us, together) {
                    return None;
                }
                if end_us > data_until_us && !go_on(start_us.max(data_until_us), together.only(LASTING)) {
                    return None;
                }
            }
        }
        let end_us = to_us.min(self.until_us?);
        list.extend(open.into_iter().map(|(interval, _)| Interval { end_us, ..interval }));
        Some(list)
    }
}

/// The conditions of a connection that count for one request.
#[derive(Clone, Copy, Debug)]
pub struct Shared<'h> {
    /// Conditions in the history.
    pub history: Option<&'h History>,
    /// Conditions that are not in the history yet.
    pub fresh: &'h [Interval],
    /// The history before this time does not count: it is before the request, or among its own intervals already.
    pub since_us: i64,
    /// From this time on the request has no data that waits.
    pub data_until_us: i64,
}

impl Default for Shared<'_> {
    fn default() -> Self {
        Self { history: None, fresh: &[], since_us: i64::MIN, data_until_us: i64::MAX }
    }
}

impl<'h> Shared<'h> {
    /// Times beside missing records that end after `us`.
    pub fn doubts_after(self, us: i64) -> impl Iterator<Item = &'h Interval> {
        let old = self.history.into_iter().flat_map(move |history| history.doubts_after(us));
        old.chain(self.fresh.iter().filter(move |interval| interval.cause == DOUBT && interval.end_us > us))
    }

    /// Calls `pass` with first microsecond, length and conditions (with `own`) of each part of `[from_us, to_us)`.
    /// Gives the steps that it took.
    ///
    /// Parts come in any order. Their order matters only for two results: the first time of a loss or timeout, and
    /// whether a timeout found a loss. Where one of these is not decided yet (`is_order_open`), the first run with a
    /// loss or timeout decides it and comes in order (the repair of a loss is no condition of a connection).
    pub fn pass(
        self,
        (from_us, to_us): (i64, i64),
        own: Together,
        is_order_open: bool,
        mut pass: impl FnMut(i64, u64, Together),
    ) -> u64 {
        let mut steps = 1;
        let extent = self.history.and_then(|history| Some((history, history.extent()?)));
        let Some((history, (start_us, until_us))) = extent else {
            pass(from_us, to_us.abs_diff(from_us), own);
            return steps;
        };
        let begin_us = start_us.max(self.since_us).clamp(from_us, to_us);
        let end_us = until_us.clamp(begin_us, to_us);
        pass(from_us, begin_us.abs_diff(from_us), own);
        let data_until_us = self.data_until_us.clamp(begin_us, end_us);
        let mut is_order_open = is_order_open;
        for (from_us, to_us, causes) in [(begin_us, data_until_us, u32::MAX), (data_until_us, end_us, LASTING)] {
            if from_us >= to_us {
                continue;
            }
            let mut hold = |start_us, us, together: Together| pass(start_us, us, own.and(together.only(causes)));
            let lost = if is_order_open { history.first_lost(from_us, to_us) } else { None };
            let (mut at_us, to_lost_us) = (from_us, lost.map_or(to_us, |(start_us, ..)| start_us));
            if at_us < to_lost_us {
                history.within(at_us, to_lost_us, &mut steps, &mut hold);
            }
            if let Some((start_us, lost_until_us, together)) = lost {
                hold(start_us, lost_until_us.abs_diff(start_us), together);
                (at_us, is_order_open) = (lost_until_us, false);
                if at_us < to_us {
                    history.within(at_us, to_us, &mut steps, &mut hold);
                }
            }
        }
        pass(end_us, to_us.abs_diff(end_us), own);
        steps
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::chance;
    use crate::fold::attribution::sweep::{Gap, Sweep};

    fn random() -> impl FnMut(i64) -> i64 {
        let mut next = chance::numbers(3);
        move |below| next(below.unsigned_abs()).cast_signed()
    }

    const OF_CONNECTION: [Cause; 6] =
        [Cause::CwndBlocked, Cause::Bandwidth, Cause::Pacing, Cause::Pto, Cause::ConnectionFlowControl, DOUBT];
    const OF_REQUEST: [Cause; 5] =
        [Cause::LossRecovery, Cause::Scheduling, Cause::Pto, Cause::AppLimited, Cause::StreamFlowControl];

    fn intervals(next: &mut impl FnMut(i64) -> i64, causes: &[Cause], count: i64, longest: i64) -> Vec<Interval> {
        let mut one = || {
            let (start_us, cause) = (next(6_000), causes[next(causes.len() as i64) as usize]);
            let interval = Interval::of(cause, start_us, start_us + 1 + next(longest));
            if next(4) == 0 { interval.stated() } else { interval }
        };
        (0..count).map(|_| one()).collect()
    }

    /// A request's parts are the same whether the connection's conditions are copied or shared, and whenever they are
    /// settled.
    #[test]
    fn a_sweep_over_shared_history_is_a_sweep_over_copies() {
        let mut next = random();
        let mut lost = 0;
        for round in 0..400 {
            let conditions = intervals(&mut next, &OF_CONNECTION, 5 + round, 60);
            let own = intervals(&mut next, &OF_REQUEST, 6, 900);
            let gaps: Vec<Gap> = (0..3)
                .map(|number| 500 + 1_800 * number)
                .map(|start_us| Gap {
                    start_us,
                    end_us: start_us + 1 + next(900),
                    short: Cause::Pacing,
                    limit_us: 300,
                    long: Cause::AppLimited,
                })
                .collect();
            let (begin, end) = (next(1_000), 5_000 + next(1_500));
            let mut plain = Sweep::default();
            plain.begin(begin);
            let mut all: Vec<Interval> = conditions.iter().chain(&own).copied().collect();
            plain.advance(end, &mut all, &mut gaps.clone(), Shared::default());

            let (mut history, mut fresh) = (History::default(), conditions);
            let mut sweep = Sweep::default();
            sweep.begin(begin);
            let (mut held, mut gaps, mut at) = (own, gaps, 0);
            while at < end {
                at += 1 + next(2_500);
                history.append(&mut fresh, at.min(end));
                let to = gaps.iter().find(|gap| gap.start_us < at && at < gap.end_us).map_or(at, |gap| gap.start_us);
                if next(3) > 0 && to < end {
                    let shared = Shared { history: Some(&history), fresh: &fresh, ..Shared::default() };
                    sweep.advance(to, &mut held, &mut gaps, shared);
                }
                if next(3) == 0 {
                    history.forget(sweep.at_us(), at);
                }
            }
            let shared = Shared { history: Some(&history), fresh: &fresh, ..Shared::default() };
            sweep.advance(end, &mut held, &mut gaps, shared);
            assert_eq!(sweep, plain, "round {round}");
            lost += u64::from(sweep.lost_us().is_some());
        }
        assert!(lost > 200);
    }

    #[test]
    fn conditions_of_waiting_data_end_with_the_last_byte_and_own_intervals_are_not_shared() {
        let mut conditions = vec![Interval::of(Cause::CwndBlocked, 0, 100), Interval::of(Cause::Pto, 150, 200)];
        let mut history = History::default();
        history.append(&mut conditions, 300);
        let whole = Shared { history: Some(&history), ..Shared::default() };
        for (shared, wanted) in [
            (whole, [100, 50]),
            (Shared { data_until_us: 60, ..whole }, [60, 50]),
            (Shared { since_us: 40, ..whole }, [60, 50]),
            (Shared { since_us: 160, data_until_us: 60, ..whole }, [0, 40]),
        ] {
            let mut sweep = Sweep::default();
            sweep.begin(0);
            sweep.advance(250, &mut Vec::new(), &mut Vec::new(), shared);
            assert_eq!([Cause::CwndBlocked, Cause::Pto].map(|cause| sweep.part(cause)), wanted);
        }
    }

    /// Intervals that are extracted from a history give the same sums as the history.
    #[test]
    fn intervals_of_a_history_are_its_conditions() {
        let mut next = random();
        for round in 0..200 {
            let mut history = History::default();
            history.append(&mut intervals(&mut next, &OF_CONNECTION, 5 + round, 60), 6_000);
            let (from, to, last) = (next(3_000), 3_000 + next(4_000), next(6_000));
            let shared = Shared { history: Some(&history), data_until_us: last, ..Shared::default() };
            let mut taken = history.intervals(from, to, last, usize::MAX).unwrap_or_default();
            assert!(history.intervals(from, to, last, taken.len()).is_some_and(|list| list == taken));
            assert!(taken.is_empty() || history.intervals(from, to, last, taken.len() - 1).is_none());
            let [mut one, mut other] = [Sweep::default(), Sweep::default()];
            one.begin(from);
            other.begin(from);
            one.advance(to, &mut Vec::new(), &mut Vec::new(), shared);
            other.advance(to, &mut taken, &mut Vec::new(), Shared::default());
            assert_eq!(one, other, "round {round}");
        }
    }

    #[test]
    fn a_request_with_nothing_of_its_own_takes_few_steps_over_a_long_history() {
        let mut conditions: Vec<Interval> =
            (0..20_000).map(|number| Interval::of(Cause::CwndBlocked, 20 * number, 20 * number + 10)).collect();
        let mut history = History::default();
        history.append(&mut conditions, 400_000);
        let shared = Shared { history: Some(&history), ..Shared::default() };
        let mut sweep = Sweep::default();
        sweep.begin(0);
        let steps = sweep.advance(399_000, &mut Vec::new(), &mut Vec::new(), shared);
        assert_eq!(sweep.part(Cause::CwndBlocked), 199_500);
        assert!(steps < 10, "{steps}");
        assert_eq!(history.runs(), 40_000);
        history.forget(399_000, 399_000);
        assert!(history.runs() <= 2 * BLOCK + 64, "{}", history.runs());
    }
}
