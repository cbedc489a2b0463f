//! Requests whose data waits, as far as is known: since when, and the highest delivery rate that was measured
//! meanwhile. A measurement does not visit each request.

use get_size2::GetSize;
use serde::{Deserialize, Serialize};
use std::collections::{BTreeMap, BTreeSet};

/// Streams whose data waits.
#[derive(Clone, Debug, Default, Serialize, Deserialize, GetSize)]
pub struct Hunger {
    streams: BTreeMap<u64, Waiting>,
    /// Streams for which the start of the wait is known: that start, and the stream.
    known: BTreeSet<(i64, u64)>,
    /// Rates that were measured, with their rounds: the latest last, each lower than the one before. A rate counts for
    /// all streams whose wait began in its round or an earlier one.
    rates: Vec<(u64, f64)>,
    round: u64,
}

#[derive(Clone, Copy, Debug, Default, Serialize, Deserialize, GetSize)]
struct Waiting {
    /// Rates of this round and later ones count for the stream.
    round: u64,
    known_since_us: Option<i64>,
}

impl Hunger {
    /// Data of none waits.
    pub fn is_none(&self) -> bool {
        self.streams.is_empty()
    }

    /// Data of a stream waits, since `known_since_us` where that is known.
    pub fn add(&mut self, id: u64, known_since_us: Option<i64>) {
        if let Some(waiting) = self.streams.get_mut(&id) {
            if waiting.known_since_us == known_since_us {
                return;
            }
            if let Some(us) = std::mem::replace(&mut waiting.known_since_us, known_since_us) {
                self.known.remove(&(us, id));
            }
        } else {
            if self.rates.last().is_some_and(|(round, _)| *round == self.round) {
                self.round += 1;
            }
            self.streams.insert(id, Waiting { round: self.round, known_since_us });
        }
        self.known.extend(known_since_us.map(|us| (us, id)));
    }

    /// Data of the stream does not wait any more: gives the highest rate that was measured during the wait.
    pub fn remove(&mut self, id: u64) -> Option<f64> {
        let Waiting { round, known_since_us } = self.streams.remove(&id)?;
        if let Some(us) = known_since_us {
            self.known.remove(&(us, id));
        }
        let highest = self.rates.get(self.rates.partition_point(|(of, _)| *of < round)).map(|(_, rate)| *rate);
        if self.streams.is_empty() {
            self.rates.clear();
        }
        highest
    }

    /// Data of some stream `is_still` known to wait since `us` at least.
    pub fn is_known_since(&mut self, us: i64, is_still: impl Fn(u64, i64) -> bool) -> bool {
        while let Some((since_us, id)) = self.known.first().copied().filter(|(since_us, _)| *since_us <= us) {
            if is_still(id, since_us) {
                return true;
            }
            // The entry is out of date; `add` makes a new one.
            self.known.pop_first();
            if let Some(waiting) = self.streams.get_mut(&id) {
                waiting.known_since_us = None;
            }
        }
        false
    }

    /// Data of the stream waits.
    pub fn has(&self, id: u64) -> bool {
        self.streams.contains_key(&id)
    }

    /// The path is the bottleneck and delivers at this rate.
    pub fn measure(&mut self, rate: f64) {
        if self.streams.is_empty() {
            return;
        }
        while self.rates.last().is_some_and(|(_, lower)| *lower <= rate) {
            self.rates.pop();
        }
        if self.rates.last().is_none_or(|(round, _)| *round < self.round) {
            self.rates.push((self.round, rate));
        }
        if self.rates.len() > 2 * self.streams.len() + FEW {
            self.forget_rates();
        }
    }

    /// Keeps only rates that some stream needs: at most one for each stream.
    fn forget_rates(&mut self) {
        let rounds: BTreeSet<u64> = self.streams.values().map(|waiting| waiting.round).collect();
        let rates = std::mem::take(&mut self.rates);
        let mut before = None;
        for (round, rate) in rates {
            // A stream of one of these rounds needs this rate.
            let first = before.map_or(0, |before: u64| before + 1);
            if rounds.range(first..=round).next().is_some() {
                self.rates.push((round, rate));
            }
            before = Some(round);
        }
    }
}

/// So many rates are kept in any case.
const FEW: usize = 64;

#[cfg(test)]
mod tests {
    use super::*;
    use crate::chance;

    /// Compared with a plain map in which each measurement goes to each stream.
    #[test]
    fn each_stream_has_the_highest_rate_of_the_time_in_which_it_waited() {
        let mut next = chance::numbers(5);
        let (mut hunger, mut plain) = (Hunger::default(), BTreeMap::<u64, Option<f64>>::new());
        for step in 0..20_000u64 {
            let id = next(12);
            match next(4) {
                0 => {
                    hunger.add(id, None);
                    plain.entry(id).or_default();
                }
                1 => assert_eq!(hunger.remove(id), plain.remove(&id).flatten()),
                _ => {
                    // They fall for a long time, again and again.
                    let rate = (1_000 - step % 1_000 + next(3)) as f64;
                    hunger.measure(rate);
                    plain.values_mut().for_each(|known| *known = Some(known.map_or(rate, |known| known.max(rate))));
                }
            }
            assert_eq!(hunger.is_none(), plain.is_empty());
            assert!(hunger.rates.len() <= 2 * 12 + FEW);
        }
    }

    #[test]
    fn rates_that_only_fall_stay_few() {
        let mut hunger = Hunger::default();
        hunger.add(0, None);
        for number in 0..1_000 {
            hunger.add(4, None);
            hunger.measure(f64::from(10_000 - number));
            assert_eq!(hunger.remove(4), Some(f64::from(10_000 - number)));
        }
        assert!(hunger.rates.len() <= FEW + 3, "{}", hunger.rates.len());
        assert_eq!((hunger.remove(0), hunger.is_none()), (Some(10_000.0), true));
    }

    #[test]
    fn what_is_known_is_asked_of_the_stream_itself() {
        let mut hunger = Hunger::default();
        hunger.add(0, Some(10));
        hunger.add(4, Some(20));
        assert!(!hunger.is_known_since(9, |_, _| true) && hunger.is_known_since(10, |id, us| (id, us) == (0, 10)));
        assert!(!hunger.is_known_since(15, |_, _| false), "the stream says something else by now");
        assert!(hunger.is_known_since(25, |id, us| (id, us) == (4, 20)));
        hunger.add(0, Some(30));
        hunger.remove(4);
        assert!(!hunger.is_known_since(25, |_, _| true) && hunger.is_known_since(30, |_, _| true));
    }
}
