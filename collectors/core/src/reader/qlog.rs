//! One qlog record to one [`Event`]: object form `{time, name, data}` and the array form of drafts 00 to 02.
//!
//! One pass over the text. A key with a column fills the column; any other value goes whole into `more`. Beside that
//! the record's shape is written: its text with markers in the values' places (grammar: `schema/README.md`).
//! Longer than most files: the pass is one state machine, and each kind of column is one of its steps.

use crate::catalogue::{Action, Catalogue, DATA, ROOT, UnitKey};
use crate::crossed::Bound;
use crate::dialect::Units;
use crate::event::{Event, Frame, Kind, Number, Span, Word};
use crate::header::TimeFormat;
use crate::keys::Keys;
use crate::limits::{LARGEST, NAMES};
use crate::reader::json::{Cursor, JsonFault, Text};
use crate::reader::key_order::{Before, KeyOrder};
use crate::reader::number::{Places, double_to_us, scaled, whole, whole_double};
use crate::reader::shape;
use crate::reader::skip::{Skip, Stop};
use crate::reader::spelling::{Strings, approximate, compact, floor, packet_type};

/// What a column of the array form holds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ArrayColumn {
    /// Event time.
    Time,
    /// Category, the first half of the name.
    Category,
    /// Type, the second half.
    Type,
    /// The event's data.
    Data,
    /// Multipath.
    Path,
    /// The connection of a record, in files of several.
    Group {
        /// By the ID that its client chose first.
        is_odcid: bool,
    },
    /// Anything else, kept as it is.
    Other,
}

/// Reads records of one trace.
#[derive(Clone, Debug)]
pub struct Reader {
    /// Units of the trace's dialect.
    pub units: Units,
    /// Columns of the array form, empty for objects.
    pub columns: Vec<ArrayColumn>,
    pub(super) path: Vec<u8>,
    lower: Vec<u8>,
    /// Names as written that were met: canonical name and kind.
    met: Keys<(Box<[u8]>, Kind)>,
    met_count: usize,
    order: KeyOrder,
}

/// Longest string that stays in a shape; a longer one goes to `more`.
const LONGEST_WORD: usize = 48;

impl Reader {
    /// A reader for a trace with these units and `event_fields` (empty: object form).
    pub fn new(units: Units, event_fields: &[String]) -> Self {
        let column = |name: &String| match name.to_lowercase().as_str() {
            "time" | "relative_time" | "delta_time" => ArrayColumn::Time,
            "category" => ArrayColumn::Category,
            "event" | "event_type" | "type" => ArrayColumn::Type,
            "data" => ArrayColumn::Data,
            "path_id" => ArrayColumn::Path,
            "group_id" => ArrayColumn::Group { is_odcid: false },
            "odcid" => ArrayColumn::Group { is_odcid: true },
            _ => ArrayColumn::Other,
        };
        Self {
            units,
            columns: event_fields.iter().map(column).collect(),
            path: Vec::with_capacity(64),
            lower: Vec::with_capacity(64),
            met: Keys::default(),
            met_count: 0,
            order: KeyOrder::default(),
        }
    }

    /// Reads the record at the start of `text` into `event` and gives its length.
    /// `Stop::End` means that the text ends inside the record; after any `Stop` the event's content is meaningless.
    pub fn read(&mut self, catalogue: &Catalogue, text: &[u8], event: &mut Event) -> Result<usize, Stop> {
        event.clear();
        self.path.clear();
        let mut pass = Pass { reader: self, catalogue, cursor: Cursor::new(text), event, frame: None, mark: 0 };
        let first = pass.cursor.peek()?;
        pass.mark = pass.cursor.at;
        let named = match first {
            b'{' => pass.object()?,
            b'[' => pass.array()?,
            _ => {
                pass.cursor.value()?;
                return Err(Stop::Skip(Skip::NotARecord));
            }
        };
        let (at, has_escapes) = (pass.cursor.at, pass.cursor.has_escapes);
        pass.copy_to(at);
        compact(&mut pass.event.shape, 0);
        match named {
            RecordMembers { empty: true, .. } => Err(Stop::Skip(Skip::EmptyRecord)),
            RecordMembers { time: false, .. } => Err(Stop::Skip(Skip::NoTime)),
            RecordMembers { name: None, category: None, kind: None, .. } => Err(Stop::Skip(Skip::NoName)),
            named => {
                self.name(catalogue, &named, has_escapes, event);
                if event.kind.is_completed() {
                    complete(event);
                }
                Ok(at)
            }
        }
    }

    /// Gives its buffers back: they are filled again by the next records.
    pub fn release(&mut self) {
        (self.path, self.lower) = (Vec::new(), Vec::new());
        (self.met, self.met_count) = (Keys::default(), 0);
        self.order = KeyOrder::default();
    }

    fn name(&mut self, catalogue: &Catalogue, named: &RecordMembers<'_>, has_escapes: bool, event: &mut Event) {
        self.lower.clear();
        match (named.name, named.category, named.kind) {
            (Some(name), None, _) => self.lower.extend_from_slice(name),
            (Some(kind), Some(category), _) | (None, Some(category), Some(kind)) => {
                self.lower.extend_from_slice(category);
                self.lower.push(b':');
                self.lower.extend_from_slice(kind);
            }
            (None, one, other) => self.lower.extend_from_slice(one.or(other).unwrap_or(b"")),
        }
        if has_escapes {
            self.lower = Text { raw: &self.lower, escaped: true }.plain().into_owned();
        }
        if let Some((name, kind)) = self.met.get(&self.lower) {
            event.name = event.keep(name);
            event.kind = *kind;
            return;
        }
        let (name, kind) = match catalogue.events.get(self.lower.to_ascii_lowercase().as_slice()) {
            Some(known) => (known.name.as_bytes(), known.kind),
            None => (self.lower.as_slice(), Kind::Other),
        };
        event.name = event.keep(name);
        event.kind = kind;
        if self.met_count < NAMES {
            self.met_count += 1;
            let name = name.into();
            self.met.insert(&self.lower, (name, kind));
        } else {
            Bound::Names.cross();
        }
    }
}

/// The member of an event that a key stands for which may be written with escapes: no name that is known must be.
#[cold]
#[inline(never)]
fn member(key: &[u8]) -> Option<&'static [u8]> {
    const MEMBERS: [&[u8]; 8] = [b"time", b"name", b"category", b"event", b"type", b"data", b"ODCID", b"group_id"];
    let plain = Text { raw: key, escaped: key.contains(&b'\\') }.plain();
    MEMBERS.into_iter().find(|member| **member == *plain)
}

#[derive(Default)]
struct RecordMembers<'a> {
    time: bool,
    name: Option<&'a [u8]>,
    category: Option<&'a [u8]>,
    kind: Option<&'a [u8]>,
    empty: bool,
}

/// A token, whether it stands in quotes, and its text with them.
type Token<'t> = (&'t [u8], bool, &'t [u8]);

pub(super) struct Pass<'r, 'c, 't, 'e> {
    pub(super) reader: &'r mut Reader,
    pub(super) catalogue: &'c Catalogue,
    pub(super) cursor: Cursor<'t>,
    pub(super) event: &'e mut Event,
    pub(super) frame: Option<(usize, Frame)>,
    /// Text up to here is in the shape.
    pub(super) mark: usize,
}

impl<'t> Pass<'_, '_, 't, '_> {
    /// Text between values goes into the shape as it is.
    pub(super) fn copy_to(&mut self, end: usize) {
        let text = self.cursor.text;
        self.event.shape.extend_from_slice(&text[self.mark..end]);
        self.mark = end;
    }

    /// The value of `length` bytes that was just read is a slot of the shape.
    #[inline]
    pub(super) fn slot(&mut self, length: usize, marker: &[u8]) {
        self.copy_to(self.cursor.at - length);
        self.event.shape.extend_from_slice(marker);
        self.mark = self.cursor.at;
    }

    #[inline]
    fn key(&mut self) -> Result<&'t [u8], JsonFault> {
        Ok(self.cursor.key()?.raw)
    }

    /// A key of the event's root. Each of the three of nearly every record is looked for before a string is read.
    #[inline]
    fn root_key(&mut self) -> Result<&'t [u8], JsonFault> {
        self.cursor.peek()?;
        let rest = &self.cursor.text[self.cursor.at..];
        for written in [b"\"time\":", b"\"name\":", b"\"data\":"] {
            if let Some(key) = rest.first_chunk::<7>().filter(|first| *first == written) {
                self.cursor.at += key.len();
                return Ok(&key[1..5]);
            }
        }
        self.key()
    }

    fn object(&mut self) -> Result<RecordMembers<'t>, Stop> {
        let mut named = RecordMembers::default();
        self.cursor.take(b'{')?;
        if self.cursor.empty(b'}')? {
            return Ok(RecordMembers { empty: true, ..named });
        }
        loop {
            let mut key = self.root_key()?;
            loop {
                match key {
                    b"time" => named.time = self.time()?,
                    b"name" => named.name = self.literal(b"name")?.or(named.name),
                    b"category" => named.category = self.literal(b"name")?.or(named.category),
                    b"event" | b"type" => named.kind = self.literal(b"name")?.or(named.kind),
                    b"data" => self.data()?,
                    b"ODCID" | b"group_id" => self.group(key == b"ODCID")?,
                    _ => {
                        if self.cursor.has_escapes
                            && let Some(known) = member(key)
                        {
                            key = known;
                            continue;
                        }
                        self.field(ROOT, key)?;
                    }
                }
                break;
            }
            if !self.cursor.more(b'}')? {
                return Ok(named);
            }
        }
    }

    #[cold]
    #[inline(never)]
    fn escaped_field(&mut self, table: u8, key: &[u8]) -> Result<(), JsonFault> {
        if !key.contains(&b'\\') {
            return self.leftover(key);
        }
        // What it stands for may have a backslash too.
        let has_escapes = std::mem::take(&mut self.cursor.has_escapes);
        let done = self.field(table, &Text { raw: key, escaped: true }.plain());
        self.cursor.has_escapes |= has_escapes;
        done.map(drop)
    }

    fn array(&mut self) -> Result<RecordMembers<'t>, Stop> {
        let mut named = RecordMembers::default();
        self.cursor.take(b'[')?;
        if self.cursor.empty(b']')? {
            return Ok(RecordMembers { empty: true, ..named });
        }
        let mut index = 0;
        loop {
            match self.reader.columns.get(index).copied().unwrap_or(ArrayColumn::Other) {
                ArrayColumn::Time => named.time = self.time()?,
                ArrayColumn::Category => named.category = self.literal(b"name")?,
                ArrayColumn::Type => named.kind = self.literal(b"name")?,
                ArrayColumn::Data => self.data()?,
                ArrayColumn::Path => self.column(Action::Number(Number::PathId as u8), b"path_id")?,
                ArrayColumn::Group { is_odcid } => self.group(is_odcid)?,
                ArrayColumn::Other => match self.cursor.peek()? {
                    // Trigger columns hold the same word in every event.
                    b'"' => {
                        self.literal(b"name")?;
                    }
                    _ => self.leftover(b"column")?,
                },
            }
            index += 1;
            if !self.cursor.more(b']')? {
                return Ok(named);
            }
        }
    }

    /// A string that stays in the shape; a long one, or another value, goes to `more`.
    fn literal(&mut self, key: &[u8]) -> Result<Option<&'t [u8]>, JsonFault> {
        if self.cursor.peek()? != b'"' {
            self.leftover(key)?;
            return Ok(None);
        }
        let start = self.cursor.at;
        let text = self.cursor.string()?;
        let whole = &self.cursor.text[start..self.cursor.at];
        if text.raw.len() > LONGEST_WORD {
            self.raw(key, whole);
        }
        Ok(Some(text.raw))
    }

    fn time(&mut self) -> Result<bool, Stop> {
        let places = self.reader.units.time;
        let quoted = match self.cursor.peek()? {
            b'"' => true,
            b'-' | b'0'..=b'9' => false,
            _ => {
                self.cursor.value()?;
                return Ok(false);
            }
        };
        let start = self.cursor.at;
        let token = if quoted { self.cursor.string()?.raw } else { self.cursor.number()? };
        if let Some(ns) = scaled(token, places) {
            self.event.source_ns = ns;
            if !quoted {
                self.slot(token.len(), &[shape::TIME]);
                return Ok(true);
            }
            if shape::same_text(ns, places, token) {
                self.slot(token.len() + 2, &[shape::TIME_TEXT]);
                return Ok(true);
            }
        } else if let Some(ns) = approximate(token, places) {
            self.event.source_ns = ns;
        } else {
            return Ok(false);
        }
        let whole = &self.cursor.text[start..self.cursor.at];
        self.raw(b"time", whole);
        Ok(true)
    }

    /// Which of the file's connections a record is of: by a text, the connection's id, or by any other value.
    fn group(&mut self, odcid: bool) -> Result<(), JsonFault> {
        let byte = self.cursor.peek()?;
        let start = self.cursor.at;
        let is_first = odcid || self.event.group.len == 0;
        if byte == b'"' {
            let text = self.cursor.string()?;
            if is_first {
                self.event.group =
                    if text.escaped { self.event.keep(&text.plain()) } else { self.event.keep(text.raw) };
            }
        } else {
            let value = self.cursor.value()?;
            if is_first && byte != b'n' {
                self.event.group = self.keep_compact(value);
            }
        }
        let whole = &self.cursor.text[start..self.cursor.at];
        self.raw(if odcid { b"ODCID" } else { b"group_id" }, whole);
        Ok(())
    }

    fn data(&mut self) -> Result<(), JsonFault> {
        if self.cursor.peek()? == b'{' { self.fields(DATA) } else { self.leftover(b"data") }
    }

    pub(super) fn fields(&mut self, table: u8) -> Result<(), JsonFault> {
        self.cursor.take(b'{')?;
        if self.cursor.empty(b'}')? {
            return Ok(());
        }
        let catalogue = self.catalogue;
        let mut before = Before::start(table);
        loop {
            self.cursor.peek()?;
            let likely = self.reader.order.likely(catalogue, before);
            let found =
                likely.and_then(|(key, place)| Some((key, place, key.starts(&self.cursor.text[self.cursor.at..])?)));
            if let Some((key, place, length)) = found {
                self.cursor.at += length;
                before = Before::key(catalogue, place);
                self.column(key.action, key.key())?;
            } else {
                let key = self.key()?;
                if let Some(place) = self.field(table, key)? {
                    self.reader.order.learn(catalogue, before, place);
                    before = Before::key(catalogue, place);
                }
            }
            if !self.cursor.more(b'}')? {
                return Ok(());
            }
        }
    }

    /// A value under a key that was read; the key's place in [`Catalogue::written`].
    // Inlined, each of its callers has more to save before it: 1 % more instructions an event.
    #[inline(never)]
    fn field(&mut self, table: u8, key: &[u8]) -> Result<Option<u16>, JsonFault> {
        match self.catalogue.tables[table as usize].get(key) {
            Some(&place) => {
                self.column(self.catalogue.written[usize::from(place)].action, key)?;
                return Ok(Some(place));
            }
            None if self.cursor.has_escapes => self.escaped_field(table, key)?,
            None => self.leftover(key)?,
        }
        Ok(None)
    }

    pub(super) fn column(&mut self, action: Action, key: &[u8]) -> Result<(), JsonFault> {
        let byte = self.cursor.peek()?;
        match action {
            Action::Enter(table) if byte == b'{' => {
                let depth = self.reader.path.len();
                self.reader.path.extend_from_slice(key);
                self.reader.path.push(b'.');
                self.fields(table)?;
                self.reader.path.truncate(depth);
                Ok(())
            }
            Action::Enter(table) if byte == b'[' => self.one_in_a_list(table, key),
            Action::Frames if byte == b'[' => self.frames(),
            Action::Number(index) => self.whole_number(index, 1, key),
            Action::Pacing(index) => self.whole_number(index, self.reader.units.pacing, key),
            Action::Duration(index, unit) => {
                let units = self.reader.units;
                let (places, times) = match unit {
                    UnitKey::Rtt => (units.rtt, 1),
                    UnitKey::Delay => (units.delay, units.delay_times),
                    UnitKey::Time => (units.time, 1),
                };
                self.duration(index, places, times, key)
            }
            Action::Word(index) if byte == b'"' => self.word(index, key),
            Action::Word(index) if matches!(byte, b't' | b'f') && self.frame.is_none() => {
                let value = self.cursor.value()?;
                self.event.set_word(Word::ALL[index as usize], value);
                Ok(())
            }
            Action::Id(index) if byte == b'"' => self.id(index, key),
            Action::Flag if byte == b't' || byte == b'f' => {
                let value = self.cursor.value()?;
                if let Some((_, frame)) = &mut self.frame {
                    frame.fin = value == b"true";
                }
                Ok(())
            }
            Action::Ranges if byte == b'[' => self.ranges(key),
            Action::TimeFormat if byte == b'"' => self.time_format(key),
            Action::ReferenceTime => self.reference_time(key),
            // A frame without a type, and a packet.
            Action::Word(_) if self.frame.is_some() => self.unread(key),
            Action::Word(index) if index == Word::PacketType as u8 => {
                self.event.has_odd_packet_type = byte != b'n';
                self.unread(key)
            }
            Action::Enter(_) | Action::Word(_) => self.leftover(key),
            Action::Frames | Action::Id(_) | Action::Flag | Action::Ranges | Action::TimeFormat => self.unread(key),
        }
    }

    /// A number or numeric string.
    fn token(&mut self) -> Result<Option<Token<'t>>, JsonFault> {
        let byte = self.cursor.peek()?;
        let start = self.cursor.at;
        let (token, quoted) = match byte {
            b'"' => (self.cursor.string()?.raw, true),
            b'-' | b'0'..=b'9' => (self.cursor.number()?, false),
            _ => return Ok(None),
        };
        Ok(Some((token, quoted, &self.cursor.text[start..self.cursor.at])))
    }

    fn set(&mut self, index: u8, value: u64) -> bool {
        if let Some((_, frame)) = &mut self.frame {
            let bit = 1u8 << index;
            if frame.present & bit != 0 && frame.numbers[index as usize] != value {
                return false;
            }
            frame.present |= bit;
            frame.numbers[index as usize] = value;
            return true;
        }
        self.event.set(Number::ALL[index as usize], value)
    }

    fn whole_number(&mut self, index: u8, times: u64, key: &[u8]) -> Result<(), JsonFault> {
        let Some((token, quoted, text)) = self.token()? else { return self.no_number(index, key) };
        match whole(token).and_then(|value| value.checked_mul(times)).filter(|value| *value <= LARGEST) {
            Some(value) if self.set(index, value) => {
                self.slot(text.len(), &[if quoted { shape::NUMBER_TEXT } else { shape::NUMBER }, shape::letter(index)]);
                Ok(())
            }
            Some(_) => {
                self.raw(key, text);
                Ok(())
            }
            None => {
                // 1400.0 is a number of bytes too, but only its text gives it back.
                match whole_double(token) {
                    Some(value) => {
                        self.set(index, value.saturating_mul(times));
                    }
                    None => self.number_is_unread(index),
                }
                self.raw(key, text);
                Ok(())
            }
        }
    }

    fn duration(&mut self, index: u8, places: Places, times: u64, key: &[u8]) -> Result<(), JsonFault> {
        let Some((token, quoted, text)) = self.token()? else { return self.no_number(index, key) };
        if let Some(ns) = scaled(token, places).filter(|ns| *ns >= 0 && ns % 1000 == 0)
            && (!quoted || shape::same_text(ns, places, token))
            && let Some(us) = (ns / 1000).unsigned_abs().checked_mul(times).filter(|us| *us <= LARGEST)
        {
            if self.set(index, us) {
                self.slot(text.len(), &[if quoted { shape::NUMBER_TEXT } else { shape::NUMBER }, shape::letter(index)]);
                return Ok(());
            }
        } else if let Some((us, ulps)) = double_to_us(token, places, times) {
            if self.set(index, us) && !quoted {
                self.event.exact.push(ulps);
                self.slot(text.len(), &[shape::EXACT, shape::letter(index)]);
                return Ok(());
            }
        } else {
            self.number_is_unread(index);
        }
        self.raw(key, text);
        Ok(())
    }

    fn word(&mut self, index: u8, key: &[u8]) -> Result<(), JsonFault> {
        let start = self.cursor.at;
        let text = self.cursor.string()?;
        let whole = &self.cursor.text[start..self.cursor.at];
        if text.escaped {
            self.escaped_word(index, text);
        } else {
            self.set_word(index, text.raw);
        }
        let is_odd = self.event.has_odd_packet_type && index == Word::PacketType as u8 && self.frame.is_none();
        if is_odd {
            self.event.next_is_unread();
        }
        if is_odd || text.raw.len() > LONGEST_WORD {
            self.raw(key, whole);
        }
        Ok(())
    }

    #[cold]
    #[inline(never)]
    fn escaped_word(&mut self, index: u8, text: Text<'t>) {
        self.set_word(index, &text.plain());
    }

    #[inline(always)]
    fn set_word(&mut self, index: u8, plain: &[u8]) {
        if self.frame.is_some() {
            let mut lower = [0u8; LONGEST_WORD];
            let len = floor(plain, plain.len().min(LONGEST_WORD));
            lower[..len].copy_from_slice(&plain[..len]);
            lower[..len].make_ascii_lowercase();
            let span = self.event.keep(&lower[..len]);
            if let Some((_, frame)) = &mut self.frame {
                frame.frame_type = span;
            }
        } else if index == Word::PacketType as u8 {
            match packet_type(plain) {
                Some(canonical) => self.event.set_word(Word::PacketType, canonical),
                // Writers that do not know the type say so (qlog); such a packet is one of a log without types.
                None => self.event.has_odd_packet_type = !plain.is_empty() && !plain.eq_ignore_ascii_case(b"unknown"),
            }
        } else {
            let len = plain.len().min(LONGEST_WORD);
            self.event.set_word(Word::ALL[index as usize], &plain[..floor(plain, len)]);
        }
    }

    fn id(&mut self, index: u8, key: &[u8]) -> Result<(), JsonFault> {
        let start = self.cursor.at;
        let text = self.cursor.string()?;
        let whole = &self.cursor.text[start..self.cursor.at];
        if text.escaped || self.event.word_at(index as usize).len > 0 {
            if text.escaped {
                self.event.set_word(Word::ALL[index as usize], &text.plain());
            }
            self.raw(key, whole);
        } else {
            self.event.set_word(Word::ALL[index as usize], text.raw);
            self.slot(whole.len(), &[shape::ID, shape::letter(index)]);
        }
        Ok(())
    }

    /// From when this event's time counts.
    #[cold]
    #[inline(never)]
    fn reference_time(&mut self, key: &[u8]) -> Result<(), JsonFault> {
        self.leftover(key)?;
        self.event.has_clock = true;
        self.event.reference_time = self.event.more.last().map(|(_, value)| *value).unwrap_or_default();
        Ok(())
    }

    /// How this event's time is written: a word that stays in the shape, where [`shape::restore`] looks for it. Of a member
    /// that is there twice the last known word counts.
    #[cold]
    #[inline(never)]
    fn time_format(&mut self, key: &[u8]) -> Result<(), JsonFault> {
        let (start, text) = (self.cursor.at, self.cursor.string()?);
        self.event.has_clock = true;
        if let Some(format) = TimeFormat::read(&text.plain()) {
            self.event.time_format = Some(format);
        } else {
            self.event.next_is_unread();
            let whole = &self.cursor.text[start..self.cursor.at];
            self.raw(key, whole);
        }
        Ok(())
    }

    /// Takes the next value whole, which is none that its column can hold. `null` says that there is no value.
    #[cold]
    #[inline(never)]
    fn unread(&mut self, key: &[u8]) -> Result<(), JsonFault> {
        if self.cursor.peek()? != b'n' {
            self.event.next_is_unread();
            if let Some((_, frame)) = &mut self.frame {
                frame.unread |= Frame::UNREAD_OTHER;
            }
        }
        self.leftover(key)
    }

    /// The same for a column of numbers.
    #[cold]
    #[inline(never)]
    fn no_number(&mut self, index: u8, key: &[u8]) -> Result<(), JsonFault> {
        if self.cursor.peek()? != b'n' {
            self.number_is_unread(index);
        }
        self.leftover(key)
    }

    #[cold]
    #[inline(never)]
    fn number_is_unread(&mut self, index: u8) {
        self.event.next_is_unread();
        match &mut self.frame {
            Some((_, frame)) => frame.unread |= 1 << index,
            None => self.event.set_unread(Number::ALL[index as usize]),
        }
    }

    /// Takes the next value whole, as raw JSON under its path.
    pub(super) fn leftover(&mut self, key: &[u8]) -> Result<(), JsonFault> {
        let value = self.cursor.value()?;
        self.raw(key, value);
        Ok(())
    }

    /// Keeps JSON without the white space between its tokens, which means nothing and breaks line-based forms.
    fn keep_compact(&mut self, value: &[u8]) -> Span {
        let start = self.event.text.len();
        let mut strings = Strings::default();
        self.event.text.extend(value.iter().copied().filter(|byte| strings.keeps(*byte)));
        Span {
            start: u32::try_from(start).unwrap_or(u32::MAX),
            len: u32::try_from(self.event.text.len() - start).unwrap_or(u32::MAX),
        }
    }

    pub(super) fn raw(&mut self, key: &[u8], value: &[u8]) {
        let start = self.event.text.len();
        if let Some((index, _)) = &self.frame {
            self.event.text.extend_from_slice(b"frames.");
            crate::reader::number::write_whole(*index as u64, &mut self.event.text);
            self.event.text.push(b'.');
        }
        self.event.text.extend_from_slice(&self.reader.path);
        self.event.text.extend_from_slice(key);
        let path = Span {
            start: u32::try_from(start).unwrap_or(u32::MAX),
            len: u32::try_from(self.event.text.len() - start).unwrap_or(u32::MAX),
        };
        let compacts = matches!(value.first(), Some(b'{' | b'['));
        let kept = if compacts { self.keep_compact(value) } else { self.event.keep(value) };
        self.event.more.push((path, kept));
        self.slot(value.len(), &[shape::MORE]);
    }
}

impl Kind {
    /// The kind says something of its fields.
    #[inline(always)]
    fn is_completed(self) -> bool {
        matches!(
            self,
            Self::ConnectionDataBlocked
                | Self::StreamDataBlocked
                | Self::DatagramDataBlocked
                | Self::StreamDataMoved
                | Self::DatagramDataMoved
        )
    }
}

/// What the kind of an event says of its fields.
#[inline(never)]
fn complete(event: &mut Event) {
    match event.kind {
        Kind::ConnectionDataBlocked | Kind::StreamDataBlocked | Kind::DatagramDataBlocked => {
            let reason = event.leftover("reason").and_then(|json| serde_json::from_str::<String>(json).ok());
            if let Some(reason) = reason {
                let len = reason.len().min(LONGEST_WORD);
                event.set_word(Word::Trigger, &reason.as_bytes()[..floor(reason.as_bytes(), len)]);
            }
        }
        // Newest draft: the length of what moves is that of `raw`, which in a packet's event is the packet's.
        Kind::StreamDataMoved | Kind::DatagramDataMoved if event.get(Number::Length).is_none() => {
            if let Some(length) = event.get(Number::PacketBytes) {
                event.set(Number::Length, length);
            }
        }
        _ => {}
    }
}

impl Event {
    /// Kinds whose packets carry frames.
    pub fn is_packet(&self) -> bool {
        matches!(self.kind, Kind::PacketSent | Kind::PacketReceived)
    }
}

#[cfg(test)]
#[expect(clippy::unwrap_used, reason = "tests")]
mod tests {
    use super::*;
    use crate::event::{BlockedReason, BlockedUpdate, FrameNumber};
    use std::sync::LazyLock;

    static CATALOGUE: LazyLock<Catalogue> = LazyLock::new(|| Catalogue::load().unwrap());

    fn read(name: &str, data: &str) -> Event {
        let units = Units::all(6);
        let text = format!(r#"{{"time":1,"name":"{name}","data":{data}}}"#);
        let mut event = Event::default();
        assert_eq!(Reader::new(units, &[]).read(&CATALOGUE, text.as_bytes(), &mut event), Ok(text.len()));
        event
    }

    #[test]
    fn what_came_before_does_not_change_what_is_read() {
        let data = [
            r#"{"header":{"packet_type":"1RTT","packet_number":7},"raw":{"length":9},"frames":[{"frame_type":"ping"}]}"#,
            r#"{"raw":{"length":9},"frames":[{"frame_type":"stream","stream_id":4,"offset":0,"length":3,"fin":true}],
            "header":{"packet_number":8,"packet_type":"1RTT"}}"#,
            r#"{"frames":[{"stream_id":4,"frame_type":"stream","length":3},{"frame_type":"ack","acked_ranges":[[1,2]]}]}"#,
            "{ \"header\" :\t{ \"packet_number\"\n: 9 , \"packet_number\" : 10 } , \"header\" : { } }",
            r#"{"header":{"packet_numbers":1,"packet_numbe":2,"packet\u005fnumber":3,"packet_number\\":4}}"#,
            r#"{"header":{"packet_number":"5"},"unheard_of":{"a":[1]},"raw":[{"length":6}]}"#,
            r#"{"smoothed_rtt":1.5,"min_rtt":"2","cwnd":3,"congestion_window":4}"#,
            r#"{}"#,
        ];
        let text = |data: &str| format!(r#"{{"time":1,"name":"quic:packet_sent","data":{data},"group_id":"a"}}"#);
        let root = r#"{"data":{},"name":"quic:packet_sent","time" : 2,"time_format":"relative_to_epoch","path_id":0}"#;
        let records: Vec<String> = data.into_iter().map(text).chain([root.to_owned()]).collect();
        let units = Units::all(6);
        for before in &records {
            for record in &records {
                let (mut alone, mut after) = (Event::default(), Event::default());
                Reader::new(units, &[]).read(&CATALOGUE, record.as_bytes(), &mut alone).unwrap();
                let mut reader = Reader::new(units, &[]);
                reader.read(&CATALOGUE, before.as_bytes(), &mut Event::default()).unwrap();
                reader.read(&CATALOGUE, record.as_bytes(), &mut after).unwrap();
                assert_eq!(format!("{after:?}"), format!("{alone:?}"), "{record} after {before}");
                for cut in 0..record.len() {
                    let stopped = reader.read(&CATALOGUE, &record.as_bytes()[..cut], &mut after);
                    assert_eq!(stopped, Err(Stop::End), "{record} to {cut} after {before}");
                }
            }
        }
    }

    #[test]
    fn what_is_none_is_told_from_what_is_absent() {
        let event = read(
            "quic:packet_sent",
            r#"{"header":{"packet_number":"seven"},"frames":[{"frame_type":"stream","stream_id":"0x10","length":3},
            {"frame_type":"stream","stream_id":4,"offset":null,"offset":-1},{"frame_type":"max_data","maximum":"100 kB"}]}"#,
        );
        assert!(event.is_unread(Number::PacketNumber) && !event.is_unread(Number::PacketBytes));
        let unread = |frame: usize, number| event.frames[frame].is_unread(number);
        assert!(unread(0, FrameNumber::StreamId) && !unread(0, FrameNumber::Offset) && !unread(0, FrameNumber::Length));
        assert!(unread(1, FrameNumber::Offset) && !unread(1, FrameNumber::StreamId));
        assert!(unread(2, FrameNumber::Maximum));
        let texts: Vec<&str> = event.unread.iter().map(|place| event.str(event.more[*place as usize].1)).collect();
        assert_eq!(texts, ["\"seven\"", "\"0x10\"", "-1", "\"100 kB\""]);
    }

    #[test]
    fn what_waits_says_why() {
        let reasons = [
            ("scheduling", BlockedReason::Scheduling),
            ("pacing", BlockedReason::Pacing),
            ("amplification_protection", BlockedReason::AmplificationProtection),
            ("congestion_control", BlockedReason::CongestionControl),
            ("connection_flow_control", BlockedReason::ConnectionFlowControl),
            ("stream_flow_control", BlockedReason::StreamFlowControl),
            ("stream_id", BlockedReason::StreamId),
            ("application", BlockedReason::Application),
        ];
        for (word, reason) in reasons {
            let data = format!(r#"{{"old":"unblocked","new":"blocked","stream_id":8,"reason":"{word}"}}"#);
            let wanted =
                BlockedUpdate { is_blocked: true, was_blocked: Some(false), reason: Some(reason), stream_id: Some(8) };
            assert_eq!(read("quic:stream_data_blocked_updated", &data).blocked(), Some(wanted));
        }
        let told = |name, data| read(name, data).blocked();
        let end = BlockedUpdate { is_blocked: false, was_blocked: None, reason: None, stream_id: None };
        assert_eq!(
            told("quic:connection_data_blocked_updated", r#"{"new":"unblocked","reason":"weather"}"#),
            Some(end)
        );
        assert_eq!(told("quic:datagram_data_blocked_updated", r#"{"new":"unblocked","stream_id":4}"#), Some(end));
        assert_eq!(told("quic:stream_data_blocked_updated", r#"{"new":"blocked"}"#), None);
        assert_eq!(told("quic:connection_data_blocked_updated", r#"{"new":"perhaps"}"#), None);
        assert_eq!(told("quic:packet_sent", r#"{"new":"blocked"}"#), None);
    }

    #[test]
    fn frames_apart_from_packets_name_their_packets() {
        let data = |numbers: &str| format!(r#"{{"frames":[{{"frame_type":"ping"}}],"packet_numbers":{numbers}}}"#);
        let told = |numbers: &str| read("quic:frames_created", &data(numbers)).packet_numbers();
        assert_eq!(told("[7]"), Some(vec![7]));
        assert_eq!((told("[7,-1]"), told("\"7\"")), (None, None));
        let event = read("quic:frames_parsed", &data("[1]"));
        assert_eq!((event.kind, event.frames.len(), event.is_packet()), (Kind::FramesParsed, 1, false));
    }
}
