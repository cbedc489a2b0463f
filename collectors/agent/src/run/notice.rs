//! Notifications of the kernel about watched folders: which files were made, grew or were renamed since the last call.
//!
//! Where the kernel does not notify (network file systems, too many folders) the follower polls.

use crate::error::{Error, FailureKind};
use crate::paths::{FolderLinks, folders};
use inotify::{EventMask, Inotify, WatchDescriptor, WatchMask, Watches};
use std::collections::{BTreeSet, HashMap, HashSet};
use std::ffi::OsString;
use std::io::ErrorKind;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Condvar, Mutex, PoisonError};
use std::time::Duration;

/// Notifications within this time cause one wake-up.
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
    /// Folders came or moved, or notifications were dropped: everything must be scanned.
    pub is_incomplete: bool,
}

#[derive(Default)]
struct RawNotices {
    events: HashSet<(WatchDescriptor, OsString, bool)>,
    /// Watches of folders that are gone.
    ended: Vec<WatchDescriptor>,
    is_incomplete: bool,
    error: Option<std::io::Error>,
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
        folders(places, FolderLinks::Refused).try_for_each(|folder| self.add(&folder))
    }

    fn add(&mut self, folder: &Path) -> Result<(), Error> {
        let said = |error: std::io::Error| Error::of_state(folder.display(), &error);
        // The folder of a bare name is this one.
        let here = if folder.as_os_str().is_empty() { Path::new(".") } else { folder };
        let kind = match rustix::fs::statfs(here) {
            Ok(kind) => kind,
            // The folder is missing or cannot be looked at; the next scan tries again.
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
    pub fn wait(&mut self, most: Duration) -> Result<News, Error> {
        let (raw, come) = &*self.shared;
        let held = raw.lock().unwrap_or_else(PoisonError::into_inner);
        let none = |raw: &mut RawNotices| raw.events.is_empty() && !raw.is_incomplete && raw.error.is_none();
        let (mut held, _) = come.wait_timeout_while(held, most, none).unwrap_or_else(PoisonError::into_inner);
        let raw = std::mem::take(&mut *held);
        drop(held);
        if let Some(error) = raw.error {
            return Err(Error::of_state("inotify", &error));
        }
        let mut news = News { is_incomplete: raw.is_incomplete, ..News::default() };
        for (watch, name, is_left) in raw.events {
            if let Some(folder) = self.folders.get(&watch) {
                if is_left { &mut news.left } else { &mut news.changed }.insert(folder.join(name));
            }
        }
        raw.ended.iter().for_each(|watch| _ = self.folders.remove(watch));
        Ok(news)
    }
}

fn listen(mut inotify: Inotify, shared: &SharedNotices) {
    let mut buffer = vec![0; 64 << 10];
    let (raw, come) = &**shared;
    loop {
        let read = inotify.read_events_blocking(&mut buffer);
        let mut held = raw.lock().unwrap_or_else(PoisonError::into_inner);
        let events = match read {
            Ok(events) => events,
            Err(error) if error.kind() == ErrorKind::Interrupted => continue,
            Err(error) => {
                held.error = Some(error);
                come.notify_one();
                return;
            }
        };
        for event in events {
            if event.mask.contains(EventMask::IGNORED) {
                held.ended.push(event.wd);
                continue;
            }
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

#[cfg(test)]
#[expect(clippy::unwrap_used, reason = "tests")]
mod tests {
    use super::*;

    #[test]
    fn a_folder_that_is_gone_is_watched_no_more() {
        let place = std::env::temp_dir().join(format!("quiclens-notice-{}", std::process::id()));
        std::fs::create_dir_all(place.join("day-1")).unwrap();
        let mut notices = Notices::start().unwrap();
        notices.watch(std::slice::from_ref(&place)).unwrap();
        assert_eq!(notices.folders.len(), 2);
        std::fs::write(place.join("day-1/a.sqlog"), "a").unwrap();
        let news = notices.wait(Duration::from_secs(60)).unwrap();
        assert!(news.changed.contains(&place.join("day-1/a.sqlog")));
        std::fs::remove_dir_all(place.join("day-1")).unwrap();
        while notices.folders.len() == 2 {
            notices.wait(Duration::from_secs(60)).unwrap();
        }
        std::fs::remove_dir_all(&place).unwrap();
        while !notices.folders.is_empty() {
            notices.wait(Duration::from_millis(100)).unwrap();
        }
    }
}
