//! Folders whose names outlive a crash of the machine.

use crate::machine::{self, File};
use std::io::{self, ErrorKind, Write};
use std::path::Path;

/// Makes what happened to a folder's names last.
pub fn sync_folder(folder: &Path) -> io::Result<()> {
    File::open(folder)?.sync_all()
}

/// Syncs the folder of `file`.
pub fn sync_parent(file: &Path) -> io::Result<()> {
    file.parent().map_or(Ok(()), sync_folder)
}

/// Writes `parts` to `draft`, and gives it the name `file` once they are durable; the name is durable then too. Both lie in
/// one folder.
pub fn write_durably(draft: &Path, file: &Path, parts: &[&[u8]]) -> io::Result<()> {
    let mut out = File::create(draft)?;
    parts.iter().try_for_each(|part| out.write_all(part))?;
    out.sync_all()?;
    machine::rename(draft, file)?;
    sync_parent(file)
}

/// Removes a file; one that is gone is removed.
pub fn remove_file(path: &Path) -> io::Result<()> {
    match machine::remove_file(path) {
        Err(error) if error.kind() == ErrorKind::NotFound => Ok(()),
        done => done,
    }
}

/// Makes a folder, and those above it that are missing, for this user alone. Afterwards each of them is either durable or not there, since
/// the files in a folder are lost with its name.
pub fn make_dir(folder: &Path) -> io::Result<()> {
    if folder.as_os_str().is_empty() || machine::is_dir(folder) {
        return Ok(());
    }
    let parent = folder.parent().filter(|parent| !parent.as_os_str().is_empty()).unwrap_or(Path::new("."));
    make_dir(parent)?;
    match machine::create_dir(folder) {
        Err(error) if error.kind() == ErrorKind::AlreadyExists && machine::is_dir(folder) => {}
        done => done?,
    }
    match sync_folder(parent) {
        // Whoever may not read it cannot sync it.
        Err(error) if error.kind() != ErrorKind::PermissionDenied => {
            let _ = machine::remove_dir(folder);
            Err(error)
        }
        _ => Ok(()),
    }
}

#[cfg(test)]
#[expect(clippy::unwrap_used, reason = "tests")]
mod tests {
    use super::*;
    use crate::machine::simulated::{self, Fault, PLACES, When};
    use std::os::unix::fs::PermissionsExt;

    #[test]
    fn a_folder_lasts_when_it_is_made_or_is_not_there() {
        for seed in 0..20 {
            simulated::begin(seed);
            machine::create_dir_all(Path::new("/state")).unwrap();
            let (folder, file) = (Path::new("/state/spool"), Path::new("/state/spool/reserve"));
            let at = PLACES.iter().position(|(call, place, ..)| (*call, *place) == ("sync", "state folder")).unwrap();
            simulated::world(|world| world.planned.push((When::At(at, 0), Fault::Io)));
            make_dir(folder).unwrap_err();
            assert!(!machine::exists(folder));
            make_dir(folder).unwrap();
            machine::write(file, b"x").unwrap();
            sync_folder(folder).unwrap();
            simulated::world(|world| world.restart(true));
            assert!(machine::exists(file) && machine::is_dir(folder), "{seed}");
            simulated::end();
        }
    }

    #[test]
    fn all_folders_of_a_path_are_made_and_a_file_in_the_way_is_an_error() {
        let root = tempfile::tempdir().unwrap();
        let folder = root.path().join("a/b/c");
        make_dir(&folder).unwrap();
        make_dir(&folder).unwrap();
        for made in ["a", "a/b", "a/b/c"] {
            assert_eq!(root.path().join(made).metadata().unwrap().permissions().mode() & 0o777, 0o700, "{made}");
        }
        std::fs::write(folder.join("file"), "").unwrap();
        make_dir(&folder.join("file")).unwrap_err();
        make_dir(&folder.join("file/below")).unwrap_err();
    }
}
