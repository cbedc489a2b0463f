//! Virtual time for a stack that asks what time it is: TQUIC calls `std::time::Instant::now()`, std calls
//! `clock_gettime`, and the linker finds that name in this program before it looks in libc.
//!
//! Only the monotonic clock of a thread that has called [`set`] is virtual; everything else is the kernel's.

use std::cell::Cell;
use std::time::{Duration, Instant};

thread_local! {
    /// What the monotonic clock of this thread says, once it is virtual.
    static NOW: Cell<Option<Duration>> = const { Cell::new(None) };
    /// A reading of the clock, and the instant that std makes of it.
    static ANCHOR: Cell<Option<(Duration, Instant)>> = const { Cell::new(None) };
}

/// From here on `Instant::now()` of this thread is this moment.
pub fn set(now: Instant) {
    let (reading, instant) = ANCHOR.get().unwrap_or_else(anchor);
    NOW.set(Some(if now >= instant { reading + (now - instant) } else { reading - (instant - now) }));
}

/// std keeps to itself how it makes an instant of a reading; so it is asked once what it makes of one.
fn anchor() -> (Duration, Instant) {
    let reading = NOW.get().unwrap_or_else(|| kernel(libc::CLOCK_MONOTONIC));
    NOW.set(Some(reading));
    let made = (reading, Instant::now());
    ANCHOR.set(Some(made));
    made
}

fn kernel(clock: libc::clockid_t) -> Duration {
    let mut time = libc::timespec { tv_sec: 0, tv_nsec: 0 };
    read(clock, &mut time);
    Duration::new(time.tv_sec.unsigned_abs(), time.tv_nsec.unsigned_abs() as u32)
}

/// Asks the kernel past libc, whose `clock_gettime` is the one below.
#[allow(unsafe_code)]
fn read(clock: libc::clockid_t, time: &mut libc::timespec) -> libc::c_int {
    // SAFETY: the kernel writes one timespec to a place that is one and is borrowed for as long as the call takes.
    unsafe { libc::syscall(libc::SYS_clock_gettime, clock, std::ptr::from_mut(time)) as libc::c_int }
}

/// libc's, for all of this program.
///
/// # Safety
/// As libc's: `time` is a place for a timespec, or null.
#[allow(unsafe_code)]
#[unsafe(no_mangle)]
unsafe extern "C" fn clock_gettime(clock: libc::clockid_t, time: *mut libc::timespec) -> libc::c_int {
    // SAFETY: the caller's promise.
    let Some(time) = (unsafe { time.as_mut() }) else { return -1 };
    // A thread that is ending has no value any more, and the kernel's time.
    match NOW.try_with(Cell::get).ok().flatten().filter(|_| clock == libc::CLOCK_MONOTONIC) {
        Some(now) => {
            time.tv_sec = now.as_secs() as libc::time_t;
            time.tv_nsec = libc::c_long::from(now.subsec_nanos());
            0
        }
        None => read(clock, time),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::time::SystemTime;

    #[test]
    fn stds_clock_stands_still_until_it_is_set_and_only_in_this_thread() {
        let start = Instant::now();
        set(start);
        assert_eq!(Instant::now(), start);
        set(start + Duration::from_secs(3_600));
        assert_eq!(Instant::now() - start, Duration::from_secs(3_600));
        set(start + Duration::from_nanos(1));
        assert_eq!(Instant::now() - start, Duration::from_nanos(1));
        let real = std::thread::spawn(|| {
            let before = Instant::now();
            std::thread::sleep(Duration::from_millis(2));
            before.elapsed()
        });
        assert!(real.join().expect("no panic") >= Duration::from_millis(2));
        assert_eq!(Instant::now() - start, Duration::from_nanos(1));
        let wall = SystemTime::now();
        std::thread::sleep(Duration::from_millis(2));
        assert!(wall.elapsed().expect("time goes on") >= Duration::from_millis(1), "the wall clock is the kernel's");
    }
}
