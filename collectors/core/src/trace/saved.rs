//! A trace's reading put away and taken up again, for checkpoints.

use super::{Connection, Reject, Stashed, TraceReader};
use crate::catalogue::Catalogue;
use crate::dialect::Units;
use crate::fold::{ANALYSIS_VERSION, Fold};
use crate::header::Header;
use crate::reader::sniff::Framing;
use crate::record::events::Key;
use crate::retention::Standing;
use serde::{Deserialize, Serialize};

/// Everything that a [`TraceReader`] knows between two records. Its fields are in no order that lasts: a state of
/// another [`Saved::VERSION`] is not read, and the file is read again.
#[derive(Debug, Serialize, Deserialize)]
pub struct Saved {
    file: String,
    header: String,
    text: Vec<u8>,
    framing: Framing,
    unit_rule: String,
    stash: Option<Vec<Piece>>,
    connections: Vec<State>,
    groups: Vec<(String, usize)>,
    initial: Option<String>,
    is_plain: bool,
}

#[derive(Debug, Serialize, Deserialize)]
enum Piece {
    Record(Vec<u8>),
    Reject(Reject),
}

#[derive(Debug, Serialize, Deserialize)]
struct State {
    fold: Fold,
    seq: u64,
    base_ns: i64,
    last_ns: i64,
    started: bool,
    standing: Standing,
}

impl Saved {
    /// Which states this build can take up.
    pub const VERSION: u64 = ANALYSIS_VERSION << 8 | 2;
}

impl<'c> TraceReader<'c> {
    /// Puts the state away. The rows that are ready must have been taken from the tables before: they are not in it.
    pub fn save(&self) -> Saved {
        let piece = |stashed: &Stashed| match stashed {
            Stashed::Record(record) => Piece::Record(record.clone()),
            Stashed::Reject(reject) => Piece::Reject(reject.clone()),
        };
        let mut groups: Vec<(String, usize)> = self.groups.iter().map(|(group, at)| (group.clone(), *at)).collect();
        groups.sort_unstable();
        Saved {
            file: self.file.clone(),
            header: self.header.json.to_string(),
            text: self.header.text.clone(),
            framing: self.header.framing,
            unit_rule: self.reader.units.rule(),
            stash: self.stash.as_ref().map(|stash| stash.iter().map(piece).collect()),
            connections: self.connections.iter().map(State::of).collect(),
            groups,
            initial: self.initial.clone(),
            is_plain: self.is_plain,
        }
    }

    /// Takes a state up; `None` when its header is none (the state is of another build, or was damaged).
    pub fn restore(catalogue: &'c Catalogue, saved: Saved) -> Option<Self> {
        let header =
            Header { json: serde_json::from_str(&saved.header).ok()?, text: saved.text, framing: saved.framing };
        let mut reader = Self::new(catalogue, header, &saved.file);
        reader.reader.units = Units::from_rule(&saved.unit_rule);
        reader.stashed_events = 0;
        reader.stash = saved.stash.map(|pieces| {
            let stashed = pieces.into_iter().map(|piece| match piece {
                Piece::Record(record) => Stashed::Record(record),
                Piece::Reject(reject) => Stashed::Reject(reject),
            });
            stashed.collect()
        });
        if let Some(stash) = &reader.stash {
            reader.stashed_events = stash.iter().filter(|stashed| matches!(stashed, Stashed::Record(_))).count();
        }
        for state in saved.connections {
            let mut fold = state.fold;
            let server = fold.trace.server.clone();
            fold.trace.facts = reader.facts(server.as_deref());
            let key = Key {
                connection_id: fold.trace.connection_id.clone(),
                vantage: fold.trace.vantage.name(),
                trace_id: fold.trace.trace_id.clone(),
                trace_day: fold.trace.trace_day,
            };
            let State { seq, base_ns, last_ns, started, standing, .. } = state;
            reader.connections.push(Connection { key, fold, seq, base_ns, last_ns, started, shown: 0, standing });
        }
        if saved.groups.iter().any(|(_, at)| *at >= reader.connections.len()) {
            return None;
        }
        reader.groups = saved.groups.into_iter().collect();
        reader.initial = saved.initial;
        reader.is_plain = saved.is_plain;
        Some(reader)
    }
}

impl State {
    fn of(connection: &Connection) -> Self {
        Self {
            fold: connection.fold.clone(),
            seq: connection.seq,
            base_ns: connection.base_ns,
            last_ns: connection.last_ns,
            started: connection.started,
            standing: connection.standing,
        }
    }
}
