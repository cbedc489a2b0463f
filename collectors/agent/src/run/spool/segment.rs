//! The spool's files: a segment each, named by the place of its first byte among all payloads and by its first record.

use crate::machine;
use crate::run::spool::frame::{FrameStep, decode};
use crate::run::spool::head::Head;
use std::io;
use std::path::{Path, PathBuf};

const SUFFIX: &str = ".spool";

/// One file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Segment {
    /// Where it is.
    pub path: PathBuf,
    /// Place of its first payload's first byte.
    pub offset: u64,
    /// Number of its first record.
    pub number: u64,
    /// Bytes of it that are records.
    pub bytes: u64,
}

impl Segment {
    /// The one that begins there; nothing is made.
    pub fn new(folder: &Path, offset: u64, number: u64) -> Self {
        Self { path: folder.join(format!("{offset:020}-{number:020}{SUFFIX}")), offset, number, bytes: 0 }
    }

    /// All of a folder, oldest first; other files are passed over.
    pub fn list(folder: &Path) -> io::Result<Vec<Self>> {
        let mut found = Vec::new();
        for path in machine::list(folder)? {
            let parts = path
                .file_name()
                .and_then(|name| name.to_str())
                .and_then(|name| name.strip_suffix(SUFFIX)?.split_once('-'));
            if let Some((Ok(offset), Ok(number))) = parts.map(|(offset, number)| (offset.parse(), number.parse())) {
                let bytes = machine::look(&path)?.size;
                found.push(Self { path, offset, number, bytes });
            }
        }
        found.sort_by_key(|segment: &Self| segment.number);
        Ok(found)
    }

    /// The heads of its records, and how many bytes they are; what comes after them was never synced.
    pub fn heads(&self) -> io::Result<(Vec<(Head, usize)>, usize)> {
        let bytes = machine::read(&self.path)?;
        let (mut at, mut end, mut heads) = (0, 0, Vec::new());
        while at < bytes.len() {
            at += match decode(&bytes[at..], true) {
                FrameStep::Record { head, payload, taken, is_sound, is_closed } => {
                    // The last record is torn where both its payload and its second head are wrong.
                    if is_sound || is_closed || at + taken < bytes.len() {
                        end = at + taken;
                        heads.push((head, payload.1 - payload.0));
                    }
                    taken
                }
                FrameStep::Lost { taken } => taken,
                FrameStep::NeedMore => break,
            };
        }
        Ok((heads, end))
    }
}
