//! Sent packets are processed when their instant is over, after everything that was received, stated or queued in it.
//! So the order of records of one time changes nothing (ATTRIBUTION, rule 8).

use crate::crossed::Bound;
use crate::fold::recovery::SpaceId;
use crate::fold::recovery::packets::Sent;
use crate::limits::DEPARTURES;
use get_size2::GetSize;
use serde::{Deserialize, Serialize};
use std::collections::BTreeSet;

/// What a packet of ours carries, beside stream data.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, GetSize)]
#[expect(clippy::struct_excessive_bools, reason = "a set")]
pub struct Frames {
    /// It elicits an acknowledgement (RFC 9002, 2).
    pub eliciting: bool,
    /// An acknowledgement.
    pub acks: bool,
    /// Padding.
    pub padded: bool,
    /// A PING.
    pub pings: bool,
    /// A PATH_CHALLENGE.
    pub challenges: bool,
}

/// A packet of ours.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, GetSize)]
pub struct Departure {
    /// Its number space.
    pub space_id: SpaceId,
    /// Its path, as the log names it.
    pub path_id: u64,
    /// The log gives its number.
    pub is_numbered: bool,
    /// It comes from an event that has only frames of a packet.
    pub is_loose: bool,
    /// The log says that it is a probe.
    pub is_probe: bool,
    /// The packet.
    pub packet: Sent,
    /// What it carries.
    pub frames: Frames,
    /// Streams that it resets.
    pub resets: Vec<u64>,
}

impl Departure {
    /// Both are of one packet, and one of them has only frames.
    fn belongs_to(&self, other: &Self) -> bool {
        let is_loose = self.is_loose || other.is_loose;
        let are_numbered = self.is_numbered && other.is_numbered;
        is_loose && are_numbered && self.space_id == other.space_id && self.packet.number == other.packet.number
    }

    /// Merges another record of the same packet. If the packet's own record has frames, those of the other do not
    /// count.
    fn join(&mut self, other: &mut Self) {
        if self.is_loose && !other.is_loose {
            std::mem::swap(self, other);
        }
        if !self.is_loose && (self.frames != Frames::default() || !self.resets.is_empty()) {
            return;
        }
        self.frames = self.frames.and(other.frames);
        self.resets.append(&mut other.resets);
        other.packet.chunks().for_each(|chunk| self.packet.carry(*chunk));
        self.packet.is_eliciting |= other.packet.is_eliciting;
        self.packet.in_flight |= other.packet.in_flight;
    }
}

impl Frames {
    fn and(self, other: Self) -> Self {
        Self {
            eliciting: self.eliciting | other.eliciting,
            acks: self.acks | other.acks,
            padded: self.padded | other.padded,
            pings: self.pings | other.pings,
            challenges: self.challenges | other.challenges,
        }
    }
}

/// A range of packets that a packet of ours acknowledges: their number space, first and last.
pub type AcknowledgedRange = (SpaceId, (u64, u64));

/// The packets that are sent at the current time, and the ranges that they acknowledge of packets that may have no
/// record.
#[derive(Clone, Debug, Default, Serialize, Deserialize, GetSize)]
pub struct Departures(Option<Box<Going>>);

#[derive(Clone, Debug, Default, Serialize, Deserialize, GetSize)]
struct Going {
    list: Vec<Departure>,
    acknowledged: Vec<AcknowledgedRange>,
    /// Numbers of the first `indexed` of the list, if they are too many for a linear search.
    #[serde(skip)]
    numbers: BTreeSet<(u8, u64, u64)>,
    #[serde(skip)]
    indexed: usize,
}

/// A list up to this length is searched linearly.
const FEW: usize = 16;

impl Departure {
    fn key(&self) -> (u8, u64, u64) {
        (self.space_id.kind as u8, self.space_id.path, self.packet.number)
    }
}

impl Going {
    fn add(&mut self, departure: Departure) {
        if self.list.capacity() == 0 {
            // Most instants have one sent packet.
            self.list.reserve_exact(1);
        }
        self.list.push(departure);
        if self.list.len() > FEW {
            self.numbers.extend(self.list.iter().skip(self.indexed).map(Departure::key));
            self.indexed = self.list.len();
        }
    }

    fn has_any_of(&self, space_id: SpaceId, (from, to): (u64, u64)) -> bool {
        if self.list.len() > FEW && self.indexed == self.list.len() {
            let key = |number| (space_id.kind as u8, space_id.path, number);
            return self.numbers.range(key(from)..=key(to)).next().is_some();
        }
        let of_place = self.list.iter().filter(|departure| departure.space_id == space_id);
        of_place.map(|departure| departure.packet.number).any(|number| (from..=to).contains(&number))
    }
}

impl Departures {
    /// A packet is sent. True when there are so many that they must be processed now.
    pub fn add(&mut self, departure: Departure) -> bool {
        let going = self.0.get_or_insert_default();
        going.add(departure);
        let are_too_many = going.list.len() >= DEPARTURES;
        if are_too_many {
            Bound::Departures.cross();
        }
        are_too_many
    }

    /// We acknowledge packets, some of which may have no record.
    pub fn acknowledge(&mut self, space_id: SpaceId, mut ranges: impl Iterator<Item = (u64, u64)>) {
        let acknowledged = &mut self.0.get_or_insert_default().acknowledged;
        let room = DEPARTURES.saturating_sub(acknowledged.len());
        acknowledged.extend(ranges.by_ref().take(room).map(|range| (space_id, range)));
        if ranges.next().is_some() {
            Bound::Departures.cross();
        }
    }

    /// None went out.
    pub fn are_none(&self) -> bool {
        self.0.as_ref().is_none_or(|going| going.list.is_empty())
    }

    /// One of them is among these packets of a number space: the first and last of each run, in either order.
    pub fn have_any_of(&self, space_id: SpaceId, packets: impl IntoIterator<Item = (u64, u64)>) -> bool {
        let Some(going) = self.0.as_deref().filter(|going| !going.list.is_empty()) else { return false };
        packets.into_iter().any(|(from, to)| going.has_any_of(space_id, (from.min(to), from.max(to))))
    }

    /// Takes all out: the packets in the order of their numbers, as packet numbers only increase (RFC 9000, 12.3),
    /// whatever the order of the log; and the ranges that they acknowledge.
    pub fn take(&mut self) -> (Vec<Departure>, Vec<AcknowledgedRange>) {
        let Going { mut list, acknowledged, .. } = self.0.as_deref_mut().map(std::mem::take).unwrap_or_default();
        let in_order = |one: &Departure, other: &Departure| {
            let are_alike = one.is_numbered && other.is_numbered && one.space_id == other.space_id;
            !are_alike || one.packet.number <= other.packet.number
        };
        if !list.is_sorted_by(in_order) {
            list.sort_by_key(|departure| {
                (departure.space_id.kind as u8, departure.space_id.path, departure.packet.number)
            });
        }
        list.dedup_by(|later, first| {
            let is_one = later.belongs_to(first);
            if is_one {
                first.join(later);
            }
            is_one
        });
        (list, acknowledged)
    }

    /// Returns the buffer for reuse.
    pub fn give_back(&mut self, mut list: Vec<Departure>) {
        list.clear();
        if let Some(going) = self.0.as_deref_mut().filter(|going| going.list.capacity() == 0) {
            going.list = list;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::crossed::crosses;
    use crate::fold::recovery::packets::Chunk;

    fn departure(number: u64, path: u64) -> Departure {
        Departure {
            space_id: SpaceId { path, ..SpaceId::default() },
            path_id: path,
            is_numbered: true,
            is_loose: false,
            is_probe: false,
            packet: Sent { number, ..Sent::default() },
            frames: Frames::default(),
            resets: Vec::new(),
        }
    }

    #[test]
    fn frames_in_events_of_their_own_are_those_of_their_packet() {
        let chunk = |from| Chunk { stream_id: 0, from, to: from + 10, fin: false };
        let loose = |number, from| {
            let frames = Frames { eliciting: true, ..Frames::default() };
            let mut packet = Sent { number, is_eliciting: true, in_flight: true, ..Sent::default() };
            packet.carry(chunk(from));
            Departure { is_loose: true, packet, frames, ..departure(number, 0) }
        };
        let mut own = loose(8, 20);
        own.is_loose = false;
        let mut bare = departure(7, 0);
        bare.packet.bytes = 100;
        // Two events tell of packet 7, which is logged without frames; packet 8 is told of twice.
        let mut departures = Departures::default();
        for departure in [loose(7, 0), loose(7, 10), loose(8, 20), bare, own] {
            departures.add(departure);
        }
        let told = |departure: &Departure| {
            let packet = &departure.packet;
            (packet.number, packet.bytes, packet.in_flight, packet.chunks().copied().collect::<Vec<_>>())
        };
        let told: Vec<_> = departures.take().0.iter().map(told).collect();
        assert_eq!(told, [(7, 100, true, vec![chunk(0), chunk(10)]), (8, 0, true, vec![chunk(20)])]);
    }

    fn taken(numbers: &[(u64, u64)]) -> Vec<(u64, u64)> {
        let mut departures = Departures::default();
        numbers.iter().for_each(|(number, path)| assert!(!departures.add(departure(*number, *path))));
        departures.take().0.iter().map(|departure| (departure.packet.number, departure.path_id)).collect()
    }

    #[test]
    fn packets_of_one_instant_go_in_the_order_of_their_numbers() {
        assert_eq!(taken(&[(3, 0), (1, 0), (2, 0)]), [(1, 0), (2, 0), (3, 0)]);
        assert_eq!(taken(&[(7, 0), (1, 1), (8, 0)]), [(7, 0), (1, 1), (8, 0)], "each path has its own");
    }

    #[test]
    fn sent_packets_of_the_instant_are_found_by_number() {
        let mut departures = Departures::default();
        departures.add(departure(5, 0));
        let space_id = SpaceId::default();
        assert!(departures.have_any_of(space_id, [(0, 1), (6, 4)]) && !departures.have_any_of(space_id, [(0, 4)]));
        assert!(!departures.have_any_of(SpaceId { path: 1, ..space_id }, [(5, 5)]));
        assert!((10..100).all(|number| !departures.add(departure(2 * number, 0))));
        let named: Vec<u64> =
            (0..250).filter(|number| departures.have_any_of(space_id, [(*number, *number)])).collect();
        let wanted: Vec<u64> = [5].into_iter().chain((10..100).map(|number| 2 * number)).collect();
        assert_eq!(named, wanted);
    }

    #[test]
    fn packets_of_one_instant_are_bounded_when_the_clock_stands_still() {
        let mut departures = Departures::default();
        assert_eq!((0..DEPARTURES as u64).filter(|number| departures.add(departure(*number, 0))).count(), 1);
        crosses(Bound::Departures, || {
            departures.acknowledge(SpaceId::default(), (0..2 * DEPARTURES as u64).map(|number| (number, number)));
        });
        assert_eq!(departures.take().1.len(), DEPARTURES);
    }
}
