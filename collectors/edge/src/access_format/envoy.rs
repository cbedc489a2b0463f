//! Envoy's format strings and `json_format`: `docs/root/configuration/advanced/substitution_formatter.rst` of 2026.

use super::FormatError;
use super::config::{TimeIs, Unit};
use super::meaning::Meaning;
use super::pattern::Piece;
use super::time::TimestampFormat;
use quiclens_core::record::columns::request_lines;

/// The default format string.
pub(super) const DEFAULT: &str = r#"[%START_TIME%] "%REQ(:METHOD)% %REQ(X-ENVOY-ORIGINAL-PATH?:PATH)% %PROTOCOL%" %RESPONSE_CODE% %RESPONSE_FLAGS% %BYTES_RECEIVED% %BYTES_SENT% %DURATION% %RESP(X-ENVOY-UPSTREAM-SERVICE-TIME)% "%REQ(X-FORWARDED-FOR)%" "%REQ(USER-AGENT)%" "%REQ(X-REQUEST-ID)%" "%REQ(:AUTHORITY)%" "%UPSTREAM_HOST%""#;

/// Takes a format apart.
pub(super) fn pieces(format: &str) -> Result<Vec<Piece>, FormatError> {
    let mut pieces = Vec::new();
    let mut rest = format.trim_end_matches("\\n").trim_end();
    while let Some(at) = rest.find('%') {
        let (text, operator) = rest.split_at(at);
        pieces.push(Piece::Literal(text.to_owned()));
        let operator = operator.get(1..).unwrap_or("");
        if let Some(left) = operator.strip_prefix('%') {
            pieces.push(Piece::Literal("%".to_owned()));
            rest = left;
            continue;
        }
        // An argument may have a % of its own: START_TIME(%s.%3f).
        let name_end = operator.find(['%', '(']).ok_or("a % without its second")?;
        let end = if operator.as_bytes().get(name_end) == Some(&b'(') {
            let close = operator.find(')').ok_or("a ( without )")?;
            close + operator.get(close..).and_then(|rest| rest.find('%')).ok_or("a % without its second")?
        } else {
            name_end
        };
        let (operator, left) = operator.split_at(end);
        pieces.push(Piece::value(operator, meaning(operator)));
        rest = left.get(1..).unwrap_or("");
    }
    pieces.push(Piece::Literal(rest.to_owned()));
    Ok(pieces)
}

/// What a leaf of `json_format` is: one operator, or text with several, which has no column.
pub(super) fn leaf(text: &str) -> Result<Meaning, FormatError> {
    let pieces: Vec<_> = pieces(text)?.into_iter().filter(|piece| *piece != Piece::Literal(String::new())).collect();
    Ok(match pieces.as_slice() {
        [Piece::Value(place)] => place.meaning.clone(),
        _ => Meaning::More,
    })
}

fn meaning(operator: &str) -> Meaning {
    let (name, argument) = match operator.split_once('(') {
        Some((name, rest)) => (name, rest.rsplit_once(')').map_or(rest, |(argument, _)| argument)),
        None => (operator, ""),
    };
    let whole = |column| Meaning::Whole(column, u64::MAX);
    match name {
        "START_TIME" | "START_TIME_LOCAL" => time(argument, TimeIs::Start),
        "EMIT_TIME" | "EMIT_TIME_LOCAL" => time(argument, TimeIs::End),
        "DURATION" => Meaning::Duration(request_lines::DURATION_US, Unit::Milliseconds),
        "COMMON_DURATION" => match argument {
            "DS_RX_BEG:DS_TX_END:ms" => Meaning::Duration(request_lines::DURATION_US, Unit::Milliseconds),
            "DS_RX_BEG:DS_TX_END:us" => Meaning::Duration(request_lines::DURATION_US, Unit::Microseconds),
            "DS_RX_BEG:DS_TX_END:ns" => Meaning::Duration(request_lines::DURATION_US, Unit::Nanoseconds),
            _ => Meaning::More,
        },
        "PROTOCOL" => Meaning::Protocol,
        "RESPONSE_CODE" => Meaning::Whole(request_lines::STATUS, u16::MAX.into()),
        "BYTES_RECEIVED" => whole(request_lines::REQUEST_BYTES),
        "BYTES_SENT" => whole(request_lines::RESPONSE_BYTES),
        "DOWNSTREAM_REMOTE_ADDRESS" | "DOWNSTREAM_DIRECT_REMOTE_ADDRESS" => Meaning::AddressPort,
        "DOWNSTREAM_REMOTE_ADDRESS_WITHOUT_PORT" | "DOWNSTREAM_DIRECT_REMOTE_ADDRESS_WITHOUT_PORT" => {
            if argument.is_empty() { Meaning::Address } else { Meaning::Network }
        }
        "DOWNSTREAM_REMOTE_PORT" | "DOWNSTREAM_DIRECT_REMOTE_PORT" => Meaning::Port,
        // It is X-Request-Id "for HTTP requests", not the id of a QUIC stream; CONNECTION_ID is Envoy's own number.
        "STREAM_ID" => Meaning::ExternalId(0),
        "HOSTNAME" => Meaning::Text(request_lines::SERVER),
        "REQ" | "REQUEST_HEADER" => header(&argument.to_ascii_lowercase()),
        "RESP"
        | "RESPONSE_HEADER"
        | "TRAILER"
        | "RESPONSE_TRAILER"
        | "DOWNSTREAM_PEER_SUBJECT"
        | "DOWNSTREAM_PEER_CERT" => Meaning::Private,
        _ => Meaning::More,
    }
}

fn header(argument: &str) -> Meaning {
    match argument {
        ":method" => Meaning::Text(request_lines::METHOD),
        ":authority" | "host" => Meaning::Text(request_lines::AUTHORITY),
        ":path" | "x-envoy-original-path?:path" | ":path?x-envoy-original-path" => Meaning::Path,
        "x-request-id" => Meaning::ExternalId(2),
        "traceparent" => Meaning::ExternalId(1),
        _ => Meaning::Private,
    }
}

fn time(argument: &str, time_is: TimeIs) -> Meaning {
    let clock = if argument.is_empty() {
        Some(TimestampFormat::Auto(Unit::Seconds))
    } else {
        TimestampFormat::of_strftime(argument)
    };
    clock.map_or(Meaning::More, |clock| Meaning::Time(clock, time_is))
}
