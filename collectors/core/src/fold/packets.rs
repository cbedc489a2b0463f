//! Packets on their way: what was sent and is neither acknowledged nor forgotten.

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
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
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
    /// Was acknowledged.
    pub acked: bool,
    /// Was declared lost.
    pub lost: bool,
    /// It went out in 0-RTT.
    pub early: bool,
    /// Smoothed RTT when it was sent.
    pub rtt_us: i64,
    /// Bytes that were acknowledged on this path when it was sent.
    pub delivered: u64,
    /// First chunk of stream data, most packets have one.
    pub chunk: Option<Chunk>,
    /// The others.
    pub chunks: Vec<Chunk>,
}

impl Sent {
    /// Its stream data.
    pub fn chunks(&self) -> impl Iterator<Item = &Chunk> {
        self.chunk.iter().chain(&self.chunks)
    }
}

/// One packet number space of one path.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Space {
    /// 0 Initial, 1 Handshake, 2 application.
    pub kind: u8,
    /// Path, 0 where there is only one.
    pub path: u64,
    sent: VecDeque<Sent>,
    /// Largest acknowledged number.
    pub largest_acked: Option<u64>,
    /// Largest received number.
    pub largest_received: Option<u64>,
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
            first.acked || (first.lost && packet.time_us.saturating_sub(first.time_us) > REMEMBER_LOST_US)
        }) || self.sent.len() >= UNACKNOWLEDGED
        {
            self.sent.pop_front();
        }
        match self.sent.back() {
            Some(last) if last.number >= packet.number => {
                let at = self.sent.partition_point(|known| known.number < packet.number);
                if self.sent[at].number == packet.number {
                    self.sent[at] = packet;
                } else {
                    self.sent.insert(at, packet);
                }
            }
            _ => self.sent.push_back(packet),
        }
    }

    /// Marks `[from, to]` as acknowledged and calls `newly` for each packet that was not.
    pub fn ack(&mut self, from: u64, to: u64, mut newly: impl FnMut(&Sent)) {
        self.largest_acked = Some(self.largest_acked.map_or(to, |known| known.max(to)));
        let first = self.sent.partition_point(|known| known.number < from);
        for packet in self.sent.range_mut(first..) {
            if packet.number > to {
                break;
            }
            if !packet.acked {
                packet.acked = true;
                newly(packet);
            }
        }
    }

    /// Marks one packet as lost; `None` when it is unknown, acknowledged or lost already.
    pub fn lose(&mut self, number: u64) -> Option<&Sent> {
        let at = self.sent.partition_point(|known| known.number < number);
        let packet = self.sent.get_mut(at).filter(|packet| packet.number == number && !packet.acked && !packet.lost)?;
        packet.lost = true;
        Some(packet)
    }

    /// Bytes on their way, as packets whose keys are discarded leave the count (RFC 9002, 6.4).
    pub fn discard(&mut self) -> u64 {
        let on_the_way = self.sent.iter().filter(|packet| packet.in_flight && !packet.acked && !packet.lost);
        let bytes = on_the_way.fold(0u64, |sum, packet| sum.saturating_add(packet.bytes));
        self.sent.clear();
        bytes
    }

    /// When the oldest packet left that is neither acknowledged nor lost.
    pub fn oldest_us(&self) -> Option<i64> {
        self.sent.iter().find(|packet| !packet.acked && !packet.lost).map(|packet| packet.time_us)
    }

    /// Numbers of the oldest `count` packets up to `largest` that are on their way.
    pub fn oldest(&self, largest: u64, count: usize) -> Vec<u64> {
        let on_the_way = self.sent.iter().filter(|packet| packet.in_flight && !packet.acked && !packet.lost);
        let mut numbers: Vec<u64> =
            on_the_way.map(|packet| packet.number).take_while(|number| *number <= largest).collect();
        if numbers.len() > count {
            // The largest is named; of the others the oldest are the likeliest.
            let last = numbers.pop();
            numbers.truncate(count.saturating_sub(1));
            numbers.extend(last);
        }
        numbers
    }

    /// Packets that carried any of `[from, to)` of a stream and are not acknowledged, in order.
    pub fn carriers(&self, stream_id: u64, from: u64, to: u64) -> impl Iterator<Item = &Sent> {
        self.sent.iter().take(4096).filter(move |packet| {
            !packet.acked && packet.chunks().any(|chunk| chunk.stream_id == stream_id && chunk.meets(from, to))
        })
    }
}
