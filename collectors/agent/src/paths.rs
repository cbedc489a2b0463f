//! Which files to read.

use std::path::PathBuf;

/// Files under the given paths, folders searched in order of name. The second list could not be read.
pub fn find(paths: &[PathBuf]) -> (Vec<PathBuf>, Vec<PathBuf>) {
    let (mut found, mut unreadable) = (Vec::new(), Vec::new());
    let mut queue: Vec<PathBuf> = paths.iter().rev().cloned().collect();
    while let Some(path) = queue.pop() {
        if path.is_dir() {
            match std::fs::read_dir(&path) {
                Ok(entries) => {
                    let mut inside: Vec<PathBuf> = entries.filter_map(Result::ok).map(|entry| entry.path()).collect();
                    inside.sort();
                    // Hidden files and notes lie in folders of logs; name them to have them read.
                    inside.retain(|path| !path.file_name().is_some_and(|name| name.to_string_lossy().starts_with('.')));
                    queue.extend(inside.into_iter().rev());
                }
                Err(_) => unreadable.push(path),
            }
        } else {
            found.push(path);
        }
    }
    (found, unreadable)
}
