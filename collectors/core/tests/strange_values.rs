//! Values that no writer should write: what a log says of a request is exact, or marked, and never somebody else's.

#![expect(clippy::unwrap_used, reason = "tests")]

mod packets;

use packets::record;
use quiclens_core::catalogue::Catalogue;
use quiclens_core::header::Header;
use quiclens_core::reader::skip::Skip;
use quiclens_core::reader::sniff::Framing;
use quiclens_core::record::columns::{connections, streams};
use quiclens_core::record::rows::{Cell, Row};
use quiclens_core::tables::Tables;
use quiclens_core::trace::TraceReader;
use std::sync::LazyLock;

static CATALOGUE: LazyLock<Catalogue> = LazyLock::new(|| Catalogue::load().unwrap());

const REQUEST: &str = r#"{"frame_type":"stream","stream_id":0,"offset":0,"length":100,"fin":true}"#;
const ANSWER: &str = r#"{"frame_type":"stream","stream_id":0,"offset":0,"length":1000,"fin":true}"#;

fn header(more: &str) -> String {
    format!(r#"{{"qlog_version":"0.3","qlog_format":"NDJSON","title":"t","trace":{{{more}}}}}"#)
}

fn server() -> String {
    header(r#""vantage_point":{"type":"server"}"#)
}

fn tables(header: &str, records: &[String]) -> Tables {
    let header = Header::sequential(header.as_bytes(), Framing::NdJson).unwrap();
    let (mut trace, mut tables) = (TraceReader::new(&CATALOGUE, header, "file"), Tables::default());
    for (place, record) in records.iter().enumerate() {
        trace.stand(place as u64 + 1);
        trace.push_whole(record.as_bytes(), &mut tables).unwrap();
    }
    trace.finish(true, &mut tables);
    tables
}

fn acknowledgement(ranges: &str) -> String {
    format!(r#"{{"frame_type":"ack","ack_delay":0,"acked_ranges":{ranges}}}"#)
}

/// Durations of the requests, us, in order.
fn durations(tables: &Tables) -> Vec<u64> {
    let mut durations: Vec<u64> = tables.streams.iter().map(|row| row.whole(streams::DURATION_US)).collect();
    durations.sort_unstable();
    durations
}

fn grades(tables: &Tables) -> Vec<&str> {
    tables.streams.iter().filter_map(|row| row.text(streams::GRADE)).collect()
}

/// In the array form and in objects, whatever value tells them apart: none is in the other's, and only a text is an id.
#[test]
fn connections_of_one_file_are_told_apart_by_any_value() {
    let answered = |at: usize, size: usize, think: usize| {
        let sent = ANSWER.replace("1000", &size.to_string());
        [
            (at, "received", REQUEST.to_owned()),
            (at + think, "sent", sent),
            (at + think + 50, "received", acknowledgement("[[0,0]]")),
        ]
    };
    for (first, second, id) in [
        (r#""aaaa""#, r#""bbbb""#, Some("aaaa")),
        ("0", "1", None),
        (r#"{"ip":"a", "port":1}"#, r#"{"ip":"a", "port":2}"#, None),
        ("[1]", "[2]", None),
    ] {
        for key in ["group_id", "ODCID"] {
            let both = [(first, answered(0, 100, 10)), (second, answered(1000, 500, 700))];
            let packets = || both.iter().flat_map(|(group, packets)| packets.iter().map(move |packet| (group, packet)));
            let objects: Vec<String> = packets()
                .map(|(group, (at, kind, frames))| {
                    record(at * 1000, kind, "1RTT", 0, frames).replacen("{", &format!(r#"{{"{key}":{group},"#), 1)
                })
                .collect();
            let fields = format!(r#""event_fields":["relative_time","{key}","category","event","data"],"#);
            let arrays: Vec<String> = packets()
                .map(|(group, (at, kind, frames))| {
                    let data =
                        format!(r#"{{"header":{{"packet_type":"1RTT","packet_number":0}},"frames":[{frames}]}}"#);
                    format!(r#"[{at},{group},"transport","packet_{kind}",{data}]"#)
                })
                .collect();
            let point = r#""vantage_point":{"type":"server"}"#;
            for (header, records) in [(header(point), objects), (header(&format!("{fields}{point}")), arrays)] {
                let found = tables(&header, &records);
                assert_eq!(durations(&found), [60_000, 750_000], "{key} {first} {header}");
                let ids: Vec<&str> =
                    found.connections.iter().filter_map(|row| row.text(connections::CONNECTION_ID)).collect();
                assert_eq!(ids.contains(&"aaaa"), id.is_some(), "{ids:?}");
                assert!(ids.len() == 2 && (id.is_some() || ids.iter().all(|id| id.starts_with("t-"))), "{ids:?}");
            }
        }
    }
}

#[test]
fn packets_of_a_type_that_nobody_knows_acknowledge_none_of_another() {
    for (odd, unread) in [(r#""Initial packet""#, 2), ("7", 2)] {
        let odd_record = |time_us, kind, number, frames: &str| {
            record(time_us, kind, "1RTT", number, frames).replace(r#""1RTT""#, odd)
        };
        let found = tables(
            &server(),
            &[
                odd_record(0, "received", 0, r#"{"frame_type":"crypto","offset":0,"length":100}"#),
                record(300_000, "received", "1RTT", 0, REQUEST),
                record(310_000, "sent", "1RTT", 0, ANSWER),
                odd_record(320_000, "received", 1, &acknowledgement("[[0,0]]")),
                record(360_000, "received", "1RTT", 1, &acknowledgement("[[0,0]]")),
            ],
        );
        assert_eq!((durations(&found), found.values_unread), (vec![60_000], unread), "{odd}");
    }
}

#[test]
fn what_could_not_be_read_of_a_frame_makes_the_time_beside_it_doubtful() {
    let log = |request: &str, acknowledged: &str| {
        tables(
            &server(),
            &[
                record(0, "received", "1RTT", 0, request),
                record(10_000, "sent", "1RTT", 0, ANSWER),
                record(50_000, "received", "1RTT", 1, &acknowledgement(acknowledged)),
                record(900_000, "received", "1RTT", 2, &acknowledgement("[[0,0]]")),
            ],
        )
    };
    assert_eq!(grades(&log(REQUEST, "[[0,0]]")), ["whole"]);
    for (request, acknowledged) in [
        (REQUEST.to_owned(), r#""0-0""#),
        (REQUEST.replace("true", r#""true""#), "[[0,0]]"),
        (REQUEST.replace(r#""length":100"#, r#""length":"many""#), "[[0,0]]"),
        (REQUEST.replace(r#""stream""#, "8"), "[[0,0]]"),
    ] {
        let found = log(&request, acknowledged);
        assert!(
            found.values_unread > 0 && grades(&found) != ["whole"],
            "{request} {acknowledged} {:?}",
            grades(&found)
        );
    }
}

/// RFC 9000, 2.1: a server has received a request before it answers.
#[test]
fn a_request_whose_answer_alone_is_logged_has_an_inferred_start() {
    let found = tables(
        &server(),
        &[
            record(0, "received", "1RTT", 0, r#"{"frame_type":"ping"}"#),
            record(400_000, "sent", "1RTT", 0, ANSWER),
            record(450_000, "received", "1RTT", 1, &acknowledgement("[[0,0]]")),
        ],
    );
    assert_eq!(found.streams[0].text(streams::START_IS), Some("inferred"));
    assert_ne!(grades(&found), ["whole"]);
}

/// qlog: `flow` says whose packets are the sent ones of a network's log.
#[test]
fn a_network_that_logs_as_a_server_sees_the_answer_as_one() {
    for (flow, kinds) in [("server", ["received", "sent"]), ("client", ["sent", "received"])] {
        let header = header(&format!(r#""vantage_point":{{"type":"network","flow":"{flow}"}}"#));
        let found = tables(
            &header,
            &[
                record(0, kinds[0], "1RTT", 0, REQUEST),
                record(10_000, kinds[1], "1RTT", 0, ANSWER),
                record(50_000, kinds[0], "1RTT", 1, &acknowledgement("[[0,0]]")),
            ],
        );
        let bytes = |row: &Row<_>| (row.whole(streams::REQUEST_BYTES), row.whole(streams::RESPONSE_BYTES));
        assert_eq!(bytes(&found.streams[0]), (100, 1000), "{flow}");
        assert!(durations(&found)[0] >= 10_000, "{flow}: {:?}", durations(&found));
    }
}

#[test]
fn parameters_are_read_as_numbers_of_columns_are() {
    let log = |limit: &str| {
        let data =
            format!(r#"{{"owner":"remote","initial_max_data":{limit},"initial_max_stream_data_bidi_local":9000}}"#);
        let credit = r#"{"frame_type":"max_data","maximum":9000}"#;
        let found = tables(
            &server(),
            &[
                format!(r#"{{"time":0,"name":"transport:parameters_set","data":{data}}}"#),
                record(1_000, "received", "1RTT", 0, REQUEST),
                record(10_000, "sent", "1RTT", 0, &ANSWER.replace(r#","fin":true"#, "")),
                record(500_000, "received", "1RTT", 1, &format!("{},{credit}", acknowledgement("[[0,0]]"))),
                record(
                    500_000,
                    "sent",
                    "1RTT",
                    1,
                    &ANSWER.replace(r#""offset":0,"length":1000"#, r#""offset":1000,"length":10"#),
                ),
                record(540_000, "received", "1RTT", 2, &acknowledgement("[[0,1]]")),
            ],
        );
        {
            // Without what names the trace.
            let row = format!("{:?}", found.streams[0]);
            row.split_once("analysis_version").unwrap().1.to_owned()
        }
    };
    let want = log("1000");
    assert!(want.contains("connection_flow_control"), "{want}");
    for limit in ["1000.0", "1e3", r#""1000""#] {
        assert_eq!(log(limit), want, "{limit}");
    }
}

#[test]
fn times_that_no_two_records_can_have_are_rejected() {
    let records = [-9.0e12, 0.0, 9.0e12]
        .map(|time| record(0, "received", "1RTT", 0, REQUEST).replacen("0.000", &format!("{time:.0}"), 1));
    let found = tables(&server(), &records);
    assert_eq!(found.rejected.get(Skip::NoTime.name()), Some(&2), "{:?}", found.rejected);
    assert!(matches!(found.connections[0].get(connections::COMPLETE), Some(Cell::Truth(false))));
}
