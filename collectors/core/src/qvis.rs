//! The one writer of foreign words: events as qvis reads them (draft-02 names, milliseconds, values in the places where
//! its views look). Source: qvis at 72c8c4b, tried view by view.

use crate::event::{Event, Frame, FrameNumber, Number, Word};
use crate::fold::requests::http::{LISTS, payload_bytes};
use serde_json::{Map, Value, json};

/// The name that qvis knows for a canonical one. Its views compare the category literally.
pub fn name(canonical: &str) -> String {
    let Some((space, kind)) = canonical.split_once(':') else {
        return match canonical {
            "update_rtt" | "initcwnd" | "cubic_sent" => "recovery:metrics_updated".into(),
            name if name.ends_with("_ack") && !name.starts_with("ack") => "recovery:metrics_updated".into(),
            "pto_alarm" | "rto_alarm" | "handshake_alarm" => "recovery:loss_timer_updated".into(),
            name => format!("quic_trace:{name}"),
        };
    };
    match (space, kind) {
        ("http3", kind) => format!("http:{kind}"),
        ("quic", "recovery_metrics_updated") => "recovery:metrics_updated".into(),
        ("quic", "recovery_parameters_set") => "recovery:parameters_set".into(),
        ("quic", "timer_updated") => "recovery:loss_timer_updated".into(),
        (
            "quic",
            "congestion_state_updated"
            | "packet_lost"
            | "spurious_loss"
            | "marked_for_retransmit"
            | "mtu_updated"
            | "ecn_state_updated",
        ) => {
            format!("recovery:{kind}")
        }
        (
            "quic",
            "connection_started"
            | "connection_closed"
            | "connection_id_updated"
            | "connection_state_updated"
            | "spin_bit_updated",
        ) => {
            format!("connectivity:{kind}")
        }
        ("quic", "key_updated" | "key_discarded") => format!("security:{kind}"),
        ("quic", "udp_datagrams_sent") => "transport:datagrams_sent".into(),
        ("quic", "udp_datagrams_received") => "transport:datagrams_received".into(),
        ("quic", kind) => format!("transport:{kind}"),
        _ => canonical.to_owned(),
    }
}

/// Milliseconds of microseconds.
fn ms(us: u64) -> Value {
    #[expect(clippy::cast_precision_loss, reason = "a picture")]
    let ms = us as f64 / 1000.0;
    json!(ms)
}

/// The event as a record.
pub fn record(event: &Event) -> Value {
    let name = name(event.str(event.name));
    let is_packet = matches!(&*name, "transport:packet_sent" | "transport:packet_received" | "recovery:packet_lost");
    let mut data = Map::new();
    // What has no column first, so that what has one stays.
    for (path, value) in &event.more {
        let path = event.str(*path);
        if !path.starts_with("frames.")
            && !matches!(path, "time" | "time_format" | "reference_time" | "name" | "ODCID" | "group_id")
            && let Ok(value) = serde_json::from_str(event.str(*value))
        {
            insert(&mut data, path, value);
        }
    }
    let mut words = Map::new();
    for (word, key) in [(Word::PacketType, "packet_type"), (Word::Dcid, "dcid"), (Word::Scid, "scid")] {
        if !event.word(word).is_empty() {
            words.insert(key.into(), json!(event.word(word)));
        }
    }
    if let Some(number) = event.get(Number::PacketNumber) {
        words.insert("packet_number".into(), json!(number));
    }
    if is_packet && !words.contains_key("packet_type") {
        words.insert("packet_type".into(), json!("1RTT"));
    }
    if !words.is_empty() {
        let header = data.entry("header").or_insert_with(|| json!({}));
        if let Some(header) = header.as_object_mut() {
            header.extend(words);
        }
    }
    let raw: Map<String, Value> = [(Number::PacketBytes, "length"), (Number::PayloadBytes, "payload_length")]
        .into_iter()
        .filter_map(|(number, key)| Some((key.to_owned(), json!(event.get(number)?))))
        .collect();
    if !raw.is_empty() {
        data.insert("raw".into(), Value::Object(raw));
    }
    numbers(event, &name, &mut data);
    for (word, key) in [
        (Word::Trigger, "trigger"),
        (Word::NewState, "new"),
        (Word::OldState, "old"),
        (Word::TimerType, "timer_type"),
        (Word::EventType, "event_type"),
        (Word::Owner, "owner"),
    ] {
        if !event.word(word).is_empty() {
            data.insert(key.into(), json!(event.word(word)));
        }
    }
    if !event.word(Word::HttpFrameType).is_empty() {
        insert(&mut data, "frame.frame_type", json!(event.word(Word::HttpFrameType)));
        if event.word(Word::HttpFrameType) == "headers" && !data["frame"]["headers"].is_array() {
            // Without a list of this name the waterfall throws.
            let told = LISTS.iter().find_map(|list| event.leftover(list));
            let list = told.and_then(|json| serde_json::from_str(json).ok()).filter(Value::is_array);
            insert(&mut data, "frame.headers", list.unwrap_or_else(|| json!([])));
        }
    }
    // A packet with an empty list empties the whole packetization view: leave the list out.
    if !event.frames.is_empty() {
        data.insert("frames".into(), frames(event));
    }
    #[expect(clippy::cast_precision_loss, reason = "a picture")]
    let time = event.time_us as f64 / 1000.0 + f64::from(event.time_ns) / 1e6;
    json!({"time": time, "name": name, "data": data})
}

fn numbers(event: &Event, name: &str, data: &mut Map<String, Value>) {
    for (number, key) in [
        (Number::PathId, "path_id"),
        (Number::StreamId, "stream_id"),
        (Number::Offset, "offset"),
        (Number::Length, "length"),
        (Number::CongestionWindow, "congestion_window"),
        (Number::CongestionWindow, "cwnd"),
        (Number::BytesInFlight, "bytes_in_flight"),
        (Number::PacketsInFlight, "packets_in_flight"),
        (Number::Ssthresh, "ssthresh"),
        (Number::PacingRate, "pacing_rate"),
        (Number::PtoCount, "pto_count"),
        (Number::LostPackets, "lost_packets"),
        (Number::LostBytes, "lost_bytes"),
        (Number::Count, "count"),
        (Number::AppLimited, "app_limited"),
    ] {
        if let Some(value) = event.get(number) {
            data.insert(key.into(), json!(value));
        }
    }
    if name.starts_with("http:frame")
        && let Some(length) = payload_bytes(event)
    {
        data.insert("byte_length".into(), json!(length));
    }
    for (number, key) in [
        (Number::MinRttUs, "min_rtt"),
        (Number::SmoothedRttUs, "smoothed_rtt"),
        (Number::LatestRttUs, "latest_rtt"),
        (Number::RttVarianceUs, "rtt_variance"),
        (Number::AckDelayUs, "ack_delay"),
        (Number::DeltaUs, "delta"),
    ] {
        if let Some(us) = event.get(number) {
            data.insert(key.into(), ms(us));
        }
    }
}

/// Packets of one acknowledged range: qvis looks at each of them, whether it was sent or not.
const WIDEST: u64 = 1 << 20;

fn frames(event: &Event) -> Value {
    let mut acked = event.acked.iter();
    let frames = event.frames.iter().enumerate().map(|(index, frame)| {
        let mut out = Map::new();
        let prefix = format!("frames.{index}.");
        for (path, value) in &event.more {
            // Ranges that could not be read are none that qvis could draw.
            if let Some(path) = event.str(*path).strip_prefix(&prefix)
                && !path.starts_with("acked_ranges")
                && let Ok(value) = serde_json::from_str(event.str(*value))
            {
                insert(&mut out, path, value);
            }
        }
        out.insert("frame_type".into(), json!(event.str(frame.frame_type)));
        frame_numbers(event, frame, &mut out);
        if frame.ack_ranges > 0 {
            let ranges = acked.by_ref().take(usize::from(frame.ack_ranges));
            let ranges: Vec<_> = ranges.map(|(from, to)| json!([from.max(&to.saturating_sub(WIDEST)), to])).collect();
            out.insert("acked_ranges".into(), Value::Array(ranges));
        }
        Value::Object(out)
    });
    Value::Array(frames.collect())
}

fn frame_numbers(event: &Event, frame: &Frame, out: &mut Map<String, Value>) {
    for (number, key) in [
        (FrameNumber::StreamId, "stream_id"),
        (FrameNumber::Offset, "offset"),
        (FrameNumber::Length, "length"),
        (FrameNumber::Maximum, "maximum"),
    ] {
        if let Some(value) = frame.get(number) {
            out.insert(key.into(), json!(value));
        }
    }
    if let Some(us) = frame.get(FrameNumber::AckDelayUs) {
        out.insert("ack_delay".into(), ms(us));
    }
    if matches!(event.bytes(frame.frame_type), b"stream" | b"crypto") {
        let payload = out.get("raw").and_then(|raw| raw.get("payload_length").or_else(|| raw.get("length"))).cloned();
        if let (None, Some(payload)) = (out.get("length"), payload) {
            out.insert("length".into(), payload);
        }
        out.entry("fin").or_insert(json!(frame.fin));
    }
}

/// Puts a value at a dotted path; an object is made on the way, another value in the way stays.
fn insert(object: &mut Map<String, Value>, path: &str, value: Value) {
    match path.split_once('.') {
        None => {
            object.insert(path.to_owned(), value);
        }
        Some((key, rest)) => {
            if let Value::Object(inner) = object.entry(key).or_insert_with(|| json!({})) {
                insert(inner, rest, value);
            }
        }
    }
}

#[cfg(test)]
#[expect(clippy::unwrap_used, reason = "tests")]
mod tests {
    use super::*;
    use crate::catalogue::Catalogue;
    use crate::dialect::Units;
    use crate::reader::qlog::Reader;

    fn exported(text: &Value) -> Value {
        let mut event = Event::default();
        let units = Units::all(3);
        Reader::new(units, &[]).read(&Catalogue::load().unwrap(), text.to_string().as_bytes(), &mut event).unwrap();
        record(&event)["data"].clone()
    }

    #[test]
    fn acknowledged_ranges_are_none_that_hang_qvis() {
        for (ranges, shown) in [
            (json!([[1, 2], [5, 5]]), json!([[1, 2], [5, 5]])),
            (json!([[-4_611_686_014_098_668_545_i64, 4_328_719_358_u64]]), Value::Null),
            (json!([[0, 1_u64 << 60]]), json!([[(1_u64 << 60) - WIDEST, 1_u64 << 60]])),
        ] {
            let frames = json!([{"frame_type": "ack", "acked_ranges": ranges}]);
            let data = exported(&json!({"time": 1, "name": "quic:packet_received", "data": {"frames": frames}}));
            assert_eq!(data["frames"][0]["acked_ranges"], shown);
        }
    }

    #[test]
    fn an_http_frames_payload_is_found_wherever_it_is_told() {
        for (frame, bytes) in [
            (json!({"frame_type": "data", "raw": {"length": 1003, "payload_length": 1000}}), 1000),
            (json!({"frame_type": "settings", "raw": {"length": 12}}), 10),
        ] {
            let data =
                exported(&json!({"time": 1, "name": "http3:frame_created", "data": {"stream_id": 0, "frame": frame}}));
            assert_eq!(data["byte_length"], bytes);
        }
    }

    #[test]
    fn only_packets_that_went_are_said_to_have_a_type() {
        for (name, kind) in [("packet_sent", json!("1RTT")), ("packet_dropped", Value::Null)] {
            let data = exported(&json!({"time": 1, "name": format!("quic:{name}"), "data": {"raw": {"length": 9}}}));
            assert_eq!(data["header"]["packet_type"], kind);
        }
    }
}
