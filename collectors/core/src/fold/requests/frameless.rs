//! Rows without frames: each packet that is sent may carry data of any response in progress. The packets are counted
//! once for all streams, and a stream is brought up to date when it is looked at.

use crate::fold::requests::stream::Stream;
use get_size2::GetSize;
use serde::{Deserialize, Serialize};
use std::collections::{BTreeMap, BTreeSet};

/// What went out, and which responses it may end.
#[derive(Clone, Debug, Default, Serialize, Deserialize, GetSize)]
pub struct Frameless {
    /// Packets that went out, and when the last of them did.
    sent: u64,
    last_us: Option<i64>,
    /// Responses that have begun, and of which nothing has gone out.
    begun: BTreeSet<u64>,
    /// Responses whose end is queued. One that an acknowledgement did not end leaves the set until its stream changes.
    whole: BTreeSet<u64>,
    /// Streams that were looked at.
    #[serde(skip)]
    steps: u64,
}

impl Frameless {
    /// Tells a stream what was sent since it was told last.
    pub fn tell(&mut self, stream: &mut Stream) {
        self.steps += 1;
        if let Some(last_us) = self.last_us {
            stream.rows_sent(self.sent, last_us);
        }
    }

    /// A stream may have changed.
    pub fn note(&mut self, stream: &Stream) {
        if stream.is_begun() {
            self.begun.insert(stream.id());
        }
        if stream.is_whole() {
            self.whole.insert(stream.id());
        }
    }

    /// It has ended.
    pub fn forget(&mut self, id: u64) {
        self.begun.remove(&id);
        self.whole.remove(&id);
    }

    /// A packet goes out.
    pub fn send(&mut self, streams: &mut BTreeMap<u64, Box<Stream>>, now_us: i64) {
        self.sent += 1;
        self.last_us = Some(now_us);
        for id in std::mem::take(&mut self.begun) {
            if let Some(stream) = streams.get_mut(&id) {
                self.tell(stream);
                self.note(stream);
            }
        }
    }

    /// All that had gone out by `acked_us` is acknowledged: gives the responses that this ends.
    pub fn acknowledge(&mut self, streams: &mut BTreeMap<u64, Box<Stream>>, acked_us: i64) -> Vec<u64> {
        if self.whole.is_empty() || self.last_us.is_some_and(|last_us| last_us > acked_us) {
            return Vec::new();
        }
        let mut done = Vec::new();
        for id in std::mem::take(&mut self.whole) {
            let Some(stream) = streams.get_mut(&id) else { continue };
            self.tell(stream);
            if stream.is_row_done(acked_us) {
                done.push(id);
            } else if stream.is_row_done(i64::MAX) {
                self.whole.insert(id);
            }
        }
        done
    }

    /// Streams that were looked at so far.
    pub fn steps(&self) -> u64 {
        self.steps
    }
}

#[cfg(test)]
mod tests {
    use crate::chance;
    use crate::fold::attribution::saves::Room;
    use crate::fold::moment::Moment;
    use crate::fold::recovery::rtt::Rtt;
    use crate::fold::requests::Requests;
    use crate::fold::requests::stream::RequestEnd;
    use std::collections::BTreeMap;

    /// A response in the reference model, where each row looks at all responses.
    #[derive(Clone, Copy, Debug, Default, PartialEq)]
    struct Plain {
        first_byte_us: Option<i64>,
        last_byte_us: Option<i64>,
        has_begun: bool,
        is_queued: bool,
        is_blocked: bool,
    }

    #[test]
    fn a_late_update_equals_an_update_at_each_row() {
        let mut next = chance::numbers(3);
        let (mut requests, mut plain) = (Requests::of(true), BTreeMap::<u64, Plain>::new());
        let (mut newest, mut ended) = (0, 0);
        for step in 0..20_000_i64 {
            let now = Moment { us: 10 * step, seq: 0 };
            // Now and then an acknowledgement is of a time before.
            let acked_us = now.us - 20 * i64::from(next(4) == 0);
            let chosen = plain.keys().copied().nth(usize::try_from(next(8)).unwrap_or(0)).unwrap_or(newest);
            match next(7) {
                0 if plain.len() < 8 => {
                    newest += 4;
                    requests.open(newest, now, None, None);
                    plain.insert(newest, Plain::default());
                }
                1 | 2 => {
                    requests.row_sent(now.us);
                    for response in plain.values_mut().filter(|response| response.has_begun) {
                        response.first_byte_us.get_or_insert(now.us);
                        response.last_byte_us = Some(now.us);
                    }
                }
                3 => {
                    let is_done = |response: &Plain| {
                        response.is_queued
                            && !response.is_blocked
                            && response.last_byte_us.is_some_and(|last_us| last_us <= acked_us)
                    };
                    let done: Vec<u64> = plain.iter().filter(|(_, plain)| is_done(plain)).map(|(id, _)| *id).collect();
                    assert_eq!(requests.rows_acknowledged(acked_us), done, "step {step}");
                    for id in done {
                        requests.end(id, now, acked_us, RequestEnd::Acked, &Rtt::default());
                        let marks = requests.get(id).map(|stream| *stream.marks()).unwrap_or_default();
                        let told = plain.remove(&id).map(|plain| (plain.first_byte_us, plain.last_byte_us));
                        assert_eq!(Some((marks.first_byte_us, marks.last_byte_us)), told);
                        ended += 1;
                    }
                    requests.let_go(i64::MAX);
                }
                what => {
                    let (Some(stream), Some(plain)) = (requests.get_mut(chosen), plain.get_mut(&chosen)) else {
                        continue;
                    };
                    match what {
                        4 => {
                            stream.row_headers(now.us, Room::default());
                            plain.has_begun = true;
                        }
                        5 => {
                            stream.queue_end();
                            plain.is_queued = true;
                        }
                        _ if plain.is_blocked => {
                            stream.credit_mut().raise(step.unsigned_abs(), now.us);
                            plain.is_blocked = false;
                        }
                        _ => {
                            stream.credit_mut().state_blocked(now);
                            plain.is_blocked = true;
                        }
                    }
                    requests.note_hunger(chosen);
                }
            }
        }
        assert!(ended > 500, "{ended}");
    }
}
