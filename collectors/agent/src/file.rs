//! One file through parse, fold and record. Longer than most files: each framing is one loop over the same window.

use crate::error::Error;
use crate::records::{Records, Turn, reject_of_file, whole};
use quiclens_core::catalogue::Catalogue;
use quiclens_core::reader::records::{RECORD_LIMIT, Window};
use quiclens_core::reader::skip::Skip;
use quiclens_core::reader::sniff::{Framing, Sniffed, sniff};
use quiclens_core::retention::Again;
use quiclens_core::tables::Tables;
use quiclens_core::trace::{REJECT_BYTES, Reject};
use quiclens_tail::{Source, SourceFault, open_named, open_regular};
use std::fs::File;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use xxhash_rust::xxh3::xxh3_64;

/// Bytes read at a time.
const CHUNK: usize = 256 << 10;
/// Bytes that tell a file's format.
const HEAD: usize = 64 << 10;

/// What is done with the tables as they grow; an error ends the run.
pub type Flush<'f> = dyn FnMut(&mut Tables, bool) -> Result<(), Error> + 'f;

/// What is done between two reads; an error ends the reading.
pub type Breathe<'f> = dyn Fn() -> Result<(), Error> + 'f;

/// A file being read, with the window on it.
pub struct Reading {
    source: Source,
    /// What was read of it.
    pub window: Window,
    /// Why nothing more comes.
    pub fault: Option<Skip>,
}

impl Reading {
    /// A file from its beginning, read into `memory`.
    pub fn open(file: &Arc<File>, memory: Vec<u8>) -> Result<Self, SourceFault> {
        Ok(Self { source: Source::of(Arc::clone(file))?, window: Window::reuse(memory), fault: None })
    }

    /// Reads more; at the end, or at a fault, the window says so.
    pub fn fill(&mut self) {
        match self.source.read(self.window.space(), CHUNK) {
            Ok(0) => self.window.end = true,
            Ok(_) => {}
            Err(fault) => {
                self.window.end = true;
                self.fault = Some(skip_of(&fault));
            }
        }
    }

    /// Reads at least a chunk, until the window holds twice as much: even a long record is scanned only a few times.
    pub fn fill_twice(&mut self) {
        let wanted = (2 * self.window.rest().len()).min(RECORD_LIMIT + CHUNK);
        self.fill();
        self.fill_to(wanted);
    }

    fn fill_to(&mut self, bytes: usize) {
        while !self.window.end && self.window.rest().len() < bytes {
            self.fill();
        }
    }
}

/// Why nothing more of a file is read.
pub fn skip_of(fault: &SourceFault) -> Skip {
    match fault {
        SourceFault::Unreadable(_) => Skip::Unreadable,
        SourceFault::NotAFile => Skip::NotAFile,
        SourceFault::BadCompression(_) => Skip::BadCompression,
        SourceFault::Cut => Skip::Truncated,
        SourceFault::TooLarge => Skip::TooLargeDecompressed,
    }
}

/// Reads files one after the other into tables.
pub struct Files<'c, 'f> {
    /// Names and dialects.
    pub catalogue: &'c Catalogue,
    /// Where rows gather.
    pub tables: Tables,
    /// What takes them.
    pub flush: &'f mut Flush<'f>,
    /// The last window's memory: the next file's is as large.
    pub memory: Vec<u8>,
    /// Decompressed bytes so far.
    pub bytes: u64,
    /// Files opened.
    pub files: u64,
    /// What is called between two reads of a file: it may sleep, or end the reading with an error.
    pub breathe: &'f Breathe<'f>,
}

impl<'c, 'f> Files<'c, 'f> {
    /// Empty tables, with or without events, that `flush` takes as they grow.
    pub fn new(catalogue: &'c Catalogue, wants_events: bool, flush: &'f mut Flush<'f>) -> Self {
        let tables = Tables { wants_events, ..Tables::default() };
        Self { catalogue, tables, flush, memory: Vec::new(), bytes: 0, files: 0, breathe: &|| Ok(()) }
    }

    /// Opens a file that was found; one that cannot be opened is counted. A pipe is read where it is one of the paths
    /// `named` by the user: one that lies in a folder may be anybody's.
    pub fn open(&mut self, path: &Path, named: &[PathBuf]) -> Option<Arc<File>> {
        let is_named = named.iter().any(|named| named == path);
        let file = if is_named { open_named(path) } else { open_regular(path) };
        file.map(Arc::new).map_err(|fault| self.whole_file(&path.to_string_lossy(), skip_of(&fault), &[])).ok()
    }

    /// A file from its beginning, counted; one that cannot be read is counted as that.
    pub fn begin(&mut self, name: &str, file: &Arc<File>) -> Option<Reading> {
        let reading = Reading::open(file, std::mem::take(&mut self.memory));
        let reading = reading.map_err(|fault| self.whole_file(name, skip_of(&fault), &[])).ok()?;
        self.files += 1;
        Some(reading)
    }

    /// Reads one file called `name`. Faults of the file are counted in the tables; errors are those of `flush` and
    /// `breathe`.
    pub fn read(&mut self, name: &str, file: &Arc<File>) -> Result<(), Error> {
        let Some(mut reading) = self.begin(name, file) else { return Ok(()) };
        let mut wanted = HEAD;
        let framing = loop {
            reading.fill_to(wanted);
            let is_all = reading.window.end || reading.window.rest().len() >= RECORD_LIMIT;
            match sniff(reading.window.rest(), is_all) {
                Sniffed::Known(framing) => break Some(framing),
                Sniffed::More if !is_all => wanted *= 2,
                Sniffed::More | Sniffed::Unknown => break None,
            }
        };
        match framing {
            None => {
                let head = kept(reading.window.rest());
                let reason = if head.is_empty() { Skip::EmptyFile } else { Skip::NotALog };
                self.whole_file(name, reading.fault.unwrap_or(reason), &head);
            }
            Some(Framing::Contained) => self.documents(file, name, reading)?,
            Some(framing) => self.records(name, reading, framing)?,
        }
        (self.flush)(&mut self.tables, false)
    }

    /// Reads a file again for the events of connections that only later records, or its end, decided to keep.
    pub fn again(&mut self, name: &str, file: &Arc<File>) -> Result<(), Error> {
        let owed = std::mem::take(&mut self.tables.owed);
        if owed.is_empty() {
            return Ok(());
        }
        let opened = self.files;
        self.tables.again = Some(Again::new(owed));
        let done = self.read(name, file);
        let again = self.tables.again.take();
        if let Some(again) = again.filter(|_| self.files == opened) {
            self.tables.lose(&again.owed);
        }
        done
    }

    /// Counts bytes that belong to no trace.
    pub fn reject(&mut self, name: &str, reject: &Reject) {
        reject_of_file(&mut self.tables, name, reject);
    }

    /// Counts a file of which nothing can be read.
    pub fn whole_file(&mut self, name: &str, reason: Skip, bytes: &[u8]) {
        whole(&mut self.tables, name, reason, 0, bytes);
    }

    /// Flushes the tables when they have grown large.
    pub fn grown(&mut self) -> Result<(), Error> {
        if self.tables.is_small() { Ok(()) } else { (self.flush)(&mut self.tables, false) }
    }

    /// Reads a sequence (a header record, then events) or rows, record by record.
    fn records(&mut self, name: &str, mut reading: Reading, framing: Framing) -> Result<(), Error> {
        let mut records = Records::new(self.catalogue, framing, name);
        loop {
            match records.next(&mut reading.window, &mut self.tables) {
                Turn::NeedMore => {
                    (self.breathe)()?;
                    reading.fill();
                }
                Turn::Taken => self.grown()?,
                Turn::Over => break,
            }
        }
        if records.trace().is_some_and(|trace| trace.is_empty()) && self.tables.again.is_none() {
            self.reject(
                name,
                &Reject { reason: Some(Skip::NoEvents), offset: reading.window.offset(), ..Reject::default() },
            );
        }
        while records.end_some(reading.fault.is_none(), &mut self.tables) {
            self.grown()?;
        }
        records.finish(reading.fault.is_none(), &mut self.tables);
        self.end_of(name, reading);
        Ok(())
    }

    /// Counts what was read of a file, and what was wrong with reading it.
    pub fn end_of(&mut self, name: &str, reading: Reading) {
        self.bytes += reading.window.offset() + reading.window.rest().len() as u64;
        if let Some(reason) = reading.fault {
            self.tables.reject(
                &format!("{:016x}", xxh3_64(name.as_bytes())),
                &Reject { reason: Some(reason), offset: reading.window.offset(), ..Reject::default() },
                name,
                "",
                None,
            );
        }
        self.memory = reading.window.into_memory();
    }
}

/// The bytes of a reject that are kept.
pub fn kept(bytes: &[u8]) -> Vec<u8> {
    bytes[..bytes.len().min(REJECT_BYTES)].to_vec()
}
