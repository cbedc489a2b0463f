//! A validating cursor over JSON text (RFC 8259). It never allocates and never recurses.

/// Why reading stopped. `End` means the text ran out: more bytes may mend it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum JsonFault {
    /// The text ends inside a value.
    End,
    /// The text is not JSON.
    Syntax,
    /// Arrays and objects nest deeper than [`MAX_DEPTH`].
    Depth,
    /// A packet has more than [`FRAMES`](crate::limits::FRAMES).
    Frames,
}

use crate::limits::MAX_DEPTH;
use std::borrow::Cow;

/// Reads JSON values one after the other out of a slice.
#[derive(Clone, Copy, Debug)]
pub struct Cursor<'a> {
    /// The text.
    pub text: &'a [u8],
    /// Next byte to read.
    pub at: usize,
    /// Of the strings that were read some have escapes.
    pub has_escapes: bool,
}

/// What stands inside the quotes of a string, and whether it has escapes.
#[derive(Clone, Copy, Debug)]
pub struct Text<'a> {
    /// Bytes between the quotes, escapes as written.
    pub raw: &'a [u8],
    /// A backslash occurs.
    pub escaped: bool,
}

impl<'a> Text<'a> {
    /// The string that it stands for (RFC 8259, 7). Half of a surrogate pair stands for no character: U+FFFD.
    #[inline]
    pub fn plain(&self) -> Cow<'a, [u8]> {
        if self.escaped { Cow::Owned(unescaped(self.raw)) } else { Cow::Borrowed(self.raw) }
    }
}

#[cold]
fn unescaped(raw: &[u8]) -> Vec<u8> {
    let mut plain = Vec::with_capacity(raw.len());
    let mut at = 0;
    let unit = |at: usize| -> Option<u16> {
        let digits = raw.get(at..at + 6)?.strip_prefix(b"\\u")?;
        u16::from_str_radix(core::str::from_utf8(digits).ok()?, 16).ok()
    };
    while let Some(&byte) = raw.get(at) {
        let escape = raw.get(at + 1).filter(|_| byte == b'\\');
        at += 1 + usize::from(escape.is_some());
        plain.push(match escape {
            None => byte,
            Some(b'b') => 8,
            Some(b'f') => 12,
            Some(b'n') => b'\n',
            Some(b'r') => b'\r',
            Some(b't') => b'\t',
            Some(b'u') => {
                let pair = [unit(at - 2), unit(at + 4)];
                let first = char::decode_utf16(pair.into_iter().flatten()).next();
                let letter = first.and_then(Result::ok).unwrap_or(char::REPLACEMENT_CHARACTER);
                at += if letter.len_utf16() == 2 { 10 } else { 4 };
                plain.extend_from_slice(letter.encode_utf8(&mut [0; 4]).as_bytes());
                continue;
            }
            Some(&other) => other,
        });
    }
    plain
}

const fn string_class() -> [bool; 256] {
    let mut table = [false; 256];
    let mut i = 0;
    while i < 0x20 {
        table[i] = true;
        i += 1;
    }
    table[b'"' as usize] = true;
    table[b'\\' as usize] = true;
    table
}

/// Bytes that end a run of plain characters inside a string.
static STOPS: [bool; 256] = string_class();

impl<'a> Cursor<'a> {
    /// A cursor at the start of `text`.
    pub fn new(text: &'a [u8]) -> Self {
        Self { text, at: 0, has_escapes: false }
    }

    /// Skips white space and gives the next byte without taking it.
    #[inline]
    pub fn peek(&mut self) -> Result<u8, JsonFault> {
        while let Some(&byte) = self.text.get(self.at) {
            if byte > b' ' {
                return Ok(byte);
            }
            if !matches!(byte, b' ' | b'\t' | b'\n' | b'\r') {
                return Err(JsonFault::Syntax);
            }
            self.at += 1;
        }
        Err(JsonFault::End)
    }

    /// Takes `byte` after white space, or fails.
    #[inline]
    pub fn take(&mut self, byte: u8) -> Result<(), JsonFault> {
        if self.peek()? == byte {
            self.at += 1;
            Ok(())
        } else {
            Err(JsonFault::Syntax)
        }
    }

    /// After an element: true when a comma was taken, false when `close` was.
    #[inline]
    pub fn more(&mut self, close: u8) -> Result<bool, JsonFault> {
        let byte = self.peek()?;
        if byte == b',' {
            self.at += 1;
            Ok(true)
        } else if byte == close {
            self.at += 1;
            Ok(false)
        } else {
            Err(JsonFault::Syntax)
        }
    }

    /// After an opening bracket: true when the container is empty and was closed.
    #[inline]
    pub fn empty(&mut self, close: u8) -> Result<bool, JsonFault> {
        if self.peek()? == close {
            self.at += 1;
            Ok(true)
        } else {
            Ok(false)
        }
    }

    /// Reads a string; the cursor must stand on its quote (after white space).
    #[inline]
    pub fn string(&mut self) -> Result<Text<'a>, JsonFault> {
        self.take(b'"')?;
        let start = self.at;
        let mut escaped = false;
        loop {
            let Some(&byte) = self.text.get(self.at) else { return Err(JsonFault::End) };
            if !STOPS[usize::from(byte)] {
                self.at += 1;
                continue;
            }
            if byte == b'"' {
                let raw = &self.text[start..self.at];
                self.at += 1;
                return Ok(Text { raw, escaped });
            }
            if byte != b'\\' {
                return Err(JsonFault::Syntax);
            }
            (escaped, self.has_escapes) = (true, true);
            self.escape()?;
        }
    }

    fn escape(&mut self) -> Result<(), JsonFault> {
        match self.text.get(self.at + 1) {
            None => Err(JsonFault::End),
            Some(b'"' | b'\\' | b'/' | b'b' | b'f' | b'n' | b'r' | b't') => {
                self.at += 2;
                Ok(())
            }
            Some(b'u') => {
                let digits = self.text.get(self.at + 2..self.at + 6).ok_or(JsonFault::End)?;
                if !digits.iter().all(u8::is_ascii_hexdigit) {
                    return Err(JsonFault::Syntax);
                }
                self.at += 6;
                Ok(())
            }
            Some(_) => Err(JsonFault::Syntax),
        }
    }

    /// Reads a number's token. One that touches the end of the text may go on in text that is not here: the caller knows.
    #[inline]
    pub fn number(&mut self) -> Result<&'a [u8], JsonFault> {
        self.peek()?;
        let start = self.at;
        let mut at = self.at;
        let text = self.text;
        let digits = |mut at: usize| -> usize {
            while text.get(at).is_some_and(u8::is_ascii_digit) {
                at += 1;
            }
            at
        };
        if text.get(at) == Some(&b'-') {
            at += 1;
        }
        let whole = digits(at);
        if whole == at {
            return Err(if whole == text.len() { JsonFault::End } else { JsonFault::Syntax });
        }
        if text[at] == b'0' && whole > at + 1 {
            return Err(JsonFault::Syntax);
        }
        at = whole;
        if text.get(at) == Some(&b'.') {
            let fraction = digits(at + 1);
            if fraction == at + 1 {
                return Err(if fraction == text.len() { JsonFault::End } else { JsonFault::Syntax });
            }
            at = fraction;
        }
        if matches!(text.get(at), Some(b'e' | b'E')) {
            at += 1;
            if matches!(text.get(at), Some(b'+' | b'-')) {
                at += 1;
            }
            let exponent = digits(at);
            if exponent == at {
                return Err(if exponent == text.len() { JsonFault::End } else { JsonFault::Syntax });
            }
            at = exponent;
        }
        self.at = at;
        Ok(&text[start..at])
    }

    fn word(&mut self, word: &[u8]) -> Result<(), JsonFault> {
        let rest = &self.text[self.at..];
        if rest.starts_with(word) {
            self.at += word.len();
            Ok(())
        } else if word.starts_with(rest) {
            Err(JsonFault::End)
        } else {
            Err(JsonFault::Syntax)
        }
    }

    /// Reads any value whole and gives its text; it is checked as strictly as if it were used.
    pub fn value(&mut self) -> Result<&'a [u8], JsonFault> {
        let first = self.peek()?;
        let start = self.at;
        let mut depth = 0u32;
        // One bit a level: set for an object. MAX_DEPTH is its width.
        let mut objects = 0u64;
        let mut byte = first;
        loop {
            match byte {
                b'{' | b'[' => {
                    if depth == MAX_DEPTH {
                        return Err(JsonFault::Depth);
                    }
                    self.at += 1;
                    objects = objects << 1 | u64::from(byte == b'{');
                    depth += 1;
                    if !self.empty(if byte == b'{' { b'}' } else { b']' })? {
                        if byte == b'{' {
                            self.key()?;
                        }
                        byte = self.peek()?;
                        continue;
                    }
                    objects >>= 1;
                    depth -= 1;
                }
                b'"' => {
                    self.string()?;
                }
                b't' => self.word(b"true")?,
                b'f' => self.word(b"false")?,
                b'n' => self.word(b"null")?,
                _ => {
                    self.number()?;
                }
            }
            // A value ended: close what ends with it, or go to the next element.
            loop {
                if depth == 0 {
                    return Ok(&self.text[start..self.at]);
                }
                let in_object = objects & 1 == 1;
                if self.more(if in_object { b'}' } else { b']' })? {
                    if in_object {
                        self.key()?;
                    }
                    break;
                }
                objects >>= 1;
                depth -= 1;
            }
            byte = self.peek()?;
        }
    }

    /// Reads a key and its colon.
    #[inline]
    pub fn key(&mut self) -> Result<Text<'a>, JsonFault> {
        let key = self.string()?;
        self.take(b':')?;
        Ok(key)
    }
}

#[cfg(test)]
#[expect(clippy::unwrap_used, reason = "tests")]
mod tests {
    use super::*;

    #[test]
    fn values_are_read_whole_or_refused() {
        for (text, want) in [
            (&b"{\"a\":[1,{\"b\":null}],\"c\":\"x\\u00e9\"} "[..], Ok(34)),
            (b"[]", Ok(2)),
            (b"{} ", Ok(2)),
            (b"[1,]", Err(JsonFault::Syntax)),
            (b"{\"a\":}", Err(JsonFault::Syntax)),
            (b"NaN", Err(JsonFault::Syntax)),
            (b"01 ", Err(JsonFault::Syntax)),
            (b"1e400 ", Ok(5)),
            (b"-1.5e+3,", Ok(7)),
            (b"\"a", Err(JsonFault::End)),
            (b"tru", Err(JsonFault::End)),
            (b"{\"a\":1", Err(JsonFault::End)),
            (b"\"a\nb\"", Err(JsonFault::Syntax)),
            (b"\"\\x\"", Err(JsonFault::Syntax)),
        ] {
            let mut cursor = Cursor::new(text);
            assert_eq!(cursor.value().map(<[u8]>::len), want, "{}", String::from_utf8_lossy(text));
        }
    }

    #[test]
    fn strings_are_what_they_stand_for() {
        for (text, want) in [
            (r#""plain""#, "plain"),
            (r#""packet\u005fsent""#, "packet_sent"),
            (r#""\"\\\/\b\f\n\r\t""#, "\"\\/\u{8}\u{c}\n\r\t"),
            (r#""\u00e9\u20ac""#, "é€"),
            (r#""a\ud83d\ude00b""#, "a😀b"),
            (r#""\ud83dx""#, "\u{fffd}x"),
            (r#""\ud83d\u0041\ude00""#, "\u{fffd}A\u{fffd}"),
        ] {
            let plain = Cursor::new(text.as_bytes()).string().unwrap().plain().into_owned();
            assert_eq!(String::from_utf8(plain).unwrap(), want, "{text}");
        }
    }

    #[test]
    fn nesting_is_bounded() {
        let deep = [b'['; 100];
        assert_eq!(Cursor::new(&deep).value(), Err(JsonFault::Depth));
        let mut fine = vec![b'['; 64];
        fine.extend(vec![b']'; 64]);
        assert_eq!(Cursor::new(&fine).value().unwrap().len(), 128);
    }
}
