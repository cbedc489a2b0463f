//! Events and summaries to Arrow batches, one table each, columns by the catalogue's names.

pub mod columns;
pub mod dictionary;
pub mod events;
pub mod read;
pub mod rows;
pub mod runs;

use arrow_array::RecordBatch;
use arrow_ipc::CompressionType;
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
        self.write(out, IpcWriteOptions::default())
    }

    /// The same with its buffers compressed with zstd, for a network.
    pub fn encode_compressed(&self, out: &mut Vec<u8>) -> Result<(), ArrowError> {
        self.write(out, IpcWriteOptions::default().try_with_compression(Some(CompressionType::ZSTD))?)
    }

    /// Its first and its second half; `None` of one row.
    pub fn halves(&self) -> Option<(Self, Self)> {
        let (rows, middle) = (self.rows.num_rows(), self.rows.num_rows() / 2);
        let part = |start, end| Self { table: self.table, rows: self.rows.slice(start, end - start) };
        (middle > 0).then(|| (part(0, middle), part(middle, rows)))
    }

    fn write(&self, out: &mut Vec<u8>, options: IpcWriteOptions) -> Result<(), ArrowError> {
        out.clear();
        let mut writer = StreamWriter::try_new_with_options(out, &self.rows.schema(), options)?;
        writer.write(&self.rows)?;
        writer.finish()
    }
}
