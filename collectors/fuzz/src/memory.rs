//! What an input costs in memory: libFuzzer counts allocations only with a sanitizer, so an allocator does.

use peak_alloc::PeakAlloc;

#[global_allocator]
static HEAP: PeakAlloc = PeakAlloc;

/// Bytes that any input may cost, however small: windows and batches have a least size.
const BASE: usize = 48 << 20;

/// Does `work`, and ends the process where that took more than [`BASE`] and `per_byte` for each of `length` bytes.
pub fn bounded<T>(length: usize, per_byte: usize, work: impl FnOnce() -> T) -> T {
    let before = HEAP.current_usage();
    HEAP.reset_peak_usage();
    let done = work();
    let cost = HEAP.peak_usage().saturating_sub(before);
    let most = BASE + per_byte * length;
    assert!(cost <= most, "{length} bytes of input cost {cost} bytes of memory, {most} are allowed");
    done
}
