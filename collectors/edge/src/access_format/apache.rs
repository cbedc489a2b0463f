//! `LogFormat` of Apache, which H2O and LiteSpeed share: Apache 2.4's `mod_log_config`, H2O's
//! `access_log_directives.mt` (June 2026), OpenLiteSpeed 1.9.1's `accesslog.cpp`. In all three `%t` is the time at
//! which the request was received.

use super::FormatError;
use super::config::{TimeIs, Unit};
use super::meaning::Meaning;
use super::pattern::Piece;
use super::time::{COMMON, TimestampFormat};
use quiclens_core::record::columns::request_lines;

/// Common log format.
pub(super) const COMMON_LOG: &str = r#"%h %l %u %t "%r" %>s %b"#;
/// Combined log format.
pub(super) const COMBINED: &str = r#"%h %l %u %t "%r" %>s %b "%{Referer}i" "%{User-agent}i""#;

/// Takes a format apart.
pub(super) fn pieces(format: &str) -> Result<Vec<Piece>, FormatError> {
    let mut pieces = Vec::new();
    let mut rest = format;
    while let Some(at) = rest.find('%') {
        let (text, item) = rest.split_at(at);
        pieces.push(Piece::Literal(text.replace("\\\"", "\"").replace("\\t", "\t")));
        let item = item.get(1..).unwrap_or("");
        if let Some(left) = item.strip_prefix('%') {
            pieces.push(Piece::Literal("%".to_owned()));
            rest = left;
            continue;
        }
        // Conditions on the status (`%400,501{…}i`) and original or final request.
        let item = item.trim_start_matches(|c: char| c.is_ascii_digit() || matches!(c, '!' | ',' | '<' | '>'));
        let (argument, item) = match item.strip_prefix('{') {
            Some(inside) => inside.split_once('}').ok_or("a %{ without }")?,
            None => ("", item),
        };
        let item = item.trim_start_matches(['<', '>']);
        let length = item.chars().next().map_or(0, char::len_utf8);
        let (letter, left) =
            if item.starts_with("^t") { item.split_at_checked(3) } else { item.split_at_checked(length) }
                .filter(|(letter, _)| !letter.is_empty())
                .ok_or("a % without a letter")?;
        item_pieces(argument, letter, &mut pieces);
        rest = left;
    }
    pieces.push(Piece::Literal(rest.replace("\\\"", "\"").replace("\\t", "\t")));
    Ok(pieces)
}

fn item_pieces(argument: &str, letter: &str, pieces: &mut Vec<Piece>) {
    let name = if argument.is_empty() { format!("%{letter}") } else { format!("%{{{argument}}}{letter}") };
    if letter == "t" && argument.is_empty() {
        // It brings its own brackets.
        let meaning =
            TimestampFormat::of_strftime(COMMON).map_or(Meaning::More, |clock| Meaning::Time(clock, TimeIs::Start));
        pieces.extend([Piece::Literal("[".to_owned()), Piece::value(&name, meaning), Piece::Literal("]".to_owned())]);
    } else {
        pieces.push(Piece::value(&name, meaning(argument, letter)));
    }
}

fn meaning(argument: &str, letter: &str) -> Meaning {
    let field = argument.to_ascii_lowercase();
    match letter {
        "a" | "h" => Meaning::Address,
        "p" if field == "remote" => Meaning::Port,
        "r" => Meaning::Request,
        "m" => Meaning::Text(request_lines::METHOD),
        "U" => Meaning::PathAlone,
        "q" => Meaning::Query,
        "H" => Meaning::Protocol,
        "V" => Meaning::Text(request_lines::AUTHORITY),
        "s" => Meaning::Whole(request_lines::STATUS, u16::MAX.into()),
        "b" | "B" | "O" => Meaning::Whole(request_lines::RESPONSE_BYTES, u64::MAX),
        "I" => Meaning::Whole(request_lines::REQUEST_BYTES, u64::MAX),
        "D" => Meaning::Duration(request_lines::DURATION_US, Unit::Microseconds),
        "T" => match field.as_str() {
            "ms" => Meaning::Duration(request_lines::DURATION_US, Unit::Milliseconds),
            "us" => Meaning::Duration(request_lines::DURATION_US, Unit::Microseconds),
            _ => Meaning::Duration(request_lines::DURATION_US, Unit::Seconds),
        },
        // Requests before this one: 0 for the first.
        "k" => Meaning::Whole(request_lines::REQUEST_NUMBER, u32::MAX.into()),
        "t" => time(argument),
        "i" => match field.as_str() {
            "x-request-id" => Meaning::ExternalId(2),
            "traceparent" => Meaning::ExternalId(1),
            "host" | ":authority" => Meaning::Text(request_lines::AUTHORITY),
            _ => Meaning::Private,
        },
        "e" if field == "unique_id" => Meaning::ExternalId(0),
        // H2O's: seconds with a fraction; the stream's own number. Its connection-id is a number of H2O's.
        "x" => match field.as_str() {
            "duration" | "total-time" => Meaning::Duration(request_lines::DURATION_US, Unit::Seconds),
            "http3.stream-id" | "http2.stream-id" => Meaning::Whole(request_lines::STREAM_ID, u64::MAX),
            "request-body-bytes" => Meaning::Whole(request_lines::REQUEST_BYTES, u64::MAX),
            _ => Meaning::More,
        },
        "o" | "C" | "u" | "l" | "^ti" | "^to" => Meaning::Private,
        _ => Meaning::More,
    }
}

fn time(argument: &str) -> Meaning {
    let (time_is, form) = match argument.split_once(':') {
        Some(("end", form)) => (TimeIs::End, form),
        Some(("begin", form)) => (TimeIs::Start, form),
        _ => (TimeIs::Start, argument),
    };
    let clock = match form {
        "sec" => TimestampFormat::Epoch(Unit::Seconds),
        "msec" => TimestampFormat::Epoch(Unit::Milliseconds),
        "usec" => TimestampFormat::Epoch(Unit::Microseconds),
        "msec_frac" => return Meaning::Fraction(Unit::Milliseconds),
        "usec_frac" => return Meaning::Fraction(Unit::Microseconds),
        _ => match TimestampFormat::of_strftime(form) {
            Some(clock) => clock,
            None => return Meaning::More,
        },
    };
    Meaning::Time(clock, time_is)
}
