//! Where batches go, and when they count as there.

use crate::run::config::Sink as Choice;
use quiclens_core::record::Batch;
use std::time::{SystemTime, UNIX_EPOCH};

/// A batch on its way: one Arrow IPC stream of one table.
#[derive(Clone, Debug)]
pub struct Message {
    /// Table.
    pub table: &'static str,
    /// Rows.
    pub rows: usize,
    /// Unique among this collector's.
    pub batch: String,
    /// When it was made, us since 1970.
    pub made_us: i64,
    /// When the heartbeat was made that travels in the same cut, us since 1970.
    pub heartbeat_us: Option<i64>,
    /// The stream.
    pub bytes: Vec<u8>,
}

impl Message {
    /// Of a batch; `name` is the collector's.
    pub fn of(batch: &Batch, name: &str, number: u64) -> Result<Self, String> {
        let mut bytes = Vec::new();
        batch.encode(&mut bytes).map_err(|error| format!("cannot encode {}: {error}", batch.table))?;
        let made_us = SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |since| since.as_micros());
        let made_us = i64::try_from(made_us).unwrap_or(i64::MAX);
        let id = format!("{name}-{made_us}-{number}");
        Ok(Self { table: batch.table, rows: batch.rows.num_rows(), batch: id, made_us, heartbeat_us: None, bytes })
    }
}

/// Why something was not taken.
#[derive(Debug)]
pub enum Refusal {
    /// The world is briefly bad: try again.
    Later(String),
    /// This will never be taken: stop, for a promise cannot be kept.
    Never(String),
}

/// A place for batches.
pub trait Sink: Send {
    /// Gives all of `messages` away and returns when they are there for good. After `Later` all may be given again:
    /// identity is in the rows' keys.
    fn give(&mut self, messages: &[Message]) -> Result<(), Refusal>;
}

/// The configured sink.
pub fn open(choice: &Choice, name: &str) -> Result<Box<dyn Sink>, String> {
    match choice {
        Choice::Files { folder } => Ok(Box::new(super::to_files::Files::open(folder)?)),
        Choice::ClickHouse { url, user } => Ok(Box::new(super::to_clickhouse::ClickHouse::open(url, user.as_deref())?)),
        Choice::Kafka { brokers, options } => Ok(Box::new(super::to_kafka::Kafka::open(brokers, options, name)?)),
    }
}
