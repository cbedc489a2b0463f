//! When a stream's bytes were received: silences of the peer, and bytes behind a gap (head-of-line blocking).

use crate::fold::cause::{Cause, Interval};
use crate::fold::recovery::packets::Chunk;
use crate::fold::requests::side::Side;
use get_size2::GetSize;
use serde::{Deserialize, Serialize};

/// How long nothing may come before it is a silence of the other side.
#[derive(Clone, Copy, Debug)]
pub struct SilenceThreshold {
    /// When we raised a flow control limit last: before that the peer may have been blocked.
    pub since_us: i64,
    /// Longest silence that the peer's window or an acknowledgement delay explains.
    pub longest_us: i64,
}

/// Arrivals of a stream.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, GetSize)]
pub struct Arrivals {
    /// Since when a gap holds received bytes back.
    gap_since_us: Option<i64>,
    /// Newest arrival of bytes beyond the highest offset, or of those that closed a gap.
    newest_us: Option<i64>,
    /// Time with a gap in which no new bytes arrived.
    dead_us: u64,
}

impl Arrivals {
    /// A chunk of the peer's arrives: opens or closes the wait for a gap. If nothing of the stream arrived for longer
    /// than `silence` allows, the peer or the path had nothing for it. Gives the wait that is over.
    pub fn receive(
        &mut self,
        side: &mut Side,
        chunk: &Chunk,
        now_us: i64,
        silence: Option<SilenceThreshold>,
    ) -> Option<Interval> {
        let newest_us = self.newest_us;
        let mut over = None;
        if chunk.to > side.highest() {
            self.newest_us = Some(now_us);
        }
        if let (Some(newest_us), Some(silence)) = (newest_us, silence)
            && self.gap_since_us.is_none()
        {
            let start_us = newest_us.max(silence.since_us);
            if now_us.saturating_sub(start_us) > silence.longest_us {
                over = Some(Interval::of(Cause::RemoteWait, start_us, now_us));
            }
        }
        side.extend(chunk);
        side.take(chunk);
        match (side.has_gap(), self.gap_since_us) {
            (true, None) => self.gap_since_us = Some(now_us),
            (false, Some(start_us)) => {
                self.dead_us += now_us.abs_diff(newest_us.unwrap_or(start_us).max(start_us));
                over = Some(Interval::of(Cause::ReceiverHol, start_us, now_us));
                self.gap_since_us = None;
                self.newest_us = Some(now_us);
            }
            _ => {}
        }
        over
    }

    /// Since when a gap holds received bytes back.
    pub fn gap_since_us(&self) -> Option<i64> {
        self.gap_since_us
    }

    /// Time with a gap in which no new bytes arrived.
    pub fn dead_us(&self) -> u64 {
        self.dead_us
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const fn chunk(from: u64, to: u64) -> Chunk {
        Chunk { stream_id: 0, from, to, fin: false }
    }

    #[test]
    fn a_gap_holds_bytes_back_until_it_is_filled() {
        let (mut arrivals, mut side) = (Arrivals::default(), Side::default());
        let mut receive = |from, to, now_us| arrivals.receive(&mut side, &chunk(from, to), now_us, None);
        assert_eq!([receive(0, 100, 10), receive(200, 300, 20), receive(300, 400, 50)], [None; 3]);
        let over = receive(100, 200, 80);
        assert_eq!(over, Some(Interval::of(Cause::ReceiverHol, 20, 80)));
        assert_eq!((arrivals.dead_us(), arrivals.gap_since_us()), (30, None));
    }

    #[test]
    fn a_silence_counts_from_the_last_raise_of_the_limit_and_above_its_threshold() {
        let (mut arrivals, mut side) = (Arrivals::default(), Side::default());
        let silence = Some(SilenceThreshold { since_us: 150, longest_us: 100 });
        let mut receive = |from, to, now_us| arrivals.receive(&mut side, &chunk(from, to), now_us, silence);
        assert_eq!([receive(0, 100, 10), receive(100, 200, 250)], [None; 2]);
        let over = receive(200, 300, 400);
        assert_eq!(over, Some(Interval::of(Cause::RemoteWait, 250, 400)));
    }
}
