//! A heartbeat: one row that goes the whole way with the data, so that the other end can say how fresh they are.
//!
//! It is a row of `episodes` under a connection of its own, which has no row in `connections`, so no view shows it; its
//! version is when it was made, so one is left of each collector and day. Every message that is cut together with it
//! says in a header when it was made: what is measured is the way of the data, table by table.

use crate::machine;
use quiclens_core::record::columns::episodes;
use quiclens_core::record::columns::episodes::Episodes;
use quiclens_core::record::rows::Row;
use quiclens_core::tables::Tables;
use std::time::{Duration, Instant};
use xxhash_rust::xxh3::xxh3_64;

const KIND: &str = "heartbeat";
const DAY_US: i64 = 86_400_000_000;

/// The heartbeats of one collector.
pub struct Heartbeat {
    name: String,
    interval: Duration,
    last: Option<Instant>,
    waiting_us: Option<i64>,
}

impl Heartbeat {
    /// One every `interval`, of the collector called `name`; none where that is zero.
    pub fn new(name: &str, interval: Duration) -> Self {
        Self { name: name.to_owned(), interval, last: None, waiting_us: None }
    }

    /// Makes one if it is due and none waits. It waits for the next cut, as the rows beside it do.
    pub fn beat(&mut self, now: Instant, tables: &mut Tables) {
        let is_due = self.last.is_none_or(|last| now - last >= self.interval);
        if self.interval.is_zero() || self.waiting_us.is_some() || !is_due {
            return;
        }
        self.last = Some(now);
        let made_us = machine::wall().as_micros();
        let made_us = i64::try_from(made_us).unwrap_or(i64::MAX);
        self.waiting_us = Some(made_us);
        tables.episodes.push(self.row(made_us));
    }

    /// When the heartbeat of this cut was made, us since 1970; `None` where the cut has none.
    pub fn take(&mut self) -> Option<i64> {
        self.waiting_us.take()
    }

    fn row(&self, made_us: i64) -> Row<Episodes> {
        let mut row = Row::default();
        row.set(episodes::CONNECTION_ID, format!("{KIND}:{}", self.name));
        row.set(episodes::TRACE_ID, format!("{:016x}", xxh3_64(self.name.as_bytes())));
        row.set(episodes::KIND, KIND);
        row.set(episodes::STREAM_ID, -1i64);
        row.set(episodes::VERSION, u64::try_from(made_us).unwrap_or(0));
        row.set(episodes::TRACE_DAY, made_us / DAY_US);
        row.set(episodes::START_US, made_us);
        row.set(episodes::END_US, made_us);
        row
    }
}

#[cfg(test)]
#[expect(clippy::unwrap_used, reason = "tests")]
mod tests {
    use super::*;

    #[test]
    fn one_is_made_at_once_and_the_next_when_it_is_due() {
        let (mut tables, began) = (Tables::default(), Instant::now());
        let mut heartbeat = Heartbeat::new("web-17", Duration::from_secs(10));
        heartbeat.beat(began, &mut tables);
        heartbeat.beat(began + Duration::from_secs(9), &mut tables);
        assert_eq!(tables.episodes.len(), 1);
        let made_us = heartbeat.take().unwrap();
        assert_eq!(tables.episodes[0].int(episodes::START_US), Some(made_us));
        assert_eq!(tables.episodes[0].text(episodes::CONNECTION_ID), Some("heartbeat:web-17"));
        assert_eq!(heartbeat.take(), None);
        heartbeat.beat(began + Duration::from_secs(10), &mut tables);
        heartbeat.beat(began + Duration::from_secs(20), &mut tables);
        assert_eq!(tables.episodes.len(), 2, "one waits for a cut that does not come");
    }

    #[test]
    fn without_an_interval_there_is_none() {
        let mut tables = Tables::default();
        let mut heartbeat = Heartbeat::new("web-17", Duration::ZERO);
        heartbeat.beat(Instant::now(), &mut tables);
        assert!(tables.episodes.is_empty() && heartbeat.take().is_none());
    }
}
