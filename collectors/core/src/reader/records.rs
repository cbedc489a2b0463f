//! Cuts a file into records, window by window. For documents see [`document`](crate::reader::document).

use crate::reader::json::Cursor;
use crate::reader::sniff::{Framing, RS};

pub use crate::limits::RECORD_LIMIT;

/// A piece of a file: what the shell has read and nobody has used.
#[derive(Debug, Default)]
pub struct Window {
    bytes: Vec<u8>,
    at: usize,
    base: u64,
    /// Nothing comes after what is here.
    pub end: bool,
}

impl Window {
    /// A window that uses the memory of an earlier one.
    pub fn reuse(mut bytes: Vec<u8>) -> Self {
        bytes.clear();
        Self { bytes, ..Self::default() }
    }

    /// A window on a file that is read on from `offset`.
    pub fn from(offset: u64) -> Self {
        Self { base: offset, ..Self::default() }
    }

    /// Its memory, for the next.
    pub fn into_memory(self) -> Vec<u8> {
        self.bytes
    }

    /// Gives back the memory that nothing is in: files that do not grow are many.
    pub fn shrink(&mut self) {
        self.space().shrink_to_fit();
    }

    /// What is not used yet.
    #[inline]
    pub fn rest(&self) -> &[u8] {
        &self.bytes[self.at..]
    }

    /// Place of `rest` in the decompressed file.
    #[inline]
    pub fn offset(&self) -> u64 {
        self.base + self.at as u64
    }

    /// Uses `count` bytes.
    #[inline]
    pub fn consume(&mut self, count: usize) {
        self.at = (self.at + count).min(self.bytes.len());
    }

    /// The buffer to which the shell appends, after what was used is gone.
    pub fn space(&mut self) -> &mut Vec<u8> {
        self.base += self.at as u64;
        self.bytes.drain(..self.at);
        self.at = 0;
        &mut self.bytes
    }
}

/// What comes next in a file of records.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RecordStep {
    /// The window ends too soon: read more.
    NeedMore,
    /// A record of `len` bytes stands at the window's start.
    Record {
        /// Bytes of the record, separators left out.
        len: usize,
        /// Bytes to consume with it.
        taken: usize,
    },
    /// What stands here is longer than a record may be.
    TooLong,
    /// The file ended.
    Done,
}

/// Next record of a sequential file: a header or an event.
pub fn next_record(framing: Framing, window: &mut Window) -> RecordStep {
    loop {
        let skipped = window.rest().iter().take_while(|byte| byte.is_ascii_whitespace() || **byte == RS).count();
        window.consume(skipped);
        let rest = window.rest();
        if rest.is_empty() {
            return if window.end { RecordStep::Done } else { RecordStep::NeedMore };
        }
        if window.offset() == 0 && rest.starts_with(b"\xEF\xBB\xBF") {
            window.consume(3);
            continue;
        }
        let stop = if framing == Framing::Sequential {
            // The separator begins a record; a line feed inside one is white space. The header may lack its own, and a
            // file may lose separators: a line that is whole counts as a record too.
            sequential_end(rest, window.end)
        } else {
            memchr::memchr(b'\n', rest)
        };
        let (len, taken) = match stop {
            Some(end) => (end, end + 1),
            None if window.end => (rest.len(), rest.len()),
            None if rest.len() > RECORD_LIMIT => return RecordStep::TooLong,
            None => return RecordStep::NeedMore,
        };
        if len > RECORD_LIMIT {
            return RecordStep::TooLong;
        }
        return RecordStep::Record { len, taken };
    }
}

/// End of a record of a sequence: its separator, or the line feed after a value that is whole there. `end`: nothing
/// follows what is here; a file that still grows may be in the middle of a record of several lines.
fn sequential_end(rest: &[u8], end: bool) -> Option<usize> {
    let line = memchr::memchr2(b'\n', RS, rest)?;
    if rest[line] == RS {
        return Some(line);
    }
    // The usual case: one line a record. Otherwise it goes on to the separator.
    let after = rest[line..].iter().find(|byte| !byte.is_ascii_whitespace());
    match after {
        Some(&RS) => Some(line),
        None if end => Some(line),
        Some(_) | None if Cursor::new(&rest[..line]).value().is_ok() => Some(line),
        Some(_) | None => memchr::memchr(RS, rest),
    }
}
