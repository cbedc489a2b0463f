//! The journal of checkpoints: any bytes are opened, and a damaged journal holds states of one moment or says it does not.
#![no_main]

use arbitrary::Arbitrary;
use libfuzzer_sys::fuzz_target;
use quiclens_fuzz::memory::bounded;
use quiclens_fuzz::run::journal::{Entry, FileHead, FileId, HEAD, Journal};
use std::collections::BTreeMap;
use std::path::PathBuf;

#[derive(Arbitrary, Debug)]
enum JournalInput<'a> {
    Bytes(&'a [u8]),
    Cycles { cycles: Vec<Vec<StateChange<'a>>>, damage: Vec<(u16, u8)>, cut: Option<u16> },
}

#[derive(Arbitrary, Debug)]
struct StateChange<'a> {
    file: u8,
    part: u8,
    state: Option<&'a [u8]>,
}

/// A file as it was at one moment: its offset and the states of its connections.
type FileMoment = (u64, BTreeMap<u64, Vec<u8>>);

/// Bytes of the journal's own first lines, which name the build.
const START: usize = 24;

fn folder() -> PathBuf {
    PathBuf::from(format!("/dev/shm/quiclens-fuzz-journal-{}", std::process::id()))
}

fn write(cycles: &[Vec<StateChange<'_>>]) -> BTreeMap<u64, Vec<FileMoment>> {
    let (mut journal, _) = Journal::open(&folder()).expect("a new journal");
    let mut now: BTreeMap<u64, FileMoment> = BTreeMap::new();
    let mut history: BTreeMap<u64, Vec<FileMoment>> = BTreeMap::new();
    for (offset, changes) in cycles.iter().take(8).enumerate() {
        let mut files: BTreeMap<u64, Vec<Entry>> = BTreeMap::new();
        for change in changes.iter().take(8) {
            let (inode, part) = (u64::from(change.file % 3), 1 + u64::from(change.part % 4));
            let file = FileId { device: 1, inode };
            let entries = files.entry(inode).or_default();
            if change.part == 255 {
                // In a cycle a file's head comes after its connections: what was said of them before counts no more.
                now.remove(&inode);
                *entries = vec![Entry::gone(file)];
                continue;
            }
            let parts = &mut now.entry(inode).or_default().1;
            match change.state {
                Some(state) => drop(parts.insert(part, state.to_vec())),
                None => drop(parts.remove(&part)),
            }
            entries.push(Entry { file, part, state: change.state.map(<[u8]>::to_vec) });
        }
        let mut cycle = Vec::new();
        for (inode, mut entries) in files {
            if let Some(moment) = now.get_mut(&inode) {
                moment.0 = offset as u64;
                let head = FileHead { name: "a".to_owned(), offset: offset as u64, ..FileHead::default() };
                let state = postcard::to_stdvec(&head).expect("a head");
                entries.push(Entry { file: FileId { device: 1, inode }, part: HEAD, state: Some(state) });
                history.entry(inode).or_default().push(moment.clone());
            }
            cycle.append(&mut entries);
        }
        journal.commit(&cycle).expect("a cycle");
    }
    history
}

fuzz_target!(|input: JournalInput<'_>| {
    let folder = folder();
    let _ = std::fs::remove_dir_all(&folder);
    std::fs::create_dir_all(&folder).expect("a folder in memory");
    let path = folder.join("checkpoints");
    match input {
        JournalInput::Bytes(bytes) => {
            std::fs::write(&path, bytes).expect("memory");
            bounded(bytes.len(), 64, || drop(Journal::open(&folder)));
        }
        JournalInput::Cycles { cycles, damage, cut } => {
            let history = write(&cycles);
            let mut bytes = std::fs::read(&path).expect("the journal");
            if let Some(cut) = cut {
                bytes.truncate(START.max(bytes.len().saturating_sub(usize::from(cut))));
            }
            let is_whole = cut.is_none_or(|cut| cut == 0) && damage.iter().take(4).all(|(_, flip)| *flip == 0);
            let length = bytes.len() - START;
            for (at, flip) in damage.iter().take(4).filter(|_| length > 0) {
                bytes[START + usize::from(*at) % length] ^= flip;
            }
            std::fs::write(&path, &bytes).expect("memory");
            let (_, found) = Journal::open(&folder).expect("a damaged journal is opened");
            for (id, known) in found.files.iter().filter(|(_, known)| known.is_sound) {
                let moment = (known.head.offset, known.parts.clone());
                let moments = history.get(&id.inode).map_or(&[][..], Vec::as_slice);
                assert!(moments.contains(&moment), "a state of no moment: {moment:?} in {moments:?}");
            }
            assert!(!is_whole || found.damaged == 0 && !found.is_torn, "damage in a whole journal");
            assert!(!is_whole || found.files.values().all(|known| known.is_sound), "a whole journal is not sound");
        }
    }
});
