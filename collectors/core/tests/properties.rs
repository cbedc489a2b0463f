//! Any bytes into parse, any order of events into fold: no panic, and what was read comes back equal.

#![expect(clippy::unwrap_used, reason = "tests")]

use proptest::prelude::*;
use quiclens_core::catalogue::Catalogue;
use quiclens_core::dialect::Units;
use quiclens_core::event::Event;
use quiclens_core::header::{Header, TimeFormat};
use quiclens_core::reader::qlog::Reader;
use quiclens_core::reader::quic_trace;
use quiclens_core::reader::shape::{WrittenClock, restore};
use quiclens_core::reader::sniff::{Framing, sniff};
use quiclens_core::record::columns::streams;
use quiclens_core::tables::Tables;
use quiclens_core::trace::TraceReader;
use serde_json::{Value, json};
use std::collections::HashSet;
use std::sync::OnceLock;

fn catalogue() -> &'static Catalogue {
    static CATALOGUE: OnceLock<Catalogue> = OnceLock::new();
    CATALOGUE.get_or_init(|| Catalogue::load().unwrap())
}

const UNITS: Units = Units::all(6);

/// JSON values of the kinds that occur in logs, keys drawn from those that have a meaning and those that have none.
fn value() -> impl Strategy<Value = Value> {
    let leaf = prop_oneof![
        Just(Value::Null),
        any::<bool>().prop_map(Value::from),
        any::<u64>().prop_map(Value::from),
        any::<i64>().prop_map(Value::from),
        (-1e12f64..1e12).prop_map(Value::from),
        "[ -~é\\n\"]{0,60}".prop_map(Value::from),
        (0u64..u64::MAX).prop_map(|number| Value::from(number.to_string())),
        prop::sample::select(vec!["1RTT", "initial", "stream", "ack", "local", "007", "1.50"]).prop_map(Value::from),
    ];
    leaf.prop_recursive(4, 24, 5, |inner| {
        prop_oneof![
            prop::collection::vec(inner.clone(), 0..4).prop_map(Value::Array),
            prop::collection::vec((key(), inner), 0..6).prop_map(|pairs| Value::Object(pairs.into_iter().collect())),
        ]
    })
}

fn key() -> impl Strategy<Value = String> {
    prop_oneof![
        prop::sample::select(vec![
            "header",
            "raw",
            "frames",
            "frame",
            "frame_type",
            "packet_type",
            "packet_number",
            "length",
            "payload_length",
            "stream_id",
            "id",
            "offset",
            "fin",
            "acked_ranges",
            "ack_delay",
            "min_rtt",
            "latest_rtt",
            "smoothed_rtt",
            "cwnd",
            "congestion_window",
            "bytes_in_flight",
            "ssthresh",
            "trigger",
            "new",
            "old",
            "owner",
            "dcid",
            "scid",
            "pacing_rate",
            "maximum",
            "count",
            "path_id",
            "lost_packets",
            "delta",
            "headers",
        ])
        .prop_map(str::to_owned),
        "[a-z.\"\\\\]{0,6}",
    ]
}

fn event() -> impl Strategy<Value = Value> {
    let name = prop::sample::select(vec![
        "transport:packet_sent",
        "transport:packet_received",
        "recovery:packet_lost",
        "recovery:metrics_updated",
        "http:frame_created",
        "quic:parameters_set",
        "made:up",
        "quic:timer_updated",
        "connectivity:connection_closed",
        "quic:stream_data_blocked_updated",
        "quic:connection_data_blocked_updated",
        "quic:frames_created",
        "quic:frames_parsed",
    ]);
    let frames = prop::collection::vec(
        (prop::sample::select(vec!["stream", "ack", "ping", "max_data", "reset_stream", "padding"]), 0u64..12, 0u64..5000, 0u64..2000, any::<bool>(),
            prop::collection::vec((0u64..60, 0u64..60), 0..3)),
        0..4,
    )
    .prop_map(|frames| {
        let frames = frames.into_iter().map(|(kind, id, offset, length, fin, ranges)| {
            json!({"frame_type": kind, "stream_id": id, "offset": offset, "length": length, "fin": fin, "maximum": offset,
                "acked_ranges": ranges.iter().map(|(a, b)| json!([a.min(b), a.max(b)])).collect::<Vec<_>>()})
        });
        Value::Array(frames.collect())
    });
    let data = prop_oneof![
        value(),
        (0u64..80, frames, 0u64..2000).prop_map(|(number, frames, length)| {
            json!({"header": {"packet_type": "1RTT", "packet_number": number}, "packet_number": number, "frames": frames,
                "raw": {"length": length}, "cwnd": length * 10, "bytes_in_flight": length * 3, "latest_rtt": 0.5, "stream_id": 4,
                "packet_numbers": [number, number, number + length % 3]})
        }),
        (any::<bool>(), prop::sample::select(vec!["pacing", "congestion_control", "stream_flow_control", "stream_id", "application", "weather"]), 0u64..3)
            .prop_map(|(is_blocked, reason, id)| {
                json!({"new": if is_blocked { "blocked" } else { "unblocked" }, "reason": reason, "stream_id": id * 4})
            }),
    ];
    let format = prop::sample::select(vec!["delta", "relative_to_previous_event", "absolute", "relative", "sidereal"]);
    (-1e6f64..9e12, name, data, prop::option::of(format)).prop_map(|(time, name, data, format)| {
        let mut record = json!({"time": time, "name": name, "data": data});
        if let Some(format) = format {
            record["time_format"] = json!(format);
        }
        record
    })
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 2_000, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn a_record_that_was_read_comes_back_equal(record in event()) {
        let text = record.to_string();
        let mut event = Event::default();
        let mut reader = Reader::new(UNITS, &[]);
        let length = reader.read(catalogue(), text.as_bytes(), &mut event).unwrap();
        prop_assert_eq!(length, text.len());
        event.time_us = event.source_ns.div_euclid(1000);
        event.time_ns = u16::try_from(event.source_ns.rem_euclid(1000)).unwrap();
        let mut out = Vec::new();
        restore(&event, &UNITS, &mut WrittenClock::new(0, TimeFormat::Relative), &mut out);
        let back: Value = serde_json::from_slice(&out).unwrap();
        prop_assert_eq!(compare(&back), compare(&record), "{}", String::from_utf8_lossy(&event.shape));
    }

    #[test]
    fn any_bytes_are_read_or_refused(bytes in prop::collection::vec(any::<u8>(), 0..400)) {
        let mut event = Event::default();
        let _ = Reader::new(UNITS, &["relative_time".into(), "category".into(), "event".into(), "data".into()]).read(catalogue(), &bytes, &mut event);
        let _ = quic_trace::read(catalogue(), &bytes, &mut event);
        let _ = sniff(&bytes, true);
    }

    #[test]
    fn broken_json_is_read_or_refused(record in event(), cut in any::<prop::sample::Index>(), flip in any::<(prop::sample::Index, u8)>()) {
        let mut text = record.to_string().into_bytes();
        let at = flip.0.index(text.len());
        text[at] = flip.1;
        text.truncate(cut.index(text.len()) + 1);
        let _ = Reader::new(UNITS, &[]).read(catalogue(), &text, &mut Event::default());
    }

    #[test]
    fn any_order_of_events_folds_to_parts_that_add_up(
        records in prop::collection::vec(event(), 1..80),
        vantage in prop::sample::select(vec!["server", "client", "network", "unknown"]),
        stack in prop::sample::select(vec!["some", "quiche"]),
    ) {
        let header = json!({"qlog_version": "0.3", "title": stack, "trace": {"title": stack, "vantage_point": {"type": vantage}}}).to_string();
        let header = Header::sequential(header.as_bytes(), Framing::NdJson).unwrap();
        let mut tables = Tables { wants_events: true, ..Tables::default() };
        let mut trace = TraceReader::new(catalogue(), header, "property");
        let mut read = 0;
        for record in &records {
            read += u64::from(trace.push(record.to_string().as_bytes(), &mut tables).is_ok());
        }
        trace.finish(true, &mut tables);
        // A time since 1970, or since another epoch, may have no place beside those of the trace.
        prop_assert_eq!(tables.counted + tables.rejected.get("no_time").copied().unwrap_or(0), read);
        for row in &tables.streams {
            let parts: u64 = quiclens_core::fold::cause::Cause::ALL.iter().map(|cause| row.whole(cause.column())).sum();
            prop_assert_eq!(parts, row.whole(streams::DURATION_US));
        }
        let mut keys = HashSet::new();
        for row in &tables.episodes {
            let key = ["kind", "path_id", "stream_id", "first_seq"].map(|column| format!("{:?}", row.get_named(column)));
            prop_assert!(keys.insert(key), "the store keeps one row of a key: {row:?}");
        }
        for batch in tables.batches(catalogue(), true).unwrap() {
            let mut bytes = Vec::new();
            batch.encode(&mut bytes).unwrap();
            prop_assert!(!bytes.is_empty());
        }
    }
}

/// JSON equality: 1 and 1.0 are one number.
fn compare(value: &Value) -> Value {
    match value {
        Value::Number(number) => {
            if let Some(whole) = number.as_i64() {
                return json!(whole);
            }
            let double = number.as_f64().unwrap();
            if double.fract() == 0.0 && double.abs() < 9e15 {
                #[expect(clippy::cast_possible_truncation, reason = "bounded")]
                let whole = double as i64;
                return json!(whole);
            }
            value.clone()
        }
        Value::Array(list) => list.iter().map(compare).collect(),
        Value::Object(object) => {
            Value::Object(object.iter().map(|(key, value)| (key.clone(), compare(value))).collect())
        }
        _ => value.clone(),
    }
}
