//! Which format a file has, told by its first bytes. Neither its name nor its `qlog_version` is trusted.

use crate::reader::document::event_at;
use crate::reader::json::{Cursor, JsonFault};
use crate::reader::quic_trace;

/// How records lie in a file.
#[derive(Clone, Copy, Debug, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
pub enum Framing {
    /// One JSON document that holds everything.
    Contained,
    /// A header record, then one record each, with 0x1E before some or all (RFC 7464).
    Sequential,
    /// The same with line feeds alone.
    NdJson,
    /// QUIC_TRACE: three or five columns a line.
    QuicTrace,
    /// `quiclens line v1`.
    LineV1,
}

impl Framing {
    /// Name in `connections.serialization`.
    pub fn name(self) -> &'static str {
        match self {
            Self::Contained => "contained",
            Self::Sequential => "sequential",
            Self::NdJson => "ndjson",
            Self::QuicTrace => "quic_trace",
            Self::LineV1 => "line_v1",
        }
    }
}

/// Lines of which one must be a row.
const FIRST_LINES: usize = 3;

/// Record separator of RFC 7464.
pub const RS: u8 = 0x1E;

/// What the first bytes of a file say.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Sniffed {
    /// The framing is known.
    Known(Framing),
    /// It would be, with more of the file.
    More,
    /// No format we know.
    Unknown,
}

/// The framing of a file that begins with `head`, after a byte order mark and white space; `whole` says that `head` is
/// all of it.
pub fn sniff(head: &[u8], whole: bool) -> Sniffed {
    framing(head, whole).map_or(Sniffed::Unknown, |framing| framing.map_or(Sniffed::More, Sniffed::Known))
}

/// `Some(None)`: more is needed.
fn framing(head: &[u8], whole: bool) -> Option<Option<Framing>> {
    let head = head.strip_prefix(b"\xEF\xBB\xBF").unwrap_or(head);
    let Some(start) = head.iter().position(|byte| !matches!(byte, b' ' | b'\t' | b'\r' | b'\n')) else {
        return (!whole).then_some(None);
    };
    let head = &head[start..];
    match head.first()? {
        &RS => Some(Some(Framing::Sequential)),
        b'{' => match first_object(head) {
            Ok(First::Document) => Some(Some(Framing::Contained)),
            Ok(First::Header { length, has_trace }) => {
                // What comes first after it tells, whatever follows.
                match head[length..].iter().find(|byte| !byte.is_ascii_whitespace()) {
                    // A header without RS in a sequence.
                    Some(&RS) => Some(Some(Framing::Sequential)),
                    None if !whole => Some(None),
                    None if !has_trace => Some(Some(Framing::Contained)),
                    _ => Some(Some(Framing::NdJson)),
                }
            }
            Err(JsonFault::End) if !whole => Some(None),
            // Damaged, or cut in its first object.
            Err(_) => damaged(head, whole),
        },
        _ => {
            // A log that was cut short under its writer begins inside a record; one that grows may end inside one.
            let all = if whole { head } else { &head[..memchr::memrchr(b'\n', head).map_or(0, |last| last + 1)] };
            let text = String::from_utf8_lossy(all);
            let lines = text.lines().filter(|line| !line.trim().is_empty() && !quic_trace::is_heading(line));
            let lines: Vec<&str> = lines.take(FIRST_LINES).collect();
            let rows: Vec<_> = lines.iter().filter_map(|line| quic_trace::row(line)).collect();
            if rows.iter().any(|row| row.seq.is_some()) {
                return Some(Some(Framing::LineV1));
            }
            if lines.len() < FIRST_LINES && !whole {
                return Some(None);
            }
            rows.first().map(|_| Some(Framing::QuicTrace))
        }
    }
}

/// The first object of a file.
enum First {
    /// It holds traces or events.
    Document,
    /// It is the header of a sequence, or a line.
    Header { length: usize, has_trace: bool },
}

/// Walks the fields of the first object until they tell what it is.
fn first_object(head: &[u8]) -> Result<First, JsonFault> {
    let mut cursor = Cursor::new(head);
    let mut has_trace = false;
    cursor.take(b'{')?;
    let mut is_more = !cursor.empty(b'}')?;
    while is_more {
        let key = cursor.key()?.plain();
        match (&*key, cursor.peek()?) {
            (b"traces" | b"connections" | b"events", b'[') => return Ok(First::Document),
            (b"trace", b'{') => {
                has_trace = true;
                cursor.at += 1;
                let mut is_more = !cursor.empty(b'}')?;
                while is_more {
                    if *cursor.key()?.plain() == *b"events" && cursor.peek()? == b'[' {
                        return Ok(First::Document);
                    }
                    cursor.value()?;
                    is_more = cursor.more(b'}')?;
                }
            }
            _ => drop(cursor.value()?),
        }
        is_more = cursor.more(b'}')?;
    }
    Ok(First::Header { length: cursor.at, has_trace })
}

/// A log with a fault in its first object is told by what comes first in its first lines: a separator, a line that is an
/// event, or words of a document. `Some(None)`: more is needed.
fn damaged(head: &[u8], whole: bool) -> Option<Option<Framing>> {
    let find = |text: &[u8], word: &[u8]| memchr::memmem::find(text, word);
    let mut looked = 0;
    for number in 0..=FIRST_LINES {
        let rest = &head[looked..];
        let end = memchr::memchr(b'\n', rest);
        let line = &rest[..end.unwrap_or(rest.len())];
        let words = [find(line, b"\"traces\""), find(line, b"\"events\"")].into_iter().flatten().min();
        match (memchr::memchr(RS, line), words) {
            (Some(separator), word) if word.is_none_or(|word| separator < word) => {
                return Some(Some(Framing::Sequential));
            }
            (_, Some(_)) if number == 0 => return Some(Some(Framing::Contained)),
            _ if end.is_none() && !whole => return Some(None),
            _ if number > 0 && event_at(line).0.is_ok() => return Some(Some(Framing::NdJson)),
            (_, Some(_)) => return Some(Some(Framing::Contained)),
            _ => {}
        }
        looked += end.map_or(rest.len(), |end| end + 1);
    }
    let header = [&b"\"qlog_version\""[..], b"\"file_schema\"", b"\"trace\""];
    header.iter().any(|word| find(&head[..looked], word).is_some()).then_some(Some(Framing::Contained))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rows_are_told_by_whole_lines_of_which_the_first_may_be_cut() {
        let line = "1234567890123456\t0\t0\tpacket_recvd\t4, 300\n";
        for (head, whole, framing) in [
            (line.to_owned(), false, Some(Framing::LineV1)),
            (format!("cket_recvd\t4, 300\n{line}"), false, Some(Framing::LineV1)),
            (format!("10\tpacket_recvd\t4, 300\n{line}"), false, Some(Framing::LineV1)),
            ("10\tpacket_recvd\t4, 300".to_owned(), true, Some(Framing::QuicTrace)),
            ("no rows\n".repeat(9), true, None),
        ] {
            let wanted = framing.map_or(Sniffed::Unknown, Sniffed::Known);
            assert_eq!(sniff(head.as_bytes(), whole), wanted, "{head}");
        }
    }

    /// A log that grows is told the same wherever the first look ends.
    #[test]
    fn what_comes_first_tells_whatever_follows() {
        let (event, broken) = ("{\"time\":1,\"name\":\"a:b\"}", "{\"a\"b,\"x\":\"y\"}");
        for (text, framing) in [
            (format!("{broken}\n{event}\n{event}\n"), Some(Framing::NdJson)),
            (format!("{broken}\nx\n{event}\n\x1e{event}\n"), Some(Framing::NdJson)),
            (format!("{broken}\n\x1e{event}\n{event}\n"), Some(Framing::Sequential)),
            (format!("{{\"traces\"b:[{{\"events\":[{event},\x1e{event}"), Some(Framing::Contained)),
            (format!("{broken}\nx\ny\nz\n{event}\n"), None),
            (format!("{{\"qlog_version\"b\nx\ny\nz\n{event}\n"), Some(Framing::Contained)),
            (format!("{{\"title\":1}}\n{event}\n\x1e{event}\n"), Some(Framing::NdJson)),
        ] {
            let wanted = framing.map_or(Sniffed::Unknown, Sniffed::Known);
            assert_eq!(sniff(text.as_bytes(), true), wanted, "{text:?}");
            for end in 0..text.len() {
                let early = sniff(&text.as_bytes()[..end], false);
                assert!(early == Sniffed::More || early == wanted, "{early:?} of {:?}", &text[..end]);
            }
        }
    }

    #[test]
    fn lines_are_waited_for_until_they_tell() {
        let row = "1234567890123456\t0\t0\tpacket_recvd\t4, 300\n";
        let other = "10\tpacket_recvd\t4, 300\n";
        for head in ["", "\r\n", "1234567890123456\t0", &row[..row.len() - 1], "no row\n", "no row\nno row\n", other] {
            assert_eq!(sniff(head.as_bytes(), false), Sniffed::More, "{head:?}");
            let wanted = Sniffed::Known(Framing::LineV1);
            let known = head.lines().filter(|line| !line.trim().is_empty()).count();
            if known < FIRST_LINES && (head.is_empty() || head.ends_with('\n')) {
                assert_eq!(sniff(format!("{head}{row}").as_bytes(), false), wanted, "{head:?}");
            }
        }
        assert_eq!(sniff(other.repeat(3).as_bytes(), false), Sniffed::Known(Framing::QuicTrace));
        assert_eq!(sniff("no row\n".repeat(3).as_bytes(), false), Sniffed::Unknown);
    }

    #[test]
    fn an_object_is_a_document_by_its_fields_whatever_follows_it() {
        let event = "{\"time\":1,\"name\":\"a:b\"}";
        let long = format!("{{\"qlog_version\":\"0.3\",\"description\":\"{}\"", "x".repeat(100));
        for (head, whole, wanted) in [
            (format!("{{\"traces\":[{{\"events\":[{event}]}}]}}\nx\n"), true, Sniffed::Known(Framing::Contained)),
            (format!("{{\"trace\":{{\"events\":[{event}"), false, Sniffed::Known(Framing::Contained)),
            (format!("{{\"trace\":{{\"title\":\"events\"}}}}\n{event}"), false, Sniffed::Known(Framing::NdJson)),
            ("{\"trace\":{\"title\":\"traces\"}}\n".to_owned(), true, Sniffed::Known(Framing::NdJson)),
            (format!("{{\"trace\":{{}}}}\x1e{event}"), false, Sniffed::Known(Framing::Sequential)),
            ("{\"some\":1}".to_owned(), true, Sniffed::Known(Framing::Contained)),
            // A long header is not taken for a document, nor half of one for either.
            (long.clone(), false, Sniffed::More),
            (format!("{long}}}\n"), false, Sniffed::More),
            (format!("{long}}}\n{event}"), false, Sniffed::Known(Framing::NdJson)),
        ] {
            assert_eq!(sniff(head.as_bytes(), whole), wanted, "{head}");
        }
    }
}
