//! What was read is shipped as Arrow, and given back from it JSON-equal: each record that was not rejected, and no other.
#![no_main]

use libfuzzer_sys::fuzz_target;
use quiclens_core::header::Header;
use quiclens_core::reader::records::{RecordStep, Window, next_record};
use quiclens_core::reader::sniff::{Framing, Sniffed, sniff};
use quiclens_core::record::columns::rejects;
use quiclens_core::record::rows::Cell;
use quiclens_fuzz::cuts::Cuts;
use quiclens_fuzz::export::plain;
use quiclens_fuzz::json::normal;
use quiclens_fuzz::rows::{has_a_trace_twice, read};
use serde_json::Value;
use std::collections::HashSet;

/// How documents say that a time counts from the record before.
const DIFFERENCES: [&[u8]; 2] = [b"delta", b"relative_to_previous_event"];

/// What stands in a header, or may, where an escape is.
const HEADERS: [&[u8]; 3] = [b"qlog_", b"file_schema", b"\\"];

/// The records that are not at one of these places, without the header and those of other logs among them.
fn records(framing: Framing, text: &[u8], without: &HashSet<u64>) -> Vec<Value> {
    let (mut window, mut found) = (Window::default(), Vec::new());
    window.space().extend_from_slice(text);
    window.end = true;
    let mut is_first = true; // the header, or what stands in its place
    while let RecordStep::Record { len, taken } = next_record(framing, &mut window) {
        let is_header = std::mem::take(&mut is_first);
        if !is_header && !without.contains(&window.offset()) {
            let record = &window.rest()[..len];
            let value = serde_json::from_slice(record).unwrap_or(Value::Null);
            let begins_another = HEADERS.iter().any(|word| memchr::memmem::find(record, word).is_some())
                && Header::sequential(record, framing).is_some_and(|header| header.begins_a_log());
            if !begins_another {
                found.push(value);
            } else if value.is_null() || value.get("time").is_some() {
                found.push(Value::Null); // one of the two, by whether its time can be read
            }
        }
        window.consume(taken);
    }
    found
}

fn sorted(values: impl Iterator<Item = Value>) -> Vec<String> {
    let mut texts: Vec<String> = values.map(|value| normal(&value).to_string()).collect();
    texts.sort_unstable();
    texts
}

fuzz_target!(|text: &[u8]| {
    let Sniffed::Known(framing @ (Framing::Sequential | Framing::NdJson)) = sniff(text, true) else { return };
    let mut tables = read(framing, text, Cuts::WHOLE);
    if has_a_trace_twice(&tables) {
        return; // given back as one
    }
    let rejected = tables.rejects.iter().filter_map(|row| match row.get(rejects::OFFSET) {
        Some(Cell::Whole(offset)) => Some(*offset),
        _ => None,
    });
    let rejected: HashSet<u64> = rejected.collect();
    let wanted = records(framing, text, &rejected);
    if wanted.contains(&Value::Null) {
        return; // what serde_json cannot read cannot be compared
    }
    let mut given = Vec::new();
    if let Some(batch) = tables.events.flush().expect("events become a batch") {
        let mut bytes = Vec::new();
        batch.encode(&mut bytes).expect("which can be written");
        given = plain(&[bytes], &tables.connections).expect("and read");
    }
    // Where times are differences, a record's counts from the one before it of its own connection when it is given back,
    // and from that of the file before.
    let is_told_anew =
        tables.connections.len() > 1 && DIFFERENCES.iter().any(|word| memchr::memmem::find(text, word).is_some());
    let without_time = |mut value: Value| {
        match (is_told_anew, &mut value) {
            (true, Value::Object(members)) => drop(members.remove("time")),
            (true, Value::Array(fields)) => fields.retain(|field| !field.is_number()), // the time is one of them
            _ => {}
        }
        value
    };
    let given = given.iter().map(|line| serde_json::from_str(line).unwrap_or_else(|error| panic!("{error}: {line}")));
    assert_eq!(sorted(given.map(without_time)), sorted(wanted.into_iter().map(without_time)));
});
