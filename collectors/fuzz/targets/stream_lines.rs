//! Cutting a stream socket's bytes into lines: wherever a read ends, the same lines and rejects.
#![no_main]

use libfuzzer_sys::fuzz_target;
use quiclens_core::reader::skip::Skip;
use quiclens_fuzz::cuts::{Cuts, split};
use quiclens_fuzz::run::lines::{Cut, StreamPiece};

/// Longest line: a short one, which short inputs cross.
const LIMIT: usize = 24;

fn lines(text: &[u8], cuts: Cuts) -> (Vec<u8>, Vec<StreamPiece>) {
    let (mut lines, mut rejects, mut cut) = (Vec::new(), Vec::new(), Cut::new(LIMIT));
    let mut give = |piece| match piece {
        StreamPiece::Lines(some) => {
            assert!(some.ends_with(b"\n"));
            lines.extend(some);
        }
        reject => rejects.push(reject),
    };
    for piece in cuts.pieces(text).flat_map(|piece| piece.chunks(LIMIT)) {
        cut.push(piece, &mut give);
    }
    cut.finish().map(give);
    (lines, rejects)
}

fuzz_target!(|data: &[u8]| {
    let Some((text, cuts)) = split(data) else { return };
    let whole = lines(text, Cuts::WHOLE);
    assert_eq!(lines(text, cuts), whole, "{cuts:?}");
    assert!(whole.0.split(|byte| *byte == b'\n').all(|line| line.len() <= LIMIT));
    // What is too long is told with its length, and nothing else is lost.
    let long: u64 =
        whole.1.iter().map(|reject| if let StreamPiece::Reject(_, length, _) = reject { *length } else { 0 }).sum();
    let ends = whole.1.iter().filter(|reject| matches!(reject, StreamPiece::Reject(Skip::TooLong, ..))).count();
    let given = whole.0.len() as u64 + long + ends as u64;
    let is_last_cut = matches!(whole.1.last(), Some(StreamPiece::Reject(Skip::TooLong, ..))) && !text.ends_with(b"\n");
    assert_eq!(given, text.len() as u64 + u64::from(is_last_cut), "bytes of no line");
});
