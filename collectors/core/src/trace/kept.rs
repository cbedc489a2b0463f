//! Which events of a trace are kept, and which of them must be read again.

use super::{Connection, TraceReader};
use crate::record::columns::connections::{self, Connections};
use crate::record::rows::Row;
use crate::retention::{At, Owed, Owing};
use crate::tables::Tables;

impl Connection {
    /// Applies the retention rules to what is known by now.
    pub(super) fn look(&mut self, tables: &Tables, at: At, seq: u64) {
        if let Some(retention) = &tables.retention {
            let fold = &self.fold;
            self.standing.look(&retention.rules, &fold.output.streams, || fold.outcome(), at, seq);
        }
    }

    /// Applies the retention rules as if no record followed, before its last rows are made, so that the events that it
    /// owes can still be read again. True when it owes nothing.
    pub(super) fn settle(&mut self, tables: &Tables) -> bool {
        if let Some(retention) = &tables.retention
            && !self.standing.is_settled()
        {
            let mut end = self.fold.clone();
            end.finish();
            self.standing.look(&retention.rules, &end.output.streams, || end.outcome(), At::End, self.seq);
            self.is_dirty |= self.standing.is_settled();
        }
        self.standing.owed().is_none()
    }

    /// What must be read again.
    pub(super) fn owed(&self) -> Option<(String, Owing)> {
        Some((
            self.key.trace_id.clone(),
            Owing { before: self.standing.owed()?, began_at: self.began_at, is_delta: self.is_delta },
        ))
    }

    /// Its row as of now.
    pub(super) fn row(&self, complete: bool, tables: &Tables) -> Row<Connections> {
        let mut row = self.fold.connection(complete);
        self.standing.write(&mut row, tables.retention.as_ref().map(|retention| &retention.rules));
        row.set(connections::TIME_BASE_NS, self.base_ns);
        row.set(connections::VALUES_UNREAD, self.values_unread);
        row
    }
}

impl TraceReader<'_> {
    /// Says where the next record stands.
    pub fn stand(&mut self, offset: u64) {
        self.offset = offset;
        self.place = offset;
    }

    /// Says where the next record stands in a document, which is always read again from its beginning.
    pub fn lies_at(&mut self, offset: u64) {
        self.place = offset;
    }

    /// When a file is read again, a wanted connection begins at the same record as before, even if one of the same name
    /// has not ended here; other connections do not begin.
    pub(super) fn is_wanted(&mut self, tables: &Tables) -> bool {
        let Some(again) = tables.again.as_ref().filter(|_| self.offset > 0) else { return true };
        let group = self.event.str(self.event.group);
        if again.starts_at(self.offset) {
            self.open.part(group);
            return true;
        }
        let is_known = self.open.find(group).is_some();
        self.open.begun += u64::from(!is_known);
        is_known
    }

    /// Events that were not recorded when they were read, and are wanted now.
    pub fn owed(&mut self) -> Owed {
        self.open.all_mut().filter_map(|connection| connection.owed()).collect()
    }

    /// These events were read again; the next checkpoint contains them.
    pub fn repaid(&mut self, owed: &Owed) {
        for connection in self.open.all_mut().filter(|each| owed.contains_key(&each.key.trace_id)) {
            connection.standing.repaid();
            (connection.shown, connection.is_dirty) = (0, true);
        }
    }

    /// What was read before cannot be read again.
    pub fn lose(&mut self) {
        for connection in self.open.all_mut() {
            connection.standing.lose();
            (connection.shown, connection.is_dirty) = (0, true);
        }
    }

    /// All records came: decides for all connections what their end will, before the rows of it are made. True when
    /// nothing is owed.
    pub fn settle_at_end(&mut self, tables: &mut Tables) -> bool {
        self.open(tables);
        self.fold_all(tables);
        self.settle(tables)
    }

    /// Decides for all connections as if nothing came any more. True when nothing is owed.
    pub fn settle(&mut self, tables: &Tables) -> bool {
        let mut is_settled = true;
        for connection in self.open.all_mut() {
            is_settled &= connection.settle(tables);
        }
        is_settled
    }
}
