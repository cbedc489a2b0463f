//! One row of QUIC_TRACE or of `quiclens line v1`: read or refused, and what was read comes back.
#![no_main]

use libfuzzer_sys::fuzz_target;
use quiclens_core::dialect::Units;
use quiclens_core::event::Event;
use quiclens_core::header::TimeFormat;
use quiclens_core::reader::quic_trace::{is_heading, named, read, row};
use quiclens_core::reader::shape::{WrittenClock, restore};
use quiclens_fuzz::catalogue;
use serde_json::Value;

const US: Units = Units::all(3);

fuzz_target!(|line: &[u8]| {
    let named = named(line);
    let mut event = Event::default();
    let done = read(catalogue(), line, &mut event);
    let Ok(text) = core::str::from_utf8(line) else {
        assert!(done.is_err());
        return;
    };
    let text = text.trim_end_matches(['\r', '\n']);
    let cut = row(text);
    if done.is_err() {
        return;
    }
    let Some(cut) = cut else { panic!("an event of no row") };
    assert!(!is_heading(text), "a heading that is an event as well");
    assert_eq!(done, Ok(cut.seq));
    if let Some(seq) = cut.seq {
        assert_eq!((event.seq, Some((cut.connection, seq))), (seq, named), "{text:?}");
    }
    event.time_us = event.source_ns.div_euclid(1000);
    event.time_ns = u16::try_from(event.source_ns.rem_euclid(1000)).unwrap_or(0);
    let mut out = Vec::new();
    restore(&event, &US, &mut WrittenClock::new(0, TimeFormat::Relative), &mut out);
    let back: Value = serde_json::from_slice(&out).unwrap_or_else(|error| panic!("{error}: {out:?}"));
    for part in [&back["name"], &back["data"]["value"]] {
        assert!(part.as_str().is_some_and(|part| text.contains(part)), "{part} is not in {text:?}");
    }
    let value = back["data"]["value"].as_str().unwrap_or("?");
    assert!(!text.contains('\t') || text.ends_with(value), "{value:?} of {text:?}");
    assert!(back["time"].is_number(), "{back}");
});
