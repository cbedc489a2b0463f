//! The life of a request stream: opened, ended, let go as a row; and what is kept while it is open.

use crate::fold::cause::{Cause, Interval};
use crate::fold::finish::Episode;
use crate::fold::stream::Stream;
use crate::fold::sweep::{Gap, waits_for_data};
use crate::fold::{Fold, parts};
use crate::limits;
use crate::reader::skip::Skip;

/// Requests that stay open after they ended, to hear their last HTTP frames.
const LINGERING: usize = 64;

/// Undecided intervals of the connection or of a stream at which what is certain is summed up.
const SUMMED_UP_AT: usize = 1024;

/// A gap is decided as a whole: the sweep stops before one that goes on.
fn whole(to_us: i64, gaps: &[Gap]) -> i64 {
    gaps.iter().find(|gap| gap.start_us < to_us && to_us < gap.end_us).map_or(to_us, |gap| gap.start_us)
}

impl Fold {
    /// The request stream `id`, opened by the current event if it is new; `None` for other kinds of streams and for
    /// those that ended long ago. Client-initiated bidirectional: RFC 9000, 2.1.
    pub(super) fn request_stream(&mut self, id: u64) -> Option<&mut Stream> {
        if !id.is_multiple_of(4) || self.closed.covers(id / 4, id / 4 + 1) {
            return None;
        }
        if !self.streams.contains_key(&id) {
            if self.streams.len() >= limits::OPEN_REQUESTS {
                self.beyond = Some(Skip::TooManyRequests);
                return None;
            }
            self.open_request(id);
        }
        let seq = self.now.seq;
        let stream = self.streams.get_mut(&id)?;
        stream.last_seq = seq;
        Some(stream)
    }

    fn open_request(&mut self, id: u64) {
        let (now, seq) = (self.now.us, self.now.seq);
        self.count.requests += 1;
        self.open += 1;
        if let Some((since, first_seq)) = self.idle_since.take() {
            self.stretch_of("idle", -1, first_seq, since);
        }
        let stream = Stream {
            id,
            marks: parts::Marks { start_us: now, end_us: now, ..parts::Marks::default() },
            first_seq: seq,
            credit: self.credit.initial_stream,
            ..Stream::default()
        };
        self.streams.insert(id, Box::new(stream));
    }

    /// A request ends, if it has not.
    pub(super) fn end_request(&mut self, id: u64, time_us: i64, why: &str) {
        let (now, seq, rtt) = (self.now.us, self.now.seq, self.recovery.rtt().round_trip());
        let Some(stream) = self.streams.get_mut(&id).filter(|stream| stream.end_is.is_empty()) else { return };
        if let Some((start_us, _)) = stream.queue.empty_since.take() {
            // Cut off while the application had nothing.
            stream.intervals.push(Interval { cause: Cause::AppLimited, start_us, end_us: now });
        }
        stream.rtt = rtt;
        stream.transfer.ack_delay_us = self.recovery.rtt().ack_delay_us();
        stream.end(time_us, why, true);
        self.ended.push(id);
        self.hungry.remove(&id);
        self.open = self.open.saturating_sub(1);
        if self.open == 0 {
            // Mvfst calls a connection idle that has no open stream but control streams (quic_trace.md 4.1).
            self.idle_since = Some((now, seq));
        }
    }

    /// A condition of the connection held; requests that are open may have waited for it.
    pub(super) fn held(&mut self, interval: Interval) {
        if interval.start_us < interval.end_us && self.open + self.ended.len() as u64 > 0 {
            self.conditions.push(interval);
            if self.conditions.len() >= SUMMED_UP_AT {
                self.compact();
            }
        }
    }

    /// Sums up what no later event can change, so that the memory of a stream that stays open is bounded.
    fn compact(&mut self) {
        let conditions = std::mem::take(&mut self.conditions);
        let certain = self.certain_us();
        for stream in self.streams.values_mut() {
            let begin = if self.role == crate::header::Vantage::Client {
                stream.marks.first_byte_us
            } else {
                stream.marks.response_start_us
            };
            // Conditions that were over before the response began do not matter to it.
            let Some(begin) = begin else { continue };
            stream.intervals.extend(&conditions);
            stream.sweep.at_us.get_or_insert(begin.max(stream.marks.start_us));
            let undecided = stream.undecided();
            if undecided < stream.summed_up_at.max(SUMMED_UP_AT) {
                continue;
            }
            self.steps += undecided as u64;
            let own = stream.losses.iter().map(|loss| loss.due_us);
            let own = own.chain(stream.blocked.map(|(since, _)| since)).chain(stream.gap_since);
            let own = own.chain(stream.queue.empty_since.map(|(since, _)| since));
            let own = own.chain(stream.queue.ready.map(|ready| ready.since_us)).chain(stream.marks.last_byte_us).min();
            let to_us = own.map_or(certain, |own| own.min(certain));
            let to_us = whole(to_us, &stream.gaps);
            stream.sweep.advance(to_us, &mut stream.intervals, &mut stream.gaps);
            if stream.undecided() > limits::UNDECIDED
                && let Some(last_us) = stream.marks.last_byte_us
            {
                // As `parts::server` does, though more data may still come.
                stream.intervals.iter_mut().filter(|interval| waits_for_data(interval.cause)).for_each(|interval| {
                    interval.end_us = interval.end_us.min(last_us);
                });
                stream.intervals.retain(|interval| interval.start_us < interval.end_us);
            }
            if stream.undecided() > limits::UNDECIDED {
                let to_us = whole(self.now.us, &stream.gaps);
                stream.sweep.advance(to_us, &mut stream.intervals, &mut stream.gaps);
            }
            // Not again before as many have come.
            stream.summed_up_at = 2 * stream.undecided();
        }
    }

    /// Before this time nothing of the connection can begin any more.
    fn certain_us(&self) -> i64 {
        let open = self.recovery.certain_us().into_iter();
        let open = open.chain(self.blocked.oldest_us()).chain(self.credit.blocked.map(|(since, _)| since));
        let open = open.chain(self.amplification.since.map(|(since, _)| since));
        open.min().unwrap_or(self.now.us)
    }

    /// Sums up a stream whose own intervals have grown many.
    pub(super) fn bound(&mut self, id: u64) {
        if self.streams.get(&id).is_some_and(|stream| stream.undecided() >= stream.summed_up_at.max(SUMMED_UP_AT * 2)) {
            self.compact();
        }
    }

    /// A stretch of one cause as an episode, up to now.
    pub(super) fn stretch(&mut self, cause: Cause, stream_id: i64, first_seq: u64, start_us: i64) {
        self.stretch_of(cause.name(), stream_id, first_seq, start_us);
    }

    pub(super) fn stretch_of(&mut self, kind: &'static str, stream_id: i64, first_seq: u64, start_us: i64) {
        let end_us = self.now.us;
        if start_us < end_us {
            self.episode(Episode {
                kind,
                stream_id,
                first_seq,
                start_us,
                end_us,
                confirmed: true,
                ..Episode::default()
            });
        }
    }

    /// Streams that ended before the current moment become rows: their last HTTP frames have been seen.
    pub(super) fn let_go(&mut self) {
        if self.ended.is_empty() {
            return;
        }
        let now = self.now.us;
        let all = self.ended.len() > LINGERING;
        let ids = std::mem::take(&mut self.ended);
        for id in ids {
            let due = self
                .streams
                .get(&id)
                .is_none_or(|stream| all || stream.marks.end_us.saturating_add(super::TURN_US) < now);
            if !due {
                self.ended.push(id);
            } else if let Some(mut stream) = self.streams.remove(&id) {
                // The first sample may come with the very acknowledgement that ended the request.
                stream.rtt = stream.rtt.or(self.recovery.rtt().round_trip());
                self.stream_row(*stream);
            }
        }
        if self.streams.is_empty() {
            self.conditions.clear();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::header::Vantage;

    /// A window that is full every other 10 us, while flow control holds since the beginning: nothing after that is
    /// certain. Gives the most intervals that were undecided, and the stream.
    fn undecided(cause: Cause, last_byte_us: Option<i64>) -> (usize, Stream) {
        let mut fold = Fold { role: Vantage::Server, ..Fold::default() };
        assert!(fold.request_stream(0).is_some());
        fold.credit.blocked = Some((0, 0));
        if let Some(stream) = fold.streams.get_mut(&0) {
            stream.marks.response_start_us = Some(0);
            stream.marks.last_byte_us = last_byte_us;
        }
        let mut most = 0;
        for number in 0..4 * limits::UNDECIDED as i64 {
            fold.now.us = 20 * number + 10;
            fold.held(Interval { cause, start_us: 20 * number, end_us: 20 * number + 10 });
            most = most.max(fold.streams[&0].undecided());
        }
        (most, *fold.streams.remove(&0).unwrap_or_default())
    }

    #[test]
    fn intervals_that_nothing_decides_are_summed_up() {
        // As many as were left may come before they are looked at again.
        let bound = limits::UNDECIDED..=2 * limits::UNDECIDED + SUMMED_UP_AT;
        let last_us = 20_000;
        for (cause, last_byte_us) in
            [(Cause::CwndBlocked, None), (Cause::LossRecovery, Some(last_us)), (Cause::CwndBlocked, Some(last_us))]
        {
            let (most, stream) = undecided(cause, last_byte_us);
            assert!(bound.contains(&most), "{most}");
            if cause == Cause::CwndBlocked && last_byte_us.is_some() {
                // What waits for data does not after the last byte; what it did before is still undecided.
                let of = |interval: &&Interval| interval.start_us < last_us;
                assert_eq!(stream.intervals.iter().filter(of).count(), 1000);
                assert_eq!(stream.sweep.parts[cause as usize], 0);
            } else {
                let us = stream.sweep.parts[cause as usize];
                let until = stream.sweep.at_us.and_then(|at_us| u64::try_from(at_us).ok());
                assert!(until.is_some_and(|until| until > 0 && us.abs_diff(until / 2) <= 10), "{us} {until:?}");
            }
        }
    }
}
