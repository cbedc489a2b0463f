//! Checkpoints: how far each file was shipped, and the state of its reading there.
//!
//! One append-only file. An entry is its length, its hash and its bytes; the newest of a file counts. It is written
//! after the sink acknowledged everything that the entry stands for, and synced before anybody relies on it. What a
//! flipped byte damages is one entry, whose file is read again from its start. When old entries outweigh the live
//! ones the file is written anew beside the old one, synced and renamed.

use crate::records::SavedRecords;
use crate::requests::Lines;
use quiclens_core::trace::Saved;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::fs::{File, OpenOptions};
use std::io::{self, Read, Write};
use std::path::{Path, PathBuf};
use xxhash_rust::xxh3::xxh3_64;

/// A file, whatever it is called. Inodes are used again: [`Entry::prefix`] tells a new file from the old one.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub struct FileId {
    /// Device.
    pub device: u64,
    /// Inode.
    pub inode: u64,
}

/// What is known of a file.
#[derive(Debug, Serialize, Deserialize)]
pub struct Entry {
    /// Which file.
    pub id: FileId,
    /// First bytes of it that were hashed, and their hash.
    pub prefix: (u32, u64),
    /// Decompressed bytes that were shipped.
    pub offset: u64,
    /// State at `offset`; none for a file that is over.
    pub state: Option<State>,
    /// Forgotten: the file is gone.
    pub is_gone: bool,
}

impl Entry {
    /// Of a file that is over.
    pub fn over(id: FileId, offset: u64, prefix: (u32, u64)) -> Self {
        Self { id, prefix, offset, state: None, is_gone: false }
    }
}

/// A file's reading, put away.
#[derive(Debug, Serialize, Deserialize)]
pub enum State {
    /// Of a trace.
    Records(Box<SavedRecords>),
    /// Of an access log.
    Lines(Lines),
}

const MAGIC: &[u8; 16] = b"quiclens-state-1";
const COMPACT_AT: u64 = 8 << 20;
const LARGEST_ENTRY: u32 = 256 << 20;

/// The journal of one collector.
pub struct Journal {
    path: PathBuf,
    file: File,
    size: u64,
    live: BTreeMap<FileId, u64>,
}

/// What a journal held when it was opened.
#[derive(Debug, Default)]
pub struct Found {
    /// Newest entry of each file.
    pub entries: BTreeMap<FileId, Entry>,
    /// Entries that were damaged, or of another build.
    pub damaged: u64,
}

impl Journal {
    /// Opens or makes the journal in a folder.
    pub fn open(folder: &Path) -> Result<(Self, Found), String> {
        std::fs::create_dir_all(folder).map_err(|error| format!("cannot make {}: {error}", folder.display()))?;
        let path = folder.join("checkpoints");
        let said = |error: io::Error| format!("cannot use {}: {error}", path.display());
        let mut file = OpenOptions::new().read(true).append(true).create(true).open(&path).map_err(said)?;
        if file.try_lock().is_err() {
            return Err(format!("{} is in use by another collector", folder.display()));
        }
        let mut bytes = Vec::new();
        file.read_to_end(&mut bytes).map_err(said)?;
        let version = Saved::VERSION.to_le_bytes();
        let mut found = Found::default();
        let is_ours =
            bytes.get(..MAGIC.len()) == Some(MAGIC) && bytes.get(MAGIC.len()..MAGIC.len() + 8) == Some(&version);
        if is_ours {
            found = read(&bytes[MAGIC.len() + 8..]);
        } else if !bytes.is_empty() {
            found.damaged = 1;
        }
        let mut journal = Self { path, file, size: bytes.len() as u64, live: BTreeMap::new() };
        // A damaged tail would swallow what is written after it, so the live entries are always written anew.
        journal.rewrite(found.entries.values())?;
        Ok((journal, found))
    }

    /// Appends entries and syncs. Only then may anybody rely on them.
    pub fn commit(&mut self, entries: &[Entry]) -> Result<(), String> {
        if entries.is_empty() {
            return Ok(());
        }
        let mut bytes = Vec::new();
        for entry in entries {
            let length = push(&mut bytes, entry)?;
            if entry.is_gone {
                self.live.remove(&entry.id);
            } else {
                self.live.insert(entry.id.clone(), length);
            }
        }
        let said = |error: io::Error| format!("cannot write {}: {error}", self.path.display());
        self.file.write_all(&bytes).map_err(said)?;
        self.file.sync_data().map_err(said)?;
        self.size += bytes.len() as u64;
        Ok(())
    }

    /// Bytes of the file.
    pub fn size(&self) -> u64 {
        self.size
    }

    /// Old entries outweigh the live ones: [`Journal::rewrite`] is due.
    pub fn is_heavy(&self) -> bool {
        self.size > COMPACT_AT && self.size > 3 * self.live.values().sum::<u64>()
    }

    /// Writes the live entries anew: beside the old file, synced, renamed, the folder synced.
    pub fn rewrite<'e>(&mut self, entries: impl Iterator<Item = &'e Entry>) -> Result<(), String> {
        let draft = self.path.with_extension("new");
        let said = |error: io::Error| format!("cannot write {}: {error}", draft.display());
        let mut bytes = MAGIC.to_vec();
        bytes.extend_from_slice(&Saved::VERSION.to_le_bytes());
        self.live.clear();
        for entry in entries {
            let length = push(&mut bytes, entry)?;
            self.live.insert(entry.id.clone(), length);
        }
        let mut file = OpenOptions::new().create(true).truncate(true).write(true).open(&draft).map_err(said)?;
        file.write_all(&bytes).map_err(said)?;
        file.sync_all().map_err(said)?;
        std::fs::rename(&draft, &self.path).map_err(said)?;
        if let Some(folder) = self.path.parent() {
            File::open(folder).and_then(|folder| folder.sync_all()).map_err(said)?;
        }
        self.file = OpenOptions::new().read(true).append(true).open(&self.path).map_err(said)?;
        self.file.try_lock().map_err(|_| format!("{} is in use by another collector", self.path.display()))?;
        self.size = bytes.len() as u64;
        Ok(())
    }
}

fn push(bytes: &mut Vec<u8>, entry: &Entry) -> Result<u64, String> {
    let payload = postcard::to_stdvec(entry).map_err(|error| format!("cannot put a state away: {error}"))?;
    let length = u32::try_from(payload.len()).map_err(|_| "a state of more than 4 GiB".to_owned())?;
    bytes.extend_from_slice(&length.to_le_bytes());
    bytes.extend_from_slice(&xxh3_64(&payload).to_le_bytes());
    bytes.extend_from_slice(&payload);
    Ok(payload.len() as u64 + 12)
}

/// Entries of a journal's body; what is damaged is passed over by its length, or to the end where that is damaged too.
fn read(mut bytes: &[u8]) -> Found {
    let mut found = Found::default();
    while let Some((head, rest)) = bytes.split_at_checked(12) {
        let length = head[..4].try_into().map(u32::from_le_bytes).unwrap_or(u32::MAX);
        let hash = head[4..].try_into().map(u64::from_le_bytes).unwrap_or_default();
        let Some((payload, rest)) = rest.split_at_checked(length as usize).filter(|_| length <= LARGEST_ENTRY) else {
            break;
        };
        bytes = rest;
        match postcard::from_bytes::<Entry>(payload) {
            Ok(entry) if xxh3_64(payload) == hash => {
                if entry.is_gone {
                    found.entries.remove(&entry.id);
                } else {
                    found.entries.insert(entry.id.clone(), entry);
                }
            }
            _ => found.damaged += 1,
        }
    }
    found.damaged += u64::from(!bytes.is_empty());
    found
}

#[cfg(test)]
#[expect(clippy::unwrap_used, reason = "tests")]
mod tests {
    use super::*;

    fn entry(inode: u64, offset: u64) -> Entry {
        Entry { id: FileId { device: 1, inode }, prefix: (4, 5), offset, state: None, is_gone: false }
    }

    fn folder(name: &str) -> PathBuf {
        let folder = std::env::temp_dir().join(format!("quiclens-journal-{name}-{}", std::process::id()));
        let _ = std::fs::remove_dir_all(&folder);
        folder
    }

    #[test]
    fn the_newest_entry_of_each_file_comes_back() {
        let folder = folder("newest");
        let (mut journal, found) = Journal::open(&folder).unwrap();
        assert!(found.entries.is_empty() && found.damaged == 0);
        journal.commit(&[entry(1, 10), entry(2, 20)]).unwrap();
        journal.commit(&[entry(1, 30), Entry { is_gone: true, ..entry(2, 0) }]).unwrap();
        assert!(Journal::open(&folder).is_err_and(|error| error.contains("in use")));
        drop(journal);
        let (_, found) = Journal::open(&folder).unwrap();
        assert_eq!(found.entries.values().map(|entry| entry.offset).collect::<Vec<_>>(), [30]);
    }

    #[test]
    fn a_flipped_byte_costs_one_entry_and_a_cut_tail_the_last() {
        let folder = folder("flipped");
        let (mut journal, _) = Journal::open(&folder).unwrap();
        journal.commit(&[entry(1, 10), entry(2, 20), entry(3, 30)]).unwrap();
        drop(journal);
        let path = folder.join("checkpoints");
        let whole = std::fs::read(&path).unwrap();
        let size = (whole.len() - 24) / 3;
        let mut flipped = whole.clone();
        flipped[24 + size + 14] ^= 1;
        std::fs::write(&path, &flipped).unwrap();
        let (journal, found) = Journal::open(&folder).unwrap();
        assert_eq!((found.entries.len(), found.damaged), (2, 1));
        drop(journal);
        std::fs::write(&path, &whole[..whole.len() - 3]).unwrap();
        let (_, found) = Journal::open(&folder).unwrap();
        assert_eq!((found.entries.len(), found.damaged), (2, 1));
    }
}
