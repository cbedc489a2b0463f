//! Walks contained documents (draft-ietf-quic-qlog-main-schema, "JSON" serialization): header fields are collected one
//! by one, elements of `events` are shown one by one, in one pass.
//!
//! Damage costs only the events that it hit. Where the text is not JSON any more, bytes are skipped up to the next
//! place at which reading can go on: an event, the end of the events array, the next trace, or a header field with a
//! known name. What was passed over is a [`Reject`] with its place and length. Every step takes bytes, or changes the
//! state, or asks for more; the text that is looked at ahead of that is bounded by [`RECORD_LIMIT`] and, all in all, by
//! a multiple of what was passed over.

use crate::reader::json::{Cursor, JsonFault};
use crate::reader::records::{RECORD_LIMIT, Window};
use crate::reader::skip::{Skip, Stop};
use crate::trace::{REJECT_BYTES, Reject};
use std::collections::VecDeque;

/// What comes next in a document.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Step {
    /// The window ends too soon: read more.
    NeedMore,
    /// A trace's header is known as far as it comes before the events; its events follow.
    Events,
    /// The window stands on an element of the events array: take it, or [`Document::refuse`] it.
    Element,
    /// The trace, which had events, is over; `is_closed` says that its bracket was there.
    TraceEnd {
        /// It was not cut off.
        is_closed: bool,
    },
    /// Bytes that are no part of any event.
    Lost(Reject),
    /// The document is over, its header whole. Another may follow.
    DocumentEnd,
    /// The file ended.
    Done,
}

/// What became of an element that is no event.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum RefusedElement {
    /// The window ends too soon to tell: read more and try again.
    NeedMore,
    /// It was JSON, and was passed over.
    Reject(Reject),
    /// It was not: the next steps say what was passed over.
    Damaged,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum State {
    Start,
    Top,
    Traces,
    Trace,
    Events,
    /// Behind a document.
    After,
}

/// Bytes that are being passed over.
#[derive(Debug)]
struct SkippedBytes {
    reject: Reject,
    /// The last byte of them that is no white space.
    last: u8,
    /// Separators behind it.
    trailing: u64,
    /// Bytes that were looked at in vain.
    tried: u64,
}

/// Bytes that may be looked at in vain for each byte that is passed over, beyond [`RECORD_LIMIT`].
const TRIES: u64 = 8;

/// Where reading goes on behind a gap.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Resume {
    /// An event, element of the array.
    Event,
    /// The byte is the bracket that closes the events array.
    Close,
    /// The byte opens a trace that has events.
    Trace,
    /// A header field with a known name.
    Field(State),
    /// The byte opens a document.
    Document,
}

/// Walks the documents of a file.
#[derive(Debug)]
pub struct Document {
    state: State,
    /// Header fields of the document, as the inside of a JSON object.
    pub file: Vec<u8>,
    /// Header fields of the trace, likewise.
    pub trace: Vec<u8>,
    /// The trace stands in an array of traces.
    in_list: bool,
    /// The document is the trace, its header the trace's: `events` stand at the top (pcap2qlog of 2018).
    is_trace: bool,
    /// The trace has shown its events.
    has_events: bool,
    traces: u32,
    /// Where the document, and the trace, begin.
    begin: (u64, u64),
    /// Bytes that were rejected so far, and as many as had been where the document, and the trace, begin.
    lost: u64,
    lost_before: (u64, u64),
    /// The first byte of the trace's elements, as far as it is known: of an object, or of the old form, an array.
    form: Option<u8>,
    gap: Option<SkippedBytes>,
    /// Steps that are due.
    due: VecDeque<Step>,
    is_done: bool,
}

impl Default for Document {
    fn default() -> Self {
        Self {
            state: State::Start,
            file: Vec::new(),
            trace: Vec::new(),
            in_list: false,
            is_trace: false,
            has_events: false,
            traces: 0,
            begin: (0, 0),
            lost: 0,
            lost_before: (0, 0),
            form: None,
            gap: None,
            due: VecDeque::new(),
            is_done: false,
        }
    }
}

/// As much of the window from `at` on as may be one thing, and whether no more will come of it.
fn bounded(window: &Window, at: usize) -> (&[u8], bool) {
    let rest = window.rest().get(at..).unwrap_or(&[]);
    let text = &rest[..rest.len().min(RECORD_LIMIT)];
    (text, text.len() == RECORD_LIMIT || window.end)
}

impl Document {
    /// Every document so far has its last bracket.
    pub fn is_closed(&self) -> bool {
        matches!(self.state, State::Start | State::After)
    }

    /// Goes on by one step.
    pub fn step(&mut self, window: &mut Window) -> Step {
        loop {
            if let Some(due) = self.due.pop_front() {
                return due;
            }
            if self.is_done {
                return Step::Done;
            }
            if self.gap.is_some() {
                if !self.recover(window) {
                    return Step::NeedMore;
                }
                continue;
            }
            let spaces =
                window.rest().iter().take_while(|byte| matches!(byte, b' ' | b'\t' | b'\r' | b'\n' | b',')).count();
            window.consume(spaces);
            let Some(&byte) = window.rest().first() else {
                if !window.end {
                    return Step::NeedMore;
                }
                self.end_of_file(window);
                continue;
            };
            match (self.state, byte) {
                (State::Start, 0xEF) if window.rest().len() < 3 && !window.end => return Step::NeedMore,
                (State::Start, 0xEF) if window.rest().starts_with(b"\xEF\xBB\xBF") => window.consume(3),
                (State::Start | State::After, b'{') => self.open(window),
                (State::Top, b'}') => {
                    window.consume(1);
                    self.close(window);
                }
                (State::Traces, b']') => {
                    self.state = State::Top;
                    window.consume(1);
                }
                (State::Traces, b'{') => self.open_trace(window),
                (State::Trace, b'}') => {
                    window.consume(1);
                    self.close_trace(window, true);
                    if self.is_trace {
                        self.close(window);
                    } else {
                        self.state = if self.in_list { State::Traces } else { State::Top };
                    }
                }
                (State::Events, b']') => {
                    self.state = State::Trace;
                    window.consume(1);
                }
                (State::Events, b'}' | b'"') => {
                    // No element begins so. The bracket of the array may be all that is lost.
                    let (text, is_final) = bounded(window, 0);
                    match self.closes(text, is_final) {
                        Err(JsonFault::End) if !is_final => return Step::NeedMore,
                        Ok(_) => {
                            self.lose(window, Skip::NotJson);
                            self.end_gap();
                            self.state = State::Trace;
                        }
                        Err(_) => self.lose(window, Skip::NotJson),
                    }
                }
                (State::Events, _) => {
                    if matches!(byte, b'{' | b'[') {
                        self.form.get_or_insert(byte);
                    }
                    return Step::Element;
                }
                (State::Top | State::Trace, b'"') => {
                    let (text, is_final) = bounded(window, 0);
                    match self.field(text) {
                        // A number that touches the end may go on.
                        Ok((_, taken)) if taken == text.len() && !is_final => return Step::NeedMore,
                        Ok((entered, taken)) => self.take_field(window, entered, taken),
                        Err(JsonFault::End) if !is_final => return Step::NeedMore,
                        Err(fault) => self.lose(window, reason(fault, text)),
                    }
                }
                _ => self.lose(window, Skip::NotJson),
            }
        }
    }

    /// The element on which the window stands is no event, for this reason. Where it is JSON it is passed over; else
    /// everything is, up to where reading makes sense again.
    pub fn refuse(&mut self, window: &mut Window, why: Skip) -> RefusedElement {
        let (text, is_final) = bounded(window, 0);
        let mut cursor = Cursor::new(text);
        match cursor.value() {
            // A number that touches the end may go on.
            Ok(_) if cursor.at == text.len() && !is_final && !matches!(text.last(), Some(b'}' | b']' | b'"')) => {
                RefusedElement::NeedMore
            }
            Ok(_) => {
                let mut reject = Reject { reason: Some(why), offset: window.offset(), ..Reject::default() };
                add(&mut reject, window, cursor.at);
                self.lost += reject.length;
                RefusedElement::Reject(reject)
            }
            Err(JsonFault::End) if !is_final => RefusedElement::NeedMore,
            Err(fault) => {
                let reason = reason(fault, text);
                self.lose(window, reason);
                RefusedElement::Damaged
            }
        }
    }

    fn open(&mut self, window: &mut Window) {
        (self.state, self.traces, self.is_trace) = (State::Top, 0, false);
        (self.begin.0, self.lost_before.0) = (window.offset(), self.lost);
        self.file.clear();
        window.consume(1);
    }

    fn open_trace(&mut self, window: &mut Window) {
        (self.state, self.in_list) = (State::Trace, true);
        self.begin_trace(window);
        window.consume(1);
    }

    fn begin_trace(&mut self, window: &Window) {
        (self.begin.1, self.lost_before.1) = (window.offset(), self.lost);
        self.trace.clear();
    }

    fn close(&mut self, window: &Window) {
        self.state = State::After;
        if self.traces == 0 {
            let absent = self.absent(Skip::NoHeader, (self.begin.0, self.lost_before.0), window, &self.file);
            self.due.push_back(absent);
        }
        self.due.push_back(Step::DocumentEnd);
    }

    fn close_trace(&mut self, window: &Window, is_closed: bool) {
        self.traces += 1;
        if std::mem::take(&mut self.has_events) {
            self.due.push_back(Step::TraceEnd { is_closed });
        } else {
            let is_error = memchr::memmem::find(&self.trace, b"\"error_description\"").is_some();
            let reason = if is_error { Skip::TraceError } else { Skip::NoEvents };
            let absent = self.absent(reason, (self.begin.1, self.lost_before.1), window, &self.trace);
            self.due.push_back(absent);
        }
        self.form = None;
    }

    /// A header, from `begin` on, without what it should be the header of. What of it was rejected before is not
    /// counted again.
    fn absent(&self, reason: Skip, begin: (u64, u64), window: &Window, fields: &[u8]) -> Step {
        let length = (window.offset() - begin.0).saturating_sub(self.lost - begin.1);
        let most = usize::try_from(length).unwrap_or(usize::MAX).min(REJECT_BYTES);
        let bytes = fields[..fields.len().min(most)].to_vec();
        Step::Lost(Reject { reason: Some(reason), offset: begin.0, length, bytes })
    }

    /// A cut between elements loses no event; the trace is over all the same.
    fn end_of_file(&mut self, window: &Window) {
        self.is_done = true;
        match self.state {
            State::Events | State::Trace => self.close_trace(window, false),
            State::Start | State::Top | State::Traces if self.traces == 0 => {
                let absent = self.absent(Skip::NoHeader, (self.begin.0, self.lost_before.0), window, &self.file);
                self.due.push_back(absent);
            }
            State::Start | State::Top | State::Traces | State::After => {}
        }
        if self.state != State::After {
            self.due.push_back(Step::DocumentEnd);
        }
    }

    /// One key and its value at the start of `text`: its length, or that of the way into a list of traces or events.
    fn field(&self, text: &[u8]) -> Result<(Option<State>, usize), JsonFault> {
        let mut cursor = Cursor::new(text);
        let key = cursor.key()?.plain();
        let entered = entered(self.state, &key, cursor.peek()?);
        if entered.is_some() {
            return Ok((entered, cursor.at + 1));
        }
        cursor.value()?;
        Ok((None, cursor.at))
    }

    fn take_field(&mut self, window: &mut Window, entered: Option<State>, taken: usize) {
        match entered {
            Some(State::Events) if self.has_events => {
                // The end of this trace and the beginning of the next are lost; or it has two lists of events.
                self.close_trace(window, false);
                self.begin_trace(window);
                let mut reject = Reject { reason: Some(Skip::NotJson), offset: window.offset(), ..Reject::default() };
                add(&mut reject, window, taken);
                self.lost += reject.length;
                self.due.push_back(Step::Lost(reject));
                (self.state, self.has_events) = (State::Events, true);
                self.due.push_back(Step::Events);
                return;
            }
            Some(State::Events) => {
                if self.state == State::Top {
                    (self.begin.1, self.lost_before.1) = (self.begin.0, self.lost_before.0);
                    self.trace.clone_from(&self.file);
                    (self.in_list, self.is_trace) = (false, true);
                }
                self.has_events = true;
                self.state = State::Events;
                self.due.push_back(Step::Events);
            }
            Some(State::Trace) => {
                self.begin_trace(window);
                (self.state, self.in_list) = (State::Trace, false);
            }
            Some(state) => self.state = state,
            None => {
                let header = if self.state == State::Top { &mut self.file } else { &mut self.trace };
                if header.len() + taken < RECORD_LIMIT {
                    if !header.is_empty() {
                        header.push(b',');
                    }
                    header.extend_from_slice(&window.rest()[..taken]);
                } else {
                    let mut reject =
                        Reject { reason: Some(Skip::TooLong), offset: window.offset(), ..Reject::default() };
                    add(&mut reject, window, taken);
                    self.lost += reject.length;
                    self.due.push_back(Step::Lost(reject));
                    return;
                }
            }
        }
        window.consume(taken);
    }

    /// What stands here is no JSON: a gap begins.
    fn lose(&mut self, window: &Window, reason: Skip) {
        let reject = Reject { reason: Some(reason), offset: window.offset(), ..Reject::default() };
        self.gap = Some(SkippedBytes { reject, last: 0, trailing: 0, tried: 0 });
    }

    fn end_gap(&mut self) {
        if let Some(mut gap) = self.gap.take() {
            gap.reject.length -= gap.trailing;
            gap.reject.bytes.truncate(usize::try_from(gap.reject.length).unwrap_or(usize::MAX));
            if !self.is_done && gap.reject.reason == Some(Skip::Truncated) {
                gap.reject.reason = Some(Skip::NotJson);
            }
            self.lost += gap.reject.length;
            self.due.push_back(Step::Lost(gap.reject));
        }
    }

    /// Passes over bytes until reading makes sense again, or the file ends. False when more must be read first.
    fn recover(&mut self, window: &mut Window) -> bool {
        // At least one byte is passed over: what stands at the beginning of a gap was tried.
        let mut at = usize::from(self.gap.as_ref().is_none_or(|gap| gap.reject.length == 0));
        loop {
            let rest = window.rest();
            let next = rest.get(at..).and_then(|rest| {
                rest.iter().position(|byte| matches!(byte, b'{' | b'[' | b']' | b'"')).map(|next| at + next)
            });
            let Some(next) = next else {
                let all = rest.len();
                self.pass(window, all);
                if window.end {
                    self.is_done = true;
                    self.end_gap();
                    self.end_of_file(window);
                }
                return window.end;
            };
            let (text, is_final) = bounded(window, next);
            match self.resume(window, next, text, is_final) {
                Err(JsonFault::End) if !is_final => {
                    self.pass(window, next);
                    return false;
                }
                Ok(resume) => {
                    self.pass(window, next);
                    self.end_gap();
                    self.go_on(window, resume);
                    return true;
                }
                Err(_) => at = next + 1,
            }
        }
    }

    /// Where reading goes on at `text`, which begins `at` bytes into the window; else why not. `is_final`: no more of
    /// it will be seen.
    fn resume(&mut self, window: &Window, at: usize, text: &[u8], is_final: bool) -> Result<Resume, JsonFault> {
        let Some(gap) = &self.gap else { return Err(JsonFault::Syntax) };
        if gap.tried > RECORD_LIMIT as u64 + TRIES * (gap.reject.length + at as u64) {
            return Err(JsonFault::Syntax);
        }
        let before = window.rest()[..at].iter().rev().find(|byte| !byte.is_ascii_whitespace());
        let is_value = *before.unwrap_or(&gap.last) == b':';
        let (found, tried) = self.candidate(text, is_value, is_final);
        if let (Err(_), true, Some(gap)) = (found, is_final || found != Err(JsonFault::End), &mut self.gap) {
            gap.tried += tried as u64;
        }
        found
    }

    /// What `text` begins, and how many bytes were looked at. The value of a member is none of it.
    fn candidate(&self, text: &[u8], is_value: bool, is_final: bool) -> (Result<Resume, JsonFault>, usize) {
        let is_in_document = !matches!(self.state, State::Start | State::After);
        match text.first() {
            Some(b'{') if !is_in_document => {
                let mut cursor = Cursor { at: 1, ..Cursor::new(text) };
                (cursor.key().map(|_| Resume::Document), cursor.at)
            }
            Some(b'{') if !is_value => match event_at(text) {
                (Ok(_), looked) => (Ok(Resume::Event), looked),
                (Err(JsonFault::End), looked) if !is_final => (Err(JsonFault::End), looked),
                (Err(_), looked) => {
                    let (trace, more) = trace_at(text);
                    (trace.map(|_| Resume::Trace), looked + more)
                }
            },
            Some(b'[') if is_in_document && !is_value && self.form != Some(b'{') => {
                let (event, looked) = event_at(text);
                (event.map(|_| Resume::Event), looked)
            }
            Some(b']') if self.state == State::Events => (self.closes(&text[1..], is_final).map(|_| Resume::Close), 1),
            Some(b'"') if is_in_document => {
                let (field, looked) = self.known_field(text);
                (field.map(Resume::Field), looked)
            }
            _ => (Err(JsonFault::Syntax), 0),
        }
    }

    /// A header field whose name is known, where such may stand: the state in which it is to be read.
    fn known_field(&self, text: &[u8]) -> (Result<State, JsonFault>, usize) {
        let mut cursor = Cursor::new(text);
        let mut known = || {
            let key = cursor.key()?.plain();
            let next = cursor.peek()?;
            let (state, opens) = match (self.state, &*key) {
                (_, b"events") => (State::Trace, b'['),
                (State::Top | State::Traces, b"traces" | b"connections") => (State::Top, b'['),
                (State::Top, b"trace") => (State::Top, b'{'),
                (State::Trace, b"vantage_point" | b"common_fields" | b"configuration") => (State::Trace, b'{'),
                (State::Trace, b"event_fields") => (State::Trace, b'['),
                _ => return Err(JsonFault::Syntax),
            };
            if next != opens {
                return Err(JsonFault::Syntax);
            }
            if *key == *b"events" {
                // The name may be that of a field of an event: what follows must be events.
                cursor.at += 1;
                let first = cursor.peek()?;
                let inside = &text[cursor.at..];
                if first != b']' {
                    event_at(inside).0?;
                }
            }
            Ok(state)
        };
        let state = known();
        (state, cursor.at)
    }

    fn go_on(&mut self, window: &mut Window, resume: Resume) {
        match resume {
            Resume::Event if self.state == State::Events => {}
            // What ended the list was no part of it.
            Resume::Event if self.state == State::Trace && self.has_events => self.state = State::Events,
            Resume::Event => {
                if self.state != State::Trace {
                    self.in_list = true;
                    self.begin_trace(window);
                }
                (self.state, self.has_events) = (State::Events, true);
                self.due.push_back(Step::Events);
            }
            Resume::Close => {
                self.state = State::Trace;
                window.consume(1);
            }
            Resume::Trace => {
                if matches!(self.state, State::Events | State::Trace) {
                    self.close_trace(window, false);
                }
                self.open_trace(window);
            }
            Resume::Field(state) => {
                let is_another = self.state == State::Events || state == State::Trace && self.state != State::Trace;
                if self.state == State::Events {
                    self.close_trace(window, false);
                }
                if is_another {
                    self.in_list = true;
                    self.begin_trace(window);
                }
                self.state = state;
            }
            Resume::Document => self.open(window),
        }
    }

    /// Passes over `count` bytes of a gap.
    fn pass(&mut self, window: &mut Window, count: usize) {
        if let Some(gap) = &mut self.gap {
            let passed = &window.rest()[..count];
            if let Some(last) = passed.iter().rev().find(|byte| !byte.is_ascii_whitespace()) {
                gap.last = *last;
            }
            let separators =
                passed.iter().rev().take_while(|byte| byte.is_ascii_whitespace() || **byte == b',').count();
            gap.trailing = separators as u64 + if separators == count { gap.trailing } else { 0 };
            add(&mut gap.reject, window, count);
        }
    }

    /// Whether `text`, which follows the bracket of the events array, is the rest of a well-formed trace.
    fn closes(&self, text: &[u8], is_final: bool) -> Result<usize, JsonFault> {
        let mut cursor = Cursor::new(text);
        if cursor.peek()? == b'"' {
            cursor.key()?;
            cursor.value()?;
        }
        rest_of_object(&mut cursor)?;
        if self.is_trace {
            return behind_document(&mut cursor, is_final);
        }
        if self.in_list && cursor.more(b']')? {
            let next = text[cursor.at..].trim_ascii_start();
            return trace_at(next).0;
        }
        rest_of_object(&mut cursor)?;
        behind_document(&mut cursor, is_final)
    }
}

/// Behind a document comes nothing, or another.
fn behind_document(cursor: &mut Cursor<'_>, is_final: bool) -> Result<usize, JsonFault> {
    match cursor.peek() {
        Err(JsonFault::End) if !is_final => Err(JsonFault::End),
        Err(JsonFault::End) | Ok(b'{') => Ok(cursor.at),
        Ok(_) | Err(_) => Err(JsonFault::Syntax),
    }
}

/// The way into a list, or into the one trace.
fn entered(state: State, key: &[u8], next: u8) -> Option<State> {
    match (state, key, next) {
        (State::Top, b"traces" | b"connections", b'[') => Some(State::Traces),
        (State::Top, b"trace", b'{') => Some(State::Trace),
        (State::Trace | State::Top, b"events", b'[') => Some(State::Events),
        _ => None,
    }
}

/// Members of an object from behind one of them, and its bracket.
fn rest_of_object(cursor: &mut Cursor<'_>) -> Result<(), JsonFault> {
    while cursor.more(b'}')? {
        cursor.key()?;
        cursor.value()?;
    }
    Ok(())
}

/// An event at the start of `text`, told by its form alone: an object with a time and a name or type, or an array of a
/// time, words and anything. Its length; beside it, the bytes that were looked at.
pub fn event_at(text: &[u8]) -> (Result<usize, JsonFault>, usize) {
    let mut cursor = Cursor::new(text);
    let mut event = || {
        let (mut has_time, mut has_name) = (false, false);
        if cursor.peek()? == b'{' {
            cursor.at += 1;
            if cursor.empty(b'}')? {
                return Err(JsonFault::Syntax);
            }
            loop {
                let key = cursor.key()?.plain();
                let first = cursor.peek()?;
                if *key == *b"events" && first == b'[' {
                    return Err(JsonFault::Syntax);
                }
                cursor.value()?;
                has_time |= *key == *b"time" && (first == b'"' || first == b'-' || first.is_ascii_digit());
                has_name |= matches!(&*key, b"name" | b"category" | b"event" | b"type") && first == b'"';
                if !cursor.more(b'}')? {
                    break;
                }
            }
        } else {
            cursor.take(b'[')?;
            if cursor.empty(b']')? {
                return Err(JsonFault::Syntax);
            }
            loop {
                let value = cursor.value()?;
                let digits = value.trim_ascii_start();
                let digits = digits.strip_prefix(b"\"").unwrap_or(digits);
                let is_number = digits.first().is_some_and(|byte| *byte == b'-' || byte.is_ascii_digit());
                has_time |= is_number;
                has_name |= !is_number && value.first() == Some(&b'"');
                if !cursor.more(b']')? {
                    break;
                }
            }
        }
        if has_time && has_name { Ok(cursor.at) } else { Err(JsonFault::Syntax) }
    };
    let event = event();
    (event, cursor.at)
}

/// A trace at the start of `text`: header fields up to its events.
fn trace_at(text: &[u8]) -> (Result<usize, JsonFault>, usize) {
    let mut cursor = Cursor::new(text);
    let mut trace = || {
        cursor.take(b'{')?;
        loop {
            let key = cursor.key()?.plain();
            if entered(State::Trace, &key, cursor.peek()?).is_some() {
                return Ok(cursor.at);
            }
            cursor.value()?;
            if !cursor.more(b'}')? {
                return Err(JsonFault::Syntax);
            }
        }
    };
    let trace = trace();
    (trace, cursor.at)
}

/// Why `text`, which is all that there is of something, or all that may be, is no JSON.
fn reason(fault: JsonFault, text: &[u8]) -> Skip {
    match Stop::from(fault) {
        Stop::Skip(reason) => reason,
        Stop::End if text.len() == RECORD_LIMIT => Skip::TooLong,
        Stop::End => Skip::Truncated,
    }
}

/// Adds bytes of the window to what is rejected, of which at most [`REJECT_BYTES`] are kept.
fn add(reject: &mut Reject, window: &mut Window, count: usize) {
    let room = REJECT_BYTES.saturating_sub(reject.bytes.len());
    reject.bytes.extend_from_slice(&window.rest()[..count.min(room)]);
    reject.length += count as u64;
    window.consume(count);
}
