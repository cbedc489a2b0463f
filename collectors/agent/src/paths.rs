//! Which files to read: what lies below the given paths, symbolic links followed, loops of them not.

use quiclens_core::reader::skip::Skip;
use std::io::ErrorKind;
use std::path::{Path, PathBuf};
use walkdir::{DirEntry, WalkDir};

/// What a search has found.
#[derive(Debug, Default)]
pub struct Search {
    /// Files of any kind, in order of name, folder by folder.
    pub files: Vec<PathBuf>,
    /// Paths that cannot be followed: a folder without permission, a link to a folder that it lies in, a name of
    /// nothing.
    pub refused: Vec<(PathBuf, Skip)>,
    /// Every folder could be read: a file that is not among the found ones is gone.
    pub is_whole: bool,
}

/// Searches `paths`, which are files or folders.
pub fn find(paths: &[PathBuf]) -> Search {
    let mut search = Search { is_whole: true, ..Search::default() };
    for path in paths {
        #[cfg(test)]
        if let Some(files) = crate::machine::files_below(path) {
            search.files.extend(files);
            continue;
        }
        for entry in walk(path) {
            match entry {
                Ok(entry) if entry.file_type().is_dir() => {}
                Ok(entry) => search.files.push(entry.into_path()),
                Err(error) => {
                    let place = error.path().unwrap_or(path).to_owned();
                    let kind = error.io_error().map(std::io::Error::kind);
                    search.is_whole &= error.loop_ancestor().is_some() || kind == Some(ErrorKind::NotFound);
                    let reason = if error.loop_ancestor().is_some() { Skip::NotAFile } else { Skip::Unreadable };
                    search.refused.push((place, reason));
                }
            }
        }
    }
    search
}

/// The folders among `paths` and below them, as far as they can be read.
pub fn folders(paths: &[PathBuf]) -> impl Iterator<Item = PathBuf> {
    let entries = paths.iter().flat_map(|path| walk(path)).filter_map(Result::ok);
    entries.filter(|entry| entry.file_type().is_dir()).map(DirEntry::into_path)
}

fn walk(path: &Path) -> impl Iterator<Item = walkdir::Result<DirEntry>> + use<> {
    // Hidden files in folders of logs are not read, unless their own path is given.
    let is_shown = |entry: &DirEntry| entry.depth() == 0 || !entry.file_name().to_string_lossy().starts_with('.');
    WalkDir::new(path).follow_links(true).sort_by_file_name().into_iter().filter_entry(is_shown)
}

#[cfg(test)]
#[expect(clippy::unwrap_used, reason = "tests")]
mod tests {
    use super::*;
    use std::fs;
    use std::os::unix::fs::symlink;

    #[test]
    fn links_are_followed_once_and_a_loop_of_them_is_refused() {
        let folder = tempfile::tempdir().unwrap();
        let root = folder.path().to_owned();
        fs::create_dir_all(root.join("b/.hidden")).unwrap();
        for name in ["a.qlog", "b/c.qlog", "b/.hidden/d.qlog", ".e.qlog"] {
            fs::write(root.join(name), "").unwrap();
        }
        symlink("..", root.join("b/up")).unwrap();
        symlink(".", root.join("here")).unwrap();
        symlink("nowhere", root.join("broken")).unwrap();
        symlink("a.qlog", root.join("link")).unwrap();
        let found = find(std::slice::from_ref(&root));
        let under = |paths: &[&str]| paths.iter().map(|path| root.join(path)).collect::<Vec<_>>();
        assert_eq!(found.files, under(&["a.qlog", "b/c.qlog", "link"]));
        let refused: Vec<_> = found.refused.iter().map(|(path, reason)| (path.clone(), reason.name())).collect();
        let wanted = [("b/up", "not_a_file"), ("broken", "unreadable"), ("here", "not_a_file")];
        assert_eq!(refused, wanted.map(|(path, reason)| (root.join(path), reason)));
        assert!(found.is_whole);
        assert_eq!(folders(std::slice::from_ref(&root)).collect::<Vec<_>>(), [root.clone(), root.join("b")]);
        assert_eq!(find(&[root.join("b/.hidden")]).files, under(&["b/.hidden/d.qlog"]));
    }
}
