//! What a record of the spool says of its payload: where it came from, and which lines of which connections it holds.

use quiclens_core::reader::quic_trace::named;
use quiclens_core::reader::skip::Skip;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// A record's head.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Head {
    /// Of the record; they go up by one.
    pub number: u64,
    /// Place of the payload's first byte among all payloads.
    pub offset: u64,
    /// What the payload is.
    pub what: What,
}

/// What a payload is.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum What {
    /// Whole lines, each with its line feed.
    Lines {
        /// Name of the source.
        source: String,
        /// Where in it.
        position: Position,
        /// Which records of which connections.
        runs: Vec<LineRun>,
    },
    /// The first bytes of something that the source gave and that is not a line.
    Reject {
        /// Name of the source.
        source: String,
        /// Where in it.
        position: Position,
        /// Why.
        reason: Skip,
        /// Bytes of the whole thing.
        length: u64,
    },
    /// Empty: the head says how far each source had been read where the segment begins.
    Positions {
        /// Which spool this is.
        spool: u64,
        /// Newest position of each source, and of each partition of a topic.
        newest: Vec<(String, Position)>,
    },
}

/// Where in its source a record stood.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Position {
    /// How many records the source had given before.
    Running(u64),
    /// Of a message.
    Kafka {
        /// Partition of the topic.
        partition: i32,
        /// Offset in it.
        offset: i64,
    },
}

/// Lines of one connection whose seq follow each other.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct LineRun {
    /// Connection as its lines name it.
    pub connection: String,
    /// Its first seq.
    pub first_seq: u64,
    /// Its last seq.
    pub last_seq: u64,
    /// Lines.
    pub lines: u64,
}

impl What {
    /// Of a payload of whole lines.
    pub fn lines(source: &str, position: Position, payload: &[u8]) -> Self {
        Self::Lines { source: source.to_owned(), position, runs: runs(payload) }
    }

    /// The source's position, where the record has one.
    pub fn position(&self) -> Option<(&str, Position)> {
        match self {
            Self::Lines { source, position, .. } | Self::Reject { source, position, .. } => Some((source, *position)),
            Self::Positions { .. } => None,
        }
    }
}

/// Most runs that are told of a record, so that each takes memory by its bytes: of others, should it be damaged, the
/// record's length alone tells.
const RUNS: usize = 1 << 14;

/// The runs of seq in lines of `quiclens line v1`, in the order in which they begin. Lines of another form are in none.
fn runs(payload: &[u8]) -> Vec<LineRun> {
    let mut runs: Vec<LineRun> = Vec::new();
    let mut open: BTreeMap<&str, usize> = BTreeMap::new();
    for line in payload.split(|byte| *byte == b'\n') {
        let Some((connection, seq)) = named(line) else { continue };
        let is_full = runs.len() >= RUNS;
        match open.get(connection).and_then(|at| runs.get_mut(*at)) {
            Some(run) if run.last_seq.checked_add(1) == Some(seq) => (run.last_seq, run.lines) = (seq, run.lines + 1),
            _ if is_full => {}
            _ => {
                open.insert(connection, runs.len());
                let connection = connection.to_owned();
                runs.push(LineRun { connection, first_seq: seq, last_seq: seq, lines: 1 });
            }
        }
    }
    runs
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn runs_are_exact_though_connections_take_turns() {
        let found = runs(b"a\t1\t0\tx\t\nb\t9\t0\tx\t\na\t2\t0\tx\t\nno line\na\t4\t0\tx\t\n\xff\t1\t0\tx\t\n");
        let run =
            |name: &str, first_seq, last_seq, lines| LineRun { connection: name.into(), first_seq, last_seq, lines };
        assert_eq!(found, [run("a", 1, 2, 2), run("b", 9, 9, 1), run("a", 4, 4, 1)]);
    }
}
