//! Each limit of `limits.rs`: what is at it is taken, what crosses it costs itself, and is counted where it is lost.

#![expect(clippy::unwrap_used, reason = "tests")]

use quiclens_core::catalogue::Catalogue;
use quiclens_core::crossed::Bound;
use quiclens_core::dialect::Units;
use quiclens_core::event::{Event, Number};
use quiclens_core::fold::recovery::packets::{Chunk, Sent, Space};
use quiclens_core::fold::requests::losses::{Detection, Losses};
use quiclens_core::fold::requests::side::Side;
use quiclens_core::header::Header;
use quiclens_core::limits::*;
use quiclens_core::memory::TraceMemory;
use quiclens_core::reader::qlog::Reader;
use quiclens_core::reader::quic_trace::row;
use quiclens_core::reader::records::{RecordStep, Window, next_record};
use quiclens_core::reader::skip::{Skip, Stop};
use quiclens_core::reader::sniff::Framing;
use quiclens_core::record::columns::connections::Connections;
use quiclens_core::record::columns::{connections, rejects, streams};
use quiclens_core::record::rows::{Cell, Row};
use quiclens_core::tables::Tables;
use quiclens_core::trace::{Reject, TraceReader};
use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write;
use std::path::Path;
use std::sync::LazyLock;

static CATALOGUE: LazyLock<Catalogue> = LazyLock::new(|| Catalogue::load().unwrap());
const HEADER: &str = r#"{"qlog_version":"0.3","trace":{"vantage_point":{"type":"server"}}}"#;

#[test]
fn the_readme_shows_the_table() {
    let mut table = "| limit | at most | counted as | beyond it |\n|---|---|---|---|\n".to_owned();
    for Limit { of, value, unit, counted, beyond } in TABLE {
        let value = match value {
            value if value == LARGEST => "2⁶² − 1".to_owned(),
            value if value == SEQ_LIMIT - 1 => "2³⁸ − 1".to_owned(),
            value if value >= 1 << 20 && unit == "B" => format!("{} MiB", value >> 20),
            value if value >= 1 << 10 && unit == "B" => format!("{} KiB", value >> 10),
            value => format!("{value} {unit}").trim().to_owned(),
        };
        let counted = match counted {
            Counted::Reject(reason) => format!("reject `{}`", reason.name()),
            Counted::Crossed(bound) => format!("`limits_crossed` `{}`", bound.name()),
            Counted::Not => String::new(),
        };
        writeln!(table, "| {of} | {value} | {counted} | {beyond} |").unwrap();
    }
    let readme = std::fs::read_to_string(Path::new(env!("CARGO_MANIFEST_DIR")).join("../README.md")).unwrap();
    assert!(readme.contains(&table), "collectors/README.md must have\n{table}");
}

/// Rows of a sequence of these records.
fn tables(header: &str, records: impl IntoIterator<Item = String>) -> Tables {
    with_tables(Tables::default(), header, records)
}

fn with_tables(mut tables: Tables, header: &str, records: impl IntoIterator<Item = String>) -> Tables {
    let header = Header::sequential(header.as_bytes(), Framing::NdJson).unwrap();
    let mut trace = TraceReader::new(&CATALOGUE, header, "file");
    for (place, record) in records.into_iter().enumerate() {
        trace.stand(place as u64);
        trace.push_whole(record.as_bytes(), &mut tables).unwrap();
    }
    trace.finish(true, &mut tables);
    tables
}

fn rejected(tables: &Tables, reason: Skip, count: u64) {
    assert_eq!(tables.rejected, BTreeMap::from([(reason.name(), count)]));
    // Each has its own key.
    let places: Vec<_> = tables.rejects.iter().map(|row| row.whole(rejects::OFFSET)).collect();
    assert_eq!(places.iter().collect::<std::collections::BTreeSet<_>>().len(), places.len());
    assert!(places.iter().all(|place| *place > 0));
}

/// What `work` gives, which must cross that limit.
fn crosses<T>(bound: Bound, work: impl FnOnce() -> T) -> T {
    let before = bound.times();
    let out = work();
    assert!(bound.times() > before, "{} is not crossed", bound.name());
    out
}

#[test]
fn each_limit_that_is_counted_stands_in_the_table_once() {
    let counted = TABLE.iter().filter_map(|limit| match limit.counted {
        Counted::Crossed(bound) => Some(bound.name()),
        _ => None,
    });
    let mut counted: Vec<_> = counted.collect();
    counted.sort_unstable();
    let mut all = Bound::ALL.map(Bound::name);
    all.sort_unstable();
    assert_eq!(counted, all);
}

fn complete(row: &Row<Connections>) -> Option<bool> {
    if let Some(Cell::Truth(complete)) = row.get(connections::COMPLETE) { Some(*complete) } else { None }
}

fn read(text: &str) -> (Result<usize, Stop>, Event) {
    let mut event = Event::default();
    let units = Units::all(6);
    let read = Reader::new(units, &[]).read(&CATALOGUE, text.as_bytes(), &mut event);
    (read, event)
}

fn packet(kind: &str, number: usize, more: &str, frames: &str) -> String {
    format!(
        r#"{{"time":{number},"name":"transport:packet_{kind}","data":{{{more}"header":{{"packet_type":"1RTT","packet_number":{number}}},"raw":{{"length":1200}},"frames":[{frames}]}}}}"#
    )
}

#[test]
fn a_record_has_so_many_bytes() {
    for (extra, wanted) in
        [(0, RecordStep::Record { len: RECORD_LIMIT, taken: RECORD_LIMIT + 1 }), (1, RecordStep::TooLong)]
    {
        let mut window = Window::default();
        window.space().resize(RECORD_LIMIT + extra, b'x');
        window.space().push(b'\n');
        assert_eq!(next_record(Framing::NdJson, &mut window), wanted);
    }
}

#[test]
fn a_record_nests_so_deep() {
    let nested = |depth: usize| {
        let depth = depth - 2;
        format!(r#"{{"time":1,"name":"a:b","data":{{"x":{}1{}}}}}"#, "[".repeat(depth), "]".repeat(depth))
    };
    let most = usize::try_from(MAX_DEPTH).unwrap();
    // Levels of a value that is kept whole.
    assert!(read(&nested(most + 2)).0.is_ok());
    assert_eq!(read(&nested(most + 3)).0, Err(Stop::Skip(Skip::TooDeep)));
}

#[test]
fn an_integer_is_so_large() {
    let sized = |size: u64| format!(r#"{{"time":1,"name":"quic:packet_sent","data":{{"raw":{{"length":{size}}}}}}}"#);
    let (_, event) = read(&sized(LARGEST));
    assert_eq!((event.get(Number::PacketBytes), event.more.len()), (Some(LARGEST), 0));
    let (_, event) = read(&sized(LARGEST + 1));
    assert_eq!((event.get(Number::PacketBytes), event.leftover("raw.length")), (None, Some("4611686018427387904")));
}

#[test]
fn a_seq_is_so_large() {
    let line = |seq: u64| format!("c\t{seq}\t1\tpacket_sent\t1");
    assert_eq!(row(&line(SEQ_LIMIT - 1)).and_then(|row| row.seq), Some(SEQ_LIMIT - 1));
    assert_eq!(row(&line(SEQ_LIMIT)), None);
}

#[test]
fn a_packet_has_so_many_frames() {
    let frames = |count: usize| packet("sent", 1, "", &vec!["{}"; count].join(","));
    let (done, event) = read(&frames(FRAMES));
    assert_eq!((done.is_ok(), event.frames.len()), (true, FRAMES));
    assert_eq!(read(&frames(FRAMES + 1)).0, Err(Stop::Skip(Skip::TooManyFrames)));
}

#[test]
fn so_much_decides_what_a_trace_is() {
    let reject = |bytes: usize| Reject { reason: Some(Skip::NotJson), bytes: vec![b'x'; bytes], ..Reject::default() };
    let held = |count: usize, bytes: usize| {
        let mut tables = Tables::default();
        let header = Header::sequential(HEADER.as_bytes(), Framing::NdJson).unwrap();
        let mut trace = TraceReader::new(&CATALOGUE, header, "file");
        (0..count).for_each(|_| trace.reject(reject(bytes), &mut tables));
        count - tables.rejects.len()
    };
    assert_eq!(
        (held(PRELUDE_REJECTS, 1), crosses(Bound::PreludeRejects, || held(PRELUDE_REJECTS + 1, 1))),
        (PRELUDE_REJECTS, 0)
    );
    let kept = PRELUDE_BYTES / REJECT_BYTES;
    assert_eq!((held(kept, REJECT_BYTES), crosses(Bound::PreludeBytes, || held(kept + 1, REJECT_BYTES))), (kept, 0));
    // So that a trace is the same one whatever others hold, those make room.
    let has_none = |prelude| TraceMemory { prelude, ..TraceMemory::default() }.has_no_prelude_left();
    assert_eq!([PRELUDES_BYTES - PRELUDE_BYTES, PRELUDES_BYTES - PRELUDE_BYTES + 1].map(has_none), [false, true]);
    let events = |count: usize| {
        let mut tables = Tables { wants_events: true, ..Tables::default() };
        let header = Header::sequential(HEADER.as_bytes(), Framing::NdJson).unwrap();
        let mut trace = TraceReader::new(&CATALOGUE, header, "file");
        let event = br#"{"time":1,"name":"a:b","data":{}}"#;
        (0..count).for_each(|_| trace.push_whole(event, &mut tables).unwrap());
        tables.events.len()
    };
    assert_eq!((events(PRELUDE - 1), events(PRELUDE)), (0, PRELUDE));
}

#[test]
fn so_many_connections_are_open() {
    let mut tables = Tables::default();
    let mut trace = TraceReader::new(&CATALOGUE, Header::rows(Framing::LineV1), "file");
    for number in 0..CONNECTIONS + 2 {
        trace.stand(number as u64);
        trace.push_whole(format!("c{number}\t0\t1\tupdate_rtt\t1").as_bytes(), &mut tables).unwrap();
    }
    rejected(&tables, Skip::TooManyConnections, 2);
    while trace.end_some(true, &mut tables) {
        assert!(tables.connections.len() <= SUMMARY_ROWS);
        tables.batches(&CATALOGUE, false).unwrap();
    }
    assert_eq!(tables.traces.len(), CONNECTIONS);
}

/// A log of an hour is read in minutes once the store is back: no time passes in which closed connections are silent.
#[test]
fn connections_that_closed_make_room_for_those_that_begin() {
    let mut tables = Tables { wants_events: true, ..Tables::default() };
    let mut trace =
        TraceReader::new(&CATALOGUE, Header::sequential(HEADER.as_bytes(), Framing::NdJson).unwrap(), "file");
    let mut place = 0;
    let mut push = |trace: &mut TraceReader<'_>, tables: &mut Tables, number: usize, name: &str| {
        place += 1;
        trace.stand(place);
        let record = format!(r#"{{"time":{place},"name":"{name}","group_id":"{number:08x}","data":{{}}}}"#);
        trace.push_whole(record.as_bytes(), tables).unwrap();
    };
    let closed = "connectivity:connection_closed";
    for number in 0..CONNECTIONS {
        push(&mut trace, &mut tables, number, "a:b");
        tables.events = Default::default();
    }
    for number in [5, 7, 3, 7] {
        push(&mut trace, &mut tables, number, closed);
    }
    // Late records of it come before there is no room.
    push(&mut trace, &mut tables, 7, "a:b");
    assert_eq!(tables.connections.len(), 0);
    push(&mut trace, &mut tables, CONNECTIONS, "a:b");
    push(&mut trace, &mut tables, CONNECTIONS + 1, "a:b");
    let ended = |tables: &Tables| -> Vec<String> {
        tables.connections.iter().map(|row| row.text(connections::CONNECTION_ID).unwrap().to_owned()).collect()
    };
    assert_eq!(ended(&tables), ["00000003", "00000005"], "the oldest, in whatever order they closed");
    let is_complete = |row: &Row<Connections>| row.get(connections::COMPLETE) == Some(&Cell::Truth(true));
    assert!(!tables.connections.iter().any(is_complete), "late records may come");
    assert!(tables.rejected.is_empty());
    // A record of one of them would begin another trace, which no state tells from the first.
    push(&mut trace, &mut tables, 3, "a:b");
    rejected(&tables, Skip::TooManyConnections, 1);
    assert_eq!(ended(&tables).len(), 2);
    let gone: Vec<u64> =
        trace.save_connections().filter_map(|(number, saved)| saved.is_none().then_some(number)).collect();
    assert_eq!(gone, [4, 6]);
    push(&mut trace, &mut tables, 3, "a:b");
    assert_eq!(ended(&tables), ["00000003", "00000005", "00000007"]);
    push(&mut trace, &mut tables, CONNECTIONS + 2, "a:b");
    rejected(&tables, Skip::TooManyConnections, 2);
    assert_eq!(trace.open_connections(), CONNECTIONS);
    // What begins after its first records were passed over is not whole; after a silence nobody knows it any more.
    let ends = |trace: &mut TraceReader<'_>, tables: &mut Tables, now_s: u64| {
        trace.at(now_s);
        tables.connections.clear();
        while trace.end_quiet(5, 60, tables) {
            tables.batches(&CATALOGUE, true).unwrap();
        }
    };
    ends(&mut trace, &mut tables, 100);
    push(&mut trace, &mut tables, CONNECTIONS + 2, "a:b");
    ends(&mut trace, &mut tables, 170);
    push(&mut trace, &mut tables, CONNECTIONS + 3, "a:b");
    trace.finish(true, &mut tables);
    let whole: Vec<_> = tables.connections.iter().map(is_complete).collect();
    assert_eq!(whole, [true]);
}

/// The saved states of connections that ended long ago are gone already: no header costs as much as all that ever were.
#[test]
fn a_second_header_ends_the_states_that_there_are() {
    let mut tables = Tables::default();
    let header = || Header::sequential(HEADER.as_bytes(), Framing::NdJson).unwrap();
    let mut trace = TraceReader::new(&CATALOGUE, header(), "file");
    for number in 0..PRELUDE + 1000 {
        trace.at(number as u64);
        let record = format!(r#"{{"time":{number},"name":"a:b","group_id":"{number:08x}","data":{{}}}}"#);
        trace.push_whole(record.as_bytes(), &mut tables).unwrap();
        trace.end_quiet(5, 60, &mut tables);
        if number % 100 == 99 {
            trace.save_connections().for_each(drop);
        }
    }
    let open = trace.open_connections();
    assert!((50..70).contains(&open), "{open}");
    let mut next = TraceReader::new(&CATALOGUE, header(), "file");
    next.follow(&mut trace, &mut tables);
    let gone: Vec<_> = next.save_connections().map(|(number, saved)| (number, saved.is_none())).collect();
    assert!((open..open + 100).contains(&gone.len()), "{} for {open}", gone.len());
    assert!(gone.iter().all(|(_, is_gone)| *is_gone));
}

#[test]
fn a_connection_has_a_name_of_so_many_bytes() {
    let name = |length: usize| "n".repeat(length);
    let of = |length: usize| format!(r#"{{"time":1,"name":"a:b","group_id":"{}","data":{{}}}}"#, name(length));
    assert!(read(&of(NAME_BYTES + 1)).0.is_ok(), "only a trace keeps it");
    let row = |length: usize| format!("{}\t0\t1\tupdate_rtt\t1", name(length));
    let pushed = |header: Header, record: String| {
        let (mut tables, mut trace) = (Tables::default(), TraceReader::new(&CATALOGUE, header, "file"));
        let pushed = trace.push_whole(record.as_bytes(), &mut tables);
        trace.finish(true, &mut tables);
        (pushed, tables.connections.len())
    };
    let header = || Header::sequential(HEADER.as_bytes(), Framing::NdJson).unwrap();
    let rows = || Header::rows(Framing::LineV1);
    for (length, wanted) in [(NAME_BYTES, (Ok(()), 1)), (NAME_BYTES + 1, (Err(Stop::Skip(Skip::TooLong)), 0))] {
        assert_eq!(pushed(header(), of(length)), wanted);
        assert_eq!(pushed(rows(), row(length)), wanted);
    }
}

#[test]
fn a_header_gives_names_of_so_many_bytes() {
    for key in ["ODCID", "group_id", "server"] {
        for (length, is_taken) in [(NAME_BYTES, true), (NAME_BYTES + 1, false)] {
            let name = "n".repeat(length);
            let text = format!(r#"{{"qlog_version":"0.3","trace":{{"common_fields":{{"{key}":"{name}"}}}}}}"#);
            let header = Header::sequential(text.as_bytes(), Framing::NdJson).unwrap();
            let given = header.declared().or(header.server().map(str::to_owned));
            assert_eq!((given, header.unread.is_empty()), (is_taken.then_some(name), is_taken), "{key}");
        }
    }
    // What a record says of its connection is no name either.
    let names = |length: usize| {
        let name = "0".repeat(length);
        let initial = packet("received", 0, "", "").replace("\"1RTT\"", &format!("\"initial\",\"dcid\":\"{name}\""));
        let found = tables(HEADER, [initial]);
        let is_named = found.connections[0].text(connections::CONNECTION_ID) == Some(name.as_str());
        let anchor = format!("c\t0\t0\tclock_anchor\t1700000000000000, {name}, 1, server");
        let mut found = Tables::default();
        let mut trace = TraceReader::new(&CATALOGUE, Header::rows(Framing::LineV1), "file");
        trace.push_whole(anchor.as_bytes(), &mut found).unwrap();
        trace.finish(true, &mut found);
        (is_named, found.connections[0].text(connections::SERVER) == Some(name.as_str()))
    };
    assert_eq!((names(NAME_BYTES), names(NAME_BYTES + 1)), ((true, true), (false, false)));
}

#[test]
fn so_many_values_of_a_header_are_read() {
    let header = |list: usize| {
        let text = format!(
            r#"{{"qlog_version":"0.3","x":[{}],"trace":{{"vantage_point":{{"type":"server"}}}}}}"#,
            vec!["1"; list].join(",")
        );
        Header::sequential(text.as_bytes(), Framing::NdJson).unwrap()
    };
    // Beside the list and its values there are the record, its version, the trace, its point, and the type of that.
    let most = HEADER_VALUES - 6;
    for (list, is_read) in [(most, true), (most + 1, false)] {
        let header = header(list);
        let found = &header.json["file"]["x"];
        assert_eq!((found.is_array(), found.is_string(), header.unread.is_empty()), (is_read, !is_read, is_read));
        assert_eq!(header.vantage().name(), "server", "other fields are read");
    }
    // Of texts the commas are none.
    let text = format!(r#"{{"qlog_version":"0.3","x":["{}"]}}"#, "\\\",[{".repeat(HEADER_VALUES));
    let header = Header::sequential(text.as_bytes(), Framing::NdJson).unwrap();
    assert!(header.json["file"]["x"].is_array() && header.unread.is_empty());
    // An object with more members than that is kept as its text too.
    let members: Vec<String> = (0..HEADER_VALUES).map(|number| format!(r#""{number}":1"#)).collect();
    let trace = format!("\"x\":{{{}}},\"vantage_point\":{{\"type\":\"server\"}}", members.join(","));
    let header = Header::contained(b"", trace.as_bytes(), (0, 0));
    assert_eq!((header.json["trace"]["x"].is_string(), header.vantage().name()), (true, "server"));
}

#[test]
fn a_header_is_repeated_so_often() {
    let long = "x".repeat(RECORD_LIMIT - 1024);
    let header = format!(r#"{{"qlog_version":"0.3","title":"{long}","trace":{{}}}}"#);
    let most = HEADER_COPIES / header.len();
    let record = |number: usize| format!(r#"{{"time":1,"name":"a:b","group_id":"g{number}","data":{{}}}}"#);
    let found = tables(&header, (0..most + 3).map(record));
    // The first records decide what the trace is: they are taken together.
    assert_eq!(found.connections.len(), most);
    assert_eq!(found.rejected[Skip::TooManyConnections.name()], 3);
}

#[test]
fn a_connection_has_so_many_open_requests() {
    let stream = |number: usize| {
        let frame = format!(r#"{{"frame_type":"stream","stream_id":{},"offset":0,"length":10}}"#, number * 4);
        packet("received", number, "", &frame)
    };
    let at_it = tables(HEADER, (0..OPEN_REQUESTS).map(stream));
    assert_eq!((at_it.streams.len(), at_it.rejects.len()), (OPEN_REQUESTS, 0));
    assert_eq!(complete(&at_it.connections[0]), Some(true));
    let beyond = tables(HEADER, (0..OPEN_REQUESTS + 3).map(stream));
    rejected(&beyond, Skip::TooManyRequests, 3);
    assert_eq!((beyond.streams.len(), beyond.counted), (OPEN_REQUESTS, OPEN_REQUESTS as u64 + 3));
    assert_eq!(complete(&beyond.connections[0]), Some(false));
    assert_eq!(beyond.rejects[0].whole(rejects::SEQ), OPEN_REQUESTS as u64);
}

/// Connections in rounds: in a round a record of each brings so many requests, in the next it answers them, and so on.
fn rounds(connections: usize, requests: usize, rounds: usize) -> impl Iterator<Item = String> {
    let record = move |round: usize, connection: usize| {
        let frame = |number: usize| {
            let id = (round / 2 * requests + number) * 4;
            format!(r#"{{"frame_type":"stream","stream_id":{id},"offset":0,"length":10}}"#)
        };
        let frames: Vec<String> = (0..requests).map(frame).collect();
        let group = format!(r#""group_id":"{connection:016x}","data":"#);
        let kind = if round.is_multiple_of(2) { "received" } else { "sent" };
        packet(kind, round, "", &frames.join(",")).replacen(r#""data":"#, &group, 1)
    };
    (0..rounds).flat_map(move |round| (0..connections).map(move |connection| record(round, connection)))
}

/// What becomes of records of connections that are too large together; the trace's last figure of them.
fn read_all(records: impl Iterator<Item = String>) -> (Tables, usize) {
    read_all_beside(TraceMemory::default(), records)
}

fn read_all_beside(beside: TraceMemory, records: impl Iterator<Item = String>) -> (Tables, usize) {
    let header = Header::sequential(HEADER.as_bytes(), Framing::NdJson).unwrap();
    let (mut trace, mut found) = (TraceReader::new(&CATALOGUE, header, "file"), Tables { beside, ..Tables::default() });
    for (place, record) in records.enumerate() {
        trace.stand(place as u64 + 1);
        trace.push_whole(record.as_bytes(), &mut found).unwrap();
    }
    let state = trace.memory().states;
    trace.finish(true, &mut found);
    (found, state)
}

#[test]
fn the_connections_of_a_trace_take_so_much_memory() {
    let (found, state) = read_all(rounds(20_000, 1, 4));
    assert!(state < STATE_BYTES, "{state}");
    assert_eq!((found.rejects.len(), found.connections.len()), (0, 20_000));
    // Few that are large leave room for others.
    let (found, state) = read_all(rounds(30, 40, 200).chain(rounds(430, 1, 1).skip(30)));
    assert!(state < STATE_BYTES * 5 / 4, "{state}");
    assert_eq!(found.connections.len(), 430);
    let reasons: BTreeSet<&str> = found.rejected.keys().copied().collect();
    assert_eq!(reasons, BTreeSet::from([Skip::TooMuchState.name()]));
    let harmed = found.connections.iter().filter(|row| complete(row) == Some(false)).count();
    assert!((1..=30).contains(&harmed), "{harmed}");
    // Many: those that begin last are not taken.
    let (found, state) = read_all(rounds(30_000, 6, 3));
    assert!(state < STATE_BYTES * 3 / 2, "{state}");
    let reasons: BTreeSet<&str> = found.rejected.keys().copied().collect();
    assert_eq!(reasons, BTreeSet::from([Skip::TooManyConnections.name(), Skip::TooMuchState.name()]));
}

#[test]
fn what_the_connections_of_other_traces_take_is_not_free() {
    const LEFT: usize = 32 << 20;
    let beside = TraceMemory { states: STATES_BYTES - LEFT, ..TraceMemory::default() };
    let (found, state) = read_all_beside(beside, rounds(20_000, 1, 4));
    assert!((LEFT / 2..LEFT / 2 * 3).contains(&state), "{state}");
    assert!(found.rejected[Skip::TooMuchState.name()] > 0, "{:?}", found.rejected);
    // Nothing is free: no connection begins.
    let beside = TraceMemory { states: STATES_BYTES, ..TraceMemory::default() };
    let (found, state) = read_all_beside(beside, rounds(100, 1, 1));
    assert_eq!((state, found.connections.len()), (0, 0));
    rejected(&found, Skip::TooManyConnections, 100);
}

/// Whether the rows of connections say that all of them is there, by name: those of `before` cannot begin, those of
/// `after` can.
fn complete_after(before: &[String], after: &[String]) -> BTreeMap<String, bool> {
    let record =
        |name: &String| packet("sent", 1, "", "").replacen(r#""data":"#, &format!(r#""group_id":"{name}","data":"#), 1);
    let header = Header::sequential(HEADER.as_bytes(), Framing::NdJson).unwrap();
    let mut trace = TraceReader::new(&CATALOGUE, header, "file");
    let full = TraceMemory { states: STATES_BYTES, ..TraceMemory::default() };
    let mut found = Tables { beside: full, ..Tables::default() };
    // The first records decide the identity, and begin together.
    for record in before.iter().map(record).chain((before.len()..PRELUDE).map(|_| record(&"first".to_owned()))) {
        trace.push_whole(record.as_bytes(), &mut found).unwrap();
    }
    let mut trace = TraceReader::restore(&CATALOGUE, trace.save()).unwrap();
    found.beside = TraceMemory::default();
    for record in after.iter().map(record) {
        trace.push_whole(record.as_bytes(), &mut found).unwrap();
    }
    trace.finish(true, &mut found);
    let told =
        |row: &Row<Connections>| (row.text(connections::CONNECTION_ID).unwrap().to_owned(), complete(row).unwrap());
    found.connections.iter().map(told).collect()
}

#[test]
fn a_connection_that_could_not_begin_at_once_is_incomplete() {
    let names = |numbers: std::ops::Range<usize>| numbers.map(|each| format!("{each:016x}")).collect::<Vec<_>>();
    let told = complete_after(&names(0..3), &names(2..5));
    let wanted = [(2, false), (3, true), (4, true)];
    assert_eq!(told, wanted.map(|(number, is_complete)| (format!("{number:016x}"), is_complete)).into());
    // As many as are remembered, and one more.
    let told = complete_after(&names(0..REFUSED - 1), &names(REFUSED..REFUSED + 1));
    assert_eq!(told.values().collect::<Vec<_>>(), [&true]);
    let told = crosses(Bound::Refused, || complete_after(&names(0..REFUSED + 1), &names(REFUSED + 1..REFUSED + 2)));
    assert_eq!(told.values().collect::<Vec<_>>(), [&false]);
}

/// Connections one after another, each of whose requests is answered, acknowledged and over.
#[test]
fn requests_that_have_ended_are_none_that_are_open() {
    const EACH: usize = 10;
    let connections = 18_500;
    let of = |connection: usize, number: usize, kind: &str, frames: &[String]| {
        let group = format!(r#""group_id":"{connection:016x}","data":"#);
        packet(kind, number, "", &frames.join(",")).replacen(r#""data":"#, &group, 1)
    };
    let frames: Vec<String> = (0..EACH)
        .map(|number| {
            format!(r#"{{"frame_type":"stream","stream_id":{},"offset":0,"length":10,"fin":true}}"#, number * 4)
        })
        .collect();
    let ack = [r#"{"frame_type":"ack","acked_ranges":[[1,1]]}"#.to_owned()];
    let header = Header::sequential(HEADER.as_bytes(), Framing::NdJson).unwrap();
    let (mut trace, mut found) = (TraceReader::new(&CATALOGUE, header, "file"), Tables::default());
    let mut place = 0;
    for connection in 0..connections {
        let records = [
            of(connection, 0, "received", &frames),
            of(connection, 1, "sent", &frames),
            of(connection, 2, "received", &ack),
        ];
        for record in records {
            place += 1;
            trace.stand(place);
            trace.push_whole(record.as_bytes(), &mut found).unwrap();
        }
    }
    assert!(found.streams.len() >= LINGERING_OF_ALL, "{} have become rows before the end", found.streams.len());
    trace.finish(true, &mut found);
    assert_eq!((found.streams.len(), found.rejects.len()), (connections * EACH, 0));
}

#[test]
fn a_connection_has_so_many_paths() {
    let padding = "x".repeat(REJECT_BYTES);
    let path = |number: usize| {
        packet("sent", number, &format!(r#""path_id":{number},"x":"{padding}","#), r#"{"frame_type":"ping"}"#)
    };
    let with = |count: usize| tables(HEADER, (0..PRELUDE).map(|_| path(0)).chain((1..count).map(path)));
    assert!(with(PATHS).rejects.is_empty());
    let beyond = with(PATHS + 2);
    rejected(&beyond, Skip::TooManyPaths, 2);
    assert_eq!(complete(&beyond.connections[0]), Some(false));
    // Of a reject so much is kept.
    let Some(Cell::Bytes(kept)) = beyond.rejects[0].get(rejects::BYTES) else { unreachable!() };
    assert_eq!((kept.len(), beyond.rejects[0].whole(rejects::LENGTH)), (REJECT_BYTES, path(PATHS).len() as u64));
}

#[test]
fn so_much_of_a_field_of_http_is_kept() {
    for length in [HTTP_FIELD, HTTP_FIELD + 1] {
        let path = format!("/{}", "é".repeat(length - 1));
        let record = format!(
            r#"{{"time":0,"name":"http:frame_parsed","data":{{"stream_id":0,"frame":{{"frame_type":"headers","headers":[{{"name":":method","value":"GET"}},{{"name":":path","value":"{path}"}}]}}}}}}"#
        );
        let request = packet("received", 0, "", r#"{"frame_type":"stream","stream_id":0,"offset":0,"length":10}"#);
        let found = || tables(HEADER, [request, record]);
        let tables = if length > HTTP_FIELD { crosses(Bound::HttpField, found) } else { found() };
        let Some(Cell::Text(kept)) = tables.streams[0].get(streams::PATH) else { unreachable!() };
        assert_eq!(kept.chars().count(), HTTP_FIELD);
        assert!(path.starts_with(kept.as_str()));
    }
}

fn held_record(connection: usize, ms: f64, length: usize) -> String {
    let text = format!(r#"{{"time":{ms},"group_id":"{connection:02}","name":"a:b","data":{{"x":""}}}}"#);
    let padding = "x".repeat(length - text.len());
    text.replace(r#""x":"""#, &format!(r#""x":"{padding}""#))
}

/// Each of them has records that are out of order from the first on, which then wait: so many in all, of equal length. One
/// more comes, and last a record of every connection that is older than those which wait. How often each connection's
/// time went back, and how many events there were.
fn held_back(beside: TraceMemory, count: usize, length: usize) -> (Vec<u64>, u64) {
    const CONNECTIONS: usize = 31;
    let record = held_record;
    let short = |ms: f64| (0..CONNECTIONS).map(move |connection| record(connection, ms, 80));
    // Those of 10, 5 and 40 ms go on when that of 70 ms comes, which waits.
    let begun =
        short(10.0).chain(short(5.0)).chain(short(40.0)).chain((0..CONNECTIONS).map(|each| record(each, 70.0, 80)));
    let held = (0..count).map(|number| record(number % CONNECTIONS, 71.0, length));
    let given = Tables { beside, ..Tables::default() };
    let found = with_tables(given, HEADER, begun.chain(held).chain(short(65.0)));
    let back = |row: &Row<Connections>| match row.get(connections::DAMAGE) {
        Some(Cell::Counts(counts)) => {
            counts.iter().map(|(kind, times)| u64::from(kind == "time_went_back") * times).sum()
        }
        _ => 0,
    };
    let mut rows: Vec<_> = found.connections.iter().collect();
    rows.sort_by_key(|row| row.text(connections::CONNECTION_ID).map(str::to_owned));
    assert_eq!(rows.len(), CONNECTIONS);
    assert!(found.rejects.is_empty());
    (rows.into_iter().map(back).collect(), found.counted)
}

#[test]
fn records_of_all_connections_wait_in_so_many_bytes() {
    // What a record that waits counts for, in `trace/order.rs`; a short one of each connection waits too.
    let bytes = |length: usize| {
        let record = held_record(0, 71.0, length);
        HELD_RECORD + record.len() + read(&record).1.clone().memory()
    };
    let length = 4000;
    for others in [0, HELD_BYTES / 4 * 3] {
        let beside = TraceMemory { held: others, ..TraceMemory::default() };
        let most = (HELD_BYTES - others - 31 * (HELD_PLACES + bytes(80))) / bytes(length);
        let (back, events) = held_back(beside, most, length);
        assert_eq!((back, events), (vec![0; 31], most as u64 + 5 * 31), "all of them wait, and go on in order");
        let (back, events) = crosses(Bound::HeldBytes, || held_back(beside, most + 1, length));
        // The newest one's connection went on: its last record is older than what went on, which is counted.
        let mut wanted = vec![0; 31];
        wanted[most % 31] = 1;
        assert_eq!((back, events), (wanted, most as u64 + 1 + 5 * 31));
    }
}

#[test]
fn so_many_names_that_nobody_reads_are_told() {
    let unread = |records: Vec<String>| {
        let asked = Tables { unread: Some(BTreeMap::new()), ..Tables::default() };
        let found = with_tables(asked, HEADER, records).unread.unwrap();
        found.into_values().next().unwrap()
    };
    let event = |number: usize| format!(r#"{{"time":1,"name":"nobody:knows_{number}","data":{{}}}}"#);
    let told = unread((0..UNREAD_NAMES).map(event).collect());
    assert_eq!((told.events.len(), told.others), (UNREAD_NAMES, 0));
    let told = crosses(Bound::UnreadNames, || unread((0..UNREAD_NAMES + 3).map(event).collect()));
    assert_eq!((told.events.len(), told.others), (UNREAD_NAMES, 3));
    let field =
        |number: usize| format!(r#"{{"time":1,"name":"transport:packet_sent","data":{{"nobody_reads_{number}":1}}}}"#);
    let told = unread((0..UNREAD_NAMES).map(field).collect());
    assert_eq!((told.fields.values().map(BTreeMap::len).sum::<usize>(), told.others), (UNREAD_NAMES, 0));
    let told = crosses(Bound::UnreadNames, || unread((0..UNREAD_NAMES + 3).map(field).collect()));
    assert_eq!((told.fields.values().map(BTreeMap::len).sum::<usize>(), told.others), (UNREAD_NAMES, 3));
}

/// The duration of a request whose clock is set forward by 300 ms while its answer is on its way, 40 ms: so many records,
/// which acknowledge nothing, are behind the silence before the one that does.
fn duration_behind_silence(count: usize) -> u64 {
    let rtt = |ms: usize| format!(r#"{{"time":{ms},"name":"recovery:metrics_updated","data":{{"latest_rtt":40}}}}"#);
    let at = |ms: usize, record: String| {
        let rest = record.find(",").map_or("", |comma| &record[comma..]);
        format!(r#"{{"time":{ms}{rest}"#)
    };
    let stream = r#"{"frame_type":"stream","stream_id":0,"offset":0,"length":10,"fin":true}"#;
    let ack = |number: usize| format!(r#"{{"frame_type":"ack","acked_ranges":[[{number},{number}]]}}"#);
    let padding = |number: usize| at(445, packet("received", 4 + number, "", r#"{"frame_type":"padding"}"#));
    let records =
        [at(0, packet("sent", 1, "", r#"{"frame_type":"ping"}"#)), at(40, packet("received", 1, "", &ack(1))), rtt(40)];
    let request = [at(100, packet("received", 2, "", stream)), at(105, packet("sent", 2, "", stream))];
    let end = [at(445, packet("received", 3, "", &ack(2))), rtt(445)];
    let all = records.into_iter().chain(request).chain((0..count).map(padding)).chain(end);
    tables(HEADER, all).streams[0].whole(streams::DURATION_US)
}

#[test]
fn so_many_records_wait_behind_a_silence() {
    assert_eq!(duration_behind_silence(BEHIND_SILENCE - 2), 45_000);
    assert_eq!(crosses(Bound::BehindSilence, || duration_behind_silence(BEHIND_SILENCE)), 345_000);
}

#[test]
fn so_many_packets_are_remembered_without_an_acknowledgement() {
    let sent = |number: u64| Sent { number, bytes: 1, in_flight: true, ..Sent::default() };
    let mut space = Space::default();
    (0..UNACKNOWLEDGED as u64).for_each(|number| space.send(sent(number)));
    crosses(Bound::Unacknowledged, || space.send(sent(UNACKNOWLEDGED as u64)));
    let mut known = Vec::new();
    space.acknowledge(0, u64::MAX, &mut known);
    assert_eq!((known.len(), known.first().map(|acked| acked.packet.number)), (UNACKNOWLEDGED, Some(1)));
}

#[test]
fn a_packet_with_a_lower_number_is_placed_before_so_many() {
    let sent = |number: u64| Sent { number, bytes: 1, in_flight: true, ..Sent::default() };
    for (behind, wanted) in [(BEHIND, BEHIND + 1), (BEHIND + 1, BEHIND + 1)] {
        let mut space = Space::default();
        (1..=behind as u64).for_each(|number| space.send(sent(number)));
        if behind > BEHIND {
            crosses(Bound::Behind, || space.send(sent(0)));
        } else {
            space.send(sent(0));
        }
        let mut known = Vec::new();
        space.acknowledge(0, u64::MAX, &mut known);
        assert_eq!(known.len(), wanted);
    }
}

#[test]
fn so_many_losses_of_a_request_wait_for_their_repair_and_one_packet_repairs_so_many() {
    let chunk = |from: u64, to: u64| Chunk { stream_id: 0, from, to, fin: false };
    let found = Detection { us: 9, trigger: "packet_threshold", is_by_probe: false };
    for (count, left) in [(LOSSES, LOSSES), (LOSSES + 1, LOSSES)] {
        let (mut losses, mut side) = (Losses::default(), Side::default());
        let before = Bound::Losses.times();
        for number in 0..count as u64 {
            let lost = chunk(10 * number, 10 * number + 10);
            losses.lose(&side, &Sent { number, chunk: Some(lost), ..Sent::default() }, &lost, found, false);
        }
        assert!(count == LOSSES || Bound::Losses.times() > before);
        assert_eq!(losses.due_us().count(), left);
        // The oldest of too many was forgotten.
        assert_eq!(losses.resend(&chunk(0, 10), 10), count <= LOSSES);
        let large = chunk(10 * (count - LOSSES_BESIDE - 1) as u64, 10 * count as u64);
        side.take(&large);
        let repaired = crosses(Bound::LossesBeside, || losses.repair(&side, &large, 20, |_| ()).len());
        assert_eq!(repaired, LOSSES_BESIDE);
    }
}

/// Nothing is acknowledged: a byte that goes out again may have been in every packet on its way.
#[test]
fn a_packet_is_looked_for_in_so_much_of_what_went_before() {
    let header = HEADER.replace(r#""trace":{"#, r#""trace":{"title":"quiche","#);
    let pieces = 200;
    let sent = |packets: usize| {
        let piece = |offset: usize| format!(r#"{{"frame_type":"stream","stream_id":0,"offset":{offset},"length":1}}"#);
        let of = |number: usize| {
            let pieces: Vec<_> = (0..pieces).map(|place| piece(number * pieces + place)).collect();
            packet("sent", number, "", &pieces.join(","))
        };
        let before = Bound::CarrierLooks.times();
        let again = packet("sent", packets, "", &piece((packets - 1) * pieces));
        let found = tables(&header, (0..packets).map(of).chain([again]));
        (found.connections[0].whole(connections::PACKETS_LOST), Bound::CarrierLooks.times() - before)
    };
    let most = CARRIER_LOOKS as usize / (pieces + 1);
    assert_eq!(sent(most / 2), (1, 0));
    assert_eq!(sent(most + 1), (0, 1));
}

#[test]
fn so_many_ids_of_a_connection_are_remembered() {
    let ids = |count: usize, letters: usize| {
        let record = |number: usize| {
            packet("sent", number, "", "").replace("\"1RTT\"", &format!("\"1RTT\",\"dcid\":\"{number:0letters$x}\""))
        };
        tables(HEADER, (0..count).map(record)).aliases.len()
    };
    assert_eq!((ids(ALIASES, 16), crosses(Bound::Aliases, || ids(ALIASES + 9, 16))), (ALIASES, ALIASES));
    assert_eq!((ids(1, ALIAS_LETTERS), crosses(Bound::AliasLetters, || ids(1, ALIAS_LETTERS + 1))), (1, 0));
}

#[test]
fn so_many_names_of_events_are_remembered() {
    let record = |number: usize| format!(r#"{{"time":1,"name":"a:b{number}","data":{{}}}}"#);
    let mut reader = Reader::new(Units::all(6), &[]);
    let before = Bound::Names.times();
    for number in (0..NAMES + 9).chain(0..NAMES + 9) {
        let mut event = Event::default();
        reader.read(&CATALOGUE, record(number).as_bytes(), &mut event).unwrap();
        assert_eq!(event.str(event.name), format!("a:b{number}"));
    }
    assert!(Bound::Names.times() >= before + 18);
}

#[test]
fn batches_have_so_many_rows_and_bytes() {
    let rows = |count: usize, bytes: usize| {
        let mut row = Row::default();
        row.set(connections::HEADER, "x".repeat(bytes));
        Tables { connections: vec![row; count], ..Tables::default() }
    };
    assert!(rows(SUMMARY_ROWS - 1, 1).is_small() && !rows(SUMMARY_ROWS, 1).is_small());
    let (each, many) = (BATCH_BYTES / 8, 20);
    let mut large = rows(many, each);
    assert!(!large.is_small());
    let batches = large.batches(&CATALOGUE, false).unwrap();
    // What is left is small, and comes with the next.
    assert!(batches.iter().all(|batch| batch.rows.num_rows() < 9) && large.is_small());
    let taken: usize = batches.iter().map(|batch| batch.rows.num_rows()).sum();
    assert_eq!(taken + large.connections.len(), many);
    // Names of fields are stored beside the events that have them.
    let key = |number: usize| format!(r#"{{"time":1,"name":"a:b","data":{{"{number}{}":1}}}}"#, "k".repeat(1 << 20));
    let mut tables = Tables { wants_events: true, ..Tables::default() };
    let header = Header::sequential(HEADER.as_bytes(), Framing::NdJson).unwrap();
    let mut trace = TraceReader::new(&CATALOGUE, header, "file").begun("source");
    let until_large = (0..).take_while(|number| {
        trace.push_whole(key(*number).as_bytes(), &mut tables).unwrap();
        tables.is_small()
    });
    assert!(until_large.count() <= BATCH_BYTES >> 20);
    let mut tables = Tables { wants_events: true, ..Tables::default() };
    let mut pushed = 0;
    while tables.is_small() {
        trace.push_whole(br#"{"time":1,"name":"a:b","data":{}}"#, &mut tables).unwrap();
        pushed += 1;
    }
    assert_eq!(pushed, EVENT_ROWS);
}
