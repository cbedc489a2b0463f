//! A sequence, lines or rows to rows: wherever the bytes are cut, the same rows.
#![no_main]

use libfuzzer_sys::fuzz_target;
use quiclens_fuzz::cuts::{Cuts, split};
use quiclens_fuzz::memory::bounded;
use quiclens_fuzz::rows::{Rows, check, lengthened, read, sequence};

fuzz_target!(|data: &[u8]| {
    let Some((text, cuts)) = split(data) else { return };
    let Some(framing) = sequence(text) else { return };
    let text = if cuts.is_end_known { lengthened(text) } else { text.to_vec() };
    let text = &text[..];
    bounded(text.len(), 4096, || {
        let whole = Rows::of(read(framing, text, Cuts::WHOLE));
        Rows::of(read(framing, text, cuts)).check_same_as(&whole, &format!("{framing:?} {cuts:?}"));
        check(&mut read(framing, text, Cuts::WHOLE), Some(framing));
    });
});
