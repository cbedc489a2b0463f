//! One file that is followed: what of it was read, and what its records make.

use crate::error::Error;
use crate::machine::{self, Look};
use crate::records::{Records, SavedRecords, Turn, reject_of_file};
use crate::requests::{LineReader, Lines};
use crate::run::input::FileInput;
use crate::run::journal::{Entry, FileHead, FileId, HEAD, KnownFile, bytes_of};
use crate::run::replay::{Replay, ReplayProgress};
use quiclens_core::catalogue::Catalogue;
use quiclens_core::limits::PRELUDE_BYTES;
use quiclens_core::memory::TraceMemory;
use quiclens_core::reader::records::{RECORD_LIMIT, Window};
use quiclens_core::reader::skip::Skip;
use quiclens_core::reader::sniff::{Framing, Sniffed, sniff};
use quiclens_core::tables::Tables;
use quiclens_core::trace::{Reject, TraceReader};
use quiclens_tail::SourceFault;
use serde::{Deserialize, Serialize};
use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::{Duration, Instant};
use xxhash_rust::xxh3::xxh3_64;

/// Bytes of a file that tell its format.
const SNIFFED: usize = 64 << 10;
/// Bytes of a file that tell it from another one with the same inode.
pub const PREFIX: usize = 4096;
/// Bytes of one file that are read before another's turn.
const TURN: usize = 1 << 20;
/// Turns in which the longest record is read.
pub const TURNS_OF_A_RECORD: usize = RECORD_LIMIT / TURN + 1;
/// Turns in which all records are read that decide what a trace is.
pub const TURNS_OF_A_PRELUDE: usize = (PRELUDE_BYTES + RECORD_LIMIT) / TURN + 1;
const CHUNK: usize = 256 << 10;
/// A file that has not grown for so long is packed.
const REST: Duration = Duration::from_secs(1);
/// Memory of a trace beside its connections, about: its reader, its header, what tells it from others.
const OPEN: usize = 10 << 10;
/// Longest time that an incomplete record of a growing file waits for its end.
const HALF: Duration = Duration::from_secs(2);

/// What a file is being read as.
enum Form<'c> {
    /// Too little of it is there to tell.
    Unknown,
    /// A sequence or rows: read as it grows.
    Records(Box<Records<'c>>),
    /// Such records of which none came for a while, packed.
    Resting(Packed),
    /// An access log.
    Lines(Lines),
    /// One document, or compressed: read when it is over.
    Whole,
    /// All of it was read and shipped, or is on its way.
    Over,
}

/// Records packed.
struct Packed {
    bytes: Box<[u8]>,
    /// What they held before, and will again.
    held: TraceMemory,
    is_undecided: bool,
}

/// A file's reading put away, but for its connections.
#[derive(Debug, Serialize, Deserialize)]
enum SavedReading {
    Records(Box<SavedRecords>),
    Lines(Lines),
}

/// A file that is followed.
pub struct Followed<'c> {
    /// Its identity.
    pub id: FileId,
    /// Where it was seen last.
    pub path: PathBuf,
    input: FileInput,
    window: Window,
    /// Bytes behind the window that were read and let go, of a record that is not whole or of a trace that is not
    /// decided: they are read again with what follows.
    let_go: u64,
    form: Form<'c>,
    prefix: (u32, u64),
    size: u64,
    /// When it was read last, by the clock that measures silences of connections.
    heard_s: u64,
    /// Its size when it was over.
    over_at: u64,
    /// Its ctime when it was looked at last, and that of when it was over.
    changed: (i64, i64),
    over_changed: (i64, i64),
    /// When it grew last.
    pub grew: Instant,
    /// Something of it was taken since its state was put away.
    pub is_dirty: bool,
    /// It has no name any more.
    pub is_deleted: bool,
    /// No notifications of it come: its name was taken from it, or is a link to it.
    pub is_adrift: bool,
    /// Of an access log.
    reader: Option<Arc<LineReader>>,
    /// Events that are being read again.
    replay: Option<Box<Replay<'c>>>,
    /// The journal's entry of it, or of an earlier file with its identity, is removed in the cycle that saves its own
    /// state, not before: a start in between still needs the entry.
    pub replaces: bool,
    /// The last turn ended before all was taken that it had read.
    has_more: bool,
    /// Retention has decided what only the end of the file decides.
    is_settled: bool,
    /// It is read only when it is over, and its content is cut: its writer may only be silent.
    pub is_cut: bool,
    /// Bytes read and records taken that no metric has counted yet.
    pub uncounted: (u64, u64),
    /// Records that were taken since it was opened; and as many of them as will be taken once more.
    taken: u64,
    again: u64,
}

/// What is to be done with a file after a turn.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum After {
    /// Nothing more is there.
    Idle,
    /// More is there.
    More,
}

/// What has become of a file that is over.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Finished {
    /// Rows are many, and more of its connections are to be ended.
    Some,
    /// Events are being read again: more of them are there.
    Again,
    /// All of its records are taken.
    All,
    /// The caller must read it as a whole.
    Unread,
}

/// What became of the silent connections of a file that goes on.
#[derive(Clone, Copy, Debug, Default)]
pub struct Quiet {
    /// Some have ended.
    pub has_ended: bool,
    /// Events of others must be read again before they can end.
    pub owes: bool,
}

/// How the reading of a file begins.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Begun {
    /// Where the journal says.
    TakenUp,
    /// At its start, though the journal speaks of it.
    Anew,
    /// At its start: the journal speaks of no such file.
    New,
}

/// The identity of an open file.
pub fn identity(look: &Look) -> FileId {
    FileId { device: look.device, inode: look.inode }
}

impl<'c> Followed<'c> {
    /// Opens a file. `known` is what the journal says of a file with its identity.
    pub fn open(
        catalogue: &'c Catalogue,
        path: &Path,
        reader: Option<Arc<LineReader>>,
        known: Option<&KnownFile>,
        now: Instant,
    ) -> Result<(Self, Begun), SourceFault> {
        let input = FileInput(Arc::new(machine::open_regular(path)?));
        let look = input.look()?;
        let mut followed = Self::of(input, &look, path, reader, now);
        let begun = match known {
            Some(known) if followed.is_same(&known.head)? => match known.is_sound && followed.take_up(catalogue, known)
            {
                true => Begun::TakenUp,
                false => Begun::Anew,
            },
            _ => Begun::New,
        };
        followed.replaces = begun == Begun::Anew;
        Ok((followed, begun))
    }

    /// The same open file, as it was looked at last, to be read from its start; its name is not opened again.
    pub fn anew(&self, now: Instant) -> Self {
        let FileId { device, inode } = self.id;
        let look = Look { device, inode, size: self.size, is_deleted: self.is_deleted, changed: self.changed };
        let mut anew = Self::of(FileInput(Arc::clone(&self.input.0)), &look, &self.path, self.reader.clone(), now);
        anew.is_adrift = self.is_adrift;
        anew
    }

    fn of(input: FileInput, look: &Look, path: &Path, reader: Option<Arc<LineReader>>, now: Instant) -> Self {
        Self {
            id: identity(look),
            path: path.to_owned(),
            input,
            window: Window::default(),
            let_go: 0,
            form: Form::Unknown,
            prefix: (0, xxh3_64(&[])),
            size: look.size,
            heard_s: 0,
            over_at: 0,
            changed: look.changed,
            over_changed: look.changed,
            grew: now,
            is_dirty: false,
            is_deleted: look.is_deleted,
            is_adrift: machine::is_symlink(path),
            reader,
            replay: None,
            replaces: false,
            has_more: false,
            is_settled: false,
            is_cut: false,
            uncounted: (0, 0),
            taken: 0,
            again: 0,
        }
    }

    /// The file that the journal speaks of, grown since or not.
    fn is_same(&self, head: &FileHead) -> io::Result<bool> {
        Ok(self.size >= head.offset && self.input.prefix(head.prefix.0)? == head.prefix)
    }

    fn take_up(&mut self, catalogue: &'c Catalogue, known: &KnownFile) -> bool {
        let head = &known.head;
        if head.state.is_empty() {
            // All was shipped. If it has grown since, it is read again from its start.
            if self.size == head.offset {
                (self.form, self.over_at, self.prefix) = (Form::Over, head.offset, head.prefix);
            }
            return self.is_over();
        }
        let Some(form) = Form::restore(catalogue, known) else { return false };
        self.form = form;
        self.prefix = head.prefix;
        self.window = Window::from(head.offset);
        // All files are taken up at once, and most of them are silent.
        self.pack();
        true
    }

    /// Looks at the file again. True when it was truncated, and must be read from its start. A file that was truncated
    /// and is longer than before by now is recognized by its first bytes.
    pub fn look(&mut self, now: Instant) -> io::Result<bool> {
        let look = self.input.look()?;
        let is_as_before = (look.size, look.changed) == (self.size, self.changed);
        // With the same size and another ctime, it was renamed, or truncated and written again to the same length. No
        // field changes before the first bytes were read: after an error the next look must find the same difference.
        let is_other = look.size < self.size || !is_as_before && self.input.prefix(self.prefix.0)? != self.prefix;
        (self.is_deleted, self.changed) = (look.is_deleted, look.changed);
        if look.size != self.size {
            (self.size, self.grew) = (look.size, now);
            (self.is_settled, self.is_cut) = (false, false);
        }
        Ok(is_other)
    }

    /// Something may be there that was not read, or not taken.
    pub fn is_behind(&self) -> bool {
        self.has_more || self.bytes_behind() > 0
    }

    /// Bytes that are there and were not read; what is read only when it is over does not count.
    pub fn bytes_behind(&self) -> u64 {
        self.bytes_before(self.size)
    }

    /// The same of the file as it is now; what is cut short meanwhile is left for [`Followed::look`] to find.
    pub fn bytes_behind_now(&self) -> u64 {
        self.input.look().map_or(0, |now| self.bytes_before(now.size))
    }

    fn bytes_before(&self, size: u64) -> u64 {
        match self.form {
            Form::Over | Form::Whole => 0,
            Form::Unknown | Form::Records(_) | Form::Resting(_) | Form::Lines(_) => {
                size.saturating_sub(self.window.offset() + self.window.rest().len() as u64 + self.let_go)
            }
        }
    }

    /// See [`TraceReader::has_made_room`].
    pub fn has_made_room(&self) -> bool {
        matches!(&self.form, Form::Records(records) if records.has_made_room())
    }

    /// Events of it are to be read again.
    pub fn owes(&mut self) -> bool {
        match &mut self.form {
            Form::Records(records) => records.trace().is_some_and(|trace| !trace.owed().is_empty()),
            _ => false,
        }
    }

    /// Events of it are being read again.
    pub fn is_replaying(&self) -> bool {
        self.replay.is_some()
    }

    /// Bytes that are to be read again.
    pub fn bytes_to_replay(&self) -> u64 {
        self.replay.as_ref().map_or(0, |replay| replay.bytes_behind())
    }

    /// The reading as a whole was broken off: the file is read in a later turn, or at the next start.
    pub fn leave(&mut self) {
        self.form = Form::Whole;
        self.is_dirty = false;
    }

    /// Connections whose state is held; a trace that rests has one.
    pub fn open_connections(&self) -> usize {
        match &self.form {
            Form::Records(records) => records.open_connections(),
            Form::Resting(_) => 1,
            Form::Unknown | Form::Lines(_) | Form::Whole | Form::Over => 0,
        }
    }

    /// What its trace holds, packed or not.
    pub fn memory(&self) -> TraceMemory {
        match &self.form {
            Form::Records(records) => {
                let replay = self.replay.as_ref().map(|replay| replay.memory()).unwrap_or_default();
                held_by(records) + states(self.window.rest().len()) + replay
            }
            // First records are packed as they were.
            Form::Resting(Packed { bytes, held: TraceMemory { prelude, .. }, .. }) => TraceMemory {
                states: bytes.len().saturating_sub(*prelude) + self.window.rest().len(),
                prelude: *prelude,
                held: 0,
            },
            Form::Unknown | Form::Lines(_) | Form::Whole | Form::Over => states(self.window.rest().len()),
        }
    }

    /// What its trace will hold when it is read.
    pub fn memory_awake(&self) -> TraceMemory {
        match &self.form {
            Form::Resting(packed) => packed.held + states(self.window.rest().len()),
            _ => self.memory(),
        }
    }

    /// Reads what is there, up to a turn's worth, and then frees the memory that the rest does not need. `now_s` is the
    /// clock that measures silences of connections.
    pub fn read(&mut self, catalogue: &'c Catalogue, now_s: u64, tables: &mut Tables) -> io::Result<After> {
        self.heard_s = now_s;
        self.wake(catalogue);
        if let Form::Records(records) = &mut self.form {
            records.at(now_s);
        }
        let after = self.read_on(catalogue, tables);
        self.has_more = matches!(after, Ok(After::More));
        self.window.shrink();
        if let Form::Records(records) = &mut self.form {
            records.release();
        }
        // The records are taken by now, also when this fails.
        self.learn_more_of_prefix()?;
        after
    }

    fn read_on(&mut self, catalogue: &'c Catalogue, tables: &mut Tables) -> io::Result<After> {
        let mut left = TURN;
        loop {
            while self.next(tables) == Turn::Taken {
                self.is_dirty = true;
                self.count_record();
                if !tables.is_small() {
                    return Ok(After::More);
                }
            }
            if matches!(self.form, Form::Whole | Form::Over) {
                return Ok(After::Idle);
            }
            if left == 0 {
                return Ok(After::More);
            }
            let offset = self.window.offset() + self.window.rest().len() as u64;
            // One byte more than is known to be there, to see that there is none.
            let known = usize::try_from(self.size.saturating_sub(offset)).unwrap_or(CHUNK).saturating_add(1);
            let got = self.input.read(offset, self.window.space(), CHUNK.min(left).min(known))?;
            left -= got.min(left);
            self.uncounted.0 += got as u64;
            self.let_go = self.let_go.saturating_sub(got as u64);
            if got == 0 {
                return Ok(After::Idle);
            }
            self.learn_prefix();
            self.learn_form(catalogue, false);
        }
    }

    fn count_record(&mut self) {
        if self.again > 0 {
            self.again -= 1;
        } else {
            self.taken += 1;
            self.uncounted.1 += 1;
        }
    }

    fn next(&mut self, tables: &mut Tables) -> Turn {
        match &mut self.form {
            Form::Records(records) => records.next(&mut self.window, tables),
            Form::Lines(lines) => match &self.reader {
                Some(reader) => lines.next(reader, &mut self.window, tables),
                None => Turn::Over,
            },
            Form::Unknown | Form::Resting(_) | Form::Whole | Form::Over => Turn::Over,
        }
    }

    /// The first bytes become part of the identity as they come.
    fn learn_prefix(&mut self) {
        let head = &self.window.rest()[..self.window.rest().len().min(PREFIX)];
        if (self.prefix.0 as usize) < head.len() && self.window.offset() == 0 {
            self.prefix = (u32::try_from(head.len()).unwrap_or(0), xxh3_64(head));
        }
    }

    /// A header that was taken before any record followed identifies the file badly: the bytes after it belong to the
    /// identity too, and are read once more as long as the file is short.
    fn learn_more_of_prefix(&mut self) -> io::Result<()> {
        let read = self.window.offset() + self.window.rest().len() as u64;
        let length = u32::try_from(read.min(PREFIX as u64)).unwrap_or(0);
        if self.window.offset() > 0 && self.prefix.0 < length && self.input.prefix(self.prefix.0)? == self.prefix {
            self.prefix = self.input.prefix(length)?;
        }
        Ok(())
    }

    fn learn_form(&mut self, catalogue: &'c Catalogue, whole: bool) {
        if !matches!(self.form, Form::Unknown) {
            return;
        }
        let rest = self.window.rest();
        let is_compressed = rest.starts_with(&[0x1f, 0x8b]) || rest.starts_with(&[0x28, 0xb5, 0x2f, 0xfd]);
        let is_all = whole || rest.len() >= RECORD_LIMIT;
        self.form = match sniff(rest, is_all) {
            _ if is_compressed => Form::Whole,
            // Four bytes tell a compressed log from lines.
            _ if self.reader.is_some() && !whole && rest.len() < 4 => Form::Unknown,
            _ if self.reader.is_some() => Form::Lines(Lines::new(&self.path.to_string_lossy())),
            Sniffed::Known(Framing::Contained) => Form::Whole,
            Sniffed::Known(framing) => {
                let mut records = Records::new(catalogue, framing, &self.path.to_string_lossy());
                records.at(self.heard_s);
                Form::Records(Box::new(records))
            }
            Sniffed::Unknown if is_all || rest.len() >= SNIFFED => Form::Whole,
            Sniffed::More if is_all => Form::Whole,
            Sniffed::Unknown | Sniffed::More => Form::Unknown,
        };
        if matches!(self.form, Form::Whole) {
            self.window = Window::default();
        }
    }

    /// Ends connections that are over while the file goes on.
    pub fn end_quiet(&mut self, now: Instant, heard_s: u64, closed_s: u64, idle_s: u64, tables: &mut Tables) -> Quiet {
        let is_half = !self.window.rest().is_empty() || self.let_go > 0;
        let is_growing = now.duration_since(self.grew) < HALF;
        // An incomplete record, and bytes that are not read yet, may belong to any of the connections.
        if !matches!(self.form, Form::Records(_)) || is_half && !is_growing || self.bytes_behind_now() > 0 {
            return Quiet::default();
        }
        let Form::Records(records) = &mut self.form else { return Quiet::default() };
        let more_s = if is_half { HALF.as_secs() } else { 0 };
        records.at(heard_s);
        let has_ended = records.end_quiet(closed_s.saturating_add(more_s), idle_s.saturating_add(more_s), tables);
        self.is_dirty |= has_ended;
        Quiet { has_ended, owes: self.owes() }
    }

    /// Rows of its connections as they stand now; see [`TraceReader::show`].
    pub fn show(&mut self, tables: &mut Tables) {
        if let Form::Records(records) = &mut self.form {
            records.show(tables);
        }
    }

    /// Reads events again that were decided to be kept, up to a turn's worth. True when more of them are there.
    pub fn replay(&mut self, tables: &mut Tables) -> io::Result<bool> {
        let Form::Records(records) = &mut self.form else { return Ok(false) };
        let replay = match &mut self.replay {
            Some(replay) => replay,
            None => {
                let owed = records.trace().map(TraceReader::owed).unwrap_or_default();
                if owed.is_empty() {
                    return Ok(false);
                }
                self.replay.insert(Box::new(Replay::new(records, owed, self.window.offset())))
            }
        };
        let Some(trace) = records.trace() else { return Ok(false) };
        match replay.turn(&self.input, tables) {
            Ok(ReplayProgress::More) => return Ok(true),
            Ok(ReplayProgress::Done) => trace.repaid(&replay.owed()),
            Ok(ReplayProgress::Gone) => trace.lose(),
            Err(error) => {
                // It begins anew in a later turn.
                self.replay = None;
                return Err(error);
            }
        }
        self.replay = None;
        self.is_dirty = true;
        Ok(true)
    }

    /// Packs what was read, once all of it was put away and the file has been silent for a while.
    pub fn rest(&mut self, now: Instant) {
        if !self.is_behind() && now.duration_since(self.grew) >= REST {
            self.pack();
        }
    }

    /// Memory is short: packs what was read and put away, silent or not, and lets go of what was read of a record that is
    /// not taken yet.
    pub fn give_back(&mut self) {
        self.pack();
        if matches!(self.form, Form::Records(_) | Form::Resting(_) | Form::Lines(_)) {
            if !self.is_behind() {
                self.let_go += self.window.rest().len() as u64;
            }
            self.window = Window::from(self.window.offset());
        }
    }

    /// Many traces are not decided yet: what was read of this one is let go, where no more of it is there. With what
    /// comes, the file is read again from its start. Nothing was made of it but a reject of its header, which will be
    /// the same. It was put away before: what the journal knows of it stays true.
    pub fn let_prelude_go(&mut self) {
        let is_undecided = match &self.form {
            Form::Records(records) => records.is_undecided(),
            Form::Resting(packed) => packed.is_undecided,
            Form::Unknown | Form::Lines(_) | Form::Whole | Form::Over => false,
        };
        if is_undecided && !self.is_dirty && !self.is_behind() {
            self.let_go += self.window.offset() + self.window.rest().len() as u64;
            self.window = Window::default();
            self.form = Form::Unknown;
            self.again = self.taken;
        }
    }

    /// Records that decide what its trace is were let go: they are there to be read again, as if they were new.
    pub fn read_prelude_again(&mut self) {
        if matches!(self.form, Form::Unknown) {
            self.let_go = 0;
        }
    }

    /// Reads again what was let go. False where not all of it is there any more.
    fn take_back(&mut self) -> io::Result<bool> {
        while self.let_go > 0 {
            let offset = self.window.offset() + self.window.rest().len() as u64;
            let most = CHUNK.min(usize::try_from(self.let_go).unwrap_or(CHUNK));
            let got = self.input.read(offset, self.window.space(), most)?;
            if got == 0 {
                return Ok(false);
            }
            self.let_go = self.let_go.saturating_sub(got as u64);
        }
        Ok(true)
    }

    fn pack(&mut self) {
        if self.is_dirty || self.replay.is_some() {
            return;
        }
        if let Form::Records(records) = &mut self.form {
            let (held, is_undecided) = (held_by(records), records.is_undecided());
            if let Some(bytes) = records.pack() {
                self.form = Form::Resting(Packed { bytes, held, is_undecided });
            }
        }
    }

    /// Takes up what was packed; if that cannot be, the file is read again from its start.
    fn wake(&mut self, catalogue: &'c Catalogue) {
        let Form::Resting(packed) = &self.form else { return };
        self.form = match Records::unpack(catalogue, &packed.bytes, self.heard_s) {
            Some(records) => Form::Records(Box::new(records)),
            None => {
                (self.window, self.let_go) = (Window::default(), 0);
                Form::Unknown
            }
        };
    }

    /// Before the end: what it decides to keep is read again in turns. True while that lasts.
    pub fn settle(&mut self, catalogue: &'c Catalogue, tables: &Tables) -> bool {
        self.wake(catalogue);
        let Form::Records(records) = &mut self.form else { return false };
        let Some(trace) = records.trace() else { return false };
        if std::mem::replace(&mut self.is_settled, true) { !trace.owed().is_empty() } else { !trace.settle(tables) }
    }

    /// What was read of it is no longer there.
    pub fn lose(&mut self, catalogue: &'c Catalogue) {
        self.replay = None;
        self.wake(catalogue);
        if let Form::Records(records) = &mut self.form
            && let Some(trace) = records.trace()
        {
            trace.lose();
        }
    }

    /// It was cut short: of the record that was half read, the rest will not come.
    pub fn tear(&mut self, tables: &mut Tables) {
        while self.next(tables) == Turn::Taken {}
        let let_go = std::mem::take(&mut self.let_go);
        match &mut self.form {
            Form::Records(records) => records.tear(&mut self.window, let_go, tables),
            Form::Lines(lines) => lines.tear(&mut self.window, let_go, tables),
            // Records whose trace was not decided.
            Form::Unknown if let_go > 0 => {
                let length = let_go + self.window.rest().len() as u64;
                self.window = Window::default();
                let reject = Reject { reason: Some(Skip::SourceLost), length, ..Reject::default() };
                reject_of_file(tables, &self.path.to_string_lossy(), &reject);
            }
            Form::Unknown | Form::Resting(_) | Form::Whole | Form::Over => {}
        }
    }

    /// The file is over: ends its records, until the tables are large enough to be shipped.
    pub fn finish(&mut self, catalogue: &'c Catalogue, tables: &mut Tables) -> Finished {
        self.wake(catalogue);
        if !matches!(self.take_back(), Ok(true)) {
            self.tear(tables);
        }
        self.learn_form(catalogue, true);
        if !std::mem::replace(&mut self.window.end, true) {
            while self.next(tables) == Turn::Taken {
                self.count_record();
            }
            if let Form::Records(records) = &mut self.form
                && let Some(trace) = records.trace()
            {
                trace.settle_at_end(tables);
            }
        }
        if self.replay_at_end(tables) {
            // The last record, which has no separator, is taken: no state may say so before the file is over.
            self.is_dirty = false;
            return Finished::Again;
        }
        self.is_dirty = true;
        if let Form::Records(records) = &mut self.form
            && records.end_some(true, tables)
        {
            return Finished::Some;
        }
        self.over_at = self.size;
        self.over_changed = self.changed;
        match std::mem::replace(&mut self.form, Form::Over) {
            Form::Records(records) => {
                records.finish(true, tables);
                Finished::All
            }
            Form::Whole => Finished::Unread,
            Form::Unknown | Form::Resting(_) | Form::Lines(_) | Form::Over => Finished::All,
        }
    }

    /// A turn of reading again what only the very end decided, after the last record without its separator. True when
    /// there may be more of it.
    fn replay_at_end(&mut self, tables: &mut Tables) -> bool {
        match self.replay(tables) {
            Ok(is_busy) => is_busy,
            Err(_) => {
                if let Form::Records(records) = &mut self.form
                    && let Some(trace) = records.trace()
                {
                    trace.lose();
                }
                false
            }
        }
    }

    /// Nothing of it is to be shipped any more.
    pub fn is_over(&self) -> bool {
        matches!(self.form, Form::Over)
    }

    /// It is read when it is over, which is soon after it grew last.
    pub fn is_whole(&self) -> bool {
        matches!(self.form, Form::Whole)
    }

    /// Learns whether it ends too soon, where it is read when it is over: all of it, once as long as it does not grow.
    /// See [`quiclens_tail::is_cut`].
    pub fn look_for_its_end(&mut self, goes_on: impl FnMut() -> bool) -> io::Result<()> {
        if self.is_whole() && !self.is_deleted && !self.is_cut {
            self.is_cut = quiclens_tail::is_cut(self.file()?, goes_on);
        }
        Ok(())
    }

    /// The file itself: its name may be another's by now.
    pub fn file(&self) -> io::Result<Arc<std::fs::File>> {
        machine::whole(&self.input.0)
    }

    /// Length and hash of its first bytes, as far as they were seen.
    pub fn prefix(&self) -> (u32, u64) {
        if self.prefix.0 > 0 { self.prefix } else { self.input.prefix(PREFIX as u32).unwrap_or(self.prefix) }
    }

    /// Its ctime when it was over: what changed since may be another file.
    pub fn over_changed(&self) -> (i64, i64) {
        self.over_changed
    }

    /// Its size when it was over.
    pub fn over_at(&self) -> u64 {
        self.over_at
    }

    /// What reads its lines, of an access log.
    pub fn reader(&self) -> Option<Arc<LineReader>> {
        self.reader.clone()
    }

    /// It was over and has grown, as it was looked at last.
    pub fn has_come_back(&self) -> bool {
        self.is_over() && self.size != self.over_at
    }

    /// All of it was shipped and saved, so it can be closed. A file that has grown meanwhile stays open: it may be
    /// deleted before the next scan finds it.
    pub fn is_done(&self) -> bool {
        self.is_over() && !self.is_dirty && self.input.look().is_ok_and(|look| look.size == self.over_at)
    }

    /// Adds what a checkpoint says of it, once everything that was taken so far is acknowledged: its connections that
    /// changed, and its head.
    pub fn put_away(&mut self, entries: &mut Vec<Entry>) -> Result<(), Error> {
        self.is_dirty = false;
        let is_over = self.is_over();
        if matches!(self.form, Form::Unknown | Form::Resting(_) | Form::Whole) {
            return Ok(());
        }
        if std::mem::take(&mut self.replaces) || is_over {
            entries.push(Entry::gone(self.id));
        }
        if is_over && self.is_deleted {
            return Ok(());
        }
        let (offset, state) = match &mut self.form {
            Form::Records(records) => {
                for (part, state) in records.save_connections() {
                    let state = state.as_ref().map(bytes_of).transpose()?;
                    entries.push(Entry { file: self.id, part, state });
                }
                (self.window.offset(), bytes_of(&SavedReading::Records(Box::new(records.save())))?)
            }
            Form::Lines(lines) => (self.window.offset(), bytes_of(&SavedReading::Lines(lines.clone()))?),
            Form::Over => (self.over_at, Vec::new()),
            Form::Unknown | Form::Resting(_) | Form::Whole => return Ok(()),
        };
        let name = self.path.to_string_lossy().into_owned();
        let head = FileHead { name, prefix: self.prefix, offset, state };
        entries.push(Entry { file: self.id, part: HEAD, state: Some(bytes_of(&head)?) });
        Ok(())
    }
}

/// What a trace holds, with what each takes beside its connections.
fn held_by(records: &Records<'_>) -> TraceMemory {
    records.memory() + states(OPEN)
}

fn states(states: usize) -> TraceMemory {
    TraceMemory { states, ..TraceMemory::default() }
}

impl<'c> Form<'c> {
    /// Takes a file's reading up; `None` when this build cannot.
    fn restore(catalogue: &'c Catalogue, known: &KnownFile) -> Option<Self> {
        match postcard::from_bytes(&known.head.state).ok()? {
            SavedReading::Lines(lines) => Some(Self::Lines(lines)),
            SavedReading::Records(saved) => {
                let mut records = Records::restore(catalogue, *saved)?;
                for (number, state) in &known.parts {
                    records.restore_connection(*number, postcard::from_bytes(state).ok()?);
                }
                Some(Self::Records(Box::new(records)))
            }
        }
    }
}

/// The file that `known` speaks of is gone: its connections end as far as they were read. A state that cannot be taken
/// up is counted as lost.
pub fn give_up(catalogue: &Catalogue, known: &KnownFile, tables: &mut Tables) {
    let head = &known.head;
    let form = if known.is_sound { Form::restore(catalogue, known) } else { None };
    let is_told = match form {
        Some(Form::Records(mut records)) => {
            // Of a trace of which no record was read there is no row that says that its end is missing.
            let is_begun = records.trace().is_some_and(|trace| {
                trace.lose();
                !trace.is_empty()
            });
            records.finish(false, tables);
            is_begun
        }
        None if head.state.is_empty() && !head.name.is_empty() => true,
        // Lines may have come after those that were read; or the state of a trace was damaged.
        Some(_) | None => false,
    };
    if !is_told {
        let reject = Reject { reason: Some(Skip::SourceLost), offset: head.offset, ..Reject::default() };
        tables.reject(&format!("{:016x}", head.prefix.1), &reject, &head.name, "", None);
    }
}

#[cfg(test)]
#[expect(clippy::unwrap_used, reason = "tests")]
mod tests {
    use super::*;
    use quiclens_core::limits::{EVENT_ROWS, SUMMARY_ROWS};
    use quiclens_core::record::columns::{connections, rejects};
    use quiclens_core::record::rows::Cell;
    use quiclens_core::retention::{Novelty, Retention, Rules};
    use quiclens_edge::access_format::{AccessFormatConfig, Preset};
    use std::fmt::Write;

    /// Thousands of files rest at once, and each takes a slot in the map.
    #[test]
    fn a_file_takes_little_beside_its_packed_state() {
        assert!(size_of::<Followed<'_>>() <= 512);
    }

    /// After a kill between two separate cycles, the next start would not know the file, nor find it if it was rotated.
    #[test]
    fn what_the_journal_knew_of_a_file_that_is_begun_anew_goes_in_the_cycle_of_its_new_state() {
        let catalogue = Catalogue::load().unwrap();
        let file = tempfile::NamedTempFile::new().unwrap();
        let text = decided_by_its_last_record(30);
        std::fs::write(file.path(), &text).unwrap();
        let prefix = &text.as_bytes()[..100];
        let head = FileHead { prefix: (100, xxh3_64(prefix)), offset: 200, state: vec![7], ..FileHead::default() };
        let known = KnownFile { head, ..KnownFile::default() };
        let (mut file, begun) = Followed::open(&catalogue, file.path(), None, Some(&known), Instant::now()).unwrap();
        assert_eq!(begun, Begun::Anew);
        let mut tables = Tables::default();
        let forgets = |file: &mut Followed<'_>| {
            let mut entries = Vec::new();
            file.put_away(&mut entries).unwrap();
            let gone: Vec<bool> = entries.iter().map(|entry| entry.part == HEAD && entry.state.is_none()).collect();
            (gone.first().copied(), gone.iter().filter(|gone| **gone).count(), gone.last().copied())
        };
        assert_eq!(forgets(&mut file), (None, 0, None), "nothing of it was read");
        while file.read(&catalogue, 1, &mut tables).unwrap() == After::More {}
        assert_eq!(forgets(&mut file), (Some(true), 1, Some(false)));
        assert_eq!(forgets(&mut file), (Some(false), 0, Some(false)));
    }

    /// Where rows are many, the rest of what was read waits for the next turn, though nothing more is written.
    #[test]
    fn what_was_read_and_not_taken_is_taken_in_the_next_turn_whether_the_file_grows_or_not() {
        let catalogue = Catalogue::load().unwrap();
        let file = tempfile::NamedTempFile::new().unwrap();
        let line = |number| format!("{{\"time\":\"2026-11-22T00:00:00Z\",\"path\":\"/{number}\"}}\n");
        std::fs::write(file.path(), (0..SUMMARY_ROWS + 100).map(line).collect::<String>()).unwrap();
        let format = AccessFormatConfig { preset: Some(Preset::Json), ..AccessFormatConfig::default() };
        let reader = Arc::new(LineReader::new(&format, false, None, "").unwrap());
        let now = Instant::now();
        let (mut followed, _) = Followed::open(&catalogue, file.path(), Some(reader), None, now).unwrap();
        let mut tables = Tables::default();
        let mut turns = Vec::new();
        while followed.is_behind() {
            followed.read(&catalogue, 1, &mut tables).unwrap();
            turns.push(std::mem::take(&mut tables.request_lines).len());
        }
        assert_eq!(turns, [SUMMARY_ROWS, 100]);
        assert_eq!(followed.bytes_behind(), 0);
    }

    /// Found by the simulation: servers write the beginning of a header, which is the same for all of them, before the rest.
    #[test]
    fn a_file_that_was_met_with_a_few_bytes_is_told_by_those_that_came_later() {
        let catalogue = Catalogue::load().unwrap();
        let file = tempfile::NamedTempFile::new().unwrap();
        let text = decided_by_its_last_record(30);
        // A header alone, and one with records.
        let end = text.find('\n').unwrap() + 1;
        for pieces in [vec![end, end + 300, end + 700], vec![end, text.len()]] {
            std::fs::write(file.path(), "").unwrap();
            let (mut followed, _) = Followed::open(&catalogue, file.path(), None, None, Instant::now()).unwrap();
            let mut tables = Tables::default();
            for length in pieces {
                std::fs::write(file.path(), &text[..length]).unwrap();
                followed.look(Instant::now()).unwrap();
                while followed.read(&catalogue, 1, &mut tables).unwrap() == After::More {}
                let known = length.min(PREFIX);
                let wanted = (u32::try_from(known).unwrap(), xxh3_64(&text.as_bytes()[..known]));
                assert_eq!(followed.prefix(), wanted, "{length} bytes");
            }
        }
    }

    fn read_all<'c>(followed: &mut Followed<'c>, catalogue: &'c Catalogue, tables: &mut Tables) {
        while followed.is_behind() {
            followed.read(catalogue, 1, tables).unwrap();
        }
    }

    /// What becomes of a record of which the first half stood in the file while memory was short.
    #[test]
    fn the_beginning_of_a_record_is_let_go_and_read_again() {
        let catalogue = Catalogue::load().unwrap();
        let text = decided_by_its_last_record(70);
        let long = format!("\u{1e}{{\"time\":80,\"name\":\"a:b\",\"data\":{{\"k\":\"{}\"}}}}\n", "x".repeat(700_000));
        let half = format!("{text}\n{}", &long[..500_000]);
        let whole = format!("{text}\n{long}");
        enum Then {
            Grows,
            Ends,
            Shrinks,
        }
        for (then, wanted) in
            [(Then::Grows, (71, None)), (Then::Ends, (70, Some(499_999))), (Then::Shrinks, (70, Some(499_999)))]
        {
            let file = tempfile::NamedTempFile::new().unwrap();
            std::fs::write(file.path(), &half).unwrap();
            let (mut followed, _) = Followed::open(&catalogue, file.path(), None, None, Instant::now()).unwrap();
            let mut tables = Tables::default();
            let now = Instant::now();
            read_all(&mut followed, &catalogue, &mut tables);
            assert!(followed.memory().states > 500_000);
            followed.put_away(&mut Vec::new()).unwrap();
            followed.give_back();
            assert!(followed.memory().states < 100_000, "{:?}", followed.memory());
            assert!(!followed.is_behind() && followed.bytes_behind() == 0, "it waits for the other half");
            match then {
                Then::Grows => {
                    std::fs::write(file.path(), &whole).unwrap();
                    assert!(!followed.look(now).unwrap());
                    read_all(&mut followed, &catalogue, &mut tables);
                }
                Then::Ends => {}
                Then::Shrinks => {
                    std::fs::write(file.path(), &text).unwrap();
                    assert!(followed.look(now).unwrap());
                    followed.lose(&catalogue);
                    followed.tear(&mut tables);
                }
            }
            assert_eq!(followed.finish(&catalogue, &mut tables), Finished::All);
            let cut = tables.rejects.first().map(|row| row.whole(rejects::LENGTH));
            assert_eq!((tables.counted, cut), wanted);
        }
    }

    /// What a trace is must not depend on what others hold: its rows would be of two traces.
    #[test]
    fn a_trace_that_is_not_decided_is_let_go_and_read_again_as_the_same_one() {
        let catalogue = Catalogue::load().unwrap();
        let text = decided_by_its_last_record(70);
        let lines: Vec<&str> = text.split_inclusive('\n').collect();
        let read = |lets_go: &[usize], is_packed: bool| {
            let file = tempfile::NamedTempFile::new().unwrap();
            std::fs::write(file.path(), "").unwrap();
            let (mut followed, _) = Followed::open(&catalogue, file.path(), None, None, Instant::now()).unwrap();
            let mut tables = Tables { wants_events: true, ..Tables::default() };
            for count in 1..=lines.len() {
                std::fs::write(file.path(), lines[..count].concat()).unwrap();
                assert!(!followed.look(Instant::now()).unwrap());
                read_all(&mut followed, &catalogue, &mut tables);
                if lets_go.contains(&count) {
                    let offset = followed.window.offset();
                    followed.let_prelude_go();
                    assert_eq!(followed.window.offset(), offset, "the journal does not know of it");
                    followed.put_away(&mut Vec::new()).unwrap();
                    if is_packed {
                        followed.pack();
                    }
                    let before = followed.memory().prelude;
                    followed.let_prelude_go();
                    assert_eq!((followed.memory().prelude, followed.is_behind()), (0, false), "{before} were held");
                    assert_eq!(followed.window.offset() == 0, count <= 64, "{count}");
                }
            }
            assert_eq!(followed.finish(&catalogue, &mut tables), Finished::All);
            let of = |row: &quiclens_core::record::rows::Row<connections::Connections>| {
                (row.text(connections::TRACE_ID).unwrap().to_owned(), row.get(connections::COMPLETE).cloned())
            };
            assert_eq!(followed.uncounted.1, 71, "each record is counted once");
            (tables.counted, tables.events.len(), tables.connections.iter().map(of).collect::<Vec<_>>())
        };
        let whole = read(&[], false);
        assert_eq!((whole.0, whole.2.len()), (70, 1));
        for is_packed in [false, true] {
            for lets_go in [&[1][..], &[2, 9, 30, 63, 64], &[69], &[71]] {
                assert_eq!(read(lets_go, is_packed), whole, "{lets_go:?}");
            }
        }
    }

    /// What was made of the trace before it would be made again.
    #[test]
    fn a_second_trace_of_a_file_is_not_let_go() {
        let catalogue = Catalogue::load().unwrap();
        let text = decided_by_its_last_record(70);
        let header = text.split_inclusive('\n').next().unwrap();
        let file = tempfile::NamedTempFile::new().unwrap();
        std::fs::write(file.path(), format!("{text}\n{header}")).unwrap();
        let (mut followed, _) = Followed::open(&catalogue, file.path(), None, None, Instant::now()).unwrap();
        let mut tables = Tables::default();
        read_all(&mut followed, &catalogue, &mut tables);
        followed.put_away(&mut Vec::new()).unwrap();
        let offset = followed.window.offset();
        followed.let_prelude_go();
        assert!(offset > 0 && followed.window.offset() == offset && tables.connections.len() == 1);
    }

    #[test]
    fn records_of_a_trace_that_was_let_go_and_cut_short_are_counted() {
        let catalogue = Catalogue::load().unwrap();
        let text = decided_by_its_last_record(30);
        for is_seen in [true, false] {
            // Bytes of it may have been read again before the end of the file was met.
            for grows in [false, true] {
                let file = tempfile::NamedTempFile::new().unwrap();
                std::fs::write(file.path(), &text).unwrap();
                let (mut followed, _) = Followed::open(&catalogue, file.path(), None, None, Instant::now()).unwrap();
                let mut tables = Tables::default();
                read_all(&mut followed, &catalogue, &mut tables);
                followed.put_away(&mut Vec::new()).unwrap();
                followed.let_prelude_go();
                if grows {
                    std::fs::write(file.path(), text.clone() + "more").unwrap();
                    assert!(!followed.look(Instant::now()).unwrap());
                }
                std::fs::write(file.path(), if grows { "" } else { &text[..100] }).unwrap();
                if grows {
                    followed.read(&catalogue, 1, &mut tables).unwrap();
                }
                if is_seen {
                    assert!(followed.look(Instant::now()).unwrap());
                    followed.lose(&catalogue);
                    followed.tear(&mut tables);
                }
                followed.finish(&catalogue, &mut tables);
                assert_eq!(tables.rejected, [(Skip::SourceLost.name(), 1)].into());
                assert_eq!(tables.rejects[0].whole(rejects::LENGTH), text.len() as u64);
            }
        }
    }

    #[test]
    fn a_file_that_is_gone_before_a_record_of_it_was_read_is_counted() {
        let catalogue = Catalogue::load().unwrap();
        for (records, wanted) in [(0, (1, 0)), (1, (0, 1))] {
            let file = tempfile::NamedTempFile::new().unwrap();
            let text = decided_by_its_last_record(30);
            let lines: String = text.split_inclusive('\n').take(1 + records).collect();
            std::fs::write(file.path(), &lines).unwrap();
            let (mut followed, _) = Followed::open(&catalogue, file.path(), None, None, Instant::now()).unwrap();
            let (mut tables, mut entries) = (Tables::default(), Vec::new());
            while followed.read(&catalogue, 1, &mut tables).unwrap() == After::More {}
            followed.put_away(&mut entries).unwrap();
            let head = entries.iter().find(|entry| entry.part == HEAD).and_then(|entry| entry.state.clone());
            let head = postcard::from_bytes(&head.unwrap()).unwrap();
            give_up(&catalogue, &KnownFile { head, is_sound: true, ..KnownFile::default() }, &mut tables);
            let lost = tables.rejected.get(Skip::SourceLost.name()).copied().unwrap_or(0);
            assert_eq!((lost, tables.connections.len()), wanted, "{records} records");
            let is_whole =
                tables.connections.iter().any(|row| row.get(connections::COMPLETE) == Some(&Cell::Truth(true)));
            assert!(!is_whole, "its end was not seen");
        }
    }

    #[test]
    fn a_trace_that_is_cut_out_of_its_file_is_not_whole() {
        let catalogue = Catalogue::load().unwrap();
        let records: String = decided_by_its_last_record(30).split_inclusive('\n').take(20).collect();
        let row =
            |seq: i32| format!("8fae6946c7a60bf0\t{seq}\t{seq}10\tpacket_sent\tAppDataSpace, {seq}, 1232, 0, 0, 0\n");
        let rows: String = (0..30).map(row).collect();
        for text in [records, rows] {
            let file = tempfile::NamedTempFile::new().unwrap();
            std::fs::write(file.path(), text).unwrap();
            for is_cut in [false, true] {
                let (mut followed, _) = Followed::open(&catalogue, file.path(), None, None, Instant::now()).unwrap();
                let mut tables = Tables::default();
                while followed.read(&catalogue, 1, &mut tables).unwrap() == After::More {}
                if is_cut {
                    followed.tear(&mut tables);
                }
                assert_eq!(followed.finish(&catalogue, &mut tables), Finished::All);
                let complete: Vec<_> =
                    tables.connections.iter().map(|row| row.get(connections::COMPLETE).cloned()).collect();
                assert_eq!(complete, [Some(Cell::Truth(!is_cut))]);
            }
        }
    }

    /// A log whose last record, which has no separator, is the one that decides to keep the events before it.
    fn decided_by_its_last_record(events: usize) -> String {
        let mut text = "\u{1e}{\"qlog_version\":\"0.3\",\"qlog_format\":\"JSON-SEQ\",\"trace\":{\"vantage_point\":{\"type\":\"server\"}}}\n".to_owned();
        let record = |name, number| {
            format!(
                r#"{{"time":{number},"name":"{name}","data":{{"header":{{"packet_type":"1RTT","packet_number":{number}}}}}}}"#
            )
        };
        for number in 1..events {
            writeln!(text, "\u{1e}{}", record("transport:packet_sent", number)).unwrap();
        }
        text + "\u{1e}" + &record("recovery:packet_lost", 1)
    }

    #[test]
    fn what_the_very_end_decides_is_read_again_in_turns_and_no_state_is_put_away_meanwhile() {
        let catalogue = Catalogue::load().unwrap();
        let events = EVENT_ROWS + 5000;
        for (events, least) in [(events, 5), (30, 1)] {
            let file = tempfile::NamedTempFile::new().unwrap();
            std::fs::write(file.path(), decided_by_its_last_record(events)).unwrap();
            let rules = Rules {
                slow_us: None,
                failed: false,
                lossy: Some(1e-9),
                novel: false,
                share: 0.0,
                decide_after_us: i64::MAX,
                trace_probability: 1.0,
            };
            let retention = Some(Retention { rules, novelty: Novelty::default() });
            let mut tables = Tables { wants_events: true, retention, ..Tables::default() };
            let (mut file, _) = Followed::open(&catalogue, file.path(), None, None, Instant::now()).unwrap();
            while file.read(&catalogue, 1, &mut tables).unwrap() == After::More {}
            assert!(!file.settle(&catalogue, &tables));
            assert_eq!(tables.events.len(), 0);
            let (mut turns, mut found, mut kept) = (0, 0, Vec::new());
            let ended = loop {
                let ended = file.finish(&catalogue, &mut tables);
                turns += usize::from(ended == Finished::Again);
                assert!(tables.events.len() <= EVENT_ROWS);
                let is_over = ended == Finished::All;
                assert_eq!(file.is_dirty, is_over, "{ended:?}");
                assert!(is_over || tables.connections.is_empty(), "its row says that all of its events are there");
                kept.extend(
                    tables.connections.iter().filter_map(|row| row.text(connections::EVENTS_KEPT).map(str::to_owned)),
                );
                let batches = tables.batches(&catalogue, is_over).unwrap();
                let rows = batches.iter().filter(|batch| batch.table == "events").map(|batch| batch.rows.num_rows());
                found += rows.sum::<usize>();
                if ended != Finished::Again {
                    break ended;
                }
            };
            assert_eq!((ended, found, kept), (Finished::All, events, vec!["all".to_owned()]));
            assert!(turns >= least, "{turns}");
        }
    }
}
