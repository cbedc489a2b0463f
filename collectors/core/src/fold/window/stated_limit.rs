//! A limit that the log states again and again.

use get_size2::GetSize;
use serde::{Deserialize, Serialize};

/// A congestion window, or a pacing rate. Records of one instant may stand in any order: the smallest figure of an
/// instant counts if it is smaller than that before the instant, otherwise the largest.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, GetSize)]
pub struct StatedLimit {
    now: Option<u64>,
    /// When the instant began.
    before: Option<u64>,
}

impl StatedLimit {
    /// The log states it; true when it is larger than the last.
    pub fn state(&mut self, limit: u64) -> bool {
        let before = self.before.unwrap_or(0);
        let Some(known) = self.now.replace(limit) else { return false };
        let (least, most) = (known.min(limit), known.max(limit));
        let counts = if least < before { least } else { most };
        self.now = Some(counts);
        known < counts
    }

    /// The log states that there is none.
    pub fn state_none(&mut self) {
        self.now = None;
    }

    /// The limit, once the log has stated one.
    pub fn get(self) -> Option<u64> {
        self.now
    }

    /// A new instant begins.
    pub fn begin_instant(&mut self) {
        self.before = self.now;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn figures_of_one_instant_may_stand_in_any_order() {
        let mut limit = StatedLimit::default();
        limit.state(12_000);
        limit.begin_instant();
        assert!(limit.state(15_000) && !limit.state(13_500));
        assert_eq!(limit.get(), Some(15_000));
        assert!(!limit.state(7_500));
        assert_eq!(limit.get(), Some(7_500));
        assert!(!limit.state(13_500));
        assert_eq!(limit.get(), Some(7_500), "it has shrunk below what it was before");
        limit.begin_instant();
        assert!(limit.state(12_000));
        limit.begin_instant();
        assert!(!limit.state(11_000));
        assert_eq!(limit.get(), Some(11_000));
        limit.state_none();
        assert_eq!(limit.get(), None);
    }
}
