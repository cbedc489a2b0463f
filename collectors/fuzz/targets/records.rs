//! A sequence, lines or rows to rows: wherever the bytes are cut, the same rows.
#![no_main]

use libfuzzer_sys::fuzz_target;
use quiclens_fuzz::cuts::{Cuts, split};
use quiclens_fuzz::memory::bounded;
use quiclens_fuzz::rows::{Rows, check, lengthened, read, sequence};

fuzz_target!(|data: &[u8]| {
    let Some((text, cuts)) = split(data) else { return };
    let Some(framing) = sequence(text) else { return };
    let text = if cuts.choice == 1 { lengthened(text) } else { text.to_vec() };
    let text = &text[..];
    bounded(text.len(), 4096, || {
        let mut whole = read(framing, text, Cuts::WHOLE);
        check(&mut whole, Some(framing), false);
        let whole = Rows::of(whole);
        Rows::of(read(framing, text, cuts)).check_same_as(&whole, &format!("{framing:?} {cuts:?}"));
        if cuts.choice == 2 {
            check(&mut read(framing, text, Cuts::WHOLE), Some(framing), true);
        }
    });
});
