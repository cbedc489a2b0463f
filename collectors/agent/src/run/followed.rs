//! One file that is followed: what of it was read, and what its records make.

use crate::records::{Records, Turn};
use crate::requests::Lines;
use crate::run::journal::{Entry, FileId, State};
use quiclens_core::catalogue::Catalogue;
use quiclens_core::reader::records::Window;
use quiclens_core::reader::sniff::{Framing, sniff};
use quiclens_core::tables::Tables;
use std::fs::{File, Metadata};
use std::io::{self, Read, Seek, SeekFrom};
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::time::Instant;
use xxhash_rust::xxh3::xxh3_64;

/// Bytes of a file that tell it from another one with the same inode, and its format.
const HEAD: usize = 64 << 10;
const PREFIX: usize = 4096;
/// Bytes of one file that are read before another's turn.
const TURN: usize = 1 << 20;
const CHUNK: usize = 256 << 10;

/// What a file is being read as.
enum Form<'c> {
    /// Too little of it is there to tell.
    Unknown,
    /// A sequence or rows: read as it grows.
    Records(Box<Records<'c>>),
    /// An access log.
    Lines(Lines),
    /// One document, or compressed: read when it is over.
    Whole,
    /// All of it was read and shipped, or is on its way.
    Over,
}

/// A file that is followed. Its descriptor stays open, so that a file that is deleted can be read to its end.
pub struct Followed<'c> {
    /// Its identity.
    pub id: FileId,
    /// Where it was seen last.
    pub path: PathBuf,
    file: File,
    window: Window,
    form: Form<'c>,
    prefix: (u32, u64),
    size: u64,
    /// Its size when it was over.
    over_at: u64,
    /// When it grew last.
    pub grew: Instant,
    /// Something of it was taken since its state was put away.
    pub is_dirty: bool,
    /// It has no name any more.
    pub is_deleted: bool,
    is_access_log: bool,
    /// Bytes read and records taken that no metric has counted yet.
    pub uncounted: (u64, u64),
}

/// What is to be done with a file after a turn.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum After {
    /// Nothing more is there.
    Idle,
    /// More is there.
    More,
}

/// The identity of an open file.
pub fn identity(metadata: &Metadata) -> FileId {
    FileId { device: metadata.dev(), inode: metadata.ino() }
}

impl<'c> Followed<'c> {
    /// Opens a file; `known` is what the journal says of it, if it is still the same file.
    pub fn open(
        catalogue: &'c Catalogue,
        path: &Path,
        is_access_log: bool,
        known: Option<Entry>,
        now: Instant,
    ) -> io::Result<Self> {
        let mut file = File::open(path)?;
        let metadata = file.metadata()?;
        let mut followed = Self {
            id: identity(&metadata),
            path: path.to_owned(),
            window: Window::default(),
            form: if is_access_log { Form::Lines(Lines::new(&path.to_string_lossy())) } else { Form::Unknown },
            prefix: (0, xxh3_64(&[])),
            size: metadata.len(),
            over_at: 0,
            grew: now,
            is_dirty: false,
            is_deleted: false,
            is_access_log,
            uncounted: (0, 0),
            file,
        };
        if let Some(known) = known.filter(|known| known.id == followed.id) {
            file = File::open(path)?;
            if followed.size >= known.offset && prefix_of(&mut file, known.prefix.0)? == known.prefix {
                followed.take_up(catalogue, known)?;
            }
        }
        Ok(followed)
    }

    fn take_up(&mut self, catalogue: &'c Catalogue, known: Entry) -> io::Result<()> {
        self.prefix = known.prefix;
        match known.state {
            // All was shipped. If it has grown since, it is read again from its start.
            None if self.size == known.offset => (self.form, self.over_at) = (Form::Over, known.offset),
            None => {}
            Some(state) => {
                let form = match state {
                    State::Records(saved) => Records::restore(catalogue, *saved).map(|it| Form::Records(Box::new(it))),
                    State::Lines(lines) => Some(Form::Lines(lines)),
                };
                if let Some(form) = form {
                    self.form = form;
                    self.file.seek(SeekFrom::Start(known.offset))?;
                    self.window = Window::from(known.offset);
                }
            }
        }
        Ok(())
    }

    /// Looks at the file again. True when it is not what it was: cut short, which starts it anew.
    pub fn look(&mut self, now: Instant) -> io::Result<bool> {
        let metadata = self.file.metadata()?;
        self.is_deleted = metadata.nlink() == 0;
        let was = std::mem::replace(&mut self.size, metadata.len());
        if self.size != was {
            self.grew = now;
        }
        Ok(self.size < was)
    }

    /// Something may be there that was not read.
    pub fn is_behind(&self) -> bool {
        self.bytes_behind() > 0
    }

    /// Bytes that are there and were not read; what is read only when it is over does not count.
    pub fn bytes_behind(&self) -> u64 {
        self.bytes_before(self.size)
    }

    /// The same of the file as it is now; what is cut short meanwhile is left for [`Followed::look`] to find.
    pub fn bytes_behind_now(&self) -> u64 {
        self.file.metadata().map_or(0, |metadata| self.bytes_before(metadata.len()))
    }

    fn bytes_before(&self, size: u64) -> u64 {
        match self.form {
            Form::Over | Form::Whole => 0,
            Form::Unknown | Form::Records(_) | Form::Lines(_) => {
                size.saturating_sub(self.window.offset() + self.window.rest().len() as u64)
            }
        }
    }

    /// The state of a trace is held.
    pub fn is_open(&self) -> bool {
        matches!(self.form, Form::Records(_))
    }

    /// Reads what is there, up to a turn's worth.
    pub fn read(&mut self, catalogue: &'c Catalogue, tables: &mut Tables) -> io::Result<After> {
        let mut left = TURN;
        loop {
            while self.next(catalogue, tables) == Turn::Taken {
                self.is_dirty = true;
                self.uncounted.1 += 1;
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
            let got = self.file.by_ref().take(CHUNK.min(left) as u64).read_to_end(self.window.space())?;
            left -= got.min(left);
            self.uncounted.0 += got as u64;
            if got == 0 {
                return Ok(After::Idle);
            }
            self.learn_prefix();
            self.learn_form(catalogue, false);
        }
    }

    fn next(&mut self, catalogue: &Catalogue, tables: &mut Tables) -> Turn {
        match &mut self.form {
            Form::Records(records) => records.next(&mut self.window, tables),
            Form::Lines(lines) => lines.next(catalogue, &mut self.window, tables),
            Form::Unknown | Form::Whole | Form::Over => Turn::Over,
        }
    }

    /// The first bytes become part of the identity as they come.
    fn learn_prefix(&mut self) {
        if (self.prefix.0 as usize) < PREFIX && self.window.offset() == 0 {
            let head = &self.window.rest()[..self.window.rest().len().min(PREFIX)];
            self.prefix = (u32::try_from(head.len()).unwrap_or(0), xxh3_64(head));
        }
    }

    fn learn_form(&mut self, catalogue: &'c Catalogue, whole: bool) {
        if !matches!(self.form, Form::Unknown) {
            return;
        }
        let rest = self.window.rest();
        let is_compressed = rest.starts_with(&[0x1f, 0x8b]) || rest.starts_with(&[0x28, 0xb5, 0x2f, 0xfd]);
        let head = &rest[..rest.len().min(HEAD)];
        self.form = match sniff(head, whole && head.len() == rest.len()) {
            _ if is_compressed => Form::Whole,
            Some(Framing::Contained) => Form::Whole,
            Some(framing) => {
                let name = self.path.to_string_lossy();
                Form::Records(Box::new(Records::new(catalogue, framing, &name)))
            }
            None if whole || rest.len() >= HEAD => Form::Whole,
            None => Form::Unknown,
        };
        if matches!(self.form, Form::Whole) {
            self.window = Window::default();
        }
    }

    /// Rows of its connections as they stand now.
    pub fn show(&mut self, tables: &mut Tables) {
        if let Form::Records(records) = &mut self.form {
            records.show(tables);
        }
    }

    /// The file is over: its records end here. True when the caller must read it as a whole.
    pub fn finish(&mut self, catalogue: &'c Catalogue, tables: &mut Tables) -> bool {
        self.learn_form(catalogue, true);
        self.window.end = true;
        while self.next(catalogue, tables) == Turn::Taken {}
        self.is_dirty = true;
        self.over_at = self.size;
        match std::mem::replace(&mut self.form, Form::Over) {
            Form::Records(records) => {
                records.finish(true, tables);
                false
            }
            Form::Whole => true,
            Form::Unknown | Form::Lines(_) | Form::Over => false,
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

    /// Its size when it was over.
    pub fn over_at(&self) -> u64 {
        self.over_at
    }

    /// Length and hash of its first bytes.
    pub fn prefix(&self) -> (u32, u64) {
        self.prefix
    }

    /// It is an access log.
    pub fn is_access_log(&self) -> bool {
        self.is_access_log
    }

    /// It was over and has grown.
    pub fn has_come_back(&self) -> bool {
        self.is_over() && self.size != self.over_at
    }

    /// What a checkpoint says of it, once everything that was taken so far is acknowledged.
    pub fn entry(&mut self) -> Entry {
        self.is_dirty = false;
        let (offset, state) = match &self.form {
            Form::Records(records) => (self.window.offset(), Some(State::Records(Box::new(records.save())))),
            Form::Lines(lines) => (self.window.offset(), Some(State::Lines(lines.clone()))),
            Form::Over => (self.over_at, None),
            Form::Unknown | Form::Whole => (0, None),
        };
        let is_gone = self.is_deleted && self.is_over();
        Entry { id: self.id.clone(), prefix: self.prefix, offset, state, is_gone }
    }
}

/// Length and hash of a file's first bytes, as many as there are.
fn prefix_of(file: &mut File, length: u32) -> io::Result<(u32, u64)> {
    let mut head = Vec::new();
    file.take(u64::from(length)).read_to_end(&mut head)?;
    Ok((u32::try_from(head.len()).unwrap_or(0), xxh3_64(&head)))
}
