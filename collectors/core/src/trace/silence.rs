//! A silence within which the log's clock may have been set forward: packets of ours were on their way, and the log states
//! round trips, which a stack measures by a clock that makes no steps.
//!
//! The records behind it wait until the instant of the first acknowledgement is over. Where the round trip that the times
//! give is longer than the stated one, by no more than the silence, the clock was set forward by the difference, and all
//! times from then on are earlier by it.

use crate::event::{Event, Number};
use crate::fold::{Fold, Overdue};
use crate::trace::order::Held;
use std::collections::VecDeque;

/// So many records wait at most. The first acknowledgement is usually the first of them.
const MOST: usize = 64;

/// What the records behind the silence tell.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Verdict {
    /// Nothing yet.
    Waits,
    /// The clock was set forward by so much, ns; 0 where it was not, or nobody can tell.
    Forward(i64),
}

/// The silence, and the records behind it.
#[derive(Debug)]
pub(super) struct Silence {
    gap_us: i64,
    held: VecDeque<Held>,
    bytes: usize,
    overdue: Option<Overdue>,
    stated_us: Option<i64>,
}

impl Silence {
    /// A silence of so long ends with the record that is held first.
    pub fn of(gap_us: i64) -> Self {
        Self { gap_us, held: VecDeque::new(), bytes: 0, overdue: None, stated_us: None }
    }

    /// Holds a record.
    pub fn hold(&mut self, held: Held, fold: &Fold) -> Verdict {
        let event = &held.event;
        let is_over = self.overdue.is_some_and(|overdue| event.time_us != overdue.now_us);
        if !is_over {
            self.look_at(event, fold);
        }
        self.bytes += held.bytes();
        self.held.push_back(held);
        match (self.overdue, self.stated_us) {
            (Some(overdue), Some(stated_us)) => Verdict::Forward(1000 * overdue.step_us(stated_us, self.gap_us)),
            _ if is_over || self.held.len() >= MOST => Verdict::Forward(0),
            _ => Verdict::Waits,
        }
    }

    fn look_at(&mut self, event: &Event, fold: &Fold) {
        self.overdue = self.overdue.or_else(|| fold.overdue(event));
        let stated = event.get(Number::LatestRttUs).and_then(|us| i64::try_from(us).ok());
        self.stated_us = stated.or(self.stated_us);
    }

    /// The records that waited, in their order.
    pub fn into_held(self) -> VecDeque<Held> {
        self.held
    }

    /// Bytes that they have, about.
    pub fn bytes(&self) -> usize {
        self.bytes
    }
}
