//! The server's limit before the client's address is validated (RFC 9000, 8.1).

use crate::event::{Event, Number, Word};
use crate::fold::moment::Moment;
use get_size2::GetSize;
use serde::{Deserialize, Serialize};

/// Bytes received and sent before validation.
#[derive(Clone, Debug, Default, Serialize, Deserialize, GetSize)]
pub struct Amplification {
    received: u64,
    sent: u64,
    is_validated: bool,
    /// Since when data waits for it.
    since: Option<Moment>,
}

impl Amplification {
    /// Bytes of a packet or of a datagram's rest came in. "All bytes in datagrams that are uniquely attributed to the
    /// connection count", dropped ones too.
    pub fn receive(&mut self, event: &Event) {
        if self.is_validated {
            return;
        }
        self.received = self.received.saturating_add(event.get(Number::PacketBytes).unwrap_or(0));
        // "Once an endpoint has successfully processed a Handshake packet from the peer, it can consider the peer
        // address to have been validated"; a token of a Retry or of an earlier connection does so too.
        let has_token = event.leftover("header.token").is_some_and(|token| !matches!(token, "\"\"" | "null" | "{}"));
        self.is_validated |= match event.word(Word::PacketType) {
            "handshake" | "1RTT" => event.get(Number::PacketNumber).is_some(),
            "initial" => has_token,
            _ => false,
        };
    }

    /// A packet goes out.
    pub fn send(&mut self, event: &Event) {
        if !self.is_validated {
            self.sent = self.sent.saturating_add(event.get(Number::PacketBytes).unwrap_or(0));
        }
        self.is_validated = self.is_validated || event.is(Word::PacketType, "retry");
    }

    /// "Servers MUST NOT send more than three times as many bytes as the number of bytes they have received": no room
    /// for another packet.
    pub fn is_limiting(&self, packet: u64) -> bool {
        !self.is_validated && self.received > 0 && self.sent.saturating_add(packet) > self.received.saturating_mul(3)
    }

    /// At the end of an instant: updates whether data waits for the limit. If a wait is over, gives since when data
    /// waited.
    pub fn watch(&mut self, is_limiting: bool, has_data: bool, now: Moment) -> Option<Moment> {
        if !is_limiting {
            return self.since.take();
        }
        if has_data {
            self.since.get_or_insert(now);
        }
        None
    }

    /// Since when data waits for it.
    pub fn since(&self) -> Option<Moment> {
        self.since
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sums_of_any_size_do_not_wrap() {
        let gone = |received, sent| Amplification { received, sent, ..Amplification::default() };
        assert!(!gone((1 << 63) - 2, (1 << 63) - 2).is_limiting(1 << 62));
        assert!(gone(1, u64::MAX).is_limiting(1));
    }

    #[test]
    fn data_waits_from_the_limit_to_the_validation() {
        let mut amplification = Amplification::default();
        let [first, second, third] = [1, 2, 3].map(|us| Moment { us, seq: 0 });
        assert_eq!(amplification.watch(true, false, first), None);
        assert_eq!(amplification.watch(true, true, second), None);
        assert_eq!(amplification.watch(true, true, third), None);
        assert_eq!(amplification.watch(false, true, third), Some(second));
        assert_eq!(amplification.since(), None);
    }
}
