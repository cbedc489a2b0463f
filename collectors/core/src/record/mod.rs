//! Room 4, record: events and summaries to Arrow batches, one table each, columns by the catalogue's names.

pub mod dictionary;
pub mod events;
pub mod read;
pub mod rows;

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
    /// The batch as one complete Arrow IPC stream: schema, dictionaries, batch, end.
    pub fn encode(&self) -> Result<Vec<u8>, ArrowError> {
        let size = self.rows.get_array_memory_size();
        let mut writer = StreamWriter::try_new_with_options(
            Vec::with_capacity(size + size / 8),
            &self.rows.schema(),
            IpcWriteOptions::default(),
        )?;
        writer.write(&self.rows)?;
        writer.into_inner()
    }
}
