//! Cutting a sequence, lines or rows into records: wherever the bytes are cut, the same records, and all bytes.
#![no_main]

use libfuzzer_sys::fuzz_target;
use quiclens_core::reader::records::{RecordStep, Window, next_record};
use quiclens_core::reader::sniff::Framing;
use quiclens_fuzz::cuts::{Cuts, split};
use quiclens_fuzz::rows::more;

fn records(framing: Framing, text: &[u8], cuts: Cuts) -> Vec<(u64, Vec<u8>)> {
    let (mut window, mut pieces, mut found) = (Window::default(), cuts.pieces(text).peekable(), Vec::new());
    loop {
        match next_record(framing, &mut window) {
            RecordStep::NeedMore => more(&mut window, &mut pieces, cuts),
            RecordStep::Record { len, taken } => {
                assert!(taken >= len && taken > 0);
                found.push((window.offset(), window.rest()[..len].to_vec()));
                window.consume(taken);
            }
            RecordStep::Done => break,
            RecordStep::TooLong => panic!("a short text is too long"),
        }
    }
    assert_eq!(window.offset(), text.len() as u64);
    found
}

fuzz_target!(|data: &[u8]| {
    let Some((text, cuts)) = split(data) else { return };
    let framing = [Framing::Sequential, Framing::NdJson, Framing::QuicTrace][usize::from(cuts.choice % 3)];
    let whole = records(framing, text, Cuts::WHOLE);
    assert_eq!(records(framing, text, cuts), whole, "{framing:?} {cuts:?}");
    let text = text.strip_prefix(b"\xEF\xBB\xBF").unwrap_or(text);
    let is_kept = |byte: &u8| !byte.is_ascii_whitespace() && *byte != 0x1E;
    let given = whole.iter().flat_map(|(_, record)| record).filter(|byte| is_kept(byte));
    assert!(given.eq(text.iter().filter(|byte| is_kept(byte))), "{framing:?}: bytes of no record");
});
