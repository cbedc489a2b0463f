//! A format string, compiled: texts that must stand in a line and the pieces between them.

use super::FormatError;
use super::fill::Filler;
use super::meaning::Meaning;
use memchr::memmem::Finder;
use quiclens_core::limits::FORMAT_PLACES;
use quiclens_core::reader::skip::Skip;
use std::borrow::Cow;

/// A placeholder.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Placeholder {
    /// As the server calls it.
    pub name: String,
    /// What it is.
    pub meaning: Meaning,
    /// HAProxy's captured headers: in braces, or not there at all.
    pub braces: bool,
}

/// Part of a format.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Piece {
    Literal(String),
    Value(Placeholder),
}

impl Piece {
    pub fn value(name: &str, meaning: Meaning) -> Self {
        Self::Value(Placeholder { name: name.to_owned(), meaning, braces: false })
    }
}

/// How a server writes bytes that it does not write plainly.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Escapes {
    None,
    /// `\x22`, `\"`, `\n`: nginx and Apache.
    Backslash,
    Json,
    /// `#22`: HAProxy.
    Hash,
}

/// A compiled format.
#[derive(Clone, Debug)]
pub(super) struct Pattern {
    first: String,
    /// Each placeholder and the text after it.
    places: Vec<(Placeholder, Finder<'static>)>,
    escapes: Escapes,
    /// Number of quotes of a line whose server does not escape them.
    quotes: Option<usize>,
    /// Such a beginning belongs to syslog.
    prefix_until: Option<String>,
    /// The line may end inside its last piece.
    may_be_cut: bool,
}

impl Pattern {
    /// Compiles; the error says what cannot be read back.
    pub fn new(pieces: Vec<Piece>, escapes: Escapes, prefix_until: Option<String>) -> Result<Self, FormatError> {
        let (mut first, mut places) = (String::new(), Vec::<(Placeholder, String)>::new());
        for piece in joined(pieces) {
            match piece {
                Piece::Literal(text) => match places.last_mut() {
                    None => first.push_str(&text),
                    Some((_, after)) => after.push_str(&text),
                },
                Piece::Value(place) => {
                    if let Some((before, after)) = places.last()
                        && after.is_empty()
                        && !before.braces
                    {
                        let (a, b) = (&before.name, &place.name);
                        return Err(format!("nothing stands between {a} and {b}: where one ends cannot be told").into());
                    }
                    places.push((place, String::new()));
                }
            }
        }
        if places.is_empty() || places.len() > FORMAT_PLACES {
            return Err(format!("a format has from 1 to {FORMAT_PLACES} placeholders, not {}", places.len()).into());
        }
        let quoted = |text: &str| text.bytes().filter(|byte| *byte == b'"').count();
        let quotes = quoted(&first) + places.iter().map(|(_, after)| quoted(after)).sum::<usize>();
        Ok(Self {
            first,
            places: places
                .into_iter()
                .map(|(place, after)| (place, Finder::new(after.as_bytes()).into_owned()))
                .collect(),
            escapes,
            quotes: (escapes == Escapes::None).then_some(quotes),
            prefix_until,
            may_be_cut: escapes == Escapes::Hash,
        })
    }

    /// The placeholders.
    pub fn places(&mut self) -> impl Iterator<Item = &mut Placeholder> {
        self.places.iter_mut().map(|(place, _)| place)
    }

    /// Reads a line into `filler`. A line of another form is `BadLine`.
    pub fn read(&self, line: &str, filler: &mut Filler<'_>) -> Result<(), Skip> {
        if self.quotes.is_some_and(|quotes| memchr::memchr_iter(b'"', line.as_bytes()).count() != quotes) {
            // A value with a quote in it could pass for two fields.
            return Err(Skip::BadLine);
        }
        let line = match &self.prefix_until {
            Some(mark) => self.without_prefix(line, mark, filler),
            None => line,
        };
        let mut rest = line.strip_prefix(self.first.as_str()).ok_or(Skip::BadLine)?;
        let mut is_spared = false;
        let last = self.places.len() - 1;
        for (index, (place, after)) in self.places.iter().enumerate() {
            let after_text = after.needle();
            if place.braces {
                match rest.strip_prefix('{').and_then(|inside| inside.split_once('}')) {
                    Some((value, left)) => {
                        filler.take(&place.name, &place.meaning, &self.plain(value));
                        rest = left;
                    }
                    // It and the space after it were not written.
                    None => is_spared = true,
                }
                let after = core::str::from_utf8(after_text).unwrap_or("");
                let after = if is_spared { after.strip_prefix(' ').unwrap_or(after) } else { after };
                is_spared = false;
                rest = rest.strip_prefix(after).ok_or(Skip::BadLine)?;
                continue;
            }
            let end = if after_text.is_empty() { Some(rest.len()) } else { self.end(rest.as_bytes(), after) };
            let Some(end) = end else {
                if index == last && self.may_be_cut && place.meaning == Meaning::Request {
                    // HAProxy cuts long lines: what is left of the target is not the target.
                    filler.keep(&place.name, rest, false);
                    return Ok(());
                }
                return Err(Skip::BadLine);
            };
            let value = rest.get(..end).ok_or(Skip::BadLine)?;
            filler.take(&place.name, &place.meaning, &self.plain(value));
            rest = rest.get(end + after_text.len()..).ok_or(Skip::BadLine)?;
        }
        if rest.trim().is_empty() { Ok(()) } else { Err(Skip::BadLine) }
    }

    /// Where the text after a piece begins. A quote that a backslash escapes ends nothing.
    fn end(&self, rest: &[u8], after: &Finder<'static>) -> Option<usize> {
        let mut from = 0;
        loop {
            let at = from + after.find(rest.get(from..)?)?;
            let before = rest.get(..at)?;
            let slashes = before.iter().rev().take_while(|byte| **byte == b'\\').count();
            let escapes = matches!(self.escapes, Escapes::Backslash | Escapes::Json);
            if slashes % 2 == 0 || !escapes || after.needle().first() != Some(&b'"') {
                return Some(at);
            }
            from = at + 1;
        }
    }

    /// The line after its prefix, which is kept. A mark that stands only inside quotes is none.
    fn without_prefix<'l>(&self, line: &'l str, mark: &str, filler: &mut Filler<'_>) -> &'l str {
        let plain = line.split('"').next().unwrap_or(line);
        match plain.find(mark) {
            Some(at) if !mark.is_empty() => {
                let (prefix, rest) = line.split_at(at + mark.len());
                filler.keep("prefix", prefix.trim_end(), false);
                rest
            }
            _ => line,
        }
    }

    fn plain<'t>(&self, text: &'t str) -> Cow<'t, str> {
        match self.escapes {
            Escapes::None => Cow::Borrowed(text),
            Escapes::Backslash if !text.contains('\\') => Cow::Borrowed(text),
            Escapes::Backslash => unescaped(text, b'\\'),
            Escapes::Hash if !text.contains('#') => Cow::Borrowed(text),
            Escapes::Hash => unescaped(text, b'#'),
            Escapes::Json if !text.contains('\\') => Cow::Borrowed(text),
            Escapes::Json => match serde_json::from_str(&format!("\"{text}\"")) {
                Ok(plain) => Cow::Owned(plain),
                Err(_) => Cow::Borrowed(text),
            },
        }
    }
}

/// Joins what can only be read as one: HAProxy's address and port, whose colon IPv6 has too, and a path and its query.
fn joined(pieces: Vec<Piece>) -> Vec<Piece> {
    let mut out: Vec<Piece> = Vec::with_capacity(pieces.len());
    for piece in pieces.into_iter().filter(|piece| !matches!(piece, Piece::Literal(text) if text.is_empty())) {
        if let Piece::Value(place) = &piece {
            let count = out.len();
            match (&place.meaning, out.as_mut_slice()) {
                (Meaning::Query, [.., Piece::Value(before)])
                    if matches!(before.meaning, Meaning::PathAlone | Meaning::Path) =>
                {
                    before.meaning = Meaning::Path;
                    before.name.push_str(&place.name);
                    continue;
                }
                (Meaning::Query, [.., Piece::Value(before), Piece::Literal(mark)])
                    if before.meaning == Meaning::PathAlone && mark == "?" =>
                {
                    before.meaning = Meaning::Path;
                    out.truncate(count - 1);
                    continue;
                }
                (Meaning::Port, [.., Piece::Value(before), Piece::Literal(colon)])
                    if before.meaning == Meaning::Address && colon == ":" =>
                {
                    before.meaning = Meaning::AddressPort;
                    out.truncate(count - 1);
                    continue;
                }
                _ => {}
            }
        }
        match (out.last_mut(), piece) {
            (Some(Piece::Literal(before)), Piece::Literal(text)) => before.push_str(&text),
            (_, piece) => out.push(piece),
        }
    }
    out
}

/// `\xXX`, `\"`, `\n` and their like, or `#XX`. What would be no UTF-8 stays as it was written.
fn unescaped(text: &str, mark: u8) -> Cow<'_, str> {
    let bytes = text.as_bytes();
    let (mut out, mut at) = (Vec::with_capacity(bytes.len()), 0);
    while let Some(&byte) = bytes.get(at) {
        let hex = |from: usize| {
            let digit = |at: usize| bytes.get(at).and_then(|byte| char::from(*byte).to_digit(16));
            u8::try_from(digit(from)? * 16 + digit(from + 1)?).ok()
        };
        let (length, plain) = match (byte == mark, mark, bytes.get(at + 1)) {
            (true, b'#', _) => (3, hex(at + 1)),
            (true, _, Some(b'x')) => (4, hex(at + 2)),
            (true, _, Some(letter)) => {
                let plain = match letter {
                    b'"' | b'\\' => Some(*letter),
                    b'n' => Some(b'\n'),
                    b'r' => Some(b'\r'),
                    b't' => Some(b'\t'),
                    b'b' => Some(8),
                    b'v' => Some(11),
                    b'f' => Some(12),
                    _ => None,
                };
                (2, plain)
            }
            _ => (1, Some(byte)),
        };
        match plain {
            Some(plain) => {
                out.push(plain);
                at += length;
            }
            None => {
                out.push(byte);
                at += 1;
            }
        }
    }
    String::from_utf8(out).map_or(Cow::Borrowed(text), Cow::Owned)
}
