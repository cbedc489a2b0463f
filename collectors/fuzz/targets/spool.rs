//! Frames of the spool: any bytes are gone through, and wrong bytes never make a payload that was not written.
#![no_main]

use arbitrary::Arbitrary;
use libfuzzer_sys::fuzz_target;
use quiclens_fuzz::memory::bounded;
use quiclens_fuzz::run::spool::frame::{FrameStep, decode, encode};
use quiclens_fuzz::run::spool::head::{Head, Position, What};

#[derive(Arbitrary, Debug)]
enum SpoolInput<'a> {
    Bytes(&'a [u8]),
    Frames { payloads: Vec<&'a [u8]>, damage: Vec<(u16, u8)>, cut: u16 },
}

/// Heads of the records in `bytes`, with the payloads that are sound.
fn records(bytes: &[u8]) -> Vec<(Head, Option<Vec<u8>>)> {
    let (mut at, mut found) = (0, Vec::new());
    while at < bytes.len() {
        at += match decode(&bytes[at..], true) {
            FrameStep::NeedMore => panic!("more is asked for after the end"),
            FrameStep::Lost { taken } => {
                assert!(taken > 0, "a step that goes nowhere");
                taken
            }
            FrameStep::Record { head, payload: (begin, end), taken, is_sound, .. } => {
                assert!(begin <= end && end <= taken && at + taken <= bytes.len());
                found.push((head, is_sound.then(|| bytes[at + begin..at + end].to_vec())));
                taken
            }
        };
    }
    found
}

fuzz_target!(|input: SpoolInput<'_>| match input {
    SpoolInput::Bytes(bytes) => bounded(bytes.len(), 64, || {
        let _ = decode(bytes, false);
        drop(records(bytes));
    }),
    SpoolInput::Frames { payloads, damage, cut } => {
        let (mut bytes, mut written, mut offset) = (Vec::new(), Vec::new(), 0);
        for (number, payload) in payloads.iter().take(8).enumerate() {
            let what = What::lines("udp:1", Position::Running(number as u64), payload);
            let head = Head { number: number as u64, offset, what };
            encode(&head, payload, &mut bytes).expect("a record");
            offset += payload.len() as u64;
            written.push((head, payload.to_vec(), bytes.len()));
        }
        let mut harmed = vec![false; written.len()];
        let mut harm = |at: usize| {
            let record = written.iter().position(|(.., end)| at < *end);
            record.into_iter().for_each(|record| harmed[record] = true);
        };
        let left = bytes.len() - usize::from(cut).min(bytes.len());
        let mut flips = 0;
        for (at, flip) in damage.iter().take(3).filter(|(_, flip)| *flip != 0 && left > 0) {
            let at = usize::from(*at) % left;
            bytes[at] ^= flip;
            flips += 1;
            harm(at);
        }
        (left..bytes.len()).for_each(&mut harm);
        bytes.truncate(left);
        let found = records(&bytes);
        for (head, payload) in &found {
            let known = written.iter().find(|(other, ..)| other.number == head.number);
            assert_eq!(known.map(|(head, ..)| head), Some(head), "a head that was not written");
            let payload = payload.as_ref();
            assert!(payload.is_none_or(|payload| known.is_some_and(|(_, known, _)| known == payload)));
        }
        for ((head, payload, _), harmed) in written.iter().zip(harmed) {
            let here = found.iter().find(|(other, _)| other == head);
            assert!(harmed || here == Some(&(head.clone(), Some(payload.clone()))), "a whole record is lost");
        }
        // One wrong byte costs no record its head.
        assert!(flips > 1 || left < written.last().map_or(0, |(.., end)| *end) || found.len() == written.len());
    }
});
