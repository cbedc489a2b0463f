//! Messages that wait on disk for a sink that is away, a file each, so that the checkpoint can move without them.

use crate::error::is_full;
use crate::machine::{self, File};
use crate::run::folders::{make_dir, remove_file, sync_folder};
use crate::run::sink::Message;
use serde::{Deserialize, Serialize};
use std::collections::VecDeque;
use std::io::{self, Write};
use std::path::{Path, PathBuf};
use xxhash_rust::xxh3::xxh3_64;

const SUFFIX: &str = "waiting";
const HASH: usize = 8;

/// The folder.
pub struct Outbox {
    folder: PathBuf,
    /// Number and size of each file, oldest first.
    waiting: VecDeque<(u64, u64)>,
    next: u64,
    max_bytes: u64,
}

#[derive(Serialize, Deserialize)]
struct StoredMessage {
    table: String,
    rows: usize,
    batch: String,
    made_us: i64,
    bytes: Vec<u8>,
}

/// The oldest message.
pub enum Oldest {
    /// As it was put there.
    Message(Message),
    /// Its bytes are others than were written.
    Damaged(Vec<u8>),
}

impl Outbox {
    /// Opens or makes the folder.
    pub fn open(folder: &Path, max_bytes: u64) -> io::Result<Self> {
        make_dir(folder)?;
        let mut waiting = Vec::new();
        for path in machine::list(folder)? {
            let number = path.file_stem().and_then(|stem| stem.to_str()?.parse().ok());
            match number {
                Some(number) if path.extension().is_some_and(|suffix| suffix == SUFFIX) => {
                    waiting.push((number, machine::look(&path)?.size));
                }
                _ => {}
            }
        }
        waiting.sort_unstable();
        let next = waiting.last().map_or(0, |(number, _)| number + 1);
        Ok(Self { folder: folder.to_owned(), waiting: waiting.into(), next, max_bytes })
    }

    fn path(&self, number: u64) -> PathBuf {
        self.folder.join(format!("{number:020}.{SUFFIX}"))
    }

    /// Messages that wait, and their bytes.
    pub fn waiting(&self) -> (usize, u64) {
        (self.waiting.len(), self.waiting.iter().map(|(_, size)| size).sum())
    }

    /// Nothing waits.
    pub fn is_empty(&self) -> bool {
        self.waiting.is_empty()
    }

    /// Puts messages behind the others, and syncs them. False when there is no room; then none of them stays. After an
    /// error some may stay, and are given to the sink once more.
    pub fn put(&mut self, messages: &[Message]) -> io::Result<bool> {
        let bytes: u64 = messages.iter().map(|message| message.bytes.len() as u64).sum();
        if self.waiting().1 + bytes > self.max_bytes {
            return Ok(false);
        }
        let first = self.next;
        for message in messages {
            match self.write(message) {
                Ok(size) => {
                    self.waiting.push_back((self.next, size));
                    self.next += 1;
                }
                Err(error) => {
                    self.take_back(first)?;
                    return if is_full(&error) { Ok(false) } else { Err(error) };
                }
            }
        }
        sync_folder(&self.folder)?;
        Ok(true)
    }

    /// Removes the messages from number `first` on. One whose file stays is counted on.
    fn take_back(&mut self, first: u64) -> io::Result<()> {
        while self.next > first {
            remove_file(&self.path(self.next - 1))?;
            self.waiting.pop_back();
            self.next -= 1;
        }
        Ok(())
    }

    fn write(&self, message: &Message) -> io::Result<u64> {
        let Message { table, rows, batch, made_us, bytes, .. } = message.clone();
        let stored = StoredMessage { table: table.to_owned(), rows, batch, made_us, bytes };
        let body = postcard::to_stdvec(&stored).map_err(io::Error::other)?;
        let draft = self.folder.join("draft");
        let mut file = File::create(&draft)?;
        file.write_all(&xxh3_64(&body).to_le_bytes())?;
        file.write_all(&body)?;
        file.sync_all()?;
        machine::rename(&draft, self.path(self.next))?;
        Ok((HASH + body.len()) as u64)
    }

    /// The message that has waited longest, with its number.
    pub fn oldest(&self) -> io::Result<Option<(u64, Oldest)>> {
        let Some((number, _)) = self.waiting.front() else { return Ok(None) };
        let bytes = machine::read(self.path(*number))?;
        let message = bytes.split_at_checked(HASH).and_then(|(hash, body)| {
            let is_sound = hash == xxh3_64(body).to_le_bytes();
            let stored: StoredMessage = postcard::from_bytes(body).ok().filter(|_| is_sound)?;
            let table = Message::known_table(&stored.table)?;
            let StoredMessage { rows, batch, made_us, bytes, .. } = stored;
            Some(Message { table, rows, batch, made_us, heartbeat_us: None, bytes })
        });
        Ok(Some((*number, message.map_or(Oldest::Damaged(bytes), Oldest::Message))))
    }

    /// The oldest was taken.
    pub fn taken(&mut self) -> io::Result<()> {
        let Some((number, _)) = self.waiting.front() else { return Ok(()) };
        // A file that stays is counted on, and its message is given again.
        remove_file(&self.path(*number))?;
        self.waiting.pop_front();
        Ok(())
    }
}

#[cfg(test)]
#[expect(clippy::unwrap_used, reason = "tests")]
mod tests {
    use super::*;

    fn message(batch: &str) -> Message {
        Message { table: "streams", rows: 1, batch: batch.into(), made_us: 5, heartbeat_us: None, bytes: vec![7; 100] }
    }

    fn batches(outbox: &mut Outbox) -> Vec<String> {
        let mut found = Vec::new();
        while let Some((number, oldest)) = outbox.oldest().unwrap() {
            found.push(match oldest {
                Oldest::Message(message) => message.batch,
                Oldest::Damaged(_) => format!("damaged {number}"),
            });
            outbox.taken().unwrap();
        }
        found
    }

    #[test]
    fn messages_come_back_in_order_and_a_wrong_byte_costs_its_own() {
        let folder = std::env::temp_dir().join(format!("quiclens-outbox-{}", std::process::id()));
        let _ = std::fs::remove_dir_all(&folder);
        let mut outbox = Outbox::open(&folder, 700).unwrap();
        assert!(outbox.put(&[message("a"), message("b")]).unwrap());
        assert!(outbox.put(&[message("c")]).unwrap());
        assert!(!outbox.put(&[message("d"), message("e"), message("f"), message("g")]).unwrap());
        let path = outbox.path(1);
        let mut bytes = std::fs::read(&path).unwrap();
        bytes[30] ^= 2;
        std::fs::write(&path, bytes).unwrap();
        let mut outbox = Outbox::open(&folder, 700).unwrap();
        assert!(outbox.put(&[message("h")]).unwrap());
        assert_eq!(batches(&mut outbox), ["a", "damaged 1", "c", "h"]);
        assert!(outbox.is_empty());
    }
}
