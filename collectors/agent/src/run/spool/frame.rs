//! The spool's format: how a record stands in a segment, and how it is found again when bytes are wrong. Pure.
//!
//! ```text
//! magic  lengths and hashes  head  payload  head  lengths and hashes  magic backwards
//! ```
//!
//! The head stands before the payload and, the same again, behind it; each copy has its own hash, and so has the
//! payload. One wrong byte therefore costs nothing, or the payload of its own record.

use crate::run::spool::head::Head;
use xxhash_rust::xxh3::{Xxh3, xxh3_64};

const BEGIN: [u8; 8] = *b"qlspool1";
const END: [u8; 8] = *b"1loopslq";
/// Lengths of head and payload, hash of the payload, hash of all that and the head.
const FIXED: usize = 24;
const EDGE: usize = BEGIN.len() + FIXED;
/// Most bytes of a head: each run in it stands for at least a line of the payload.
const HEAD_LIMIT: usize = 64 << 20;

/// Most bytes that are hashed for each byte of a segment, while heads are looked for in damaged bytes: a payload may hold
/// any number of magics with any lengths behind them.
const WORK: usize = 16;

/// What stands at the start of some bytes.
#[derive(Debug)]
pub enum FrameStep {
    /// The bytes end too soon.
    NeedMore,
    /// A record. Its payload is whole, or known to be not.
    Record {
        /// What is known of it.
        head: Head,
        /// Where its payload begins and ends.
        payload: (usize, usize),
        /// Its length.
        taken: usize,
        /// The payload is what was written.
        is_sound: bool,
        /// The copy of the head behind the payload is what was written.
        is_closed: bool,
    },
    /// Bytes of which neither copy of a head can be read, up to the next record or the end.
    Lost {
        /// Their number.
        taken: usize,
    },
}

/// Appends a record; `None` when a length does not fit.
pub fn encode(head: &Head, payload: &[u8], out: &mut Vec<u8>) -> Option<()> {
    let head = postcard::to_stdvec(head).ok().filter(|head| head.len() <= HEAD_LIMIT)?;
    let mut fixed = Vec::with_capacity(FIXED);
    fixed.extend_from_slice(&u32::try_from(head.len()).ok()?.to_le_bytes());
    fixed.extend_from_slice(&u32::try_from(payload.len()).ok()?.to_le_bytes());
    fixed.extend_from_slice(&xxh3_64(payload).to_le_bytes());
    fixed.extend_from_slice(&hash(&fixed, &head).to_le_bytes());
    for part in [&BEGIN[..], &fixed, &head, payload, &head, &fixed, &END] {
        out.extend_from_slice(part);
    }
    Some(())
}

fn hash(lengths: &[u8], head: &[u8]) -> u64 {
    let mut hash = Xxh3::new();
    hash.update(lengths);
    hash.update(head);
    hash.digest()
}

/// One copy of a head that could be read.
struct Copy {
    head: Head,
    length: usize,
    payload_length: usize,
    payload_hash: u64,
}

impl Copy {
    fn total(&self) -> usize {
        2 * (EDGE + self.length) + self.payload_length
    }
}

fn number(bytes: &[u8]) -> u64 {
    bytes.iter().rev().fold(0, |number, byte| number << 8 | u64::from(*byte))
}

/// The copy whose lengths and hashes are `fixed`; `head` takes its bytes out of what surrounds them.
fn copy<'b>(fixed: &[u8], head: impl FnOnce(usize) -> Option<&'b [u8]>) -> Option<Copy> {
    let length = usize::try_from(number(&fixed[..4])).ok().filter(|length| *length <= HEAD_LIMIT)?;
    let payload_length = usize::try_from(number(&fixed[4..8])).ok()?;
    let bytes = head(length)?;
    if number(&fixed[16..]) != hash(&fixed[..16], bytes) {
        return None;
    }
    let head = postcard::from_bytes(bytes).ok()?;
    Some(Copy { head, length, payload_length, payload_hash: number(&fixed[8..16]) })
}

/// The copy that begins a record at the start of `bytes`.
fn front(bytes: &[u8]) -> Option<Copy> {
    let fixed = bytes.strip_prefix(&BEGIN)?.get(..FIXED)?;
    copy(fixed, |length| bytes.get(EDGE..EDGE.checked_add(length)?))
}

/// The copy that ends a record at the end of `bytes`.
fn back(bytes: &[u8]) -> Option<Copy> {
    let rest = bytes.strip_suffix(&END)?;
    let at = rest.len().checked_sub(FIXED)?;
    copy(&rest[at..], |length| rest.get(at.checked_sub(length)?..at))
}

/// What stands at the start of `bytes`; with `is_end` nothing follows them.
pub fn decode(bytes: &[u8], is_end: bool) -> FrameStep {
    if let Some(copy) = front(bytes) {
        let total = copy.total();
        return match bytes.get(..total) {
            Some(frame) => {
                let is_closed = back(frame).is_some_and(|other| other.total() == total);
                record(copy, frame, is_closed)
            }
            None if is_end => FrameStep::Lost { taken: bytes.len() },
            None => FrameStep::NeedMore,
        };
    }
    if !is_end {
        return FrameStep::NeedMore;
    }
    let next = next_front(bytes).unwrap_or(bytes.len());
    match next_back(bytes, next) {
        Some((copy, 0)) => {
            let total = copy.total();
            record(copy, &bytes[..total], true)
        }
        Some((_, begin)) => FrameStep::Lost { taken: begin },
        None => FrameStep::Lost { taken: next },
    }
}

fn record(copy: Copy, frame: &[u8], is_closed: bool) -> FrameStep {
    let begin = EDGE + copy.length;
    let payload = (begin, begin + copy.payload_length);
    let is_sound = xxh3_64(&frame[payload.0..payload.1]) == copy.payload_hash;
    FrameStep::Record { head: copy.head, payload, taken: frame.len(), is_sound, is_closed }
}

/// Whether a head of the length in `fixed` can be hashed with the bytes that are `left` to hash, which it takes.
fn can_hash(fixed: &[u8], left: &mut usize) -> bool {
    let length = usize::try_from(number(&fixed[..4])).unwrap_or(usize::MAX);
    left.checked_sub(length).map(|rest| *left = rest).is_some()
}

/// Where the next record begins whose first copy can be read.
fn next_front(bytes: &[u8]) -> Option<usize> {
    let mut left = bytes.len().saturating_mul(WORK);
    memchr::memmem::find_iter(bytes, &BEGIN).filter(|at| *at > 0).find(|at| {
        let fixed = bytes.get(at + BEGIN.len()..at + EDGE);
        fixed.is_some_and(|fixed| can_hash(fixed, &mut left)) && front(&bytes[*at..]).is_some()
    })
}

/// The first record that begins before `limit` and whose second copy can be read, and where it begins.
fn next_back(bytes: &[u8], limit: usize) -> Option<(Copy, usize)> {
    let mut left = bytes.len().saturating_mul(WORK);
    memchr::memmem::find_iter(bytes, &END).find_map(|at| {
        let end = at + END.len();
        can_hash(bytes.get(at.checked_sub(FIXED)?..at)?, &mut left).then_some(())?;
        let copy = back(&bytes[..end])?;
        let begin = end.checked_sub(copy.total()).filter(|begin| *begin < limit)?;
        Some((copy, begin))
    })
}

#[cfg(test)]
#[expect(clippy::unwrap_used, clippy::panic, reason = "tests")]
mod tests {
    use super::*;
    use crate::run::spool::head::{Position, What};

    fn frames(payloads: &[&[u8]]) -> (Vec<u8>, Vec<usize>) {
        let (mut bytes, mut ends, mut offset) = (Vec::new(), vec![0], 0);
        for (number, payload) in payloads.iter().enumerate() {
            let what = What::lines("stdin:-", Position::Running(number as u64), payload);
            encode(&Head { number: number as u64, offset, what }, payload, &mut bytes).unwrap();
            offset += payload.len() as u64;
            ends.push(bytes.len());
        }
        (bytes, ends)
    }

    /// Numbers of the records that come back, and whether each is sound.
    fn read(bytes: &[u8]) -> Vec<(u64, bool)> {
        let (mut at, mut found) = (0, Vec::new());
        while at < bytes.len() {
            match decode(&bytes[at..], true) {
                FrameStep::Record { head, taken, is_sound, .. } => {
                    found.push((head.number, is_sound));
                    at += taken;
                }
                FrameStep::Lost { taken } => at += taken,
                FrameStep::NeedMore => panic!("more of a file that has ended"),
            }
        }
        found
    }

    const THREE: [&[u8]; 3] =
        [b"c1\t0\t5\tx\t1\nc2\t7\t5\tx\t\n", b"c1\t1\t6\ty\tqlspool1 1loopslq\n", b"c1\t2\t7\tz\t3\n"];

    #[test]
    fn a_payload_full_of_magics_costs_a_few_looks_at_each_byte() {
        for is_front in [true, false] {
            // Each of them claims a head as long as all before it, or behind it.
            let payload: Vec<u8> = (0..100_000_u32)
                .flat_map(|at| {
                    let claimed = if is_front { ((100_000 - at) * 32).saturating_sub(64) } else { at * 32 };
                    let mut fixed = vec![7; FIXED];
                    fixed[..4].copy_from_slice(&claimed.to_le_bytes());
                    if is_front { [&BEGIN[..], &fixed].concat() } else { [&fixed[..], &END].concat() }
                })
                .collect();
            let (mut bytes, _) = frames(&[b"c1\t0\n", &payload, b"c1\t2\n"]);
            bytes[0] ^= 1;
            assert_eq!(read(&bytes), [(0, true), (1, true), (2, true)], "the second copies are there");
            let end = bytes.len() - 1;
            let second = memchr::memmem::find_iter(&bytes, &BEGIN).next().unwrap();
            (bytes[second], bytes[end]) = (0, 0);
            // The hashing of all claimed heads would take minutes.
            assert_eq!(read(&bytes).first(), Some(&(0, true)));
        }
    }

    #[test]
    fn one_wrong_byte_anywhere_costs_at_most_the_payload_of_its_record() {
        let (bytes, ends) = frames(&THREE);
        for at in 0..bytes.len() {
            let mut wrong = bytes.clone();
            wrong[at] ^= 0x41;
            let hit = ends.iter().filter(|end| **end <= at).count() as u64 - 1;
            let found = read(&wrong);
            assert_eq!(found.iter().map(|(number, _)| *number).collect::<Vec<_>>(), [0, 1, 2], "byte {at}");
            let unsound: Vec<u64> = found.iter().filter(|(_, is_sound)| !is_sound).map(|(number, _)| *number).collect();
            assert!(unsound.is_empty() || unsound == [hit], "byte {at}: {unsound:?}");
        }
    }

    #[test]
    fn both_heads_wrong_cost_their_record_alone() {
        let (bytes, ends) = frames(&THREE);
        let mut wrong = bytes;
        wrong[ends[1] + 3] ^= 1;
        wrong[ends[2] - 3] ^= 1;
        assert_eq!(read(&wrong), [(0, true), (2, true)]);
        wrong[ends[2] + 3] ^= 1;
        assert_eq!(read(&wrong), [(0, true), (2, true)], "the next is found by its second head");
    }

    #[test]
    fn a_frame_that_goes_on_asks_for_more() {
        let (bytes, ends) = frames(&THREE[..1]);
        for cut in 0..ends[1] {
            assert!(matches!(decode(&bytes[..cut], false), FrameStep::NeedMore), "cut at {cut}");
            assert!(!matches!(decode(&bytes[..cut], true), FrameStep::Record { .. }), "cut at {cut}");
        }
    }
}
