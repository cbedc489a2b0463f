//! Requests' and responses' fields out of HTTP/3 frame events.

use crate::crossed::Bound;
use crate::event::{Event, Number};
use crate::limits::HTTP_FIELD;
use crate::record::columns::streams::{self, Streams};
use crate::record::rows::Row;
use get_size2::GetSize;
use serde::{Deserialize, Serialize};
use std::borrow::Cow;

/// What HTTP frames say of a request.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, GetSize)]
pub struct Http {
    method: Option<String>,
    authority: Option<String>,
    path: Option<String>,
    status: Option<u64>,
    external_id: Option<String>,
}

impl Http {
    /// Its columns of a request's row.
    pub fn write(&self, row: &mut Row<Streams>) {
        row.set(streams::METHOD, self.method.clone());
        row.set(streams::AUTHORITY, self.authority.clone());
        row.set(streams::PATH, self.path.clone());
        row.set(streams::STATUS, self.status);
        row.set(streams::EXTERNAL_ID, self.external_id.clone());
    }
}

#[derive(Deserialize)]
struct HeaderField<'a> {
    #[serde(borrow, default)]
    name: Cow<'a, str>,
    #[serde(borrow, default)]
    value: Cow<'a, str>,
}

#[derive(Deserialize)]
struct RawInfo {
    length: Option<u64>,
    payload_length: Option<u64>,
}

/// Where a HEADERS frame has its fields: `headers` in the drafts of qlog for HTTP/3, `header_fields` in logs of quic-go
/// (http3/qlog, up to 0.63 at least, which Caddy writes).
pub const LISTS: [&str; 4] = ["frame.headers", "headers", "frame.header_fields", "header_fields"];

/// Takes the fields of a HEADERS frame; an unexpected format leaves `http` as it is.
pub fn headers(event: &Event, http: &mut Http) {
    let Some(json) = LISTS.iter().find_map(|list| event.leftover(list)) else { return };
    let Ok(fields) = serde_json::from_str::<Vec<HeaderField<'_>>>(json) else { return };
    for field in fields {
        let value = || {
            let mut letters = field.value.chars();
            let kept = letters.by_ref().take(HTTP_FIELD).collect::<String>();
            if letters.next().is_some() {
                Bound::HttpField.cross();
            }
            kept
        };
        match &*field.name.to_ascii_lowercase() {
            ":method" => http.method = Some(value()),
            ":authority" => http.authority = Some(value()),
            ":path" => http.path = Some(value()),
            ":status" => http.status = field.value.parse().ok(),
            "x-request-id" => http.external_id = Some(value()),
            "traceparent" if http.external_id.is_none() => http.external_id = Some(value()),
            _ => {}
        }
    }
}

/// Stream bytes of a frame: its header and its payload.
pub fn frame_bytes(event: &Event) -> u64 {
    // quic-go names the whole frame's length, header included.
    if let Some(whole) = raw(event).and_then(|raw| raw.length) {
        return whole;
    }
    let payload = event.get(Number::Length).unwrap_or(0);
    payload.saturating_add(header_bytes(payload))
}

/// Bytes of a frame's payload, as far as they are told.
pub fn payload_bytes(event: &Event) -> Option<u64> {
    let told = || raw(event).and_then(|raw| raw.payload_length.or(Some(without_header(raw.length?))));
    event.get(Number::Length).or_else(told)
}

fn raw(event: &Event) -> Option<RawInfo> {
    event.leftover("frame.raw").and_then(|json| serde_json::from_str(json).ok())
}

/// Type and length of a frame as variable-length integers (RFC 9114, 7.1).
fn header_bytes(payload: u64) -> u64 {
    1 + match payload {
        0..=63 => 1,
        64..=16_383 => 2,
        16_384..=1_073_741_823 => 4,
        _ => 8,
    }
}

/// Payload bytes of a frame whose header and payload have `whole` bytes.
fn without_header(whole: u64) -> u64 {
    let payload = whole.saturating_sub(2);
    whole.saturating_sub(header_bytes(payload))
}
