//! Flow control (RFC 9000, 4): how much the peer allows us to send, on the connection and on each stream.

use crate::crossed::Bound;
use crate::fold::moment::Moment;
use crate::fold::recovery::packets::Chunk;
use crate::limits::OTHER_STREAMS;
use get_size2::GetSize;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// Changes of the initial limit that are believed. A peer states its parameters once, and before that remembered ones
/// for 0-RTT (RFC 9000, 7.4.1), so more changes are not plausible.
const STATED: u8 = 16;

/// The sender's own statement that it has data but no credit: a DATA_BLOCKED or STREAM_DATA_BLOCKED frame (RFC 9000,
/// 19.12 and 19.13). If an application may queue only as much as there is credit for, the log shows this wait in no
/// other way. The last two are kept, boxed, as most senders never send such a frame: records of one instant may stand in
/// any order, and one wait begins in the instant in which the one before ends.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, GetSize)]
pub struct ToldWaits(Option<Box<ToldWait>>);

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, GetSize)]
struct ToldWait {
    limit: u64,
    since_us: i64,
    until_us: Option<i64>,
    /// The wait before: from, to.
    before: Option<(i64, i64)>,
}

impl ToldWait {
    fn part(since_us: i64, until_us: i64, start_us: i64, end_us: i64) -> Option<(i64, i64)> {
        let (from_us, to_us) = (since_us.max(start_us), until_us.min(end_us));
        (from_us < to_us).then_some((from_us, to_us))
    }
}

impl ToldWaits {
    /// A frame states a blocked limit; it counts only if that is not below `known`, the limit in force. A repeated
    /// frame changes nothing.
    fn tell(&mut self, limit: Option<u64>, known: Option<u64>, now_us: i64) {
        let Some(limit) = limit.or(known).filter(|limit| known.is_none_or(|known| known <= *limit)) else { return };
        if self.0.as_ref().is_none_or(|told| told.limit != limit || told.until_us.is_some()) {
            // A frame that names another limit says that the one before has been raised.
            let before = self.0.as_ref().map(|told| (told.since_us, told.until_us.unwrap_or(now_us)));
            self.0 = Some(Box::new(ToldWait { limit, since_us: now_us, until_us: None, before }));
        }
    }

    /// The peer states a limit.
    fn raise(&mut self, limit: u64, now_us: i64) {
        if let Some(told) = self.0.as_mut().filter(|told| told.limit < limit) {
            told.until_us.get_or_insert(now_us);
        }
    }

    /// The time within `[start_us, end_us)` in which we stated that we had data but no credit.
    pub fn within(&self, start_us: i64, end_us: i64) -> Option<(i64, i64)> {
        let told = self.0.as_ref()?;
        let last = ToldWait::part(told.since_us, told.until_us.unwrap_or(end_us), start_us, end_us);
        last.or_else(|| {
            told.before.and_then(|(since_us, until_us)| ToldWait::part(since_us, until_us, start_us, end_us))
        })
    }
}

/// The peer's credit for the connection.
#[derive(Clone, Debug, Default, Serialize, Deserialize, GetSize)]
pub struct Credit {
    /// MAX_DATA of the peer.
    limit: Option<u64>,
    /// Its initial MAX_STREAM_DATA for request streams.
    initial_stream: Option<u64>,
    /// Stream bytes of ours, each counted once.
    data_sent: u64,
    /// How often the initial stream limit changed.
    stated: u8,
    /// Since when it is used up while data waits.
    blocked_since: Option<Moment>,
    told: ToldWaits,
    /// When we gave the peer credit last, on any stream.
    given_us: i64,
    /// It was raised in the current instant.
    has_grown: bool,
    /// Streams that are no requests, and how much of them was sent.
    others: BTreeMap<u64, u64>,
}

impl Credit {
    /// Data of a request goes out for the first time.
    pub fn send(&mut self, bytes: u64) {
        self.data_sent = self.data_sent.saturating_add(bytes);
    }

    /// Bytes of streams that are no requests count towards the connection's credit too: "the sum of the final sizes
    /// on all streams" (RFC 9000, 4.5). True when some go out for the first time.
    pub fn send_other(&mut self, chunk: &Chunk) -> bool {
        if self.others.len() >= OTHER_STREAMS && !self.others.contains_key(&chunk.stream_id) {
            Bound::OtherStreams.cross();
            return false;
        }
        let highest = self.others.entry(chunk.stream_id).or_default();
        let grown = chunk.to.saturating_sub(*highest);
        *highest = (*highest).max(chunk.to);
        self.data_sent = self.data_sent.saturating_add(grown);
        grown > 0
    }

    /// Stream bytes of ours, each counted once.
    pub fn data_sent(&self) -> u64 {
        self.data_sent
    }

    /// We send a DATA_BLOCKED frame.
    pub fn tell_blocked(&mut self, limit: Option<u64>, now_us: i64) {
        self.told.tell(limit, self.limit, now_us);
    }

    /// When we stated that we had data but no credit.
    pub fn told(&self) -> &ToldWaits {
        &self.told
    }

    /// The peer states a limit for the connection.
    pub fn raise(&mut self, limit: u64, now_us: i64) {
        self.told.raise(limit, now_us);
        self.has_grown |= self.limit.is_some_and(|known| known < limit);
        self.limit = Some(self.limit.map_or(limit, |known| known.max(limit)));
    }

    /// The peer states the limit that streams begin with. True when it is another than it was.
    pub fn state_initial_stream(&mut self, limit: u64) -> bool {
        let is_new = self.initial_stream != Some(limit) && self.stated < STATED;
        if is_new {
            self.initial_stream = Some(limit);
            self.stated += 1;
        }
        is_new
    }

    /// The limit that streams begin with.
    pub fn initial_stream(&self) -> Option<u64> {
        self.initial_stream
    }

    /// We give the peer credit.
    pub fn give(&mut self, now_us: i64) {
        self.given_us = now_us;
    }

    /// When we gave it last.
    pub fn given_us(&self) -> i64 {
        self.given_us
    }

    /// At the end of an instant: if a wait for credit is over, gives since when data waited. "A sender MUST NOT send
    /// data that exceeds either limit" (RFC 9000, 4.1).
    pub fn end_wait(&mut self, has_news: bool) -> Option<Moment> {
        let is_used_up = self.is_used_up()?;
        // A wait is also over if more credit came and was used up in one instant.
        let has_opened = std::mem::take(&mut self.has_grown) && has_news;
        self.blocked_since.take_if(|_| has_opened || !is_used_up)
    }

    /// After [`Self::end_wait`], if data waits: a wait begins where the credit is used up.
    pub fn begin_wait(&mut self, now: Moment) {
        if self.is_used_up() == Some(true) {
            self.blocked_since.get_or_insert(now);
        }
    }

    fn is_used_up(&self) -> Option<bool> {
        self.limit.map(|limit| self.data_sent >= limit)
    }

    /// The log states that the connection's credit is used up.
    pub fn state_blocked(&mut self, now: Moment) {
        self.blocked_since.get_or_insert(now);
    }

    /// The log states that more has come; gives since when there was none.
    pub fn state_open(&mut self) -> Option<Moment> {
        self.blocked_since.take()
    }

    /// Since when data waits for the connection's credit.
    pub fn blocked_since(&self) -> Option<Moment> {
        self.blocked_since
    }
}

/// The peer's credit for one stream.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, GetSize)]
pub struct StreamCredit {
    limit: Option<u64>,
    blocked_since: Option<Moment>,
    told: ToldWaits,
}

impl StreamCredit {
    /// Of a stream that opens, with the limit that streams begin with.
    pub fn new(limit: Option<u64>) -> Self {
        Self { limit, ..Self::default() }
    }

    /// The limit that streams begin with is known only now.
    pub fn state_initial(&mut self, limit: u64) {
        self.limit = Some(self.limit.map_or(limit, |known| known.max(limit)));
    }

    /// Data went out up to `highest`, and more is to come.
    pub fn send(&mut self, highest: u64, now: Moment) {
        if self.limit.is_some_and(|limit| highest >= limit) {
            self.blocked_since.get_or_insert(now);
        }
    }

    /// We send a STREAM_DATA_BLOCKED frame.
    pub fn tell_blocked(&mut self, limit: Option<u64>, now_us: i64) {
        self.told.tell(limit, self.limit, now_us);
    }

    /// When we stated that we had data but no credit.
    pub fn told(&self) -> &ToldWaits {
        &self.told
    }

    /// The peer states a limit; gives since when there was no credit.
    pub fn raise(&mut self, limit: u64, now_us: i64) -> Option<Moment> {
        self.told.raise(limit, now_us);
        if self.limit.is_some_and(|known| known >= limit) {
            return None;
        }
        self.limit = Some(limit);
        self.blocked_since.take()
    }

    /// The log states that it is used up.
    pub fn state_blocked(&mut self, now: Moment) {
        self.blocked_since.get_or_insert(now);
    }

    /// The log states that the limit is higher, but not how high; gives since when there was no credit.
    pub fn state_open(&mut self) -> Option<Moment> {
        self.limit = None;
        self.blocked_since.take()
    }

    /// Since when it is used up.
    pub fn blocked_since(&self) -> Option<Moment> {
        self.blocked_since
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::crossed::crosses;

    const fn at(us: i64) -> Moment {
        Moment { us, seq: 0 }
    }

    #[test]
    fn a_limit_that_is_higher_by_an_unknown_amount_is_not_used_up() {
        let mut credit = StreamCredit::new(Some(100));
        credit.send(100, at(1));
        assert_eq!(credit.state_open(), Some(at(1)));
        credit.send(5_000, at(2));
        assert_eq!(credit.blocked_since(), None);
        credit.state_blocked(at(3));
        assert_eq!(credit.raise(6_000, 4), Some(at(3)));
    }

    #[test]
    fn credit_is_used_up_by_the_first_bytes_of_all_streams_and_opened_by_a_higher_limit() {
        let mut credit = Credit::default();
        credit.begin_wait(at(1));
        assert_eq!(credit.blocked_since(), None, "no limit is known");
        credit.raise(1_000, 1);
        credit.send(900);
        let chunk = Chunk { stream_id: 3, from: 0, to: 100, fin: false };
        assert!(credit.send_other(&chunk) && !credit.send_other(&chunk));
        credit.begin_wait(at(2));
        assert_eq!((credit.end_wait(true), credit.data_sent()), (None, 1_000));
        credit.raise(1_000, 1);
        assert_eq!(credit.end_wait(true), None, "the same limit gives nothing");
        credit.raise(2_000, 1);
        assert_eq!((credit.end_wait(false), credit.blocked_since()), (Some(at(2)), None));
    }

    #[test]
    fn our_own_blocked_frame_counts_until_a_higher_limit_comes() {
        let mut credit = StreamCredit::new(Some(1_000));
        assert_eq!(credit.told().within(0, 900), None);
        credit.tell_blocked(Some(900), 50);
        assert_eq!(credit.told().within(0, 900), None, "of a limit that was before");
        credit.tell_blocked(Some(1_000), 100);
        credit.tell_blocked(None, 300);
        assert_eq!(credit.told().within(0, 900), Some((100, 900)), "said twice");
        credit.raise(1_000, 350);
        assert_eq!(credit.told().within(200, 400), Some((200, 400)));
        credit.raise(2_000, 400);
        credit.raise(3_000, 500);
        assert_eq!((credit.told().within(0, 900), credit.told().within(400, 900)), (Some((100, 400)), None));
        credit.tell_blocked(Some(3_000), 600);
        assert_eq!(credit.told().within(0, 900), Some((600, 900)));
    }

    #[test]
    fn the_number_of_other_streams_that_are_counted_is_bounded() {
        let mut credit = Credit::default();
        let chunk = |stream: usize| Chunk { stream_id: 4 * stream as u64 + 3, from: 0, to: 10, fin: false };
        assert!((0..OTHER_STREAMS).all(|stream| credit.send_other(&chunk(stream))));
        assert!(!crosses(Bound::OtherStreams, || credit.send_other(&chunk(OTHER_STREAMS))));
        assert!(credit.send_other(&Chunk { to: 15, ..chunk(OTHER_STREAMS - 1) }), "a known one goes on");
        assert_eq!(credit.data_sent(), 10 * OTHER_STREAMS as u64 + 5);
    }

    #[test]
    fn credit_that_comes_and_is_used_up_in_one_instant_ends_a_wait() {
        let mut credit = Credit::default();
        credit.raise(1_000, 1);
        credit.send(1_000);
        credit.begin_wait(at(2));
        credit.raise(2_000, 1);
        credit.send(1_000);
        assert_eq!(credit.end_wait(true), Some(at(2)));
        credit.begin_wait(at(5));
        assert_eq!((credit.end_wait(true), credit.blocked_since()), (None, Some(at(5))));
    }

    #[test]
    fn a_stream_waits_from_the_limit_to_a_higher_one() {
        let mut credit = StreamCredit::new(Some(100));
        credit.send(99, at(1));
        assert_eq!(credit.blocked_since(), None);
        credit.send(100, at(2));
        credit.send(100, at(3));
        assert_eq!((credit.raise(100, 3), credit.raise(200, 3), credit.raise(300, 3)), (None, Some(at(2)), None));
        credit.state_initial(50);
        credit.send(299, at(4));
        assert_eq!(credit.blocked_since(), None);
    }
}
