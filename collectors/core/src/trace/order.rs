//! Late records: several threads may write a log without an order between them (qlog requires none), each record with
//! its right time.
//!
//! Records are folded as they come until one is older than a record before. From then on each record waits until one
//! that is newer by [`WINDOW_NS`] has come, and records are folded in the order of their times. Records that are even
//! later are counted as `time_went_back`.

use crate::crossed::Bound;
use crate::event::Event;
use crate::limits::{HELD, HELD_PLACES, HELD_RECORD};
use std::collections::BTreeMap;

/// How late a record may be, ns.
pub const WINDOW_NS: i64 = 20_000_000;

/// A record that waits for older ones.
#[derive(Debug)]
pub(super) struct HeldRecord {
    pub event: Event,
    /// The log's clock was set back before it.
    pub is_step: bool,
    /// Where it stands in the file.
    pub place: u64,
    /// Its text, as far as a reject shows it, and its length.
    pub raw: Vec<u8>,
    pub length: usize,
}

impl HeldRecord {
    /// Bytes that it takes, with its place.
    pub fn bytes(&self) -> usize {
        HELD_RECORD + self.event.memory() + self.raw.capacity()
    }
}

/// The records of one connection that wait.
#[derive(Default)]
pub(super) struct Order {
    newest_ns: i64,
    /// By time, then by their number in the connection. Rows say their number themselves, so that two may have the same
    /// one: then as they came. Boxed, since the map has room for eleven where it has one.
    held: BTreeMap<(i64, u64, u64), Box<HeldRecord>>,
    /// Records that came.
    came: u64,
    bytes: usize,
}

impl Order {
    /// Holds a record.
    pub fn hold(&mut self, at_ns: i64, held: HeldRecord) {
        self.newest_ns = self.newest_ns.max(at_ns);
        self.bytes += held.bytes();
        self.came += 1;
        self.held.insert((at_ns, held.event.seq, self.came), Box::new(held));
    }

    /// The next record whose turn has come.
    pub fn next(&mut self) -> Option<HeldRecord> {
        let first = self.held.first_entry()?;
        let is_due = self.newest_ns.saturating_sub(first.key().0) > WINDOW_NS;
        if !is_due && self.held.len() <= HELD {
            return None;
        }
        if !is_due {
            Bound::Held.cross();
        }
        self.next_of_all()
    }

    /// The next record, whatever may come.
    pub fn next_of_all(&mut self) -> Option<HeldRecord> {
        let (_, held) = self.held.pop_first()?;
        self.bytes -= held.bytes();
        if self.held.is_empty() {
            // An empty map keeps its room.
            self.held = BTreeMap::new();
        }
        Some(*held)
    }

    /// Bytes that those which wait take, about.
    pub fn bytes(&self) -> usize {
        self.bytes + if self.held.is_empty() { 0 } else { HELD_PLACES }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::crossed::crosses;

    fn held(source_ns: i64, seq: u64) -> HeldRecord {
        let mut event = Event::default();
        (event.source_ns, event.seq) = (source_ns, seq);
        HeldRecord { event, is_step: false, place: 0, raw: Vec::new(), length: 0 }
    }

    fn times(next: impl FnMut() -> Option<HeldRecord>) -> Vec<(i64, u64)> {
        std::iter::from_fn(next).map(|held| (held.event.source_ns, held.event.seq)).collect()
    }

    #[test]
    fn records_go_on_by_time_when_no_older_one_is_awaited() {
        let mut order = Order::default();
        let ms = 1_000_000;
        for (seq, at) in [5, 3, 5, 30, 4].into_iter().enumerate() {
            order.hold(at * ms, held(at * ms, seq as u64));
        }
        assert_eq!(times(|| order.next()), [(3 * ms, 1), (4 * ms, 4), (5 * ms, 0), (5 * ms, 2)]);
        assert_eq!(times(|| order.next_of_all()), [(30 * ms, 3)]);
    }

    #[test]
    fn no_record_takes_the_place_of_another_with_the_same_time_and_number() {
        let mut order = Order::default();
        for (seq, place) in [(4, 10), (4, 20), (3, 30)] {
            order.hold(0, HeldRecord { place, ..held(0, seq) });
        }
        let bytes = order.bytes();
        let places: Vec<u64> = std::iter::from_fn(|| order.next_of_all()).map(|held| held.place).collect();
        assert_eq!(
            (places, bytes, order.bytes()),
            (vec![30, 10, 20], HELD_PLACES + 3 * (HELD_RECORD + size_of::<Event>()), 0)
        );
    }

    #[test]
    fn what_a_record_takes_beside_its_event_is_counted() {
        let rest = size_of::<HeldRecord>() - size_of::<Event>();
        // A node of the map has room for eleven, and half of it may be empty.
        let place = size_of::<(i64, u64, u64)>() + size_of::<Box<HeldRecord>>();
        assert!(rest + 2 * place <= HELD_RECORD && 11 * place <= HELD_PLACES, "{rest}, {place}");
    }

    #[test]
    fn the_number_of_waiting_records_is_bounded() {
        let mut order = Order::default();
        for seq in 0..HELD as u64 + 10 {
            order.hold(0, held(0, seq));
        }
        assert_eq!(crosses(Bound::Held, || times(|| order.next()).len()), 10);
        assert_eq!(order.bytes(), HELD_PLACES + HELD * (HELD_RECORD + size_of::<Event>()));
        assert_eq!((times(|| order.next_of_all()).len(), order.bytes()), (HELD, 0));
    }
}
