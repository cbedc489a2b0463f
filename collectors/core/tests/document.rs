//! Documents, whole and damaged, read through any windows.

#![expect(clippy::unwrap_used, reason = "tests")]

use proptest::prelude::*;
use quiclens_core::reader::document::{Document, RefusedElement, Step, event_at};
use quiclens_core::reader::records::Window;
use quiclens_core::reader::skip::Skip;
use quiclens_core::trace::Reject;
use std::path::Path;

/// What was found, with its place.
#[derive(Clone, Debug, PartialEq, Eq)]
enum Seen {
    Header(u64, Vec<u8>, Vec<u8>),
    Event(u64, usize),
    Lost(Reject),
    End(bool),
    Document,
}

/// Reads a document through windows that grow by `pieces` in turn. Every step must take, tell or ask for something.
fn read(text: &[u8], pieces: &[usize]) -> Vec<Seen> {
    let (mut document, mut window) = (Document::default(), Window::default());
    let (mut seen, mut given, mut steps) = (Vec::new(), 0, 0);
    let mut pieces = pieces.iter().cycle();
    let mut is_open = false;
    loop {
        steps += 1;
        assert!(steps <= 4 * text.len() + 100, "no progress");
        let mut needs_more = false;
        match document.step(&mut window) {
            Step::NeedMore => needs_more = true,
            Step::Events => {
                assert!(!std::mem::replace(&mut is_open, true), "a trace begins in another");
                seen.push(Seen::Header(window.offset(), document.file.clone(), document.trace.clone()));
            }
            Step::Element => match event_at(window.rest()).0 {
                Ok(length) => {
                    seen.push(Seen::Event(window.offset(), length));
                    window.consume(length);
                }
                Err(_) => match document.refuse(&mut window, Skip::NoName) {
                    RefusedElement::NeedMore => needs_more = true,
                    RefusedElement::Reject(reject) => seen.push(Seen::Lost(reject)),
                    RefusedElement::Damaged => {}
                },
            },
            Step::TraceEnd { is_closed } => {
                assert!(std::mem::take(&mut is_open), "a trace ends that has not begun");
                seen.push(Seen::End(is_closed));
            }
            Step::Lost(reject) => seen.push(Seen::Lost(reject)),
            Step::DocumentEnd => seen.push(Seen::Document),
            Step::Done => return seen,
        }
        if needs_more {
            assert!(!window.end, "more is asked for behind the end");
            let piece = (*pieces.next().unwrap()).min(text.len() - given);
            window.space().extend_from_slice(&text[given..given + piece]);
            given += piece;
            window.end = given == text.len();
        }
    }
}

fn documents() -> Vec<Vec<u8>> {
    let vectors = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../schema/vectors");
    let cases = [
        "document_trace_error",
        "documents_joined",
        "document_line_after",
        "document_header_values",
        "document_damaged",
        "document_lost_bracket",
        "vantage_after_events",
        "array_form_strings",
        "events_at_the_top",
    ];
    let one = b"{\"qlog_version\":\"0.3\",\"trace\":{\"n\":-12.5e3,\"events\":[ 12, [], {\"time\":1,\"name\":\"a:b\"} ,null]}}";
    let read = |case: &&str| std::fs::read(vectors.join(case).join("input.qlog")).unwrap();
    cases.iter().map(read).chain([one.to_vec()]).collect()
}

fn damaged() -> impl Strategy<Value = Vec<u8>> {
    let strike = (any::<prop::sample::Index>(), 0..4u8, any::<u8>());
    (prop::sample::select(documents()), prop::collection::vec(strike, 0..6)).prop_map(|(mut text, strikes)| {
        for (at, how, byte) in strikes {
            if text.is_empty() {
                break;
            }
            let at = at.index(text.len());
            match how {
                0 => text[at] ^= 1 << (byte % 8),
                1 => drop(text.remove(at)),
                2 => text.insert(at, b"{}[]\",:\\ \n"[usize::from(byte) % 10]),
                _ => text.truncate(at.max(1)),
            }
        }
        text
    })
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 3_000, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn any_document_through_any_windows_gives_the_same(text in damaged(), pieces in prop::collection::vec(1..300usize, 1..5)) {
        let whole = read(&text, &[text.len()]);
        prop_assert_eq!(read(&text, &pieces), whole.clone());
        prop_assert_eq!(read(&text, &[1]), whole);
    }

    #[test]
    fn what_is_passed_over_is_counted_where_it_stands(text in damaged()) {
        let mut end = 0;
        for seen in read(&text, &[text.len()]) {
            let (offset, length) = match seen {
                Seen::Event(offset, length) => (offset, length as u64),
                Seen::Lost(reject) if matches!(reject.reason, Some(Skip::NoHeader | Skip::NoEvents | Skip::TraceError)) => continue,
                Seen::Lost(reject) => {
                    let at = usize::try_from(reject.offset).unwrap();
                    prop_assert!(text[at..].starts_with(&reject.bytes));
                    (reject.offset, reject.length)
                }
                Seen::Header(..) | Seen::End(_) | Seen::Document => continue,
            };
            prop_assert!(offset >= end, "{} is before {}", offset, end);
            end = offset + length;
            prop_assert!(end <= text.len() as u64);
        }
    }
}

#[test]
fn a_number_that_a_window_cuts_is_read_whole() {
    let text = b"{\"a\":12345,\"traces\":[{\"b\":-1.5e300,\"events\":[{\"time\":1,\"name\":\"a:b\"},345,true],\"starttime\":1700000000000}]}";
    let whole = read(text, &[text.len()]);
    assert_eq!(whole[0], Seen::Header(45, b"\"a\":12345".to_vec(), b"\"b\":-1.5e300".to_vec()));
    for cut in 1..text.len() {
        assert_eq!(read(text, &[cut, text.len()]), whole, "cut at {cut}");
    }
}

/// Text that is looked at again and again, unless there is a limit, takes hours.
#[test]
fn hostile_text_of_megabytes_is_read_at_once() {
    let begin = b"{\"traces\":[{\"events\":[x";
    for piece in [
        &b"{\"time\":"[..],
        b"[",
        b"{\"x,",
        b"{\"",
        b"]}]},",
        b"]}]}{\"a\":",
        b"\"events\":[",
        b"{\"a\":1,\"events\":",
        b",{\"time\":1,\"name\":[",
        b"]},{\"a\":[{},",
        b"\\\"",
        b"}]},{\"events\":[{\"time\":1,\"name\":\"a\"}]},{",
        b"{\"events\":[",
        b"1,",
        b"\"vantage_point\":{",
    ] {
        let mut text = begin.to_vec();
        while text.len() < 3 << 20 {
            text.extend_from_slice(piece);
        }
        let began = std::time::Instant::now();
        read(&text, &[256 << 10]);
        let took = began.elapsed();
        assert!(took.as_secs() < 20, "{}: {took:?}", String::from_utf8_lossy(piece));
    }
}

#[test]
fn a_byte_is_counted_as_lost_once() {
    let event = r#"{"time":1,"name":"a:b","data":{}}"#;
    for text in [
        r#"{"traces":[{"title":"x" broken, "vantage_point":{"type":"server"},"other":1}]}"#.to_owned(),
        r#"{"qlog_version":"0.3", oops "title":"x"}"#.to_owned(),
        format!(r#"{{"traces":[{{"title" 1 1 1 1,"trace":1}},{{"events":[{event}]}}]}}"#),
    ] {
        let seen = read(text.as_bytes(), &[text.len()]);
        let lost: Vec<&Reject> =
            seen.iter().filter_map(|seen| if let Seen::Lost(reject) = seen { Some(reject) } else { None }).collect();
        assert!(lost.len() > 1, "{text}: {seen:?}");
        let (lengths, last) = lost
            .iter()
            .fold((0, 0), |(sum, last), reject| (sum + reject.length, last.max(reject.offset + reject.length)));
        assert!(lengths <= last && last <= text.len() as u64, "{text}: {lost:?}");
    }
}
