//! The JSON cursor beside serde_json: the same texts are values, and a value that may go on is not ended by the text.
#![no_main]

use libfuzzer_sys::fuzz_target;
use quiclens_core::reader::json::{Cursor, JsonFault};
use quiclens_fuzz::cuts::split;
use serde::de::IgnoredAny;

fn ours(text: &[u8]) -> Result<usize, JsonFault> {
    let mut cursor = Cursor::new(text);
    cursor.value()?;
    Ok(cursor.at)
}

/// Length of the value at the start of `text` in serde_json's eyes, which look at neither UTF-8 nor surrogates here.
fn theirs(text: &[u8]) -> Result<usize, serde_json::Error> {
    let mut values = serde_json::Deserializer::from_slice(text).into_iter::<IgnoredAny>();
    values.next().unwrap_or_else(|| serde_json::from_slice(b"")).map(|_| values.byte_offset())
}

fuzz_target!(|data: &[u8]| {
    let Some((text, cuts)) = split(data) else { return };
    let (ours_of_whole, theirs_of_whole) = (ours(text), theirs(text));
    match (&ours_of_whole, &theirs_of_whole) {
        // serde_json asks what follows a number or word; that is the caller's to see.
        (Ok(at), Err(_)) => assert!(theirs(&text[..*at]).is_ok(), "ours alone: {:?}", &text[..*at]),
        (Ok(at), Ok(end)) => assert_eq!(at, end),
        (Err(JsonFault::Depth), _) | (Err(_), Err(_)) => {}
        (Err(fault), Ok(end)) => panic!("theirs alone: {fault:?} {:?}", &text[..*end]),
    }
    let Some(cut) = cuts.pieces(text).next() else { return };
    match (ours(cut), ours_of_whole) {
        // A number that touches the end may go on: that is the caller's to see.
        (Ok(at), _) if at == cut.len() && cut[at - 1].is_ascii_digit() => {}
        (Ok(at), whole) => assert_eq!(Ok(at), whole, "a value that the cut ended"),
        (Err(JsonFault::End), _) => {}
        (fault, whole) => assert_eq!(fault, whole, "more bytes mend nothing"),
    }
});
