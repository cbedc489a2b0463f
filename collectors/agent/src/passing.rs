//! Passing over what is longer than the limit: counted and its first bytes kept, however many windows it takes.

use quiclens_core::reader::records::Window;
use quiclens_core::reader::skip::Skip;
use quiclens_core::trace::{REJECT_BYTES, Reject};
use serde::{Deserialize, Serialize};

/// Something that is being passed over.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Passing(Reject);

impl Passing {
    /// Of what begins at `offset`.
    pub fn begin(reason: Skip, offset: u64) -> Self {
        Self(Reject { reason: Some(reason), offset, ..Reject::default() })
    }

    /// Uses what the window has of it, up to the end that `end` finds there. True when that was found.
    pub fn take(&mut self, window: &mut Window, end: impl FnOnce(&[u8]) -> Option<usize>) -> bool {
        let rest = window.rest();
        let found = end(rest);
        let taken = found.unwrap_or(rest.len());
        let room = REJECT_BYTES.saturating_sub(self.0.bytes.len());
        self.0.bytes.extend_from_slice(&rest[..taken.min(room)]);
        self.0.length += taken as u64;
        window.consume(taken);
        found.is_some()
    }

    /// What was passed over.
    pub fn done(self) -> Reject {
        self.0
    }
}

/// Goes on with what is being passed over, if anything is, up to its separator or the file's end; then it is given.
pub fn pass(passing: &mut Option<Passing>, window: &mut Window, separator: u8) -> Option<Reject> {
    let ended = passing.as_mut()?.take(window, |rest| memchr::memchr(separator, rest));
    if ended || window.end { passing.take().map(Passing::done) } else { None }
}
