//! An input in pieces: where it is cut must not matter.

/// How an input is cut: pieces of two lengths by turns.
#[derive(Clone, Copy, Debug)]
pub struct Cuts {
    lengths: [usize; 2],
    /// The end is known with the last piece, not only when more is asked for.
    pub is_end_known: bool,
    /// Below 16, for what a target does with some inputs only: it costs much.
    pub choice: u8,
}

/// Takes the last two bytes off an input; they say how the rest is cut. A seed file keeps all but its end.
pub fn split(data: &[u8]) -> Option<(&[u8], Cuts)> {
    let (rest, [short, long]) = data.split_last_chunk()?;
    let lengths = [usize::from(*short) + 1, usize::from(*long) * 16 + 1];
    Some((rest, Cuts { lengths, is_end_known: short % 2 == 1, choice: long % 16 }))
}

impl Cuts {
    /// No cut.
    pub const WHOLE: Self = Self { lengths: [usize::MAX; 2], is_end_known: false, choice: 0 };

    /// The pieces of `text`, which together are all of it.
    pub fn pieces<'t>(&self, text: &'t [u8]) -> impl Iterator<Item = &'t [u8]> + use<'t> {
        let (mut rest, mut lengths) = (text, self.lengths.into_iter().cycle());
        std::iter::from_fn(move || {
            let length = lengths.next()?.min(rest.len());
            let (piece, left) = rest.split_at(length);
            rest = left;
            (!piece.is_empty()).then_some(piece)
        })
    }
}
