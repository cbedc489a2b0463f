//! A sequence, lines or rows to rows: wherever the bytes are cut, the same rows.
#![no_main]

use libfuzzer_sys::fuzz_target;
use quiclens_core::reader::sniff::{Framing, sniff};
use quiclens_fuzz::cuts::{Cuts, split};
use quiclens_fuzz::memory::bounded;
use quiclens_fuzz::rows::{Rows, check, read};

fuzz_target!(|data: &[u8]| {
    let Some((text, cuts)) = split(data) else { return };
    let Some(framing) = sniff(text, true).filter(|framing| *framing != Framing::Contained) else { return };
    bounded(text.len(), 4096, || {
        let whole = Rows::of(read(framing, text, Cuts::WHOLE));
        Rows::of(read(framing, text, cuts)).check_same_as(&whole, &format!("{framing:?} {cuts:?}"));
        check(&mut read(framing, text, Cuts::WHOLE), Some(framing));
    });
});
