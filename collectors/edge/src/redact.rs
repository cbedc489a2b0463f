//! What may not be kept of an event or a header: addresses, header values, payload bytes, secrets of keys.
//!
//! An address becomes its network, a value that may not be kept the text `[redacted]`, so that a reader still sees
//! that it was there. Values of `:method`, `:path`, `:authority` and `:status` stay; so do ports, lengths and names.

use crate::address::{Prefix, scrub};
use serde_json::Value;

/// Stands for a value that was not kept.
pub const REDACTED: &str = "[redacted]";

/// Header fields whose values are kept.
const KEPT_HEADERS: [&str; 4] = [":method", ":path", ":authority", ":status"];

/// What a key says of the value under it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum ValueKind {
    Plain,
    Headers,
    Payload,
    Address,
}

/// What stands before the name of a header or a cookie in the names of fields, of nginx' variables and of JSON that is
/// written with them.
const BEFORE_NAMES: [&str; 13] = [
    "http_",
    "sent_http_",
    "sent_trailer_",
    "upstream_http_",
    "upstream_trailer_",
    "upstream_cookie_",
    "cookie_",
    "header_",
    "req_header_",
    "request_header_",
    "resp_header_",
    "response_header_",
    "trailer_",
];

/// Names that begin so and are no header's, or whose value is kept elsewhere too.
const OF_REQUESTS: [&str; 9] = [
    "http_version",
    "http_protocol",
    "http_method",
    "http_host",
    "http_scheme",
    "http_status",
    "http_path",
    "header_block",
    "header_field",
];

/// Whether a field, by its name, holds a header's or a cookie's value: `http_cookie`, `sent-http-set-cookie`.
pub fn is_of_a_header(name: &str) -> bool {
    is_spelled_as_of_a_header(&spelled(name))
}

/// The same of a name that is [`spelled`].
fn is_spelled_as_of_a_header(name: &str) -> bool {
    !OF_REQUESTS.contains(&name)
        && BEFORE_NAMES.iter().any(|before| name.strip_prefix(before).is_some_and(|header| !header.is_empty()))
}

/// A name in small letters, with `_` between its words.
fn spelled(name: &str) -> String {
    name.chars().map(|letter| if letter == '-' { '_' } else { letter.to_ascii_lowercase() }).collect()
}

fn kind(key: &str) -> ValueKind {
    match spelled(key).as_str() {
        "headers" | "header_list" | "header_fields" | "request_headers" | "response_headers" | "resp_headers"
        | "trailers" | "header_block" | "field_lines" => ValueKind::Headers,
        "payload"
        | "payload_data"
        | "raw_data"
        | "raw_bytes"
        | "body"
        | "token"
        | "stateless_reset_token"
        | "reset_token"
        | "secret"
        | "cookie"
        | "cookies"
        | "set_cookie"
        | "authorization"
        | "user_agent"
        | "referer"
        | "referrer"
        | "user"
        | "user_id"
        | "username"
        | "remote_user"
        | "proxy_authorization"
        | "proxy_user"
        | "password"
        | "api_key"
        | "apikey"
        | "x_api_key"
        | "session"
        | "session_id"
        | "sessionid" => ValueKind::Payload,
        "ip" | "ip_v4" | "ip_v6" | "src_ip" | "dst_ip" | "address" | "addr" | "local_address" | "remote_address"
        | "client_address" | "peer_address" | "client_ip" | "remote_ip" | "remote_addr" => ValueKind::Address,
        name if ["_token", "_secret", "_password", "_cookie", "_cookies", "_authorization"]
            .iter()
            .any(|end| name.ends_with(end))
            || is_spelled_as_of_a_header(name) =>
        {
            ValueKind::Payload
        }
        _ => ValueKind::Plain,
    }
}

/// The value of one field of an event as it may be kept, or `None` where it may be kept as it is.
/// `path` is the field's, with `.` between its parts, and `raw` its JSON; what is no JSON is not kept.
pub fn field(event: &str, path: &str, raw: &str, prefix: Prefix) -> Option<String> {
    if is_plain(raw) || is_plain_text(path, raw) {
        return None;
    }
    let Ok(mut value) = serde_json::from_str::<Value>(raw) else { return Some(quoted(REDACTED)) };
    let mut parts = path.rsplit('.');
    let last = parts.next().unwrap_or(path);
    let above = parts.next().unwrap_or("");
    let is_key = event.ends_with("key_updated") || event.ends_with("key_discarded") || event.ends_with("key_retired");
    // Fields of a header that were taken apart: which header it is does not stand beside the value.
    let in_headers =
        path.split('.').any(|part| kind(part) == ValueKind::Headers || part == "instruction" || part == "header_field");
    let hidden = (is_key && matches!(last, "old" | "new" | "key"))
        || (last == "data" && matches!(above, "raw" | "token" | "payload"))
        || (last == "raw" && value.is_string())
        || (in_headers && last != "name" && kind(last) != ValueKind::Headers && !value.is_object());
    let changed = if hidden { hide(&mut value) } else { in_place(last, &mut value, prefix) };
    let kept = changed.then(|| value.to_string());
    // Names of members may be addresses too.
    scrub(kept.as_deref().unwrap_or(raw), prefix).or(kept)
}

/// Redacts a header, or any other JSON, in place; true when something was not kept.
pub fn json(value: &mut Value, prefix: Prefix) -> bool {
    in_place("", value, prefix)
}

/// Numbers, `true`, `false` and `null` hold no address; most fields of most events are these.
fn is_plain(raw: &str) -> bool {
    raw.bytes().next().is_none_or(|byte| matches!(byte, b'0'..=b'9' | b'-' | b't' | b'f' | b'n'))
        && !raw.contains(['"', '{', '['])
}

/// A word under a key that says nothing of it: most strings are.
fn is_plain_text(path: &str, raw: &str) -> bool {
    !path.contains('.')
        && raw.len() <= 64
        && raw.starts_with('"')
        && !raw.bytes().any(|byte| matches!(byte, b'.' | b':' | b'\\' | b'%'))
        && !matches!(path, "old" | "new" | "key" | "raw")
        && kind(path) == ValueKind::Plain
        && serde_json::from_str::<&str>(raw).is_ok()
}

fn quoted(text: &str) -> String {
    Value::from(text).to_string()
}

fn hide(value: &mut Value) -> bool {
    let empty = match value {
        Value::Null => true,
        Value::String(text) => text.is_empty() || text == REDACTED,
        Value::Array(list) => list.is_empty(),
        Value::Object(fields) => fields.is_empty(),
        Value::Bool(_) | Value::Number(_) => false,
    };
    if !empty {
        *value = REDACTED.into();
    }
    !empty
}

fn in_place(key: &str, value: &mut Value, prefix: Prefix) -> bool {
    match (kind(key), &mut *value) {
        (ValueKind::Headers, _) => headers(value, prefix),
        (ValueKind::Payload, Value::String(_) | Value::Array(_)) => hide(value),
        (ValueKind::Payload, Value::Object(fields)) if key == "token" || key == "cookies" => {
            fields.iter_mut().fold(false, |changed, (key, value)| {
                (if key == "type" || key == "length" { false } else { hide(value) }) | changed
            })
        }
        (ValueKind::Address, Value::String(text)) if matches!(text.as_str(), "::" | "0.0.0.0") => false,
        (at, Value::String(text)) => {
            let scrubbed = scrub(text, prefix);
            // What stands beside a network may be an address in some other spelling, such as hex.
            if at == ValueKind::Address && !is_network(scrubbed.as_deref().unwrap_or(text)) {
                return hide(value);
            }
            scrubbed.map(|scrubbed| *text = scrubbed).is_some()
        }
        (_, Value::Array(list)) => list.iter_mut().fold(false, |changed, item| in_place(key, item, prefix) | changed),
        (_, Value::Object(fields)) => {
            let raw = key == "raw";
            fields.iter_mut().fold(false, |changed, (key, value)| {
                let hidden = (raw && key == "data" || key == "raw") && value.is_string();
                (if hidden { hide(value) } else { in_place(key, value, prefix) }) | changed
            })
        }
        _ => false,
    }
}

/// What this module itself writes for an address: `192.0.2.0/24`, `192.0.2.0/24:443`, `[2001:db8::/48]:443`.
fn is_network(text: &str) -> bool {
    let is_number = |text: &str| !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit());
    let (bare, closing) = text.strip_prefix('[').map_or((text, ""), |bare| (bare, "]"));
    let Some((address, behind)) = bare.split_once('/') else { return false };
    let (bits, port) = behind.split_once(':').map_or((behind, None), |(bits, port)| (bits, Some(port)));
    address.parse::<std::net::IpAddr>().is_ok()
        && bits.strip_suffix(closing).is_some_and(is_number)
        && port.is_none_or(is_number)
}

/// Header lists, `[{"name","value"}…]` or `[[name, value]…]`, and objects from name to value. A value that is kept loses its
/// addresses.
fn headers(value: &mut Value, prefix: Prefix) -> bool {
    let is_kept = |name: &str| KEPT_HEADERS.contains(&name);
    let change = |is_kept: bool, value: &mut Value| if is_kept { in_place("", value, prefix) } else { hide(value) };
    match value {
        Value::Array(list) => list.iter_mut().fold(false, |changed, item| {
            (match item {
                Value::Object(fields) => {
                    let has_kept = fields.get("name").and_then(Value::as_str).is_some_and(is_kept);
                    let says_nothing = |key: &str| matches!(key, "name" | "name_length" | "value_length" | "length");
                    fields
                        .iter_mut()
                        .filter(|(key, _)| !says_nothing(key))
                        .fold(false, |changed, (key, value)| change(has_kept && key == "value", value) | changed)
                }
                Value::Array(pair) => {
                    let has_kept = pair.first().and_then(Value::as_str).is_some_and(is_kept);
                    pair.iter_mut().skip(1).fold(false, |changed, value| change(has_kept, value) | changed)
                }
                other => hide(other),
            }) | changed
        }),
        Value::Object(fields) => fields
            .iter_mut()
            .fold(false, |changed, (name, value)| change(is_kept(&name.to_ascii_lowercase()), value) | changed),
        other => hide(other),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn redacted(event: &str, path: &str, raw: &str) -> String {
        field(event, path, raw, Prefix::default()).unwrap_or_else(|| "as it is".to_owned())
    }

    /// Found by the fuzz target `redact`: an address whose escape is escaped once more left a backslash alone.
    #[test]
    fn what_is_kept_of_json_is_json() {
        for (raw, want) in [
            (r#"":st\\u0032::/4[0""#, r#"":st2::/48[0""#),
            (r#"{"a":["\\\\u00312.0.2.7"]}"#, r#"{"a":["12.0.2.0/24"]}"#),
            (r#""a\\\u0031.2.3.4""#, r#""a\\1.2.3.0/24""#),
            (r#""\\1.2.3.4""#, r#""\\1.2.3.0/24""#),
        ] {
            let kept = redacted("http:frame_created", "data", raw);
            assert!(serde_json::from_str::<Value>(&kept).is_ok(), "{kept}");
            assert_eq!(kept, want);
        }
    }

    /// JSON that is written with nginx' variables, or with headers' own names.
    #[test]
    fn values_of_headers_and_cookies_are_not_kept_whatever_stands_before_their_names() {
        for name in [
            "http_cookie",
            "http_authorization",
            "http_x_forwarded_user",
            "sent_http_set_cookie",
            "upstream_http_location",
            "cookie_sid",
            "user-agent",
            "User-Agent",
            "set-cookie",
            "Proxy-Authorization",
            "http-referer",
            "x-api-key",
            "access_token",
            "req_header_cookie",
            "password",
        ] {
            assert_eq!(redacted("", name, "\"abc\""), "\"[redacted]\"", "{name}");
            assert_eq!(redacted("", &format!("more.{name}"), "\"a b; c\""), "\"[redacted]\"", "more.{name}");
        }
        for name in ["http_version", "http_method", "http_status", "header_", "token_length", "cookie_count"] {
            let kept = if name == "cookie_count" { "3" } else { "\"abc\"" };
            assert_eq!(redacted("", name, kept), "as it is", "{name}");
        }
    }

    #[test]
    fn addresses_become_networks_wherever_they_stand() {
        let started = "quic:connection_started";
        for (path, raw, want) in [
            ("src_ip", r#""192.0.2.7""#, r#""192.0.2.0/24""#),
            (
                "remote",
                r#"{"address_v4":{"ip":"192.0.2.7","port":5}}"#,
                r#"{"address_v4":{"ip":"192.0.2.0/24","port":5}}"#,
            ),
            ("addr_from", r#"{"ip_v6":"2001:db8:1:2::7"}"#, r#"{"ip_v6":"2001:db8:1::/48"}"#),
            ("preferred_address", r#"{"ip_v4":"0a000001"}"#, r#"{"ip_v4":"[redacted]"}"#),
            ("message", r#""lost 192.0.2.7:5""#, r#""lost 192.0.2.0/24:5""#),
            ("remote_addr", r#""[2001:db8::7]:443""#, r#""[2001:db8::/48]:443""#),
            ("remote_addr", r#""2001:db8:0:0:0:0:0:7:443""#, r#""2001:db8::/48:443""#),
            ("x", r#"{"ip":"a[::1 :b"}"#, r#"{"ip":"[redacted]"}"#),
            ("x", r#"{"ip":"2001:db8::7 c0000207"}"#, r#"{"ip":"[redacted]"}"#),
            ("x", r#"{"ip":["c0000207","192.0.2.7"]}"#, r#"{"ip":["[redacted]","192.0.2.0/24"]}"#),
            ("src_port", "5", "as it is"),
            ("src_ip", r#""::""#, "as it is"),
            ("src_cid", r#""5af1522f""#, "as it is"),
        ] {
            assert_eq!(redacted(started, path, raw), want, "{path}");
        }
    }

    #[test]
    fn header_values_go_but_for_four() {
        let list = r#"[{"name":":method","value":"GET"},{"name":"cookie","value":"a=b"}]"#;
        let want = r#"[{"name":":method","value":"GET"},{"name":"cookie","value":"[redacted]"}]"#;
        assert_eq!(redacted("http3:frame_created", "frame.headers", list), want);
        assert_eq!(
            redacted("h", "frames.0.frame", &format!("{{\"headers\":{list}}}")),
            format!("{{\"headers\":{want}}}")
        );
        assert_eq!(
            redacted("h", "headers", r#"{":path":"/a","User-Agent":["x"]}"#),
            r#"{":path":"/a","User-Agent":"[redacted]"}"#
        );
        assert_eq!(
            redacted("h", "headers", r#"[[":status","200"],["x","y"]]"#),
            r#"[[":status","200"],["x","[redacted]"]]"#
        );
        assert_eq!(redacted("qpack:instruction_created", "instruction.value", r#""x""#), r#""[redacted]""#);
        assert_eq!(redacted("h", "headers.0.name", r#"":path""#), "as it is");
    }

    #[test]
    fn of_a_field_that_is_kept_the_value_stays_without_addresses_and_nothing_beside_it() {
        for (given, want) in [
            // Found by the fuzz target `redact`.
            (
                r#"{"headers":[{"name":":status","":"2001:db8::7"}]}"#,
                r#"{"headers":[{"name":":status","":"[redacted]"}]}"#,
            ),
            (
                r#"{"headers":[{"name":":authority","value":"192.0.2.7:443","length":9}]}"#,
                r#"{"headers":[{"name":":authority","value":"192.0.2.0/24:443","length":9}]}"#,
            ),
            (r#"{"headers":[[":path","/192.0.2.7"]]}"#, r#"{"headers":[[":path","/192.0.2.0/24"]]}"#),
            (r#"{"headers":{":Path":"/of/192.0.2.7"}}"#, r#"{"headers":{":Path":"/of/192.0.2.0/24"}}"#),
        ] {
            let mut value = serde_json::from_str(given).unwrap_or_default();
            assert!(json(&mut value, Prefix::default()), "{given}");
            assert_eq!(value.to_string(), want);
            assert!(!json(&mut value, Prefix::default()), "{value}");
        }
    }

    #[test]
    fn payload_bytes_and_keys_go_and_lengths_stay() {
        assert_eq!(redacted("e", "raw", r#"{"length":5,"data":"0011"}"#), r#"{"length":5,"data":"[redacted]"}"#);
        assert_eq!(redacted("e", "frame.raw.data", r#""0011""#), r#""[redacted]""#);
        assert_eq!(redacted("e", "raw", r#""0011""#), r#""[redacted]""#);
        assert_eq!(redacted("security:key_updated", "new", r#""00ff""#), r#""[redacted]""#);
        assert_eq!(redacted("quic:congestion_state_updated", "new", r#""slow_start""#), "as it is");
        assert_eq!(redacted("e", "broken", "{"), r#""[redacted]""#);
    }

    #[test]
    fn what_is_redacted_stays_so() {
        for raw in [
            r#"{"headers":[{"name":"a","value":"b"}],"src_ip":"192.0.2.7"}"#,
            r#"{"ip":"0a000001"}"#,
            // Found by the fuzz target `redact`.
            r#"{"ip":"lo$a[::1 :3cord"}"#,
            r#"{"ip":"[2001:db8::7]:443"}"#,
            r#"{"ip":["c0000207","2001:db8::7"]}"#,
        ] {
            let once = redacted("e", "x", raw);
            assert_eq!(redacted("e", "x", &once), "as it is", "{once}");
        }
    }
}
