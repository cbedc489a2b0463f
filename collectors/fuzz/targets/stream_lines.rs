//! Cutting a stream socket's bytes into lines: wherever a read ends, the same lines and rejects.
#![no_main]

use libfuzzer_sys::fuzz_target;
use quiclens_fuzz::cuts::{Cuts, split};
use quiclens_fuzz::run::lines::{Cut, LINE_LIMIT, Piece};

/// A byte 0xFF stands for this much of a long line.
const LONG: usize = LINE_LIMIT / 4 - 3;

fn lines(text: &[u8], cuts: Cuts) -> (Vec<u8>, Vec<Piece>) {
    let (mut lines, mut rejects, mut cut) = (Vec::new(), Vec::new(), Cut::default());
    let mut give = |piece| match piece {
        Piece::Lines(some) => {
            assert!(some.ends_with(b"\n"));
            lines.extend(some);
        }
        reject => rejects.push(reject),
    };
    for piece in cuts.pieces(text).flat_map(|piece| piece.chunks(LINE_LIMIT)) {
        cut.push(piece, &mut give);
    }
    cut.finish().map(give);
    (lines, rejects)
}

fuzz_target!(|data: &[u8]| {
    let Some((short, cuts)) = split(data) else { return };
    let mut text = Vec::new();
    for byte in short.iter().take(64) {
        if *byte == 0xFF { text.resize(text.len() + LONG, b'x') } else { text.push(*byte) }
    }
    let whole = lines(&text, Cuts::WHOLE);
    assert_eq!(lines(&text, cuts), whole, "{cuts:?}");
    assert!(whole.0.split(|byte| *byte == b'\n').all(|line| line.len() <= LINE_LIMIT));
});
