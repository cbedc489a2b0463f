//! Addresses are planted in every string of a qlog log, of a line log and of an access line: with redaction on none of
//! them stands in the bytes of any table.

#![expect(clippy::unwrap_used, reason = "tests")]

use quiclens_core::catalogue::Catalogue;
use quiclens_core::client::Edge;
use quiclens_core::header::Header;
use quiclens_core::reader::skip::{Skip, Stop};
use quiclens_core::reader::sniff::Framing;
use quiclens_core::tables::Tables;
use quiclens_core::trace::{Reject, TraceReader};
use quiclens_edge::access_format::{AccessFormatConfig, Format};
use quiclens_edge::deployment::Deployment;
use quiclens_edge::enrich::{EnrichConfig, Enricher};
use serde_json::{Value, json};
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

/// As it stands in JSON, and what must not be found of it.
const CANARIES: [(&str, &[&str]); 20] = [
    ("192.0.2.77", &["192.0.2.77"]),
    ("192.0.2.77:51234", &["192.0.2.77"]),
    ("2001:db8::77", &["2001:db8::77"]),
    ("2001:db8:1:2:3:4:5:77", &["3:4:5:77"]),
    ("2001:0db8:0001:0002:0003:0004:0005:0077", &["0005:0077"]),
    ("::ffff:192.0.2.77", &["192.0.2.77"]),
    ("[2001:db8::77]:443", &["2001:db8::77"]),
    ("192%2E0%2E2%2E77", &["192%2E0%2E2%2E77", "192.0.2.77"]),
    ("2001%3Adb8%3A%3A77", &["%3A%3A77", "2001:db8::77"]),
    (r"2001\u003adb8\u003a\u003a77", &[r"\u003a77", "2001:db8::77"]),
    (r"\u003c192.0.2.77\u003e", &["192.0.2.77"]),
    ("ip1=192.0.2.77,ip2=2001:db8::77,port1=443,port2=51234", &["192.0.2.77", "2001:db8::77"]),
    ("client:192.0.2.77", &["192.0.2.77"]),
    ("be:192.0.2.77:51234", &["192.0.2.77"]),
    ("q?ip%3A192.0.2.77", &["192.0.2.77"]),
    ("client:2001:db8:1:2::77", &["db8:1:2", "::77"]),
    ("be:2001:db8:1:2:3:4:5:77", &["4:5:77"]),
    ("peer:::ffff:192.0.2.77", &["192.0.2.77"]),
    ("192.0.2.77:443:198.51.100.77:51234", &["192.0.2.77", "198.51.100.77"]),
    ("192.0.2.77.51234", &["192.0.2.77"]),
];

fn deployment(is_redacting: bool) -> Option<Arc<dyn Edge>> {
    let deployment = Deployment::open(&EnrichConfig::default(), "host", is_redacting).unwrap();
    Some(Arc::new(deployment))
}

/// Takes records, and rejects those that are none.
fn take(header: Header, records: &[String], tables: &mut Tables) {
    let catalogue = Catalogue::load().unwrap();
    let mut trace = TraceReader::new(&catalogue, header, "/var/log/CANARY_a.qlog");
    for record in records {
        match trace.push_whole(record.as_bytes(), tables) {
            Ok(()) => {}
            Err(Stop::End | Stop::Skip(_)) => {
                let bytes = record.clone().into_bytes();
                trace.reject(Reject { reason: Some(Skip::NotJson), offset: 1, length: 1, bytes }, tables);
            }
        }
    }
    trace.finish(true, tables);
}

/// The bytes of all tables of the three logs, with `CANARY` put into every string.
fn bytes(canary: &str, is_redacting: bool) -> Vec<u8> {
    let plant = |text: &str| text.replace("CANARY", canary);
    let file = plant("/var/log/CANARY_a.qlog");
    let mut tables = Tables { wants_events: true, edge: deployment(is_redacting), ..Tables::default() };
    let dimensions = quiclens_core::header::DIMENSIONS.map(|column| (column.name().to_owned(), Value::from("CANARY")));
    let mut common: serde_json::Map<String, Value> = dimensions.into_iter().collect();
    common.insert("reference_time".into(), "CANARY".into());
    common.insert("CANARY".into(), json!({"CANARY": ["CANARY", {"CANARY": "CANARY"}]}));
    let header = |odcid: bool| {
        let mut common = common.clone();
        if odcid {
            common.insert("ODCID".into(), "CANARY".into());
        }
        let header = json!({"qlog_version": "0.3", "title": "CANARY", "description": "CANARY", "CANARY": "CANARY",
            "code_version": "CANARY", "trace": {"title": "CANARY", "stack_version": "CANARY", "description": "CANARY",
            "congestion_controller": "CANARY", "configuration": {"CANARY": "CANARY"}, "common_fields": common,
            "vantage_point": {"name": "CANARY", "type": "server"}}});
        Header::sequential(plant(&header.to_string()).as_bytes(), Framing::NdJson).unwrap()
    };
    let stream = json!({"frame_type": "stream", "stream_id": 0, "offset": 0, "length": 9, "fin": true, "CANARY": "CANARY",
        "raw": "CANARY", "data": "CANARY"});
    let packet = |kind: &str| {
        json!({"time": 1, "name": kind, "CANARY": "CANARY", "data": {"header": {"packet_type": "1RTT",
        "packet_number": 1, "dcid": "CANARY", "scid": "CANARY", "token": {"data": "CANARY"}, "CANARY": "CANARY"},
        "trigger": "CANARY", "frames": [stream, {"frame_type": "CANARY", "reason": "CANARY"}],
        "raw": {"length": 99, "data": "CANARY"}}})
    };
    let words = json!({"trigger": "CANARY", "new": "CANARY", "old": "CANARY", "new_state": "CANARY", "owner": "CANARY",
        "old_state": "CANARY", "timer_type": "CANARY", "event_type": "CANARY", "packet_type": "CANARY", "n": ["CANARY"],
        "message": "lost CANARY", "CANARY": {"CANARY": ["CANARY"]}, "list": [{"CANARY": "CANARY"}]});
    let headers: Vec<Value> = [":method", ":path", ":authority", ":status", "x-request-id", "CANARY"]
        .map(|name| json!({"name": name, "value": "CANARY"}))
        .into();
    let mut records = vec![packet("transport:packet_received"), packet("transport:packet_sent")];
    for name in [
        "CANARY",
        "transport:connection_started",
        "connectivity:connection_closed",
        "recovery:packet_lost",
        "security:key_updated",
        "recovery:congestion_state_updated",
        "recovery:loss_timer_updated",
        "quic:migration_state_updated",
    ] {
        records.push(json!({"time": 2, "name": name, "data": words}));
    }
    records.push(
        json!({"time": 3, "name": "connectivity:connection_closed", "data": {"reason": "CANARY", "code": "CANARY",
        "owner": "CANARY", "connection_code": "CANARY"}}),
    );
    for kind in ["created", "parsed"] {
        records
            .push(json!({"time": 3, "name": format!("http:frame_{kind}"), "data": {"stream_id": 0, "CANARY": "CANARY",
            "frame": {"frame_type": "headers", "headers": headers, "CANARY": "CANARY"}}}));
    }
    let mut records: Vec<String> = records.iter().map(|record| plant(&record.to_string())).collect();
    records.push(plant("{\"time\":4,\"name\":\"CANARY\",\"da"));
    take(header(false), &records, &mut tables);
    take(header(true), &records, &mut tables);
    let mut grouped = records.clone();
    for record in &mut grouped {
        *record = record.replace("\"time\":", &plant("\"group_id\":\"CANARY\",\"time\":"));
    }
    take(header(false), &grouped, &mut tables);
    // A line of JSON has its escapes; a row has what they stand for.
    let spoken: String = serde_json::from_str(&format!("\"{canary}\"")).unwrap();
    let rows = [
        "CANARY\t0\t1\tclock_anchor\t1700000000000000, CANARY, 1, server",
        "CANARY\t1\t2\tCANARY\tCANARY, 1",
        "CANARY\t2\t2\tconn_close\tCANARY, CANARY",
        "CANARY\t3\tCANARY\tx",
        "c\t0\t1\tstream_event\ton_error, 4, 1, CANARY",
    ];
    take(Header::rows(Framing::LineV1), &rows.map(|row| row.replace("CANARY", &spoken)), &mut tables);
    let columns = [
        "external_id",
        "connection_id",
        "method",
        "authority",
        "path",
        "protocol",
        "server",
        "cluster",
        "pop",
        "carrier",
        "country",
        "region",
        "city",
        "h3_cell",
        "network_type",
        "app",
        "app_version",
        "device",
        "user_hash",
        "arm",
        "client",
        "remote_addr",
        "CANARY",
        "referer",
        "forwarded",
    ];
    let mut line: serde_json::Map<String, Value> =
        columns.into_iter().map(|column| (column.to_owned(), Value::from("CANARY"))).collect();
    line.insert("time".into(), "2026-11-22T10:00:00Z".into());
    line.insert("nested".into(), json!({"CANARY": ["CANARY"]}));
    let format = Format::compile(&AccessFormatConfig {
        redact: Some(is_redacting),
        ..toml::from_str::<AccessFormatConfig>("syntax = \"json\"").unwrap()
    })
    .unwrap();
    let mut read = format.read(plant(&Value::Object(line).to_string()).as_bytes()).unwrap();
    Deployment::open(&EnrichConfig::default(), "host", is_redacting).unwrap().enrich_line(&mut read);
    tables.request_lines.push(read.row);
    let reject = Reject { reason: Some(Skip::BadLine), bytes: plant("CANARY").into_bytes(), ..Reject::default() };
    tables.reject("source", &reject, &file, "", None);
    let (catalogue, mut all, mut one) = (Catalogue::load().unwrap(), Vec::new(), Vec::new());
    let mut names = Vec::new();
    for batch in tables.batches(&catalogue, true).unwrap() {
        batch.encode(&mut one).unwrap();
        all.extend_from_slice(&one);
        names.push(batch.table);
    }
    for table in quiclens_core::tables::NAMES {
        assert!(names.contains(&table), "{table} has no row: nothing is said of it");
    }
    all
}

/// Where a text stands, with what is around it.
fn places(bytes: &[u8], needle: &str) -> Vec<String> {
    let found = memchr::memmem::find_iter(bytes, needle.as_bytes());
    found
        .map(|at| String::from_utf8_lossy(&bytes[at.saturating_sub(60)..(at + 60).min(bytes.len())]).into_owned())
        .collect()
}

#[test]
fn no_address_is_left_in_any_table() {
    for (canary, needles) in CANARIES {
        let (redacted, kept) = (bytes(canary, true), bytes(canary, false));
        assert!(needles.iter().any(|needle| !places(&kept, needle).is_empty()), "{canary} was planted nowhere");
        for needle in needles {
            let found = places(&redacted, needle);
            assert!(
                found.is_empty(),
                "{needle} of {canary}, {} times: {:#?}",
                found.len(),
                &found[..found.len().min(5)]
            );
        }
    }
}

#[test]
fn a_connection_named_by_its_path_has_one_name_in_all_tables_and_logs() {
    let four = "ip1=192.0.2.77,ip2=198.51.100.1,port1=443,port2=51234";
    let config = EnrichConfig { secret_env: Some("QUICLENS_CANARY_SECRET".into()), ..EnrichConfig::default() };
    assert!(Deployment::open(&config, "host", true).is_err(), "no secret");
    let edge: Arc<dyn Edge> = Arc::new(Deployment::open(&EnrichConfig::default(), "host", true).unwrap());
    assert_eq!(edge.redact_id(four), Some(None), "without a secret a trace has a name of its own");
    assert_eq!(edge.redact_id("0011223344556677"), None);
}

#[test]
fn with_a_secret_a_connection_named_by_its_addresses_has_one_key_in_trace_and_line() {
    let four = "ip1=192.0.2.77,ip2=198.51.100.1,port1=443,port2=51234";
    let names = |secret: &str| {
        let enricher = Enricher::with_secret(&EnrichConfig::default(), Some(secret)).unwrap();
        let deployment = Arc::new(Deployment::of(enricher, "host", true));
        let edge: Arc<dyn Edge> = Arc::<Deployment>::clone(&deployment);
        let mut tables = Tables { wants_events: true, edge: Some(edge), ..Tables::default() };
        let header = r#"{"qlog_version":"0.3","trace":{"vantage_point":{"type":"server"}}}"#;
        let event = json!({"time": 1, "name": "transport:packet_received", "group_id": four, "data": {}});
        take(Header::sequential(header.as_bytes(), Framing::NdJson).unwrap(), &[event.to_string()], &mut tables);
        let config: AccessFormatConfig = toml::from_str("syntax = \"json\"\nredact = true").unwrap();
        let line = json!({"time": "2026-11-22T10:00:00Z", "path": "/", "connection_id": four});
        let mut read = Format::compile(&config).unwrap().read(line.to_string().as_bytes()).unwrap();
        deployment.enrich_line(&mut read);
        tables.request_lines.push(read.row);
        let mut keys = BTreeMap::new();
        for batch in tables.batches(&Catalogue::load().unwrap(), true).unwrap() {
            let mut bytes = Vec::new();
            batch.encode(&mut bytes).unwrap();
            let is_key = |key: &&[u8]| key[2..].iter().all(u8::is_ascii_hexdigit);
            let found = memchr::memmem::find_iter(&bytes, "k-").filter_map(|at| bytes.get(at..at + 34)).filter(is_key);
            keys.insert(
                batch.table,
                found.map(|key| String::from_utf8_lossy(key).into_owned()).collect::<BTreeSet<_>>(),
            );
        }
        keys
    };
    let keys = names("0123456789abcdef");
    assert_eq!((keys["events"].len(), &keys["events"]), (1, &keys["connections"]), "{keys:?}");
    assert_eq!(keys["request_lines"], keys["events"]);
    assert!(keys["events"].is_disjoint(&names("fedcba9876543210")["events"]), "another deployment has other keys");
}
