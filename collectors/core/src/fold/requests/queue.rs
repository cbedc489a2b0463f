//! How much of a response the application has queued, and whether data of it waits.

use crate::fold::moment::Moment;
use get_size2::GetSize;
use serde::{Deserialize, Serialize};

/// Bytes of a response that wait, as far as the log tells.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, GetSize)]
pub struct Queue {
    /// The log says what the application queues, and it agrees with what goes out.
    is_known: bool,
    /// Stream bytes queued so far.
    bytes: u64,
    /// Since when it is known to be empty.
    empty_since: Option<Moment>,
    /// A stretch behind other streams that may go on.
    behind: Option<Box<Stretch>>,
    /// Data that waits.
    ready: Option<Ready>,
    /// It is among the waiting streams that no other has passed yet.
    is_listed: bool,
}

/// Waits of one kind that follow each other within a round trip.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, GetSize)]
#[expect(missing_docs, reason = "named after the columns of episodes")]
pub struct Stretch {
    pub start_us: i64,
    pub end_us: i64,
    pub first_seq: u64,
    pub last_seq: u64,
    pub count: u32,
}

/// Data of a stream that waits.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, GetSize)]
pub struct Ready {
    /// Since when.
    pub since_us: i64,
    /// How long a pacer may make it wait because of what was sent before.
    pub paced_us: u64,
    /// Since when other streams were sent in its place, if their packets have passed it.
    pub passed_us: Option<i64>,
    /// Bytes in flight of this stream when it was passed.
    pub own: u64,
    /// Bytes in flight of all streams when it was passed.
    pub in_flight: u64,
}

impl Ready {
    /// The part of a wait that is due to other streams, in proportion to their share of the bytes in flight: alone, the
    /// stream would have had that room.
    pub fn of_others(&self, us: u64) -> u64 {
        let own = u128::from(us) * u128::from(self.own) / u128::from(self.in_flight.max(1));
        us.saturating_sub(own as u64)
    }
}

/// What the application queued.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct HandedOver {
    /// Where it begins in the stream, if the log says so.
    pub offset: Option<u64>,
    /// Bytes.
    pub bytes: u64,
}

/// A turn of streams that sent while others waited.
#[derive(Clone, Copy, Debug)]
pub struct StreamTurn {
    /// When the turn began.
    pub began_us: i64,
    /// Bytes in flight of the stream that waits.
    pub own: u64,
    /// Bytes in flight of all streams.
    pub in_flight: u64,
}

impl Queue {
    /// The application queued more of a response of which `sent` bytes had been sent. True when it is news.
    pub fn hand_over(&mut self, more: HandedOver, sent: u64) -> bool {
        let Some(offset) = more.offset else {
            self.bytes = self.bytes.saturating_add(more.bytes);
            // The sum is complete only if the log showed it from the first byte.
            self.is_known |= sent == 0;
            return true;
        };
        let end = offset.saturating_add(more.bytes);
        // A second copy of the record says nothing. A record without bytes may be the end of the stream.
        let is_news = end > self.bytes || (more.bytes == 0 && end == self.bytes);
        if is_news && !self.is_known && offset == sent {
            // All that was queued before has gone out, although some record of it is missing.
            self.empty_since = self.ready.take().map(|ready| Moment { us: ready.since_us, seq: 0 });
        }
        self.bytes = self.bytes.max(end);
        // What goes out was queued before.
        self.is_known |= offset >= sent;
        is_news
    }

    /// The log says what the application queues, and it agrees with what goes out.
    pub fn is_known(&self) -> bool {
        self.is_known
    }

    /// Since when the application is known to have queued nothing.
    pub fn empty_since(&self) -> Option<Moment> {
        self.empty_since
    }

    /// The application has data again, or it does not matter any more; gives since when it had none.
    pub fn end_empty(&mut self) -> Option<Moment> {
        self.empty_since.take()
    }

    /// A FIN is sent. No log shows when the application closed the stream. So if nothing else was queued, the cause of
    /// the wait is as little known as in a log without the application's events.
    pub fn end_alone(&mut self) {
        if let Some(since) = self.empty_since.take() {
            self.is_known = false;
            self.ready = Some(Ready { since_us: since.us, ..Ready::default() });
        }
    }

    /// Data waits from now on, where a pacer may make it wait for `paced_us`. True when the stream is to be listed
    /// among those that no other has passed.
    pub fn wait(&mut self, now_us: i64, paced_us: u64) -> bool {
        self.ready = Some(Ready { since_us: now_us, paced_us, passed_us: None, own: 0, in_flight: 0 });
        !std::mem::replace(&mut self.is_listed, true)
    }

    /// Data that waits, if any does.
    pub fn ready(&self) -> Option<Ready> {
        self.ready
    }

    /// Since when data is known to wait.
    pub fn known_to_wait_since(&self) -> Option<i64> {
        self.ready.filter(|_| self.is_known).map(|ready| ready.since_us)
    }

    /// Streams have sent: this one too (`has_sent`), or only others, which have passed it then. It waited for the
    /// others in the part of the time before the turn that their share of the bytes in flight gives: alone it would
    /// have had that room. True when it stays listed.
    pub fn pass(&mut self, has_sent: bool, turn: StreamTurn) -> bool {
        self.is_listed = self.ready.is_some() && has_sent;
        if let Some(ready) = self.ready.as_mut().filter(|_| !has_sent) {
            let before = turn.began_us.saturating_sub(ready.since_us).max(0).unsigned_abs();
            (ready.own, ready.in_flight) = (turn.own, turn.in_flight);
            ready.passed_us = Some(ready.since_us.saturating_add_unsigned(before - ready.of_others(before)));
        }
        self.is_listed
    }

    /// Data was sent, `sent` bytes of the response by now. The queue is empty if all that the application queued is
    /// sent and more may come.
    pub fn went_out(&mut self, sent: u64, may_wait: bool, now: Moment) {
        // More went out than was seen to be queued: this log does not show all of it.
        self.is_known &= sent <= self.bytes;
        let is_empty = self.is_known && sent >= self.bytes;
        self.empty_since = (is_empty && may_wait).then_some(now);
        self.ready = None;
    }

    /// Data waited behind other streams until now; gives the stretch before, when this one does not go on with it.
    pub fn was_behind(&mut self, start_us: i64, end_us: i64, seq: u64, rtt_us: i64) -> Option<Stretch> {
        match &mut self.behind {
            Some(stretch) if start_us.saturating_sub(stretch.end_us) <= rtt_us => {
                (stretch.end_us, stretch.last_seq) = (end_us, seq);
                stretch.count += 1;
                None
            }
            behind => {
                let stretch = Stretch { start_us, end_us, first_seq: seq, last_seq: seq, count: 1 };
                behind.replace(Box::new(stretch)).map(|before| *before)
            }
        }
    }

    /// The stretch behind other streams that does not go on any more.
    pub fn end_behind(&mut self) -> Option<Stretch> {
        self.behind.take().map(|stretch| *stretch)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const fn at(us: i64) -> Moment {
        Moment { us, seq: 0 }
    }

    const fn more(bytes: u64) -> HandedOver {
        HandedOver { offset: None, bytes }
    }

    #[test]
    fn a_queue_is_empty_when_all_that_was_queued_is_out() {
        let mut queue = Queue::default();
        queue.hand_over(more(1_000), 0);
        queue.went_out(600, true, at(1));
        assert_eq!(queue.empty_since(), None);
        queue.went_out(1_000, true, at(2));
        assert_eq!((queue.end_empty(), queue.empty_since()), (Some(at(2)), None));
        queue.went_out(1_500, true, at(3));
        assert!(!queue.is_known() && queue.empty_since().is_none(), "more than was queued");
    }

    #[test]
    fn offsets_tell_what_was_queued_although_a_record_is_missing_or_stands_twice() {
        let at_offset = |offset, bytes| HandedOver { offset: Some(offset), bytes };
        let mut queue = Queue::default();
        assert!(queue.hand_over(at_offset(0, 1_000), 0));
        queue.went_out(1_000, true, at(1));
        assert!(!queue.hand_over(at_offset(0, 1_000), 1_000), "a copy");
        assert_eq!(queue.empty_since(), Some(at(1)));
        // The record of the next 500 bytes is missing.
        queue.went_out(1_500, true, at(2));
        assert!(!queue.is_known() && queue.empty_since().is_none());
        queue.wait(2, 0);
        assert!(queue.hand_over(at_offset(1_500, 100), 1_500));
        assert_eq!((queue.is_known(), queue.end_empty().map(|since| since.us), queue.ready()), (true, Some(2), None));
        // And that of another 500, not all of which have gone out.
        queue.went_out(1_700, true, at(3));
        queue.wait(3, 0);
        assert!(queue.hand_over(at_offset(2_100, 100), 1_700));
        assert_eq!((queue.is_known(), queue.empty_since()), (true, None));
        queue.went_out(2_200, true, at(4));
        assert_eq!(queue.empty_since(), Some(at(4)));
        assert!(queue.hand_over(at_offset(2_200, 0), 2_200), "the end alone");
    }

    #[test]
    fn a_fin_alone_makes_the_cause_of_the_wait_unknown() {
        let mut queue = Queue::default();
        queue.hand_over(more(1_000), 0);
        queue.went_out(1_000, true, at(2));
        queue.end_alone();
        assert_eq!((queue.is_known(), queue.ready().map(|ready| ready.since_us)), (false, Some(2)));
    }

    #[test]
    fn others_pass_a_stream_for_their_share_of_the_time_before_the_turn() {
        let mut queue = Queue::default();
        assert!(queue.wait(100, 0) && !queue.wait(100, 0));
        let turn = StreamTurn { began_us: 180, own: 250, in_flight: 1_000 };
        assert!(queue.pass(true, turn));
        assert_eq!(queue.ready().and_then(|ready| ready.passed_us), None);
        assert!(!queue.pass(false, turn));
        // Of the 80 us before the turn, a quarter was its own bytes'.
        assert_eq!(queue.ready().and_then(|ready| ready.passed_us), Some(120));
        assert!(!Queue::default().pass(true, turn), "none waits");
    }

    #[test]
    fn waits_within_a_round_trip_are_one_stretch() {
        let mut queue = Queue::default();
        assert_eq!(queue.was_behind(0, 10, 1, 50), None);
        assert_eq!(queue.was_behind(60, 70, 2, 50), None);
        let first = Stretch { start_us: 0, end_us: 70, first_seq: 1, last_seq: 2, count: 2 };
        assert_eq!(queue.was_behind(121, 130, 3, 50), Some(first));
        assert_eq!(queue.end_behind().map(|stretch| stretch.start_us), Some(121));
    }
}
