//! What a log costs: packets and intervals that are looked at, counted, never timed. No record of any of these logs may
//! cost more than a few; each of the logs once cost as many a record as it had records.

#![expect(clippy::unwrap_used, reason = "tests")]

mod packets;

use packets::record;
use quiclens_core::catalogue::Catalogue;
use quiclens_core::dialect::{LossReporting, Units};
use quiclens_core::event::Event;
use quiclens_core::fold::{Fold, Trace};
use quiclens_core::header::{Header, Vantage};
use quiclens_core::reader::qlog::Reader;
use quiclens_core::reader::quic_trace;
use quiclens_core::reader::sniff::Framing;
use quiclens_core::tables::Tables;
use quiclens_core::trace::TraceReader;
use std::sync::LazyLock;

static CATALOGUE: LazyLock<Catalogue> = LazyLock::new(|| Catalogue::load().unwrap());

/// Steps that a record may cost.
const MOST: u64 = 100;

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

/// A response in `streams` of which all is lost, and nothing goes out again; each acknowledgement names one more packet that
/// went out before and has no record.
fn unseen(packets: usize, streams: usize) -> Vec<String> {
    let mut records = spread(1, streams, 1);
    let first = 10 * packets;
    for number in 0..2 * streams {
        records.push(record(
            2_000,
            "sent",
            "1RTT",
            first + number,
            &stream(number % streams * 4, 5_000 + number / streams),
        ));
    }
    for number in 0..2 * streams {
        let header = format!(r#"{{"packet_type":"1RTT","packet_number":{}}}"#, first + number);
        records.push(format!(r#"{{"time":3,"name":"recovery:packet_lost","data":{{"header":{header}}}}}"#));
    }
    for number in 0..packets {
        let old = 3 * number + 2;
        let frame = format!(r#"{{"frame_type":"ack","ack_delay":0.1,"acked_ranges":[[{old},{old}]]}}"#);
        records.push(record(4_000 + number * 100, "received", "1RTT", streams + number, &frame));
    }
    records
}

fn steps(records: &[String], losses: LossReporting) -> u64 {
    all_steps(records, losses) / records.len() as u64
}

fn all_steps(records: &[String], losses: LossReporting) -> u64 {
    let units = Units::all(6);
    let (mut reader, mut event) = (Reader::new(units, &[]), Event::default());
    let mut fold = Fold::new(Trace { vantage: Vantage::Server, losses, ..Trace::default() });
    for (seq, record) in records.iter().enumerate() {
        reader.read(&CATALOGUE, record.as_bytes(), &mut event).unwrap();
        event.seq = seq as u64;
        event.time_us = event.source_ns / 1000;
        fold.event(&event);
    }
    fold.steps()
}

/// Rows without frames of so many open requests: packets go out and are acknowledged, with one record of a request between.
/// `kinds` are the events by which each opens, and whether its credit is used up.
fn rows(packets: usize, requests: usize, kinds: &[&str], is_blocked: bool) -> Vec<String> {
    let mut rows = Vec::new();
    for id in 0..requests {
        kinds.iter().for_each(|kind| rows.push(format!("1000000\tstream_event\t{kind}, {}, 0", 4 * id)));
        if is_blocked {
            rows.push(format!("1000000\tflow_control_event\tstream_blocked, {}, 100", 4 * id));
        }
    }
    for number in 0..packets {
        let time_us = 2_000_000 + number * 100;
        rows.push(format!("{time_us}\tpacket_sent\tAppDataSpace, {number}, 1232, 0, 0, 0"));
        rows.push(format!("{}\tpacket_acked\tAppDataSpace, {number}", time_us + 50));
        rows.push(format!("{}\tstream_event\ton_eom, {}, 0", time_us + 60, number % requests * 4));
    }
    rows
}

#[test]
fn rows_without_frames_cost_no_look_at_every_open_request() {
    let headers = ["on_eom", "headers"];
    let whole = ["on_eom", "headers", "eom"];
    for (name, rows) in [
        ("one request", rows(20_000, 1, &headers, false)),
        ("responses under way", rows(20_000, 3_000, &headers, false)),
        ("responses that are queued whole, without credit", rows(20_000, 3_000, &whole, true)),
        ("responses that have not begun", rows(20_000, 3_000, &["on_eom", "eom"], false)),
    ] {
        let mut event = Event::default();
        let mut fold = Fold::new(Trace { vantage: Vantage::Server, frameless: true, ..Trace::default() });
        for (seq, row) in rows.iter().enumerate() {
            quic_trace::read(&CATALOGUE, row.as_bytes(), &mut event).unwrap();
            (event.seq, event.time_us) = (seq as u64, event.source_ns / 1000);
            fold.event(&event);
        }
        let steps = fold.steps() / rows.len() as u64;
        assert!(steps < 10, "{name}: {steps} steps a record");
    }
}

/// A response of many streams that take turns, all of them open to the end, on `paths` paths.
fn spread(packets: usize, streams: usize, paths: usize) -> Vec<String> {
    let mut records = Vec::new();
    for id in 0..streams {
        let request = format!(r#"{{"frame_type":"stream","stream_id":{},"offset":0,"length":30,"fin":true}}"#, id * 4);
        records.push(record(0, "received", "1RTT", id, &request));
    }
    for number in 0..packets {
        let (time_us, path) = (1000 + number * 100, number % paths);
        let frame = stream(number % streams * 4, number / streams * 1100);
        records.push(on(path, &record(time_us, "sent", "1RTT", number, &frame)));
        if number >= 100 {
            let newest = number - 100;
            let frame = format!(r#"{{"frame_type":"ack","ack_delay":0.1,"acked_ranges":[[{newest},{newest}]]}}"#);
            let acknowledged = record(time_us + 50, "received", "1RTT", streams + number, &frame);
            records.push(on(newest % paths, &acknowledged));
        }
    }
    records
}

fn on(path: usize, record: &str) -> String {
    record.replacen("\"data\":{", &format!("\"data\":{{\"path_id\":{path},"), 1)
}

#[test]
fn a_packet_that_stays_without_an_acknowledgement_costs_the_others_nothing() {
    let mut with_initial = vec![record(0, "sent", "initial", 0, r#"{"frame_type":"crypto","offset":0,"length":1000}"#)];
    with_initial.extend(transfer(20_000, &[], true));
    for (name, records, losses) in [
        ("clean", transfer(20_000, &[], true), LossReporting::Packet),
        ("one lost, nobody says so", transfer(20_000, &[50], true), LossReporting::None),
        ("one never acknowledged", transfer(20_000, &[50], true), LossReporting::Packet),
        ("an Initial never acknowledged", with_initial, LossReporting::Packet),
        ("no acknowledgement at all", transfer(100_000, &[], false), LossReporting::Packet),
    ] {
        let steps = steps(&records, losses);
        assert!(steps < MOST, "{name}: {steps} steps a record");
    }
}

/// A fifth more at most: what stays undecided behind a loss that nobody declares is looked at again whenever it has doubled.
#[test]
fn losses_paths_streams_and_missing_acknowledgements_cost_what_a_clean_log_costs() {
    // A log may end just after such a look, or just before it.
    for packets in [5_000, 20_000, 33_000, 50_000] {
        let lossless = all_steps(&transfer(packets, &[], true), LossReporting::Packet);
        let single = all_steps(&spread(packets, 1, 1), LossReporting::Packet);
        for (name, records, losses, clean) in [
            ("one lost, nobody says so", transfer(packets, &[50], true), LossReporting::None, lossless),
            ("one lost, late", transfer(packets, &[packets / 4 * 3], true), LossReporting::None, lossless),
            ("no acknowledgement at all", transfer(packets, &[], false), LossReporting::Packet, lossless),
            ("a thousand paths", spread(packets, 1, 1_000), LossReporting::Packet, single),
            ("a thousand streams", spread(packets, 1_000, 1), LossReporting::Packet, single),
            ("a thousand streams, nobody says what is lost", spread(packets, 1_000, 1), LossReporting::None, single),
        ] {
            let steps = all_steps(&records, losses);
            assert!(steps * 5 <= clean * 6, "{name}, {packets} packets: {steps} steps, {clean} of a clean log");
        }
    }
}

/// A response of which each tenth packet is lost (or each, when no acknowledgement comes), and nothing goes out again.
fn unrepaired(packets: usize, acknowledges: bool) -> Vec<String> {
    let request = r#"{"frame_type":"stream","stream_id":0,"offset":0,"length":30,"fin":true}"#;
    let mut records = vec![record(0, "received", "1RTT", 0, request)];
    for number in 0..packets {
        let time_us = 1000 + number * 100;
        records.push(record(time_us, "sent", "1RTT", number, &stream(0, number * 1100)));
        let Some(old) = number.checked_sub(100) else { continue };
        if old % 10 == 0 || !acknowledges {
            let header = format!(r#"{{"packet_type":"1RTT","packet_number":{old}}}"#);
            records.push(format!(
                r#"{{"time":{}.{:03},"name":"recovery:packet_lost","data":{{"header":{header}}}}}"#,
                time_us / 1000,
                time_us % 1000 + 50
            ));
        } else {
            let frame = format!(r#"{{"frame_type":"ack","ack_delay":0.1,"acked_ranges":[[{old},{old}]]}}"#);
            records.push(record(time_us + 50, "received", "1RTT", number, &frame));
        }
    }
    records
}

/// A response of many streams that take turns, all of them open to the end, with a window that changes.
fn windowed(packets: usize, streams: usize, acknowledges: bool) -> Vec<String> {
    let (mut records, packet) = (Vec::new(), |record: &String| record.contains("received"));
    for (number, record) in spread(packets, streams, 1).into_iter().enumerate() {
        let time = record.strip_prefix(r#"{"time":"#).and_then(|rest| rest.split_once(',')).unwrap().0.to_owned();
        if number < streams || acknowledges || !packet(&record) {
            records.push(record);
        }
        if number > streams && number % 3 == 0 {
            let (window, rtt) = (12_000 + number % 7 * 1000, 10 + number % 3);
            records.push(format!(
                r#"{{"time":{time},"name":"recovery:metrics_updated","data":{{"congestion_window":{window},"bytes_in_flight":12000,"smoothed_rtt":{rtt},"latest_rtt":{rtt}}}}}"#
            ));
        }
    }
    records
}

/// Twice the log is twice the work, whatever stays open in it: a request, a loss, a wait.
#[test]
fn what_stays_open_costs_as_much_for_each_record_of_a_long_log_as_of_a_short_one() {
    type Log = fn(usize) -> Vec<String>;
    let logs: [(&str, Log); 7] = [
        ("a tenth lost and never repaired", |packets| unrepaired(packets, true)),
        ("all lost, no acknowledgement", |packets| unrepaired(packets, false)),
        ("many open requests with a changing window", |packets| windowed(packets, 3_000, true)),
        ("likewise, without acknowledgements", |packets| windowed(packets, 3_000, false)),
        ("few open requests with a changing window", |packets| windowed(packets, 20, true)),
        ("packets without records beside what was lost of a request", |packets| unseen(packets, 1)),
        ("likewise, of many", |packets| unseen(packets, 60)),
    ];
    for (name, log) in logs {
        let [short, long] = [15_000, 60_000].map(|packets| steps(&log(packets), LossReporting::Packet));
        assert!(short < MOST && long <= 2 * short + 2, "{name}: {short} steps a record, then {long}");
    }
}

/// Headers of one file: each trace ends those before it, and each of them is named once, not once for each that follows.
#[test]
fn a_header_costs_no_look_at_the_traces_before_it() {
    let header = || Header::sequential(br#"{"qlog_version":"0.3","trace":{}}"#, Framing::NdJson).unwrap();
    let mut tables = Tables::default();
    let mut trace = TraceReader::new(&CATALOGUE, header(), "file");
    for _ in 0..1000 {
        for group in ["a", "b"] {
            let record = format!(r#"{{"time":1,"name":"a:b","group_id":"{group}","data":{{}}}}"#);
            trace.push_whole(record.as_bytes(), &mut tables).unwrap();
        }
        let mut next = TraceReader::new(&CATALOGUE, header(), "file");
        next.follow(&mut trace, &mut tables);
        std::mem::replace(&mut trace, next).finish(true, &mut tables);
    }
    let told: Vec<(u64, bool)> = trace.save_connections().map(|(number, state)| (number, state.is_some())).collect();
    assert_eq!((told, trace.save_connections().count()), (vec![(1, false), (2, false)], 0));
}
