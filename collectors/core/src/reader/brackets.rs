//! Passes over an array of JSON without reading it: brackets and strings alone are looked at, eight bytes at a time.

use crate::limits::MAX_DEPTH;

/// Brackets do not fit together, or nest deeper than [`MAX_DEPTH`]; or a string begins where none can, behind a quote
/// that is lost.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Unbalanced;

/// What is open inside of an array, from behind its first bracket on.
#[derive(Clone, Debug, Default)]
pub struct Brackets {
    is_text: bool,
    /// The last byte was a backslash in a string.
    is_escaped: bool,
    /// The byte before the next one; 0 before the first.
    last: u8,
    depth: u32,
    /// One bit a level, the innermost lowest: set for an object. [`MAX_DEPTH`] is its width.
    objects: u64,
}

/// The high bit of each byte of a word that is a quote, a backslash or a bracket. Of the bytes behind one of them it may
/// be set too; see "determine if a word has a byte equal to n" of Anderson's Bit Twiddling Hacks.
fn marks(word: u64) -> u64 {
    const ONES: u64 = u64::from_le_bytes([0x01; 8]);
    const HIGH: u64 = u64::from_le_bytes([0x80; 8]);
    let has = |word: u64, byte: u8| {
        let word = word ^ (ONES * u64::from(byte));
        word.wrapping_sub(ONES) & !word
    };
    // The square brackets are the curly ones without this bit.
    let curly = word | (ONES * 0x20);
    (has(word, b'"') | has(word, b'\\') | has(curly, b'{') | has(curly, b'}')) & HIGH
}

/// What may stand before a string; 0 is before the first byte.
const BEFORE_TEXT: [bool; 256] = {
    const BYTES: &[u8] = b"\0,:{[ \t\r\n";
    let mut before = [false; 256];
    let mut at = 0;
    while at < BYTES.len() {
        before[BYTES[at] as usize] = true;
        at += 1;
    }
    before
};

impl Brackets {
    /// Goes on with the next bytes: the place of the array's last bracket, or `None` where it is not among them. In whole
    /// JSON it is the place at which a reader of the elements finds it.
    pub fn close(&mut self, bytes: &[u8]) -> Result<Option<usize>, Unbalanced> {
        // The place behind a backslash.
        let mut escaped = if self.is_escaped { 0 } else { usize::MAX };
        let words = bytes.chunks_exact(8);
        let rest = bytes.len() - words.remainder().len()..bytes.len();
        let mut end = 0;
        for word in words {
            let mut marks = word.first_chunk().map_or(0, |word| marks(u64::from_le_bytes(*word)));
            let begin = end;
            end += 8;
            while marks != 0 {
                let at = begin + marks.trailing_zeros() as usize / 8;
                marks &= marks - 1;
                if self.mark(bytes, at, &mut escaped)? {
                    return Ok(Some(at));
                }
            }
        }
        for at in rest {
            if self.mark(bytes, at, &mut escaped)? {
                return Ok(Some(at));
            }
        }
        self.is_escaped = escaped == bytes.len();
        self.last = bytes.last().copied().unwrap_or(self.last);
        Ok(None)
    }

    /// Takes one byte; true for the array's last bracket.
    #[inline(always)]
    fn mark(&mut self, bytes: &[u8], at: usize, escaped: &mut usize) -> Result<bool, Unbalanced> {
        let byte = bytes[at];
        if byte == b'"' {
            if self.is_text {
                self.is_text = at == *escaped;
                return Ok(false);
            }
            let before = at.checked_sub(1).map_or(self.last, |before| bytes[before]);
            self.is_text = BEFORE_TEXT[usize::from(before)];
            return if self.is_text { Ok(false) } else { Err(Unbalanced) };
        }
        if self.is_text {
            if byte == b'\\' && at != *escaped {
                *escaped = at + 1;
            }
            return Ok(false);
        }
        let is_object = matches!(byte, b'{' | b'}');
        match byte {
            b'{' | b'[' => {
                if self.depth == MAX_DEPTH {
                    return Err(Unbalanced);
                }
                self.depth += 1;
                self.objects = self.objects << 1 | u64::from(is_object);
            }
            b'}' | b']' => {
                if self.depth == 0 {
                    return if is_object { Err(Unbalanced) } else { Ok(true) };
                }
                if (self.objects & 1 == 1) != is_object {
                    return Err(Unbalanced);
                }
                self.depth -= 1;
                self.objects >>= 1;
            }
            _ => {}
        }
        Ok(false)
    }
}
