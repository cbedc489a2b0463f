//! Rows without frames: each packet that goes out may have some of each response under way. What is true of all of them
//! is kept once, and a stream is told when it is looked at.

use crate::fold::requests::stream::Stream;
use serde::{Deserialize, Serialize};
use std::collections::{BTreeMap, BTreeSet};

/// What went out, and which responses it may end.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub struct Frameless {
    /// Packets that went out, and when the last of them did.
    sent: u64,
    last_us: Option<i64>,
    /// Responses that have begun, and of which nothing has gone out.
    begun: BTreeSet<u64>,
    /// Responses that are queued whole, but for those of which an acknowledgement was not the end, if nothing has become of
    /// them since.
    whole: BTreeSet<u64>,
    /// Streams that were looked at.
    #[serde(skip)]
    steps: u64,
}

impl Frameless {
    /// Tells a stream what went out since it was told last.
    pub fn tell(&mut self, stream: &mut Stream) {
        self.steps += 1;
        if let Some(last_us) = self.last_us {
            stream.rows_sent(self.sent, last_us);
        }
    }

    /// A stream changes, or may.
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
