//! Waits that the log states (`connection_data_blocked_updated`, `stream_data_blocked_updated` of
//! draft-ietf-quic-qlog-quic-events-13): since when data waits, and why.

use crate::event::{BlockedReason, BlockedUpdate};
use crate::fold::cause::Cause;
use crate::fold::moment::Moment;
use get_size2::GetSize;
use serde::{Deserialize, Serialize};

/// Data waits, as the log states.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, GetSize)]
pub struct StatedWait {
    /// From then on.
    pub since: Moment,
    /// Why, where that is said.
    pub reason: Option<BlockedReason>,
}

/// Of the connection or of one stream.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, GetSize)]
pub struct StatedWaits(Option<StatedWait>);

impl BlockedReason {
    /// What data waits for, as the stack states it.
    pub fn cause(self) -> Cause {
        match self {
            Self::Scheduling => Cause::Scheduling,
            Self::Pacing => Cause::Pacing,
            Self::AmplificationProtection => Cause::Amplification,
            Self::CongestionControl => Cause::CwndBlocked,
            Self::ConnectionFlowControl => Cause::ConnectionFlowControl,
            Self::StreamFlowControl => Cause::StreamFlowControl,
            Self::StreamId => Cause::StreamLimit,
            Self::Application => Cause::AppLimited,
        }
    }
}

impl StatedWaits {
    /// The log states that data waits, or no longer waits. Gives the wait that is over: another reason ends one wait
    /// and begins the next, the same reason continues it. The reason may be stated only at the end.
    pub fn state(&mut self, blocked: BlockedUpdate, now: Moment) -> Option<StatedWait> {
        if blocked.is_blocked && self.0.is_some_and(|wait| wait.reason == blocked.reason) {
            return None;
        }
        let over = self.0.take();
        self.0 = blocked.is_blocked.then_some(StatedWait { since: now, reason: blocked.reason });
        let told = blocked.reason.filter(|_| !blocked.is_blocked);
        over.map(|wait| StatedWait { reason: wait.reason.or(told), ..wait })
    }

    /// New data is sent: an earlier wait is over, whether or not the log says so. Gives it.
    pub fn go_on(&mut self, now: Moment) -> Option<StatedWait> {
        self.0.take_if(|wait| wait.since.us < now.us)
    }

    /// What is not over.
    pub fn open(&self) -> Option<StatedWait> {
        self.0
    }

    /// Since when it lasts, us.
    pub fn since_us(&self) -> Option<i64> {
        self.0.map(|wait| wait.since.us)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const fn stated(is_blocked: bool, reason: Option<BlockedReason>) -> BlockedUpdate {
        BlockedUpdate { is_blocked, was_blocked: None, reason, stream_id: None }
    }

    const fn at(us: i64) -> Moment {
        Moment { us, seq: 0 }
    }

    #[test]
    fn a_wait_ends_when_data_goes_on_or_waits_for_something_else() {
        let (pacing, credit) = (Some(BlockedReason::Pacing), Some(BlockedReason::StreamFlowControl));
        let mut waits = StatedWaits::default();
        assert_eq!(waits.state(stated(false, pacing), at(1)), None, "the log does not say since when");
        assert_eq!(waits.state(stated(true, pacing), at(10)), None);
        assert_eq!(waits.state(stated(true, pacing), at(15)), None, "it goes on");
        assert_eq!(waits.since_us(), Some(10));
        let over = waits.state(stated(true, credit), at(20));
        assert_eq!(over, Some(StatedWait { since: at(10), reason: pacing }));
        let over = waits.state(stated(false, None), at(30));
        assert_eq!(over, Some(StatedWait { since: at(20), reason: credit }));
        assert_eq!(waits.open(), None);
    }

    #[test]
    fn sent_data_ends_an_earlier_wait_but_not_one_that_begins_in_the_same_instant() {
        let pacing = Some(BlockedReason::Pacing);
        let mut waits = StatedWaits::default();
        waits.state(stated(true, pacing), at(10));
        assert_eq!((waits.go_on(at(10)), waits.since_us()), (None, Some(10)));
        assert_eq!(waits.go_on(at(20)), Some(StatedWait { since: at(10), reason: pacing }));
        assert_eq!((waits.go_on(at(30)), waits.state(stated(false, pacing), at(30))), (None, None));
    }

    #[test]
    fn a_reason_that_is_told_at_the_end_is_that_of_the_whole_wait() {
        let mut waits = StatedWaits::default();
        waits.state(stated(true, None), at(10));
        let over = waits.state(stated(false, Some(BlockedReason::Pacing)), at(20));
        assert_eq!(over, Some(StatedWait { since: at(10), reason: Some(BlockedReason::Pacing) }));
        // What begins has a reason of its own, or none.
        waits.state(stated(true, None), at(30));
        let over = waits.state(stated(true, Some(BlockedReason::Pacing)), at(40));
        assert_eq!(over, Some(StatedWait { since: at(30), reason: None }));
    }
}
