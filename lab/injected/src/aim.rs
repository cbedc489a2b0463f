//! Aimed losses: the path learns from the server's own log which datagram carries which bytes.

use std::collections::BTreeMap;
use std::time::Instant;

use serde::Deserialize;

use crate::plan::Strike;
use quiclens_simulated::Failure;

/// A stretch of a stream that a packet carried.
#[derive(Debug, PartialEq, Eq)]
pub struct StreamFrame {
    stream: u64,
    offset: u64,
    end: u64,
}

#[derive(Deserialize)]
struct Record {
    #[serde(default)]
    name: String,
    #[serde(default)]
    data: Data,
}

#[derive(Deserialize, Default)]
struct Data {
    #[serde(default)]
    frames: Vec<Logged>,
}

#[derive(Deserialize)]
struct Logged {
    frame_type: String,
    stream_id: Option<u64>,
    offset: Option<u64>,
    length: Option<u64>,
    raw: Option<RawLength>,
}

/// Where noq has the length of a frame's data.
#[derive(Deserialize)]
struct RawLength {
    length: Option<u64>,
}

impl StreamFrame {
    /// Stream frames of the packets that records of a log say were sent.
    pub fn sent(records: &[u8]) -> Result<Vec<Self>, Failure> {
        let mut found = Vec::new();
        for record in records.split(|byte| *byte == 0x1e).filter(|record| !record.is_empty()) {
            let record: Record = serde_json::from_slice(record)?;
            if !record.name.ends_with("packet_sent") {
                continue;
            }
            for frame in record.data.frames.into_iter().filter(|frame| frame.frame_type == "stream") {
                let stream = frame.stream_id.ok_or("a stream frame without a stream")?;
                let offset = frame.offset.unwrap_or(0);
                let length =
                    frame.length.or(frame.raw.and_then(|raw| raw.length)).ok_or("a stream frame without a length")?;
                found.push(Self { stream, offset, end: offset + length });
            }
        }
        Ok(found)
    }

    /// How many packets records of a log declare lost.
    pub fn lost(records: &[u8]) -> usize {
        const DECLARED: &[u8] = b":packet_lost\"";
        records.windows(DECLARED.len()).filter(|window| *window == DECLARED).count()
    }
}

/// What is left of a plan's strikes.
pub struct Aim {
    waiting: Vec<Strike>,
    /// Of a strike that has begun: its stream, and how many packets it still takes.
    begun: Vec<(u64, u64)>,
    /// By stream, how far it was sent.
    sent: BTreeMap<u64, u64>,
    dark_until: Option<Instant>,
}

impl Aim {
    pub fn new(strikes: &[Strike]) -> Self {
        Self { waiting: strikes.to_vec(), begun: Vec::new(), sent: BTreeMap::new(), dark_until: None }
    }

    /// Whether nothing passes now.
    pub fn is_dark(&self, now: Instant) -> bool {
        self.dark_until.is_some_and(|until| now < until)
    }

    /// Whether a datagram carries bytes of a stream, and none of them for the first time.
    pub fn repeats(&self, frames: &[StreamFrame]) -> bool {
        let is_new = |frame: &StreamFrame| self.sent.get(&frame.stream).is_none_or(|sent| frame.end > *sent);
        !frames.is_empty() && !frames.iter().any(is_new)
    }

    /// Whether the datagram that carries these frames is lost.
    pub fn strikes(&mut self, now: Instant, frames: &[StreamFrame]) -> bool {
        let mut is_struck = self.is_dark(now);
        let mut has_new = Vec::new();
        for frame in frames {
            let sent = self.sent.entry(frame.stream).or_default();
            let new = (*sent).max(frame.offset)..frame.end;
            *sent = frame.end.max(*sent);
            if new.is_empty() {
                continue;
            }
            has_new.push(frame.stream);
            let (dark_until, begun) = (&mut self.dark_until, &mut self.begun);
            self.waiting.retain(|strike| {
                let begins = strike.stream == frame.stream && new.contains(&strike.from_byte);
                if begins && !strike.dark.is_zero() {
                    *dark_until = Some(now + strike.dark);
                    is_struck = true;
                } else if begins {
                    begun.push((strike.stream, strike.packets));
                }
                !begins
            });
        }
        for (stream, packets) in &mut self.begun {
            if *packets > 0 && has_new.contains(stream) {
                *packets -= 1;
                is_struck = true;
            }
        }
        is_struck
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::time::Duration;

    const STRIKE: Strike = Strike { stream: 4, from_byte: 1_500, packets: 2, dark: Duration::ZERO };

    fn frame(stream: u64, offset: u64, end: u64) -> StreamFrame {
        StreamFrame { stream, offset, end }
    }

    #[test]
    fn the_first_packets_with_new_bytes_from_there_on_are_struck_and_no_repetition() {
        let (mut aim, now) = (Aim::new(&[STRIKE]), Instant::now());
        let mut strikes = |frames: &[StreamFrame]| aim.strikes(now, frames);
        assert!(!strikes(&[frame(4, 0, 1_000)]));
        assert!(!strikes(&[frame(0, 1_000, 2_000)]), "another stream");
        assert!(strikes(&[frame(4, 1_000, 2_000)]));
        assert!(!strikes(&[frame(4, 1_000, 2_000)]), "a repetition");
        assert!(!strikes(&[]), "no stream at all");
        assert!(strikes(&[frame(0, 2_000, 2_100), frame(4, 2_000, 3_000)]), "the second");
        assert!(!strikes(&[frame(4, 3_000, 4_000)]), "two were enough");
        assert!(aim.repeats(&[frame(4, 3_000, 4_000)]));
        assert!(!aim.repeats(&[frame(4, 3_000, 4_001)]) && !aim.repeats(&[]));
    }

    #[test]
    fn darkness_takes_everything_for_its_time() {
        let dark = Duration::from_millis(100);
        let (mut aim, now) = (Aim::new(&[Strike { dark, ..STRIKE }]), Instant::now());
        assert!(!aim.is_dark(now) && aim.strikes(now, &[frame(4, 1_000, 2_000)]) && aim.is_dark(now));
        assert!(aim.strikes(now + dark / 2, &[]) && !aim.strikes(now + dark, &[frame(4, 2_000, 3_000)]));
    }

    #[test]
    fn frames_are_read_where_the_log_says_what_was_sent() {
        let log = b"\x1e{\"name\":\"quic:packet_sent\",\"data\":{\"frames\":[{\"frame_type\":\"stream\",\"stream_id\":4,\"offset\":7,\"raw\":{\"length\":5}},{\"frame_type\":\"stream\",\"stream_id\":8,\"offset\":0,\"length\":3},{\"frame_type\":\"ping\"}]}}\n\x1e{\"name\":\"quic:packet_received\",\"data\":{\"frames\":[{\"frame_type\":\"stream\",\"stream_id\":4}]}}\n";
        assert_eq!(StreamFrame::sent(log).unwrap(), [frame(4, 7, 12), frame(8, 0, 3)]);
        assert!(StreamFrame::sent(b"\x1e{\"name\":").is_err());
    }
}
