//! Draws are hashes of the seed and a name: no stream of random numbers is shared, so that runs can be compared.

/// A number in [0, 1): FNV-1a, then splitmix64's mixer, of the seed and the name of the draw.
pub fn fraction(seed: u64, name: &str) -> f64 {
    let mut hash = 0xcbf2_9ce4_8422_2325_u64;
    for byte in seed.to_le_bytes().iter().chain(name.as_bytes()) {
        hash = (hash ^ u64::from(*byte)).wrapping_mul(0x0100_0000_01b3);
    }
    hash = (hash ^ (hash >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    hash = (hash ^ (hash >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    ((hash ^ (hash >> 31)) >> 11) as f64 / (1_u64 << 53) as f64
}

/// From `low` to `high`, all alike.
pub fn between(low: f64, high: f64, seed: u64, name: &str) -> f64 {
    low + fraction(seed, name) * (high - low)
}

/// From `low` to `high`, each power of two alike.
pub fn skewed(low: f64, high: f64, seed: u64, name: &str) -> f64 {
    low * (high / low).powf(fraction(seed, name))
}

/// A whole number from `low` to `high`, both included.
pub fn whole(low: u64, high: u64, seed: u64, name: &str) -> u64 {
    low + (fraction(seed, name) * (high - low + 1) as f64) as u64
}
