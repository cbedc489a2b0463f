//! What the application has handed over of a response, and whether data of it waits.

use crate::fold::moment::Moment;
use serde::{Deserialize, Serialize};

/// Bytes of a response that wait, as far as the log tells.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Queue {
    /// The log says what the application queues, and it agrees with what goes out.
    is_known: bool,
    /// Stream bytes queued so far.
    bytes: u64,
    /// Known to be empty since.
    empty_since: Option<Moment>,
    /// A stretch behind other streams that may go on.
    behind: Option<Box<Stretch>>,
    /// Data waits.
    ready: Option<Ready>,
    /// Among the streams that no other has passed since they wait.
    is_listed: bool,
}

/// Waits of one kind that follow each other within a round trip.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[expect(missing_docs, reason = "named after the columns of episodes")]
pub struct Stretch {
    pub start_us: i64,
    pub end_us: i64,
    pub first_seq: u64,
    pub last_seq: u64,
    pub count: u32,
}

/// Data of a stream that waits.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Ready {
    /// Since when.
    pub since_us: i64,
    /// How long a pacer may make it wait after what was sent then.
    pub paced_us: u64,
    /// Since when others had its turn, if their packets have passed it.
    pub passed_us: Option<i64>,
    /// Bytes on their way then: this stream's.
    pub own: u64,
    /// And all.
    pub in_flight: u64,
}

impl Ready {
    /// The share of a wait in which others' bytes were on their way: alone, the stream would have had that room.
    pub fn of_others(&self, us: u64) -> u64 {
        let own = u128::from(us) * u128::from(self.own) / u128::from(self.in_flight.max(1));
        us.saturating_sub(own as u64)
    }
}

/// Streams have sent, while others waited.
#[derive(Clone, Copy, Debug)]
pub struct StreamTurn {
    /// The turn that was taken began then.
    pub began_us: i64,
    /// Bytes on their way of the stream that waits.
    pub own: u64,
    /// And of all.
    pub in_flight: u64,
}

impl Queue {
    /// The application queued more, of a response of which so many bytes had gone out.
    pub fn hand_over(&mut self, bytes: u64, sent: u64) {
        self.bytes = self.bytes.saturating_add(bytes);
        // Only what was seen from its beginning can be told to be all.
        self.is_known |= sent == 0;
    }

    /// The log says what the application queues, and it agrees with what goes out.
    pub fn is_known(&self) -> bool {
        self.is_known
    }

    /// The application is known to have nothing since.
    pub fn empty_since(&self) -> Option<Moment> {
        self.empty_since
    }

    /// It has something again, or what it has matters no more; gives since when it had nothing.
    pub fn end_empty(&mut self) -> Option<Moment> {
        self.empty_since.take()
    }

    /// The end goes out alone. No log tells when the application closed the stream, so what this waited for is as little
    /// known as in a log without the application's events.
    pub fn end_alone(&mut self) {
        if let Some(since) = self.empty_since.take() {
            self.is_known = false;
            self.ready = Some(Ready { since_us: since.us, ..Ready::default() });
        }
    }

    /// Data waits from now on, where a pacer may make it wait for `paced_us`. True when the stream is to be listed among
    /// those that no other has passed.
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

    /// Streams have sent, this one too (`has_sent`) or others alone, which have passed it then. What it waited before its turn
    /// was taken, it waited for others as far as the bytes on their way were theirs: alone it would have had that
    /// room. True when it stays listed.
    pub fn pass(&mut self, has_sent: bool, turn: StreamTurn) -> bool {
        self.is_listed = self.ready.is_some() && has_sent;
        if let Some(ready) = self.ready.as_mut().filter(|_| !has_sent) {
            let before = turn.began_us.saturating_sub(ready.since_us).max(0).unsigned_abs();
            (ready.own, ready.in_flight) = (turn.own, turn.in_flight);
            ready.passed_us = Some(ready.since_us.saturating_add_unsigned(before - ready.of_others(before)));
        }
        self.is_listed
    }

    /// Data went out, `sent` bytes of the response by now. Whether more waits is known again: the application has nothing
    /// if all that it queued is out, and more may come.
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

    #[test]
    fn a_queue_is_empty_when_all_that_was_queued_is_out() {
        let mut queue = Queue::default();
        queue.hand_over(1_000, 0);
        queue.went_out(600, true, at(1));
        assert_eq!(queue.empty_since(), None);
        queue.went_out(1_000, true, at(2));
        assert_eq!((queue.end_empty(), queue.empty_since()), (Some(at(2)), None));
        queue.went_out(1_500, true, at(3));
        assert!(!queue.is_known() && queue.empty_since().is_none(), "more than was queued");
    }

    #[test]
    fn the_end_alone_makes_unknown_what_was_waited_for() {
        let mut queue = Queue::default();
        queue.hand_over(1_000, 0);
        queue.went_out(1_000, true, at(2));
        queue.end_alone();
        assert_eq!((queue.is_known(), queue.ready().map(|ready| ready.since_us)), (false, Some(2)));
    }

    #[test]
    fn others_pass_a_stream_from_when_they_had_its_turn() {
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
