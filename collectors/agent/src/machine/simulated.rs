//! A simulated disk and clock, of one thread, driven by one seed.
//!
//! The disk keeps synced and unsynced changes of content, size and names apart. A crash keeps any subset of the
//! unsynced writes, each whole or torn, and any prefix of the name changes of each folder, which a journaling file
//! system keeps in order. After a failed sync some unsynced bytes never reach the disk, though they can still be read,
//! as on Linux. When the name of a folder is lost, everything in it is lost too. What other processes write (logs) is
//! always durable.

#![expect(clippy::unwrap_used, clippy::expect_used, clippy::panic, clippy::print_stdout, reason = "tests")]

use super::Look;
use quiclens_tail::SourceFault;
use rustix::io::Errno;
use std::cell::RefCell;
use std::collections::{BTreeMap, BTreeSet};
use std::fs::{DirBuilder, TryLockError};
use std::io::{self, ErrorKind, Read, Write};
use std::os::unix::fs::{DirBuilderExt, FileExt};
use std::panic::resume_unwind;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};
use xxhash_rust::xxh3::Xxh3;

/// Numbers by chance, all from one seed (SplitMix64).
#[derive(Clone, Debug)]
pub struct Chance(pub u64);

impl Chance {
    /// The next number.
    pub fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut mixed = self.0;
        mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        mixed ^ (mixed >> 31)
    }

    /// One below `most`.
    pub fn below(&mut self, most: u64) -> u64 {
        self.next() % most.max(1)
    }

    /// True once in so many times.
    pub fn one_in(&mut self, times: u64) -> bool {
        self.below(times) == 0
    }
}

/// What goes wrong.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Fault {
    /// The process is gone.
    Kill,
    /// The machine is gone, with what was not synced.
    Crash,
    /// The disk is full for a while.
    NoSpace,
    /// No descriptor is left for a while.
    NoDescriptors,
    /// One call fails.
    Io,
    /// A part of what was to be read or written is.
    Short,
}

impl Fault {
    /// All of them.
    pub const ALL: [Self; 6] = [Self::Kill, Self::Crash, Self::NoSpace, Self::NoDescriptors, Self::Io, Self::Short];

    /// Whether a call can meet it.
    pub fn befalls(self, call: &str) -> bool {
        match self {
            Self::Kill | Self::Crash => true,
            Self::NoSpace => matches!(call, "write" | "create" | "rename"),
            Self::Short => matches!(call, "read" | "write"),
            Self::NoDescriptors => matches!(call, "open" | "create" | "list"),
            Self::Io => call != "sleep",
        }
    }
}

/// Every call that the collector makes, with the place that it is made on, about how often it is made in one schedule,
/// and the weight with which faults are aimed at it. A call that is not listed ends the simulation.
pub const PLACES: &[(&str, &str, u64, u64)] = &[
    ("sleep", "nothing", 561, 1),
    ("send", "network", 40, 2),
    ("receive", "network", 30, 2),
    ("look", "log", 624, 1),
    ("read", "log", 114, 1),
    ("open", "log", 23, 1),
    ("look", "document", 150, 1),
    ("read", "document", 10, 1),
    ("open", "document", 5, 1),
    ("copy", "document", 3, 1),
    ("look", "sequence", 260, 1),
    ("read", "sequence", 36, 1),
    ("open", "sequence", 10, 1),
    ("copy", "sequence", 1, 13),
    ("list", "log folder", 24, 1),
    ("read", "spool segment", 44, 1),
    ("write", "spool segment", 27, 1),
    ("sync", "spool segment", 26, 1),
    ("open", "spool segment", 22, 1),
    ("create", "spool segment", 10, 1),
    ("set_len", "spool segment", 10, 1),
    ("look", "spool segment", 12, 2),
    ("remove", "spool segment", 9, 3),
    ("write", "spool reserve", 3, 1),
    ("create", "spool reserve", 1, 1),
    ("open", "spool reserve", 2, 2),
    ("remove", "spool reserve", 1, 10),
    ("list", "spool folder", 3, 1),
    ("open", "spool folder", 9, 2),
    ("sync", "spool folder", 9, 1),
    ("read", "checkpoints", 25, 1),
    ("open", "checkpoints", 3, 1),
    ("create", "checkpoints", 1, 1),
    ("write", "checkpoints", 5, 2),
    ("sync", "checkpoints", 4, 2),
    ("set_len", "checkpoints", 1, 7),
    ("rename", "checkpoints", 3, 1),
    ("create", "checkpoints draft", 4, 1),
    ("open", "checkpoints draft", 4, 2),
    ("write", "checkpoints draft", 4, 1),
    ("sync", "checkpoints draft", 4, 1),
    ("open", "state folder", 3, 1),
    ("sync", "state folder", 3, 1),
    ("list", "outbox folder", 3, 1),
    ("open", "outbox folder", 1, 10),
    ("sync", "outbox folder", 1, 12),
    ("create", "outbox draft", 1, 4),
    ("open", "outbox draft", 1, 16),
    ("write", "outbox draft", 1, 5),
    ("sync", "outbox draft", 1, 5),
    ("rename", "outbox message", 1, 8),
    ("look", "outbox message", 1, 10),
    ("open", "outbox message", 2, 15),
    ("read", "outbox message", 10, 14),
    ("remove", "outbox message", 1, 34),
    ("create", "batch draft", 4, 4),
    ("open", "batch draft", 1, 34),
    ("write", "batch draft", 3, 4),
    ("sync", "batch draft", 3, 5),
    ("rename", "batch", 3, 4),
    ("open", "batch folder", 3, 4),
    ("sync", "batch folder", 3, 4),
];

/// Index of a call in [`PLACES`].
fn index_of(call: &str, path: &Path) -> usize {
    let place = place(path);
    let found = PLACES.iter().position(|(known, at, ..)| *known == call && *at == place);
    found.unwrap_or_else(|| panic!("no such place: (\"{call}\", \"{place}\", 1, 1), {}", path.display()))
}

/// What lies at a path.
fn place(path: &Path) -> &'static str {
    let text = path.to_str().unwrap_or_default();
    let is_folder = |folder: &str| text.len() == folder.len();
    match text {
        "" => "nothing",
        "/network" => "network",
        _ if text.starts_with("/state/spool") && is_folder("/state/spool") => "spool folder",
        "/state/spool/reserve" => "spool reserve",
        _ if text.starts_with("/state/spool") => "spool segment",
        _ if text.starts_with("/state/outbox") && is_folder("/state/outbox") => "outbox folder",
        "/state/outbox/draft" => "outbox draft",
        _ if text.starts_with("/state/outbox") => "outbox message",
        "/state/checkpoints" => "checkpoints",
        "/state/checkpoints.new" => "checkpoints draft",
        "/state" => "state folder",
        "/logs/a" | "/logs/b" | "/logs/d" | "/logs/s" => "log folder",
        _ if text.starts_with("/logs/s") || text.starts_with("/logs/t") => "sequence",
        _ if text.starts_with("/logs/d") || text.starts_with("/logs/e") => "document",
        _ if text.starts_with("/logs") => "log",
        _ if text.ends_with(".arrow") => "batch",
        _ if text.contains("/.") => "batch draft",
        _ if text.starts_with("/out") => "batch folder",
        _ => "other",
    }
}

/// When a fault comes.
#[derive(Clone, Copy, Debug)]
pub enum When {
    /// At the first call after so many that can meet it.
    After(u64),
    /// At a call of [`PLACES`], when it was made so often before.
    At(usize, u64),
}

/// What unwinds when the process is killed; true: the machine is gone.
pub struct Killed(pub bool);

struct Inode {
    /// The newest of its names.
    name: Arc<Path>,
    data: Vec<u8>,
    durable: Vec<u8>,
    unsynced: Vec<Change>,
    links: u32,
    opens: u32,
    changed: u64,
    is_folder: bool,
}

enum Change {
    Write(usize, Vec<u8>),
    Length(usize),
}

/// What a disk writes as a whole.
const SECTOR: usize = 512;

impl Change {
    fn apply(&self, data: &mut Vec<u8>) {
        match self {
            Self::Length(length) => data.resize(*length, 0),
            Self::Write(at, bytes) => put(data, *at, bytes),
        }
    }

    /// A part of it: its beginning, or some of its sectors.
    fn tear(&self, data: &mut Vec<u8>, chance: &mut Chance) {
        let Self::Write(at, bytes) = self else { return };
        if chance.one_in(2) {
            let length = usize::try_from(chance.below(bytes.len() as u64)).unwrap();
            return put(data, *at, &bytes[..length]);
        }
        for (number, sector) in bytes.chunks(SECTOR).enumerate() {
            if chance.one_in(2) {
                put(data, at + number * SECTOR, sector);
            }
        }
    }
}

fn put(data: &mut Vec<u8>, at: usize, bytes: &[u8]) {
    if data.len() < at + bytes.len() {
        data.resize(at + bytes.len(), 0);
    }
    data[at..at + bytes.len()].copy_from_slice(bytes);
}

/// Names are changed in steps: one that goes, one that comes, or both.
struct Renamed {
    folder: PathBuf,
    gone: Option<PathBuf>,
    come: Option<(PathBuf, u64)>,
}

/// Disk, clock and faults.
pub struct World {
    /// Chance of faults and of what a crash leaves.
    pub chance: Chance,
    base: Instant,
    time: Duration,
    inodes: BTreeMap<u64, Inode>,
    names: BTreeMap<PathBuf, u64>,
    durable: BTreeMap<PathBuf, u64>,
    renamed: Vec<Renamed>,
    life: u64,
    changes: u64,
    calls: u64,
    /// Calls by their index in [`PLACES`].
    pub made: Vec<u64>,
    /// Bytes that were read.
    pub read_bytes: u64,
    /// Faults to come.
    pub planned: Vec<(When, Fault)>,
    full_until: Duration,
    crowded_until: Duration,
    /// Faults that befell.
    pub struck: u64,
    /// Calls that met a fault, by its kind and their index in [`PLACES`].
    pub befell: BTreeMap<(Fault, usize), u64>,
    /// Everything that was done: calls, what they were given and what they gave.
    trail: Box<Xxh3>,
    /// What another process does right before the next log is opened.
    pub before_open: Option<fn(&mut Self)>,
    /// Everything that is done is said.
    pub says: bool,
    is_dead: bool,
}

thread_local! {
    static WORLD: RefCell<Option<World>> = const { RefCell::new(None) };
}

fn is_simulated() -> bool {
    WORLD.with_borrow(Option::is_some)
}

fn with<T>(work: impl FnOnce(&mut World) -> T) -> T {
    WORLD.with_borrow_mut(|world| work(world.as_mut().expect("a simulated thread")))
}

/// Works with this thread's world.
pub fn world<T>(work: impl FnOnce(&mut World) -> T) -> T {
    with(work)
}

/// Makes this thread's machine a simulated one.
pub fn begin(seed: u64) {
    let world = World {
        chance: Chance(seed),
        base: Instant::now(),
        time: Duration::from_secs(1000),
        inodes: BTreeMap::new(),
        names: BTreeMap::new(),
        durable: BTreeMap::new(),
        renamed: Vec::new(),
        life: 0,
        changes: 0,
        calls: 0,
        made: vec![0; PLACES.len()],
        read_bytes: 0,
        planned: Vec::new(),
        full_until: Duration::ZERO,
        crowded_until: Duration::ZERO,
        struck: 0,
        befell: BTreeMap::new(),
        trail: Box::default(),
        before_open: None,
        says: false,
        is_dead: false,
    };
    WORLD.set(Some(world));
    create_dir_all(Path::new("/")).unwrap();
}

/// Ends the simulation; the world as it was then.
pub fn end() -> World {
    WORLD.take().expect("a simulated thread")
}

fn error(code: Errno) -> io::Error {
    io::Error::from_raw_os_error(code.raw_os_error())
}

/// What becomes of a call.
#[derive(PartialEq, Eq)]
enum Fate {
    Whole,
    /// A part of it is done.
    Short,
    /// The process is gone in the middle of it; true: the machine is.
    Killed(bool),
}

/// One system call with the arguments `given`. A kill unwinds; a fault is an error; true: only a part of it is done.
fn call(what: &'static str, path: &Path, given: &[&[u8]]) -> io::Result<bool> {
    match fate(what, path, given)? {
        Fate::Whole => Ok(false),
        Fate::Short => Ok(true),
        Fate::Killed(is_crash) => resume_unwind(Box::new(Killed(is_crash))),
    }
}

fn fate(what: &'static str, path: &Path, given: &[&[u8]]) -> io::Result<Fate> {
    with(|world| {
        if world.is_dead {
            return Err(error(Errno::IO));
        }
        let index = index_of(what, path);
        world.calls += 1;
        world.made[index] += 1;
        world.time += Duration::from_micros(20);
        world.note(&[what.as_bytes(), path.as_os_str().as_encoded_bytes()]);
        world.note(given);
        let fault = world.fault(what, index);
        if let Some(fault) = fault {
            *world.befell.entry((fault, index)).or_default() += 1;
            world.note(&[&[fault as u8], format!("{fault:?}").as_bytes()]);
        }
        match fault {
            None => Ok(Fate::Whole),
            Some(Fault::Kill | Fault::Crash) => {
                world.is_dead = true;
                Ok(Fate::Killed(fault == Some(Fault::Crash)))
            }
            Some(Fault::NoSpace) => Err(error(Errno::NOSPC)),
            Some(Fault::NoDescriptors) => Err(error(Errno::MFILE)),
            Some(Fault::Io) => Err(error(Errno::IO)),
            Some(Fault::Short) => Ok(Fate::Short),
        }
    })
}

impl World {
    /// Calls so far.
    pub fn calls(&self) -> u64 {
        self.calls
    }

    /// Calls so far that failed for another reason than a full disk, missing descriptors or a broken connection.
    pub fn broken(&self) -> u64 {
        let is_broken = |(fault, at): (Fault, usize)| fault == Fault::Io && PLACES[at].1 != "network";
        self.befell.iter().filter(|(pair, _)| is_broken(**pair)).map(|(_, count)| count).sum()
    }

    /// Everything that was done so far, hashed.
    pub fn trail(&self) -> u64 {
        self.trail.digest()
    }

    /// Adds what was done to the trail.
    pub fn note(&mut self, done: &[&[u8]]) {
        if self.says {
            let parts: Vec<String> =
                done.iter().map(|part| part[..part.len().min(100)].escape_ascii().to_string()).collect();
            println!("{:.3} {}", self.time.as_secs_f64(), parts.join(" "));
        }
        for each in done {
            self.trail.update(&(each.len() as u64).to_le_bytes());
            self.trail.update(each);
        }
    }

    /// What this call meets, if anything.
    fn fault(&mut self, what: &str, index: usize) -> Option<Fault> {
        let due = self.planned.iter().position(|(when, fault)| match when {
            When::After(calls) => *calls <= self.calls && fault.befalls(what),
            When::At(at, before) => *at == index && *before < self.made[index],
        });
        let Some((_, fault)) = due.map(|due| self.planned.remove(due)) else {
            let lasting = [(Fault::NoDescriptors, self.crowded_until), (Fault::NoSpace, self.full_until)];
            let met = lasting.into_iter().find(|(fault, until)| self.time < *until && fault.befalls(what));
            return met.map(|(fault, _)| fault);
        };
        self.struck += 1;
        let lasts = self.time + Duration::from_millis(self.chance.below(3000));
        match fault {
            Fault::NoSpace => self.full_until = lasts,
            Fault::NoDescriptors => self.crowded_until = lasts,
            Fault::Kill | Fault::Crash | Fault::Io | Fault::Short => {}
        }
        Some(fault)
    }

    /// Lets time pass.
    pub fn pass(&mut self, time: Duration) {
        self.note(&[b"pass", &time.as_micros().to_le_bytes()]);
        self.time += time;
    }

    /// Nothing goes wrong any more.
    pub fn heal(&mut self) {
        self.planned.clear();
        (self.full_until, self.crowded_until) = (Duration::ZERO, Duration::ZERO);
    }

    /// The collector has it open.
    pub fn is_held(&self, inode: u64) -> bool {
        self.inodes.get(&inode).is_some_and(|inode| inode.opens > 0)
    }

    /// Seconds that have passed.
    pub fn elapsed(&self) -> Duration {
        self.time
    }

    /// The process is no more; after a crash of the machine, what was not synced may be lost.
    pub fn restart(&mut self, is_crash: bool) {
        self.life += 1;
        self.is_dead = false;
        self.inodes.values_mut().for_each(|inode| inode.opens = 0);
        if is_crash {
            self.crash();
        }
        self.sweep();
    }

    fn crash(&mut self) {
        let mut kept = BTreeSet::new();
        let mut cut = BTreeSet::new();
        for (index, renamed) in self.renamed.iter().enumerate() {
            // Of each folder a beginning of its changes.
            if cut.contains(&renamed.folder) || self.chance.one_in(3) {
                cut.insert(renamed.folder.clone());
            } else {
                kept.insert(index);
            }
        }
        for (index, renamed) in std::mem::take(&mut self.renamed).into_iter().enumerate() {
            if kept.contains(&index) {
                renamed.apply(&mut self.durable);
            }
        }
        let is_lost =
            |(path, number): &(&PathBuf, &u64)| self.inodes[*number].is_folder && !self.durable.contains_key(*path);
        let lost: Vec<PathBuf> = self.names.iter().filter(is_lost).map(|(path, _)| path.clone()).collect();
        self.durable.retain(|path, _| !lost.iter().any(|folder| path.starts_with(folder)));
        self.names = self.durable.clone();
        let chance = &mut self.chance;
        for inode in self.inodes.values_mut() {
            let mut data = std::mem::take(&mut inode.durable);
            for change in std::mem::take(&mut inode.unsynced) {
                match chance.below(4) {
                    0 => {}
                    1 => change.tear(&mut data, chance),
                    _ => change.apply(&mut data),
                }
            }
            inode.data = data.clone();
            inode.durable = data;
        }
        for (name, number) in &self.names {
            if let Some(inode) = self.inodes.get_mut(number) {
                inode.name = Arc::from(name.as_path());
            }
        }
        let names = &self.names;
        for (number, inode) in &mut self.inodes {
            inode.links = u32::try_from(names.values().filter(|named| *named == number).count()).unwrap();
        }
    }

    /// Inodes that nobody has are free.
    fn sweep(&mut self) {
        let durable: BTreeSet<u64> = self.durable.values().copied().collect();
        let pending: BTreeSet<u64> =
            self.renamed.iter().filter_map(|renamed| renamed.come.as_ref().map(|(_, inode)| *inode)).collect();
        self.inodes.retain(|number, inode| {
            inode.links > 0 || inode.opens > 0 || durable.contains(number) || pending.contains(number)
        });
    }

    fn tick(&mut self) -> u64 {
        self.changes += 1;
        self.changes
    }

    fn new_inode(&mut self, is_folder: bool) -> u64 {
        // The lowest that is free, as ext4 does.
        let number = (1..).find(|number| !self.inodes.contains_key(number)).unwrap();
        let changed = self.tick();
        let inode = Inode {
            name: Arc::from(Path::new("")),
            data: Vec::new(),
            durable: Vec::new(),
            unsynced: Vec::new(),
            links: 0,
            opens: 0,
            changed,
            is_folder,
        };
        self.inodes.insert(number, inode);
        number
    }

    fn rename_in(&mut self, gone: Option<&Path>, come: Option<(&Path, u64)>) {
        let changed = self.tick();
        let folder = come.map(|(path, _)| path).or(gone).and_then(Path::parent).unwrap_or(Path::new("/")).to_owned();
        let renamed = Renamed {
            gone: gone.map(Path::to_owned),
            come: come.map(|(path, inode)| (path.to_owned(), inode)),
            folder,
        };
        for path in renamed.gone.iter().chain(renamed.come.iter().map(|(path, _)| path)) {
            if let Some(inode) = self.names.get(path).and_then(|number| self.inodes.get_mut(number)) {
                inode.links -= 1;
                inode.changed = changed;
            }
        }
        for path in renamed.gone.iter().chain(renamed.come.iter().map(|(path, _)| path)) {
            self.note(&[b"name", path.as_os_str().as_encoded_bytes()]);
        }
        renamed.apply(&mut self.names);
        if let Some((name, inode)) = &renamed.come
            && let Some(inode) = self.inodes.get_mut(inode)
        {
            inode.name = Arc::from(name.as_path());
            inode.links += 1;
            inode.changed = changed;
        }
        if renamed.folder.starts_with("/logs") {
            renamed.apply(&mut self.durable);
        } else {
            self.renamed.push(renamed);
        }
        self.sweep();
    }

    fn change(&mut self, number: u64, change: Change, lasts: bool) {
        match &change {
            Change::Write(at, bytes) => self.note(&[&number.to_le_bytes(), &at.to_le_bytes(), bytes]),
            Change::Length(length) => self.note(&[&number.to_le_bytes(), &length.to_le_bytes()]),
        }
        let changed = self.tick();
        let inode = self.inodes.get_mut(&number).unwrap();
        change.apply(&mut inode.data);
        inode.changed = changed;
        if lasts {
            change.apply(&mut inode.durable);
        } else {
            inode.unsynced.push(change);
        }
    }

    fn sync(&mut self, number: u64) {
        let inode = self.inodes.get_mut(&number).unwrap();
        if inode.is_folder {
            let folder = self.names.iter().find(|(_, named)| **named == number).map(|(path, _)| path.clone());
            let renamed = std::mem::take(&mut self.renamed);
            for each in renamed {
                if Some(&each.folder) == folder.as_ref() {
                    each.apply(&mut self.durable);
                } else {
                    self.renamed.push(each);
                }
            }
        } else {
            for change in std::mem::take(&mut inode.unsynced) {
                change.apply(&mut inode.durable);
            }
        }
        self.sweep();
    }

    /// A sync failed: some of what was not synced is never written, and can still be read until the machine is gone.
    fn spoil(&mut self, number: u64) {
        let (chance, inode) = (&mut self.chance, self.inodes.get_mut(&number).unwrap());
        inode.unsynced.retain(|_| chance.one_in(2));
    }

    /// Another process appends to a log, and makes it where it is not there.
    pub fn append(&mut self, path: &str, bytes: &[u8]) {
        let number = self.made(path);
        let at = self.inodes[&number].data.len();
        self.change(number, Change::Write(at, bytes.to_vec()), true);
    }

    fn made(&mut self, path: &str) -> u64 {
        let path = Path::new(path);
        match self.names.get(path) {
            Some(number) => *number,
            None => {
                let number = self.new_inode(false);
                self.rename_in(None, Some((path, number)));
                number
            }
        }
    }

    /// Another process renames a log.
    pub fn rename_log(&mut self, from: &str, to: &str) {
        let (from, to) = (Path::new(from), Path::new(to));
        if let Some(number) = self.names.get(from).copied() {
            self.rename_in(Some(from), Some((to, number)));
        }
    }

    /// Another process deletes a log.
    pub fn remove_log(&mut self, path: &str) {
        if self.names.contains_key(Path::new(path)) {
            self.rename_in(Some(Path::new(path)), None);
        }
    }

    /// Another process copies a log and cuts it to nothing.
    pub fn copy_truncate(&mut self, path: &str, copy: &str) {
        let Some(number) = self.names.get(Path::new(path)).copied() else { return };
        let data = self.inodes[&number].data.clone();
        self.append(copy, &data);
        self.change(number, Change::Length(0), true);
    }

    /// Another process cuts a log to nothing.
    pub fn cut_log(&mut self, path: &str) {
        if let Some(number) = self.names.get(Path::new(path)).copied() {
            self.change(number, Change::Length(0), true);
        }
    }

    /// Inode and content of a log.
    pub fn log(&self, path: &str) -> Option<(u64, &[u8])> {
        let number = self.names.get(Path::new(path))?;
        Some((*number, &self.inodes[number].data))
    }

    fn look(&self, number: u64) -> Look {
        let inode = &self.inodes[&number];
        let changed = i64::try_from(inode.changed).unwrap();
        Look {
            device: 1,
            inode: number,
            size: inode.data.len() as u64,
            is_deleted: inode.links == 0,
            changed: (0, changed),
        }
    }
}

impl Renamed {
    fn apply(&self, names: &mut BTreeMap<PathBuf, u64>) {
        if let Some(gone) = &self.gone {
            names.remove(gone);
        }
        if let Some((path, inode)) = &self.come {
            names.insert(path.clone(), *inode);
        }
    }
}

/// An open file.
pub enum File {
    /// Of this machine.
    Real(std::fs::File),
    /// Of the simulated one.
    Simulated(Handle),
}

/// A simulated file, open.
pub struct Handle {
    inode: u64,
    life: u64,
    appends: bool,
    at: AtomicU64,
}

impl Handle {
    fn name(&self) -> Arc<Path> {
        with(|world| Arc::clone(&world.inodes[&self.inode].name))
    }
}

impl Drop for Handle {
    fn drop(&mut self) {
        WORLD.with_borrow_mut(|world| {
            let Some(world) = world.as_mut().filter(|world| world.life == self.life && !world.is_dead) else { return };
            if let Some(inode) = world.inodes.get_mut(&self.inode) {
                inode.opens -= 1;
            }
            world.sweep();
        });
    }
}

impl From<std::fs::File> for File {
    fn from(file: std::fs::File) -> Self {
        Self::Real(file)
    }
}

/// How a file is opened.
#[derive(Clone, Default)]
pub struct OpenOptions {
    read: bool,
    write: bool,
    append: bool,
    create: bool,
    truncate: bool,
}

impl OpenOptions {
    /// Nothing is allowed.
    pub fn new() -> Self {
        Self::default()
    }

    /// Reading.
    pub fn read(&mut self, read: bool) -> &mut Self {
        self.read = read;
        self
    }

    /// Writing.
    pub fn write(&mut self, write: bool) -> &mut Self {
        self.write = write;
        self
    }

    /// Writing at the end.
    pub fn append(&mut self, append: bool) -> &mut Self {
        self.append = append;
        self
    }

    /// It is made where it is not there.
    pub fn create(&mut self, create: bool) -> &mut Self {
        self.create = create;
        self
    }

    /// It is cut to nothing.
    pub fn truncate(&mut self, truncate: bool) -> &mut Self {
        self.truncate = truncate;
        self
    }

    /// Opens it.
    pub fn open(&self, path: impl AsRef<Path>) -> io::Result<File> {
        let path = path.as_ref();
        if !is_simulated() {
            let mut options = std::fs::OpenOptions::new();
            options.read(self.read).write(self.write).append(self.append).create(self.create).truncate(self.truncate);
            return options.open(path).map(File::Real);
        }
        let is_there = with(|world| world.names.contains_key(path));
        let how = [self.read, self.write, self.append, self.create, self.truncate].map(u8::from);
        call(if !is_there && self.create { "create" } else { "open" }, path, &[&how])?;
        with(|world| {
            let number = match world.names.get(path).copied() {
                Some(number) => number,
                None if self.create => {
                    let number = world.new_inode(false);
                    world.rename_in(None, Some((path, number)));
                    number
                }
                None => return Err(ErrorKind::NotFound.into()),
            };
            if self.truncate {
                world.change(number, Change::Length(0), false);
            }
            world.inodes.get_mut(&number).unwrap().opens += 1;
            let at = AtomicU64::new(0);
            Ok(File::Simulated(Handle { inode: number, life: world.life, appends: self.append, at }))
        })
    }
}

impl File {
    /// For reading.
    pub fn open(path: impl AsRef<Path>) -> io::Result<Self> {
        OpenOptions::new().read(true).open(path)
    }

    /// For writing, empty.
    pub fn create(path: impl AsRef<Path>) -> io::Result<Self> {
        OpenOptions::new().write(true).create(true).truncate(true).open(path)
    }

    /// How it is to be opened.
    pub fn options() -> OpenOptions {
        OpenOptions::new()
    }

    /// Cuts or extends it.
    pub fn set_len(&self, length: u64) -> io::Result<()> {
        match self {
            Self::Real(file) => file.set_len(length),
            Self::Simulated(handle) => {
                call("set_len", &handle.name(), &[&length.to_le_bytes()])?;
                let length = usize::try_from(length).unwrap();
                with(|world| world.change(handle.inode, Change::Length(length), false));
                Ok(())
            }
        }
    }

    /// Content and size last.
    pub fn sync_data(&self) -> io::Result<()> {
        match self {
            Self::Real(file) => file.sync_data(),
            Self::Simulated(handle) => {
                call("sync", &handle.name(), &[]).inspect_err(|_| with(|world| world.spoil(handle.inode)))?;
                with(|world| world.sync(handle.inode));
                Ok(())
            }
        }
    }

    /// Everything of it lasts.
    pub fn sync_all(&self) -> io::Result<()> {
        match self {
            Self::Real(file) => file.sync_all(),
            Self::Simulated(_) => self.sync_data(),
        }
    }

    /// Keeps other processes out. There are none.
    pub fn try_lock(&self) -> Result<(), TryLockError> {
        match self {
            Self::Real(file) => file.try_lock(),
            Self::Simulated(_) => Ok(()),
        }
    }

    fn read_at(&self, bytes: &mut [u8], offset: u64) -> io::Result<usize> {
        match self {
            Self::Real(file) => file.read_at(bytes, offset),
            Self::Simulated(handle) => {
                let is_short = call("read", &handle.name(), &[&offset.to_le_bytes(), &bytes.len().to_le_bytes()])?;
                with(|world| {
                    let data = &world.inodes[&handle.inode].data;
                    let rest = data.get(usize::try_from(offset).unwrap()..).unwrap_or_default();
                    let most = rest.len().min(bytes.len());
                    let length = if is_short { most.div_ceil(2) } else { most };
                    bytes[..length].copy_from_slice(&rest[..length]);
                    world.read_bytes += length as u64;
                    world.note(&[&bytes[..length]]);
                    Ok(length)
                })
            }
        }
    }
}

impl Read for &File {
    fn read(&mut self, bytes: &mut [u8]) -> io::Result<usize> {
        match self {
            File::Real(file) => (&*file).read(bytes),
            File::Simulated(handle) => {
                let read = self.read_at(bytes, handle.at.load(Ordering::Relaxed))?;
                handle.at.fetch_add(read as u64, Ordering::Relaxed);
                Ok(read)
            }
        }
    }
}

impl Read for File {
    fn read(&mut self, bytes: &mut [u8]) -> io::Result<usize> {
        (&*self).read(bytes)
    }
}

impl Write for &File {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        match self {
            File::Real(file) => (&*file).write(bytes),
            File::Simulated(handle) => {
                let fate = fate("write", &handle.name(), &[bytes])?;
                let length = with(|world| {
                    let length = match fate {
                        Fate::Whole => bytes.len(),
                        Fate::Short => bytes.len().div_ceil(2),
                        Fate::Killed(_) => usize::try_from(world.chance.below(bytes.len() as u64 + 1)).unwrap(),
                    };
                    let end = world.inodes[&handle.inode].data.len();
                    let at =
                        if handle.appends { end } else { usize::try_from(handle.at.load(Ordering::Relaxed)).unwrap() };
                    if length > 0 {
                        world.change(handle.inode, Change::Write(at, bytes[..length].to_vec()), false);
                    }
                    handle.at.store((at + length) as u64, Ordering::Relaxed);
                    length
                });
                match fate {
                    Fate::Killed(is_crash) => resume_unwind(Box::new(Killed(is_crash))),
                    Fate::Whole | Fate::Short => Ok(length),
                }
            }
        }
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

impl Write for File {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        (&*self).write(bytes)
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

/// See `real::now`.
pub fn now() -> Instant {
    WORLD.with_borrow(|world| world.as_ref().map_or_else(Instant::now, |world| world.base + world.time))
}

/// See `real::wall`.
pub fn wall() -> Duration {
    let day = Duration::from_secs(1_790_000_000);
    let real = || SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    WORLD.with_borrow(|world| world.as_ref().map_or_else(real, |world| day + world.time))
}

/// See `std::process::id`.
pub fn process_id() -> u32 {
    WORLD.with_borrow(|world| world.as_ref().map_or_else(std::process::id, |world| 100 + world.life as u32))
}

/// See `std::thread::sleep`.
pub fn sleep(time: Duration) {
    if !is_simulated() {
        return std::thread::sleep(time);
    }
    // A kill may come while it sleeps.
    let _ = call("sleep", Path::new(""), &[]);
    with(|world| world.pass(time));
}

/// One step (`send` or `receive`) of a request to a server that is `given` these bytes. A kill may come before and
/// after the server has processed the request, and the connection may break off.
pub fn over_network(what: &'static str, given: &[&[u8]]) -> io::Result<()> {
    call(what, Path::new("/network"), given).map(drop)
}

/// Folders that were there before the collector, and last. See `std::fs::create_dir_all`.
pub fn create_dir_all(folder: &Path) -> io::Result<()> {
    if !is_simulated() {
        return std::fs::create_dir_all(folder);
    }
    with(|world| {
        for each in folder.ancestors() {
            if !world.names.contains_key(each) {
                let number = world.new_inode(true);
                let inode = world.inodes.get_mut(&number).unwrap();
                (inode.links, inode.name) = (1, Arc::from(each));
                world.names.insert(each.to_owned(), number);
                world.durable.insert(each.to_owned(), number);
            }
        }
    });
    Ok(())
}

/// See `real::create_dir`.
pub fn create_dir(folder: &Path) -> io::Result<()> {
    if !is_simulated() {
        return DirBuilder::new().mode(0o700).create(folder);
    }
    with(|world| {
        if world.names.contains_key(folder) {
            return Err(ErrorKind::AlreadyExists.into());
        }
        let number = world.new_inode(true);
        world.rename_in(None, Some((folder, number)));
        Ok(())
    })
}

/// See `std::fs::remove_dir`.
pub fn remove_dir(folder: &Path) -> io::Result<()> {
    if !is_simulated() {
        return std::fs::remove_dir(folder);
    }
    with(|world| world.rename_in(Some(folder), None));
    Ok(())
}

/// See `std::fs::read`.
pub fn read(path: impl AsRef<Path>) -> io::Result<Vec<u8>> {
    if !is_simulated() {
        return std::fs::read(path);
    }
    let mut bytes = Vec::new();
    File::open(path)?.read_to_end(&mut bytes)?;
    Ok(bytes)
}

/// See `std::fs::write`.
pub fn write(path: impl AsRef<Path>, bytes: impl AsRef<[u8]>) -> io::Result<()> {
    if is_simulated() { File::create(path)?.write_all(bytes.as_ref()) } else { std::fs::write(path, bytes) }
}

/// See `std::fs::remove_file`.
pub fn remove_file(path: impl AsRef<Path>) -> io::Result<()> {
    let path = path.as_ref();
    if !is_simulated() {
        return std::fs::remove_file(path);
    }
    call("remove", path, &[])?;
    with(|world| {
        if !world.names.contains_key(path) {
            return Err(ErrorKind::NotFound.into());
        }
        world.rename_in(Some(path), None);
        Ok(())
    })
}

/// See `std::fs::rename`.
pub fn rename(from: impl AsRef<Path>, to: impl AsRef<Path>) -> io::Result<()> {
    let (from, to) = (from.as_ref(), to.as_ref());
    if !is_simulated() {
        return std::fs::rename(from, to);
    }
    call("rename", to, &[from.as_os_str().as_encoded_bytes()])?;
    with(|world| {
        let number = world.names.get(from).copied().ok_or(ErrorKind::NotFound)?;
        world.rename_in(Some(from), Some((to, number)));
        Ok(())
    })
}

/// See `real::look`.
pub fn look(path: &Path) -> io::Result<Look> {
    if !is_simulated() {
        return path.metadata().map(Look::from);
    }
    call("look", path, &[])?;
    with(|world| world.names.get(path).map(|number| world.look(*number)).ok_or_else(|| ErrorKind::NotFound.into()))
}

/// See `real::look_at`.
pub fn look_at(file: &File) -> io::Result<Look> {
    match file {
        File::Real(file) => file.metadata().map(Look::from),
        File::Simulated(handle) => {
            call("look", &handle.name(), &[])?;
            Ok(with(|world| world.look(handle.inode)))
        }
    }
}

/// See `real::list`.
pub fn list(folder: &Path) -> io::Result<Vec<PathBuf>> {
    if !is_simulated() {
        return std::fs::read_dir(folder)?.map(|entry| entry.map(|entry| entry.path())).collect();
    }
    call("list", folder, &[])?;
    Ok(with(|world| world.names.keys().filter(|path| path.parent() == Some(folder)).cloned().collect()))
}

/// What a file of the simulated disk holds: no call of the collector's.
pub fn content(path: &Path) -> Vec<u8> {
    with(|world| world.inodes[&world.names[path]].data.clone())
}

/// Files below a path of the simulated disk, or the path itself; `None` on the real one.
pub fn files_below(path: &Path) -> Option<Vec<PathBuf>> {
    is_simulated().then(|| {
        with(|world| {
            let below =
                world.names.iter().filter(|(name, number)| name.starts_with(path) && !world.inodes[number].is_folder);
            below.map(|(name, _)| name.clone()).collect()
        })
    })
}

/// See `real::exists`.
pub fn exists(path: &Path) -> bool {
    if is_simulated() { with(|world| world.names.contains_key(path)) } else { path.symlink_metadata().is_ok() }
}

/// See `real::is_dir`.
pub fn is_dir(path: &Path) -> bool {
    if !is_simulated() {
        return path.is_dir();
    }
    with(|world| world.names.get(path).is_some_and(|number| world.inodes[number].is_folder))
}

/// See `real::is_symlink`.
pub fn is_symlink(path: &Path) -> bool {
    !is_simulated() && path.is_symlink()
}

/// See `real::free_bytes`.
pub fn free_bytes(folder: &Path) -> Option<u64> {
    if !is_simulated() {
        return rustix::fs::statvfs(folder).ok().map(|disk| disk.f_bavail.saturating_mul(disk.f_frsize));
    }
    Some(with(|world| if world.time < world.full_until { 0 } else { 1 << 40 }))
}

/// See `real::read_exact_at`.
pub fn read_exact_at(file: &File, bytes: &mut [u8], offset: u64) -> io::Result<()> {
    let mut done = 0;
    while done < bytes.len() {
        match file.read_at(&mut bytes[done..], offset + done as u64)? {
            0 => return Err(ErrorKind::UnexpectedEof.into()),
            read => done += read,
        }
    }
    Ok(())
}

/// See `quiclens_tail::append_at`.
pub fn append_at(file: &File, offset: u64, buffer: &mut Vec<u8>, most: usize) -> io::Result<usize> {
    match file {
        File::Real(file) => quiclens_tail::append_at(file, offset, buffer, most),
        File::Simulated(_) => {
            let mut bytes = vec![0; most.min(1 << 20)];
            let read = file.read_at(&mut bytes, offset)?;
            buffer.extend_from_slice(&bytes[..read]);
            Ok(read)
        }
    }
}

/// See `quiclens_tail::open_regular`.
pub fn open_regular(path: &Path) -> Result<File, SourceFault> {
    if is_simulated() {
        with(|world| {
            if let Some(deed) = world.before_open.take() {
                deed(world);
            }
        });
        return Ok(File::open(path)?);
    }
    quiclens_tail::open_regular(path).map(File::Real)
}

/// See `real::whole`; of a simulated file a copy.
pub fn whole(file: &Arc<File>) -> io::Result<Arc<std::fs::File>> {
    let copy = match &**file {
        File::Real(file) => file.try_clone()?,
        File::Simulated(handle) => {
            call("copy", &handle.name(), &[])?;
            let mut copy = tempfile::tempfile()?;
            copy.write_all(&with(|world| world.inodes[&handle.inode].data.clone()))?;
            copy
        }
    };
    Ok(Arc::new(copy))
}
