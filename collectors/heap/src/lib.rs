//! The process's memory: its allocator, and giving back what it does not use.

/// Batches are built and dropped all the time; glibc gives their pages back to the kernel and faults them in again.
/// Version 2: version 3 spreads over so many fresh huge pages that clearing them took a fifth of the time.
#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

/// Gives the pages back that this thread has freed. Otherwise mimalloc does so when it next looks for memory, and a
/// process that has come to rest never looks.
pub fn give_back() {
    // SAFETY: the function is documented as one that any thread may call at any time; it takes and gives no pointers.
    unsafe { libmimalloc_sys::mi_collect(true) }
}
