//! Redaction: what comes out is JSON, stays as it is, and has no address in it that stood alone.
#![no_main]

use arbitrary::Arbitrary;
use libfuzzer_sys::fuzz_target;
use quiclens_edge::address::{Prefix, scrub};
use quiclens_edge::redact::{field, json};
use serde_json::Value;

#[derive(Arbitrary, Debug)]
struct RedactInput<'a> {
    event: &'a str,
    path: &'a str,
    raw: &'a str,
}

/// Addresses that the dictionary has.
const CANARIES: [&str; 3] = ["198.51.100.77", "2001:db8:dead:beef:1234:5678:9abc:def1", "2001:db8:dead:beef::77"];

/// A canary in `text` that no letter, digit or sign of an address touches, and none that is written as an escape of JSON.
fn canary(text: &str) -> Option<&'static str> {
    let touches = |byte: Option<&u8>| {
        byte.is_some_and(|byte| byte.is_ascii_alphanumeric() || matches!(byte, b'.' | b':' | b'_' | b'-' | b'%' | b'/'))
    };
    CANARIES.into_iter().find(|canary| {
        memchr::memmem::find_iter(text.as_bytes(), canary).any(|at| {
            let before = at.checked_sub(1).and_then(|at| text.as_bytes().get(at));
            let rest = &text.as_bytes()[at + canary.len()..];
            !touches(before) && !touches(rest.first()) && !rest.starts_with(br"\u")
        })
    })
}

fuzz_target!(|input: RedactInput<'_>| {
    let prefix = Prefix::default();
    let scrubbed = scrub(input.raw, prefix);
    let text = scrubbed.as_deref().unwrap_or(input.raw);
    assert_eq!(canary(text), None, "in {text:?}");
    assert_eq!(scrub(text, prefix).as_deref().unwrap_or(text), text, "scrubbing twice");
    let Ok(value) = serde_json::from_str::<Value>(input.raw) else {
        return;
    };
    let kept = field(input.event, input.path, input.raw, prefix);
    let kept = kept.as_deref().unwrap_or(input.raw);
    let Ok(once) = serde_json::from_str::<Value>(kept) else { panic!("{kept} is no JSON") };
    assert_eq!(strings(&once).into_iter().find_map(canary), None, "in {kept}");
    assert_eq!(field(input.event, input.path, kept, prefix), None, "redacting twice: {kept}");
    let mut header = value;
    json(&mut header, prefix);
    assert_eq!(strings(&header).into_iter().find_map(canary), None, "in {header}");
    assert!(!json(&mut header, prefix), "redacting twice: {header}");
});

/// All strings of a value but its keys.
fn strings(value: &Value) -> Vec<&str> {
    match value {
        Value::String(text) => vec![text],
        Value::Array(list) => list.iter().flat_map(strings).collect(),
        Value::Object(fields) => fields.values().flat_map(strings).collect(),
        Value::Null | Value::Bool(_) | Value::Number(_) => Vec::new(),
    }
}
