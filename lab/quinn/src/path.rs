//! A simulated path: each direction has a rate, a delay, and loses the datagrams whose number the plan names.

use std::time::{Duration, Instant};

const IP_UDP_HEADER_BYTES: usize = 28;

/// One direction of the path.
pub struct PathDirection {
    bits_per_second: u64,
    delay: Duration,
    busy_until: Instant,
}

impl PathDirection {
    /// An idle link at this moment.
    pub fn new(bits_per_second: u64, delay: Duration, now: Instant) -> Self {
        Self { bits_per_second, delay, busy_until: now }
    }

    /// Takes a datagram and says when it arrives. The queue has no end.
    pub fn send(&mut self, now: Instant, payload_bytes: usize) -> Instant {
        let bits = (payload_bytes + IP_UDP_HEADER_BYTES) as u64 * 8;
        self.busy_until = self.busy_until.max(now) + Duration::from_nanos(bits * 1_000_000_000 / self.bits_per_second);
        self.busy_until + self.delay
    }
}
