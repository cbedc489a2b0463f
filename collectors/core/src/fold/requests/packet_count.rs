//! How many packets carried something, where each of their frames is told.

use get_size2::GetSize;
use serde::{Deserialize, Serialize};

/// A number of packets. Frames of a packet are told one after the other: they count as one.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, GetSize)]
pub struct PacketCount {
    packets: u64,
    /// One more than what names the newest packet.
    newest: u64,
}

impl PacketCount {
    /// A frame stands in the packet that `name` names: the index of its record, or its number.
    pub fn frame_of(&mut self, name: u64) {
        let newest = name.saturating_add(1);
        self.packets += u64::from(self.newest != newest);
        self.newest = newest;
    }

    /// So many other packets.
    pub fn add(&mut self, packets: u64) {
        self.packets = self.packets.saturating_add(packets);
    }

    /// The number.
    pub fn get(self) -> u64 {
        self.packets
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn frames_of_one_packet_count_once() {
        let mut count = PacketCount::default();
        [0, 0, 7, 7, 8].into_iter().for_each(|name| count.frame_of(name));
        count.add(2);
        assert_eq!(count.get(), 5);
    }
}
