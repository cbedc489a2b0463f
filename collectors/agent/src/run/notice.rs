//! News of watched folders, from the kernel: which files were made, grew or were renamed since they were last asked for.
//!
//! Where the kernel tells nothing (network file systems, too many folders) the follower looks itself, as often as it
//! would otherwise wait for news.

use crate::error::{Error, FailureKind};
use crate::paths::folders;
use inotify::{EventMask, Inotify, WatchDescriptor, WatchMask, Watches};
use std::collections::{BTreeSet, HashMap, HashSet};
use std::ffi::OsString;
use std::io::ErrorKind;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Condvar, Mutex, PoisonError};
use std::time::Duration;

/// News within so long are one wake-up.
const GATHER: Duration = Duration::from_millis(10);

/// Magic numbers of file systems whose changes are made elsewhere too (statfs(2)): NFS, SMB, SMB2, CIFS, FUSE, 9P, Ceph.
const REMOTE: [u32; 7] = [0x6969, 0x517B, 0xFE53_4D42, 0xFF53_4D42, 0x6573_5546, 0x0102_1997, 0x00C3_6400];

/// What has happened.
#[derive(Debug, Default)]
pub struct News {
    /// Files that were made, grew, or got this name.
    pub changed: BTreeSet<PathBuf>,
    /// Names that are no more, or stand for another file.
    pub left: BTreeSet<PathBuf>,
    /// Folders came or moved, or news were dropped: everything should be looked through.
    pub is_incomplete: bool,
}

#[derive(Default)]
struct RawNotices {
    events: HashSet<(WatchDescriptor, OsString, bool)>,
    is_incomplete: bool,
}

type SharedNotices = Arc<(Mutex<RawNotices>, Condvar)>;

/// The watch over some places.
pub struct Notices {
    watches: Watches,
    folders: HashMap<WatchDescriptor, PathBuf>,
    shared: SharedNotices,
}

impl Notices {
    /// Watches nothing yet. The error says why nothing can be watched at all.
    pub fn start() -> Result<Self, Error> {
        let inotify = Inotify::init().map_err(|error| Error::of_state("inotify", &error))?;
        let watches = inotify.watches();
        let shared = SharedNotices::default();
        let told = Arc::clone(&shared);
        std::thread::Builder::new()
            .name("notice".into())
            .spawn(move || listen(inotify, &told))
            .map_err(|error| Error::internal(format!("cannot start a thread: {error}")))?;
        Ok(Self { watches, folders: HashMap::new(), shared })
    }

    /// Watches the places: folders with all below them; of a file its folder, for it may be renamed. Folders that are
    /// watched already stay so.
    pub fn watch(&mut self, places: &[PathBuf]) -> Result<(), Error> {
        for place in places.iter().filter(|place| !place.is_dir()) {
            place.parent().map_or(Ok(()), |parent| self.add(parent))?;
        }
        folders(places).try_for_each(|folder| self.add(&folder))
    }

    fn add(&mut self, folder: &Path) -> Result<(), Error> {
        let said = |error: std::io::Error| Error::of_state(folder.display(), &error);
        // The folder of a bare name is this one.
        let here = if folder.as_os_str().is_empty() { Path::new(".") } else { folder };
        let kind = match rustix::fs::statfs(here) {
            Ok(kind) => kind,
            // It will be there, or not; the next scan knows.
            Err(_) => return Ok(()),
        };
        if REMOTE.iter().any(|magic| i128::from(*magic) == i128::from(kind.f_type)) {
            return Err(Error::new(
                FailureKind::State,
                folder.display(),
                "the file system may be written by other machines",
            ));
        }
        let what = WatchMask::CREATE | WatchMask::MODIFY | WatchMask::MOVE | WatchMask::DELETE | WatchMask::ONLYDIR;
        match self.watches.add(here, what) {
            Ok(watch) => {
                self.folders.insert(watch, folder.to_owned());
                Ok(())
            }
            // What cannot be read is not followed either.
            Err(error) if matches!(error.kind(), ErrorKind::NotFound | ErrorKind::PermissionDenied) => Ok(()),
            Err(error) => Err(said(error)),
        }
    }

    /// News since the last time; waits for some, at most so long.
    pub fn wait(&self, most: Duration) -> News {
        let (raw, come) = &*self.shared;
        let held = raw.lock().unwrap_or_else(PoisonError::into_inner);
        let none = |raw: &mut RawNotices| raw.events.is_empty() && !raw.is_incomplete;
        let (mut held, _) = come.wait_timeout_while(held, most, none).unwrap_or_else(PoisonError::into_inner);
        let raw = std::mem::take(&mut *held);
        drop(held);
        let mut news = News { is_incomplete: raw.is_incomplete, ..News::default() };
        for (watch, name, is_left) in raw.events {
            if let Some(folder) = self.folders.get(&watch) {
                if is_left { &mut news.left } else { &mut news.changed }.insert(folder.join(name));
            }
        }
        news
    }
}

fn listen(mut inotify: Inotify, shared: &SharedNotices) {
    let mut buffer = vec![0; 64 << 10];
    loop {
        let Ok(events) = inotify.read_events_blocking(&mut buffer) else { return };
        let (raw, come) = &**shared;
        let mut held = raw.lock().unwrap_or_else(PoisonError::into_inner);
        for event in events {
            let is_left = event.mask.intersects(EventMask::MOVED_FROM | EventMask::DELETE);
            // A folder is no file: everything is looked through, and it is watched.
            let is_folder = event.mask.contains(EventMask::ISDIR);
            held.is_incomplete |= is_folder || event.mask.contains(EventMask::Q_OVERFLOW);
            if let Some(name) = event.name.filter(|_| !is_folder) {
                held.events.insert((event.wd, name.to_owned(), is_left));
            }
        }
        drop(held);
        come.notify_one();
        std::thread::sleep(GATHER);
    }
}
