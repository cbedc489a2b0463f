//! Spellings of one thing: white space, packet types, times.

use crate::reader::number::Places;

/// Tells white space between tokens from that inside strings.
#[derive(Default)]
pub struct Strings {
    inside: bool,
    escaped: bool,
}

impl Strings {
    /// The byte means something.
    pub fn keeps(&mut self, byte: u8) -> bool {
        if self.inside {
            self.inside = self.escaped || byte != b'"';
            self.escaped = !self.escaped && byte == b'\\';
            return true;
        }
        self.inside = byte == b'"';
        !byte.is_ascii_whitespace()
    }
}

/// A shape has the spaces of its record, but no line: a record over several lines is put on one.
pub fn compact(shape: &mut Vec<u8>, from: usize) {
    if memchr::memchr3(b'\n', b'\r', b'\t', &shape[from..]).is_some() {
        let mut strings = Strings::default();
        let mut at = 0;
        shape.retain(|byte| {
            at += 1;
            at <= from || strings.keeps(*byte)
        });
    }
}

/// The draft's name of a packet type, for every spelling in `QLOG_DIALECTS` 6; `None` for any other word.
pub fn packet_type(raw: &[u8]) -> Option<&'static [u8]> {
    for (canonical, seen) in [
        (&b"1RTT"[..], &["1rtt", "onertt", "protected1rtt", "1-rtt"][..]),
        (b"initial", &["initial"]),
        (b"handshake", &["handshake"]),
        (b"0RTT", &["0rtt", "zerortt", "protected0rtt", "0-rtt"]),
        (b"retry", &["retry"]),
        (b"version_negotiation", &["version_negotiation", "versionnegotiation"]),
        (b"stateless_reset", &["stateless_reset"]),
    ] {
        if raw == canonical || seen.iter().any(|seen| raw.eq_ignore_ascii_case(seen.as_bytes())) {
            return Some(canonical);
        }
    }
    None
}

/// The largest length up to `len` that does not cut a UTF-8 character.
pub fn floor(raw: &[u8], mut len: usize) -> usize {
    while len > 0 && raw.get(len).is_some_and(|byte| byte & 0xC0 == 0x80) {
        len -= 1;
    }
    len
}

/// Nearest nanosecond of a time with an exponent or too many digits; `None` when it is no time.
pub fn approximate(token: &[u8], places: Places) -> Option<i64> {
    let value: f64 = core::str::from_utf8(token).ok()?.parse().ok()?;
    let ns = (value * 10f64.powi(places.cast_signed())).round();
    #[expect(clippy::cast_possible_truncation, reason = "bounded")]
    (ns.is_finite() && ns.abs() < 9.0e18).then_some(ns as i64)
}
