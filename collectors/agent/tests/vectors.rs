//! The case folders of `schema/vectors`: what goes in, and what must come out. Python checks the same folders in the store.

#![expect(clippy::unwrap_used, clippy::panic, reason = "tests")]

use arrow_ipc::reader::StreamReader;
use quiclens_core::event::{Event, FRAME_NUMBERS, NUMBERS, Number, WORDS, Word};
use quiclens_core::record::read::BatchColumns;
use serde_json::{Map, Value, json};
use std::collections::HashSet;
use std::path::{Path, PathBuf};
use std::process::Command;

fn folder() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../schema/vectors")
}

fn dump(input: &Path, room: &str) -> Vec<Value> {
    let output = Command::new(env!("CARGO_BIN_EXE_quiclens-collector"))
        .arg("dump")
        .arg(input)
        .args(["--room", room])
        .output()
        .unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let text = String::from_utf8(output.stdout).unwrap();
    text.lines().map(|line| serde_json::from_str(line).unwrap()).collect()
}

/// Rows of `events`, as the store gets them.
fn event_rows(input: &Path) -> Vec<Value> {
    let output = Command::new(env!("CARGO_BIN_EXE_quiclens-collector")).arg("load").arg(input).output().unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let (mut rest, mut found) = (output.stdout.as_slice(), Vec::new());
    while let Some(end) = rest.iter().position(|byte| *byte == b'\n') {
        let frame: Value = serde_json::from_slice(&rest[..end]).unwrap();
        let bytes =
            usize::try_from(frame["bytes"].as_u64().filter(|_| frame["table"].is_string()).unwrap_or(0)).unwrap();
        let stream = &rest[end + 1..end + 1 + bytes];
        rest = &rest[end + 1 + bytes..];
        if frame["table"] != "events" {
            continue;
        }
        for batch in StreamReader::try_new(stream, None).unwrap() {
            let rows = BatchColumns::new(&batch.unwrap()).unwrap();
            for at in 0..rows.len() {
                let mut event = Event::default();
                rows.read(at, &mut event);
                found.push(columns(&event));
            }
        }
    }
    found
}

fn columns(event: &Event) -> Value {
    let mut row = json!({"name": event.str(event.name), "time_us": event.time_us});
    for (name, number) in NUMBERS.iter().zip(Number::ALL) {
        row[name] = json!(event.get(number));
    }
    for (name, word) in WORDS.iter().zip(Word::ALL) {
        row[name] = json!(event.word(word));
    }
    let frames = &event.frames;
    row["frames.frame_type"] = frames.iter().map(|frame| event.str(frame.frame_type)).collect();
    row["frames.fin"] = frames.iter().map(|frame| u8::from(frame.fin)).collect();
    for (index, name) in FRAME_NUMBERS.iter().enumerate() {
        row[format!("frames.{name}")] = frames.iter().map(|frame| frame.numbers[index]).collect();
    }
    row["acked.from"] = event.acked.iter().map(|range| range.0).collect();
    row["acked.to"] = event.acked.iter().map(|range| range.1).collect();
    row
}

fn rows<'v>(dumped: &'v [Value], table: &str) -> Vec<&'v Value> {
    dumped.iter().filter(|line| line["table"] == table).map(|line| &line["row"]).collect()
}

/// Each expected row has a found row that agrees in every key it names.
fn check(case: &str, table: &str, expected: &Value, found: &[&Value]) {
    let expected = expected[table].as_array().cloned().unwrap_or_default();
    assert!(
        expected.is_empty() || expected.len() <= found.len(),
        "{case}: {} {table}, {} expected",
        found.len(),
        expected.len()
    );
    for row in expected {
        let row: &Map<String, Value> = row.as_object().unwrap();
        let agrees = |found: &&&Value| row.iter().all(|(key, value)| found[key] == *value);
        let first =
            found.first().map(|found| row.keys().map(|key| format!("{key}={} ", found[key])).collect::<String>());
        assert!(
            found.iter().any(|found| agrees(&found)),
            "{case}: none of {} rows of {table} agrees with {row:?}; the first: {}",
            found.len(),
            first.unwrap_or_default(),
        );
    }
}

#[test]
fn every_case_folder_gives_what_it_says() {
    let mut cases: Vec<_> = std::fs::read_dir(folder()).unwrap().map(|entry| entry.unwrap().path()).collect();
    cases.sort();
    assert!(cases.len() >= 15, "only {} case folders", cases.len());
    for case in cases {
        let name = case.file_name().unwrap().to_string_lossy().into_owned();
        let expected: Value = serde_json::from_slice(&std::fs::read(case.join("expect.json")).unwrap()).unwrap();
        let input = std::fs::read_dir(&case)
            .unwrap()
            .map(|entry| entry.unwrap().path())
            .find(|path| path.file_stem().is_some_and(|stem| stem == "input"))
            .unwrap_or_else(|| panic!("{name} has no input"));
        let dumped = dump(&input, "summaries");
        for table in ["connections", "streams", "episodes", "connection_aliases"] {
            check(&name, table, &expected, &rows(&dumped, table));
        }
        if expected["event_rows"].is_array() {
            let found = event_rows(&input);
            check(&name, "event_rows", &expected, &found.iter().collect::<Vec<_>>());
        }
        let events: u64 = rows(&dumped, "connections").iter().map(|row| row["events_seen"].as_u64().unwrap()).sum();
        assert_eq!(Some(events), expected["events"].as_u64(), "{name}: events");
        let mut rejected: Map<String, Value> = Map::new();
        for row in rows(&dumped, "rejects") {
            let count = rejected.entry(row["reason"].as_str().unwrap()).or_insert_with(|| 0.into());
            *count = (count.as_u64().unwrap() + 1).into();
        }
        let wanted = expected["rejected"].as_object().unwrap();
        assert_eq!(rejected.len(), wanted.len(), "{name}: {rejected:?}");
        assert!(wanted.iter().all(|(reason, count)| rejected.get(reason) == Some(count)), "{name}: {rejected:?}");
        for row in rows(&dumped, "streams") {
            let parts: u64 = quiclens_core::fold::cause::Cause::ALL
                .iter()
                .map(|cause| row[cause.column().name()].as_u64().unwrap())
                .sum();
            assert_eq!(Some(parts), row["duration_us"].as_u64(), "{name}: parts of stream {}", row["stream_id"]);
        }
        // The store keeps one row of a key.
        let mut keys = HashSet::new();
        for row in rows(&dumped, "episodes") {
            let key = ["connection_id", "vantage", "trace_id", "kind", "path_id", "stream_id", "first_seq"];
            assert!(keys.insert(key.map(|column| row[column].to_string())), "{name}: twice in episodes: {row}");
        }
    }
}

#[test]
fn records_of_the_case_folders_come_back_equal() {
    for (case, events) in [
        ("newest_names", "trace"),
        ("array_form_strings", "traces"),
        ("two_connections", "trace"),
        ("seconds_of_quinn", "trace"),
        ("delta_times", "trace"),
        ("delta_time_rows", "traces"),
        ("time_formats_mixed", "trace"),
        ("time_twice", "trace"),
        ("time_formats_newest", "trace"),
        ("time_since_an_epoch", "trace"),
        ("names_with_escapes", "trace"),
        ("draft_connectivity", "trace"),
        ("draft_packets", "trace"),
        ("draft_recovery", "trace"),
        ("draft_streams", "trace"),
        ("draft_blocked", "trace"),
        ("draft_http3", "trace"),
        ("aioquic_burst_loss_server", "traces"),
        ("aioquic_burst_loss_client", "traces"),
    ] {
        let case_folder = folder().join(case);
        let input = std::fs::read_dir(&case_folder)
            .unwrap()
            .map(|entry| entry.unwrap().path())
            .find(|path| path.file_stem().is_some_and(|stem| stem == "input"))
            .unwrap();
        let text = std::fs::read_to_string(&input).unwrap();
        let wanted: Vec<Value> = if events == "traces" {
            let document: Value = serde_json::from_str(&text).unwrap();
            let all = document["traces"][0]["events"].as_array().unwrap();
            all.iter().filter(|event| event.as_array().is_none_or(|list| !list.is_empty())).cloned().collect()
        } else {
            text.split(['\n', '\u{1e}'])
                .filter(|line| !line.trim().is_empty())
                .skip(1)
                .map(|line| serde_json::from_str(line).unwrap())
                .collect()
        };
        let back: Vec<Value> = dump(&input, "events").iter().map(plain).collect();
        assert_eq!(back, wanted.iter().map(plain).collect::<Vec<_>>(), "{case}");
    }
}

/// Names of the events of draft-ietf-quic-qlog-quic-events-13 and -h3-events-13 as they stand after July 2026.
const NEWEST: [&str; 49] = [
    "quic:server_listening",
    "quic:connection_started",
    "quic:connection_closed",
    "quic:connection_id_updated",
    "quic:spin_bit_updated",
    "quic:connection_state_updated",
    "quic:tuple_assigned",
    "quic:mtu_updated",
    "quic:version_information",
    "quic:alpn_information",
    "quic:parameters_set",
    "quic:parameters_restored",
    "quic:packet_sent",
    "quic:packet_received",
    "quic:packet_dropped",
    "quic:packet_buffered",
    "quic:packets_acked",
    "quic:udp_datagrams_sent",
    "quic:udp_datagrams_received",
    "quic:udp_datagram_dropped",
    "quic:stream_state_updated",
    "quic:frames_created",
    "quic:frames_parsed",
    "quic:stream_data_moved",
    "quic:datagram_data_moved",
    "quic:connection_data_blocked_updated",
    "quic:stream_data_blocked_updated",
    "quic:datagram_data_blocked_updated",
    "quic:migration_state_updated",
    "quic:timer_updated",
    "quic:key_updated",
    "quic:key_discarded",
    "quic:recovery_parameters_set",
    "quic:recovery_metrics_updated",
    "quic:congestion_state_updated",
    "quic:packet_lost",
    "quic:marked_for_retransmit",
    "quic:ecn_state_updated",
    "http3:parameters_set",
    "http3:parameters_restored",
    "http3:stream_type_set",
    "http3:priority_updated",
    "http3:frame_created",
    "http3:frame_parsed",
    "http3:datagram_created",
    "http3:datagram_parsed",
    "http3:push_resolved",
    "http:capsule_created",
    "http:capsule_parsed",
];

#[test]
fn every_event_of_the_newest_drafts_is_known_and_has_a_case() {
    let catalogue = quiclens_core::catalogue::Catalogue::load().unwrap();
    let mut cases = HashSet::new();
    for case in std::fs::read_dir(folder()).unwrap().map(|entry| entry.unwrap().path()) {
        let expected: Value = serde_json::from_slice(&std::fs::read(case.join("expect.json")).unwrap()).unwrap();
        let rows = expected["event_rows"].as_array().into_iter().flatten();
        cases.extend(rows.filter_map(|row| row["name"].as_str().map(str::to_owned)));
    }
    for name in NEWEST {
        assert_eq!(catalogue.events.get(name.as_bytes()).map(|known| &*known.name), Some(name));
        assert!(cases.contains(name), "no case expects {name}");
    }
}

/// JSON has one kind of number: 40 and 40.0 are equal.
fn plain(value: &Value) -> Value {
    match value {
        Value::Number(number) if number.is_f64() => {
            let text = number.to_string();
            text.strip_suffix(".0")
                .and_then(|whole| whole.parse::<i64>().ok())
                .map_or_else(|| value.clone(), Value::from)
        }
        Value::Array(list) => list.iter().map(plain).collect(),
        Value::Object(object) => Value::Object(object.iter().map(|(key, value)| (key.clone(), plain(value))).collect()),
        _ => value.clone(),
    }
}
