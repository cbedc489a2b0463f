//! What the open traces of a process hold, so that each can leave room for the others.
//!
//! Each may take as much as is free, so that a few large ones leave as much as each has for those that come after them
//! (Choudhury and Hahne, Dynamic Queue Length Thresholds, 1998). What is free depends on all of them: [`limits`] has the
//! sums.

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
    /// As much as the states of one trace may take beside this, to begin connections.
    pub fn states_left(&self) -> usize {
        limits::STATE_BYTES.min(limits::STATES_BYTES.saturating_sub(self.states))
    }

    /// As much as the states of one trace may take beside this, to go on with connections.
    pub fn states_left_to_grow(&self) -> usize {
        limits::STATE_TO_GROW.min(limits::STATES_TO_GROW.saturating_sub(self.states))
    }

    /// As many bytes of records as may wait in one trace beside this.
    pub fn held_left(&self) -> usize {
        limits::HELD_BYTES.saturating_sub(self.held)
    }

    /// As many bytes of records as may decide one trace beside this.
    pub fn preludes_left(&self) -> usize {
        limits::PRELUDES_BYTES.saturating_sub(self.prelude)
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
