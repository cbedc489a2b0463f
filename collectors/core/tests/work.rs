//! What a log costs: packets and intervals that are looked at, counted, never timed. No record of any of these logs may
//! cost more than a few; each of the logs once cost as many a record as it had records.

#![expect(clippy::unwrap_used, reason = "tests")]

use quiclens_core::catalogue::Catalogue;
use quiclens_core::dialect::{Losses, Units};
use quiclens_core::event::Event;
use quiclens_core::fold::{Fold, Trace};
use quiclens_core::header::Vantage;
use quiclens_core::reader::qlog::Reader;
use std::sync::LazyLock;

static CATALOGUE: LazyLock<Catalogue> = LazyLock::new(|| Catalogue::load().unwrap());

/// Steps that a record may cost.
const MOST: u64 = 100;

fn record(time_us: usize, kind: &str, space: &str, number: usize, frames: &str) -> String {
    format!(
        r#"{{"time":{}.{:03},"name":"transport:packet_{kind}","data":{{"header":{{"packet_type":"{space}","packet_number":{number}}},"raw":{{"length":1200}},"frames":[{frames}]}}}}"#,
        time_us / 1000,
        time_us % 1000
    )
}

fn stream(id: usize, offset: usize) -> String {
    format!(r#"{{"frame_type":"stream","stream_id":{id},"offset":{offset},"length":1100}}"#)
}

/// A response in packets 100 us apart. What `lost` names goes out again 200 packets later; every second packet brings
/// an acknowledgement of all but the lost, if any comes.
fn transfer(packets: usize, lost: &[usize], acknowledges: bool) -> Vec<String> {
    let request = r#"{"frame_type":"stream","stream_id":0,"offset":0,"length":30,"fin":true}"#;
    let mut records = vec![record(0, "received", "1RTT", 0, request)];
    let mut offset = 0;
    for number in 0..packets {
        let time_us = 1000 + number * 100;
        let again = lost.iter().find(|lost| **lost + 200 == number).map(|lost| lost * 1100);
        records.push(record(time_us, "sent", "1RTT", number, &stream(0, again.unwrap_or(offset))));
        offset += 1100;
        if acknowledges && number % 2 == 1 && number > 100 {
            let newest = number - 100;
            let mut ranges = Vec::new();
            let mut from = 0;
            for lost in lost.iter().filter(|lost| **lost <= newest) {
                ranges.push(format!("[{from},{}]", lost - 1));
                from = lost + 1;
            }
            ranges.push(format!("[{from},{newest}]"));
            let frame = format!(r#"{{"frame_type":"ack","ack_delay":0.1,"acked_ranges":[{}]}}"#, ranges.join(","));
            records.push(record(time_us + 50, "received", "1RTT", number, &frame));
        }
    }
    records
}

fn steps(records: &[String], losses: Losses) -> u64 {
    let units = Units { time: 6, rtt: 6, delay: 6, pacing: 1 };
    let (mut reader, mut event) = (Reader::new(units, &[]), Event::default());
    let mut fold = Fold::new(Trace { vantage: Vantage::Server, losses, ..Trace::default() });
    for (seq, record) in records.iter().enumerate() {
        reader.read(&CATALOGUE, record.as_bytes(), &mut event).unwrap();
        event.seq = seq as u64;
        event.time_us = event.source_ns / 1000;
        fold.event(&event);
    }
    fold.steps() / records.len() as u64
}

#[test]
fn a_packet_that_stays_without_an_acknowledgement_costs_the_others_nothing() {
    let mut with_initial = vec![record(0, "sent", "initial", 0, r#"{"frame_type":"crypto","offset":0,"length":1000}"#)];
    with_initial.extend(transfer(20_000, &[], true));
    for (name, records, losses) in [
        ("clean", transfer(20_000, &[], true), Losses::Packet),
        ("one lost, nobody says so", transfer(20_000, &[50], true), Losses::None),
        ("one never acknowledged", transfer(20_000, &[50], true), Losses::Packet),
        ("an Initial never acknowledged", with_initial, Losses::Packet),
        ("no acknowledgement at all", transfer(100_000, &[], false), Losses::Packet),
    ] {
        let steps = steps(&records, losses);
        assert!(steps < MOST, "{name}: {steps} steps a record");
    }
}
