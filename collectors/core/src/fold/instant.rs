//! One microsecond of a connection. Its events are processed when it is over, so the order of records within it changes
//! nothing (ATTRIBUTION, rule 8).

use crate::fold::recovery::packets::Chunk;
use crate::fold::requests::ranges::Ranges;
use crate::fold::window::paths::InstantTraffic;
use get_size2::GetSize;
use rustc_hash::FxHashSet;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// What happened at the current time.
#[derive(Clone, Debug, Default, Serialize, Deserialize, GetSize)]
pub struct Instant {
    /// New data went out, and not as a probe.
    has_news: bool,
    /// Streams whose new data was sent, and the seq of the first such packet. A log that is truncated within the
    /// instant gives the same seq.
    senders: Vec<(u64, u64)>,
    /// Those streams.
    sending: Ids,
    /// Streams of which anything went out.
    carried: Ids,
    /// Bytes that went out.
    bytes: u64,
    /// Bytes left the flight, or the window grew.
    has_opened: bool,
    /// A packet came or went.
    has_packets: bool,
    /// Data of ours that was acknowledged in a packet with data that had gone out before, by stream: it repairs a loss
    /// that is declared in the same instant.
    repaired: BTreeMap<u64, Ranges>,
}

impl Instant {
    /// A packet goes out.
    pub fn send(&mut self, bytes: u64) {
        self.bytes = self.bytes.saturating_add(bytes);
    }

    /// A packet comes or goes.
    pub fn packet(&mut self) {
        self.has_packets = true;
    }

    /// Which packets it had.
    pub fn traffic(&self) -> InstantTraffic {
        match self {
            Self { bytes: 1.., .. } => InstantTraffic::Sent,
            Self { has_packets: true, .. } => InstantTraffic::Received,
            Self { .. } => InstantTraffic::None,
        }
    }

    /// New data goes out, if it does.
    pub fn note_news(&mut self, has_news: bool) {
        self.has_news |= has_news;
    }

    /// Something of a stream goes out.
    pub fn carry(&mut self, stream_id: u64) {
        self.carried.insert(stream_id);
    }

    /// New data of a stream goes out.
    pub fn begin(&mut self, stream_id: u64, seq: u64) {
        if self.sending.insert(stream_id) {
            self.senders.push((stream_id, seq));
        }
    }

    /// Bytes leave the flight, or the window grows, if they do.
    pub fn note_room(&mut self, has_opened: bool) {
        self.has_opened |= has_opened;
    }

    /// A chunk was acknowledged of a packet with data that had gone out before.
    pub fn repair(&mut self, chunk: &Chunk) {
        let (from, to) = chunk.extent();
        self.repaired.entry(chunk.stream_id).or_default().add(from, to);
    }

    /// Some of a chunk was.
    pub fn has_repaired(&self, chunk: &Chunk) -> bool {
        let (from, to) = chunk.extent();
        self.repaired.get(&chunk.stream_id).is_some_and(|ranges| ranges.meets(from, to))
    }

    /// New data went out, and not as a probe.
    pub fn has_news(&self) -> bool {
        self.has_news
    }

    /// And room was made.
    pub fn has_news_and_room(&self) -> bool {
        self.has_news && self.has_opened
    }

    /// Bytes that went out.
    pub fn bytes(&self) -> u64 {
        self.bytes
    }

    /// Streams whose new data went out, and the seq with which it began to.
    pub fn senders(&self) -> &[(u64, u64)] {
        &self.senders
    }

    /// Streams of which anything went out.
    pub fn carried(&self) -> &Ids {
        &self.carried
    }

    /// Nothing of a stream went out.
    pub fn is_idle(&self) -> bool {
        self.carried.list.is_empty()
    }

    /// The next one, in the same buffers.
    pub fn next(self) -> Self {
        let Self { mut senders, mut sending, mut carried, .. } = self;
        senders.clear();
        sending.clear();
        carried.clear();
        Self { senders, sending, carried, ..Self::default() }
    }
}

/// Ids in the order in which they came, each once.
#[derive(Clone, Debug, Default, Serialize, Deserialize, GetSize)]
pub struct Ids {
    list: Vec<u64>,
    /// The same ids, if they are too many for a linear search.
    #[serde(skip)]
    set: FxHashSet<u64>,
}

/// A list up to this length is searched linearly.
const FEW: usize = 16;

impl Ids {
    /// True when it is new.
    fn insert(&mut self, id: u64) -> bool {
        let is_new = if self.list.len() < FEW {
            !self.list.contains(&id)
        } else {
            if self.set.len() < self.list.len() {
                self.set.extend(&self.list);
            }
            self.set.insert(id)
        };
        if is_new {
            self.list.push(id);
        }
        is_new
    }

    /// It is one of them.
    pub fn contains(&self, id: u64) -> bool {
        if self.set.is_empty() { self.list.contains(&id) } else { self.set.contains(&id) }
    }

    fn clear(&mut self) {
        self.list.clear();
        self.set.clear();
    }
}

/// The two streams that sent last before the current time. For any stream, at least one of them is another stream.
#[derive(Clone, Debug, Default, Serialize, Deserialize, GetSize)]
pub struct LastSenders(Option<Box<[LastSent; 2]>>);

/// When a stream sent last, and which.
type LastSent = Option<(i64, u64)>;

impl LastSenders {
    /// When a stream other than `id` sent last.
    pub fn other_than(&self, id: u64) -> Option<i64> {
        let both = self.0.iter().flat_map(|both| both.iter().flatten());
        both.filter(|(_, stream)| *stream != id).map(|(time, _)| *time).max()
    }

    /// An instant is over in which these sent.
    pub fn note(&mut self, carried: &Ids, time_us: i64) {
        for id in &carried.list {
            let both = self.0.get_or_insert_default();
            let [newest, older] = **both;
            **both = match newest {
                Some((_, stream)) if stream == *id => [Some((time_us, *id)), older],
                _ => [Some((time_us, *id)), newest],
            };
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_instant_begins_empty_whatever_was_in_the_last() {
        let mut instant = Instant::default();
        for id in (0..40).chain(0..40) {
            instant.carry(id);
            instant.begin(id, 100 + id);
        }
        instant.send(1_200);
        instant.note_news(true);
        instant.note_room(true);
        assert_eq!((instant.senders().len(), instant.senders()[39], instant.bytes()), (40, (39, 139), 1_200));
        assert!(instant.has_news_and_room() && instant.carried().contains(39) && !instant.carried().contains(40));
        let next = instant.next();
        assert!(next.is_idle() && next.senders().is_empty() && !next.has_news() && next.bytes() == 0);
    }

    #[test]
    fn the_last_send_of_another_stream_is_known() {
        let mut last = LastSenders::default();
        let carried = |ids: &[u64]| {
            let mut carried = Ids::default();
            ids.iter().for_each(|id| assert!(carried.insert(*id)));
            carried
        };
        last.note(&carried(&[0]), 10);
        assert_eq!((last.other_than(0), last.other_than(4)), (None, Some(10)));
        last.note(&carried(&[4]), 20);
        last.note(&carried(&[4]), 30);
        assert_eq!((last.other_than(0), last.other_than(4), last.other_than(8)), (Some(30), Some(10), Some(30)));
    }
}
