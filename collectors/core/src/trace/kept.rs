//! Which events of a trace are kept, and which of them must be read again.

use super::{Connection, TraceReader};
use crate::record::rows::Row;
use crate::retention::{At, Owed};
use crate::tables::Tables;

impl Connection {
    /// What is known by now decides, if anything does.
    pub(super) fn look(&mut self, tables: &Tables, at: At, seq: u64) {
        if let Some(retention) = &tables.retention {
            let fold = &self.fold;
            self.standing.look(&retention.rules, &fold.output.streams, || fold.outcome(), at, seq);
        }
    }

    /// What must be read again.
    pub(super) fn owed(&self) -> Option<(String, u64)> {
        Some((self.key.trace_id.clone(), self.standing.owed()?))
    }

    /// Its row as of now.
    pub(super) fn row(&self, complete: bool, tables: &Tables) -> Row {
        let mut row = self.fold.connection(complete);
        self.standing.write(&mut row, tables.retention.as_ref().map(|retention| &retention.rules));
        row.set("time_base_ns", self.base_ns);
        row
    }
}

impl TraceReader<'_> {
    /// Events that were not recorded when they were read, and are wanted now.
    pub fn owed(&self) -> Owed {
        self.connections.iter().filter_map(Connection::owed).collect()
    }

    /// Those events are on their way with the next cut.
    pub fn repaid(&mut self, owed: &Owed) {
        for connection in self.connections.iter_mut().filter(|each| owed.contains_key(&each.key.trace_id)) {
            connection.standing.repaid();
            connection.shown = 0;
        }
    }

    /// What was read before cannot be read again.
    pub fn lose(&mut self) {
        for connection in &mut self.connections {
            connection.standing.lose();
            connection.shown = 0;
        }
    }

    /// Decides as if nothing came any more, before the rows of the end are made: what they owe can still be read again
    /// in turns.
    pub fn settle(&mut self, tables: &Tables) {
        for connection in self.connections.iter_mut().filter(|each| !each.standing.is_settled()) {
            let mut end = connection.fold.clone();
            end.finish();
            if let Some(retention) = &tables.retention {
                let (streams, seq) = (&end.output.streams, connection.seq);
                connection.standing.look(&retention.rules, streams, || end.outcome(), At::End, seq);
            }
        }
    }
}
