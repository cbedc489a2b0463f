//! 0-RTT: whether it was accepted, and how long a request waited for keys.

use crate::event::{Event, Word};
use get_size2::GetSize;
use serde::{Deserialize, Serialize};

/// Early data of a connection.
#[derive(Clone, Debug, Default, Serialize, Deserialize, GetSize)]
#[expect(clippy::struct_excessive_bools, reason = "independent observations")]
pub struct ZeroRtt {
    /// A 0-RTT packet was seen, sent or received, readable or not.
    is_attempted: bool,
    /// One could be read (server) or was acknowledged (client).
    is_accepted: bool,
    /// One was dropped for want of keys.
    is_dropped: bool,
    /// The log names packet types.
    has_types: bool,
    /// 1-RTT packets came after it.
    has_one_rtt: bool,
    /// First 0-RTT packet that could not be read when it came.
    held_since: Option<i64>,
    /// First request in 1-RTT.
    repeated_us: Option<i64>,
}

impl ZeroRtt {
    /// A packet was buffered or dropped: "0-RTT packets ... might be received prior to ... the ClientHello"; servers
    /// may buffer or drop them (RFC 9001, 5.7).
    pub fn unreadable(&mut self, event: &Event, now_us: i64, dropped: bool) {
        if event.is(Word::PacketType, "0RTT") {
            self.is_attempted = true;
            self.is_dropped |= dropped;
            self.held_since.get_or_insert(now_us);
        }
    }

    /// A packet could be read (server), or was sent (client).
    pub fn packet(&mut self, event: &Event, is_received: bool) {
        if event.is(Word::PacketType, "1RTT") {
            self.has_types = true;
            self.has_one_rtt = true;
        } else if event.is(Word::PacketType, "0RTT") {
            self.is_attempted = true;
            self.is_accepted |= is_received;
        }
    }

    /// A client's 0-RTT packet was acknowledged.
    pub fn acknowledged(&mut self) {
        self.is_accepted = true;
    }

    /// This log shows whether early data was accepted.
    pub fn is_readable(&self) -> bool {
        self.has_types
    }

    /// Column `zero_rtt`: "" where there was none, else attempted, accepted or rejected. "A client that attempts
    /// 0-RTT ... might have its early data rejected" (RFC 9001, 4.6.2): then nothing of it is ever readable.
    pub fn state(&self) -> &'static str {
        match (self.is_attempted, self.is_accepted) {
            (false, _) => "",
            (true, true) => "accepted",
            (true, false) if self.has_one_rtt => "rejected",
            (true, false) => "attempted",
        }
    }

    /// Since when a request that is first readable now has been waiting for keys; `None` for one that was not.
    pub fn waited_since(&mut self, packet_type: &str, now_us: i64, flight_us: i64) -> Option<i64> {
        let since = self.held_since?;
        let was_early = match packet_type {
            // Buffered, and read now.
            "0RTT" => !self.is_dropped,
            // Rejected: the client sends everything again at once, in its first 1-RTT flight.
            "1RTT" if !self.is_accepted => now_us.saturating_sub(*self.repeated_us.get_or_insert(now_us)) <= flight_us,
            _ => false,
        };
        (was_early && since < now_us).then_some(since)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn packet(kind: &str) -> Event {
        let mut event = Event::default();
        event.set_word(Word::PacketType, kind.as_bytes());
        event
    }

    #[test]
    fn buffered_early_data_waited_and_dropped_early_data_was_sent_again() {
        for (is_dropped, kind) in [(false, "0RTT"), (true, "1RTT")] {
            let mut early = ZeroRtt::default();
            early.unreadable(&packet("0RTT"), 10, is_dropped);
            assert_eq!(early.state(), "attempted");
            early.packet(&packet(kind), true);
            assert_eq!(early.waited_since(kind, 50, 20), Some(10));
            assert_eq!(early.state(), if is_dropped { "rejected" } else { "accepted" });
            assert_eq!(early.waited_since(kind, 71, 20).is_some(), !is_dropped, "a later flight is no repetition");
        }
        assert_eq!((ZeroRtt::default().state(), ZeroRtt::default().waited_since("1RTT", 5, 9)), ("", None));
    }
}
