//! Losses of a stream that are not repaired, indexed by bytes and by packet, so that the cost of a packet depends on
//! the losses that it concerns and not on all of them.

use crate::crossed::Bound;
use crate::fold::recovery::packets::Chunk;
use crate::limits::{LOSSES, LOSSES_BESIDE};
use get_size2::GetSize;
use serde::{Deserialize, Serialize};
use std::collections::{BTreeMap, BTreeSet};

/// Bytes that were lost and are not acknowledged yet.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, GetSize)]
pub struct Loss {
    /// First byte.
    pub from: u64,
    /// Byte after the last.
    pub to: u64,
    /// The stream's end was in it.
    pub fin: bool,
    /// The lost packet.
    pub number: u64,
    /// When it was sent.
    pub sent_us: i64,
    /// By which event.
    pub sent_seq: u64,
    /// When its acknowledgement was due: sent plus the smoothed RTT of that moment.
    pub due_us: i64,
    /// When it was declared lost.
    pub detected_us: i64,
    /// How it was found.
    pub trigger: String,
    /// First retransmission.
    pub resent_us: Option<i64>,
    /// Retransmissions.
    pub resent: u32,
    /// Range that contains all of its bytes that were not sent again.
    pub unsent: (u64, u64),
    /// Bytes of the same packet that were repaired before.
    pub repaired: u64,
    /// It was found because of a probe timeout.
    pub is_by_probe: bool,
    /// The lost packet has no record.
    pub is_imputed: bool,
}

/// Losses in the order in which they were found. The place of a loss is the number of losses found before it.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, GetSize)]
pub struct Unrepaired {
    list: BTreeMap<u64, Loss>,
    /// Losses that were ever found.
    found: u64,
    /// First byte and place.
    by_byte: BTreeSet<(u64, u64)>,
    /// The most bytes of one of them.
    longest: u64,
    /// Of losses with bytes that were not sent again: when each was declared lost, and its place.
    unsent: BTreeSet<(i64, u64)>,
    /// Packet number and place.
    by_packet: BTreeSet<(u64, u64)>,
    /// When the acknowledgement was due, and place.
    by_due: BTreeSet<(i64, u64)>,
    /// Of losses that were found because of a probe timeout: when each was declared lost, and its place.
    by_probe: BTreeSet<(i64, u64)>,
    /// Places of losses with the stream's end.
    with_fin: BTreeSet<u64>,
    /// Losses that were looked at so far: a measure of work.
    #[serde(skip)]
    steps: u64,
}

impl Unrepaired {
    /// Adds a loss; with more than [`LOSSES`], the oldest is forgotten.
    pub fn add(&mut self, loss: Loss) {
        if self.list.len() >= LOSSES
            && let Some((oldest, _)) = self.list.first_key_value()
        {
            Bound::Losses.cross();
            self.remove(*oldest);
        }
        let place = self.found;
        self.found += 1;
        self.longest = self.longest.max(loss.to.saturating_sub(loss.from)).max(1);
        self.by_byte.insert((loss.from, place));
        self.unsent.insert((loss.detected_us, place));
        self.by_packet.insert((loss.number, place));
        self.by_due.insert((loss.due_us, place));
        if loss.is_by_probe {
            self.by_probe.insert((loss.detected_us, place));
        }
        if loss.fin {
            self.with_fin.insert(place);
        }
        self.list.insert(place, loss);
    }

    fn remove(&mut self, place: u64) -> Option<Loss> {
        let loss = self.list.remove(&place)?;
        self.by_byte.remove(&(loss.from, place));
        self.unsent.remove(&(loss.detected_us, place));
        self.by_packet.remove(&(loss.number, place));
        self.by_due.remove(&(loss.due_us, place));
        self.by_probe.remove(&(loss.detected_us, place));
        self.with_fin.remove(&place);
        if self.list.is_empty() {
            self.longest = 0;
        }
        Some(loss)
    }

    /// All, in order.
    pub fn all(&self) -> impl Iterator<Item = &Loss> {
        self.list.values()
    }

    /// Some lost bytes have not been sent again.
    pub fn is_any_unsent(&self) -> bool {
        !self.unsent.is_empty()
    }

    /// The first loss that was declared by `before_us` and has bytes that were not sent again: place and loss.
    pub fn first_unsent(&self, before_us: i64) -> Option<(u64, &Loss)> {
        let (_, place) = self.unsent.first().filter(|(detected_us, _)| *detected_us <= before_us)?;
        Some((*place, self.list.get(place)?))
    }

    /// A loss, or a part of it, is sent again in `chunk`. Gives how often it has been sent again.
    pub fn send(&mut self, place: u64, chunk: &Chunk, now_us: i64) -> u32 {
        let Some(loss) = self.list.get_mut(&place) else { return 0 };
        let (from, to) = loss.unsent;
        if chunk.from <= from {
            loss.unsent.0 = chunk.to.max(from);
        } else if to <= chunk.to {
            loss.unsent.1 = chunk.from.min(to);
        }
        if loss.unsent.0 >= loss.unsent.1 {
            self.unsent.remove(&(loss.detected_us, place));
        }
        loss.resent_us.get_or_insert(now_us);
        // A lost packet's bytes may be sent again in two packets: the one with the first byte counts.
        loss.resent += u32::from(chunk.from <= loss.from);
        loss.resent
    }

    /// Changes a loss; `change` must not touch the fields that are indexed.
    pub fn change(&mut self, place: u64, change: impl FnOnce(&mut Loss)) {
        if let Some(loss) = self.list.get_mut(&place) {
            change(loss);
        }
    }

    /// The first loss of a packet.
    pub fn first_of(&self, number: u64) -> Option<u64> {
        self.by_packet.range((number, 0)..=(number, u64::MAX)).next().map(|(_, place)| *place)
    }

    /// When the first acknowledgement was due.
    pub fn first_due_us(&self) -> Option<i64> {
        self.by_due.first().map(|(due_us, _)| *due_us)
    }

    /// Losses that were looked at so far.
    pub fn steps(&self) -> u64 {
        self.steps
    }

    /// Places of the losses `is_wanted` among those that may share bytes, or the FIN, with a chunk. At most the last
    /// [`LOSSES_BESIDE`] of each kind are looked at.
    fn beside(&mut self, chunk: &Chunk, is_wanted: impl Fn(&Loss) -> bool) -> Vec<u64> {
        if self.list.is_empty() {
            return Vec::new();
        }
        let first = (chunk.from.saturating_sub(self.longest), 0);
        let last = (chunk.to.max(chunk.from.saturating_add(1)), u64::MAX);
        let mut with_bytes = self.by_byte.range(first..=last).rev().map(|(_, place)| *place);
        let mut with_fin = self.with_fin.iter().rev().filter(|_| chunk.fin).copied();
        let mut steps = 0;
        let some = with_bytes.by_ref().take(LOSSES_BESIDE).chain(with_fin.by_ref().take(LOSSES_BESIDE));
        let looked_at = some.inspect(|_| steps += 1);
        let mut wanted: Vec<u64> = looked_at.filter(|place| self.list.get(place).is_some_and(&is_wanted)).collect();
        wanted.sort_unstable();
        wanted.dedup();
        self.steps += steps;
        let not_looked_at: Vec<u64> = with_bytes.next().into_iter().chain(with_fin.next()).collect();
        if not_looked_at.iter().any(|place| self.list.get(place).is_some_and(&is_wanted)) {
            Bound::LossesBeside.cross();
        }
        wanted
    }

    /// Places of the losses that a chunk repairs when it is sent.
    pub fn mended_by(&mut self, chunk: &Chunk) -> Vec<u64> {
        self.beside(chunk, |loss| {
            let overlaps = chunk.from < loss.to && loss.from < chunk.to;
            let touches = loss.from == loss.to && chunk.from <= loss.from && loss.from <= chunk.to;
            overlaps || touches || (loss.fin && chunk.fin)
        })
    }

    /// Some loss has bytes of the chunk.
    pub fn meets(&mut self, chunk: &Chunk) -> bool {
        !self.beside(chunk, |loss| chunk.meets(loss.from, loss.to)).is_empty()
    }

    /// A chunk was acknowledged: removes the losses that are acknowledged in full, and gives them in order.
    pub fn take(&mut self, chunk: &Chunk, is_repaired: impl Fn(&Loss) -> bool) -> Vec<Loss> {
        let places = self.beside(chunk, is_repaired);
        places.into_iter().filter_map(|place| self.remove(place)).collect()
    }

    /// The packet was not lost: forgets its losses. False when there were none.
    pub fn forget(&mut self, number: u64) -> bool {
        let mut any = false;
        while let Some(place) = self.first_of(number) {
            any |= self.remove(place).is_some();
        }
        any
    }

    /// The timeout that fired at `fired_us` was spurious: later losses were not found because of it.
    pub fn not_by_probe(&mut self, fired_us: i64) {
        for (_, place) in self.by_probe.split_off(&(fired_us, 0)) {
            self.change(place, |loss| loss.is_by_probe = false);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::chance;

    const fn loss(number: u64, from: u64, to: u64, fin: bool) -> Loss {
        Loss {
            from,
            to,
            fin,
            number,
            sent_us: 0,
            sent_seq: 0,
            due_us: -(number as i64),
            detected_us: number as i64,
            trigger: String::new(),
            resent_us: None,
            resent: 0,
            unsent: (from, to),
            repaired: 0,
            is_by_probe: true,
            is_imputed: false,
        }
    }

    const fn chunk(from: u64, to: u64, fin: bool) -> Chunk {
        Chunk { stream_id: 0, from, to, fin }
    }

    /// Compared with a linear search in a plain list.
    #[test]
    fn the_losses_that_a_chunk_repairs_are_found_as_in_a_plain_list() {
        let mut next = chance::numbers(11);
        for _ in 0..100 {
            let (mut open, mut plain) = (Unrepaired::default(), Vec::new());
            for _ in 0..120 {
                let from = next(500);
                let (to, fin) = (from + next(40), next(10) == 0);
                match next(5) {
                    0..3 => {
                        let loss = loss(next(30), from, to, fin);
                        open.add(loss.clone());
                        plain.push(loss);
                    }
                    3 => {
                        let chunk = chunk(from, to, fin);
                        let mended = |loss: &&Loss| {
                            (chunk.from < loss.to && loss.from < chunk.to)
                                || (loss.from == loss.to && chunk.from <= loss.from && loss.from <= chunk.to)
                                || (loss.fin && chunk.fin)
                        };
                        let wanted: Vec<&Loss> = plain.iter().filter(mended).collect();
                        let places = open.mended_by(&chunk);
                        let found: Vec<&Loss> = places.iter().filter_map(|place| open.list.get(place)).collect();
                        assert_eq!(found, wanted);
                        let meets = plain.iter().any(|loss| chunk.meets(loss.from, loss.to));
                        assert_eq!(open.meets(&chunk), meets);
                        let inside =
                            |loss: &Loss| chunk.from <= loss.from && loss.to <= chunk.to && loss.from < chunk.to;
                        let gone: Vec<Loss> = plain.extract_if(.., |loss| inside(loss)).collect();
                        assert_eq!(open.take(&chunk, inside), gone);
                    }
                    _ => {
                        let number = next(30);
                        let before = plain.len();
                        plain.retain(|loss| loss.number != number);
                        assert_eq!(open.forget(number), plain.len() < before);
                    }
                }
                assert!(open.all().eq(&plain));
                assert_eq!(open.first_due_us(), plain.iter().map(|loss| loss.due_us).min());
            }
        }
    }

    #[test]
    fn the_oldest_of_too_many_is_forgotten_and_few_are_looked_at() {
        let mut open = Unrepaired::default();
        (0..=LOSSES as u64).for_each(|number| open.add(loss(number, 10 * number, 10 * number + 10, false)));
        assert_eq!((open.list.len(), open.first_of(0), open.first_of(1)), (LOSSES, None, Some(1)));
        assert_eq!(open.mended_by(&chunk(5_000, 5_015, false)), [500, 501]);
        assert!(open.steps() < 8, "{}", open.steps());
        let before = open.steps();
        assert_eq!(open.mended_by(&chunk(0, 1 << 40, false)).len(), LOSSES_BESIDE);
        assert_eq!(open.steps() - before, LOSSES_BESIDE as u64);
        open.not_by_probe(600);
        assert_eq!(open.all().filter(|loss| loss.is_by_probe).count(), 599);
    }
}
