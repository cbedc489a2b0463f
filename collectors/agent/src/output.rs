//! What a command writes for people: standard output, with untrusted text in it made printable.

use crate::error::{Error, FailureKind};
use std::borrow::Cow;
use std::fmt::Write as _;
use std::io::{self, Write};

/// The result of writing to standard output. When the reader has closed the pipe, as `head` does, the process exits
/// with success.
pub fn written(done: io::Result<()>) -> Result<(), Error> {
    match done {
        Err(error) if error.kind() == io::ErrorKind::BrokenPipe => std::process::exit(0),
        done => done.map_err(|error| Error::new(FailureKind::Output, "", format!("cannot write: {error}"))),
    }
}

/// The same text without a character that a terminal obeys: C0 but the end of a line, DEL, C1, both separators of lines,
/// and what turns the direction of writing (UAX #9, section 2). Each becomes `\u` and four hex digits, which JSON and
/// TOML read as the character that it was.
pub fn printable(text: &str) -> Cow<'_, str> {
    if !text.contains(is_obeyed) {
        return Cow::Borrowed(text);
    }
    let mut out = String::with_capacity(text.len() + 16);
    for character in text.chars() {
        if is_obeyed(character) {
            let _ = write!(out, "\\u{:04x}", u32::from(character));
        } else {
            out.push(character);
        }
    }
    Cow::Owned(out)
}

fn is_obeyed(character: char) -> bool {
    let is_control = character.is_control() && character != '\n';
    is_control
        || matches!(character, '\u{61c}' | '\u{200e}' | '\u{200f}' | '\u{2028}'..='\u{202e}' | '\u{2066}'..='\u{2069}')
}

/// A writer of lines that gives each piece on as one [`printable`] line.
pub struct Printable<W>(pub W);

impl<W: Write> Write for Printable<W> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let text = String::from_utf8_lossy(bytes);
        let line = text.strip_suffix('\n').map(|line| printable(line).replace('\n', "\\u000a") + "\n");
        self.0.write_all(line.map_or_else(|| printable(&text), Cow::Owned).as_bytes())?;
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        self.0.flush()
    }
}

#[cfg(test)]
#[expect(clippy::unwrap_used, reason = "tests")]
mod tests {
    use super::*;

    #[test]
    fn no_character_that_a_terminal_obeys_is_left_and_json_has_the_same_values() {
        let hostile = "a\u{1b}[2J\u{7}\u{9b}31m\u{7f}\u{202e}\u{2066}\u{2028}\u{61c}\r\tö\u{1f600}";
        let wanted = "a\\u001b[2J\\u0007\\u009b31m\\u007f\\u202e\\u2066\\u2028\\u061c\\u000d\\u0009ö\u{1f600}";
        assert_eq!(printable(hostile), wanted);
        assert_eq!(printable("two\nlines"), "two\nlines");
        let json = serde_json::json!({"k\u{9b}": hostile}).to_string();
        let back: serde_json::Value = serde_json::from_str(&printable(&json)).unwrap();
        assert_eq!(back, serde_json::json!({"k\u{9b}": hostile}));
        assert!(!printable(&json).contains(is_obeyed));
        let mut out = Printable(Vec::new());
        out.write_all(format!("{hostile}\nb\n").as_bytes()).unwrap();
        assert_eq!(out.0, format!("{wanted}\\u000ab\n").as_bytes());
    }
}
