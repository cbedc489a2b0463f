//! Access logs: any format that a deployment writes is compiled or refused, and reads any line.
#![no_main]

use arbitrary::Arbitrary;
use libfuzzer_sys::fuzz_target;
use quiclens_core::record::columns::request_lines;
use quiclens_core::record::rows::Cell;
use quiclens_edge::access_format::{AccessFormatConfig, ColumnSource, Escape, Format, Syntax, TimeIs, Unit};
use quiclens_fuzz::memory::bounded;
use std::collections::BTreeMap;

#[derive(Arbitrary, Debug)]
struct AccessFormatInput<'a> {
    choices: [u8; 4],
    offset: i16,
    prefix_until: Option<&'a str>,
    columns: Vec<(u8, u8, &'a str)>,
    format: &'a str,
    line: &'a [u8],
}

const COLUMNS: [&str; 6] = ["time", "duration_us", "client_address", "path", "status", "rtt_us"];
const SYNTAXES: [Syntax; 5] = [Syntax::Nginx, Syntax::Apache, Syntax::Envoy, Syntax::Haproxy, Syntax::Json];
const UNITS: [Option<Unit>; 5] =
    [None, Some(Unit::Seconds), Some(Unit::Milliseconds), Some(Unit::Microseconds), Some(Unit::Nanoseconds)];

fn pick<T: Copy>(all: &[T], choice: u8) -> T {
    all[usize::from(choice) % all.len()]
}

fuzz_target!(|input: AccessFormatInput<'_>| {
    let columns = input.columns.iter().take(4).map(|(name, unit, from)| {
        let source = ColumnSource { from: (*from).to_owned(), unit: pick(&UNITS, *unit) };
        (pick(&COLUMNS, *name).to_owned(), source)
    });
    let config = AccessFormatConfig {
        syntax: Some(pick(&SYNTAXES, input.choices[0])),
        format: (!input.format.is_empty()).then(|| input.format.to_owned()),
        escape: pick(&[Escape::Default, Escape::Json, Escape::None], input.choices[1]),
        columns: columns.collect::<BTreeMap<_, _>>(),
        time_is: pick(&[None, Some(TimeIs::Start), Some(TimeIs::End)], input.choices[2]),
        utc_offset_minutes: input.offset.into(),
        prefix_until: input.prefix_until.map(str::to_owned),
        redact: pick(&[None, Some(true), Some(false)], input.choices[3]),
        ..AccessFormatConfig::default()
    };
    bounded(input.format.len() + input.line.len(), 1024, || {
        let Ok(format) = Format::compile(&config) else { return };
        if let Ok(read) = format.read(input.line) {
            assert!(
                matches!(read.row.get(request_lines::TIME), Some(Cell::Int(_))),
                "a row without a time: {:?}",
                read.row
            );
        }
    });
});
