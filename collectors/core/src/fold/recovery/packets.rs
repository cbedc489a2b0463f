//! Packets that were sent and are neither acknowledged nor forgotten.

use crate::crossed::Bound;
use crate::fold::recovery::holes::{Hole, Holes};
use crate::fold::window::delivery::Stamp;
use crate::limits::{BEHIND, CARRIER_LOOKS, LOSSES_BESIDE, UNACKNOWLEDGED};
use get_size2::GetSize;
use serde::{Deserialize, Serialize};
use std::collections::VecDeque;

/// Stream bytes of a packet.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, GetSize)]
pub struct Chunk {
    /// Stream.
    pub stream_id: u64,
    /// First byte.
    pub from: u64,
    /// Byte after the last.
    pub to: u64,
    /// The stream ends here.
    pub fin: bool,
}

impl Chunk {
    /// Its bytes, from and to; an empty chunk (a FIN alone) counts as one byte at its offset.
    pub fn extent(&self) -> (u64, u64) {
        (self.from, self.to.max(self.from + 1))
    }

    /// It overlaps `[from, to)`, which counts as one byte where it is empty.
    pub fn meets(&self, from: u64, to: u64) -> bool {
        let (own_from, own_to) = self.extent();
        own_from < to.max(from + 1) && from < own_to
    }
}

/// Whether the stream data of a packet is new or a retransmission: one bit for each property that any of its chunks
/// has.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, GetSize)]
pub struct Repetition(u8);

const NEW: u8 = 1;
const AGAIN: u8 = 2;
const UNLOST: u8 = 4;
const MENDS: u8 = 8;

impl Repetition {
    /// Adds a chunk: `is_new`, it has data that is sent for the first time; `is_again`, it has data that was sent
    /// before; `mends`, it repairs a loss.
    pub fn add(&mut self, is_new: bool, is_again: bool, mends: bool) {
        let bit = |is: bool, bit: u8| if is { bit } else { 0 };
        self.0 |= bit(is_new, NEW) | bit(is_again, AGAIN) | bit(is_again && !mends, UNLOST) | bit(mends, MENDS);
    }

    /// Some data goes out for the first time.
    pub fn has_news(self) -> bool {
        self.0 & NEW != 0
    }

    /// Some data had gone out before.
    pub fn is_again(self) -> bool {
        self.0 & AGAIN != 0
    }

    /// Some data had gone out before and is not known to be lost.
    pub fn is_again_unlost(self) -> bool {
        self.0 & UNLOST != 0
    }

    /// All its data was sent before and is not known to be lost: a probe's copy.
    pub fn is_copy(self) -> bool {
        self.0 & (NEW | UNLOST | MENDS) == UNLOST
    }
}

/// A packet that we sent.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, GetSize)]
pub struct Sent {
    /// Packet number.
    pub number: u64,
    /// When.
    pub time_us: i64,
    /// Event.
    pub seq: u64,
    /// Size.
    pub bytes: u64,
    /// It counts towards bytes in flight (RFC 9002, 2).
    pub in_flight: bool,
    /// Elicits an acknowledgement.
    pub is_eliciting: bool,
    /// It went out in 0-RTT.
    pub is_early: bool,
    /// It has no record; other records prove that it was sent.
    pub is_imputed: bool,
    /// What of its data had gone out before.
    pub repetition: Repetition,
    /// Smoothed RTT when it was sent.
    pub rtt_us: i64,
    /// The delivery rate that its acknowledgement gives is measured from here.
    pub stamp: Stamp,
    /// First chunk of stream data; most packets have one at most.
    pub chunk: Option<Chunk>,
    /// Further chunks.
    pub chunks: Vec<Chunk>,
}

impl Sent {
    /// Its stream data.
    pub fn chunks(&self) -> impl Iterator<Item = &Chunk> {
        self.chunk.iter().chain(&self.chunks)
    }

    /// More of its stream data.
    pub fn carry(&mut self, chunk: Chunk) {
        match self.chunk {
            None => self.chunk = Some(chunk),
            Some(_) => self.chunks.push(chunk),
        }
    }
}

/// A packet that was acknowledged for the first time.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Acknowledged {
    /// The packet.
    pub packet: Sent,
    /// It had been declared lost.
    pub was_lost: bool,
}

/// What became of a packet.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, GetSize)]
struct PacketState {
    packet: Sent,
    is_acked: bool,
    /// Was declared lost.
    is_lost: bool,
    /// What it carried went out again, in a log that does not say what is lost.
    is_repeated: bool,
    /// At least so many packets right after it are acknowledged too. Valid only while `age` equals that of the space.
    run: u32,
    age: u32,
}

impl PacketState {
    /// Neither acknowledged nor lost.
    fn waits(&self) -> bool {
        !self.is_acked && !self.is_lost
    }

    fn is_on_its_way(&self) -> bool {
        self.packet.in_flight && self.waits()
    }
}

/// One packet number space of one path.
///
/// Acknowledged packets are skipped in runs, and removed when they are more than half of all. So a packet that is never
/// acknowledged does not make later acknowledgements expensive.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, GetSize)]
pub struct Space {
    sent: VecDeque<PacketState>,
    /// Of `sent`, those that are acknowledged.
    acked: usize,
    /// Those that are neither acknowledged nor lost.
    waiting: usize,
    /// No packet with a lower number is neither acknowledged nor lost.
    waits_from: u64,
    /// How often places in `sent` have moved.
    age: u32,
    largest_acked: Option<u64>,
    largest_received: Option<u64>,
    /// Largest number sent, also of packets that elicit no acknowledgement.
    largest_sent: Option<u64>,
    /// Numbers of ours that the log does not show.
    unsent: Holes,
    /// Numbers of the peer's that the log does not show.
    unreceived: Holes,
    /// Packets that were looked at so far: a measure of work.
    #[serde(skip)]
    steps: u64,
}

/// How long a lost packet is remembered, to see that its loss was spurious.
const REMEMBER_LOST_US: i64 = 3_000_000;

impl Space {
    /// We sent a packet with this number. Gives the packets right before it that were acknowledged and have no record.
    pub fn number(&mut self, number: u64, now_us: i64) -> Option<Hole> {
        self.largest_sent = self.largest_sent.max(Some(number));
        self.unsent.see(number, now_us)
    }

    /// A packet of the peer came. Gives the packets right before it that we acknowledged and that have no record; true
    /// when one with a higher number came before.
    pub fn receive(&mut self, number: u64, now_us: i64) -> (Option<Hole>, bool) {
        let missing = self.unreceived.see(number, now_us);
        let is_late = self.largest_received.is_some_and(|largest| number < largest);
        self.largest_received = self.largest_received.max(Some(number));
        (missing, is_late)
    }

    /// Numbers of ours that the log does not show.
    pub fn unsent(&self) -> &Holes {
        &self.unsent
    }

    /// Likewise, to be changed.
    pub fn unsent_mut(&mut self) -> &mut Holes {
        &mut self.unsent
    }

    /// Numbers of the peer's that the log does not show.
    pub fn unreceived(&self) -> &Holes {
        &self.unreceived
    }

    /// Likewise, to be changed.
    pub fn unreceived_mut(&mut self) -> &mut Holes {
        &mut self.unreceived
    }

    /// Largest sent number.
    pub fn largest_sent(&self) -> Option<u64> {
        self.largest_sent
    }

    /// Largest acknowledged number.
    pub fn largest_acked(&self) -> Option<u64> {
        self.largest_acked
    }

    /// Packets that were looked at so far.
    pub fn steps(&self) -> u64 {
        self.steps
    }

    /// Adds a packet; it replaces a known one with the same number.
    pub fn send(&mut self, packet: Sent) {
        while self.sent.front().is_some_and(|first| {
            first.is_acked
                || ((first.is_lost || first.is_repeated)
                    && packet.time_us.saturating_sub(first.packet.time_us) > REMEMBER_LOST_US)
        }) || self.sent.len() >= UNACKNOWLEDGED
        {
            if let Some(gone) = self.sent.pop_front() {
                if !gone.is_acked && self.sent.len() + 1 >= UNACKNOWLEDGED {
                    Bound::Unacknowledged.cross();
                }
                self.acked -= usize::from(gone.is_acked);
                self.waiting -= usize::from(gone.waits());
            }
        }
        let number = packet.number;
        let packet = PacketState { packet, is_acked: false, is_lost: false, is_repeated: false, run: 0, age: 0 };
        self.waits_from = self.waits_from.min(number);
        self.waiting += 1;
        if self.sent.capacity() == 0 {
            // Most connections that are hardly used have one packet.
            self.sent.reserve_exact(1);
        }
        match self.sent.back() {
            Some(last) if last.packet.number >= number => {
                let at = self.sent.partition_point(|known| known.packet.number < number);
                if self.sent.len() - at > BEHIND {
                    Bound::Behind.cross();
                    self.waiting -= 1;
                    return;
                }
                if self.sent[at].packet.number == number {
                    let known = std::mem::replace(&mut self.sent[at], packet);
                    self.acked -= usize::from(known.is_acked);
                    self.waiting -= usize::from(known.waits());
                    if known.is_acked {
                        self.forget_runs();
                    }
                } else {
                    self.sent.insert(at, packet);
                    self.forget_runs();
                }
            }
            _ => self.sent.push_back(packet),
        }
    }

    /// Marks `[from, to]` as acknowledged and adds each packet to `newly` that was not.
    pub fn acknowledge(&mut self, from: u64, to: u64, newly: &mut Vec<Acknowledged>) {
        self.largest_acked = Some(self.largest_acked.map_or(to, |known| known.max(to)));
        let first = self.sent.partition_point(|known| known.packet.number < from);
        let mut at = first;
        while let Some(known) = self.sent.get_mut(at).filter(|known| known.packet.number <= to) {
            self.steps += 1;
            if known.is_acked {
                at += if known.age == self.age { known.run as usize + 1 } else { 1 };
                continue;
            }
            self.waiting -= usize::from(known.waits());
            known.is_acked = true;
            self.acked += 1;
            newly.push(Acknowledged { packet: known.packet.clone(), was_lost: known.is_lost });
            at += 1;
        }
        // All from `first` to `at` are acknowledged. They are removed at once where no others are acknowledged and few
        // packets lie on one side of them.
        let moved = first.min(self.sent.len().saturating_sub(at));
        if first < at && self.acked == at - first && moved <= at - first + MOVED {
            self.steps += moved.saturating_sub(MOVED) as u64;
            self.sent.drain(first..at);
            self.acked = 0;
            return;
        }
        // Otherwise the next look skips them in one step.
        if let Some(known) = self.sent.get_mut(first).filter(|known| known.is_acked) {
            let run = u32::try_from(at.saturating_sub(first + 1)).unwrap_or(0);
            known.run = if known.age == self.age { known.run.max(run) } else { run };
            known.age = self.age;
        }
        if self.acked > FEW && self.acked * 2 > self.sent.len() {
            self.steps += self.sent.len() as u64;
            self.sent.retain(|known| !known.is_acked);
            self.acked = 0;
        }
    }

    /// Places have moved: the lengths of runs are not valid any more.
    fn forget_runs(&mut self) {
        self.age = self.age.wrapping_add(1);
        if self.acked > BEHIND {
            self.steps += self.sent.len() as u64;
            self.sent.retain(|known| !known.is_acked);
            self.acked = 0;
        }
    }

    /// Marks one packet as lost; `None` when it is unknown, acknowledged or lost already.
    pub fn lose(&mut self, number: u64) -> Option<&Sent> {
        let at = self.place(number)?;
        let known = self.sent.get_mut(at).filter(|known| known.waits())?;
        known.is_lost = true;
        self.waiting -= 1;
        Some(&known.packet)
    }

    /// The data of a packet that was not declared lost is sent again: the packet is remembered as long as a lost one.
    pub fn repeat(&mut self, number: u64) {
        if let Some(known) = self.place(number).and_then(|at| self.sent.get_mut(at)) {
            known.is_repeated = true;
        }
    }

    /// The packet is known, though it has no record.
    pub fn is_imputed(&self, number: u64) -> bool {
        self.place(number).is_some_and(|at| self.sent[at].packet.is_imputed)
    }

    /// The record of an imputed packet comes late; true when the packet is acknowledged.
    pub fn replace_imputed(&mut self, packet: Sent) -> bool {
        let Some(known) = self.place(packet.number).and_then(|at| self.sent.get_mut(at)) else { return false };
        known.packet = packet;
        known.is_acked
    }

    fn place(&self, number: u64) -> Option<usize> {
        let at = self.sent.partition_point(|known| known.packet.number < number);
        self.sent.get(at).filter(|known| known.packet.number == number).map(|_| at)
    }

    /// Keys were discarded: forgets all packets (RFC 9002, 6.4). Gives the bytes in flight that this removes.
    pub fn discard(&mut self) -> u64 {
        let on_the_way = self.sent.iter().filter(|known| known.is_on_its_way());
        let bytes = on_the_way.fold(0u64, |sum, known| sum.saturating_add(known.packet.bytes));
        self.sent.clear();
        (self.acked, self.waiting) = (0, 0);
        bytes
    }

    /// Some ack-eliciting packet is neither acknowledged nor lost, and either has a number above the largest
    /// acknowledged one or was sent since `since_us`. Both endpoints have forgotten older ones.
    pub fn is_waiting(&self, since_us: i64) -> bool {
        let is_recent = |known: &&PacketState| {
            known.packet.time_us >= since_us || self.largest_acked.is_some_and(|largest| known.packet.number > largest)
        };
        self.waiting > 0
            && self.sent.iter().rev().take_while(is_recent).any(|known| known.packet.is_eliciting && known.waits())
    }

    /// When the oldest packet that is neither acknowledged nor lost was sent.
    pub fn oldest_us(&mut self) -> Option<i64> {
        let at = self.first_waiting()?;
        self.sent.get(at).map(|known| known.packet.time_us)
    }

    /// Place of the oldest packet that is neither acknowledged nor lost.
    fn first_waiting(&mut self) -> Option<usize> {
        if self.waiting == 0 {
            return None;
        }
        let from = self.sent.partition_point(|known| known.packet.number < self.waits_from);
        let at = from + self.sent.range(from..).position(PacketState::waits)?;
        self.steps += (at - from) as u64;
        self.waits_from = self.sent.get(at)?.packet.number;
        Some(at)
    }

    /// Numbers of `count` packets in flight up to `largest`: the newest of them, which the log names, and the oldest,
    /// which are the likeliest to be lost. At most [`PASSED`] packets that are not in flight are skipped.
    pub fn oldest(&mut self, largest: u64, count: usize) -> Vec<u64> {
        let end = self.sent.partition_point(|known| known.packet.number <= largest);
        let start = self.first_waiting().map_or(end, |start| start.min(end));
        let mut passed = 0;
        let mut is_near = |known: &&PacketState| {
            passed += usize::from(!known.is_on_its_way());
            passed <= PASSED
        };
        let near = self.sent.range(start..end).take_while(&mut is_near).filter(|known| known.is_on_its_way());
        let mut numbers: Vec<u64> = near.take(count).map(|known| known.packet.number).collect();
        let newest = self.sent.range(start..end).rev().take(PASSED).find(|known| known.is_on_its_way());
        self.steps += (passed + numbers.len()) as u64;
        if let (Some(newest), Some(last)) = (newest, numbers.last_mut()) {
            *last = newest.packet.number.max(*last);
        }
        numbers
    }

    /// When the packet with that number went out, if it is on its way and elicits an acknowledgement.
    pub fn on_its_way_since(&self, number: u64) -> Option<i64> {
        let at = self.sent.binary_search_by(|known| known.packet.number.cmp(&number)).ok()?;
        let known = self.sent.get(at).filter(|known| known.is_on_its_way() && !known.packet.is_imputed)?;
        known.packet.is_eliciting.then_some(known.packet.time_us)
    }

    /// Packets that carried any of `[from, to)` of a stream and are not acknowledged, in order, as far as `looks` go.
    pub fn carriers(&self, stream_id: u64, from: u64, to: u64, looks: &mut Looks) -> Vec<&Sent> {
        let unacked = self.sent.iter().filter(|known| !known.is_acked).take(LOOKED_AT).map(|known| &known.packet);
        let affordable = unacked.take_while(|packet| looks.spend(1 + packet.chunks.len() as u64));
        let carries =
            |packet: &&Sent| packet.chunks().any(|chunk| chunk.stream_id == stream_id && chunk.meets(from, to));
        affordable.filter(carries).take(LOSSES_BESIDE).collect()
    }
}

/// Packets that are not in flight and are skipped at most in a search for those that are.
const PASSED: usize = 1024;

/// So few acknowledged packets are not removed.
const FEW: usize = 64;

/// So few packets may be moved at each acknowledgement without being counted as steps.
const MOVED: usize = 4;

/// What one packet may still cost whose data goes out again in a log that does not say what is lost: looks at pieces of
/// stream data of earlier packets, and at losses.
#[derive(Debug)]
pub struct Looks(u64);

impl Looks {
    /// All that a packet has.
    pub fn of_a_packet() -> Self {
        Self(CARRIER_LOOKS)
    }

    /// Takes some; false where so many are not left: then none is.
    pub fn spend(&mut self, looks: u64) -> bool {
        let left = self.0.checked_sub(looks);
        if left.is_none() && self.0 > 0 {
            Bound::CarrierLooks.cross();
        }
        self.0 = left.unwrap_or(0);
        left.is_some()
    }
}

/// Unacknowledged packets that are searched for the carriers of retransmitted data.
const LOOKED_AT: usize = 4096;

#[cfg(test)]
mod tests {
    use super::*;
    use crate::chance;

    fn sent(number: u64, time_us: i64) -> Sent {
        Sent { number, time_us, seq: number, bytes: 1, in_flight: true, is_eliciting: true, ..Sent::default() }
    }

    /// Compared with a plain map: for any order of sends, acknowledgements and losses, the same packets are newly
    /// acknowledged.
    #[test]
    fn runs_hide_no_packet() {
        let mut next = chance::numbers(7);
        for _ in 0..200 {
            let (mut space, mut waits) = (Space::default(), std::collections::BTreeMap::new());
            for step in 0..400 {
                let number = next(300);
                match next(8) {
                    0..4 => {
                        space.send(sent(number, step));
                        waits.insert(number, true);
                    }
                    4..7 => {
                        let to = number + next(80);
                        let mut newly = Vec::new();
                        space.acknowledge(number, to, &mut newly);
                        let newly: Vec<u64> = newly.iter().map(|acked| acked.packet.number).collect();
                        // Acknowledged packets at the front are removed; a packet that reuses such a number is new.
                        let wanted: Vec<u64> = waits.range(number..=to).map(|(number, _)| *number).collect();
                        assert_eq!(newly, wanted);
                        waits.retain(|known, _| !(number..=to).contains(known));
                    }
                    _ => {
                        let was_waiting = waits.get(&number).copied() == Some(true);
                        assert_eq!(space.lose(number).is_some(), was_waiting);
                        waits.entry(number).and_modify(|waits| *waits = false);
                    }
                }
                let live = waits.values().filter(|waits| **waits).count();
                assert_eq!(space.waiting, live);
                assert_eq!(space.is_waiting(0), live > 0);
                let tail = waits.iter().filter(|(number, waits)| **waits && Some(**number) > space.largest_acked);
                assert_eq!(space.is_waiting(i64::MAX), space.largest_acked.is_some() && tail.count() > 0);
                assert_eq!(space.oldest_us().is_some(), live > 0);
                let oldest: Vec<u64> = waits.iter().filter(|(_, waits)| **waits).map(|(number, _)| *number).collect();
                assert_eq!(space.oldest(u64::MAX, 400), oldest);
                if oldest.len() > 3 {
                    assert_eq!(space.oldest(u64::MAX, 3), [oldest[0], oldest[1], oldest[oldest.len() - 1]]);
                }
            }
        }
    }

    fn of(chunks: &[(bool, bool, bool)]) -> Repetition {
        let mut repetition = Repetition::default();
        chunks.iter().for_each(|(is_new, is_again, mends)| repetition.add(*is_new, *is_again, *mends));
        repetition
    }

    #[test]
    fn a_copy_has_nothing_new_and_mends_nothing() {
        assert!(of(&[(false, true, false)]).is_copy());
        assert!(!of(&[(false, true, false), (true, false, false)]).is_copy());
        assert!(!of(&[(false, true, false), (false, true, true)]).is_copy());
        assert!(!of(&[(false, true, true)]).is_again_unlost());
        assert!(!of(&[]).is_copy() && !of(&[(true, false, false)]).is_again());
    }
}
