//! Where the bytes of what is followed come from: a file that is held open, whatever becomes of its name.

use crate::machine::{self, File, Look};
use std::io;
use std::sync::Arc;
use xxhash_rust::xxh3::xxh3_64;

/// A file, held open so that it can be read to its end when it is deleted.
pub struct FileInput(pub Arc<File>);

impl FileInput {
    /// Looks at it.
    pub fn look(&self) -> io::Result<Look> {
        machine::look_at(&self.0)
    }

    /// Appends at most `most` bytes from `offset` on to `buffer`; 0 at the end.
    pub fn read(&self, offset: u64, buffer: &mut Vec<u8>, most: usize) -> io::Result<usize> {
        machine::append_at(&self.0, offset, buffer, most)
    }

    /// Length and hash of its first bytes, at most `length`, as many as there are.
    pub fn prefix(&self, length: u32) -> io::Result<(u32, u64)> {
        let mut head = Vec::new();
        loop {
            let (known, missing) = (head.len(), (length as usize).saturating_sub(head.len()));
            if missing == 0 || self.read(known as u64, &mut head, missing)? == 0 {
                break;
            }
        }
        Ok((u32::try_from(head.len()).unwrap_or(0), xxh3_64(&head)))
    }
}

#[cfg(test)]
#[expect(clippy::unwrap_used, reason = "tests")]
mod tests {
    use super::*;
    use std::io::Write as _;

    #[test]
    fn no_more_is_read_than_was_asked_for_however_much_room_there_is() {
        let mut file = tempfile::tempfile().unwrap();
        file.write_all(b"0123456789").unwrap();
        let input = FileInput(Arc::new(File::from(file)));
        let mut buffer = Vec::with_capacity(1000);
        assert_eq!(input.read(2, &mut buffer, 3).unwrap(), 3);
        assert_eq!(input.read(8, &mut buffer, 3).unwrap(), 2);
        assert_eq!((buffer.as_slice(), input.read(10, &mut buffer.clone(), 3).unwrap()), (&b"23489"[..], 0));
        assert_eq!(input.prefix(4).unwrap(), (4, xxh3_64(b"0123")));
    }
}
