//! Running figures of a sample: count, extremes, mean and deviation (Welford 1962).

use get_size2::GetSize;
use serde::{Deserialize, Serialize};

/// Figures of the values seen so far.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize, GetSize)]
pub struct Stats {
    count: u64,
    min: u64,
    max: u64,
    mean: f64,
    squares: f64,
}

impl Stats {
    /// Takes a value.
    pub fn add(&mut self, value: u64) {
        self.min = if self.count == 0 { value } else { self.min.min(value) };
        self.max = self.max.max(value);
        self.count += 1;
        #[expect(clippy::cast_precision_loss, reason = "microseconds of a connection stay far below 2^53")]
        let (value, count) = (value as f64, self.count as f64);
        let before = value - self.mean;
        self.mean += before / count;
        self.squares += before * (value - self.mean);
    }

    /// Number of values.
    pub fn count(&self) -> u64 {
        self.count
    }

    /// Least.
    pub fn min(&self) -> Option<u64> {
        self.some(self.min)
    }

    /// Largest.
    pub fn max(&self) -> Option<u64> {
        self.some(self.max)
    }

    /// A figure, or nothing when there are no values.
    fn some<T>(&self, value: T) -> Option<T> {
        (self.count > 0).then_some(value)
    }

    /// Mean.
    pub fn mean(&self) -> Option<f64> {
        self.some(self.mean)
    }

    /// Standard deviation of the sample; of one value it is 0.
    pub fn deviation(&self) -> Option<f64> {
        #[expect(clippy::cast_precision_loss, reason = "see add")]
        self.some((self.squares / (self.count.max(2) - 1) as f64).sqrt())
    }
}

/// Bucket of a duration in `rtt_histogram`: floor(ln(us) / ln(1.02)).
pub fn bucket(us: u64) -> u16 {
    #[expect(clippy::cast_precision_loss, reason = "see Stats::add")]
    let bucket = (us.max(1) as f64).ln() / 1.02f64.ln();
    #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "at most ln(2^64) / ln(1.02) = 2241")]
    let bucket = bucket.floor() as u16;
    bucket
}
