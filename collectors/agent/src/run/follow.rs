//! The following thread: finds files, reads what they have grown by, cuts cycles.

use crate::file::Files;
use crate::paths::find;
use crate::run::config::Config;
use crate::run::followed::{After, Followed, give_up, identity};
use crate::run::journal::{Entry, FileId, Known};
use crate::run::ship::{Cycle, Shipper};
use crate::run::sink::Message;
use crate::run::spooled::Spooled;
use quiclens_core::catalogue::Catalogue;
use quiclens_core::tables::Tables;
use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

/// A document, or a compressed or deleted file, that has not grown for so long is over.
const SETTLED: Duration = Duration::from_secs(2);

/// A connection that was closed has no late records after so long.
const CLOSED_S: u64 = 5;

/// Everything that is followed.
pub struct Follower<'c> {
    catalogue: &'c Catalogue,
    config: &'c Config,
    known: BTreeMap<FileId, Known>,
    files: BTreeMap<FileId, Followed<'c>>,
    /// Files that are over: their size then.
    over: BTreeMap<FileId, u64>,
    /// Files that the journal knows and that are no more, or are others now.
    gone: Vec<Entry>,
    tables: Tables,
    spooled: Option<Spooled<'c>>,
    shipper: Shipper,
    began: Instant,
    scanned: Option<Instant>,
    /// Second in which connections were ended last.
    ended_s: u64,
    cut: Instant,
    number: u64,
}

impl<'c> Follower<'c> {
    /// Follows what `config` names, from where `known` says.
    pub fn new(
        catalogue: &'c Catalogue,
        config: &'c Config,
        known: BTreeMap<FileId, Known>,
        spooled: Option<Spooled<'c>>,
        shipper: Shipper,
    ) -> Self {
        let began = Instant::now();
        Self {
            catalogue,
            config,
            known,
            files: BTreeMap::new(),
            over: BTreeMap::new(),
            gone: Vec::new(),
            tables: Tables { wants_events: config.events, ..Tables::default() },
            spooled,
            shipper,
            began,
            scanned: None,
            ended_s: 0,
            cut: began,
            number: 0,
        }
    }

    /// One turn over everything. True when there is more to do at once.
    pub fn turn(&mut self) -> Result<bool, String> {
        let now = Instant::now();
        if self.scanned.is_none_or(|scanned| now - scanned >= Duration::from_millis(self.config.scan_interval_ms)) {
            self.scanned = Some(now);
            self.scan(now);
        }
        let (mut is_busy, mut is_pressed) = (false, false);
        if let Some(spooled) = &mut self.spooled {
            is_busy = spooled.read((now - self.began).as_secs())?;
            // Files can be read later.
            is_pressed = spooled.is_pressed();
            if !spooled.tables.is_small() {
                self.cut()?;
            }
        }
        for id in self.files.keys().filter(|_| !is_pressed).copied().collect::<Vec<_>>() {
            is_busy |= self.read(&id, now)?;
            if !self.tables.is_small() {
                self.cut()?;
            }
        }
        self.end_quiet(now);
        if now - self.cut >= Duration::from_millis(self.config.batch_interval_ms) {
            self.cut()?;
        }
        Ok(is_busy)
    }

    /// Files that are new, or that have grown after they were over; and files that are gone.
    fn scan(&mut self, now: Instant) {
        let mut seen = BTreeSet::new();
        let mut is_all = true;
        for (places, is_access_log) in [(&self.config.traces, false), (&self.config.access_logs, true)] {
            let (found, unreadable) = find(places);
            is_all &= unreadable.is_empty();
            seen.extend(found.iter().filter_map(|path| self.meet(path, is_access_log, now)));
        }
        if is_all {
            for (id, known) in std::mem::take(&mut self.known) {
                give_up(self.catalogue, &known, &mut self.tables);
                self.gone.push(Entry::gone(id));
            }
            let gone: Vec<FileId> = self.over.keys().filter(|id| !seen.contains(*id)).copied().collect();
            for id in gone {
                self.over.remove(&id);
                self.gone.push(Entry::gone(id));
            }
        }
    }

    /// Takes a file up that is new, or news of one.
    fn meet(&mut self, path: &Path, is_access_log: bool, now: Instant) -> Option<FileId> {
        let metadata = path.metadata().ok()?;
        let id = identity(&metadata);
        if let Some(followed) = self.files.get_mut(&id) {
            // Renamed files keep their state.
            if followed.path != path {
                path.clone_into(&mut followed.path);
            }
            return Some(id);
        }
        if self.over.get(&id).is_some_and(|size| *size == metadata.len()) {
            return Some(id);
        }
        let known = self.known.remove(&id);
        match Followed::open(self.catalogue, path, is_access_log, known.as_ref(), now) {
            Ok((followed, is_taken_up)) => {
                let was_known = self.over.remove(&id).is_some() || known.is_some();
                if was_known && !is_taken_up {
                    self.gone.push(Entry::gone(id));
                }
                if let Some(known) = known.filter(|known| !followed.is_same(&known.head).unwrap_or(false)) {
                    give_up(self.catalogue, &known, &mut self.tables);
                }
                if followed.is_over() {
                    self.over.insert(id, followed.over_at());
                } else {
                    self.files.insert(id, followed);
                }
            }
            Err(_) => self.known.extend(known.map(|known| (id, known))),
        }
        Some(id)
    }

    /// One file's turn. True when more of it is there.
    fn read(&mut self, id: &FileId, now: Instant) -> Result<bool, String> {
        let Some(file) = self.files.get_mut(id) else { return Ok(false) };
        let is_cut_short = file.look(now).unwrap_or(false);
        if is_cut_short || file.has_come_back() {
            // Cut short under its writer (copy-truncate), or grown after it was over: what is there now is read from
            // its start; what was read before was shipped or is on its way.
            let path: PathBuf = file.path.clone();
            let is_access_log = file.is_access_log();
            if is_cut_short {
                file.finish(self.catalogue, &mut self.tables);
            }
            self.files.remove(id);
            self.gone.push(Entry::gone(*id));
            self.meet(&path, is_access_log, now);
            return Ok(true);
        }
        let mut is_busy = false;
        if file.is_behind() {
            is_busy = match file.read(self.catalogue, (now - self.began).as_secs(), &mut self.tables) {
                Ok(after) => after == After::More,
                Err(error) => {
                    eprintln!("quiclens-collector: {}: {error}", file.path.display());
                    false
                }
            };
        }
        let settled =
            if file.is_whole() || file.is_deleted { SETTLED } else { Duration::from_secs(self.config.idle_timeout_s) };
        if !file.is_behind() && !file.is_over() && now - file.grew >= settled {
            self.finish(id)?;
        }
        Ok(is_busy)
    }

    /// Once a second, connections that are over in files that go on.
    fn end_quiet(&mut self, now: Instant) {
        let now_s = (now - self.began).as_secs();
        if now_s > self.ended_s {
            self.ended_s = now_s;
            for file in self.files.values_mut() {
                file.end_quiet(now_s, CLOSED_S, self.config.idle_timeout_s, &mut self.tables);
            }
            if let Some(spooled) = &mut self.spooled {
                spooled.end_quiet(now_s, CLOSED_S, self.config.idle_timeout_s);
            }
        }
    }

    fn finish(&mut self, id: &FileId) -> Result<(), String> {
        let Some(file) = self.files.get_mut(id) else { return Ok(()) };
        if file.finish(self.catalogue, &mut self.tables) {
            let path = file.path.clone();
            let (number, shipper) = (&mut self.number, &self.shipper);
            // Rows go as they come; the state, which says that all of it was read, with the last of them.
            let mut flush = |tables: &mut Tables, all: bool| {
                let messages = messages(tables, self.catalogue, &self.config.name, number, all)?;
                if messages.is_empty() { Ok(()) } else { shipper.ship(Cycle::of_files(messages, Vec::new())) }
            };
            let mut files = Files::new(self.catalogue, self.config.events, &mut flush);
            std::mem::swap(&mut files.tables, &mut self.tables);
            let done = files.read(&path);
            std::mem::swap(&mut files.tables, &mut self.tables);
            done?;
        }
        Ok(())
    }

    /// Everything that is ready goes, with the states of the files that it came from.
    fn cut(&mut self) -> Result<(), String> {
        self.cut = Instant::now();
        let mut entries = std::mem::take(&mut self.gone);
        for file in self.files.values_mut().filter(|file| file.is_dirty) {
            file.show(&mut self.tables);
            file.put_away(&mut entries)?;
        }
        let mut cut = |tables: &mut Tables| messages(tables, self.catalogue, &self.config.name, &mut self.number, true);
        let mut messages = cut(&mut self.tables)?;
        let (mut droppable, mut passed) = (Vec::new(), None);
        if let Some(spooled) = self.spooled.as_mut().filter(|spooled| spooled.is_dirty) {
            spooled.show();
            passed = Some(spooled.put_away(&mut entries)?);
            let (events, others) = cut(&mut spooled.tables)?.into_iter().partition(|message| message.table == "events");
            droppable = events;
            messages.extend::<Vec<Message>>(others);
        }
        let over = self.files.values().filter(|file| file.is_over() && !file.is_deleted);
        self.over.extend(over.map(|file| (file.id, file.over_at())));
        self.files.retain(|_, file| !file.is_over());
        self.tables.traces.clear();
        self.tables.abilities.clear();
        if messages.is_empty() && entries.is_empty() {
            return Ok(());
        }
        self.shipper.ship(Cycle { messages, droppable, entries, passed })
    }

    /// No source of the spool is left: its connections are over.
    pub fn end_spooled(&mut self) {
        if let Some(spooled) = &mut self.spooled {
            spooled.finish(self.catalogue);
        }
    }

    /// Ships what is ready and waits until it is acknowledged.
    pub fn stop(mut self) -> Result<(), String> {
        self.cut()?;
        self.shipper.finish()
    }
}

/// What of the tables is large enough to go, or with `all` everything. `number` counts the messages of this collector.
fn messages(
    tables: &mut Tables,
    catalogue: &Catalogue,
    name: &str,
    number: &mut u64,
    all: bool,
) -> Result<Vec<Message>, String> {
    let batches = tables.batches(catalogue, all).map_err(|error| format!("cannot build a batch: {error}"))?;
    let numbered = batches.iter().map(|batch| {
        *number += 1;
        Message::of(batch, name, *number)
    });
    numbered.collect()
}
