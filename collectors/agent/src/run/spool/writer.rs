//! Appends records to the spool, and removes segments that are no longer needed. Unsynced records may be gone after a
//! crash; a record that did not fit leaves nothing behind.

use crate::error::{Error, FailureKind, is_full};
use crate::machine::{self, File, OpenOptions};
use crate::run::folders::{make_dir, remove_file, sync_folder};
use crate::run::spool::frame::encode;
use crate::run::spool::head::{Head, Position, What};
use crate::run::spool::segment::Segment;
use std::collections::{BTreeMap, VecDeque};
use std::io::{self, ErrorKind, Write};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use xxhash_rust::xxh3::xxh3_64;

/// Segments that a full spool has, about.
const SEGMENTS: u64 = 16;
const LARGEST_SEGMENT: u64 = 8 << 20;
/// Most bytes of the reserve file. On a full disk its space is used for a new segment, so that the shipped one can be
/// removed.
const LARGEST_RESERVE: u64 = 64 << 10;

/// Why a record was not taken.
#[derive(Debug)]
pub enum Refused {
    /// There is no room now.
    Full,
    /// It would not fit into an empty spool.
    TooLarge,
    /// The disk cannot be used.
    Broken(Error),
}

/// A source, and the partition where it is a topic.
type SourcePartition = (String, i32);

/// How much room there is.
#[derive(Clone, Copy, Debug)]
pub struct SpoolRoom {
    /// Most bytes of all segments.
    pub max_bytes: u64,
    /// Bytes that the spool leaves free on its disk.
    pub min_free_bytes: u64,
}

/// The writing end.
pub struct SpoolWriter {
    folder: PathBuf,
    room: SpoolRoom,
    /// Which spool this is.
    pub id: u64,
    /// All segments; the last is written to.
    pub segments: VecDeque<Segment>,
    file: Arc<File>,
    next: (u64, u64),
    newest: BTreeMap<SourcePartition, Position>,
    /// A record that did not fit may have left bytes behind the segment's.
    is_torn: bool,
    /// A record found no room since something was taken away last.
    is_short: bool,
    /// Everything before it was shipped.
    passed: u64,
}

fn place(source: &str, position: Position) -> SourcePartition {
    (source.to_owned(), if let Position::Kafka { partition, .. } = position { partition } else { -1 })
}

impl SpoolWriter {
    /// Opens or makes a spool. What a crash left behind the last record is cut off.
    pub fn open(folder: &Path, room: SpoolRoom) -> io::Result<Self> {
        make_dir(folder)?;
        let mut segments = VecDeque::from(Segment::list(folder)?);
        let mut known = Vec::new();
        while let Some(last) = segments.back_mut() {
            let (heads, end) = last.heads()?;
            if heads.is_empty() {
                machine::remove_file(&last.path)?;
                segments.pop_back();
                continue;
            }
            let bytes = machine::read(&last.path)?;
            let mut file = OpenOptions::new().write(true).open(&last.path)?;
            if (end as u64) < last.bytes {
                file.set_len(end as u64)?;
                last.bytes = end as u64;
            }
            // A killed process may not have synced it, and all of it is read from here on. It is written again before
            // the sync: after a failed sync, Linux marks the pages in memory as clean though they are not on disk.
            file.write_all(&bytes[..end.min(bytes.len())])?;
            file.sync_data()?;
            known = heads;
            break;
        }
        // A segment whose positions cannot be read leaves the search to the one before it.
        let mut earlier = segments.len().saturating_sub(1);
        while earlier > 0 && !matches!(known.first(), Some((Head { what: What::Positions { .. }, .. }, _))) {
            earlier -= 1;
            let mut heads = segments[earlier].heads()?.0;
            heads.append(&mut known);
            known = heads;
        }
        let (mut id, mut newest, mut next) = (new_id(), BTreeMap::new(), (0, 0));
        for (head, length) in known {
            next = (head.number + 1, head.offset + length as u64);
            if let Some((source, position)) = head.what.position() {
                newest.insert(place(source, position), position);
            }
            if let What::Positions { spool, newest: known } = head.what {
                id = spool;
                newest.extend(known.into_iter().map(|(source, position)| (place(&source, position), position)));
            }
        }
        let file = match begin(folder, id, &newest, next) {
            Ok((file, first)) => {
                segments.push_back(first);
                next.0 += 1;
                file
            }
            // On a full disk the last segment is written on.
            Err(error) => match segments.back() {
                Some(last) if is_full(&error) => OpenOptions::new().append(true).open(&last.path)?,
                _ => return Err(error),
            },
        };
        sync_folder(folder)?;
        let (is_torn, is_short, passed) = (false, false, 0);
        let folder = folder.to_owned();
        let writer = Self { folder, room, id, segments, file: Arc::new(file), next, newest, is_torn, is_short, passed };
        writer.reserve();
        Ok(writer)
    }

    /// Newest position of a source, or of a partition of it (-1 where it has none).
    pub fn position(&self, source: &str, partition: i32) -> Option<Position> {
        self.newest.get(&(source.to_owned(), partition)).copied()
    }

    /// Appends a record; it counts when it is synced. A source that has no positions of its own gets a running number.
    pub fn append(&mut self, mut what: What, payload: &[u8]) -> Result<(), Refused> {
        let mut bytes = Vec::with_capacity(payload.len() + 512);
        if let What::Lines { source, position: Position::Running(running), .. }
        | What::Reject { source, position: Position::Running(running), .. } = &mut what
        {
            let before = self.newest.get(&(source.clone(), -1));
            *running = if let Some(Position::Running(before)) = before { before + 1 } else { 0 };
        }
        let newest = what.position().map(|(source, position)| (place(source, position), position));
        let said =
            |error: &io::Error| Error::new(FailureKind::State, "the spool", format!("cannot be written: {error}"));
        if self.segments.back().is_some_and(|active| active.bytes >= self.most()) {
            match self.roll() {
                Ok(()) => {}
                Err(error) if is_full(&error) => return Err(self.short()),
                Err(error) => return Err(Refused::Broken(said(&error))),
            }
        }
        let head = Head { number: self.next.0, offset: self.next.1, what };
        encode(&head, payload, &mut bytes).ok_or(Refused::TooLarge)?;
        let length = bytes.len() as u64;
        if length > self.room.max_bytes / 4 {
            return Err(Refused::TooLarge);
        }
        if self.used() + length > self.room.max_bytes / 2 || !self.has_room(length) {
            // Shipped segments are kept only for a damaged checkpoint: they are removed before a source has to wait or
            // an event is dropped.
            let _ = self.free(self.passed);
            if !self.has_room(length) {
                return Err(self.short());
            }
        }
        match self.write(&bytes) {
            Ok(()) => {}
            Err(error) if is_full(&error) => return Err(self.short()),
            Err(error) => return Err(Refused::Broken(said(&error))),
        }
        self.next = (head.number + 1, head.offset + payload.len() as u64);
        self.newest.extend(newest);
        Ok(())
    }

    /// Bytes after which a segment is full.
    fn most(&self) -> u64 {
        (self.room.max_bytes / SEGMENTS).min(LARGEST_SEGMENT)
    }

    /// Bytes of the reserve.
    fn reserved(&self) -> u64 {
        (self.most() / 4).min(LARGEST_RESERVE)
    }

    /// The record does not fit. Where everything was shipped, the active segment can be replaced to free its space.
    fn short(&mut self) -> Refused {
        self.is_short = true;
        match self.relieve() {
            Ok(()) => Refused::Full,
            // It is tried again with the next record.
            Err(error) if is_full(&error) => Refused::Full,
            Err(error) => Refused::Broken(Error::of_state("the spool", &error)),
        }
    }

    /// Replaces the active segment, when all of it was shipped, by a new one. On a full disk the space of the reserve
    /// is used for it.
    fn relieve(&mut self) -> io::Result<()> {
        let is_large = self.segments.back().is_some_and(|active| active.bytes > self.reserved());
        if self.is_short && is_large && self.passed >= self.next.1 {
            match self.roll() {
                Err(error) if is_full(&error) => {
                    // The reserve may not exist: it may not have fitted before.
                    remove_file(&self.folder.join("reserve"))?;
                    self.roll()?;
                }
                done => done?,
            }
            self.free(self.passed)?;
            self.reserve();
        }
        Ok(())
    }

    /// Sets the reserve aside; where it does not fit, the next time tries again.
    fn reserve(&self) {
        let path = self.folder.join("reserve");
        if machine::write(&path, vec![0; self.reserved() as usize]).is_err() {
            let _ = machine::remove_file(path);
        }
    }

    fn write(&mut self, bytes: &[u8]) -> io::Result<()> {
        self.mend()?;
        let Some(active) = self.segments.back_mut() else { return Ok(()) };
        if let Err(error) = (&*self.file).write_all(bytes) {
            self.is_torn = self.file.set_len(active.bytes).is_err();
            return Err(error);
        }
        active.bytes += bytes.len() as u64;
        Ok(())
    }

    /// Cuts off what a record that did not fit left behind.
    fn mend(&mut self) -> io::Result<()> {
        if self.is_torn {
            self.file.set_len(self.segments.back().map_or(0, |active| active.bytes))?;
            self.is_torn = false;
        }
        Ok(())
    }

    /// A new segment; the one before it is synced first.
    fn roll(&mut self) -> io::Result<()> {
        self.mend()?;
        self.file.sync_data()?;
        let (file, first) = begin(&self.folder, self.id, &self.newest, self.next)?;
        if let Err(error) = sync_folder(&self.folder) {
            // The segment before it may still be appended to; the offsets of this one, if it stayed, would overlap.
            let _ = machine::remove_file(&first.path);
            return Err(error);
        }
        self.next.0 += 1;
        self.file = Arc::new(file);
        self.segments.push_back(first);
        Ok(())
    }

    /// A handle to sync the active segment with, and how far it goes then.
    pub fn unsynced(&self) -> io::Result<(Arc<File>, Segment)> {
        let active = self.segments.back().cloned().ok_or_else(|| io::Error::from(ErrorKind::NotFound))?;
        Ok((Arc::clone(&self.file), active))
    }

    /// Everything before `offset` was shipped, and the journal says so. While there is room, only what the cycle before
    /// had passed is removed: when the newest cycle is found damaged, reading continues from the one before.
    pub fn passed(&mut self, offset: u64) -> io::Result<()> {
        let before = std::mem::replace(&mut self.passed, offset);
        let is_roomy = self.used() <= self.room.max_bytes / 4;
        self.free(if is_roomy { before } else { offset })?;
        self.relieve()
    }

    /// Segments that hold nothing from `offset` on go.
    fn free(&mut self, offset: u64) -> io::Result<()> {
        while let (Some(first), Some(second)) = (self.segments.front(), self.segments.get(1)) {
            if second.offset > offset {
                break;
            }
            // A file that stays is counted on, and tried again the next time.
            remove_file(&first.path)?;
            self.segments.pop_front();
            self.is_short = false;
        }
        Ok(())
    }

    /// Bytes of all segments.
    pub fn used(&self) -> u64 {
        self.segments.iter().map(|segment| segment.bytes).sum()
    }

    /// Bytes of payload that were given and are not known to be shipped.
    pub fn unshipped(&self) -> u64 {
        let oldest = self.segments.front().map_or(0, |first| first.offset);
        self.next.1 - self.passed.max(oldest).min(self.next.1)
    }

    /// Whether so many bytes more would fit.
    pub fn has_room(&self, more: u64) -> bool {
        self.used() + more <= self.room.max_bytes && !self.is_disk_full(more)
    }

    /// Whether the disk would be left with too little.
    fn is_disk_full(&self, more: u64) -> bool {
        machine::free_bytes(&self.folder).is_some_and(|free| free < self.room.min_free_bytes + more)
    }
}

/// Makes a segment with its first record, and syncs it.
fn begin(
    folder: &Path,
    id: u64,
    newest: &BTreeMap<SourcePartition, Position>,
    next: (u64, u64),
) -> io::Result<(File, Segment)> {
    let newest = newest.iter().map(|((source, _), position)| (source.clone(), *position)).collect();
    let head = Head { number: next.0, offset: next.1, what: What::Positions { spool: id, newest } };
    let mut bytes = Vec::new();
    encode(&head, &[], &mut bytes).ok_or_else(|| io::Error::from(ErrorKind::FileTooLarge))?;
    let mut segment = Segment::new(folder, next.1, next.0);
    let made = OpenOptions::new().append(true).create(true).open(&segment.path).and_then(|mut file| {
        file.set_len(0)?;
        file.write_all(&bytes)?;
        file.sync_data()?;
        Ok(file)
    });
    if made.is_err() {
        // An incomplete segment is removed; it is made again when there is room.
        let _ = machine::remove_file(&segment.path);
    }
    segment.bytes = bytes.len() as u64;
    Ok((made?, segment))
}

/// Tells this spool from every other.
fn new_id() -> u64 {
    let now = machine::wall().as_nanos();
    xxh3_64(format!("{now}-{}", machine::process_id()).as_bytes())
}

#[cfg(test)]
#[expect(clippy::unwrap_used, reason = "tests")]
mod tests {
    use super::*;
    use crate::machine::simulated::{self, Fault, When};
    use std::time::Duration;

    const FOLDER: &str = "/state/spool";
    const ROOM: SpoolRoom = SpoolRoom { max_bytes: 64 << 10, min_free_bytes: 1 };

    fn append(writer: &mut SpoolWriter) -> Result<(), Refused> {
        let payload = b"c\t0\t0\tpacket_sent\tx\n".repeat(100);
        writer.append(What::lines("here", Position::Running(0), &payload), &payload)
    }

    /// A spool on a simulated disk that becomes full, all of whose records were shipped.
    fn shipped_and_full() -> SpoolWriter {
        simulated::begin(7);
        machine::create_dir_all(Path::new("/state")).unwrap();
        let mut writer = SpoolWriter::open(Path::new(FOLDER), ROOM).unwrap();
        append(&mut writer).unwrap();
        let end = writer.next.1;
        writer.passed(end).unwrap();
        simulated::world(|world| world.planned.push((When::After(0), Fault::NoSpace)));
        writer
    }

    #[test]
    fn a_disk_without_room_for_a_segment_is_full_and_tried_again_with_or_without_a_reserve() {
        for has_reserve in [true, false] {
            let mut writer = shipped_and_full();
            if !has_reserve {
                machine::remove_file(writer.folder.join("reserve")).unwrap();
            }
            for _ in 0..3 {
                let refused = append(&mut writer);
                assert!(matches!(refused, Err(Refused::Full)), "{refused:?}");
            }
            let retried = writer.passed(writer.next.1).map_err(|error| Error::of_state("", &error).kind);
            assert_eq!(retried, Err(FailureKind::Disk));
            simulated::world(|world| world.pass(Duration::from_secs(3)));
            append(&mut writer).unwrap();
            writer.passed(writer.next.1).unwrap();
            assert!(machine::exists(&writer.folder.join("reserve")));
            drop(writer);
            simulated::end();
        }
    }

    #[test]
    fn what_only_the_newest_cycle_has_passed_stays_while_there_is_room() {
        simulated::begin(7);
        machine::create_dir_all(Path::new("/state")).unwrap();
        let room = SpoolRoom { max_bytes: 1 << 20, min_free_bytes: 1 };
        let mut writer = SpoolWriter::open(Path::new(FOLDER), room).unwrap();
        let fill = |writer: &mut SpoolWriter| {
            let segments = writer.segments.len();
            while writer.segments.len() == segments {
                append(writer).unwrap();
            }
            writer.next.1
        };
        let first = fill(&mut writer);
        let oldest = writer.segments[0].number;
        writer.passed(first).unwrap();
        assert_eq!(writer.segments[0].number, oldest, "the cycle before had passed nothing");
        let second = fill(&mut writer);
        writer.passed(second).unwrap();
        assert!(writer.segments[0].number > oldest && writer.segments[1].offset > first, "{:?}", writer.segments);
        writer.passed(second).unwrap();
        assert!(writer.segments.len() == 1 || writer.segments[1].offset > second);
        // Where there is no room, what was shipped makes some at once, by a cycle or by what comes.
        while writer.used() <= room.max_bytes / 4 {
            append(&mut writer).unwrap();
        }
        writer.passed(writer.next.1).unwrap();
        assert_eq!(writer.segments.len(), 1);
        while writer.used() <= room.max_bytes / 5 {
            append(&mut writer).unwrap();
        }
        let shipped = writer.next.1;
        writer.passed(shipped).unwrap();
        let kept = writer.segments.len();
        assert!(kept > 1, "there is room");
        while writer.used() <= room.max_bytes / 5 * 2 {
            append(&mut writer).unwrap();
        }
        assert_eq!(writer.segments.iter().filter(|segment| segment.offset < shipped).count(), kept);
        while writer.next.1 - shipped < room.max_bytes / 2 {
            append(&mut writer).unwrap();
        }
        let old = writer.segments.iter().filter(|segment| segment.offset < shipped).count();
        assert!(old <= 1, "what was shipped went before the spool was full: {old}");
        drop(writer);
        simulated::end();
    }

    #[test]
    fn a_segment_that_could_not_be_removed_is_counted_and_goes_the_next_time() {
        simulated::begin(7);
        machine::create_dir_all(Path::new("/state")).unwrap();
        let mut writer = SpoolWriter::open(Path::new(FOLDER), ROOM).unwrap();
        while writer.segments.len() < 4 {
            append(&mut writer).unwrap();
        }
        let (end, used) = (writer.next.1, writer.used());
        let remove = ("remove", "spool segment");
        let at = simulated::PLACES.iter().position(|(call, place, ..)| (*call, *place) == remove).unwrap();
        let fail = |world: &mut simulated::World| world.planned.push((When::At(at, world.made[at]), Fault::Io));
        simulated::world(fail);
        assert!(writer.free(end).is_err());
        assert_eq!((writer.used(), writer.segments.len()), (used, 4), "it is still there");
        assert_eq!(writer.segments, Segment::list(&writer.folder).unwrap());
        writer.free(end).unwrap();
        assert_eq!(writer.segments.len(), 1);
        assert_eq!(writer.segments, Segment::list(&writer.folder).unwrap());
        // One that somebody else has removed is no fault.
        while writer.segments.len() < 3 {
            append(&mut writer).unwrap();
        }
        machine::remove_file(&writer.segments[0].path).unwrap();
        writer.free(writer.next.1).unwrap();
        assert_eq!(writer.segments.len(), 1);
        drop(writer);
        simulated::end();
    }

    #[test]
    fn a_segment_whose_name_could_not_be_synced_does_not_stay() {
        let mut writer = shipped_and_full();
        simulated::world(|world| {
            world.planned.clear();
            let at = simulated::PLACES.iter().position(|(call, place, ..)| (*call, *place) == ("open", "spool folder"));
            world.planned.push((When::At(at.unwrap(), 0), Fault::NoDescriptors));
        });
        let error = writer.roll().unwrap_err();
        assert!(is_full(&error), "{error}");
        simulated::world(|world| world.pass(Duration::from_secs(3)));
        assert_eq!(writer.segments, Segment::list(&writer.folder).unwrap());
        drop(writer);
        simulated::end();
    }
}
