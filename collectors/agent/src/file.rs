//! One file through parse, fold and record. Longer than most files: each framing is one loop over the same window.

use crate::passing::Passing;
use crate::records::{Records, Turn, whole};
use quiclens_core::catalogue::Catalogue;
use quiclens_core::header::Header;
use quiclens_core::reader::records::{Document, RECORD_LIMIT, Step, Window};
use quiclens_core::reader::scan::Scan;
use quiclens_core::reader::skip::{Skip, Stop};
use quiclens_core::reader::sniff::{Framing, sniff};
use quiclens_core::retention::Again;
use quiclens_core::tables::Tables;
use quiclens_core::trace::{REJECT_BYTES, Reject, TraceReader};
use quiclens_tail::{Fault, Source, open_named, open_regular};
use std::fs::File;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use xxhash_rust::xxh3::xxh3_64;

/// Bytes read at a time.
const CHUNK: usize = 256 << 10;
/// Bytes that tell a file's format.
const HEAD: usize = 64 << 10;

/// What is done with the tables as they grow; an error ends the run.
pub type Flush<'f> = dyn FnMut(&mut Tables, bool) -> Result<(), String> + 'f;

/// A file being read, with the window on it.
pub struct Reading {
    source: Source,
    /// What was read of it.
    pub window: Window,
    fault: Option<Skip>,
}

impl Reading {
    fn open(file: &Arc<File>, memory: Vec<u8>) -> Result<Self, Fault> {
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

    fn fill_to(&mut self, bytes: usize) {
        while !self.window.end && self.window.rest().len() < bytes {
            self.fill();
        }
    }
}

impl Reading {
    /// Passes over bytes up to the end that `end` finds in them, or to the file's: what was passed, its first bytes
    /// kept, and whether the end was found.
    fn pass_over(&mut self, reason: Skip, mut end: impl FnMut(&[u8]) -> Option<usize>) -> (Reject, bool) {
        let mut passing = Passing::begin(reason, self.window.offset());
        loop {
            let found = passing.take(&mut self.window, &mut end);
            if found || self.window.end {
                return (passing.done(), found);
            }
            self.fill();
        }
    }
}

/// Why nothing more of a file is read.
pub fn skip_of(fault: &Fault) -> Skip {
    match fault {
        Fault::Unreadable(_) => Skip::Unreadable,
        Fault::NotAFile => Skip::NotAFile,
        Fault::BadCompression(_) => Skip::BadCompression,
        Fault::Cut => Skip::Truncated,
        Fault::TooLarge => Skip::TooLargeDecompressed,
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
}

impl<'c, 'f> Files<'c, 'f> {
    /// Empty tables, with or without events, that `flush` takes as they grow.
    pub fn new(catalogue: &'c Catalogue, wants_events: bool, flush: &'f mut Flush<'f>) -> Self {
        let tables = Tables { wants_events, ..Tables::default() };
        Self { catalogue, tables, flush, memory: Vec::new(), bytes: 0, files: 0 }
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

    /// Reads one file, `name` is what people call it. What is wrong with it is counted in the tables; an error is ours.
    pub fn read(&mut self, name: &str, file: &Arc<File>) -> Result<(), String> {
        let Some(mut reading) = self.begin(name, file) else { return Ok(()) };
        reading.fill_to(HEAD);
        let head = &reading.window.rest()[..reading.window.rest().len().min(HEAD)];
        if head.is_empty() {
            self.whole_file(name, reading.fault.unwrap_or(Skip::EmptyFile), &[]);
            return Ok(());
        }
        let whole = reading.window.end && head.len() == reading.window.rest().len();
        match sniff(head, whole) {
            None => {
                let kept = head.to_vec();
                self.whole_file(name, reading.fault.unwrap_or(Skip::NotALog), &kept);
            }
            Some(Framing::Contained) => self.contained(file, name, reading)?,
            Some(framing) => self.records(name, reading, framing)?,
        }
        (self.flush)(&mut self.tables, false)
    }

    /// Reads a file again for the events of connections that only later records, or its end, decided to keep.
    pub fn again(&mut self, name: &str, file: &Arc<File>) -> Result<(), String> {
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

    /// Counts a file of which nothing can be read.
    pub fn whole_file(&mut self, name: &str, reason: Skip, bytes: &[u8]) {
        whole(&mut self.tables, name, reason, bytes);
    }

    /// Lets tables that have grown large go.
    pub fn grown(&mut self) -> Result<(), String> {
        if self.tables.is_small() { Ok(()) } else { (self.flush)(&mut self.tables, false) }
    }

    /// A document: the headers first, then, in a second pass, the events.
    fn contained(&mut self, file: &Arc<File>, name: &str, reading: Reading) -> Result<(), String> {
        let (headers, memory) = headers(reading);
        let mut reading = match Reading::open(file, memory) {
            Ok(reading) => reading,
            Err(fault) => {
                self.whole_file(name, skip_of(&fault), &[]);
                return Ok(());
            }
        };
        let mut document = Document::default();
        let mut index = 0;
        let mut trace: Option<TraceReader<'_>> = None;
        let mut complete = true;
        loop {
            match document.step(&mut reading.window) {
                Step::NeedMore => reading.fill(),
                Step::Events => {
                    if trace.is_none() {
                        let header = headers
                            .get(index)
                            .cloned()
                            .unwrap_or_else(|| Header::contained(&document.file, &document.trace, (0, 0)));
                        trace = Some(TraceReader::new(self.catalogue, header, name));
                    }
                }
                Step::Element => {
                    let Some(trace) = &mut trace else { break };
                    complete &= self.element(trace, &mut reading)?;
                }
                Step::TraceEnd => {
                    let cut = reading.window.end && reading.window.rest().is_empty() && document.is_cut();
                    match trace.take() {
                        Some(trace) => trace.finish(complete && !cut && reading.fault.is_none(), &mut self.tables),
                        None if !cut => self.whole_file(name, Skip::NoHeader, b""),
                        None => {}
                    }
                    index += 1;
                    complete = true;
                    self.grown()?;
                }
                Step::Skip { reason, taken } => {
                    let reject = Reject {
                        reason: Some(reason),
                        offset: reading.window.offset(),
                        length: taken as u64,
                        bytes: kept(&reading.window.rest()[..taken]),
                    };
                    complete = false;
                    match &mut trace {
                        Some(trace) => trace.reject(reject, &mut self.tables),
                        None => self.tables.reject(
                            &format!("{:016x}", xxh3_64(&reject.bytes[..reject.bytes.len().min(4096)])),
                            &reject,
                            name,
                            "",
                            None,
                        ),
                    }
                    reading.window.consume(taken);
                }
                Step::Record { .. } | Step::Done => break,
            }
        }
        if let Some(trace) = trace {
            trace.finish(false, &mut self.tables);
        }
        self.end_of(name, reading);
        Ok(())
    }

    /// The window stands on an element of the events array. False when the trace is cut in it.
    fn element(&mut self, trace: &mut TraceReader<'_>, reading: &mut Reading) -> Result<bool, String> {
        match trace.push(reading.window.rest(), &mut self.tables) {
            Ok(length) => {
                reading.window.consume(length);
                if self.tables.is_small() { Ok(true) } else { (self.flush)(&mut self.tables, false).map(|()| true) }
            }
            Err(Stop::End) if !reading.window.end && reading.window.rest().len() <= RECORD_LIMIT => {
                reading.fill();
                Ok(true)
            }
            Err(stop) => {
                let reason = match stop {
                    Stop::Skip(reason) => reason,
                    Stop::End if reading.window.end => Skip::Truncated,
                    Stop::End => Skip::TooLong,
                };
                self.pass_by(trace, reading, reason);
                Ok(reason != Skip::Truncated)
            }
        }
    }

    /// Past an element that is no event.
    fn pass_by(&mut self, trace: &mut TraceReader<'_>, reading: &mut Reading, reason: Skip) {
        let mut scan = Scan::default();
        let (mut reject, ended) = reading.pass_over(reason, |rest| scan.advance(rest));
        if !ended && reason == Skip::NotJson {
            reject.reason = Some(Skip::Truncated);
        }
        if reject.length == 0 {
            // Nothing here can begin an element: a stray bracket or quote is passed by alone.
            reading.window.consume(1);
            reject.length = 1;
        }
        trace.reject(reject, &mut self.tables);
    }

    /// A header record and events, or rows, one each.
    fn records(&mut self, name: &str, mut reading: Reading, framing: Framing) -> Result<(), String> {
        let mut records = Records::new(self.catalogue, framing, name);
        loop {
            match records.next(&mut reading.window, &mut self.tables) {
                Turn::NeedMore => reading.fill(),
                Turn::Taken => self.grown()?,
                Turn::Over => break,
            }
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

/// What of a reject is kept.
pub fn kept(bytes: &[u8]) -> Vec<u8> {
    bytes[..bytes.len().min(REJECT_BYTES)].to_vec()
}

/// First pass over a document: each trace's header, whole, wherever its keys stand.
fn headers(mut reading: Reading) -> (Vec<Header>, Vec<u8>) {
    let mut document = Document::default();
    let mut before = (0, 0);
    let mut headers = Vec::new();
    let mut traces: Vec<(Vec<u8>, (usize, usize))> = Vec::new();
    let mut scan = None;
    let mut seen = false;
    loop {
        match document.step(&mut reading.window) {
            Step::NeedMore => reading.fill(),
            Step::Events => {
                if !seen {
                    before = (document.file.len(), document.trace.len());
                    seen = true;
                }
            }
            Step::Element => {
                let scan = scan.get_or_insert_with(Scan::inside);
                while !Document::pass_by_all(&mut reading.window, scan) && !reading.window.end {
                    reading.fill();
                }
            }
            Step::TraceEnd => {
                scan = None;
                if seen {
                    traces.push((document.trace.clone(), before));
                }
                seen = false;
            }
            Step::Skip { taken, .. } => {
                scan = None;
                reading.window.consume(taken);
            }
            Step::Done | Step::Record { .. } => break,
        }
    }
    if seen {
        traces.push((document.trace.clone(), before));
    }
    for (trace, before) in traces {
        headers.push(Header::contained(&document.file, &trace, before));
    }
    (headers, reading.window.into_memory())
}
