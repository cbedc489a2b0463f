//! One qlog record: read or refused, and what was read comes back JSON-equal, as serde_json sees it.
#![no_main]

use libfuzzer_sys::fuzz_target;
use quiclens_core::dialect::Units;
use quiclens_core::event::Event;
use quiclens_core::header::TimeFormat;
use quiclens_core::reader::qlog::Reader;
use quiclens_core::reader::shape::{WrittenClock, restore};
use quiclens_core::reader::skip::Stop;
use quiclens_fuzz::catalogue;
use quiclens_fuzz::cuts::split;
use quiclens_fuzz::json::normal;
use quiclens_fuzz::memory::bounded;
use serde_json::Value;

const MS: Units = Units::all(6);
const US: Units = Units { pacing: 8, delay_times: 8, ..Units::all(3) };
const COLUMNS: [&str; 4] = ["relative_time", "category", "event", "data"];

fuzz_target!(|data: &[u8]| {
    let Some((text, cuts)) = split(data) else { return };
    let columns: Vec<String> = COLUMNS.map(str::to_owned).to_vec();
    let is_array = text.iter().find(|byte| !byte.is_ascii_whitespace()) == Some(&b'[');
    let (units, columns) = (if text.len() % 2 == 0 { MS } else { US }, if is_array { &columns[..] } else { &[] });
    let mut event = Event::default();
    let read = bounded(text.len(), 64, || Reader::new(units, columns).read(catalogue(), text, &mut event));
    if let (Some(cut), Ok(length)) = (cuts.pieces(text).next().filter(|cut| cut.len() < text.len()), read)
        && cut.len() < length
    {
        let early = Reader::new(units, columns).read(catalogue(), cut, &mut Event::default());
        assert_eq!(early, Err(Stop::End), "a record that was cut at {}", cut.len());
    }
    let Ok(length) = read else { return };
    // What is no text for serde_json is refused by the caller, or by nobody: then nothing can be compared.
    let Ok(record) = serde_json::from_slice::<Value>(&text[..length]) else { return };
    event.time_us = event.source_ns.div_euclid(1000);
    event.time_ns = u16::try_from(event.source_ns.rem_euclid(1000)).unwrap_or(0);
    let mut out = Vec::new();
    restore(&event, &units, &mut WrittenClock::new(0, TimeFormat::Relative), &mut out);
    let back: Value = match serde_json::from_slice(&out) {
        Ok(back) => back,
        Err(error) => panic!("{error}: {}", String::from_utf8_lossy(&out)),
    };
    assert_eq!(normal(&back), normal(&record), "{}", String::from_utf8_lossy(&event.shape));
});
