//! The following thread: finds files, reads what they have grown by, cuts cycles.

use crate::error::{Error, ErrorHandling, FailureKind};
use crate::file::{Files, skip_of};
use crate::machine::{self, Look};
use crate::paths::{FolderLinks, find};
use crate::records::whole;
use crate::requests::LineReader;
use crate::run::config::{AccessLogConfig, Config, Watch};
use crate::run::followed::{
    After, Begun, Finished, Followed, TURNS_OF_A_PRELUDE, TURNS_OF_A_RECORD, give_up, identity,
};
use crate::run::heartbeat::Heartbeat;
use crate::run::input::FileInput;
use crate::run::journal::{Entry, FileId, KnownFile};
use crate::run::keep::{NoveltyFile, retention};
use crate::run::limits::{CpuCap, most_followed};
use crate::run::metrics::Metrics;
use crate::run::notice::{News, Notices};
use crate::run::refresh::Refresh;
use crate::run::ship::{Cycle, Shipper};
use crate::run::sink::{self, Message};
use crate::run::spooled::Spooled;
use quiclens_core::catalogue::Catalogue;
use quiclens_core::limits;
use quiclens_core::memory::TraceMemory;
use quiclens_core::reader::skip::Skip;
use quiclens_core::tables::Tables;
use quiclens_edge::deployment::Deployment;
use quiclens_tail::SourceFault;
use std::cell::RefCell;
use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::io::{self, ErrorKind};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};
use tracing::{debug, info, warn};

/// A document or a compressed file that has its end, or a deleted file, that has not grown for so long is over.
const SETTLED: Duration = Duration::from_secs(2);

/// Time between two full scans where the kernel reports changes: it may have missed some.
const SAFETY: Duration = Duration::from_secs(15);

/// How often files without notifications, and files that may be over, are checked.
const LOOK: Duration = Duration::from_millis(200);

/// How often states are saved. What was shipped after the last save is shipped again after a kill.
const STATES: Duration = Duration::from_secs(1);

/// Most files of which events are read again at the same time.
const REPLAYS: usize = 32;

/// A wait for the shipper that is shorter than this does not count as a pause of reading.
const MOMENT: Duration = Duration::from_millis(1);

/// A connection that was closed has no late records after so long.
const CLOSED_S: u64 = 5;

/// What a follower works with.
pub struct Surroundings {
    /// What is looked up of clients.
    pub deployment: Arc<Deployment>,
    /// Where cycles go.
    pub shipper: Shipper,
    /// What is counted.
    pub metrics: Metrics,
    /// The process was told to stop.
    pub stop: Arc<AtomicBool>,
}

/// Everything that is followed.
pub struct Follower<'c> {
    catalogue: &'c Catalogue,
    config: &'c Config,
    /// Of each access log, in the order of the config.
    readers: Vec<Arc<LineReader>>,
    refresh: Refresh,
    known: BTreeMap<FileId, KnownFile>,
    files: BTreeMap<FileId, Followed<'c>>,
    /// The file at each path; where several files had the path, the newest.
    names: HashMap<PathBuf, FileId>,
    /// Files that are over, as they were then.
    over: BTreeMap<FileId, Over>,
    /// Paths that cannot be followed and were counted: no regular files, links to folders, without permission.
    refused: BTreeSet<PathBuf>,
    /// Configured places at which nothing was in the last scan.
    missing: BTreeSet<PathBuf>,
    /// Files that wait for a descriptor before they are followed.
    waiting: BTreeSet<FileId>,
    /// Most files that may be followed at once.
    most: usize,
    /// Files that the journal knows and that are no more, or are others now.
    gone: Vec<Entry>,
    tables: Tables,
    spooled: Option<Spooled<'c>>,
    shipper: Shipper,
    cap: RefCell<CpuCap>,
    novelty: NoveltyFile,
    notices: Option<Notices>,
    /// Files to be read in the next turn.
    due: BTreeSet<FileId>,
    began: Instant,
    /// When the last turn was.
    turned: Instant,
    /// How long nothing was read because nothing more could be shipped.
    stood: Duration,
    /// The part of `stood` since something was read last.
    standing: Duration,
    scanned: Option<Instant>,
    looked: Instant,
    put_away: Instant,
    /// Second in which connections were ended last.
    ended_s: u64,
    /// Connections have ended since states were saved last, or memory is short: the next cut saves states.
    has_ended: bool,
    /// Memory was short in the last turn.
    was_short: bool,
    /// When states were packed last, if that gave little back.
    packed_in_vain: Option<Instant>,
    cut: Instant,
    number: u64,
    heartbeat: Heartbeat,
    metrics: Metrics,
    /// The process was told to stop.
    stop: Arc<AtomicBool>,
}

impl<'c> Follower<'c> {
    /// Follows what `config` names, from where `known` says.
    pub fn new(
        catalogue: &'c Catalogue,
        config: &'c Config,
        known: BTreeMap<FileId, KnownFile>,
        mut spooled: Option<Spooled<'c>>,
        surroundings: Surroundings,
    ) -> Result<Self, Error> {
        let Surroundings { deployment, shipper, metrics, stop } = surroundings;
        let gone = spooled.as_mut().and_then(|spooled| spooled.gone.take());
        let reader = |log: &AccessLogConfig| {
            LineReader::new(&log.format, config.redact, Some(Arc::clone(&deployment)), &config.name)
        };
        let readers = config.access_logs.iter().map(|log| reader(log).map(Arc::new)).collect::<Result<_, _>>()?;
        let began = machine::now();
        let retention = retention(config.retention.as_ref(), config.events, &config.state_dir);
        Ok(Self {
            catalogue,
            config,
            readers,
            refresh: Refresh::new(Arc::clone(&deployment)),
            known,
            files: BTreeMap::new(),
            names: HashMap::new(),
            over: BTreeMap::new(),
            missing: BTreeSet::new(),
            refused: BTreeSet::new(),
            waiting: BTreeSet::new(),
            most: most_followed(),
            gone: gone.into_iter().collect(),
            tables: Tables { wants_events: true, retention, edge: Some(deployment), ..Tables::default() },
            spooled,
            shipper,
            cap: RefCell::new(CpuCap::new(config.cpu_cap, &stop, &metrics.health)),
            novelty: NoveltyFile::new(&config.state_dir, began),
            notices: (config.watch == Watch::Auto).then(Notices::start).and_then(polled_instead),
            due: BTreeSet::new(),
            began,
            turned: began,
            stood: Duration::ZERO,
            standing: Duration::ZERO,
            scanned: None,
            looked: began,
            put_away: began,
            ended_s: 0,
            has_ended: false,
            was_short: false,
            packed_in_vain: None,
            cut: began,
            number: 0,
            heartbeat: Heartbeat::new(&config.name, config.heartbeat_interval()),
            metrics,
            stop,
        })
    }

    /// Waits for notifications, at most `pause`, and reads what there is. True when there is more to do at once.
    pub fn turn(&mut self, pause: Duration) -> Result<bool, Error> {
        let news = match &mut self.notices {
            // Nothing more will come: the files are polled from now on, and looked through at once.
            Some(notices) => notices.wait(pause).unwrap_or_else(|error| {
                self.notices = polled_instead(Err(error));
                News { is_incomplete: true, ..News::default() }
            }),
            None => {
                machine::sleep(pause);
                News::default()
            }
        };
        let now = machine::now();
        let since = now - std::mem::replace(&mut self.turned, now);
        self.refresh.turn(now);
        self.hear(&news, now)?;
        // Shipping may have ended while nothing was read.
        self.shipper.fault()?;
        if let Some(retention) = &mut self.tables.retention {
            self.novelty.remember(retention, now);
        }
        self.heartbeat.beat(now, &mut self.tables);
        if self.shipper.is_full() {
            self.stand(since, now);
            self.standing += since;
            let behind = self.files.values().map(Followed::bytes_behind_now).sum();
            self.count(now, behind);
            return Ok(false);
        }
        let standing = std::mem::take(&mut self.standing);
        if standing >= MOMENT {
            self.metrics.standing_seconds.observe(standing.as_secs_f64());
        }
        let (mut is_busy, mut is_pressed) = (false, false);
        let heard = self.heard(now);
        // What all files hold: the turn adds what it reads; what ends in it is found in the next one.
        let mut of_files: TraceMemory = self.files.values().map(Followed::memory).sum();
        if let Some(spooled) = &mut self.spooled {
            spooled.tables.beside = of_files;
            spooled.pass(since);
            is_busy = match spooled.read(heard) {
                Ok(is_busy) => is_busy,
                Err(error) if error.handling() == ErrorHandling::Retry => {
                    warn!(kind = error.kind.name(), "{error}; trying again");
                    false
                }
                Err(error) => return Err(error),
            };
            self.cap.borrow_mut().rest();
            // Files can be read later.
            is_pressed = spooled.is_pressed();
            self.has_ended |= spooled.has_made_room();
        }
        if is_pressed {
            self.stand(since, now);
        }
        if self.spooled.as_ref().is_some_and(|spooled| !spooled.tables.is_small()) {
            self.cut(false)?;
        }
        let of_spooled = self.spooled.as_ref().map(Spooled::memory).unwrap_or_default();
        let of_file = |follower: &Self, id: &FileId| follower.files.get(id).map(Followed::memory).unwrap_or_default();
        // Where memory is short, many files would each hold a part of a record, and none would come to its end.
        let mut turns = if std::mem::take(&mut self.was_short) { TURNS_OF_A_RECORD } else { 1 };
        let mut can_pack = self.packed_in_vain.is_none_or(|packed| now - packed >= STATES);
        let mut replays = self.files.values().filter(|file| file.is_replaying()).count();
        for id in if is_pressed { Vec::new() } else { self.due(now) } {
            let awake = self.files.get(&id).map(Followed::memory_awake).unwrap_or_default();
            let mut of_others = of_files.without(of_file(self, &id));
            if can_pack && (of_others + of_spooled + awake).states > limits::STATES_AT_REST {
                let packed = self.pack_all()?;
                can_pack = of_files.without(packed).states > limits::STATES_AT_REST / 8;
                self.packed_in_vain = (!can_pack).then_some(now);
                of_others = packed.without(of_file(self, &id));
                turns = turns.max(TURNS_OF_A_RECORD);
                self.was_short = true;
            }
            if of_others.has_no_prelude_left() {
                // Those of files that have more to be read stay: each is read on until it is decided.
                of_others = self.free(Followed::let_prelude_go)?.without(of_file(self, &id));
                turns = TURNS_OF_A_PRELUDE;
            }
            self.tables.beside = of_others + of_spooled;
            for turn in 1..=turns {
                let has_more = self.read(&id, now)? | self.replay(&id, &mut replays);
                if has_more && turn == turns {
                    self.due.insert(id);
                    is_busy = true;
                }
                if !self.tables.is_small() {
                    self.cut(false)?;
                }
                self.cap.borrow_mut().rest();
                if !has_more {
                    break;
                }
            }
            of_files = of_others + of_file(self, &id);
        }
        self.end_quiet(now)?;
        // A later record of a connection that has ended begins another trace. Nothing of that trace may be shipped
        // before the journal has the end of the first one: after a kill the record would count as one of the first.
        if self.has_ended || now - self.cut >= Duration::from_millis(self.config.batch_interval_ms) {
            self.cut(false)?;
        }
        let behind = self.files.values().map(Followed::bytes_behind).sum();
        self.count(now, behind);
        Ok(is_busy)
    }

    /// Packs the states of all files that can be packed, and tells what all files hold then.
    fn pack_all(&mut self) -> Result<TraceMemory, Error> {
        let held = self.free(Followed::give_back)?;
        quiclens_heap::give_back();
        debug!(bytes = held.states, "memory is short: states of files are packed");
        Ok(held)
    }

    /// Has all files give memory back, and tells what they hold then. Only of what is saved can it be given back.
    fn free(&mut self, give: fn(&mut Followed<'c>)) -> Result<TraceMemory, Error> {
        self.has_ended = true;
        self.cut(false)?;
        self.files.values_mut().for_each(give);
        Ok(self.files.values().map(Followed::memory).sum())
    }

    /// Follows the news, or looks through everything when it is time.
    fn hear(&mut self, news: &News, now: Instant) -> Result<(), Error> {
        for path in &news.left {
            self.set_adrift(path);
        }
        for path in &news.changed {
            if let Some(reader) = self.wanted(path) {
                let met = self.meet(path, reader.as_ref(), now);
                self.due.extend(met);
            }
        }
        let every = match self.notices {
            Some(_) => SAFETY,
            None => Duration::from_millis(self.config.scan_interval_ms),
        };
        if news.is_incomplete || self.scanned.is_none_or(|scanned| now - scanned >= every) {
            self.scanned = Some(now);
            // The watch is set before the scan: a change between the two is seen twice instead of never.
            let places: Vec<PathBuf> = self.config.places().map(Path::to_owned).collect();
            let watched = self.notices.take().map(|mut notices| notices.watch(&places).map(|()| notices));
            self.notices = watched.and_then(polled_instead);
            self.scan(now)?;
            self.due.extend(self.files.keys());
        }
        Ok(())
    }

    /// Whether a file is one to be followed, and if so, what reads its lines where it is an access log.
    fn wanted(&self, path: &Path) -> Option<Option<Arc<LineReader>>> {
        let is_in = |place: &PathBuf| {
            // As in `find`: hidden files and folders are read where they are named.
            let inside = path.strip_prefix(place).ok();
            inside.is_some_and(|inside| !inside.iter().any(|name| name.to_string_lossy().starts_with('.')))
        };
        let of_log = self.config.access_logs.iter().zip(&self.readers).find(|(log, _)| is_in(&log.path));
        match of_log {
            Some((_, reader)) => Some(Some(Arc::clone(reader))),
            None => self.config.traces.iter().any(is_in).then_some(None),
        }
    }

    /// Files to look at in this turn: without news from the kernel, all.
    fn due(&mut self, now: Instant) -> Vec<FileId> {
        if self.notices.is_none() {
            return self.files.keys().copied().collect();
        }
        if now - self.looked >= LOOK {
            self.looked = now;
            let due = self.files.values().filter(|file| {
                file.is_adrift || file.is_deleted || now - file.grew >= settled(file, self.config.idle_timeout_s)
            });
            self.due.extend(due.map(|file| file.id));
        }
        std::mem::take(&mut self.due).into_iter().collect()
    }

    /// What has been read since, for the metrics.
    fn count(&mut self, now: Instant, behind: u64) {
        let (mut open, mut replayed) = (0_usize, 0);
        for file in self.files.values_mut() {
            open += file.open_connections();
            replayed += file.bytes_to_replay();
            let (bytes, records) = std::mem::take(&mut file.uncounted);
            self.metrics.bytes.inc_by(bytes);
            self.metrics.records.inc_by(records);
        }
        self.metrics.files.set(i64::try_from(self.files.len()).unwrap_or(i64::MAX));
        self.metrics.files_waiting.set(i64::try_from(self.waiting.len()).unwrap_or(i64::MAX));
        self.metrics.open_connections.set(i64::try_from(open).unwrap_or(i64::MAX));
        self.metrics.replay_behind_bytes.set(i64::try_from(replayed).unwrap_or(i64::MAX));
        let owed = self.spooled.as_ref().map_or(0, Spooled::owed);
        self.metrics.spool_runs_owed.set(i64::try_from(owed).unwrap_or(i64::MAX));
        let spooled = self.spooled.as_ref().map(|spooled| &spooled.tables);
        self.metrics.counted(std::iter::once(&self.tables).chain(spooled));
        self.metrics.turned(now, behind, self.shipper.is_idle());
    }

    /// Files that are new, or that have grown after they were over; and files that are gone.
    fn scan(&mut self, now: Instant) -> Result<(), Error> {
        let mut seen = BTreeSet::new();
        let mut refused = Vec::new();
        let mut is_whole = true;
        self.waiting.clear();
        self.most = most_followed();
        let logs = self.config.access_logs.iter().zip(&self.readers);
        let logs = logs.map(|(log, reader)| (vec![log.path.clone()], Some(Arc::clone(reader))));
        // An access log may stand in a folder of traces: whoever meets it first reads it, as in `wanted`.
        let places: Vec<_> = logs.chain(std::iter::once((self.config.traces.clone(), None))).collect();
        for (paths, reader) in places {
            let search = find(&paths, FolderLinks::Refused);
            is_whole &= search.is_whole;
            refused.extend(search.refused);
            for path in search.files {
                let met = self.meet(&path, reader.as_ref(), now);
                is_whole &= met.is_some();
                seen.extend(met);
            }
        }
        self.miss();
        self.refused.retain(|path| machine::exists(path));
        for (path, reason) in refused {
            self.refuse(&path, reason);
        }
        is_whole = is_whole && self.find_rotated(now, &mut seen);
        if !self.waiting.is_empty() {
            let (followed, waiting) = (self.files.len(), self.waiting.len());
            warn!(followed, waiting, "no descriptors for more files; the others wait until some are over");
        }
        if is_whole {
            // Files that exist but could not be opened are tried again in the next scan. When a file or folder could
            // not be looked at, nothing counts as gone: a missing file may have another name by now.
            let known = std::mem::take(&mut self.known);
            let (there, gone): (BTreeMap<_, _>, _) = known.into_iter().partition(|(id, _)| seen.contains(id));
            self.known = there;
            for (id, known) in gone {
                give_up(self.catalogue, &known, &mut self.tables);
                self.gone.push(Entry::gone(id));
                if !self.tables.is_small() {
                    self.cut(false)?;
                }
            }
            let gone: Vec<FileId> = self.over.keys().filter(|id| !seen.contains(*id)).copied().collect();
            for id in gone {
                self.over.remove(&id);
                self.gone.push(Entry::gone(id));
            }
        }
        Ok(())
    }

    /// Access logs that were renamed while nobody looked: `access.log.1` beside `access.log` is the file that was read.
    /// False where a folder cannot be read, or a file in it cannot be looked at, now.
    fn find_rotated(&mut self, now: Instant, seen: &mut BTreeSet<FileId>) -> bool {
        let logs: Vec<_> = self.config.access_logs.iter().zip(&self.readers).collect();
        let logs: Vec<_> = logs.into_iter().map(|(log, reader)| (log.path.clone(), Arc::clone(reader))).collect();
        for (path, reader) in logs.iter().filter(|(path, _)| !machine::is_dir(path)) {
            let Some((folder, name)) = path.parent().zip(path.file_name()) else { continue };
            let folder = if folder.as_os_str().is_empty() { Path::new(".") } else { folder };
            let siblings = match machine::list(folder) {
                Ok(siblings) => siblings,
                // What nobody may read is not looked through.
                Err(error) if matches!(error.kind(), ErrorKind::NotFound | ErrorKind::PermissionDenied) => continue,
                Err(_) => return false,
            };
            for sibling in siblings {
                let is_rotated = sibling
                    .file_name()
                    .is_some_and(|other| other.as_encoded_bytes().starts_with(name.as_encoded_bytes()));
                if !is_rotated {
                    continue;
                }
                let Ok(look) = machine::look(&sibling) else { return false };
                if self.known.contains_key(&identity(&look)) {
                    seen.extend(self.meet(&sibling, Some(reader), now));
                }
            }
        }
        true
    }

    /// Tells of configured places at which nothing is, each once until something is there: a name may be wrong.
    fn miss(&mut self) {
        let missing: BTreeSet<_> =
            self.config.places().filter(|place| !machine::exists(place)).map(Path::to_owned).collect();
        for place in missing.difference(&self.missing) {
            warn!(place = %place.display(), "nothing is there; it is followed once something is");
        }
        self.metrics.places_missing.set(i64::try_from(missing.len()).unwrap_or(i64::MAX));
        self.missing = missing;
    }

    /// Counts a path that cannot be followed, once as long as it is there.
    fn refuse(&mut self, path: &Path, reason: Skip) {
        if machine::exists(path) && self.refused.insert(path.to_owned()) {
            warn!(file = %path.display(), reason = reason.name(), "not followed");
            whole(&mut self.tables, &path.to_string_lossy(), reason, 0, &[]);
        }
    }

    /// Follows a file that is new, or updates the path of one that is followed; `None` where it has gone meanwhile, is
    /// another, or cannot be looked at.
    fn meet(&mut self, path: &Path, reader: Option<&Arc<LineReader>>, now: Instant) -> Option<FileId> {
        let look = match machine::look(path) {
            Ok(look) => look,
            Err(error) => {
                if error.kind() != ErrorKind::NotFound {
                    self.hurt(path, &error);
                }
                return None;
            }
        };
        let id = identity(&look);
        if let Some(followed) = self.files.get_mut(&id) {
            // Renamed files keep their state.
            if followed.path != path {
                if self.names.get(&followed.path) == Some(&id) {
                    self.names.remove(&followed.path);
                }
                path.clone_into(&mut followed.path);
                self.names.insert(path.to_owned(), id);
            }
            followed.is_adrift = machine::is_symlink(path);
            return Some(id);
        }
        // An inode may be reused: the other file has another size, or another ctime and other first bytes.
        if self.over.get_mut(&id).is_some_and(|over| over.is_still(path, &look)) {
            return Some(id);
        }
        if self.files.len() >= self.most {
            self.waiting.insert(id);
            return Some(id);
        }
        self.waiting.remove(&id);
        let known = self.known.remove(&id);
        match Followed::open(self.catalogue, path, reader.cloned(), known.as_ref(), now) {
            Ok((followed, _)) if followed.id != id => {
                // Another file has taken the name since it was looked at. The next scan meets both.
                self.known.extend(known.map(|known| (id, known)));
                return None;
            }
            Ok((mut followed, begun)) => {
                let was_over = self.over.remove(&id).is_some();
                followed.replaces |= was_over;
                if !was_over && known.is_none() {
                    // Silence before the file was found counts as if the file had been followed all the time.
                    followed.grew = now.checked_sub(unchanged_for(&look, machine::wall())).unwrap_or(now);
                }
                if let Some(known) = known.filter(|_| begun == Begun::New) {
                    self.gone.push(Entry::gone(id));
                    give_up(self.catalogue, &known, &mut self.tables);
                }
                if followed.is_over() {
                    self.over.insert(id, Over::of(&followed));
                } else {
                    // If another followed file had this name, no notifications of it come any more.
                    self.set_adrift(path);
                    self.names.insert(path.to_owned(), id);
                    self.files.insert(id, followed);
                    self.due.insert(id);
                }
            }
            Err(fault) => {
                self.known.extend(known.map(|known| (id, known)));
                match &fault {
                    SourceFault::Unreadable(error) => self.hurt(path, error),
                    fault => self.refuse(path, skip_of(fault)),
                }
            }
        }
        Some(id)
    }

    /// One file's turn. True when more of it is there.
    fn read(&mut self, id: &FileId, now: Instant) -> Result<bool, Error> {
        let now_s = self.heard(now).as_secs();
        let Some(file) = self.files.get_mut(id) else { return Ok(false) };
        let is_cut_short = match file.look(now) {
            Ok(is_cut_short) => is_cut_short,
            Err(error) => {
                self.cannot_read(id, &error);
                return Ok(false);
            }
        };
        if is_cut_short || file.has_come_back() {
            // Cut short under its writer (copy-truncate), or grown after it was over: what is there now is read from
            // its start; what was read before was shipped or is on its way.
            if is_cut_short {
                file.lose(self.catalogue);
                file.tear(&mut self.tables);
                self.end(id)?;
            }
            let Some(file) = self.files.get_mut(id) else { return Ok(false) };
            *file = file.anew(now);
            if is_cut_short {
                // What the journal knows is of bytes that are no more.
                self.gone.push(Entry::gone(*id));
            } else {
                file.replaces = true;
            }
            return Ok(true);
        }
        let mut is_busy = false;
        if now - file.grew >= settled(file, self.config.idle_timeout_s) {
            file.read_prelude_again();
        }
        if file.is_behind() {
            is_busy = match file.read(self.catalogue, now_s, &mut self.tables) {
                Ok(after) => {
                    self.has_ended |= file.has_made_room();
                    after == After::More
                }
                Err(error) => {
                    self.cannot_read(id, &error);
                    return Ok(false);
                }
            };
        }
        let (silent, idle_s) = (now - file.grew, self.config.idle_timeout_s);
        if !file.is_behind() && !file.is_over() && silent >= settled(file, idle_s) {
            let goes_on = || {
                self.cap.borrow_mut().rest();
                !self.stop.load(Ordering::Relaxed)
            };
            if let Err(error) = file.look_for_its_end(goes_on) {
                self.cannot_read(id, &error);
            } else if silent >= settled(file, idle_s) {
                self.finish(id)?;
            }
        }
        Ok(is_busy)
    }

    /// Nothing was read for `time` until `now`: that does not count as silence of any file. A file that was found in
    /// that time has grown at `now` at the latest.
    fn stand(&mut self, time: Duration, now: Instant) {
        self.stood += time;
        self.files.values_mut().for_each(|file| file.grew = now.min(file.grew + time));
    }

    /// Time of the clock that measures silences of connections: it stands still while backpressure stops reading.
    fn heard(&self, now: Instant) -> Duration {
        (now - self.began).saturating_sub(self.stood)
    }

    /// Once a second, ends connections that are over in files that go on.
    fn end_quiet(&mut self, now: Instant) -> Result<(), Error> {
        let heard = self.heard(now);
        let now_s = heard.as_secs();
        if now_s > self.ended_s {
            self.ended_s = now_s;
            let idle_s = self.config.idle_timeout_s;
            for id in self.files.keys().copied().collect::<Vec<_>>() {
                while let Some(file) = self.files.get_mut(&id) {
                    let quiet = file.end_quiet(now, now_s, CLOSED_S, idle_s, &mut self.tables);
                    self.has_ended |= quiet.has_ended;
                    if quiet.owes {
                        self.due.insert(id);
                    }
                    if self.tables.is_small() {
                        break;
                    }
                    self.cut(false)?;
                }
            }
            while let Some(spooled) = &mut self.spooled {
                self.has_ended |= spooled.end_quiet(heard, CLOSED_S, idle_s);
                if spooled.tables.is_small() {
                    break;
                }
                self.cut(false)?;
            }
        }
        Ok(())
    }

    /// A turn of reading again what was decided to be kept. True when more of it is there. `replays`: as many files are
    /// being read again.
    fn replay(&mut self, id: &FileId, replays: &mut usize) -> bool {
        let Some(file) = self.files.get_mut(id) else { return false };
        let was_replaying = file.is_replaying();
        if !was_replaying && *replays >= REPLAYS {
            return file.owes();
        }
        let done = file.replay(&mut self.tables);
        *replays = (*replays + usize::from(file.is_replaying())).saturating_sub(usize::from(was_replaying));
        match done {
            Ok(is_busy) => is_busy,
            Err(error) => {
                self.cannot_read(id, &error);
                false
            }
        }
    }

    /// A path is gone or names another file: no notifications come of the file that had it.
    fn set_adrift(&mut self, path: &Path) {
        let file = self.names.get(path).and_then(|id| self.files.get_mut(id));
        file.into_iter().for_each(|file| file.is_adrift = true);
    }

    /// A file cannot be read. A temporary error is retried; any other is counted once, and the file is read on when it
    /// changes.
    fn hurt(&mut self, path: &Path, error: &io::Error) {
        let error = Error::of_file(path.display(), error);
        match error.handling() {
            ErrorHandling::Retry => warn!(file = error.place, kind = error.kind.name(), "{}; trying again", error.said),
            ErrorHandling::Reject | ErrorHandling::Stop => self.refuse(path, Skip::Unreadable),
        }
    }

    /// The same of a file that is followed.
    fn cannot_read(&mut self, id: &FileId, error: &io::Error) {
        if let Some(path) = self.files.get(id).map(|file| file.path.clone()) {
            self.hurt(&path, error);
        }
    }

    /// A file is over: its records end here. Rows go as they come. Told to stop while events of it are read again, it is
    /// left as it was put away last.
    fn end(&mut self, id: &FileId) -> Result<Finished, Error> {
        while let Some(file) = self.files.get_mut(id) {
            match file.finish(self.catalogue, &mut self.tables) {
                Finished::Some => self.cut(false)?,
                Finished::Again if self.stop.load(Ordering::Relaxed) => return Ok(Finished::Again),
                Finished::Again => {
                    self.cap.borrow_mut().rest();
                    if !self.tables.is_small() {
                        self.cut(false)?;
                    }
                }
                finished => return Ok(finished),
            }
        }
        Ok(Finished::All)
    }

    fn finish(&mut self, id: &FileId) -> Result<(), Error> {
        let Some(file) = self.files.get_mut(id) else { return Ok(()) };
        if file.settle(self.catalogue, &self.tables) {
            return Ok(());
        }
        if self.end(id)? == Finished::Unread {
            let Some(file) = self.files.get_mut(id) else { return Ok(()) };
            let (name, reader) = (file.path.to_string_lossy().into_owned(), file.reader());
            let open = match file.file() {
                Ok(open) => open,
                Err(error) => {
                    file.leave();
                    self.cannot_read(id, &error);
                    return Ok(());
                }
            };
            debug!(file = name, "read as a whole");
            let (number, shipper) = (&mut self.number, &self.shipper);
            // Rows go as they come; the state, which says that all of it was read, with the last of them.
            let mut flush = |tables: &mut Tables, all: bool| {
                let messages = sink::messages(tables, self.catalogue, &self.config.name, number, all)?;
                if messages.is_empty() { Ok(()) } else { shipper.ship(Cycle::of_files(messages, Vec::new())) }
            };
            let mut files = Files::new(self.catalogue, true, &mut flush);
            let rest = || {
                self.cap.borrow_mut().rest();
                let is_told = self.stop.load(Ordering::Relaxed);
                if is_told {
                    Err(Error::new(FailureKind::Told, &name, "left to be read at the next start"))
                } else {
                    Ok(())
                }
            };
            files.breathe = &rest;
            std::mem::swap(&mut files.tables, &mut self.tables);
            let done = match &reader {
                Some(reader) => files.read_requests(&name, &open, reader).map(|_| ()),
                None => files.read(&name, &open).and_then(|()| files.again(&name, &open)),
            };
            std::mem::swap(&mut files.tables, &mut self.tables);
            match done {
                Err(error) if error.kind == FailureKind::Told => {
                    info!(file = name, "told to stop while it was read; it is read again at the next start");
                    self.files.values_mut().filter(|file| file.id == *id).for_each(Followed::leave);
                }
                done => done?,
            }
        }
        Ok(())
    }

    /// Ships all rows that are ready; once a second, and at the `last` cut, together with the states of their files.
    fn cut(&mut self, last: bool) -> Result<(), Error> {
        self.cut = machine::now();
        let behind = self.files.values().map(Followed::bytes_behind).sum();
        self.count(self.cut, behind);
        let lost = std::mem::take(&mut self.tables.lost);
        if lost > 0 {
            warn!(connections = lost, "events were to be kept, but their files are gone");
        }
        let (mut entries, mut messages) = (Vec::new(), Vec::new());
        let (mut droppable, mut passed) = (Vec::new(), None);
        let mut cut = |tables: &mut Tables, all: bool| {
            sink::messages(tables, self.catalogue, &self.config.name, &mut self.number, all)
        };
        if std::mem::take(&mut self.has_ended) || last || self.cut - self.put_away >= STATES {
            self.put_away = self.cut;
            entries.append(&mut self.gone);
            for file in self.files.values_mut().filter(|file| file.is_dirty) {
                loop {
                    file.show(&mut self.tables);
                    if self.tables.is_small() {
                        break;
                    }
                    messages.append(&mut cut(&mut self.tables, false)?);
                }
                file.put_away(&mut entries)?;
            }
            self.files.values_mut().for_each(|file| file.rest(self.cut));
            quiclens_heap::give_back();
            if let Some(spooled) = self.spooled.as_mut().filter(|spooled| spooled.is_dirty) {
                loop {
                    spooled.show();
                    if spooled.tables.is_small() {
                        break;
                    }
                    split(cut(&mut spooled.tables, false)?, &mut droppable, &mut messages);
                }
                passed = Some(spooled.put_away(&mut entries)?);
            }
        }
        messages.append(&mut cut(&mut self.tables, true)?);
        if let Some(spooled) = &mut self.spooled {
            split(cut(&mut spooled.tables, true)?, &mut droppable, &mut messages);
        }
        if let Some(heartbeat_us) = self.heartbeat.take() {
            for message in messages.iter_mut().chain(&mut droppable) {
                message.heartbeat_us = Some(heartbeat_us);
            }
        }
        let done: Vec<FileId> = self.files.values().filter(|file| file.is_done()).map(|file| file.id).collect();
        if !done.is_empty() {
            let done = done.iter().filter_map(|id| self.files.remove(id));
            self.over.extend(done.filter(|file| !file.is_deleted).map(|file| (file.id, Over::of(&file))));
            self.names.retain(|_, id| self.files.contains_key(id));
        }
        if !self.waiting.is_empty() && self.files.len() <= self.most / 2 {
            self.scanned = None;
        }
        self.tables.traces.clear();
        self.spooled.iter_mut().for_each(|spooled| spooled.tables.traces.clear());
        if messages.is_empty() && droppable.is_empty() && entries.is_empty() {
            return Ok(());
        }
        let began = machine::now();
        let shipped = self.shipper.ship(Cycle { messages, droppable, entries, passed, cut: began });
        let now = machine::now();
        let waited = now - began;
        self.stand(waited, now);
        self.standing += waited;
        // The next turn does not count it once more.
        self.turned += waited;
        shipped
    }

    /// No source of the spool is left: its connections are over.
    pub fn end_spooled(&mut self) -> Result<(), Error> {
        while self.spooled.as_mut().is_some_and(Spooled::end_some) {
            self.cut(false)?;
        }
        if let Some(spooled) = &mut self.spooled {
            spooled.finish(self.catalogue);
        }
        Ok(())
    }

    /// What ships its cycles.
    #[cfg(test)]
    pub fn shipper(&self) -> &Shipper {
        &self.shipper
    }

    /// Ships what is ready and waits until it is acknowledged.
    pub fn stop(mut self) -> Result<(), Error> {
        self.cut(true)?;
        self.shipper.finish()
    }
}

/// A file that is over, as it was then.
struct Over {
    size: u64,
    prefix: (u32, u64),
    changed: (i64, i64),
}

impl Over {
    fn of(file: &Followed<'_>) -> Self {
        Self { size: file.over_at(), prefix: file.prefix(), changed: file.over_changed() }
    }

    /// Whether the file at `path` is the one that was over, and has not grown.
    fn is_still(&mut self, path: &Path, look: &Look) -> bool {
        let changed = look.changed;
        if self.size != look.size || self.changed == changed {
            return self.size == look.size;
        }
        // The file was renamed, linked or given other rights; or it is another file.
        let head = || Ok(FileInput(Arc::new(machine::open_regular(path)?)).prefix(self.prefix.0)?);
        match head() {
            Ok(prefix) if prefix == self.prefix => {
                self.changed = changed;
                true
            }
            // The next scan tries again.
            Err(SourceFault::Unreadable(_)) => true,
            Ok(_) | Err(_) => false,
        }
    }
}

/// Events of the spool may be dropped, other rows not.
fn split(made: Vec<Message>, droppable: &mut Vec<Message>, messages: &mut Vec<Message>) {
    let (events, others): (Vec<_>, Vec<_>) = made.into_iter().partition(|message| message.table == "events");
    droppable.extend(events);
    messages.extend(others);
}

/// How long ago a file changed, by the clock of its file system; zero where that clock is ahead or has no times (1970).
fn unchanged_for(look: &Look, wall: Duration) -> Duration {
    let (seconds, nanoseconds) = look.changed;
    match (u64::try_from(seconds), u32::try_from(nanoseconds)) {
        (Ok(seconds @ 1..), Ok(nanoseconds)) => wall.saturating_sub(Duration::new(seconds, nanoseconds)),
        _ => Duration::ZERO,
    }
}

/// How long a file must not have grown to be over.
fn settled(file: &Followed<'_>, idle_timeout_s: u64) -> Duration {
    let is_soon = file.is_deleted || file.is_whole() && !file.is_cut;
    if is_soon { SETTLED } else { Duration::from_secs(idle_timeout_s) }
}

/// The watch; where there is none, a warning says that everything is polled.
fn polled_instead(notices: Result<Notices, Error>) -> Option<Notices> {
    notices.inspect_err(|error| warn!(kind = error.kind.name(), "{error}; polling instead")).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_system_whose_clock_is_ahead_or_that_has_none_makes_no_file_old() {
        let look = |changed| Look { device: 1, inode: 1, size: 1, is_deleted: false, changed };
        let wall = Duration::new(1000, 500);
        let found = [(990, 0), (1000, 500), (1001, 0), (0, 7), (-5, 0)].map(|at| unchanged_for(&look(at), wall));
        assert_eq!(found, [Duration::new(10, 500), Duration::ZERO, Duration::ZERO, Duration::ZERO, Duration::ZERO]);
    }
}
