//! The name of a collector: from its configuration, else from its state folder, else the host's name. A host that gets
//! another name, or a container that is recreated over the same state, stays one collector.

use crate::error::Error;
use crate::run::folders::write_durably;
use std::path::Path;

const FILE: &str = "name";
/// Longest name, bytes: names of batches, which are names of files, begin with it. `HOST_NAME_MAX` of Linux is 64.
const LONGEST: usize = 200;

/// Whether a collector may have this name: it is the beginning of a file's name, which is not hidden, and stands in lines.
pub fn is_valid(name: &str) -> bool {
    (1..=LONGEST).contains(&name.len())
        && !name.starts_with('.')
        && !name.contains(|c: char| c == '/' || c.is_control())
}

fn kept(state_dir: &Path) -> Option<String> {
    let kept = std::fs::read_to_string(state_dir.join(FILE)).ok()?;
    Some(kept.trim().to_owned()).filter(|kept| is_valid(kept))
}

/// The name without one in the settings.
pub fn of(state_dir: &Path) -> String {
    let host = || {
        let host = std::fs::read_to_string("/proc/sys/kernel/hostname").ok()?;
        Some(host.trim().to_owned()).filter(|host| is_valid(host))
    };
    kept(state_dir).or_else(host).unwrap_or_else(|| "collector".to_owned())
}

/// Remembers the first name, durably, in a state folder that is there. A damaged file is written again.
pub fn keep(state_dir: &Path, name: &str) -> Result<(), Error> {
    let (file, draft) = (state_dir.join(FILE), state_dir.join("name.new"));
    if kept(state_dir).is_some() {
        return Ok(());
    }
    write_durably(&draft, &file, &[name.as_bytes(), b"\n"]).map_err(|error| Error::of_state(file.display(), &error))
}

#[cfg(test)]
#[expect(clippy::unwrap_used, reason = "tests")]
mod tests {
    use super::*;

    #[test]
    fn the_first_name_stays() {
        let folder = std::env::temp_dir().join(format!("quiclens-name-{}", std::process::id()));
        std::fs::create_dir_all(&folder).unwrap();
        let host = of(&folder);
        assert!(!host.is_empty());
        keep(&folder, "edge-1").unwrap();
        keep(&folder, "edge-2").unwrap();
        assert_eq!(of(&folder), "edge-1");
        for damaged in ["", "\n", "a\u{1b}[2Jb", "a/b", ".a", &"a".repeat(256)] {
            std::fs::write(folder.join(FILE), damaged).unwrap();
            assert_eq!(of(&folder), host, "{damaged:?} is no name");
        }
        keep(&folder, "edge-3").unwrap();
        assert_eq!(of(&folder), "edge-3", "a damaged file is written again");
        std::fs::remove_dir_all(&folder).unwrap();
    }
}
