//! A request or an answer, as its application hands it over to the transport.

use std::time::{Duration, Instant};

use crate::plan::Request;

/// The bytes of one message.
#[derive(Clone, Copy, Debug)]
pub struct MessageBytes {
    /// Handed over by the application, and not yet taken by the transport.
    pub handed: u64,
    /// Not yet handed over.
    pub left: u64,
    /// When the application hands over next.
    pub hands_at: Option<Instant>,
}

impl MessageBytes {
    pub fn new(left: u64, hands_at: Option<Instant>) -> Self {
        Self { handed: 0, left, hands_at }
    }

    /// The application's turn: all of a message, or an answer's next piece. True when it handed over.
    pub fn hand_over(&mut self, request: &Request, now: Instant, is_server: bool) -> bool {
        if self.hands_at.is_none_or(|at| at > now) {
            return false;
        }
        let is_cut = is_server && request.piece_bytes > 0;
        let piece = if is_cut { request.piece_bytes.min(self.left) } else { self.left };
        self.handed += piece;
        self.left -= piece;
        let gap = if self.left > 0 { request.piece_gap } else { Duration::ZERO };
        self.hands_at = (self.left > 0).then(|| now + gap);
        true
    }
}
