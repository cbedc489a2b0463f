//! The header of a trace: whatever it says, every question has an answer.
#![no_main]

use libfuzzer_sys::fuzz_target;
use quiclens_core::header::{DIMENSIONS, Header, TimeFormat, Vantage};
use quiclens_core::reader::sniff::Framing;
use quiclens_core::trace::TraceReader;
use quiclens_edge::peer;
use quiclens_fuzz::cuts::split;
use quiclens_fuzz::memory::bounded;
use quiclens_fuzz::{catalogue, rows};

fn ask(header: &Header, is_encoded: bool) {
    let _ = (header.vantage(), header.flow_is_client(), header.event_fields(), header.time_format());
    let _ =
        (header.time_places(), header.declared(), header.described(&["trace.title".into()]), header.text_of("title"));
    for first_ns in [0, 1_700_000_000_000_000_000, i64::MIN, i64::MAX] {
        let _ = header.epoch_ns(header.time_format(), None, first_ns);
        let _ = header.epoch_ns(TimeFormat::Absolute, Some(&header.json), first_ns);
    }
    let client = peer::of_header(header);
    assert!(client.address.is_some() || client.port.is_none(), "a port alone says nothing");
    DIMENSIONS.iter().for_each(|column| drop(header.common(column.name()).clone()));
    let mut tables = rows::tables();
    let mut trace = TraceReader::new(catalogue(), header.clone(), "input");
    let _ = trace.push_whole(br#"{"time":1.5,"name":"transport:packet_sent","data":{}}"#, &mut tables);
    trace.finish(true, &mut tables);
    rows::check(&mut tables, None, is_encoded);
}

fuzz_target!(|data: &[u8]| {
    let Some((text, cuts)) = split(data) else { return };
    bounded(text.len(), 256, || {
        let sequential = [Framing::Sequential, Framing::NdJson].map(|framing| Header::sequential(text, framing));
        sequential.iter().flatten().for_each(|header| ask(header, cuts.choice == 2));
        let file = cuts.pieces(text).next().unwrap_or(text);
        let trace = &text[file.len()..];
        ask(&Header::contained(file, trace, (file.len() / 2, trace.len())), cuts.choice == 2);
        let more = [("remote", core::str::from_utf8(text).unwrap_or("")), ("src_ip", "\"192.0.2.7\"")];
        for vantage in [Vantage::Server, Vantage::Client, Vantage::Network, Vantage::Unknown] {
            let _ = peer::of_event(vantage, text.len() % 2 == 0, "connection_started", more);
        }
    });
});
