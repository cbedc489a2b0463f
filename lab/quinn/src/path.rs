//! A simulated path: each direction has a rate, a delay, and loses the datagrams whose number the plan names.

use std::time::{Duration, Instant};

const IP_UDP_HEADER_BYTES: usize = 28;

/// One direction of the path.
pub struct Link {
    bits_per_second: u64,
    delay: Duration,
    busy_until: Instant,
}

impl Link {
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

/// Draws a number in [0, 1): a hash (FNV-1a, then splitmix64's mixer) of the seed and the name of the draw.
pub fn fraction(seed: u64, name: &str) -> f64 {
    let mut hash = 0xcbf2_9ce4_8422_2325_u64;
    for byte in seed.to_le_bytes().iter().chain(name.as_bytes()) {
        hash = (hash ^ u64::from(*byte)).wrapping_mul(0x0100_0000_01b3);
    }
    hash = (hash ^ (hash >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    hash = (hash ^ (hash >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    ((hash ^ (hash >> 31)) >> 11) as f64 / (1_u64 << 53) as f64
}

/// Draws a whole number from `low` to `high`, both included.
pub fn whole(low: u64, high: u64, seed: u64, name: &str) -> u64 {
    low + (fraction(seed, name) * (high - low + 1) as f64) as u64
}
