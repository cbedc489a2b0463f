//! Which files to read: what lies below the given paths, symbolic links to files followed, those to folders as asked.

use quiclens_core::reader::skip::Skip;
use std::io::ErrorKind;
use std::path::{Path, PathBuf};
use walkdir::{DirEntry, WalkDir};

/// What becomes of symbolic links to folders below a given path; a given path itself may always be one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FolderLinks {
    /// They are searched, loops of them not.
    Followed,
    /// They are refused: whoever may write into a folder of logs could name the whole machine.
    Refused,
}

/// What a search has found.
#[derive(Debug, Default)]
pub struct Search {
    /// Files of any kind, in order of name, folder by folder.
    pub files: Vec<PathBuf>,
    /// Paths that cannot be followed: a folder without permission, a refused link, a link to a folder that it lies in, a
    /// name of nothing.
    pub refused: Vec<(PathBuf, Skip)>,
    /// Every folder could be read: a file that is not among the found ones is gone.
    pub is_whole: bool,
}

/// Searches `paths`, which are files or folders.
pub fn find(paths: &[PathBuf], links: FolderLinks) -> Search {
    let mut search = Search { is_whole: true, ..Search::default() };
    for path in paths {
        #[cfg(test)]
        if let Some(files) = crate::machine::files_below(path) {
            search.files.extend(files);
            continue;
        }
        for found in walk(path, links) {
            match found {
                Walked::Folder(_) => {}
                Walked::File(path) => search.files.push(path),
                Walked::RefusedLink(path) => search.refused.push((path, Skip::NotAFile)),
                Walked::Error(error) => {
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
pub fn folders(paths: &[PathBuf], links: FolderLinks) -> impl Iterator<Item = PathBuf> {
    paths.iter().flat_map(move |path| walk(path, links)).filter_map(|found| match found {
        Walked::Folder(path) => Some(path),
        _ => None,
    })
}

enum Walked {
    Folder(PathBuf),
    File(PathBuf),
    RefusedLink(PathBuf),
    Error(walkdir::Error),
}

fn walk(path: &Path, links: FolderLinks) -> impl Iterator<Item = Walked> + use<> {
    // Hidden files in folders of logs are not read, unless their own path is given.
    let is_shown = |entry: &DirEntry| entry.depth() == 0 || !entry.file_name().to_string_lossy().starts_with('.');
    let mut entries = WalkDir::new(path).follow_links(true).sort_by_file_name().into_iter().filter_entry(is_shown);
    std::iter::from_fn(move || {
        Some(match entries.next()? {
            Ok(entry) if !entry.file_type().is_dir() => Walked::File(entry.into_path()),
            Ok(entry) if links == FolderLinks::Refused && entry.depth() > 0 && entry.path_is_symlink() => {
                entries.skip_current_dir();
                Walked::RefusedLink(entry.into_path())
            }
            Ok(entry) => Walked::Folder(entry.into_path()),
            Err(error) => Walked::Error(error),
        })
    })
}

#[cfg(test)]
#[expect(clippy::unwrap_used, reason = "tests")]
mod tests {
    use super::*;
    use std::fs;
    use std::os::unix::fs::symlink;

    #[test]
    fn links_are_followed_once_and_a_loop_of_them_is_refused() {
        let (folder, other) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
        let root = folder.path().to_owned();
        fs::create_dir_all(root.join("b/.hidden")).unwrap();
        for name in ["a.qlog", "b/c.qlog", "b/.hidden/d.qlog", ".e.qlog"] {
            fs::write(root.join(name), "").unwrap();
        }
        symlink("..", root.join("b/up")).unwrap();
        symlink(".", root.join("here")).unwrap();
        symlink("nowhere", root.join("broken")).unwrap();
        symlink("a.qlog", root.join("link")).unwrap();
        fs::create_dir_all(other.path().join("deep")).unwrap();
        fs::write(other.path().join("deep/f.qlog"), "").unwrap();
        symlink(other.path(), root.join("b/other")).unwrap();
        let found = find(std::slice::from_ref(&root), FolderLinks::Followed);
        let under = |paths: &[&str]| paths.iter().map(|path| root.join(path)).collect::<Vec<_>>();
        assert_eq!(found.files, under(&["a.qlog", "b/c.qlog", "b/other/deep/f.qlog", "link"]));
        let refused = |found: &Search| -> Vec<_> {
            found.refused.iter().map(|(path, reason)| (path.clone(), reason.name())).collect()
        };
        let wanted = [("b/up", "not_a_file"), ("broken", "unreadable"), ("here", "not_a_file")];
        assert_eq!(refused(&found), wanted.map(|(path, reason)| (root.join(path), reason)));
        assert!(found.is_whole);
        let hidden = [root.join("b/.hidden")];
        assert_eq!(find(&hidden, FolderLinks::Followed).files, under(&["b/.hidden/d.qlog"]));
        // Whoever writes logs does not choose what else is read.
        let found = find(std::slice::from_ref(&root), FolderLinks::Refused);
        assert_eq!(found.files, under(&["a.qlog", "b/c.qlog", "link"]));
        let wanted = [("b/other", "not_a_file"), wanted[0], wanted[1], wanted[2]];
        assert_eq!(refused(&found), wanted.map(|(path, reason)| (root.join(path), reason)));
        assert!(found.is_whole);
        let below = folders(std::slice::from_ref(&root), FolderLinks::Refused);
        assert_eq!(below.collect::<Vec<_>>(), [root.clone(), root.join("b")]);
        let linked = root.join("b/other");
        assert_eq!(find(&[linked], FolderLinks::Refused).files, under(&["b/other/deep/f.qlog"]), "it was named");
    }
}
