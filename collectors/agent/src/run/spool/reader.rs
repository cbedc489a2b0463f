//! Reads what was synced, in order, from a place among all payloads on.

use crate::machine::File;
use crate::run::spool::Spool;
use crate::run::spool::frame::{FrameStep, decode};
use crate::run::spool::head::{Head, LineRun, What};
use crate::run::spool::segment::Segment;
use quiclens_core::reader::skip::Skip;
use quiclens_core::trace::REJECT_BYTES;
use std::io::{self, Read};
use std::sync::Arc;

/// Bytes read at a time, at least.
const CHUNK: u64 = 256 << 10;

/// What comes next.
#[derive(Debug, PartialEq, Eq)]
pub enum Item {
    /// Whole lines; the first byte of `bytes` stands at `offset`.
    Lines {
        /// Place among all payloads.
        offset: u64,
        /// The lines.
        bytes: Vec<u8>,
    },
    /// Something that is not to be read as lines.
    Reject {
        /// Place among all payloads.
        offset: u64,
        /// Place of what comes after it.
        end: u64,
        /// Source, empty where it is not known.
        source: String,
        /// Why.
        reason: Skip,
        /// Bytes of the whole thing.
        length: u64,
        /// The first of them.
        bytes: Vec<u8>,
        /// Records that it held.
        runs: Vec<LineRun>,
    },
}

/// The reading end.
pub struct SpoolReader {
    spool: Arc<Spool>,
    /// The segment that is read, its file, and how much of it is in the buffer or was used.
    open: Option<(Segment, File, u64)>,
    buffer: Vec<u8>,
    used: usize,
    /// Nothing follows what is in the buffer.
    is_end: bool,
    /// Place of the next payload.
    offset: Option<u64>,
    /// First bytes of what could not be read since the last record.
    lost: Vec<u8>,
    ready: Option<Item>,
}

impl SpoolReader {
    /// From `offset` on, or from the oldest record.
    pub fn new(spool: &Arc<Spool>, offset: Option<u64>) -> Self {
        let (spool, buffer, lost) = (Arc::clone(spool), Vec::new(), Vec::new());
        Self { spool, open: None, buffer, used: 0, is_end: false, offset, lost, ready: None }
    }

    /// The next item; `None` when there is none yet.
    pub fn next(&mut self) -> io::Result<Option<Item>> {
        loop {
            if let Some(item) = self.ready.take() {
                return Ok(Some(item));
            }
            let bytes = &self.buffer[self.used..];
            match if bytes.is_empty() { FrameStep::NeedMore } else { decode(bytes, self.is_end) } {
                FrameStep::NeedMore => {
                    if !self.fill()? {
                        return Ok(None);
                    }
                }
                FrameStep::Lost { taken } => {
                    let room = REJECT_BYTES.saturating_sub(self.lost.len());
                    self.lost.extend_from_slice(&bytes[..taken.min(room)]);
                    self.used += taken;
                }
                FrameStep::Record { head, payload, taken, is_sound, .. } => {
                    let payload = bytes[payload.0..payload.1].to_vec();
                    self.used += taken;
                    if let Some(item) = self.record(head, payload, is_sound) {
                        return Ok(Some(item));
                    }
                }
            }
        }
    }

    /// More bytes of the segment, or of the next one; false when nothing is there.
    fn fill(&mut self) -> io::Result<bool> {
        let synced = self.spool.synced();
        let current = self.open.as_ref().map(|(segment, ..)| segment.number);
        if let Some((segment, file, at)) = &mut self.open {
            if let Some(now) = synced.iter().find(|now| now.number == segment.number) {
                segment.bytes = now.bytes;
            }
            if *at < segment.bytes {
                self.buffer.drain(..self.used);
                self.used = 0;
                // As much again as is there: a record may be much longer than a chunk.
                let more = CHUNK.max(self.buffer.len() as u64).min(segment.bytes - *at);
                let got = file.take(more).read_to_end(&mut self.buffer)? as u64;
                // A file that is shorter than it was ends there.
                *at = if got == 0 { segment.bytes } else { *at + got };
                self.is_end = *at >= segment.bytes;
                return Ok(true);
            }
        }
        let next = match current {
            Some(current) => synced.into_iter().find(|segment| segment.number > current),
            // The last that begins at or before the place.
            None => {
                let after = synced.iter().position(|segment| Some(segment.offset) > self.offset);
                let begin = after.unwrap_or(synced.len()).saturating_sub(1);
                synced.into_iter().nth(begin)
            }
        };
        let Some(segment) = next else { return Ok(false) };
        let file = File::open(&segment.path)?;
        self.buffer.clear();
        self.used = 0;
        self.open = Some((segment, file, 0));
        self.fill()
    }

    fn record(&mut self, head: Head, mut bytes: Vec<u8>, is_sound: bool) -> Option<Item> {
        let expected = *self.offset.get_or_insert(head.offset);
        let lost = std::mem::take(&mut self.lost);
        let end = head.offset + bytes.len() as u64;
        if end <= expected {
            return None;
        }
        self.offset = Some(end);
        let offset = head.offset.max(expected);
        let item = match head.what {
            What::Positions { .. } => None,
            What::Lines { .. } if is_sound => {
                bytes.drain(..usize::try_from(offset - head.offset).unwrap_or(0));
                Some(Item::Lines { offset, bytes })
            }
            What::Lines { source, runs, .. } => {
                let length = bytes.len() as u64;
                bytes.truncate(REJECT_BYTES);
                Some(Item::Reject { offset: head.offset, end, source, reason: Skip::SpoolCorrupt, length, bytes, runs })
            }
            What::Reject { source, reason, length, .. } => {
                let reason = if is_sound { reason } else { Skip::SpoolCorrupt };
                Some(Item::Reject { offset: head.offset, end, source, reason, length, bytes, runs: Vec::new() })
            }
        };
        if head.offset <= expected {
            return item;
        }
        self.ready = item;
        let (end, length) = (head.offset, head.offset - expected);
        let (source, reason, runs) = (String::new(), Skip::SpoolCorrupt, Vec::new());
        Some(Item::Reject { offset: expected, end, source, reason, length, bytes: lost, runs })
    }
}
