//! Room 4, record: events and summaries to Arrow batches, one table each, columns by the catalogue's names.

pub mod dictionary;
pub mod events;
pub mod read;
pub mod rows;
pub mod runs;

use arrow_array::RecordBatch;
use arrow_ipc::writer::{IpcWriteOptions, StreamWriter};
use arrow_schema::ArrowError;

/// One batch of one table.
#[derive(Clone, Debug)]
pub struct Batch {
    /// Table of the store.
    pub table: &'static str,
    /// Its rows.
    pub rows: RecordBatch,
}

impl Batch {
    /// Writes the batch as one complete Arrow IPC stream: schema, dictionaries, batch, end. `out` is emptied first;
    /// its memory is worth keeping from batch to batch.
    pub fn encode(&self, out: &mut Vec<u8>) -> Result<(), ArrowError> {
        out.clear();
        let mut writer = StreamWriter::try_new_with_options(out, &self.rows.schema(), IpcWriteOptions::default())?;
        writer.write(&self.rows)?;
        writer.finish()
    }
}
