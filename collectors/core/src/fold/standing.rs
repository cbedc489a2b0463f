//! Requests that are over and whose rows are not final: what a connection that falls silent has to show.

use crate::fold::Fold;
use crate::record::rows::{Cell, Row};

impl Fold {
    /// Rows of the requests that ended and still linger for their last HTTP frames, as they would be if nothing came
    /// any more. The final rows have a higher version, or are the same.
    pub fn standing(&self) -> Vec<Row> {
        if self.ended.is_empty() {
            return Vec::new();
        }
        let mut copy = self.clone();
        copy.output = super::Output::default();
        copy.finish();
        let is_over = |row: &Row| matches!(row.get("stream_id"), Some(Cell::Whole(id)) if self.ended.contains(id));
        copy.output.streams.into_iter().filter(is_over).collect()
    }
}
