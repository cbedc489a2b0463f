//! Finds where JSON values end without reading them: for the first pass over a document, and to get past a bad record.
//!
//! The block method (one bit a byte, prefix xor for "inside a string") is that of Langdale and Lemire,
//! "Parsing Gigabytes of JSON per Second" (VLDB Journal 2019), 3.1.

/// State of a scan that may go on in the next window.
#[derive(Clone, Copy, Debug, Default)]
pub struct Scan {
    depth: u64,
    in_string: bool,
    escaped: bool,
    started: bool,
}

const BLOCK: usize = 64;

impl Scan {
    /// A scan that stands just inside an array or object.
    pub fn inside() -> Self {
        Self { depth: 1, in_string: false, escaped: false, started: true }
    }

    /// Goes on through `bytes`: where the value ends (exclusive), or `None` when it goes on. A value outside any
    /// bracket ends before the `,`, `]` or `}` that follows it.
    pub fn advance(&mut self, bytes: &[u8]) -> Option<usize> {
        let mut at = 0;
        while at < bytes.len() {
            if self.depth > 0
                && !self.escaped
                && let Some(block) = bytes.get(at..at + BLOCK)
                && self.block(block)
            {
                at += BLOCK;
                continue;
            }
            let end = (at + BLOCK).min(bytes.len());
            while at < end {
                if self.byte(bytes[at]) {
                    return Some(if self.depth == 0 && matches!(bytes[at], b',') { at } else { at + 1 });
                }
                if self.depth == 0
                    && self.started
                    && !self.in_string
                    && matches!(bytes.get(at + 1), Some(b',' | b']' | b'}'))
                {
                    return Some(at + 1);
                }
                at += 1;
            }
        }
        None
    }

    /// Takes one byte; true when the value ended with it.
    fn byte(&mut self, byte: u8) -> bool {
        if self.in_string {
            if self.escaped {
                self.escaped = false;
            } else if byte == b'\\' {
                self.escaped = true;
            } else if byte == b'"' {
                self.in_string = false;
            }
            return false;
        }
        match byte {
            b'"' => self.in_string = true,
            b'{' | b'[' => self.depth += 1,
            b'}' | b']' => {
                self.depth = self.depth.saturating_sub(1);
                self.started = true;
                return self.depth == 0;
            }
            b',' if self.depth == 0 => return true,
            _ => {}
        }
        self.started |= !byte.is_ascii_whitespace();
        false
    }

    /// Takes a block, unless a backslash is in it or the value may end in it.
    fn block(&mut self, block: &[u8]) -> bool {
        if bits(block, |byte| byte == b'\\') != 0 {
            return false;
        }
        let mut string = bits(block, |byte| byte == b'"');
        for shift in [1, 2, 4, 8, 16, 32] {
            string ^= string << shift;
        }
        if self.in_string {
            string = !string;
        }
        // Bit 5 is all that tells [ from { and ] from }.
        let open = (bits(block, |byte| byte | 0x20 == b'{') & !string).count_ones();
        let close = (bits(block, |byte| byte | 0x20 == b'}') & !string).count_ones();
        if self.depth <= u64::from(close) {
            return false;
        }
        self.depth = self.depth + u64::from(open) - u64::from(close);
        self.in_string = string >> 63 == 1;
        true
    }
}

#[inline]
fn bits(block: &[u8], is: impl Fn(u8) -> bool) -> u64 {
    let mut flags = [0u8; BLOCK];
    for (flag, byte) in flags.iter_mut().zip(block) {
        *flag = u8::from(is(*byte));
    }
    let mut mask = 0u64;
    for (index, eight) in flags.chunks_exact(8).enumerate() {
        let mut lane = [0u8; 8];
        lane.copy_from_slice(eight);
        // Gathers the low bit of eight bytes into one byte.
        mask |= (u64::from_le_bytes(lane).wrapping_mul(0x0102_0408_1020_4080) >> 56) << (index * 8);
    }
    mask
}

#[cfg(test)]
mod tests {
    use super::*;

    fn slow(text: &[u8]) -> Option<usize> {
        let mut scan = Scan::inside();
        text.iter().position(|byte| scan.byte(*byte)).map(|at| at + 1)
    }

    #[test]
    fn blocks_find_the_same_end_as_bytes() {
        let inner =
            br#"{"time":1,"name":"a:b","data":{"x":[1,2,{"y":"]}\"[{"}],"z":"plain text that is long enough"}}"#;
        for count in 0..20 {
            let mut text = Vec::new();
            for _ in 0..count {
                text.extend_from_slice(inner);
                text.push(b',');
            }
            text.extend_from_slice(b" ] tail ]");
            assert_eq!(Scan::inside().advance(&text), slow(&text), "{count}");
            for cut in 0..text.len() {
                let mut scan = Scan::inside();
                let first = scan.advance(&text[..cut]);
                let end = first.or_else(|| scan.advance(&text[cut..]).map(|end| end + cut));
                assert_eq!(end, slow(&text), "{count} cut at {cut}");
            }
        }
    }

    #[test]
    fn scalars_end_before_what_follows() {
        assert_eq!(Scan::default().advance(b"12 ,"), Some(3));
        assert_eq!(Scan::default().advance(b"nul]"), Some(3));
        assert_eq!(Scan::default().advance(b"\"a,b\","), Some(5));
        assert_eq!(Scan::default().advance(b"[1,[2]],"), Some(7));
    }
}
