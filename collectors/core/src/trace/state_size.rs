//! How much memory the state of a connection takes. It is counted again when so many bytes of records have come that the
//! count costs little beside them: a connection can grow only by what it reads.

/// A connection is counted with its first record. The next count comes after so many bytes of records, each further one
/// after twice as many.
const FIRST: usize = 256;

/// Until there are so many, or this part of the state.
const STEP: usize = 32 << 10;
const PART: usize = 64;

/// Memory of one connection's state, as it was counted last.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct StateSize {
    bytes: usize,
    /// Bytes of records since.
    read: usize,
    /// As many as are read before the next count.
    due: usize,
}

impl StateSize {
    /// Bytes of memory.
    pub fn bytes(self) -> usize {
        self.bytes
    }

    /// A record of so many bytes comes: true when the state is to be counted.
    pub fn read(&mut self, length: usize) -> bool {
        self.read = self.read.saturating_add(length);
        self.read >= self.due
    }

    /// It was counted.
    pub fn count(&mut self, bytes: usize) {
        *self = Self { bytes, read: 0, due: self.due.saturating_mul(2).clamp(FIRST, STEP.max(bytes / PART)) };
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_state_is_counted_each_time_that_it_may_have_grown_by_a_part() {
        let mut size = StateSize::default();
        let mut counts = Vec::new();
        for read in 0..400 {
            if size.read(1 << 10) {
                counts.push(read);
                size.count(if read < 300 { 2000 } else { 8 << 20 });
            }
        }
        assert_eq!(
            counts,
            [0, 1, 2, 3, 5, 9, 17, 33, 65, 97, 129, 161, 193, 225, 257, 289, 321, 385],
            "each time after 32 KiB at most"
        );
        assert_eq!(size.bytes(), 8 << 20);
        assert!(!size.read(113 << 10) && size.read(1 << 10), "of eight mebibytes a 64th");
    }
}
