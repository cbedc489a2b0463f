//! What the open traces of a process hold, so that each can leave room for the others.
//!
//! What one may take depends on what is free, so that however large some are, something is left for those that come after
//! them (Choudhury and Hahne, Dynamic Queue Length Thresholds, 1998). [`limits`] has the sums.

use crate::limits;
use std::iter::Sum;
use std::ops::Add;

/// Bytes that one trace holds, or several.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct TraceMemory {
    /// States of open connections, as they were counted last.
    pub states: usize,
    /// Records that wait for older ones.
    pub held: usize,
    /// Records that decide what a trace is.
    pub prelude: usize,
}

impl TraceMemory {
    /// How much more the states of one trace that takes `own` may take beside this, for connections that begin.
    pub fn states_left(&self, own: usize) -> usize {
        self.left(own, limits::STATE_BYTES, limits::STATES_BYTES)
    }

    /// The same for connections that go on: something is left for those that begin.
    pub fn states_left_to_grow(&self, own: usize) -> usize {
        self.left(own, limits::STATE_TO_GROW, limits::STATES_TO_GROW)
    }

    /// A trace may take twice as much as is free, and no more than `of_one`.
    fn left(&self, own: usize, of_one: usize, of_all: usize) -> usize {
        let free = of_all.saturating_sub(self.states).saturating_sub(own);
        of_one.min(2 * free).saturating_sub(own)
    }

    /// As many bytes of records as may wait in one trace beside this.
    pub fn held_left(&self) -> usize {
        limits::HELD_BYTES.saturating_sub(self.held)
    }

    /// Records that decide what a trace is leave too little for those of one more.
    pub fn has_no_prelude_left(&self) -> bool {
        self.prelude > limits::PRELUDES_BYTES - limits::PRELUDE_BYTES
    }

    /// Without a part of it.
    #[must_use]
    pub fn without(self, part: Self) -> Self {
        Self {
            states: self.states.saturating_sub(part.states),
            held: self.held.saturating_sub(part.held),
            prelude: self.prelude.saturating_sub(part.prelude),
        }
    }
}

impl Add for TraceMemory {
    type Output = Self;

    fn add(self, other: Self) -> Self {
        Self {
            states: self.states.saturating_add(other.states),
            held: self.held.saturating_add(other.held),
            prelude: self.prelude.saturating_add(other.prelude),
        }
    }
}

impl Sum for TraceMemory {
    fn sum<I: Iterator<Item = Self>>(all: I) -> Self {
        all.fold(Self::default(), Add::add)
    }
}
