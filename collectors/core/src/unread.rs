//! Parts of a log that were not read: events that the catalogue does not know, fields that have no column and that no
//! code looked at, and values that their column cannot hold. All of them are kept; `check` names them.

use crate::catalogue::Catalogue;
use crate::crossed::Bound;
use crate::event::Event;
use crate::limits::UNREAD_NAMES;
use serde::Serialize;
use std::collections::BTreeMap;

/// Counts by name.
type Counts = BTreeMap<String, u64>;

/// What was not read of one connection.
#[derive(Clone, Debug, Default, Serialize)]
pub struct Unread {
    /// Events without an entry in the catalogue, by name.
    pub events: Counts,
    /// Fields of the others, by event and path.
    pub fields: BTreeMap<String, Counts>,
    /// Fields of the others whose column cannot hold their value, by event and path.
    pub values: BTreeMap<String, Counts>,
    /// Occurrences of names beyond the limit.
    pub others: u64,
}

/// Fields of every event that are read where they stand.
const ALWAYS: [&str; 6] = ["time", "name", "ODCID", "group_id", "time_format", "reference_time"];

impl Unread {
    /// Counts the parts of an event that were not looked at.
    pub fn add(&mut self, event: &Event, catalogue: &Catalogue) {
        let name = event.str(event.name);
        if !catalogue.knows(event.bytes(event.name)) {
            self.others += count(&mut self.events, name);
            return;
        }
        for (index, (path, _)) in event.more.iter().enumerate() {
            let path = event.str(*path);
            let is_value = event.unread.iter().any(|unread| *unread as usize == index);
            if !is_value && (event.was_looked_at(index) || ALWAYS.contains(&path)) {
                continue;
            }
            let of = if is_value { &mut self.values } else { &mut self.fields };
            if of.len() >= UNREAD_NAMES && !of.contains_key(name) {
                Bound::UnreadNames.cross();
                self.others += 1;
                continue;
            }
            self.others += count(of.entry(name.to_owned()).or_default(), &without_index(path));
        }
    }
}

/// Counts one more, or gives 1 where that is beyond the limit.
fn count(counts: &mut Counts, name: &str) -> u64 {
    if let Some(known) = counts.get_mut(name) {
        *known += 1;
    } else if counts.len() < UNREAD_NAMES {
        counts.insert(name.to_owned(), 1);
    } else {
        Bound::UnreadNames.cross();
        return 1;
    }
    0
}

/// All frames have one name.
fn without_index(path: &str) -> String {
    match path.strip_prefix("frames.").and_then(|rest| rest.split_once('.')) {
        Some((_, field)) => format!("frames.{field}"),
        None => path.to_owned(),
    }
}
