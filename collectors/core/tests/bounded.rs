//! The memory of a stream that stays open is bounded, and its parts still add up. The memory of connections whose
//! records wait for older ones is bounded too.

#![expect(clippy::unwrap_used, reason = "tests")]

use quiclens_core::catalogue::Catalogue;
use quiclens_core::dialect::Units;
use quiclens_core::event::Event;
use quiclens_core::fold::{Fold, Trace};
use quiclens_core::header::{Header, Vantage};
use quiclens_core::reader::qlog::Reader;
use quiclens_core::reader::sniff::Framing;
use quiclens_core::record::columns::{connections, streams};
use quiclens_core::tables::Tables;
use quiclens_core::trace::TraceReader;

const ROUNDS: u64 = 20_000;
const PACKET: u64 = 1200;

/// A request, then one packet a round trip of 10 ms in a window of one packet, each lost once in a hundred rounds.
fn records() -> Vec<String> {
    let mut all = vec![
        r#"{"time":0,"name":"transport:packet_received","data":{"header":{"packet_type":"1RTT","packet_number":0},"raw":{"length":40},"frames":[{"frame_type":"stream","stream_id":0,"offset":0,"length":20,"fin":true}]}}"#.to_owned(),
        r#"{"time":0,"name":"recovery:metrics_updated","data":{"min_rtt":10,"latest_rtt":10,"smoothed_rtt":10,"rtt_variance":1,"congestion_window":1200,"bytes_in_flight":0}}"#.to_owned(),
    ];
    let mut number = 0;
    for round in 0..ROUNDS {
        let (time, offset) = (5 + round * 10, round * PACKET);
        for again in 0..=u64::from(round % 100 == 99) {
            let time = time * 1000 + again * 4000;
            all.push(format!(
                r#"{{"time":{}.{:03},"name":"transport:packet_sent","data":{{"header":{{"packet_type":"1RTT","packet_number":{number}}},"raw":{{"length":1200}},"frames":[{{"frame_type":"stream","stream_id":0,"offset":{offset},"length":{PACKET}}}]}}}}"#,
                time / 1000, time % 1000
            ));
            if again == 0 && round % 100 == 99 {
                all.push(format!(
                    r#"{{"time":{}.900,"name":"recovery:packet_lost","data":{{"header":{{"packet_type":"1RTT","packet_number":{number}}}}}}}"#,
                    time / 1000 + 3
                ));
            }
            number += 1;
        }
        all.push(format!(
            r#"{{"time":{},"name":"transport:packet_received","data":{{"header":{{"packet_type":"1RTT","packet_number":{}}},"raw":{{"length":40}},"frames":[{{"frame_type":"ack","acked_ranges":[[{},{}]]}}]}}}}"#,
            time + 10, round + 1, number - 1, number - 1
        ));
    }
    all
}

#[test]
fn an_endless_response_has_a_bounded_state_and_parts_that_add_up() {
    let catalogue = Catalogue::load().unwrap();
    let mut reader = Reader::new(Units::all(6), &[]);
    let trace = Trace { connection_id: "c".into(), vantage: Vantage::Server, ..Trace::default() };
    let mut fold = Fold::new(trace);
    let mut largest = 0;
    for (index, record) in records().iter().enumerate() {
        let mut event = Event::default();
        reader.read(&catalogue, record.as_bytes(), &mut event).unwrap();
        event.seq = index as u64;
        event.time_us = event.source_ns.div_euclid(1000);
        fold.event(&event);
        fold.output.episodes.clear();
        if index % 1000 == 999 {
            largest = largest.max(serde_json::to_string(&fold).unwrap().len());
        }
    }
    fold.finish();
    let row = &fold.output.streams[0];
    let (duration, sum) = (row.whole(streams::DURATION_US), quiclens_core::fold::cause::Cause::ALL);
    let sum: u64 = sum.into_iter().map(|cause| row.whole(cause.column())).sum();
    assert_eq!(sum, duration);
    assert!(row.whole(streams::CWND_BLOCKED_US) > duration / 2, "{row:?}");
    assert!(row.whole(streams::LOSS_RECOVERY_US) > 0, "{row:?}");
    assert!(largest < 1_000_000, "the state grew to {largest} bytes");
}

/// Most that the process has had, KiB.
fn most_kib() -> u64 {
    let status = std::fs::read_to_string("/proc/self/status").unwrap();
    let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:")).unwrap();
    line.trim().trim_end_matches(" kB").parse().unwrap()
}

/// Every connection is out of order from its first records on, and none of its records would go on by itself.
#[test]
fn many_connections_whose_records_wait_cost_no_more_than_the_limit_and_lose_no_event() {
    const CONNECTIONS: u64 = 200;
    const RECORDS: u64 = 150;
    let catalogue = Catalogue::load().unwrap();
    let header = br#"{"qlog_version":"0.3","trace":{"vantage_point":{"type":"server"}}}"#;
    let header = Header::sequential(header, Framing::NdJson).unwrap();
    let mut trace = TraceReader::new(&catalogue, header, "file");
    let mut tables = Tables::default();
    let frames = vec![r#"{"frame_type":"ping"}"#; 60].join(",");
    let before = most_kib();
    for number in 0..RECORDS {
        for connection in 0..CONNECTIONS {
            // The second is older than the first; the others are no newer than records are put in order.
            let time = if number == 1 { 5 } else { 10 };
            let record = format!(
                r#"{{"time":{time},"group_id":"{connection:04}","name":"transport:packet_sent","data":{{"header":{{"packet_type":"1RTT","packet_number":{number}}},"raw":{{"length":1200}},"frames":[{frames}]}}}}"#
            );
            trace.push_whole(record.as_bytes(), &mut tables).unwrap();
        }
    }
    let grown = most_kib() - before;
    assert!(grown < 96 << 10, "{grown} KiB");
    trace.finish(true, &mut tables);
    assert_eq!((tables.counted, tables.rejects.len()), (CONNECTIONS * RECORDS, 0));
    let sent: Vec<u64> = tables.connections.iter().map(|row| row.whole(connections::PACKETS_SENT)).collect();
    assert_eq!(sent, vec![RECORDS; usize::try_from(CONNECTIONS).unwrap()]);
}
