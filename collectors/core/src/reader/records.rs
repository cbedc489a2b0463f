//! Cuts a file into records, window by window.

use crate::reader::json::{Cursor, Fault};
use crate::reader::scan::Scan;
use crate::reader::skip::Skip;
use crate::reader::sniff::{Framing, RS};

/// Largest record, and largest header value, that is read.
pub const RECORD_LIMIT: usize = 4 << 20;

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

/// What comes next in a file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Step {
    /// The window ends too soon: read more.
    NeedMore,
    /// A trace's header is known as far as it comes before the events; its events follow.
    Events,
    /// The window stands on an element of the events array: parse it, or [`Document::pass_by`] it.
    Element,
    /// A record of `len` bytes stands at the window's start (sequential forms).
    Record {
        /// Bytes of the record, separators left out.
        len: usize,
        /// Bytes to consume with it.
        taken: usize,
    },
    /// The trace ended.
    TraceEnd,
    /// The file ended.
    Done,
    /// What stands here is no record; `taken` bytes of it are passed by.
    Skip {
        /// Why.
        reason: Skip,
        /// Bytes to keep and consume.
        taken: usize,
    },
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum State {
    Start,
    Top,
    Traces,
    Trace,
    Events,
    Done,
}

/// Walks a contained document: header values are collected, elements of `events` are shown one by one.
#[derive(Debug)]
pub struct Document {
    state: State,
    /// Header keys of the document, as the inside of a JSON object.
    pub file: Vec<u8>,
    /// Header keys of the trace, likewise.
    pub trace: Vec<u8>,
    /// The trace stands in an array of traces.
    in_list: bool,
    traces: u32,
    /// The window when an element was shown last: its offset, its length, whether it was the last. Shown twice, the
    /// element was neither taken nor waited for, and a byte of it is passed by: every step makes progress.
    shown: Option<(u64, usize, bool)>,
}

impl Default for Document {
    fn default() -> Self {
        Self { state: State::Start, file: Vec::new(), trace: Vec::new(), in_list: false, traces: 0, shown: None }
    }
}

impl Document {
    /// Goes on by one step.
    pub fn step(&mut self, window: &mut Window) -> Step {
        loop {
            let spaces =
                window.rest().iter().take_while(|byte| matches!(byte, b' ' | b'\t' | b'\r' | b'\n' | b',')).count();
            window.consume(spaces);
            if self.state == State::Done {
                return Step::Done;
            }
            let Some(&byte) = window.rest().first() else { return self.out_of_bytes(window) };
            match (self.state, byte) {
                (State::Start, b'\xEF') => window.consume(3),
                (State::Start, b'{') => {
                    self.state = State::Top;
                    window.consume(1);
                }
                (State::Top, b'}') => {
                    self.state = State::Done;
                    window.consume(1);
                    if self.traces == 0 {
                        return Step::Skip { reason: Skip::NoHeader, taken: 0 };
                    }
                }
                (State::Traces, b']') => {
                    self.state = State::Top;
                    window.consume(1);
                }
                (State::Traces, b'{') => {
                    self.state = State::Trace;
                    self.in_list = true;
                    self.trace.clear();
                    window.consume(1);
                }
                (State::Trace, b'}') => {
                    self.state = if self.in_list { State::Traces } else { State::Top };
                    self.traces += 1;
                    window.consume(1);
                    return Step::TraceEnd;
                }
                (State::Events, b']') => {
                    self.state = State::Trace;
                    window.consume(1);
                }
                (State::Events, _) => {
                    let shown = (window.offset(), window.rest().len(), window.end);
                    if self.shown.replace(shown) == Some(shown) {
                        return Step::Skip { reason: Skip::NotJson, taken: 1 };
                    }
                    return Step::Element;
                }
                (State::Top | State::Trace, b'"') => match self.pair(window) {
                    Ok(Some(step)) => return step,
                    Ok(None) => {}
                    Err(Fault::End) if !window.end && window.rest().len() <= RECORD_LIMIT => return Step::NeedMore,
                    Err(Fault::End) if window.rest().len() > RECORD_LIMIT => return self.broken(window, Skip::TooLong),
                    Err(Fault::End) => return self.broken(window, Skip::Truncated),
                    Err(_) => return self.broken(window, Skip::NoHeader),
                },
                _ => return self.broken(window, Skip::NoHeader),
            }
        }
    }

    fn broken(&mut self, window: &Window, reason: Skip) -> Step {
        self.state = State::Done;
        Step::Skip { reason, taken: window.rest().len() }
    }

    fn out_of_bytes(&mut self, window: &Window) -> Step {
        if !window.end {
            return Step::NeedMore;
        }
        // A cut between elements loses no event; the trace is over all the same.
        match self.state {
            State::Events | State::Trace => {
                self.state = State::Done;
                self.traces += 1;
                Step::TraceEnd
            }
            State::Top | State::Traces if self.traces > 0 => Step::Done,
            _ => {
                self.state = State::Done;
                Step::Skip { reason: Skip::NoHeader, taken: 0 }
            }
        }
    }

    /// One key and its value, or the step into a list of traces or events.
    fn pair(&mut self, window: &mut Window) -> Result<Option<Step>, Fault> {
        let mut cursor = Cursor::new(window.rest());
        let key = cursor.key()?.raw;
        let next = cursor.peek()?;
        let entered = match (self.state, key, next) {
            (State::Top, b"traces" | b"connections", b'[') => Some(State::Traces),
            (State::Top, b"trace", b'{') => Some(State::Trace),
            (State::Trace, b"events", b'[') => Some(State::Events),
            _ => None,
        };
        if let Some(state) = entered {
            let taken = cursor.at + 1;
            self.in_list = state == State::Traces || (self.in_list && state == State::Events);
            if state == State::Trace {
                self.trace.clear();
            }
            self.state = state;
            window.consume(taken);
            return Ok((state == State::Events).then_some(Step::Events));
        }
        cursor.value()?;
        let taken = cursor.at;
        let header = if self.state == State::Top { &mut self.file } else { &mut self.trace };
        if !header.is_empty() {
            header.push(b',');
        }
        header.extend_from_slice(&window.rest()[..taken]);
        window.consume(taken);
        Ok(None)
    }

    /// The document ended before its last bracket.
    pub fn is_cut(&self) -> bool {
        self.state == State::Done
    }

    /// Goes past all elements of the events array: true when its end was reached.
    pub fn pass_by_all(window: &mut Window, scan: &mut Scan) -> bool {
        match scan.advance(window.rest()) {
            Some(end) => {
                // The closing bracket stays: `step` takes it.
                window.consume(end - 1);
                true
            }
            None => {
                let all = window.rest().len();
                window.consume(all);
                false
            }
        }
    }
}

/// Next record of a sequential file: a header or an event.
pub fn next_record(framing: Framing, window: &mut Window) -> Step {
    loop {
        let skipped = window.rest().iter().take_while(|byte| byte.is_ascii_whitespace() || **byte == RS).count();
        window.consume(skipped);
        let rest = window.rest();
        if rest.is_empty() {
            return if window.end { Step::Done } else { Step::NeedMore };
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
            None if rest.len() > RECORD_LIMIT => return Step::Skip { reason: Skip::TooLong, taken: rest.len() },
            None => return Step::NeedMore,
        };
        if len > RECORD_LIMIT {
            return Step::Skip { reason: Skip::TooLong, taken: len };
        }
        return Step::Record { len, taken };
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
