//! A fold's state can be put away after any event and taken up again: the rows are the same.

#![expect(clippy::unwrap_used, reason = "tests")]

use quiclens_core::catalogue::Catalogue;
use quiclens_core::event::Event;
use quiclens_core::fold::{Fold, Trace};
use quiclens_core::header::{Header, Vantage};
use quiclens_core::reader::qlog::Reader;
use quiclens_core::reader::quic_trace;
use quiclens_core::reader::sniff::Framing;
use quiclens_core::record::columns::episodes::Episodes;
use quiclens_core::record::columns::{connections, rejects, streams};
use quiclens_core::record::rows::Row;
use quiclens_core::tables::Tables;
use quiclens_core::trace::TraceReader;
use serde_json::Value;
use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

fn vector(case: &str) -> String {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../schema/vectors").join(case);
    let input = std::fs::read_dir(folder)
        .unwrap()
        .map(|entry| entry.unwrap().path())
        .find(|path| path.file_stem().unwrap() == "input");
    std::fs::read_to_string(input.unwrap()).unwrap()
}

/// Folds the events; every `every` of them the state goes through JSON.
fn fold(events: &[Event], frameless: bool, every: usize) -> String {
    let trace = Trace {
        connection_id: "c".into(),
        trace_id: "t".into(),
        vantage: Vantage::Server,
        frameless,
        ..Trace::default()
    };
    let mut fold = Fold::new(trace);
    let (mut streams, mut episodes) = (Vec::new(), Vec::new());
    for (index, event) in events.iter().enumerate() {
        fold.event(event);
        streams.append(&mut fold.output.streams);
        episodes.append(&mut fold.output.episodes);
        if (index + 1) % every == 0 {
            fold = serde_json::from_str(&serde_json::to_string(&fold).unwrap()).unwrap();
        }
    }
    fold.finish();
    streams.append(&mut fold.output.streams);
    episodes.append(&mut fold.output.episodes);
    serde_json::to_string(&(streams, episodes, fold.connection(true), fold.alias_rows())).unwrap()
}

fn check(events: &[Event], frameless: bool) {
    let whole = fold(events, frameless, usize::MAX);
    assert!(whole.len() > 1000);
    for every in [1, 2, 7, 50] {
        assert_eq!(fold(events, frameless, every), whole, "every {every}");
    }
}

fn timed(mut event: Event, index: usize, base: i64) -> Event {
    event.seq = index as u64;
    event.time_us = (event.source_ns - base).div_euclid(1000);
    event
}

/// A case's events, numbered and timed.
fn events(catalogue: &Catalogue, case: &str) -> Vec<Event> {
    let document: Value = serde_json::from_str(&vector(case)).unwrap();
    let units = quiclens_core::dialect::Units::all(6);
    let mut reader = Reader::new(units, &[]);
    let read = document["traces"][0]["events"].as_array().unwrap().iter().map(|record| {
        let mut event = Event::default();
        reader.read(catalogue, record.to_string().as_bytes(), &mut event).unwrap();
        event
    });
    let events: Vec<Event> = read.collect();
    let base = events[0].source_ns;
    events.into_iter().enumerate().map(|(index, event)| timed(event, index, base)).collect()
}

#[test]
fn a_request_that_is_over_is_shown_at_its_last_event_and_looking_changes_nothing() {
    let catalogue = Catalogue::load().unwrap();
    let events = events(&catalogue, "aioquic_burst_loss_server");
    let trace = Trace { trace_id: "t".into(), vantage: Vantage::Server, ..Trace::default() };
    let (mut fold, mut untouched) = (Fold::new(trace.clone()), Fold::new(trace));
    let mut standing = Vec::new();
    for event in &events {
        fold.event(event);
        untouched.event(event);
        standing.extend(fold.standing());
        assert_eq!(fold.output.streams, untouched.output.streams);
        assert_eq!(fold.output.episodes, untouched.output.episodes);
    }
    fold.finish();
    assert!(fold.output.streams.len() > 1);
    for last in &fold.output.streams {
        let shown = standing.iter().filter(|row| row.get(streams::STREAM_ID) == last.get(streams::STREAM_ID));
        let newest = shown.max_by_key(|row| row.whole(streams::VERSION)).unwrap();
        assert!(newest.whole(streams::VERSION) <= last.whole(streams::VERSION));
        for name in ["end_us", "last_seq", "complete", "duration_us", "network_us", "loss_recovery_us"] {
            assert_eq!(newest.get_named(name), last.get_named(name), "{name}");
        }
    }
}

#[test]
fn a_row_is_later_by_its_events_and_then_by_its_trace_being_whole() {
    let catalogue = Catalogue::load().unwrap();
    let mut fold = Fold::new(Trace { trace_id: "t".into(), vantage: Vantage::Server, ..Trace::default() });
    let mut versions = Vec::new();
    for event in &events(&catalogue, "aioquic_burst_loss_server") {
        fold.event(event);
        versions.extend([false, true].map(|whole| fold.connection(whole).whole(connections::VERSION)));
    }
    assert!(versions.is_sorted_by(|earlier, later| earlier < later));
}

/// Which episodes there are when the log ends after `events`.
fn episodes(events: &[Event]) -> BTreeSet<String> {
    let mut fold = Fold::new(Trace { trace_id: "t".into(), vantage: Vantage::Server, ..Trace::default() });
    events.iter().for_each(|event| fold.event(event));
    fold.finish();
    let name = |row: &Row<Episodes>| {
        ["kind", "path_id", "stream_id", "first_seq"].map(|column| format!("{:?}", row.get_named(column)))
    };
    fold.output.episodes.iter().map(|row| name(row).join(" ")).collect()
}

/// The records of a rule's case, one a line after the header.
fn rule(catalogue: &Catalogue, case: &str) -> Vec<Event> {
    let units = quiclens_core::dialect::Units::all(6);
    let mut reader = Reader::new(units, &[]);
    let text = vector(case);
    let read = text.lines().skip(1).filter_map(|line| {
        let mut event = Event::default();
        reader.read(catalogue, line.trim_start_matches('\u{1e}').as_bytes(), &mut event).ok()?;
        Some(event)
    });
    let events: Vec<Event> = read.collect();
    let base = events.first().map_or(0, |event| event.source_ns);
    events.into_iter().enumerate().map(|(index, event)| timed(event, index, base)).collect()
}

/// The cases of all rules.
fn rules(catalogue: &Catalogue) -> Vec<(String, Vec<Event>)> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../schema/vectors");
    let cases = std::fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().file_name().into_string().unwrap());
    cases.filter(|case| case.starts_with("rule_")).map(|case| (case.clone(), rule(catalogue, &case))).collect()
}

#[test]
fn a_longer_reading_has_every_episode_of_a_shorter_one() {
    let catalogue = Catalogue::load().unwrap();
    let whole = ["aioquic_burst_loss_server", "aioquic_tail_loss_server", "aioquic_stream_credit_server"];
    let mut cases: Vec<(String, Vec<Event>)> =
        whole.iter().map(|case| ((*case).to_owned(), events(&catalogue, case))).collect();
    cases.extend(rules(&catalogue));
    let mut found = 0;
    for (case, events) in &cases {
        let whole = episodes(events);
        found += whole.len();
        for cut in 1..events.len() {
            let more: Vec<String> = episodes(&events[..cut]).difference(&whole).cloned().collect();
            assert!(more.is_empty(), "{case} cut after {cut} of {}: {more:?}", events.len());
        }
    }
    assert!(found > 100);
}

#[test]
fn a_fold_goes_on_where_it_was_put_away() {
    let catalogue = Catalogue::load().unwrap();
    for case in ["aioquic_burst_loss_server", "aioquic_tail_loss_server", "aioquic_stream_credit_server"] {
        check(&events(&catalogue, case), false);
    }
    let rows = vector("quic_trace_tail_loss");
    let events = rows.lines().enumerate().map(|(index, line)| {
        let mut event = Event::default();
        quic_trace::read(&catalogue, line.as_bytes(), &mut event).unwrap();
        timed(event, index, 1_000_000_000)
    });
    check(&events.collect::<Vec<_>>(), true);
}

#[test]
fn what_every_rule_needs_is_put_away() {
    for (case, events) in rules(&Catalogue::load().unwrap()) {
        for frameless in [false, true] {
            assert_eq!(fold(&events, frameless, 1), fold(&events, frameless, usize::MAX), "{case}");
        }
    }
}

/// Requests one after the other, of each of which a thread wrote one record late.
fn late_requests() -> Vec<String> {
    let header = r#"{"qlog_version":"0.3","qlog_format":"JSON-SEQ","trace":{"vantage_point":{"type":"server"},"common_fields":{"ODCID":"0102030405060708","time_format":"relative"}}}"#;
    let requests = (0..200).flat_map(|number| {
        let (ms, id) = (10 * number, 4 * number);
        let packet = |at: f64, way: &str, packet: u64, frame: String| {
            let header = format!(r#""header":{{"packet_type":"1RTT","packet_number":{packet}}}"#);
            format!(r#"{{"time":{at},"name":"transport:packet_{way}","data":{{{header},"frames":[{frame}]}}}}"#)
        };
        let stream =
            |length| format!(r#"{{"frame_type":"stream","stream_id":{id},"offset":0,"length":{length},"fin":true}}"#);
        let ack = format!(r#"{{"frame_type":"ack","ack_delay":0,"acked_ranges":[[0,{number}]]}}"#);
        [
            packet(ms as f64, "received", 2 * number, stream(40)),
            packet(ms as f64 + 2.0, "sent", number, stream(1000)),
            packet(ms as f64 + 6.0, "received", 2 * number + 1, ack),
            format!(r#"{{"time":{}.5,"name":"recovery:metrics_updated","data":{{"smoothed_rtt":4}}}}"#, ms + 5),
        ]
    });
    [header.to_owned()].into_iter().chain(requests).collect()
}

/// The requests of which a trace has rows when it is shown, put away and taken up after every `every` records, as a
/// follower does between two readings.
fn requests_of(text: &[String], every: usize) -> BTreeSet<u64> {
    let catalogue = Catalogue::load().unwrap();
    let header = Header::sequential(text[0].as_bytes(), Framing::Sequential).unwrap();
    let (mut trace, mut tables, mut parts) =
        (TraceReader::new(&catalogue, header, "file"), Tables::default(), BTreeMap::new());
    for (index, record) in text.iter().enumerate().skip(1) {
        trace.stand(index as u64);
        trace.push_whole(record.as_bytes(), &mut tables).unwrap();
        if index % every != 0 {
            continue;
        }
        trace.show(&mut tables);
        let head = serde_json::to_string(&trace.save()).unwrap();
        for (number, state) in trace.save_connections() {
            match state {
                Some(state) => drop(parts.insert(number, serde_json::to_string(&state).unwrap())),
                None => drop(parts.remove(&number)),
            }
        }
        trace = TraceReader::restore(&catalogue, serde_json::from_str(&head).unwrap()).unwrap();
        for (number, state) in &parts {
            trace.restore_connection(*number, serde_json::from_str(state).unwrap());
        }
    }
    trace.finish(true, &mut tables);
    tables.streams.iter().map(|row| row.whole(streams::STREAM_ID)).collect()
}

#[test]
fn no_request_is_lost_with_records_that_waited_for_older_ones_when_a_trace_is_put_away() {
    let text = late_requests();
    let whole = requests_of(&text, usize::MAX);
    assert_eq!(whole.len(), 200);
    for every in [3, 9, 13, 50] {
        assert_eq!(requests_of(&text, every), whole, "every {every}");
    }
}

#[test]
fn a_record_whose_time_cannot_be_placed_is_rejected_where_it_stands_also_when_it_was_put_away() {
    let catalogue = Catalogue::load().unwrap();
    let header = r#"{"qlog_version":"0.3","qlog_format":"JSON-SEQ","trace":{"vantage_point":{"type":"server"}}}"#;
    let far = r#"{"time":1,"time_format":"relative","reference_time":{"epoch":"9541-11-20T10:00:00.000Z"},"name":"a:b","data":{}}"#;
    for is_put_away in [false, true] {
        let header = Header::sequential(header.as_bytes(), Framing::Sequential).unwrap();
        let (mut trace, mut tables) = (TraceReader::new(&catalogue, header, "file"), Tables::default());
        for place in [100, 200] {
            trace.stand(place);
            trace.push_whole(far.as_bytes(), &mut tables).unwrap();
            if is_put_away {
                let head = serde_json::to_string(&trace.save()).unwrap();
                trace = TraceReader::restore(&catalogue, serde_json::from_str(&head).unwrap()).unwrap();
            }
        }
        trace.finish(true, &mut tables);
        let places: Vec<u64> = tables.rejects.iter().map(|row| row.whole(rejects::OFFSET)).collect();
        assert_eq!((tables.rejected["no_time"], places), (2, vec![100, 200]));
    }
}
