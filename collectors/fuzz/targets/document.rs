//! Walking a document: wherever the bytes are cut, the same headers, elements and ends.
#![no_main]

use libfuzzer_sys::fuzz_target;
use quiclens_core::reader::json::{Cursor, Fault};
use quiclens_core::reader::records::{Document, Step, Window};
use quiclens_core::reader::scan::Scan;
use quiclens_fuzz::cuts::{Cuts, split};
use quiclens_fuzz::memory::bounded;
use quiclens_fuzz::rows::more;
use std::iter::Peekable;

/// What the walk showed, and where.
#[derive(Debug, PartialEq)]
enum Seen {
    Step(Step, u64),
    Element(u64, usize),
    Passed(u64, usize),
    Header(Vec<u8>, Vec<u8>),
}

fn walk(text: &[u8], cuts: Cuts) -> Vec<Seen> {
    let (mut window, mut pieces, mut document) = (Window::default(), cuts.pieces(text).peekable(), Document::default());
    let mut seen = Vec::new();
    loop {
        match document.step(&mut window) {
            Step::NeedMore => more(&mut window, &mut pieces, cuts),
            Step::Done => break,
            Step::Element => {
                let offset = window.offset();
                let mut cursor = Cursor::new(window.rest());
                match cursor.value() {
                    Ok(_) => {
                        let length = cursor.at;
                        seen.push(Seen::Element(offset, length));
                        window.consume(length);
                    }
                    Err(Fault::End) if !window.end => more(&mut window, &mut pieces, cuts),
                    Err(_) => {
                        let length = pass(&mut window, &mut pieces, cuts);
                        seen.push(Seen::Passed(offset, length));
                    }
                }
            }
            Step::TraceEnd => {
                seen.push(Seen::Header(document.file.clone(), document.trace.clone()));
                seen.push(Seen::Step(Step::TraceEnd, window.offset()));
            }
            // What follows the place is not looked at: how much of it there is depends on the window.
            Step::Skip { reason, .. } => seen.push(Seen::Step(Step::Skip { reason, taken: 0 }, window.offset())),
            step => seen.push(Seen::Step(step, window.offset())),
        }
        assert!(seen.len() <= 2 * text.len() + 4, "a walk that does not end");
    }
    seen
}

/// Past an element that is no JSON.
fn pass<'t>(window: &mut Window, pieces: &mut Peekable<impl Iterator<Item = &'t [u8]>>, cuts: Cuts) -> usize {
    let (mut scan, mut passed) = (Scan::default(), 0);
    loop {
        let found = scan.advance(window.rest());
        let taken = found.unwrap_or(window.rest().len());
        passed += taken;
        window.consume(taken);
        if found.is_some() || window.end {
            break;
        }
        more(window, pieces, cuts);
    }
    if passed == 0 {
        window.consume(1);
    }
    passed.max(1)
}

fuzz_target!(|data: &[u8]| {
    let Some((text, cuts)) = split(data) else { return };
    bounded(text.len(), 64, || {
        assert_eq!(walk(text, cuts), walk(text, Cuts::WHOLE), "{cuts:?}");
    });
});
