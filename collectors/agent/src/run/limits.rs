//! What the collector may take of its machine: processor time and descriptors.

use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};
use rustix::time::{ClockId, clock_gettime};
use std::time::{Duration, Instant};
use tracing::warn;

/// Time that may be saved up for a burst, s of wall clock.
const BURST_S: f64 = 1.0;
/// Longest rest at a time: signals are heard in between.
const LONGEST: Duration = Duration::from_millis(250);

/// Processor time as an allowance that grows with the wall clock.
pub struct CpuCap {
    cores: f64,
    balance_s: f64,
    at: Instant,
    used_s: f64,
}

impl CpuCap {
    /// At most so many cores; 0 is no cap.
    pub fn new(cores: f64) -> Self {
        Self { cores, balance_s: cores * BURST_S, at: Instant::now(), used_s: used_s() }
    }

    /// Rests when more than the allowance was used: reading falls behind rather than take more.
    pub fn rest(&mut self) {
        if self.cores > 0.0 {
            let pause = self.pause(Instant::now(), used_s());
            if !pause.is_zero() {
                std::thread::sleep(pause);
            }
        }
    }

    fn pause(&mut self, now: Instant, used_s: f64) -> Duration {
        let grown_s = self.cores * (now - self.at).as_secs_f64();
        self.balance_s = (self.balance_s + grown_s).min(self.cores * BURST_S) - (used_s - self.used_s);
        (self.at, self.used_s) = (now, used_s);
        Duration::from_secs_f64((-self.balance_s / self.cores).clamp(0.0, LONGEST.as_secs_f64()))
    }
}

/// Processor time of all threads of this process so far.
fn used_s() -> f64 {
    let used = clock_gettime(ClockId::ProcessCPUTime);
    #[expect(clippy::cast_precision_loss, reason = "a process does not live for 2^53 ns")]
    let seconds = used.tv_sec as f64 + used.tv_nsec as f64 / 1e9;
    seconds
}

/// What thousands of silent connections hold is small and scattered: with huge pages, each little rest of a batch that
/// is long gone keeps 2 MiB resident. A kernel that does not know the call goes on as before.
pub fn refuse_huge_pages() {
    let _ = rustix::thread::disable_transparent_huge_pages(true);
}

/// Raises the soft limit of open files to the hard one. Where that is refused the limit stays, and a file that cannot
/// be opened is met again in the next scan.
pub fn raise_open_files() {
    let maximum = getrlimit(Resource::Nofile).maximum;
    if let Err(error) = setrlimit(Resource::Nofile, Rlimit { current: maximum, maximum }) {
        warn!("cannot raise the limit of open files: {error}");
    }
}

/// Descriptors that are left for the sink, the checkpoints, sockets and metrics, whatever is followed.
const LEFT: (u64, u64) = (32, 256);

/// How many files may be held open at once.
pub fn most_followed() -> usize {
    let limit = getrlimit(Resource::Nofile).current.unwrap_or(u64::MAX);
    usize::try_from(of_limit(limit)).unwrap_or(usize::MAX)
}

fn of_limit(limit: u64) -> u64 {
    limit.saturating_sub((limit / 8).clamp(LEFT.0, LEFT.1)).max(1)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn descriptors_are_left_for_others_and_one_file_is_always_followed() {
        let found = [0, 32, 64, 1024, 20_000, u64::MAX].map(of_limit);
        assert_eq!(found, [1, 1, 32, 896, 19_744, u64::MAX - 256]);
    }

    #[test]
    fn past_the_cap_it_rests_as_long_as_it_takes_to_be_even() {
        let mut cap = CpuCap::new(0.25);
        let (at, used) = (cap.at, cap.used_s);
        assert_eq!(cap.pause(at, used + 0.25), Duration::ZERO);
        let pause = cap.pause(at, used + 0.30);
        assert!((pause.as_secs_f64() - 0.2).abs() < 1e-6, "{pause:?}");
        assert_eq!(cap.pause(at + pause, used + 0.30).as_micros(), 0);
        assert_eq!(cap.pause(at + pause, used + 9.0), LONGEST);
    }
}
