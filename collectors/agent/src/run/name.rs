//! What a collector is called: as its settings say, else as it was called when its state folder was made, else as its
//! host is. A host that gets another name, or a container that is made anew over the same state, stays one collector.

use crate::error::Error;
use std::path::Path;

const FILE: &str = "name";
/// Longest name that is read, bytes; `HOST_NAME_MAX` of Linux is 64.
const LONGEST: usize = 255;

/// The name without one in the settings.
pub fn of(state_dir: &Path) -> String {
    let kept = std::fs::read_to_string(state_dir.join(FILE)).unwrap_or_default();
    let kept = kept.trim();
    if (1..=LONGEST).contains(&kept.len()) && !kept.contains(char::is_control) {
        return kept.to_owned();
    }
    std::fs::read_to_string("/proc/sys/kernel/hostname").map_or_else(|_| "collector".into(), |name| name.trim().into())
}

/// Remembers the first name, in a state folder that is there.
pub fn keep(state_dir: &Path, name: &str) -> Result<(), Error> {
    let (file, draft) = (state_dir.join(FILE), state_dir.join("name.new"));
    if file.exists() {
        return Ok(());
    }
    std::fs::write(&draft, format!("{name}\n"))
        .and_then(|()| std::fs::rename(&draft, &file))
        .map_err(|error| Error::of_state(file.display(), &error))
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
        for damaged in ["", "\n", "a\u{1b}[2Jb", &"a".repeat(256)] {
            std::fs::write(folder.join(FILE), damaged).unwrap();
            assert_eq!(of(&folder), host, "{damaged:?} is no name");
        }
        std::fs::remove_dir_all(&folder).unwrap();
    }
}
