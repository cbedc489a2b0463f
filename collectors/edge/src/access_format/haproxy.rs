//! HAProxy's `log-format`: section 8.2 of its Configuration Manual, version 3.5 of August 2026.

use super::FormatError;
use super::config::{TimeIs, Unit};
use super::meaning::Meaning;
use super::pattern::{Piece, Placeholder};
use super::time::{COMMON, HAPROXY, TimestampFormat};
use quiclens_core::record::columns::request_lines;

/// `option httplog`, by its own definition.
pub(super) const HTTPLOG: &str =
    r"%ci:%cp [%tr] %ft %b/%s %TR/%Tw/%Tc/%Tr/%Ta %ST %B %CC %CS %tsc %ac/%fc/%bc/%sc/%rc %sq/%bq %hr %hs %{+Q}r";

/// Takes a format apart.
pub(super) fn pieces(format: &str) -> Result<Vec<Piece>, FormatError> {
    let format = format.replace("\\ ", " ").replace("\\\"", "\"");
    // "Spaces are considered as delimiters and are merged."
    let format = format.split(' ').filter(|word| !word.is_empty()).collect::<Vec<_>>().join(" ");
    let mut pieces = Vec::new();
    let mut rest = format.as_str();
    while let Some(at) = rest.find('%') {
        let (text, item) = rest.split_at(at);
        pieces.push(Piece::Literal(text.to_owned()));
        let mut item = item.get(1..).unwrap_or("");
        if let Some(left) = item.strip_prefix('%') {
            pieces.push(Piece::Literal("%".to_owned()));
            rest = left;
            continue;
        }
        if let Some(inside) = item.strip_prefix('(') {
            item = inside.split_once(')').ok_or("a %( without )")?.1;
        }
        let mut flags = "";
        if let Some(inside) = item.strip_prefix('{') {
            (flags, item) = inside.split_once('}').ok_or("a %{ without }")?;
        }
        let (name, left) = match item.strip_prefix('[') {
            Some(inside) => expression(inside)?,
            None => item.split_at(item.find(|c: char| !c.is_ascii_alphanumeric()).unwrap_or(item.len())),
        };
        if name == "o" {
            return Err("flags for all items, %{…}o, are not read: give them to the items; for JSON use json".into());
        }
        if name.is_empty() {
            return Err("a % without a name".into());
        }
        place(name, flags, &mut pieces);
        rest = left;
    }
    pieces.push(Piece::Literal(rest.to_owned()));
    Ok(pieces)
}

/// The inside of `%[…]`, which may have brackets of its own, and what follows.
fn expression(inside: &str) -> Result<(&str, &str), FormatError> {
    let mut depth = 0u32;
    for (at, byte) in inside.bytes().enumerate() {
        match byte {
            b'[' | b'(' => depth += 1,
            b')' => depth = depth.saturating_sub(1),
            b']' if depth == 0 => {
                let (name, left) = inside.split_at(at);
                return Ok((name, left.get(1..).unwrap_or("")));
            }
            b']' => depth -= 1,
            _ => {}
        }
    }
    Err("a %[ without ]".into())
}

fn place(name: &str, flags: &str, pieces: &mut Vec<Piece>) {
    let is_hex = flags.split(',').any(|flag| flag.trim() == "+X");
    let meaning = if is_hex { Meaning::More } else { meaning(name) };
    let braces = matches!(name, "hr" | "hs");
    let value = Piece::Value(Placeholder { name: name.to_owned(), meaning, braces });
    if flags.split(',').any(|flag| flag.trim() == "+Q") {
        let quote = || Piece::Literal("\"".to_owned());
        pieces.extend([quote(), value, quote()]);
    } else {
        pieces.push(value);
    }
}

fn meaning(name: &str) -> Meaning {
    let start =
        |form| TimestampFormat::of_strftime(form).map_or(Meaning::More, |clock| Meaning::Time(clock, TimeIs::Start));
    match name {
        "ci" | "src" => Meaning::Address,
        "cp" | "src_port" => Meaning::Port,
        // The request's first byte. %t, %T and %Ts are the connection's accept.
        "tr" => start(HAPROXY),
        "trg" | "trl" => start(COMMON),
        "request_date(us)" => Meaning::Time(TimestampFormat::Epoch(Unit::Microseconds), TimeIs::Start),
        "request_date(ms)" => Meaning::Time(TimestampFormat::Epoch(Unit::Milliseconds), TimeIs::Start),
        "Ta" | "txn.timer.total" => Meaning::Duration(request_lines::DURATION_US, Unit::Milliseconds),
        "ST" | "status" | "txn.status" => Meaning::Whole(request_lines::STATUS, u16::MAX.into()),
        "B" | "res.bytes_in" => Meaning::Whole(request_lines::RESPONSE_BYTES, u64::MAX),
        "U" | "req.bytes_in" => Meaning::Whole(request_lines::REQUEST_BYTES, u64::MAX),
        "r" => Meaning::Request,
        "HM" | "method" => Meaning::Text(request_lines::METHOD),
        "HU" | "pathq" => Meaning::Path,
        "HP" | "HPO" | "path" => Meaning::PathAlone,
        "HQ" | "query" => Meaning::Query,
        "HV" => Meaning::Protocol,
        "H" | "hostname" => Meaning::Text(request_lines::SERVER),
        "ID" | "unique-id" => Meaning::ExternalId(0),
        // The client side's own number of the stream: HTTP/3's, since 2.9.
        "fs.id" => Meaning::Whole(request_lines::STREAM_ID, u64::MAX),
        "fc_rtt(us)" => Meaning::Duration(request_lines::RTT_US, Unit::Microseconds),
        "fc_rtt" | "fc_rtt(ms)" => Meaning::Duration(request_lines::RTT_US, Unit::Milliseconds),
        "fc_rttvar(us)" => Meaning::Duration(request_lines::RTT_VARIANCE_US, Unit::Microseconds),
        "fc_rttvar" | "fc_rttvar(ms)" => Meaning::Duration(request_lines::RTT_VARIANCE_US, Unit::Milliseconds),
        // `tcpi_lost` and `tcpi_retrans`, what is outstanding now (`proto_tcp.c`); of QUIC the first is a total.
        "fc_lost" => Meaning::Tcp(request_lines::TCP_PACKETS_LOST_OUTSTANDING),
        "fc_retrans" => Meaning::Tcp(request_lines::TCP_PACKETS_RETRANSMITTED_OUTSTANDING),
        "req.hdr(x-request-id)" => Meaning::ExternalId(2),
        "req.hdr(traceparent)" => Meaning::ExternalId(1),
        "req.hdr(host)" => Meaning::Text(request_lines::AUTHORITY),
        "hr" | "hs" | "hrl" | "hsl" | "CC" | "CS" => Meaning::Private,
        _ if ["req.hdr", "res.hdr", "req.fhdr", "res.fhdr", "capture.", "req.cook", "res.cook", "ssl_c_", "var("]
            .iter()
            .any(|prefix| name.starts_with(prefix)) =>
        {
            Meaning::Private
        }
        _ => Meaning::More,
    }
}
