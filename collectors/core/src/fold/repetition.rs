//! What the stream data of a packet repeats: data that had gone out before, lost or not.

use serde::{Deserialize, Serialize};

/// What is true of any chunk of a packet, one bit each.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Repetition(u8);

const NEW: u8 = 1;
const AGAIN: u8 = 2;
const UNLOST: u8 = 4;
const MENDS: u8 = 8;

impl Repetition {
    /// A chunk: it has data that goes out for the first time, data that had gone out before, and mends a loss.
    pub fn add(&mut self, is_new: bool, is_again: bool, mends: bool) {
        let bit = |is: bool, bit: u8| if is { bit } else { 0 };
        self.0 |= bit(is_new, NEW) | bit(is_again, AGAIN) | bit(is_again && !mends, UNLOST) | bit(mends, MENDS);
    }

    /// Some data goes out for the first time.
    pub fn has_news(self) -> bool {
        self.0 & NEW != 0
    }

    /// Some data had gone out before.
    pub fn is_again(self) -> bool {
        self.0 & AGAIN != 0
    }

    /// Some data had gone out before and is not known to be lost.
    pub fn is_again_unlost(self) -> bool {
        self.0 & UNLOST != 0
    }

    /// All its data had gone out before, and was not lost: a probe's copy.
    pub fn is_copy(self) -> bool {
        self.0 & (NEW | UNLOST | MENDS) == UNLOST
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(chunks: &[(bool, bool, bool)]) -> Repetition {
        let mut repetition = Repetition::default();
        chunks.iter().for_each(|(is_new, is_again, mends)| repetition.add(*is_new, *is_again, *mends));
        repetition
    }

    #[test]
    fn a_copy_has_nothing_new_and_mends_nothing() {
        assert!(of(&[(false, true, false)]).is_copy());
        assert!(!of(&[(false, true, false), (true, false, false)]).is_copy());
        assert!(!of(&[(false, true, false), (false, true, true)]).is_copy());
        assert!(!of(&[(false, true, true)]).is_again_unlost());
        assert!(!of(&[]).is_copy() && !of(&[(true, false, false)]).is_again());
    }
}
