//! One direction of a stream: which of its bytes were received, or acknowledged.

use crate::fold::recovery::packets::Chunk;
use crate::fold::requests::packet_count::PacketCount;
use crate::fold::requests::ranges::Ranges;
use get_size2::GetSize;
use serde::{Deserialize, Serialize};

/// Bytes of one direction.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, GetSize)]
pub struct Side {
    /// Bytes received, or acknowledged.
    done: Ranges,
    /// Highest offset seen.
    highest: u64,
    /// Offset of the end, once a FIN was seen.
    fin: Option<u64>,
    /// The FIN itself was received, or acknowledged.
    is_fin_done: bool,
    /// Packets that carried it.
    packets: PacketCount,
    /// Bytes sent again.
    repeated: u64,
}

impl Side {
    /// A frame of it stands in the packet of record `seq`: a packet counts once, however many frames it carries.
    pub fn packet(&mut self, seq: u64) {
        self.packets.frame_of(seq);
    }

    /// So many packets may have carried it.
    pub fn add_packets(&mut self, more: u64) {
        self.packets.add(more);
    }

    /// An imputed chunk was sent, or the record of one comes late: it counts as no retransmission.
    pub fn impute(&mut self, chunk: &Chunk) {
        self.highest = self.highest.max(chunk.to);
        if chunk.fin {
            self.fin = Some(chunk.to);
        }
    }

    /// Takes a chunk's extent; true when it brings something new.
    pub fn extend(&mut self, chunk: &Chunk) -> bool {
        let news = chunk.to > self.highest || (chunk.fin && self.fin.is_none());
        if !news && chunk.to > chunk.from {
            self.repeated = self.repeated.saturating_add(chunk.to - chunk.from);
        } else if chunk.from < self.highest {
            self.repeated = self.repeated.saturating_add(self.highest - chunk.from);
        }
        self.highest = self.highest.max(chunk.to);
        if chunk.fin {
            self.fin = Some(chunk.to);
        }
        news
    }

    /// A chunk was received, or acknowledged.
    pub fn take(&mut self, chunk: &Chunk) {
        self.done.add(chunk.from, chunk.to);
        self.is_fin_done |= chunk.fin;
    }

    /// All of `[from, to)`, and the end if `fin` asks for it, was received or acknowledged.
    pub fn has(&self, from: u64, to: u64, fin: bool) -> bool {
        self.done.covers(from, to) && (!fin || self.is_fin_done)
    }

    /// Every byte up to the FIN, and the FIN.
    pub fn is_whole(&self) -> bool {
        self.fin.is_some_and(|fin| self.has(0, fin, true))
    }

    /// Something has come behind a gap.
    pub fn has_gap(&self) -> bool {
        self.done.has_gap()
    }

    /// Highest offset seen.
    pub fn highest(&self) -> u64 {
        self.highest
    }

    /// A FIN was seen.
    pub fn has_fin(&self) -> bool {
        self.fin.is_some()
    }

    /// Packets that carried it.
    pub fn packets(&self) -> u64 {
        self.packets.get()
    }

    /// Bytes sent again.
    pub fn repeated(&self) -> u64 {
        self.repeated
    }

    /// Bytes in flight of this direction: unacknowledged bytes, and a sixteenth for headers and tags, the most that
    /// these add to full packets.
    pub fn in_flight(&self) -> u64 {
        let data = self.highest.saturating_sub(self.done.length());
        data.saturating_add(data / 16)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const fn chunk(from: u64, to: u64, fin: bool) -> Chunk {
        Chunk { stream_id: 0, from, to, fin }
    }

    #[test]
    fn repeated_bytes_are_counted_and_a_side_is_whole_only_with_its_fin() {
        let mut side = Side::default();
        assert!(side.extend(&chunk(0, 100, false)) && !side.extend(&chunk(50, 100, false)));
        assert!(side.extend(&chunk(80, 200, false)) && side.extend(&chunk(200, 200, true)));
        assert_eq!((side.highest(), side.repeated(), side.has_fin()), (200, 70, true));
        side.take(&chunk(100, 200, false));
        assert!(side.has_gap() && !side.has(0, 200, false));
        side.take(&chunk(0, 100, false));
        assert!(side.has(0, 200, false) && !side.has(0, 200, true) && !side.is_whole());
        side.take(&chunk(200, 200, true));
        assert!(side.is_whole());
        assert_eq!(side.in_flight(), 0);
    }
}
