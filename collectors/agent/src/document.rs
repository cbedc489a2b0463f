//! Contained documents to their traces, in one pass.
//!
//! A trace's header should come before its events. Where it does not (a writer that sorts its keys puts
//! `vantage_point` behind them), the headers are gathered by a look ahead over the file. It passes over events by their
//! brackets alone; where anything of the file is damaged, the look ahead uses the same steps as the reading later. The
//! headers are kept by the offset where the events begin, never by the order of the traces.

use crate::error::Error;
use crate::file::{Breathe, Files, Reading};
use crate::records::count_unread;
use quiclens_core::crossed::Bound;
use quiclens_core::header::Header;
use quiclens_core::limits::{DOCUMENT_HEADERS, HEADER_AHEAD, HEADERS_AHEAD};
use quiclens_core::reader::brackets::{Brackets, Unbalanced};
use quiclens_core::reader::document::{Document, RefusedElement, Step};
use quiclens_core::reader::records::RECORD_LIMIT;
use quiclens_core::reader::skip::{Skip, Stop};
use quiclens_core::trace::{Earlier, REJECT_BYTES, Reject, TraceReader};
use std::collections::BTreeMap;
use std::fs::File;
use std::rc::Rc;
use std::sync::Arc;

/// Header fields that say how events are to be read, or whose they are.
const DECISIVE: [&[u8]; 5] =
    [b"\"vantage_point\"", b"\"common_fields\"", b"\"configuration\"", b"\"event_fields\"", b"\"title\""];

/// Headers by the place where the events of their trace begin.
type Gathered = BTreeMap<u64, GatheredHeader>;

/// A header that was looked for ahead, as its text: what it says takes several times as much memory.
struct GatheredHeader {
    /// The insides of the document's object and of the trace's.
    file: Rc<[u8]>,
    trace: Box<[u8]>,
    /// Bytes of both that come before the events.
    before: (usize, usize),
}

impl GatheredHeader {
    fn header(&self) -> Header {
        Header::contained(&self.file, &self.trace, self.before)
    }
}

/// A trace that is being read.
struct DocumentTrace<'c> {
    trace: TraceReader<'c>,
    /// Nothing of it was rejected.
    is_whole: bool,
    /// Bytes of the two headers that came before its events.
    before: (usize, usize),
    /// Its header was gathered ahead: nothing of it comes late.
    is_gathered: bool,
    /// Values of it were counted as unread.
    has_unread: bool,
}

/// Bytes of the documents' own headers that were read once more for each of their traces.
#[derive(Default)]
struct HeaderCopies {
    bytes: u64,
}

impl HeaderCopies {
    /// Takes so many bytes more, where a file of which `read` bytes were read may have them.
    fn take(&mut self, length: usize, read: u64) -> bool {
        let bytes = self.bytes + length as u64;
        let is_free = bytes <= DOCUMENT_HEADERS + read;
        if is_free {
            self.bytes = bytes;
        }
        is_free
    }
}

impl<'c> Files<'c, '_> {
    /// Reads the documents of a file, one after the other.
    pub fn documents(&mut self, file: &Arc<File>, name: &str, mut reading: Reading) -> Result<(), Error> {
        let mut document = Document::default();
        let mut gathered: Option<Gathered> = None;
        let mut reader: Option<DocumentTrace<'c>> = None;
        let mut earlier = Earlier::default();
        let mut copies = HeaderCopies::default();
        // Bytes that were lost before a trace's events may have been some of them.
        let mut is_harmed = false;
        loop {
            match document.step(&mut reading.window) {
                Step::NeedMore => {
                    (self.breathe)()?;
                    reading.fill_twice();
                }
                Step::Events => {
                    if gathered.is_none() && is_late(&document) {
                        gathered = Some(gather(file, self.breathe));
                    }
                    let offset = reading.window.offset();
                    let found = gathered.as_ref().and_then(|gathered| gathered.get(&offset));
                    let length = found.map_or(document.file.len(), |found| found.file.len());
                    if !copies.take(length, offset) {
                        self.reject(name, &Reject { reason: Some(Skip::TooLong), offset, ..Reject::default() });
                        continue;
                    }
                    let mut begun = self.begin_trace(name, &document, found, offset);
                    begun.is_whole = !std::mem::take(&mut is_harmed);
                    begun.trace.comes_after(std::mem::take(&mut earlier));
                    reader = Some(begun);
                }
                Step::Element => match &mut reader {
                    Some(reader) => self.element(reader, &mut document, &mut reading)?,
                    None => self.pass_over(name, &mut document, &mut reading)?,
                },
                Step::TraceEnd { is_closed } => {
                    if let Some(reader) = reader.take() {
                        let is_unharmed = reading.fault.is_none();
                        let is_whole = is_closed && is_unharmed;
                        earlier =
                            self.end_trace(reader, &document, is_whole, reading.window.offset(), name, &mut copies)?;
                    }
                    self.grown()?;
                }
                Step::Lost(reject) => {
                    match &mut reader {
                        Some(reader) => self.lose(reader, reject),
                        None => {
                            is_harmed |=
                                !matches!(reject.reason, Some(Skip::TraceError | Skip::NoEvents | Skip::NoHeader));
                            self.reject(name, &reject);
                        }
                    }
                    self.grown()?;
                }
                Step::DocumentEnd => {}
                Step::Done => break,
            }
        }
        self.end_of(name, reading);
        Ok(())
    }

    fn begin_trace(
        &mut self,
        name: &str,
        document: &Document,
        gathered: Option<&GatheredHeader>,
        offset: u64,
    ) -> DocumentTrace<'c> {
        let before = (document.file.len(), document.trace.len());
        let is_gathered = gathered.is_some();
        let header =
            gathered.map_or_else(|| Header::contained(&document.file, &document.trace, before), GatheredHeader::header);
        let has_unread = count_unread(&mut self.tables, name, &header, offset);
        let trace = TraceReader::new(self.catalogue, header, name);
        DocumentTrace { trace, is_whole: true, before, is_gathered, has_unread }
    }

    /// The window stands on an element of the events array.
    fn element(
        &mut self,
        reader: &mut DocumentTrace<'_>,
        document: &mut Document,
        reading: &mut Reading,
    ) -> Result<(), Error> {
        let rest = reading.window.rest();
        let text = &rest[..rest.len().min(RECORD_LIMIT)];
        reader.trace.lies_at(reading.window.offset());
        let why = match reader.trace.push(text, &mut self.tables) {
            Ok(length) => {
                reading.window.consume(length);
                return self.grown();
            }
            Err(Stop::End) if text.len() < RECORD_LIMIT && !reading.window.end => {
                (self.breathe)()?;
                reading.fill_twice();
                return Ok(());
            }
            Err(Stop::End) => Skip::Truncated,
            Err(Stop::Skip(reason)) => reason,
        };
        match document.refuse(&mut reading.window, why) {
            RefusedElement::NeedMore => reading.fill_twice(),
            RefusedElement::Reject(reject) => self.lose(reader, reject),
            RefusedElement::Damaged => {}
        }
        self.grown()
    }

    /// The window stands on an element of a trace whose document's header is not read once more.
    fn pass_over(&mut self, name: &str, document: &mut Document, reading: &mut Reading) -> Result<(), Error> {
        match document.refuse(&mut reading.window, Skip::TooLong) {
            RefusedElement::NeedMore => {
                (self.breathe)()?;
                reading.fill_twice();
            }
            RefusedElement::Reject(reject) => self.reject(name, &reject),
            RefusedElement::Damaged => {}
        }
        self.grown()
    }

    /// Counts a part of a trace that is not an event.
    fn lose(&mut self, reader: &mut DocumentTrace<'_>, reject: Reject) {
        // An empty record says nothing, so nothing of it is missing.
        reader.is_whole &= reject.reason == Some(Skip::EmptyRecord);
        reader.trace.reject(reject, &mut self.tables);
    }

    fn end_trace(
        &mut self,
        mut reader: DocumentTrace<'_>,
        document: &Document,
        is_closed: bool,
        offset: u64,
        name: &str,
        copies: &mut HeaderCopies,
    ) -> Result<Earlier, Error> {
        let late = document.trace.get(reader.before.1..).unwrap_or(&[]);
        if !late.is_empty() && !reader.is_gathered {
            let is_decisive = DECISIVE.iter().any(|key| memchr::memmem::find(late, key).is_some());
            let lost = if copies.take(document.file.len(), offset) {
                let header = Header::contained(&document.file, &document.trace, reader.before);
                if !reader.has_unread {
                    count_unread(&mut self.tables, name, &header, offset);
                }
                (!reader.trace.amend(header) && is_decisive).then_some(Skip::NoHeader)
            } else {
                Some(Skip::TooLong)
            };
            if lost.is_some() {
                let bytes = late[..late.len().min(REJECT_BYTES)].to_vec();
                self.lose(&mut reader, Reject { reason: lost, offset, length: late.len() as u64, bytes });
            }
        }
        if reader.trace.is_empty() {
            self.reject(name, &Reject { reason: Some(Skip::NoEvents), offset, ..Reject::default() });
        }
        let is_whole = is_closed && reader.is_whole;
        while reader.trace.end_some(is_whole, &mut self.tables) {
            self.grown()?;
        }
        let earlier = reader.trace.earlier();
        reader.trace.finish(is_whole, &mut self.tables);
        Ok(earlier)
    }
}

/// Fields that tell who logged, and by which clock, are still to come.
fn is_late(document: &Document) -> bool {
    let has = |words: &[&[u8]]| words.iter().any(|word| memchr::memmem::find(&document.trace, word).is_some());
    !(has(&[b"\"vantage_point\"", b"\"vantagepoint\""]) && has(&[b"\"common_fields\"", b"\"event_fields\""]))
}

/// Looks ahead over a whole file for the headers of its traces.
fn gather(file: &Arc<File>, breathe: &Breathe<'_>) -> Gathered {
    let quick = look_ahead(file, breathe, true);
    quick.or_else(|Damaged| look_ahead(file, breathe, false)).unwrap_or_default()
}

/// Something of a file is not what it should be.
struct Damaged;

/// The headers of a file. `is_quick`: events are passed over by their brackets, and whatever is not whole is the error;
/// else it is read step by step, as it is.
fn look_ahead(file: &Arc<File>, breathe: &Breathe<'_>, is_quick: bool) -> Result<Gathered, Damaged> {
    let mut gathered = Gathered::new();
    let mut reading = Reading::open(file, Vec::new()).map_err(|_| Damaged)?;
    let mut document = Document::default();
    // Those of one document, whose own header is whole at its end alone.
    let mut traces: Vec<(u64, GatheredHeader)> = Vec::new();
    let no_file: Rc<[u8]> = Rc::default();
    let mut begun = None;
    let mut bytes = 0;
    while bytes <= HEADERS_AHEAD {
        match document.step(&mut reading.window) {
            Step::NeedMore => {
                // The reading that follows gets the same error.
                if breathe().is_err() {
                    break;
                }
                reading.fill_twice();
            }
            Step::Events => {
                begun = Some((reading.window.offset(), (document.file.len(), document.trace.len())));
                if is_quick && !pass_events(&mut reading, breathe)? {
                    break;
                }
            }
            Step::Element | Step::Lost(_) | Step::TraceEnd { is_closed: false } if is_quick => return Err(Damaged),
            Step::Element => {
                if document.refuse(&mut reading.window, Skip::NotARecord) == RefusedElement::NeedMore {
                    reading.fill_twice();
                }
            }
            Step::TraceEnd { .. } => {
                if let Some((offset, before)) = begun.take() {
                    bytes += document.file.len() + document.trace.len() + HEADER_AHEAD;
                    let trace = document.trace.as_slice().into();
                    traces.push((offset, GatheredHeader { file: Rc::clone(&no_file), trace, before }));
                }
            }
            Step::Lost(_) => {}
            Step::DocumentEnd => {
                let file: Rc<[u8]> = document.file.as_slice().into();
                for (offset, header) in traces.drain(..) {
                    gathered.insert(offset, GatheredHeader { file: Rc::clone(&file), ..header });
                }
            }
            Step::Done if is_quick && !document.is_closed() => return Err(Damaged),
            Step::Done => break,
        }
    }
    if bytes > HEADERS_AHEAD {
        Bound::HeadersAhead.cross();
    }
    Ok(gathered)
}

/// Goes on to the bracket that ends the events; false when told to stop before.
fn pass_events(reading: &mut Reading, breathe: &Breathe<'_>) -> Result<bool, Damaged> {
    let mut brackets = Brackets::default();
    loop {
        let rest = reading.window.rest();
        let (last, length) = (brackets.close(rest).map_err(|Unbalanced| Damaged)?, rest.len());
        reading.window.consume(last.unwrap_or(length));
        if last.is_some() {
            return Ok(true);
        }
        if reading.window.end {
            return Err(Damaged);
        }
        if breathe().is_err() {
            return Ok(false);
        }
        reading.fill();
    }
}

#[cfg(test)]
#[expect(clippy::unwrap_used, reason = "tests")]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use std::io::Write;
    use std::path::Path;

    fn file(text: &[u8]) -> Arc<File> {
        let mut file = tempfile::tempfile().unwrap();
        file.write_all(text).unwrap();
        Arc::new(file)
    }

    fn told(gathered: &Gathered) -> Vec<(u64, String, Vec<u8>)> {
        let told = |header: Header| (header.json.to_string(), header.text);
        let all = gathered.iter().map(|(at, gathered)| (*at, told(gathered.header())));
        all.map(|(at, (json, text))| (at, json, text)).collect()
    }

    /// Cases whose logs are documents.
    fn documents() -> Vec<(String, Vec<u8>)> {
        let vectors = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../schema/vectors");
        let inputs = std::fs::read_dir(vectors).unwrap().map(|entry| entry.unwrap().path());
        let read = |path: std::path::PathBuf| {
            let text = std::fs::read(path.join("input.qlog")).ok()?;
            Some((path.file_name()?.to_string_lossy().into_owned(), text))
        };
        let mut found: Vec<_> = inputs.filter_map(read).filter(|(_, text)| text.starts_with(b"{\"")).collect();
        found.sort();
        found
    }

    #[test]
    fn headers_of_whole_documents_are_the_same_both_ways() {
        let mut whole = Vec::new();
        for (name, text) in documents() {
            let file = file(&text);
            if let Ok(found) = look_ahead(&file, &|| Ok(()), true) {
                let slow = look_ahead(&file, &|| Ok(()), false).unwrap_or_default();
                assert_eq!(told(&found), told(&slow), "{name}");
                whole.push(name);
            }
        }
        for name in ["vantage_after_events", "documents_joined", "aioquic_clean_server", "document_header_values"] {
            assert!(whole.iter().any(|found| found == name), "{name} is whole: {whole:?}");
        }
        for name in ["document_damaged", "document_lost_bracket"] {
            assert!(!whole.iter().any(|found| found == name), "{name} is damaged");
        }
    }

    #[test]
    fn so_many_bytes_of_headers_are_looked_for_ahead() {
        let trace = format!(r#"{{"events":[],"title":"{}"}}"#, "x".repeat(HEADERS_AHEAD / 21 - 100 - HEADER_AHEAD));
        for (traces, found) in [(21, 21), (22, 0)] {
            let text = format!(r#"{{"qlog_version":"0.3","traces":[{}]}}"#, vec![trace.as_str(); traces].join(","));
            let before = Bound::HeadersAhead.times();
            assert_eq!(look_ahead(&file(text.as_bytes()), &|| Ok(()), true).unwrap_or_default().len(), found);
            assert_eq!(Bound::HeadersAhead.times() > before, found == 0);
        }
    }

    /// Two traces whose headers come behind their events.
    fn late() -> String {
        let trace = |name: &str| {
            format!(
                r#"{{"events":[{{"time":1,"name":"a:b","data":{{"text":"]}}, \\\" [{{"}}}},[2,"a","b",{{}}]],"title":"{name}","vantage_point":{{"name":"{name}","type":"server"}}}}"#
            )
        };
        format!(r#"{{"qlog_version":"0.3","traces":[{},{}],"title":"both"}}"#, trace("first"), trace("second"))
    }

    proptest! {
        #![proptest_config(ProptestConfig { cases: 20_000, failure_persistence: None, ..ProptestConfig::default() })]

        /// Where the quick look ahead accepts a damaged file as whole, no trace gets another trace's header.
        #[test]
        fn a_damaged_document_gives_no_trace_the_header_of_another(
            strikes in prop::collection::vec((any::<prop::sample::Index>(), 0..4u8, any::<u8>()), 1..4)
        ) {
            let mut text = late().into_bytes();
            let second = memchr::memmem::rfind(&text, b"\"events\":[").unwrap();
            let mut moved = 0i64;
            for (at, how, byte) in strikes {
                if text.is_empty() {
                    break;
                }
                let at = at.index(text.len());
                moved += match how {
                    0 => { text[at] ^= 1 << (byte % 8); 0 }
                    1 => { text.remove(at); -1 }
                    2 => { text.insert(at, b"{}[]\",:\\"[usize::from(byte) % 8]); 1 }
                    _ => { let left = at.max(1); text.truncate(left); 0 }
                };
            }
            let Ok(found) = look_ahead(&file(&text), &|| Ok(()), true) else { return Ok(()) };
            for (at, header) in found {
                let header = header.header();
                let of = |name| header.json["trace"]["vantage_point"]["name"] == name;
                let is_second = at as i64 > second as i64 + moved.min(0);
                prop_assert!(!of(if is_second { "first" } else { "second" }), "{}", String::from_utf8_lossy(&text));
            }
        }
    }
}
