//! How long the peer may hold its acknowledgements back (`max_ack_delay`).

use get_size2::GetSize;
use serde::{Deserialize, Serialize};

/// Default of `max_ack_delay` (RFC 9000, 18.2), us.
pub const DEFAULT_MAX_ACK_DELAY_US: i64 = 25_000;

/// `max_ack_delay` of the peer: its transport parameter, else the default.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, GetSize)]
pub struct MaxAckDelay(i64);

impl Default for MaxAckDelay {
    fn default() -> Self {
        Self(DEFAULT_MAX_ACK_DELAY_US)
    }
}

impl MaxAckDelay {
    /// The peer's transport parameter, ms. "Values of 2^14 or greater are invalid" (RFC 9000, 18.2): such a value is
    /// none.
    pub fn state(&mut self, ms: u64) {
        if ms < 1 << 14 {
            self.0 = ms.saturating_mul(1000).cast_signed();
        }
    }

    /// Its value, us.
    pub fn us(self) -> i64 {
        self.0
    }

    /// As much of a stated acknowledgement delay as is believed: "MUST use the lesser of the acknowledgment delay and the
    /// peer's max_ack_delay" (RFC 9002, 5.3).
    pub fn believed_us(self, told_us: i64) -> i64 {
        told_us.min(self.0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_peers_parameter_is_the_most_that_is_believed() {
        let mut most = MaxAckDelay::default();
        assert_eq!((most.believed_us(24_999), most.believed_us(75_000)), (24_999, 25_000));
        most.state(1 << 14);
        assert_eq!(most, MaxAckDelay::default(), "an invalid value is none");
        most.state(75);
        assert_eq!((most.believed_us(75_000), most.believed_us(75_001)), (75_000, 75_000));
        most.state(0);
        assert_eq!(most.believed_us(1), 0);
        most.state((1 << 14) - 1);
        assert_eq!(most.us(), 16_383_000);
    }
}
