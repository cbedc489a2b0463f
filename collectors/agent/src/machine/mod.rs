//! Everything that a running collector asks of its machine: files and time.
//!
//! Here are calls of the standard library, and nothing else. In tests the same names are those of `simulated`, where a
//! thread may work on a simulated disk and clock; any other thread works on this machine.

#[cfg(not(test))]
mod real;
#[cfg(test)]
pub mod simulated;

#[cfg(not(test))]
pub use real::*;
#[cfg(test)]
pub use simulated::*;

use std::fs::Metadata;
use std::os::unix::fs::MetadataExt;

/// A file as it is now.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Look {
    /// Device.
    pub device: u64,
    /// Inode.
    pub inode: u64,
    /// Bytes that are there.
    pub size: u64,
    /// It has no name any more.
    pub is_deleted: bool,
    /// When its content or anything else of it changed (ctime), s and ns.
    pub changed: (i64, i64),
}

impl From<Metadata> for Look {
    fn from(metadata: Metadata) -> Self {
        Self {
            device: metadata.dev(),
            inode: metadata.ino(),
            size: metadata.len(),
            is_deleted: metadata.nlink() == 0,
            changed: (metadata.ctime(), metadata.ctime_nsec()),
        }
    }
}
