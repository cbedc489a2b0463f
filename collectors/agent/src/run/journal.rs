//! Checkpoints: how far each file was shipped, and the state of its reading there, part by part.
//!
//! One append-only file of records: a mark, the payload's length and hash, the payload. A part of a file is its head (how
//! far it was read, and what all its connections share) or one connection; the newest record of a part counts. A cycle
//! is the records of the parts that changed and an empty record after them. Records without such an end are a torn
//! cycle and are dropped, so that all parts are of one moment. Each head carries the sum of its connections' hashes:
//! when a flipped byte removes a part, or leaves an older record of it, the sum differs, and that file is read again
//! from its start. A cycle is synced before anything relies on it. When old records outweigh the live ones, the live
//! ones are copied to a new file, which is synced and renamed.
//!
//! A file whose state cannot be restored keeps its head until a later cycle has a new state of it: a start that is
//! killed before that leaves the next start the same knowledge.

use crate::error::{Error, FailureKind};
use crate::machine::{self, File, OpenOptions};
use crate::run::folders::{make_dir, sync_parent};
use quiclens_core::reader::records::Window;
use quiclens_core::trace::Saved;
use serde::{Deserialize, Serialize};
use std::borrow::Cow;
use std::collections::BTreeMap;
use std::io::{self, BufWriter, Read, Write};
use std::path::{Path, PathBuf};
use tracing::warn;
use xxhash_rust::xxh3::{xxh3_64, xxh3_64_with_seed};

/// A file, whatever it is called. Inodes are used again: [`FileHead::prefix`] tells a new file from the old one.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub struct FileId {
    /// Device.
    pub device: u64,
    /// Inode.
    pub inode: u64,
}

/// The part of a file that belongs to no connection.
pub const HEAD: u64 = 0;

/// What becomes of one part of a file. In a cycle a file's head comes after its connections.
#[derive(Debug)]
pub struct Entry {
    /// Which file.
    pub file: FileId,
    /// [`HEAD`], or a connection's number.
    pub part: u64,
    /// Its state; none for a part that is over. A file without a head is forgotten.
    pub state: Option<Vec<u8>>,
}

impl Entry {
    /// Forgets a file.
    pub fn gone(file: FileId) -> Self {
        Self { file, part: HEAD, state: None }
    }
}

/// What is known of a file beside its connections. Unlike `state` it can be read by every build.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub struct FileHead {
    /// Where it was seen last.
    pub name: String,
    /// First bytes of it that were hashed, and their hash.
    pub prefix: (u32, u64),
    /// Decompressed bytes that were shipped.
    pub offset: u64,
    /// State of its reading at `offset`; empty for a file that is over.
    pub state: Vec<u8>,
}

/// A file as the journal knows it.
#[derive(Debug, Default)]
pub struct KnownFile {
    /// Its head.
    pub head: FileHead,
    /// States of its open connections, by number.
    pub parts: BTreeMap<u64, Vec<u8>>,
    /// All of it is there and of this build.
    pub is_sound: bool,
    /// Only an invalid cycle has it: the file is read from its start, and counts as lost where it is gone.
    pub is_doubtful: bool,
}

/// What a journal held when it was opened.
#[derive(Debug, Default)]
pub struct Found {
    /// Each file.
    pub files: BTreeMap<FileId, KnownFile>,
    /// Stretches of the journal that were damaged.
    pub damaged: u64,
    /// The newest cycle is not whole. It was torn or damaged; the two cannot be told apart.
    pub is_torn: bool,
    /// Its states are of a build whose folds are others: no file is sound.
    pub is_of_another_build: bool,
}

#[derive(Serialize, Deserialize)]
struct JournalRecord<'a> {
    file: FileId,
    part: u64,
    /// Of a head: sum of the hashes of its file's connections.
    sum: u64,
    state: Option<Cow<'a, [u8]>>,
}

impl JournalRecord<'_> {
    /// Of a record of `length` bytes that begins at `at`.
    fn placed(&self, at: u64, length: usize) -> PartRecord {
        let hash = match &self.state {
            Some(state) if self.part != HEAD => xxh3_64_with_seed(state, self.part),
            _ => 0,
        };
        let place = RecordPlace { at, length: length as u64, hash };
        PartRecord { file: self.file, part: self.part, has_state: self.state.is_some(), place }
    }
}

/// Where the newest record of a part stands.
#[derive(Clone, Copy)]
struct RecordPlace {
    at: u64,
    length: u64,
    hash: u64,
}

#[derive(Default)]
struct FileParts {
    places: BTreeMap<u64, RecordPlace>,
    sum: u64,
}

/// What is live, by file.
type Live = BTreeMap<FileId, FileParts>;

const MAGIC: &[u8; 16] = b"quiclens-state-2";
const START: u64 = 24;
const MARK: [u8; 4] = [0xF5, 0x51, 0x4C, 0x1E];
const OVERHEAD: usize = 16;

/// Bytes of a cycle that are written at once, about.
const WRITE: usize = 64 << 10;
/// Bytes that are read at once where a record does not need more.
const READ: usize = 256 << 10;
/// No record has more bytes: a larger length is damage. A state has at most [`quiclens_core::limits::STATE_BYTES`].
const RECORD: usize = 1 << 30;

const COMPACT_AT: u64 = 8 << 20;
/// Sums in heads that are kept without their parts. The sum of no parts is 0, so these heads are never sound.
const UNSOUND: u64 = 1;
const DOUBTFUL: u64 = 2;
const IN_USE: &str = "in use by another collector";

/// The journal of one collector.
pub struct Journal {
    path: PathBuf,
    file: File,
    size: u64,
    live: Live,
    live_bytes: u64,
    /// The last commit failed: bytes of it may stand behind the last whole cycle.
    is_torn: bool,
    /// A new file has this name, and the folder has not been synced since: after a crash of the machine the name may stand
    /// for the file before.
    is_renamed: bool,
    /// Size from which it is compacted.
    compact_at: u64,
}

impl Journal {
    /// Opens or makes the journal in a folder.
    pub fn open(folder: &Path) -> Result<(Self, Found), Error> {
        make_dir(folder).map_err(|error| Error::of_state(folder.display(), &error))?;
        let path = folder.join("checkpoints");
        let said = |error: io::Error| Error::of_state(path.display(), &error);
        let mut file = OpenOptions::new().read(true).append(true).create(true).open(&path).map_err(said)?;
        if file.try_lock().is_err() {
            return Err(Error::new(FailureKind::InUse, folder.display(), IN_USE));
        }
        let (found, mut live) = read(&mut file).map_err(said)?;
        // Of what cannot be taken up only the heads are kept.
        live.retain(|id, _| found.files.get(id).is_some_and(|known| known.is_sound));
        let heads = heads_alone(&found)?;
        let (size, live_bytes, compact_at) = (0, 0, COMPACT_AT);
        let mut journal = Self { path, file, size, live, live_bytes, is_torn: false, is_renamed: false, compact_at };
        // Records after a torn tail could not be read, so the live records are always copied to a new file.
        journal.compact(heads)?;
        Ok((journal, found))
    }

    /// Appends a cycle and syncs it; it is valid only after that. After an error none of it is valid, and the same
    /// cycle may be committed again.
    pub fn commit(&mut self, entries: &[Entry]) -> Result<(), Error> {
        if entries.is_empty() {
            return Ok(());
        }
        let cycle = self.append(entries);
        // What a failed attempt left behind the last whole cycle goes before the next.
        self.is_torn = cycle.is_err();
        self.size = cycle?;
        if self.size > self.compact_at && self.size > 3 * self.live_bytes {
            self.compact_at = COMPACT_AT;
            if let Err(said) = self.compact(Vec::new()) {
                // The cycle is written; the file keeps growing until a later compaction succeeds.
                warn!(kind = said.kind.name(), "{said}; the checkpoints are compacted later");
                self.compact_at = 2 * self.size;
            }
        }
        Ok(())
    }

    /// Writes a cycle and syncs, holding few of its bytes at once; returns where it ends.
    fn append(&mut self, entries: &[Entry]) -> Result<u64, Error> {
        // Every I/O error counts as a temporary fault of the disk: the caller retries until the cycle is written.
        let path = self.path.display();
        let said = |error: io::Error| Error::new(FailureKind::Disk, &path, error);
        if self.is_renamed {
            sync_parent(&self.path).map_err(said)?;
            self.is_renamed = false;
        }
        if self.is_torn {
            self.file.set_len(self.size).map_err(said)?;
        }
        let (mut at, mut bytes) = (self.size, Vec::with_capacity(WRITE));
        for entry in entries {
            let sum = if entry.part == HEAD { self.live.get(&entry.file).map_or(0, |parts| parts.sum) } else { 0 };
            let state = entry.state.as_deref().map(Cow::Borrowed);
            let record = JournalRecord { file: entry.file, part: entry.part, sum, state };
            let payload = encoded(&record)?;
            push(&mut bytes, &payload)?;
            let placed = record.placed(at, payload.len() + OVERHEAD);
            at += placed.place.length;
            self.live_bytes = self.live_bytes.saturating_add_signed(note(&mut self.live, &placed));
            if bytes.len() >= WRITE {
                self.file.write_all(&bytes).map_err(said)?;
                bytes.clear();
            }
        }
        push(&mut bytes, &[])?;
        self.file.write_all(&bytes).and_then(|()| self.file.sync_data()).map_err(said)?;
        Ok(at + OVERHEAD as u64)
    }

    /// Bytes of the file.
    pub fn size(&self) -> u64 {
        self.size
    }

    /// Copies the live records, and then `heads`, to a new file; syncs and renames it, and syncs the folder.
    fn compact(&mut self, heads: Vec<(FileId, Vec<u8>)>) -> Result<(), Error> {
        let draft = self.path.with_extension("new");
        let said = |error: io::Error| Error::of_state(draft.display(), &error);
        let file = OpenOptions::new().create(true).truncate(true).write(true).open(&draft).map_err(said)?;
        let mut out = BufWriter::new(file);
        out.write_all(MAGIC).and_then(|()| out.write_all(&Saved::VERSION.to_le_bytes())).map_err(said)?;
        let mut bytes = Vec::new();
        for parts in self.live.values() {
            for place in parts.places.values() {
                bytes.resize(usize::try_from(place.length).unwrap_or(0), 0);
                machine::read_exact_at(&self.file, &mut bytes, place.at).map_err(said)?;
                out.write_all(&bytes).map_err(said)?;
            }
        }
        for (_, head) in &heads {
            out.write_all(head).map_err(said)?;
        }
        bytes.clear();
        push(&mut bytes, &[])?;
        out.write_all(&bytes).map_err(said)?;
        out.into_inner().map_err(|error| said(error.into_error()))?.sync_all().map_err(said)?;
        let file = OpenOptions::new().read(true).append(true).open(&draft).map_err(said)?;
        file.try_lock().map_err(|_| Error::new(FailureKind::InUse, self.path.display(), IN_USE))?;
        machine::rename(&draft, &self.path).map_err(said)?;
        // From here on the new file is the journal: the fields below must all be updated before anything can fail.
        self.file = file;
        let mut at = START;
        for place in self.live.values_mut().flat_map(|parts| parts.places.values_mut()) {
            place.at = at;
            at += place.length;
        }
        for (file, head) in heads {
            let place = RecordPlace { at, length: head.len() as u64, hash: 0 };
            self.live.insert(file, FileParts { places: BTreeMap::from([(HEAD, place)]), sum: 0 });
            at += place.length;
        }
        (self.live_bytes, self.size) = (at - START, at + bytes.len() as u64);
        self.is_renamed = true;
        sync_parent(&self.path).map_err(said)?;
        self.is_renamed = false;
        Ok(())
    }
}

/// Notes a record that was written; returns the change of the live bytes.
fn note(live: &mut Live, record: &PartRecord) -> i64 {
    let signed = |length: u64| i64::try_from(length).unwrap_or(i64::MAX);
    if record.part == HEAD && !record.has_state {
        let parts = live.remove(&record.file).unwrap_or_default();
        return -parts.places.values().map(|place| signed(place.length)).sum::<i64>();
    }
    let parts = live.entry(record.file).or_default();
    let place = record.place;
    let before =
        if record.has_state { parts.places.insert(record.part, place) } else { parts.places.remove(&record.part) };
    parts.sum = parts.sum.wrapping_add(place.hash).wrapping_sub(before.map_or(0, |before| before.hash));
    let grown = if record.has_state { signed(place.length) } else { 0 };
    grown - before.map_or(0, |before| signed(before.length))
}

/// Records of the heads of files whose state cannot be restored, each without its connections: see [`UNSOUND`].
fn heads_alone(found: &Found) -> Result<Vec<(FileId, Vec<u8>)>, Error> {
    let mut heads = Vec::new();
    for (file, known) in found.files.iter().filter(|(_, known)| !known.is_sound) {
        let state = encoded(&known.head)?;
        let sum = if known.is_doubtful { DOUBTFUL } else { UNSOUND };
        let record = JournalRecord { file: *file, part: HEAD, sum, state: Some(Cow::Owned(state)) };
        let mut bytes = Vec::new();
        push(&mut bytes, &encoded(&record)?)?;
        heads.push((*file, bytes));
    }
    Ok(heads)
}

fn push(bytes: &mut Vec<u8>, payload: &[u8]) -> Result<(), Error> {
    let length = u32::try_from(payload.len()).ok().filter(|_| payload.len() <= RECORD);
    let length = length.ok_or_else(|| Error::internal("a state is too large for the journal"))?;
    bytes.extend_from_slice(&MARK);
    bytes.extend_from_slice(&length.to_le_bytes());
    bytes.extend_from_slice(&xxh3_64(payload).to_le_bytes());
    bytes.extend_from_slice(payload);
    Ok(())
}

/// A serialized state, in no more memory than it needs: there is one for each open connection.
pub fn bytes_of(state: &impl Serialize) -> Result<Vec<u8>, Error> {
    let mut bytes = encoded(state)?;
    bytes.shrink_to_fit();
    Ok(bytes)
}

fn encoded(state: &impl Serialize) -> Result<Vec<u8>, Error> {
    postcard::to_stdvec(state).map_err(|error| Error::internal(format!("cannot put a state away: {error}")))
}

/// The payload of the record that `bytes` are, if they are one and it is whole.
fn payload_of(bytes: &[u8]) -> Option<&[u8]> {
    let (head, payload) = bytes.split_at_checked(OVERHEAD)?;
    (head.last_chunk() == Some(&xxh3_64(payload).to_le_bytes())).then_some(payload)
}

/// A journal's bytes from the first to the last, no more of them at once than its largest record has.
struct JournalScan<'f> {
    file: &'f mut File,
    window: Window,
}

impl<'f> JournalScan<'f> {
    fn new(file: &'f mut File) -> Self {
        Self { file, window: Window::default() }
    }

    /// What is there, once `wanted` bytes are, or the end.
    fn rest(&mut self, wanted: usize) -> io::Result<&[u8]> {
        let missing = wanted.saturating_sub(self.window.rest().len());
        if missing > 0 && !self.window.end {
            let (most, space) = (missing.max(READ), self.window.space());
            space.reserve_exact(most);
            let read = Read::by_ref(self.file).take(most as u64).read_to_end(space)?;
            self.window.end = read < most;
        }
        Ok(self.window.rest())
    }

    /// The length of the record that begins here, if one does and it is whole.
    fn record(&mut self) -> io::Result<Option<usize>> {
        let length = self.rest(OVERHEAD)?.strip_prefix(&MARK).and_then(<[u8]>::first_chunk);
        let Some(length) = length.map(|length| u32::from_le_bytes(*length) as usize) else { return Ok(None) };
        if length > RECORD {
            return Ok(None);
        }
        let length = length + OVERHEAD;
        Ok(self.rest(length)?.get(..length).and_then(payload_of).map(|_| length))
    }

    /// Passes damage up to the next mark, or the end.
    fn pass_damage(&mut self) -> io::Result<()> {
        self.window.consume(1);
        loop {
            let rest = self.rest(MARK.len())?;
            let (next, length) = (memchr::memmem::find(rest, &MARK), rest.len());
            // The last bytes may begin a mark.
            let kept = if self.window.end { 0 } else { MARK.len() - 1 };
            self.window.consume(next.unwrap_or(length.saturating_sub(kept)));
            if next.is_some() || self.window.end {
                return Ok(());
            }
        }
    }
}

/// What a cycle says of one part: [`JournalRecord`] without the state, which stands at `place`.
struct PartRecord {
    file: FileId,
    part: u64,
    has_state: bool,
    place: RecordPlace,
}

/// Reads a journal: damage is passed over up to the next record that is whole. The last cycle may never have been
/// synced, and a crash may have left any part of it: with damage in it, it is ignored, and the states before it count.
/// A file without an earlier state is then known by its head alone, also where the end of the cycle is damaged.
///
/// The file is read once from its beginning, to see which records count, and those once more: old records may be
/// several times as large.
fn read(file: &mut File) -> io::Result<(Found, Live)> {
    let (mut found, mut live) = (Found::default(), Live::new());
    let mut scan = JournalScan::new(file);
    let begin = scan.rest(START as usize)?;
    if !begin.starts_with(MAGIC) {
        found.damaged = u64::from(!begin.is_empty());
        return Ok((found, live));
    }
    found.is_of_another_build = begin.get(MAGIC.len()..START as usize) != Some(&Saved::VERSION.to_le_bytes());
    scan.window.consume(START as usize);
    let mut damaged = 0;
    let mut cycle: Vec<PartRecord> = Vec::new();
    let mut is_first = true;
    let mut doubtful: Option<(u64, Vec<PartRecord>)> = None;
    while !scan.rest(1)?.is_empty() {
        let Some(length) = scan.record()? else {
            damaged += 1;
            scan.pass_damage()?;
            continue;
        };
        let payload = &scan.window.rest()[OVERHEAD..length];
        if payload.is_empty() {
            // A cycle that another one follows was synced. So was the first one, the copy of all live records.
            let mut over: Vec<_> = doubtful.take().into_iter().collect();
            let ended = (std::mem::take(&mut damaged), std::mem::take(&mut cycle));
            if ended.0 > 0 && !is_first {
                doubtful = Some(ended)
            } else {
                over.push(ended)
            }
            for (damaged, records) in over {
                found.damaged += damaged;
                records.iter().for_each(|record| _ = note(&mut live, record));
            }
            is_first = false;
        } else if let Ok(record) = postcard::from_bytes::<JournalRecord<'_>>(payload) {
            cycle.push(record.placed(scan.window.offset(), length));
        } else {
            damaged += 1;
        }
        scan.window.consume(length);
    }
    found.is_torn = damaged > 0 || !cycle.is_empty() || doubtful.is_some();
    for (id, parts) in &live {
        let known = take_up(file, parts)?;
        found.files.insert(*id, known);
    }
    if found.is_of_another_build {
        found.files.values_mut().for_each(|known| known.is_sound = false);
    }
    for record in doubtful.into_iter().flat_map(|(_, records)| records).chain(cycle) {
        if record.part == HEAD
            && record.has_state
            && let Some(Ok(head)) = state_at(file, record.place)?.map(|(_, state)| postcard::from_bytes(&state))
        {
            found.files.entry(record.file).or_insert(KnownFile { head, is_doubtful: true, ..KnownFile::default() });
        }
    }
    Ok((found, live))
}

/// A file of the journal, from its records that count.
fn take_up(file: &File, parts: &FileParts) -> io::Result<KnownFile> {
    let mut known = KnownFile::default();
    for (part, place) in &parts.places {
        let Some((sum, state)) = state_at(file, *place)? else { continue };
        if *part == HEAD {
            let head = postcard::from_bytes(&state);
            known.is_sound = head.is_ok() && sum == parts.sum;
            known.is_doubtful = sum == DOUBTFUL;
            known.head = head.unwrap_or_default();
        } else {
            known.parts.insert(*part, state);
        }
    }
    Ok(known)
}

/// The sum and the state in the record at a place.
fn state_at(file: &File, place: RecordPlace) -> io::Result<Option<(u64, Vec<u8>)>> {
    let mut bytes = vec![0; usize::try_from(place.length).unwrap_or(0)];
    machine::read_exact_at(file, &mut bytes, place.at)?;
    let changed = || io::Error::new(io::ErrorKind::InvalidData, "it changed while it was read");
    let record: JournalRecord<'_> =
        payload_of(&bytes).and_then(|payload| postcard::from_bytes(payload).ok()).ok_or_else(changed)?;
    Ok(record.state.map(|state| (record.sum, state.into_owned())))
}

#[cfg(test)]
#[expect(clippy::unwrap_used, reason = "tests")]
mod tests {
    use super::*;

    fn id(inode: u64) -> FileId {
        FileId { device: 1, inode }
    }

    fn head(inode: u64, offset: u64) -> Entry {
        let head = FileHead { name: format!("/logs/{inode}"), offset, state: vec![7], ..FileHead::default() };
        Entry { file: id(inode), part: HEAD, state: Some(postcard::to_stdvec(&head).unwrap()) }
    }

    fn part(inode: u64, part: u64, state: Option<&[u8]>) -> Entry {
        Entry { file: id(inode), part, state: state.map(<[u8]>::to_vec) }
    }

    fn folder(name: &str) -> PathBuf {
        let folder = std::env::temp_dir().join(format!("quiclens-journal-{name}-{}", std::process::id()));
        let _ = std::fs::remove_dir_all(&folder);
        folder
    }

    /// Offset, numbers of the connections, soundness of each file.
    fn told(found: &Found) -> Vec<(u64, Vec<u64>, bool)> {
        let told = |known: &KnownFile| (known.head.offset, known.parts.keys().copied().collect(), known.is_sound);
        found.files.values().map(told).collect()
    }

    #[test]
    fn the_newest_state_of_each_part_comes_back() {
        let folder = folder("newest");
        let (mut journal, found) = Journal::open(&folder).unwrap();
        assert!(found.files.is_empty() && found.damaged == 0);
        let all = [part(1, 1, Some(b"a")), part(1, 2, Some(b"b")), head(1, 10), part(2, 1, Some(b"c")), head(2, 20)];
        journal.commit(&all).unwrap();
        journal.commit(&[part(1, 1, None), part(1, 3, Some(b"d")), head(1, 30), Entry::gone(id(2))]).unwrap();
        assert!(Journal::open(&folder).is_err_and(|error| error.kind == FailureKind::InUse));
        for _ in 0..2 {
            drop(journal);
            let (again, found) = Journal::open(&folder).unwrap();
            assert_eq!((told(&found), found.damaged), (vec![(30, vec![2, 3], true)], 0));
            journal = again;
        }
        journal.commit(&[part(1, 2, Some(b"e")), head(1, 40)]).unwrap();
        drop(journal);
        assert_eq!(told(&Journal::open(&folder).unwrap().1), [(40, vec![2, 3], true)]);
    }

    #[test]
    fn records_of_any_length_come_back_wherever_what_is_read_at_once_ends() {
        let folder = folder("lengths");
        let (mut journal, _) = Journal::open(&folder).unwrap();
        let mut all = Vec::new();
        for (number, length) in (1..).zip([1, READ - 40, 3, 2 * READ + 1, READ, 0, 5 * READ - 7, 9]) {
            all.push(part(1, number, Some(&vec![u8::try_from(number).unwrap(); length])));
        }
        all.push(head(1, 10));
        journal.commit(&all).unwrap();
        journal.commit(&[part(1, 4, None), part(1, 1, Some(b"new")), head(1, 20)]).unwrap();
        for _ in 0..2 {
            drop(journal);
            let (again, found) = Journal::open(&folder).unwrap();
            journal = again;
            assert_eq!(told(&found), [(20, vec![1, 2, 3, 5, 6, 7, 8], true)]);
            let parts = &found.files[&id(1)].parts;
            assert_eq!(parts[&1], b"new");
            for entry in all.iter().filter(|entry| ![HEAD, 1, 4].contains(&entry.part)) {
                assert_eq!(Some(&parts[&entry.part]), entry.state.as_ref());
            }
        }
    }

    #[test]
    fn states_of_another_build_are_known_and_not_taken_up() {
        let folder = folder("build");
        let (mut journal, found) = Journal::open(&folder).unwrap();
        assert!(!found.is_of_another_build);
        journal.commit(&[part(1, 1, Some(b"a")), head(1, 10)]).unwrap();
        drop(journal);
        let file = std::fs::File::options().write(true).open(folder.join("checkpoints")).unwrap();
        use std::os::unix::fs::FileExt as _;
        file.write_all_at(&(Saved::VERSION + 1).to_le_bytes(), MAGIC.len() as u64).unwrap();
        let (journal, found) = Journal::open(&folder).unwrap();
        assert_eq!((told(&found), found.is_of_another_build, found.damaged), (vec![(10, vec![1], false)], true, 0));
        assert_eq!(found.files[&id(1)].head.name, "/logs/1");
        drop(journal);
        let (_, found) = Journal::open(&folder).unwrap();
        assert_eq!((told(&found), found.is_of_another_build), (vec![(10, vec![], false)], false), "its head is kept");
    }

    /// A journal of a cycle of file 1 and of `second`: where the latter begins, and all bytes.
    fn two_cycles(folder: &Path, second: &[Entry]) -> (usize, Vec<u8>) {
        let (mut journal, _) = Journal::open(folder).unwrap();
        journal.commit(&[part(1, 1, Some(b"a")), head(1, 10)]).unwrap();
        let path = folder.join("checkpoints");
        let before = std::fs::metadata(&path).unwrap().len() as usize;
        journal.commit(second).unwrap();
        drop(journal);
        (before, std::fs::read(&path).unwrap())
    }

    #[test]
    fn a_cycle_that_was_torn_is_not_taken_up_half() {
        let folder = folder("torn");
        let path = folder.join("checkpoints");
        let (before, whole) = two_cycles(&folder, &[part(1, 1, Some(b"b")), part(1, 2, Some(b"c")), head(1, 20)]);
        for end in before..whole.len() {
            std::fs::write(&path, &whole[..end]).unwrap();
            let (_, found) = Journal::open(&folder).unwrap();
            assert_eq!((told(&found), found.damaged), (vec![(10, vec![1], true)], 0), "{end}");
            assert_eq!(found.is_torn, end > before, "{end}");
            assert_eq!(found.files[&id(1)].parts[&1], b"a");
        }
    }

    #[test]
    fn a_last_cycle_of_which_a_crash_left_any_part_counts_for_nothing() {
        let folder = folder("parts");
        let path = folder.join("checkpoints");
        let (before, whole) = two_cycles(&folder, &[part(1, 1, Some(b"b")), part(1, 2, Some(b"c")), head(1, 20)]);
        for begin in before..whole.len() {
            for end in [begin + 1, begin + 9, begin + 40].into_iter().filter(|end| *end <= whole.len()) {
                let mut left = whole.clone();
                left[begin..end].iter_mut().for_each(|byte| *byte = !*byte);
                std::fs::write(&path, &left).unwrap();
                let (_, found) = Journal::open(&folder).unwrap();
                assert_eq!(
                    (told(&found), found.damaged, found.is_torn),
                    (vec![(10, vec![1], true)], 0, true),
                    "{begin}"
                );
                assert_eq!(found.files[&id(1)].parts[&1], b"a");
            }
        }
    }

    #[test]
    fn a_file_that_only_a_damaged_last_cycle_tells_of_is_known_without_a_state_until_a_cycle_tells_of_it() {
        let folder = folder("doubtful");
        let path = folder.join("checkpoints");
        // With a connection, or as an access log, which has none.
        for second in [vec![part(2, 1, Some(b"b")), head(2, 20)], vec![head(2, 20), part(1, 2, None)]] {
            let _ = std::fs::remove_dir_all(&folder);
            let (before, whole) = two_cycles(&folder, &second);
            let in_the_part = if second[0].part == HEAD { whole.len() - OVERHEAD - 1 } else { before + 12 };
            let in_the_end = whole.len() - 1;
            for damaged in [in_the_part, in_the_end] {
                let mut left = whole.clone();
                left[damaged] ^= 1;
                std::fs::write(&path, &left).unwrap();
                for start in 0..3 {
                    // Each start but the last is killed before it commits anything.
                    let (mut journal, mut found) = Journal::open(&folder).unwrap();
                    let other = found.files.remove(&id(1)).unwrap();
                    assert!(other.is_sound && !other.is_doubtful && other.head.offset == 10);
                    let known = found.files.remove(&id(2));
                    assert!(known.is_some(), "start {start} does not know it, damaged at {damaged}");
                    let known = known.unwrap();
                    assert!(known.is_doubtful && !known.is_sound && known.parts.is_empty());
                    assert_eq!((known.head.name.as_str(), known.head.offset), ("/logs/2", 20));
                    assert!(found.files.is_empty() && found.is_torn == (start == 0));
                    if start == 2 {
                        journal.commit(&[part(2, 1, Some(b"c")), head(2, 30)]).unwrap();
                    }
                }
                let (mut journal, found) = Journal::open(&folder).unwrap();
                assert_eq!(told(&found), [(10, vec![1], true), (30, vec![1], true)]);
                assert!(!found.files[&id(2)].is_doubtful);
                journal.commit(&[Entry::gone(id(2))]).unwrap();
                drop(journal);
                assert_eq!(told(&Journal::open(&folder).unwrap().1), [(10, vec![1], true)]);
            }
        }
    }

    #[test]
    fn a_file_whose_state_is_damaged_is_known_without_it_until_a_cycle_tells_of_it() {
        let folder = folder("unsound");
        let (before, mut left) = two_cycles(&folder, &[part(2, 1, Some(b"b")), head(2, 20)]);
        // The first record after the copy of nothing is the connection of file 1.
        assert!(before > START as usize + 2 * OVERHEAD + 4);
        left[START as usize + 2 * OVERHEAD + 1] ^= 1;
        std::fs::write(folder.join("checkpoints"), &left).unwrap();
        for _ in 0..3 {
            let (_, found) = Journal::open(&folder).unwrap();
            assert_eq!(told(&found), [(10, vec![], false), (20, vec![1], true)]);
            assert!(!found.files[&id(1)].is_doubtful && found.files[&id(1)].head.name == "/logs/1");
        }
        let (mut journal, _) = Journal::open(&folder).unwrap();
        // Other cycles, and the copies that are made of them, leave it as it is.
        journal.commit(&[part(2, 1, Some(b"c")), head(2, 30)]).unwrap();
        journal.compact(Vec::new()).unwrap();
        drop(journal);
        let (mut journal, found) = Journal::open(&folder).unwrap();
        assert_eq!(told(&found), [(10, vec![], false), (30, vec![1], true)]);
        journal.commit(&[Entry::gone(id(1)), part(1, 3, Some(b"d")), head(1, 40)]).unwrap();
        drop(journal);
        assert_eq!(told(&Journal::open(&folder).unwrap().1), [(40, vec![3], true), (30, vec![1], true)]);
    }

    #[test]
    fn a_flipped_byte_costs_one_file_and_never_gives_parts_of_two_moments() {
        let folder = folder("flipped");
        let (mut journal, _) = Journal::open(&folder).unwrap();
        for offset in [10, 20] {
            let state = [u8::try_from(offset).unwrap(); 9];
            for inode in [1, 2, 3] {
                journal.commit(&[part(inode, 1, Some(&state)), head(inode, offset)]).unwrap();
            }
        }
        drop(journal);
        let path = folder.join("checkpoints");
        let whole = std::fs::read(&path).unwrap();
        for at in START as usize..whole.len() {
            let mut flipped = whole.clone();
            flipped[at] ^= 0x10;
            std::fs::write(&path, &flipped).unwrap();
            let (_, found) = Journal::open(&folder).unwrap();
            let sound: Vec<&KnownFile> = found.files.values().filter(|known| known.is_sound).collect();
            assert!(sound.len() >= 2, "{at}");
            assert!(sound.iter().all(|known| u64::from(known.parts[&1][0]) == known.head.offset), "{at}");
            assert!(found.damaged + u64::from(found.is_torn) == 1, "{at}");
        }
    }

    #[test]
    fn nothing_is_committed_under_a_name_that_a_crash_may_take_back() {
        let folder = folder("renamed");
        let (mut journal, _) = Journal::open(&folder).unwrap();
        assert!(!journal.is_renamed);
        // As after a compaction whose sync of the folder failed; and it fails again.
        journal.is_renamed = true;
        let away = folder.with_extension("away");
        std::fs::rename(&folder, &away).unwrap();
        assert!(journal.commit(&[head(1, 10)]).is_err_and(|said| said.kind == FailureKind::Disk));
        std::fs::rename(&away, &folder).unwrap();
        journal.commit(&[part(1, 1, Some(b"a")), head(1, 10)]).unwrap();
        assert!(!journal.is_renamed);
        drop(journal);
        assert_eq!(told(&Journal::open(&folder).unwrap().1), [(10, vec![1], true)]);
    }

    #[test]
    fn old_records_do_not_gather() {
        let folder = folder("compact");
        let (mut journal, _) = Journal::open(&folder).unwrap();
        let state = vec![1; 1 << 20];
        for offset in 0..40 {
            journal.commit(&[part(1, 1, Some(&state)), head(1, offset)]).unwrap();
            assert!(std::fs::metadata(folder.join("checkpoints")).unwrap().len() < COMPACT_AT + (2 << 20));
        }
        drop(journal);
        assert_eq!(told(&Journal::open(&folder).unwrap().1), [(39, vec![1], true)]);
    }
}
