//! The following thread: finds files, reads what they have grown by, cuts cycles.

use crate::file::Files;
use crate::paths::find;
use crate::run::config::Config;
use crate::run::followed::{After, Followed, identity};
use crate::run::heartbeat::Heartbeat;
use crate::run::journal::{Entry, FileId};
use crate::run::metrics::Metrics;
use crate::run::ship::{Cycle, Shipper};
use crate::run::sink::{LARGEST, Message};
use quiclens_core::catalogue::Catalogue;
use quiclens_core::tables::Tables;
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

/// A document, or a compressed or deleted file, that has not grown for so long is over.
const SETTLED: Duration = Duration::from_secs(2);

/// Everything that is followed.
pub struct Follower<'c> {
    catalogue: &'c Catalogue,
    config: &'c Config,
    known: BTreeMap<FileId, Entry>,
    files: BTreeMap<FileId, Followed<'c>>,
    /// Files that are over: their size and first bytes then.
    over: BTreeMap<FileId, (u64, (u32, u64))>,
    tables: Tables,
    shipper: Shipper,
    scanned: Option<Instant>,
    cut: Instant,
    number: u64,
    heartbeat: Heartbeat,
    metrics: Metrics,
}

impl<'c> Follower<'c> {
    /// Follows what `config` names, from where `known` says.
    pub fn new(
        catalogue: &'c Catalogue,
        config: &'c Config,
        known: BTreeMap<FileId, Entry>,
        shipper: Shipper,
        metrics: Metrics,
    ) -> Self {
        Self {
            catalogue,
            config,
            known,
            files: BTreeMap::new(),
            over: BTreeMap::new(),
            tables: Tables { wants_events: config.events, ..Tables::default() },
            shipper,
            scanned: None,
            cut: Instant::now(),
            number: 0,
            heartbeat: Heartbeat::new(&config.name, config.heartbeat_interval()),
            metrics,
        }
    }

    /// One turn over everything. True when there is more to do at once.
    pub fn turn(&mut self) -> Result<bool, String> {
        let now = Instant::now();
        if self.scanned.is_none_or(|scanned| now - scanned >= Duration::from_millis(self.config.scan_interval_ms)) {
            self.scanned = Some(now);
            self.scan(now);
        }
        self.heartbeat.beat(now, &mut self.tables);
        if self.shipper.is_full() {
            let behind = self.files.values().map(Followed::bytes_behind_now).sum();
            self.count(now, behind);
            return Ok(false);
        }
        let mut is_busy = false;
        for id in self.files.keys().cloned().collect::<Vec<_>>() {
            is_busy |= self.read(&id, now)?;
            if !self.tables.is_small() {
                self.cut()?;
            }
        }
        if now - self.cut >= Duration::from_millis(self.config.batch_interval_ms) {
            self.cut()?;
        }
        let behind = self.files.values().map(Followed::bytes_behind).sum();
        self.count(now, behind);
        Ok(is_busy)
    }

    fn count(&mut self, now: Instant, behind: u64) {
        let mut open = 0;
        for file in self.files.values_mut() {
            open += i64::from(file.is_open());
            let (bytes, records) = std::mem::take(&mut file.uncounted);
            self.metrics.bytes.inc_by(bytes);
            self.metrics.records.inc_by(records);
        }
        self.metrics.files.set(i64::try_from(self.files.len()).unwrap_or(i64::MAX));
        self.metrics.open_connections.set(open);
        self.metrics.counted(self.tables.counted, &self.tables.rejected);
        self.metrics.turned(now, behind);
    }

    /// Files that are new, or that have grown after they were over.
    fn scan(&mut self, now: Instant) {
        for (places, is_access_log) in [(&self.config.traces, false), (&self.config.access_logs, true)] {
            for path in find(places).0 {
                self.meet(&path, is_access_log, now);
            }
        }
    }

    fn meet(&mut self, path: &Path, is_access_log: bool, now: Instant) {
        let Ok(metadata) = path.metadata() else { return };
        let id = identity(&metadata);
        if let Some(followed) = self.files.get_mut(&id) {
            // Renamed files keep their state.
            if followed.path != path {
                path.clone_into(&mut followed.path);
            }
            return;
        }
        if self.over.get(&id).is_some_and(|(size, _)| *size == metadata.len()) {
            return;
        }
        self.over.remove(&id);
        let known = self.known.remove(&id);
        if let Ok(followed) = Followed::open(self.catalogue, path, is_access_log, known, now) {
            self.files.insert(id, followed);
        }
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
            self.meet(&path, is_access_log, now);
            return Ok(true);
        }
        let mut is_busy = false;
        if file.is_behind() {
            is_busy = match file.read(self.catalogue, &mut self.tables) {
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

    fn finish(&mut self, id: &FileId) -> Result<(), String> {
        let Some(file) = self.files.get_mut(id) else { return Ok(()) };
        if file.finish(self.catalogue, &mut self.tables) {
            let path = file.path.clone();
            let mut flush = |_: &mut Tables, _: bool| Ok(());
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
        let behind = self.files.values().map(Followed::bytes_behind).sum();
        self.count(self.cut, behind);
        let is_all = self.shipper.wants_all();
        for file in self.files.values_mut().filter(|file| file.is_dirty) {
            file.show(&mut self.tables);
        }
        let batches =
            self.tables.batches(self.catalogue, true).map_err(|error| format!("cannot build a batch: {error}"))?;
        let heartbeat_us = self.heartbeat.take();
        let mut messages = Vec::with_capacity(batches.len());
        for batch in &batches {
            let all = Message::all_of(batch, &self.config.name, &mut self.number, LARGEST)?;
            messages.extend(all.into_iter().map(|message| Message { heartbeat_us, ..message }));
        }
        let mut entries: Vec<Entry> =
            self.files.values_mut().filter(|file| file.is_dirty || is_all).map(Followed::entry).collect();
        let done: Vec<FileId> =
            self.files.iter().filter(|(_, file)| file.is_over()).map(|(id, _)| id.clone()).collect();
        for id in done {
            if let Some(file) = self.files.remove(&id) {
                self.over.insert(id, (file.over_at(), file.prefix()));
            }
        }
        if is_all {
            let over = self.over.iter().filter(|(id, _)| !entries.iter().any(|entry| entry.id == **id));
            let over = over.map(|(id, (offset, prefix))| Entry::over(id.clone(), *offset, *prefix));
            entries.extend(over.collect::<Vec<_>>());
        }
        self.tables.traces.clear();
        self.tables.abilities.clear();
        if messages.is_empty() && entries.is_empty() {
            return Ok(());
        }
        self.shipper.ship(Cycle { messages, entries, is_all })
    }

    /// Ships what is ready and waits until it is acknowledged.
    pub fn stop(mut self) -> Result<(), String> {
        self.cut()?;
        self.shipper.finish()
    }
}
