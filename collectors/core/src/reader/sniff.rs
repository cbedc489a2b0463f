//! Which format a file has, told by its first bytes. Neither its name nor its `qlog_version` is trusted.

use crate::reader::json::{Cursor, Fault};
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

/// The framing of a file that begins with `head`, after a byte order mark and white space; `whole` says that `head` is
/// all of it. `None`: no format we know.
pub fn sniff(head: &[u8], whole: bool) -> Option<Framing> {
    let head = head.strip_prefix(b"\xEF\xBB\xBF").unwrap_or(head);
    let start = head.iter().position(|byte| !matches!(byte, b' ' | b'\t' | b'\r' | b'\n'))?;
    let head = &head[start..];
    match head.first()? {
        &RS => Some(Framing::Sequential),
        b'{' => {
            let line = head.split(|byte| *byte == b'\n').next().unwrap_or(head);
            let more = head.get(line.len() + 1..).unwrap_or(&[]);
            let mut cursor = Cursor::new(line);
            let complete = cursor.value().is_ok();
            if complete && more.iter().any(|byte| !byte.is_ascii_whitespace()) {
                let sequential = memchr::memchr(RS, more).is_some();
                return Some(if sequential { Framing::Sequential } else { Framing::NdJson });
            }
            // An RS right after the header's own text: a header without one in a sequence.
            if memchr::memchr(RS, line).is_some() {
                return Some(Framing::Sequential);
            }
            if complete && whole && !memmem(line, b"\"events\"") && memmem(line, b"\"trace\"") {
                return Some(Framing::NdJson);
            }
            let plain = complete || matches!(Cursor::new(head).value(), Err(Fault::End) | Ok(_)) || likely(head);
            plain.then_some(Framing::Contained)
        }
        _ => {
            // A log that was cut short under its writer begins inside a record; one that grows may end inside one.
            let all = if whole { head } else { &head[..=memchr::memrchr(b'\n', head)?] };
            let text = String::from_utf8_lossy(all);
            let lines = text.lines().filter(|line| !line.trim().is_empty() && !quic_trace::is_heading(line));
            let rows: Vec<_> = lines.take(FIRST_LINES).filter_map(quic_trace::row).collect();
            rows.first()?;
            let has_seq = rows.iter().any(|row| row.seq.is_some());
            Some(if has_seq { Framing::LineV1 } else { Framing::QuicTrace })
        }
    }
}

fn memmem(text: &[u8], word: &[u8]) -> bool {
    memchr::memmem::find(text, word).is_some()
}

/// A document with a fault inside is still one when it begins like a qlog.
fn likely(head: &[u8]) -> bool {
    [&b"\"qlog_version\""[..], b"\"file_schema\"", b"\"traces\"", b"\"trace\"", b"\"events\""]
        .iter()
        .any(|word| memmem(head, word))
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
            // Digits and a tab could be a time and a name.
            ("1234567890123456\t0".to_owned(), false, None),
            ("10\tpacket_recvd\t4, 300".to_owned(), true, Some(Framing::QuicTrace)),
            ("no rows\n".repeat(9), true, None),
        ] {
            assert_eq!(sniff(head.as_bytes(), whole), framing, "{head}");
        }
    }
}
