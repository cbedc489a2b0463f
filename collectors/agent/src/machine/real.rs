//! The machine itself.

pub use quiclens_tail::{append_at, open_regular};
pub use std::fs::{File, OpenOptions, read, remove_dir, remove_file, rename, write};
pub use std::process::id as process_id;
pub use std::thread::sleep;

use super::Look;
use std::fs::DirBuilder;
use std::io;
use std::os::unix::fs::{DirBuilderExt, FileExt};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

/// The clock that only goes forward.
pub fn now() -> Instant {
    Instant::now()
}

/// Time since 1970.
pub fn wall() -> Duration {
    SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default()
}

/// A file by its name.
pub fn look(path: &Path) -> io::Result<Look> {
    path.metadata().map(Look::from)
}

/// An open file.
pub fn look_at(file: &File) -> io::Result<Look> {
    file.metadata().map(Look::from)
}

/// Makes a folder for this user alone: it holds pieces of logs as they are.
pub fn create_dir(folder: &Path) -> io::Result<()> {
    DirBuilder::new().mode(0o700).create(folder)
}

/// What lies in a folder.
pub fn list(folder: &Path) -> io::Result<Vec<PathBuf>> {
    std::fs::read_dir(folder)?.map(|entry| entry.map(|entry| entry.path())).collect()
}

/// Something has this name.
pub fn exists(path: &Path) -> bool {
    path.symlink_metadata().is_ok()
}

/// A folder has this name.
pub fn is_dir(path: &Path) -> bool {
    path.is_dir()
}

/// A symbolic link has this name.
pub fn is_symlink(path: &Path) -> bool {
    path.is_symlink()
}

/// Bytes that are free where a folder is; `None` where nobody says.
pub fn free_bytes(folder: &Path) -> Option<u64> {
    rustix::fs::statvfs(folder).ok().map(|disk| disk.f_bavail.saturating_mul(disk.f_frsize))
}

/// Fills `bytes` from `offset` on.
pub fn read_exact_at(file: &File, bytes: &mut [u8], offset: u64) -> io::Result<()> {
    file.read_exact_at(bytes, offset)
}

/// The file for a reader that reads it from its beginning to its end.
pub fn whole(file: &Arc<File>) -> io::Result<Arc<std::fs::File>> {
    Ok(Arc::clone(file))
}
