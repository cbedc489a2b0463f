//! Connection ids that were seen; other traces and log lines of the connection are found by them.

use crate::crossed::Bound;
use crate::event::{Event, Word};
use crate::limits::{ALIAS_LETTERS, ALIASES};
use get_size2::GetSize;
use serde::{Deserialize, Serialize};

/// A connection id that was seen.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, GetSize)]
pub struct Alias {
    /// Hex.
    pub id: String,
    /// Where.
    pub role: String,
    /// First seen.
    pub first_us: i64,
    /// Last seen.
    pub last_us: i64,
}

/// Those of a connection.
#[derive(Clone, Debug, Default, Serialize, Deserialize, GetSize)]
pub struct Aliases(Vec<Alias>);

impl Aliases {
    /// Ids in the header of a packet that was sent or received; short ones are skipped, as they are not unique.
    pub fn see_packet(&mut self, event: &Event, is_sent: bool, now_us: i64) {
        let [dcid, scid] = if is_sent { ["dcid", "scid"] } else { ["scid", "dcid"] };
        for (word, role) in [(Word::Dcid, dcid), (Word::Scid, scid)] {
            if event.word_at(word as usize).len >= 8 {
                self.see(event.word(word), role, now_us);
            }
        }
    }

    /// Ids that an event of the connection's beginning, or of its ids, names.
    pub fn see_issued(&mut self, event: &Event, now_us: i64) {
        for key in ["src_cid", "dst_cid", "new", "connection_id", "local.connection_ids", "remote.connection_ids"] {
            let ids = event.leftover(key).unwrap_or("");
            for id in ids.split('"').filter(|id| id.len() >= 8 && id.bytes().all(|byte| byte.is_ascii_hexdigit())) {
                self.see(&id.to_lowercase(), "issued", now_us);
            }
        }
    }

    /// An id.
    pub fn see(&mut self, id: &str, role: &str, now_us: i64) {
        if let Some(seen) = self.0.iter_mut().find(|seen| seen.id == id && seen.role == role) {
            seen.last_us = now_us;
        } else if id.len() > ALIAS_LETTERS {
            Bound::AliasLetters.cross();
        } else if self.0.len() >= ALIASES {
            Bound::Aliases.cross();
        } else {
            self.0.push(Alias { id: id.to_owned(), role: role.to_owned(), first_us: now_us, last_us: now_us });
        }
    }

    /// All of them.
    pub fn iter(&self) -> impl Iterator<Item = &Alias> {
        self.0.iter()
    }
}
