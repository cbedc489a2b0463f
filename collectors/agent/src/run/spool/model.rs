//! The spool compared with a list as its model: every record that was synced and not damaged comes back once, in order.

#![expect(clippy::unwrap_used, clippy::panic, reason = "tests")]

use super::frame::{FrameStep, decode};
use super::*;
use proptest::prelude::*;
use quiclens_core::reader::skip::Skip;
use std::collections::BTreeMap;
use std::path::PathBuf;

#[derive(Clone, Debug)]
enum Operation {
    /// Lines of these connections, then whether to sync.
    Append(Vec<u8>, bool),
    /// A crash that leaves this share of what was not synced.
    Crash(f64),
    /// A wrong byte at this share of what was synced.
    Flip(f64, u8),
    /// This share of the records was shipped.
    Pass(f64),
}

fn operation() -> impl Strategy<Value = Operation> {
    prop_oneof![
        6 => (proptest::collection::vec(0u8..4, 1..12), any::<bool>()).prop_map(|(lines, sync)| Operation::Append(lines, sync)),
        1 => (0.0..1.0f64).prop_map(Operation::Crash),
        2 => (0.0..1.0f64, 1u8..=255).prop_map(|(at, flip)| Operation::Flip(at, flip)),
        1 => (0.0..1.0f64).prop_map(Operation::Pass),
    ]
}

struct Kept {
    offset: u64,
    payload: Vec<u8>,
    runs: Vec<LineRun>,
    is_flipped: bool,
}

struct Model {
    folder: PathBuf,
    spool: Arc<Spool>,
    kept: Vec<Kept>,
    synced: usize,
    passed: u64,
    seqs: BTreeMap<u8, u64>,
    /// Numbers of the records that have a wrong byte.
    flipped: Vec<u64>,
}

const ROOM: SpoolRoom = SpoolRoom { max_bytes: 64 << 10, min_free_bytes: 0 };

impl Model {
    fn new(folder: PathBuf) -> Self {
        let _ = std::fs::remove_dir_all(&folder);
        let spool = Spool::open(&folder, ROOM, false, &Metrics::new(Instant::now())).unwrap();
        assert!(spool.sync());
        let seqs = BTreeMap::new();
        Self { folder, spool, kept: Vec::new(), synced: 0, passed: 0, seqs, flipped: Vec::new() }
    }

    fn append(&mut self, lines: &[u8], sync: bool) {
        let mut payload = String::new();
        for connection in lines {
            let seq = self.seqs.entry(*connection).or_default();
            payload.push_str(&format!("c{connection}\t{seq}\t{}\tpacket_sent\tqlspool1\n", *seq * 10));
            *seq += 1;
        }
        let payload = payload.into_bytes();
        let what = What::lines("here", Position::Running(0), &payload);
        let What::Lines { runs, .. } = what.clone() else { panic!("lines") };
        let offset = self.kept.last().map_or(0, |kept| kept.offset + kept.payload.len() as u64);
        match self.spool.append(what, &payload) {
            Ok(()) => self.kept.push(Kept { offset, payload, runs, is_flipped: false }),
            Err(Refused::Full) => {}
            Err(other) => panic!("{other:?}"),
        }
        if sync && self.spool.lock().is_dirty {
            assert!(self.spool.sync());
            self.synced = self.kept.len();
        }
    }

    fn crash(&mut self, share: f64) {
        let (number, bytes) = self.spool.lock().synced;
        let last = self.spool.lock().writer.segments.back().unwrap().clone();
        let least = if last.number == number { bytes } else { 0 };
        let left = least + ((last.bytes - least) as f64 * share) as u64;
        std::fs::OpenOptions::new().write(true).open(&last.path).unwrap().set_len(left).unwrap();
        self.spool = Spool::open(&self.folder, ROOM, false, &Metrics::new(Instant::now())).unwrap();
        assert!(self.spool.sync());
        let come_back = self.check();
        self.kept.truncate(come_back);
        self.synced = come_back;
    }

    fn flip(&mut self, share: f64, flip: u8) {
        let segments = self.spool.synced();
        let total: u64 = segments.iter().map(|segment| segment.bytes).sum();
        let mut at = ((total as f64) * share) as u64;
        let Some(segment) = segments.iter().find(|segment| {
            let is_here = at < segment.bytes;
            at = if is_here { at } else { at - segment.bytes };
            is_here
        }) else {
            return;
        };
        let at = at as usize;
        let mut bytes = std::fs::read(&segment.path).unwrap();
        let mut begin = 0;
        loop {
            let FrameStep::Record { head, payload, taken, .. } = decode(&bytes[begin..], true) else { panic!("lost") };
            if at >= begin + taken {
                begin += taken;
                continue;
            }
            if self.flipped.contains(&head.number) {
                return;
            }
            self.flipped.push(head.number);
            let is_payload = (begin + payload.0..begin + payload.1).contains(&at);
            for kept in self.kept.iter_mut().filter(|kept| is_payload && kept.offset == head.offset) {
                kept.is_flipped = true;
            }
            break;
        }
        bytes[at] ^= flip;
        use std::os::unix::fs::FileExt;
        let file = std::fs::OpenOptions::new().write(true).open(&segment.path).unwrap();
        file.write_all_at(&bytes[at..=at], at as u64).unwrap();
    }

    fn pass(&mut self, share: f64) {
        let shipped = (self.synced as f64 * share) as usize;
        if let Some(next) = self.kept.get(shipped) {
            self.passed = self.passed.max(next.offset);
            self.spool.passed(self.passed).unwrap();
        }
    }

    /// Reads everything; how many records are there.
    fn check(&self) -> usize {
        let mut reader = SpoolReader::new(&self.spool, Some(self.passed));
        let first = self.kept.iter().position(|kept| kept.offset >= self.passed).unwrap_or(self.kept.len());
        let mut count = first;
        while let Some(item) = reader.next().unwrap() {
            let Some(kept) = self.kept.get(count) else { panic!("more came back than was given: {item:?}") };
            let wanted = if kept.is_flipped {
                let Item::Reject { bytes, .. } = &item else { panic!("record {count} is not as it was: {item:?}") };
                assert_ne!(*bytes, kept.payload);
                Item::Reject {
                    offset: kept.offset,
                    end: kept.offset + kept.payload.len() as u64,
                    source: "here".into(),
                    reason: Skip::SpoolCorrupt,
                    length: kept.payload.len() as u64,
                    bytes: bytes.clone(),
                    runs: kept.runs.clone(),
                }
            } else {
                Item::Lines { offset: kept.offset, bytes: kept.payload.clone() }
            };
            assert_eq!(item, wanted);
            count += 1;
        }
        assert!(count >= self.synced.max(first), "{count} of {} synced records", self.synced);
        count
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 150, ..ProptestConfig::default() })]

    #[test]
    fn what_was_synced_and_not_flipped_comes_back_in_order_once(
        operations in proptest::collection::vec(operation(), 1..80),
        name in any::<u32>(),
    ) {
        let folder = std::env::temp_dir().join(format!("quiclens-spool-{}-{name}", std::process::id()));
        let mut model = Model::new(folder.clone());
        for operation in operations {
            match operation {
                Operation::Append(lines, sync) => model.append(&lines, sync),
                Operation::Crash(share) => model.crash(share),
                Operation::Flip(share, flip) => model.flip(share, flip),
                Operation::Pass(share) => model.pass(share),
            }
        }
        model.crash(0.5);
        std::fs::remove_dir_all(folder).unwrap();
    }
}
