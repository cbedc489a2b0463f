//! nginx's `log_format`. Words as of nginx 1.31.5, `ngx_http_variables.c`, `ngx_http_log_module.c` and
//! `ngx_http_v3_module.c`; QUIC has one variable of its own, `$http3`.

use super::FormatError;
use super::config::{TimeIs, Unit};
use super::meaning::Meaning;
use super::pattern::Piece;
use super::time::{COMMON, TimestampFormat};
use crate::redact::is_of_a_header;
use quiclens_core::record::columns::request_lines;

/// The predefined `combined`.
pub(super) const COMBINED: &str = r#"$remote_addr - $remote_user [$time_local] "$request" $status $body_bytes_sent "$http_referer" "$http_user_agent""#;

/// Takes a format apart.
pub(super) fn pieces(format: &str) -> Result<Vec<Piece>, FormatError> {
    let mut pieces = Vec::new();
    let mut rest = format;
    while let Some(at) = rest.find('$') {
        let (text, variable) = rest.split_at(at);
        pieces.push(Piece::Literal(text.to_owned()));
        let name = variable.get(1..).unwrap_or("");
        let (name, left) = match name.strip_prefix('{') {
            Some(inside) => inside.split_once('}').ok_or("a ${ without }")?,
            None => {
                let end = name.find(|c: char| !c.is_ascii_alphanumeric() && c != '_').unwrap_or(name.len());
                name.split_at(end)
            }
        };
        if name.is_empty() {
            return Err("a $ without a variable's name".into());
        }
        pieces.push(Piece::value(name, meaning(name)));
        rest = left;
    }
    pieces.push(Piece::Literal(rest.to_owned()));
    Ok(pieces)
}

/// Times are those of the log's writing, after the response was sent.
fn meaning(name: &str) -> Meaning {
    match name {
        "msec" => Meaning::Time(TimestampFormat::Epoch(Unit::Seconds), TimeIs::End),
        "time_iso8601" => Meaning::Time(TimestampFormat::Auto(Unit::Seconds), TimeIs::End),
        "time_local" => {
            TimestampFormat::of_strftime(COMMON).map_or(Meaning::More, |clock| Meaning::Time(clock, TimeIs::End))
        }
        "request" => Meaning::Request,
        "request_method" => Meaning::Text(request_lines::METHOD),
        "request_uri" => Meaning::Path,
        "uri" | "document_uri" => Meaning::PathAlone,
        "args" | "query_string" | "is_args" => Meaning::Query,
        "host" | "http_host" => Meaning::Text(request_lines::AUTHORITY),
        "hostname" => Meaning::Text(request_lines::SERVER),
        "status" => Meaning::Whole(request_lines::STATUS, u16::MAX.into()),
        "body_bytes_sent" | "bytes_sent" => Meaning::Whole(request_lines::RESPONSE_BYTES, u64::MAX),
        "request_length" => Meaning::Whole(request_lines::REQUEST_BYTES, u64::MAX),
        "request_time" => Meaning::Duration(request_lines::DURATION_US, Unit::Seconds),
        // Of the kernel's `tcp_info`: microseconds, and packets for the window. Not there for HTTP/3.
        "tcpinfo_rtt" => Meaning::Duration(request_lines::RTT_US, Unit::Microseconds),
        "tcpinfo_rttvar" => Meaning::Duration(request_lines::RTT_VARIANCE_US, Unit::Microseconds),
        "tcpinfo_snd_cwnd" => Meaning::Tcp(request_lines::TCP_CONGESTION_WINDOW_PACKETS),
        "remote_addr" | "realip_remote_addr" => Meaning::Address,
        "remote_port" | "realip_remote_port" => Meaning::Port,
        "server_protocol" | "http3" | "http2" => Meaning::Protocol,
        "connection_requests" => Meaning::Count,
        "http_x_request_id" => Meaning::ExternalId(2),
        "http_traceparent" => Meaning::ExternalId(1),
        "request_id" => Meaning::ExternalId(0),
        "remote_user" | "http_user_agent" | "http_referer" => Meaning::Private,
        // `$connection` is nginx's own number, and another one for each stream of a QUIC connection.
        _ if is_of_a_header(name) => Meaning::Private,
        _ => Meaning::More,
    }
}
