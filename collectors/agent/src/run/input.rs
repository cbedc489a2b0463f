//! Where the bytes of what is followed come from: a file that is held open, whatever becomes of its name.

use quiclens_tail::append_at;
use std::fs::File;
use std::io;
use std::os::unix::fs::MetadataExt;
use std::sync::Arc;
use xxhash_rust::xxh3::xxh3_64;

/// A file, held open so that it can be read to its end when it is deleted.
pub struct Input(pub Arc<File>);

/// An input as it is now.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Look {
    /// Bytes that are there.
    pub size: u64,
    /// It has no name any more.
    pub is_deleted: bool,
    /// When its content or anything else of it changed (ctime), s and ns.
    pub changed: (i64, i64),
}

impl Input {
    /// Looks at it.
    pub fn look(&self) -> io::Result<Look> {
        let metadata = self.0.metadata()?;
        let changed = (metadata.ctime(), metadata.ctime_nsec());
        Ok(Look { size: metadata.len(), is_deleted: metadata.nlink() == 0, changed })
    }

    /// Appends bytes from `offset` on to `buffer`, `wanted` or as many as it has room for; 0 at the end.
    pub fn read(&self, offset: u64, buffer: &mut Vec<u8>, wanted: usize) -> io::Result<usize> {
        append_at(&self.0, offset, buffer, wanted)
    }

    /// Length and hash of its first bytes, at most `length`, as many as there are.
    pub fn prefix(&self, length: u32) -> io::Result<(u32, u64)> {
        let mut head = Vec::new();
        while head.len() < length as usize && self.read(head.len() as u64, &mut head, length as usize)? > 0 {}
        head.truncate(length as usize);
        Ok((u32::try_from(head.len()).unwrap_or(0), xxh3_64(&head)))
    }
}
