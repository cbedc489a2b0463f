//! Checkpoints of a trace reader: the state that all its connections share, and the state of each connection.

use super::clock::Clock;
use super::identity::Identity;
use super::refused::RefusedConnections;
use super::state_size::StateSize;
use super::timeline::TraceTimeline;
use super::{Connection, Stashed, TraceReader};
use crate::catalogue::Catalogue;
use crate::client::KnownClient;
use crate::dialect::Units;
use crate::fold::{ANALYSIS_VERSION, Fold};
use crate::header::Header;
use crate::reader::sniff::Framing;
use crate::record::events::Key;
use crate::retention::Standing;
use serde::{Deserialize, Serialize};
use std::borrow::Cow;

include!(concat!(env!("OUT_DIR"), "/fingerprint.rs"));

#[cfg(test)]
#[path = "../../fingerprint.rs"]
mod fingerprint;

/// State of a [`TraceReader`] between two records, without its connections. The format is not stable: a state of
/// another [`Saved::VERSION`] is not read, and the file is read again.
#[derive(Debug, Serialize, Deserialize)]
pub struct Saved {
    file: String,
    header: String,
    text: Vec<u8>,
    framing: Framing,
    unit_rule: String,
    stash: Option<Vec<Stashed>>,
    initial: Option<String>,
    begun: u64,
    first: Option<String>,
    is_plain: bool,
    harms: u64,
    harms_before: u64,
    refused: RefusedConnections,
    timeline: TraceTimeline,
    identity: Identity,
}

/// One connection put away.
#[derive(Debug, Serialize, Deserialize)]
pub struct SavedConnection<'f> {
    group: Cow<'f, str>,
    fold: Cow<'f, Fold>,
    seq: u64,
    base_ns: i64,
    clock: Clock,
    started: bool,
    client: Option<Box<KnownClient>>,
    shown: u64,
    is_closed: bool,
    began_at: u64,
    is_delta: bool,
    standing: Standing,
    is_harmed: bool,
    harms_before: u64,
    values_unread: u64,
}

impl Saved {
    /// Which states this build can take up: those of the same rules and of types that are defined the same.
    pub const VERSION: u64 = ANALYSIS_VERSION << 48 | FINGERPRINT;
}

impl<'c> TraceReader<'c> {
    /// Saves the state without its connections. Finished rows must have been taken from the tables before, as the state
    /// does not contain them.
    pub fn save(&self) -> Saved {
        Saved {
            file: self.file.clone(),
            header: self.header.json.to_string(),
            text: self.header.text.clone(),
            framing: self.header.framing,
            unit_rule: self.reader.units.rule(),
            stash: self.stash.clone(),
            initial: self.initial.clone(),
            begun: self.open.begun,
            first: self.open.first.clone(),
            is_plain: self.open.is_plain,
            harms: self.harms,
            harms_before: self.harms_before,
            refused: self.refused.clone(),
            timeline: self.timeline.clone(),
            identity: self.identity.clone(),
        }
    }

    /// The connections that have changed since they were put away, by their numbers, and those that ended, as none.
    pub fn save_connections(&mut self) -> impl Iterator<Item = (u64, Option<SavedConnection<'_>>)> {
        let ended = self.open.take_ended();
        let changed = self.open.all_mut().filter_map(|connection| {
            let is_dirty = std::mem::take(&mut connection.is_dirty);
            is_dirty.then(|| (connection.number, Some(SavedConnection::of(connection))))
        });
        ended.into_iter().map(|number| (number, None)).chain(changed)
    }

    /// It has one connection at most, which its records do not name (so that no silence ends it). The connection is
    /// saved, and none of its events must be read again.
    pub fn is_at_rest(&mut self) -> bool {
        let is_plain = self.open.is_plain;
        let is_quiet = |only: &mut Connection| is_plain && !only.is_dirty && only.standing.owed().is_none();
        self.open.begun == 0 || self.open.only().is_some_and(is_quiet)
    }

    /// The connection, if the trace has never had another.
    pub fn save_only(&mut self) -> Option<SavedConnection<'_>> {
        self.open.only().map(|only| SavedConnection::of(only))
    }

    /// Restores a state; its connections follow. `None` when its header is invalid (the state is of another build, or
    /// was damaged).
    pub fn restore(catalogue: &'c Catalogue, saved: Saved) -> Option<Self> {
        let json = serde_json::from_str(&saved.header).ok()?;
        let header = Header { json, text: saved.text, framing: saved.framing, unread: Vec::new() };
        let mut reader = Self::new(catalogue, header, &saved.file);
        reader.reader.units = Units::from_rule(&saved.unit_rule)?;
        (reader.timeline, reader.identity) = (saved.timeline, saved.identity);
        reader.stash = saved.stash;
        let stash = reader.stash.iter().flatten();
        (reader.stashed_events, reader.stashed_bytes) = stash.fold((0, 0), |(events, bytes), stashed| match stashed {
            Stashed::Record(record, _) => (events + 1, bytes + record.len()),
            Stashed::Reject(reject) => (events, bytes + reject.bytes.len()),
        });
        reader.initial = saved.initial;
        (reader.harms, reader.harms_before) = (saved.harms, saved.harms_before);
        reader.refused = saved.refused;
        (reader.open.begun, reader.open.first, reader.open.is_plain) = (saved.begun, saved.first, saved.is_plain);
        Some(reader)
    }

    /// Takes up a connection that was put away as `number`. Those of one trace are given in the order of their numbers.
    pub fn restore_connection(&mut self, number: u64, saved: SavedConnection<'_>) {
        let mut fold = saved.fold.into_owned();
        let server = fold.trace.server.clone();
        fold.trace.facts = self.facts(server.as_deref());
        let key = Key {
            connection_id: fold.trace.connection_id.clone(),
            vantage: fold.trace.vantage.name(),
            trace_id: fold.trace.trace_id.clone(),
            trace_day: fold.trace.trace_day,
        };
        self.lingering += fold.lingering();
        let mut connection = Connection {
            group: saved.group.into_owned(),
            number,
            key,
            fold,
            seq: saved.seq,
            base_ns: saved.base_ns,
            clock: saved.clock,
            order: None,
            silence: None,
            started: saved.started,
            client: saved.client,
            shown: saved.shown,
            is_closed: saved.is_closed,
            heard_s: self.now_s,
            is_dirty: false,
            began_at: saved.began_at,
            is_delta: saved.is_delta,
            standing: saved.standing,
            is_harmed: saved.is_harmed,
            harms_before: saved.harms_before,
            values_unread: saved.values_unread,
            size: StateSize::default(),
        };
        connection.count_state(&mut self.state_bytes);
        self.open.put(connection);
    }
}

impl<'f> SavedConnection<'f> {
    fn of(connection: &'f Connection) -> Self {
        Self {
            group: Cow::Borrowed(&connection.group),
            fold: Cow::Borrowed(&connection.fold),
            seq: connection.seq,
            base_ns: connection.base_ns,
            clock: connection.clock,
            started: connection.started,
            client: connection.client.clone(),
            shown: connection.shown,
            is_closed: connection.is_closed,
            began_at: connection.began_at,
            is_delta: connection.is_delta,
            standing: connection.standing,
            is_harmed: connection.is_harmed,
            harms_before: connection.harms_before,
            values_unread: connection.values_unread,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::fingerprint::{definitions, fingerprint};

    const STATE: &str =
        "/// A state.\n#[derive(Clone, Serialize, Deserialize)]\npub struct State {\n    at: (u64, i64),\n}\n";

    fn of(source: &str) -> u64 {
        fingerprint(definitions(source))
    }

    #[test]
    fn a_state_of_other_types_has_another_version() {
        assert_eq!(definitions(STATE), ["pubstructState{at:(u64,i64),}"]);
        for (old, new) in
            [("u64", "u32"), ("at:", "since:"), ("i64),", "i64),\n    more: bool,"), ("struct State", "struct Other")]
        {
            assert_ne!(of(&STATE.replace(old, new)), of(STATE), "{old} to {new}");
        }
        let skipped = STATE.replace("    at:", "    #[serde(skip)]\n    at:");
        assert_ne!(of(&skipped), of(STATE));
    }

    #[test]
    fn words_that_are_no_state_change_no_version() {
        let same = [
            STATE.replace("/// A state.", "/// Another word for it."),
            STATE.replace("    at:", "    /// When.\n    at: "),
            format!("{STATE}\n#[derive(Serialize)]\npub struct Row(u8);\n\nfn rule() -> u8 {{ 7 }}\n"),
        ];
        assert_eq!(same.map(|source| of(&source)), [of(STATE); 3]);
    }

    /// The types of a connection's state are all among those that were found.
    #[test]
    fn every_type_of_the_fold_counts() {
        let source = include_str!("../fold/mod.rs");
        let found = definitions(source);
        assert!(
            found.iter().any(|text| text.contains("pubstructFold{") && text.contains("requests:requests::Requests"))
        );
        assert_ne!(super::FINGERPRINT, 0);
    }
}
