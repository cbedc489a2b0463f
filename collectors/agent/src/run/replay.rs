//! Reading again: events of connections that were decided to be kept after some of their records had been read.
//!
//! Files can be read again, so no spool holds these events. One pass over a file, from where the first of the
//! connections began, a turn's worth at a time, serves all its connections that were decided by then. The fold is not
//! run again, and rejects of the same bytes are not counted again.

use crate::records::{Records, Turn};
use crate::run::input::FileInput;
use quiclens_core::memory::TraceMemory;
use quiclens_core::reader::records::Window;
use quiclens_core::retention::{Again, Owed};
use quiclens_core::tables::Tables;
use std::io;

/// Bytes that are read again before another file's turn.
const TURN: usize = 1 << 20;
const CHUNK: usize = 256 << 10;

/// How far a pass is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ReplayProgress {
    /// There is more of it.
    More,
    /// All that was owed is in the tables, or has been.
    Done,
    /// The file is shorter than it was.
    Gone,
}

/// One pass over the beginning of a file.
pub struct Replay<'c> {
    records: Option<Records<'c>>,
    window: Window,
    offset: u64,
    until: u64,
    scratch: Tables,
}

impl<'c> Replay<'c> {
    /// Of what is `owed` of the file of `live`, from the records before `until`.
    pub fn new(live: &Records<'c>, owed: Owed, until: u64) -> Self {
        let again = Again::new(owed);
        // Where all of the connections began after the header, the pass starts at the first of them.
        let (records, offset) = match live.again() {
            Some(records) if again.start() > 0 => (records, again.start()),
            _ => (live.anew(), 0),
        };
        let scratch = Tables { wants_events: true, again: Some(again), ..Tables::default() };
        Self { records: Some(records), window: Window::from(offset), offset, until, scratch }
    }

    /// What it serves.
    pub fn owed(&self) -> Owed {
        self.scratch.again.as_ref().map(|again| again.owed.clone()).unwrap_or_default()
    }

    /// Bytes that it still has to read.
    pub fn bytes_behind(&self) -> u64 {
        self.until.saturating_sub(self.offset)
    }

    /// What it holds.
    pub fn memory(&self) -> TraceMemory {
        let window = TraceMemory { states: self.window.rest().len(), ..TraceMemory::default() };
        self.records.as_ref().map(Records::memory).unwrap_or_default() + window
    }

    /// Reads a turn's worth, and then frees the memory that the rest does not need.
    pub fn turn(&mut self, input: &FileInput, tables: &mut Tables) -> io::Result<ReplayProgress> {
        self.scratch.edge.clone_from(&tables.edge);
        std::mem::swap(&mut self.scratch.events, &mut tables.events);
        let done = self.read(input);
        std::mem::swap(&mut self.scratch.events, &mut tables.events);
        self.window.shrink();
        if let Some(records) = &mut self.records {
            records.release();
        }
        done
    }

    fn read(&mut self, input: &FileInput) -> io::Result<ReplayProgress> {
        let mut left = TURN;
        loop {
            while let Some(records) = &mut self.records
                && records.next(&mut self.window, &mut self.scratch) == Turn::Taken
            {
                if !self.scratch.is_small() {
                    return Ok(ReplayProgress::More);
                }
            }
            if self.window.end {
                if let Some(records) = self.records.take() {
                    records.finish(true, &mut self.scratch);
                }
                return Ok(ReplayProgress::Done);
            }
            if left == 0 {
                return Ok(ReplayProgress::More);
            }
            let wanted = usize::try_from(self.until - self.offset).unwrap_or(CHUNK).min(CHUNK).min(left);
            let got = input.read(self.offset, self.window.space(), wanted)?;
            if got == 0 && wanted > 0 {
                return Ok(ReplayProgress::Gone);
            }
            left -= got;
            self.offset += got as u64;
            self.window.end = self.offset >= self.until;
        }
    }
}
