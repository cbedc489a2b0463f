//! Where the bytes of what is followed come from.

use std::fs::File;
use std::io::{self, Read, Seek, SeekFrom};
use std::os::unix::fs::{FileExt, MetadataExt};
use xxhash_rust::xxh3::xxh3_64;

/// Bytes with offsets, which only grow.
pub enum Input {
    /// A file, held open so that it can be read to its end when it is deleted. Beside it: where its cursor stands.
    File(File, u64),
}

/// An input as it is now.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Look {
    /// Bytes that are there.
    pub size: u64,
    /// It has no name any more.
    pub is_deleted: bool,
}

impl Input {
    /// Looks at it.
    pub fn look(&self) -> io::Result<Look> {
        match self {
            Self::File(file, _) => {
                let metadata = file.metadata()?;
                Ok(Look { size: metadata.len(), is_deleted: metadata.nlink() == 0 })
            }
        }
    }

    /// Appends at most `most` bytes from `offset` on to `buffer`; 0 at the end.
    pub fn read(&mut self, offset: u64, buffer: &mut Vec<u8>, most: usize) -> io::Result<usize> {
        match self {
            Self::File(file, at) => {
                if *at != offset {
                    *at = file.seek(SeekFrom::Start(offset))?;
                }
                // `read_to_end` fills spare memory without zeroing it first.
                buffer.reserve_exact(most);
                let got = file.take(most as u64).read_to_end(buffer)?;
                *at += got as u64;
                Ok(got)
            }
        }
    }

    /// Length and hash of its first bytes, at most `length`, as many as there are.
    pub fn prefix(&self, length: u32) -> io::Result<(u32, u64)> {
        let mut head = vec![0; length as usize];
        let mut known = 0;
        while known < head.len() {
            let got = match self {
                Self::File(file, _) => file.read_at(&mut head[known..], known as u64)?,
            };
            if got == 0 {
                break;
            }
            known += got;
        }
        Ok((u32::try_from(known).unwrap_or(0), xxh3_64(&head[..known])))
    }
}
