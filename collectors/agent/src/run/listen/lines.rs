//! Bytes of a stream to whole lines. Pure.

use quiclens_core::reader::skip::Skip;
use quiclens_core::trace::REJECT_BYTES;

/// What came out of a stream.
#[derive(Debug, PartialEq, Eq)]
pub enum StreamPiece {
    /// Whole lines, each with its line feed.
    Lines(Vec<u8>),
    /// Bytes that are not a line: the reason, their length, the first of them.
    Reject(Skip, u64, Vec<u8>),
}

/// The end of a stream so far: a line of which the end has not come.
#[derive(Debug)]
pub struct Cut {
    /// Longest line, bytes.
    limit: usize,
    begun: Vec<u8>,
    /// The line is too long; so many bytes of it have come.
    passed: Option<u64>,
}

impl Cut {
    /// A stream whose lines have at most `limit` bytes.
    pub fn new(limit: usize) -> Self {
        Self { limit, begun: Vec::new(), passed: None }
    }

    /// Takes the next bytes of the stream, at most as many as a line may have.
    pub fn push(&mut self, mut bytes: &[u8], mut give: impl FnMut(StreamPiece)) {
        if let Some(end) = memchr::memchr(b'\n', bytes) {
            // The first line may have begun before.
            if self.passed.is_some() || self.begun.len() + end > self.limit {
                self.pass(&bytes[..end]);
                give(StreamPiece::Reject(
                    Skip::TooLong,
                    self.passed.take().unwrap_or(0),
                    std::mem::take(&mut self.begun),
                ));
                bytes = &bytes[end + 1..];
            }
            if let Some(last) = memchr::memrchr(b'\n', bytes) {
                let mut lines = std::mem::take(&mut self.begun);
                lines.extend_from_slice(&bytes[..=last]);
                give(StreamPiece::Lines(lines));
                bytes = &bytes[last + 1..];
            }
        }
        if self.passed.is_some() || self.begun.len() + bytes.len() > self.limit {
            self.pass(bytes);
        } else {
            self.begun.extend_from_slice(bytes);
        }
    }

    fn pass(&mut self, bytes: &[u8]) {
        self.passed = Some(self.passed.unwrap_or(self.begun.len() as u64) + bytes.len() as u64);
        let room = REJECT_BYTES.saturating_sub(self.begun.len());
        self.begun.extend_from_slice(&bytes[..bytes.len().min(room)]);
    }

    /// The stream is over: what was begun is half a line.
    pub fn finish(self) -> Option<StreamPiece> {
        match self.passed {
            Some(length) => Some(StreamPiece::Reject(Skip::TooLong, length, self.begun)),
            None if self.begun.is_empty() => None,
            None => Some(StreamPiece::Reject(Skip::Truncated, self.begun.len() as u64, self.begun)),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use quiclens_core::limits::STREAM_LINE;

    fn cut(chunks: &[&[u8]]) -> (Vec<u8>, Vec<(Skip, u64, usize)>) {
        let (mut cut, mut lines, mut rejects) = (Cut::new(STREAM_LINE), Vec::new(), Vec::new());
        let mut give = |piece| match piece {
            StreamPiece::Lines(some) => lines.extend(some),
            StreamPiece::Reject(reason, length, bytes) => rejects.push((reason, length, bytes.len())),
        };
        for chunk in chunks {
            cut.push(chunk, &mut give);
        }
        cut.finish().map(give);
        (lines, rejects)
    }

    #[test]
    fn lines_come_out_whole_however_they_come_in() {
        let text = b"one\ntwo\n\nthree\n";
        for size in 1..text.len() {
            assert_eq!(cut(&text.chunks(size).collect::<Vec<_>>()), (text.to_vec(), Vec::new()), "chunks of {size}");
        }
        assert_eq!(cut(&[b"one\nha", b"lf"]), (b"one\n".to_vec(), vec![(Skip::Truncated, 4, 4)]));
    }

    #[test]
    fn a_line_that_is_too_long_is_passed_by_and_the_next_one_read() {
        let long = vec![b'x'; STREAM_LINE + 10];
        let text = [b"a\n", &long[..], b"\nb\n", &long[..]].concat();
        for size in [7, 4096, STREAM_LINE] {
            let (lines, rejects) = cut(&text.chunks(size).collect::<Vec<_>>());
            assert_eq!(lines, b"a\nb\n", "chunks of {size}");
            assert_eq!(rejects, vec![(Skip::TooLong, long.len() as u64, REJECT_BYTES); 2], "chunks of {size}");
        }
    }
}
