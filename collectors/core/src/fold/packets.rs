//! Packets on their way: what was sent and is neither acknowledged nor forgotten.

use crate::fold::delivery::Stamp;
use crate::limits::UNACKNOWLEDGED;
use serde::{Deserialize, Serialize};
use std::collections::VecDeque;

/// Stream bytes of a packet.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
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
    /// It has any of `[from, to)`; an end without bytes stands where the next byte would.
    pub fn meets(&self, from: u64, to: u64) -> bool {
        self.from < to.max(from + 1) && from < self.to.max(self.from + 1)
    }
}

/// A packet that we sent.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Sent {
    /// Packet number.
    pub number: u64,
    /// When.
    pub time_us: i64,
    /// Event.
    pub seq: u64,
    /// Size.
    pub bytes: u64,
    /// Counts towards bytes in flight (RFC 9002, 2).
    pub in_flight: bool,
    /// Elicits an acknowledgement.
    pub is_eliciting: bool,
    /// Was acknowledged.
    pub acked: bool,
    /// Was declared lost.
    pub lost: bool,
    /// What it carried went out again, in a log that does not say what is lost.
    pub is_repeated: bool,
    /// Acknowledged packets that follow it, and are acknowledged as it is: so many at least.
    pub run: u32,
    /// It went out in 0-RTT.
    pub early: bool,
    /// Smoothed RTT when it was sent.
    pub rtt_us: i64,
    /// What its acknowledgement tells of the path's rate is measured from here.
    pub stamp: Stamp,
    /// All its stream data had gone out before, and was not lost: a probe's copy.
    pub is_copy: bool,
    /// First chunk of stream data, most packets have one.
    pub chunk: Option<Chunk>,
    /// The others.
    pub chunks: Vec<Chunk>,
}

impl Sent {
    /// Neither acknowledged nor lost.
    fn waits(&self) -> bool {
        !self.acked && !self.lost
    }

    /// Its stream data.
    pub fn chunks(&self) -> impl Iterator<Item = &Chunk> {
        self.chunk.iter().chain(&self.chunks)
    }
}

/// One packet number space of one path.
///
/// Acknowledged packets are passed over in runs and taken out when they are as many as the others, so that no packet
/// that stays without an acknowledgement makes those behind it cost anything.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Space {
    /// 0 Initial, 1 Handshake, 2 application.
    pub kind: u8,
    /// Path, 0 where there is only one.
    pub path: u64,
    sent: VecDeque<Sent>,
    /// Of `sent`, those that are acknowledged.
    acked: usize,
    /// Those that are neither acknowledged nor lost.
    waiting: usize,
    /// Largest acknowledged number.
    pub largest_acked: Option<u64>,
    /// Largest received number.
    pub largest_received: Option<u64>,
    /// Largest sent number, of packets that elicit no acknowledgement too.
    pub largest_sent: Option<u64>,
    /// Packets that were looked at so far: what the work of a log is measured by.
    #[serde(skip)]
    pub steps: u64,
}

/// [`Space::kind`] of 0-RTT and 1-RTT packets.
pub const APPLICATION: u8 = 2;

/// How long a lost packet is remembered, to see that its loss was spurious.
const REMEMBER_LOST_US: i64 = 3_000_000;

impl Space {
    /// An empty space.
    pub fn new(kind: u8, path: u64) -> Self {
        Self { kind, path, ..Self::default() }
    }

    /// Takes a packet; one whose number is known replaces it.
    pub fn send(&mut self, packet: Sent) {
        while self.sent.front().is_some_and(|first| {
            first.acked
                || ((first.lost || first.is_repeated)
                    && packet.time_us.saturating_sub(first.time_us) > REMEMBER_LOST_US)
        }) || self.sent.len() >= UNACKNOWLEDGED
        {
            if let Some(gone) = self.sent.pop_front() {
                self.acked -= usize::from(gone.acked);
                self.waiting -= usize::from(gone.waits());
            }
        }
        self.waiting += usize::from(packet.waits());
        match self.sent.back() {
            Some(last) if last.number >= packet.number => {
                let at = self.sent.partition_point(|known| known.number < packet.number);
                if self.sent[at].number == packet.number {
                    let known = std::mem::replace(&mut self.sent[at], packet);
                    self.acked -= usize::from(known.acked);
                    self.waiting -= usize::from(known.waits());
                    if known.acked {
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

    /// Marks `[from, to]` as acknowledged and calls `newly` for each packet that was not.
    pub fn ack(&mut self, from: u64, to: u64, mut newly: impl FnMut(&Sent)) {
        self.largest_acked = Some(self.largest_acked.map_or(to, |known| known.max(to)));
        let first = self.sent.partition_point(|known| known.number < from);
        let mut at = first;
        while let Some(packet) = self.sent.get_mut(at).filter(|packet| packet.number <= to) {
            self.steps += 1;
            if packet.acked {
                at += packet.run as usize + 1;
                continue;
            }
            self.waiting -= usize::from(packet.waits());
            packet.acked = true;
            self.acked += 1;
            newly(packet);
            at += 1;
        }
        // All from `first` on are acknowledged: the next time they are one step.
        if let Some(packet) = self.sent.get_mut(first).filter(|packet| packet.acked) {
            packet.run = packet.run.max(u32::try_from(at.saturating_sub(first + 1)).unwrap_or(0));
        }
        if self.acked > FEW && self.acked * 2 > self.sent.len() {
            self.steps += self.sent.len() as u64;
            self.sent.retain(|packet| !packet.acked);
            self.acked = 0;
        }
    }

    /// Places have moved: what was said of runs is no longer so. Numbers that go back are rare, and cost so much.
    fn forget_runs(&mut self) {
        self.steps += self.sent.len() as u64;
        self.sent.iter_mut().for_each(|packet| packet.run = 0);
    }

    /// Marks one packet as lost; `None` when it is unknown, acknowledged or lost already.
    pub fn lose(&mut self, number: u64) -> Option<&Sent> {
        let packet = self.get_mut(number).filter(|packet| packet.waits())?;
        packet.lost = true;
        self.waiting -= 1;
        self.get_mut(number).map(|packet| &*packet)
    }

    /// The data of a packet that nobody declared lost goes out again: it is not waited for longer than for a lost one.
    pub fn repeat(&mut self, number: u64) {
        if let Some(packet) = self.get_mut(number) {
            packet.is_repeated = true;
        }
    }

    fn get_mut(&mut self, number: u64) -> Option<&mut Sent> {
        let at = self.sent.partition_point(|known| known.number < number);
        self.sent.get_mut(at).filter(|packet| packet.number == number)
    }

    /// Bytes on their way, as packets whose keys are discarded leave the count (RFC 9002, 6.4).
    pub fn discard(&mut self) -> u64 {
        let on_the_way = self.sent.iter().filter(|packet| packet.in_flight && packet.waits());
        let bytes = on_the_way.fold(0u64, |sum, packet| sum.saturating_add(packet.bytes));
        self.sent.clear();
        (self.acked, self.waiting) = (0, 0);
        bytes
    }

    /// Some packet that elicits an acknowledgement is neither acknowledged nor lost, and lies behind all that are
    /// acknowledged or went out since `since_us`. One that is older was forgotten by all sides.
    pub fn is_waiting(&self, since_us: i64) -> bool {
        self.waiting > 0
            && self
                .sent
                .iter()
                .rev()
                .take_while(|packet| {
                    packet.time_us >= since_us || self.largest_acked.is_some_and(|largest| packet.number > largest)
                })
                .any(|packet| packet.is_eliciting && packet.waits())
    }

    /// When the oldest packet left that is neither acknowledged nor lost.
    pub fn oldest_us(&self) -> Option<i64> {
        if self.waiting == 0 {
            return None;
        }
        self.sent.iter().find(|packet| packet.waits()).map(|packet| packet.time_us)
    }

    /// Numbers of the oldest `count` packets up to `largest` that are on their way. The largest is named; of the others
    /// the oldest are the likeliest.
    pub fn oldest(&self, largest: u64, count: usize) -> Vec<u64> {
        let end = self.sent.partition_point(|known| known.number <= largest);
        let mut on_the_way = self.sent.range(..end).filter(|packet| packet.in_flight && packet.waits());
        let mut numbers: Vec<u64> = on_the_way.by_ref().take(count).map(|packet| packet.number).collect();
        if let (Some(newest), Some(last)) = (on_the_way.next_back(), numbers.last_mut()) {
            *last = newest.number;
        }
        numbers
    }

    /// Packets that carried any of `[from, to)` of a stream and are not acknowledged, in order.
    pub fn carriers(&self, stream_id: u64, from: u64, to: u64) -> impl Iterator<Item = &Sent> {
        let unacked = self.sent.iter().filter(|packet| !packet.acked).take(LOOKED_AT);
        unacked.filter(move |packet| packet.chunks().any(|chunk| chunk.stream_id == stream_id && chunk.meets(from, to)))
    }
}

/// Acknowledged packets that are not worth taking out.
const FEW: usize = 64;

/// Unacknowledged packets among which those are looked for that carried what goes out again.
const LOOKED_AT: usize = 4096;

#[cfg(test)]
mod tests {
    use super::*;

    fn sent(number: u64, time_us: i64) -> Sent {
        Sent { number, time_us, seq: number, bytes: 1, in_flight: true, is_eliciting: true, ..Sent::default() }
    }

    /// Against a plain set: whatever is sent, acknowledged and lost in whatever order, the same packets are new.
    #[test]
    fn runs_hide_no_packet() {
        let mut state = 7u64;
        let mut next = |below: u64| {
            state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            (state >> 33) % below
        };
        for _ in 0..200 {
            let (mut space, mut waits) = (Space::new(2, 0), std::collections::BTreeMap::new());
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
                        space.ack(number, to, |packet| newly.push(packet.number));
                        // The front is let go when it is acknowledged; what is sent later with its number is new.
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
}
