//! What the collector may take of its machine: processor time and descriptors.

use crate::run::health::Health;
use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};
use rustix::time::{ClockId, clock_gettime};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};
use tracing::warn;

/// Time that may be saved up for a burst, s of wall clock.
const BURST_S: f64 = 1.0;
/// Longest sleep at a time: between two of them, a stop is noticed and the loop reports that it lives.
const LONGEST: Duration = Duration::from_millis(250);

/// Processor time as an allowance that grows with the wall clock.
pub struct CpuCap {
    cores: f64,
    balance_s: f64,
    at: Instant,
    used_s: f64,
    stop: Arc<AtomicBool>,
    health: Arc<Health>,
}

impl CpuCap {
    /// At most so many cores; 0 is no cap. A rest ends early when `stop` is set.
    pub fn new(cores: f64, stop: &Arc<AtomicBool>, health: &Arc<Health>) -> Self {
        let (stop, health) = (Arc::clone(stop), Arc::clone(health));
        Self { cores, balance_s: cores * BURST_S, at: Instant::now(), used_s: used_s(), stop, health }
    }

    /// Sleeps while more than the allowance was used: reading falls behind instead of taking more processor time. Whoever
    /// works for long calls it between two steps: the loop lives.
    pub fn rest(&mut self) {
        self.health.turned(Instant::now());
        while self.cores > 0.0 && !self.stop.load(Ordering::Relaxed) {
            let now = Instant::now();
            let pause = self.pause(now, used_s());
            if pause.is_zero() {
                return;
            }
            self.health.turned(now);
            std::thread::sleep(pause);
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

/// Turns huge pages off: the memory of thousands of silent connections is small and scattered, and each small
/// allocation would keep a huge page of 2 MiB resident. On a kernel without the call nothing changes.
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
#[expect(clippy::unwrap_used, reason = "tests")]
mod tests {
    use super::*;

    fn capped(cores: f64, is_told: bool) -> CpuCap {
        CpuCap::new(cores, &Arc::new(AtomicBool::new(is_told)), &Arc::new(Health::new(Instant::now())))
    }

    #[test]
    fn descriptors_are_left_for_others_and_one_file_is_always_followed() {
        let found = [0, 32, 64, 1024, 20_000, u64::MAX].map(of_limit);
        assert_eq!(found, [1, 1, 32, 896, 19_744, u64::MAX - 256]);
    }

    #[test]
    fn past_the_cap_it_rests_as_long_as_it_takes_to_be_even() {
        let mut cap = capped(0.25, false);
        let (at, used) = (cap.at, cap.used_s);
        assert_eq!(cap.pause(at, used + 0.25), Duration::ZERO);
        let pause = cap.pause(at, used + 0.30);
        assert!((pause.as_secs_f64() - 0.2).abs() < 1e-6, "{pause:?}");
        assert_eq!(cap.pause(at + pause, used + 0.30).as_micros(), 0);
        // A unit of 40 ms at a hundredth of a core: four seconds, a piece at a time.
        let mut cap = capped(0.01, false);
        let (mut now, used) = (cap.at, cap.used_s + 0.01 + 0.04);
        let began = now;
        loop {
            let pause = cap.pause(now, used);
            assert!(pause <= LONGEST);
            if pause.is_zero() {
                break;
            }
            now += pause;
        }
        assert_eq!((now - began).as_secs_f64().round(), 4.0);
    }

    #[test]
    fn a_loop_that_rests_between_two_steps_lives_with_a_cap_and_without_one() {
        for cores in [0.0, 8.0] {
            let began = Instant::now().checked_sub(Duration::from_secs(60)).unwrap();
            let health = Arc::new(Health::new(began));
            let mut cap = CpuCap::new(cores, &Arc::new(AtomicBool::new(false)), &health);
            assert!(health.found(Instant::now()).seconds_since_turn >= 60.0);
            cap.rest();
            assert!(health.found(Instant::now()).seconds_since_turn < 60.0);
        }
    }

    #[test]
    fn a_rest_ends_when_the_process_is_told_to_stop() {
        let mut cap = capped(1e-9, true);
        cap.balance_s = -1.0;
        cap.rest();
        let mut cap = capped(1e-9, false);
        cap.balance_s = -1.0;
        let (stop, began) = (Arc::clone(&cap.stop), Instant::now());
        let told = std::thread::spawn(move || {
            std::thread::sleep(2 * LONGEST);
            stop.store(true, Ordering::Relaxed);
        });
        cap.rest();
        assert!(began.elapsed() >= 2 * LONGEST);
        told.join().unwrap();
    }
}
