//! Walking documents: wherever the bytes are cut, the same headers, elements, ends and losses, and no byte is lost twice.
#![no_main]

use libfuzzer_sys::fuzz_target;
use quiclens_core::reader::document::{Document, RefusedElement, Step};
use quiclens_core::reader::json::{Cursor, JsonFault};
use quiclens_core::reader::records::Window;
use quiclens_core::reader::skip::Skip;
use quiclens_fuzz::cuts::{Cuts, split};
use quiclens_fuzz::memory::bounded;
use quiclens_fuzz::rows::more;

/// What the walk showed, and where.
#[derive(Debug, PartialEq)]
enum WalkStep {
    Events(u64),
    Element(u64, usize),
    TraceEnd { offset: u64, is_closed: bool, file: String, trace: String },
    Lost { offset: u64, length: u64, reason: Option<Skip> },
    DocumentEnd(u64),
}

fn walk(text: &[u8], cuts: Cuts) -> Vec<WalkStep> {
    let (mut window, mut pieces, mut document) = (Window::default(), cuts.pieces(text).peekable(), Document::default());
    let (mut seen, mut steps) = (Vec::new(), 0);
    loop {
        steps += 1;
        assert!(steps <= 4 * text.len() + 16, "a walk that does not end");
        let offset = window.offset();
        match document.step(&mut window) {
            Step::NeedMore => more(&mut window, &mut pieces, cuts),
            Step::Events => seen.push(WalkStep::Events(window.offset())),
            Step::Element => {
                let mut cursor = Cursor::new(window.rest());
                let is_object = matches!(window.rest().first(), Some(b'{' | b'['));
                match cursor.value() {
                    Ok(_) if is_object => {
                        let length = cursor.at;
                        seen.push(WalkStep::Element(window.offset(), length));
                        window.consume(length);
                    }
                    Err(JsonFault::End) if !window.end => more(&mut window, &mut pieces, cuts),
                    _ => match document.refuse(&mut window, Skip::NotARecord) {
                        RefusedElement::NeedMore => more(&mut window, &mut pieces, cuts),
                        RefusedElement::Reject(reject) => seen.push(lost(&reject)),
                        RefusedElement::Damaged => {}
                    },
                }
            }
            Step::TraceEnd { is_closed } => {
                let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
                let (file, trace) = (text(&document.file), text(&document.trace));
                seen.push(WalkStep::TraceEnd { offset: window.offset(), is_closed, file, trace });
            }
            Step::Lost(reject) => seen.push(lost(&reject)),
            Step::DocumentEnd => seen.push(WalkStep::DocumentEnd(window.offset())),
            Step::Done => break,
        }
        assert!(window.offset() >= offset);
    }
    assert_eq!(window.offset(), text.len() as u64, "bytes that nobody looked at");
    seen
}

fn lost(reject: &quiclens_core::trace::Reject) -> WalkStep {
    assert!(reject.bytes.len() as u64 <= reject.length, "{reject:?}");
    WalkStep::Lost { offset: reject.offset, length: reject.length, reason: reject.reason }
}

fuzz_target!(|data: &[u8]| {
    let Some((text, cuts)) = split(data) else { return };
    bounded(text.len(), 64, || {
        let whole = walk(text, Cuts::WHOLE);
        let mut end = 0;
        for seen in &whole {
            // A reject of what is not there (a header, events) spans what was rejected inside of it.
            let (offset, length) = match seen {
                WalkStep::Element(offset, length) => (*offset, *length as u64),
                WalkStep::Lost { offset, length, reason } if !is_absence(*reason) => (*offset, *length),
                _ => continue,
            };
            assert!(offset >= end, "bytes that are lost twice: {seen:?} in {whole:?}");
            end = offset + length;
        }
        assert!(end <= text.len() as u64);
        let lengths = whole.iter().map(|seen| match seen {
            WalkStep::Element(_, length) => *length as u64,
            WalkStep::Lost { length, .. } => *length,
            _ => 0,
        });
        assert!(lengths.sum::<u64>() <= text.len() as u64, "bytes that are counted twice: {whole:?}");
        assert_eq!(walk(text, cuts), whole, "{cuts:?}");
    });
});

/// A trace without events, or a document without a trace: what was rejected inside of it is not counted again.
fn is_absence(reason: Option<Skip>) -> bool {
    matches!(reason, Some(Skip::NoHeader | Skip::NoEvents | Skip::TraceError | Skip::Truncated))
}
