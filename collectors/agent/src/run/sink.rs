//! Where batches go, and when they are acknowledged.

use crate::error::{Error, FailureKind};
use crate::machine;
use crate::run::config::SinkConfig;
use crate::run::secret::{STORE_PASSWORD, password};
use arrow_ipc::reader::StreamReader;
use quiclens_core::catalogue::Catalogue;
use quiclens_core::record::Batch;
use quiclens_core::tables::Tables;

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

/// Most bytes of a message: below `message_bytes_max` of `schema/topics`, with room for headers.
pub const LARGEST: usize = 7 << 20;

impl Message {
    /// The name of a table that messages are of.
    pub fn known_table(name: &str) -> Option<&'static str> {
        quiclens_core::tables::NAMES.into_iter().find(|table| *table == name)
    }

    /// Two messages with its rows, each about half as large; `None` where it has one row.
    pub fn halves(&self) -> Result<Option<[Self; 2]>, Error> {
        let said = |error: &dyn std::fmt::Display| Error::internal(format!("cannot read a batch again: {error}"));
        let mut reader = StreamReader::try_new(&self.bytes[..], None).map_err(|error| said(&error))?;
        let Some(rows) = reader.next().transpose().map_err(|error| said(&error))? else { return Ok(None) };
        let Some((first, second)) = (Batch { table: self.table, rows }).halves() else { return Ok(None) };
        let half = |batch: &Batch, part: &str| {
            let mut bytes = Vec::new();
            batch.encode_compressed(&mut bytes).map_err(|error| said(&error))?;
            let batch_id = format!("{}{part}", self.batch);
            Ok::<_, Error>(Self { rows: batch.rows.num_rows(), batch: batch_id, bytes, ..self.clone() })
        };
        Ok(Some([half(&first, "a")?, half(&second, "b")?]))
    }

    /// Splits a batch into as few messages as keep each below `largest` bytes; `name` is the collector's, `number`
    /// counts its messages. A single row that is larger is one message all the same.
    pub fn all_of(batch: &Batch, name: &str, number: &mut u64, largest: usize) -> Result<Vec<Self>, Error> {
        let mut bytes = Vec::new();
        batch
            .encode_compressed(&mut bytes)
            .map_err(|error| Error::internal(format!("cannot encode {}: {error}", batch.table)))?;
        if bytes.len() > largest
            && let Some((first, second)) = batch.halves()
        {
            let mut messages = Self::all_of(&first, name, number, largest)?;
            messages.append(&mut Self::all_of(&second, name, number, largest)?);
            return Ok(messages);
        }
        *number += 1;
        let made_us = machine::wall().as_micros();
        let made_us = i64::try_from(made_us).unwrap_or(i64::MAX);
        let id = format!("{name}-{made_us}-{number}");
        let rows = batch.rows.num_rows();
        Ok(vec![Self { table: batch.table, rows, batch: id, made_us, heartbeat_us: None, bytes }])
    }
}

/// What of the tables is large enough to go, or with `all` everything. `number` counts the messages of this collector.
pub fn messages(
    tables: &mut Tables,
    catalogue: &Catalogue,
    name: &str,
    number: &mut u64,
    all: bool,
) -> Result<Vec<Message>, Error> {
    let batches =
        tables.batches(catalogue, all).map_err(|error| Error::internal(format!("cannot build a batch: {error}")))?;
    let mut messages = Vec::with_capacity(batches.len());
    for batch in &batches {
        messages.append(&mut Message::all_of(batch, name, number, LARGEST)?);
    }
    Ok(messages)
}

/// Whether a sink that gets no answer may go on waiting for one.
pub type Patience<'p> = dyn Fn() -> bool + 'p;

/// A place for batches.
pub trait Sink: Send {
    /// Sends all of `messages` and returns when they are acknowledged. After an error that is to be retried all may be
    /// sent again: rows with the same key count once.
    fn give(&mut self, messages: &[Message], patience: &Patience<'_>) -> Result<(), Error>;
}

/// The configured sink. After a refused authentication it is opened again for each further attempt, with the current
/// content of its files of secrets and certificates.
pub fn open(config: &SinkConfig, name: &str) -> Result<Box<dyn Sink>, Error> {
    let (config, name) = (config.clone(), name.to_owned());
    Ok(Box::new(ReopeningSink::with(Box::new(move || begin(&config, &name)))?))
}

/// Makes a sink.
type SinkFactory = Box<dyn Fn() -> Result<Box<dyn Sink>, Error> + Send>;

/// A sink that is opened again: see [`open`].
pub struct ReopeningSink {
    begin: SinkFactory,
    sink: Box<dyn Sink>,
    is_refused: bool,
}

impl ReopeningSink {
    /// Of sinks that `begin` makes. The error is that of the first one.
    pub fn with(begin: SinkFactory) -> Result<Self, Error> {
        let sink = begin()?;
        Ok(Self { begin, sink, is_refused: false })
    }
}

impl Sink for ReopeningSink {
    fn give(&mut self, messages: &[Message], patience: &Patience<'_>) -> Result<(), Error> {
        if self.is_refused {
            // A file that is being replaced may be missing or half there for a moment.
            self.sink = (self.begin)().map_err(|error| Error { kind: FailureKind::NotLetIn, ..error })?;
            self.is_refused = false;
        }
        let done = self.sink.give(messages, patience);
        self.is_refused = done.as_ref().is_err_and(|error| error.kind == FailureKind::NotLetIn);
        done
    }
}

fn begin(config: &SinkConfig, name: &str) -> Result<Box<dyn Sink>, Error> {
    match config {
        SinkConfig::Files { folder } => Ok(Box::new(super::to_files::BatchFolder::open(folder)?)),
        SinkConfig::Quiclens { url, token_file, ca_file } => {
            let token = password(STORE_PASSWORD, token_file.as_deref())?;
            Ok(Box::new(super::to_quiclens::Quiclens::open(url, token, ca_file.as_deref())?))
        }
        SinkConfig::ClickHouse { url, user, password_file, ca_file } => {
            let password = password(STORE_PASSWORD, password_file.as_deref())?;
            let sink = super::to_clickhouse::ClickHouse::open(url, user.as_deref(), password, ca_file.as_deref())?;
            Ok(Box::new(sink))
        }
        SinkConfig::Kafka { brokers, password_file, options } => {
            let options = options.with_password(password_file.as_deref())?;
            Ok(Box::new(super::to_kafka::Kafka::open(brokers, &options, name)?))
        }
    }
}

#[cfg(test)]
#[expect(clippy::unwrap_used, reason = "tests")]
mod tests {
    use super::*;
    use quiclens_core::catalogue::Catalogue;
    use quiclens_core::record::columns::episodes::{self, Episodes};
    use quiclens_core::record::rows::{Row, batch};

    /// A sink that knows one password, as its file had it when it was opened.
    struct Door(String);

    impl Sink for Door {
        fn give(&mut self, _: &[Message], _: &Patience<'_>) -> Result<(), Error> {
            if self.0 == "right" { Ok(()) } else { Err(Error::new(FailureKind::NotLetIn, "door", "wrong password")) }
        }
    }

    #[test]
    fn a_sink_that_does_not_let_us_in_is_opened_again_with_the_password_of_then() {
        let file = std::env::temp_dir().join(format!("quiclens-password-{}", std::process::id()));
        std::fs::write(&file, "wrong").unwrap();
        let place = file.clone();
        let begin = move || {
            let text = std::fs::read_to_string(&place).map_err(|error| Error::configuration(error.to_string()))?;
            Ok(Box::new(Door(text)) as Box<dyn Sink>)
        };
        let mut sink = ReopeningSink::with(Box::new(begin)).unwrap();
        let give = |sink: &mut ReopeningSink| sink.give(&[], &|| true).map_err(|error| error.kind);
        assert_eq!(give(&mut sink), Err(FailureKind::NotLetIn));
        assert_eq!(give(&mut sink), Err(FailureKind::NotLetIn));
        std::fs::remove_file(&file).unwrap();
        assert_eq!(give(&mut sink), Err(FailureKind::NotLetIn), "a file that is replaced");
        std::fs::write(&file, "right").unwrap();
        assert_eq!(give(&mut sink), Ok(()));
        std::fs::write(&file, "another").unwrap();
        assert_eq!(give(&mut sink), Ok(()), "it is read when it is needed");
        std::fs::remove_file(&file).unwrap();
    }

    #[test]
    fn a_batch_that_is_too_large_becomes_several_messages_with_all_its_rows() {
        let catalogue = Catalogue::load().unwrap();
        let rows: Vec<Row<Episodes>> = (0..1000u64)
            .map(|index| {
                let mut row = Row::default();
                row.set(episodes::CONNECTION_ID, format!("{:016x}", index.wrapping_mul(0x9e37_79b9_7f4a_7c15)));
                row.set(episodes::FIRST_SEQ, index);
                row
            })
            .collect();
        let whole = batch(catalogue.columns("episodes"), &rows).unwrap();
        let mut number = 0;
        let one = Message::all_of(&whole, "c", &mut number, LARGEST).unwrap();
        assert_eq!((one.len(), one[0].rows, number), (1, 1000, 1));
        let largest = one[0].bytes.len() / 2;
        let [first, second] = one[0].halves().unwrap().unwrap();
        assert_eq!((first.rows, second.rows, first.batch == second.batch), (500, 500, false));
        assert_eq!(first.halves().unwrap().unwrap()[1].rows, 250);
        let several = Message::all_of(&whole, "c", &mut number, largest).unwrap();
        assert!(several.len() > 1 && several.iter().all(|message| message.bytes.len() <= largest));
        let mut seen = 0u64;
        for message in &several {
            let mut reader = arrow_ipc::reader::StreamReader::try_new(&message.bytes[..], None).unwrap();
            let rows = reader.next().unwrap().unwrap();
            assert_eq!(rows.num_rows(), message.rows);
            let first = rows.column_by_name("first_seq").unwrap();
            let first = first.as_any().downcast_ref::<arrow_array::UInt64Array>().unwrap();
            assert!(first.values().iter().copied().eq(seen..seen + message.rows as u64));
            seen += message.rows as u64;
        }
        assert_eq!(seen, 1000);
        let ids: std::collections::BTreeSet<&str> = several.iter().map(|message| message.batch.as_str()).collect();
        assert_eq!(ids.len(), several.len());
        let alone = Message::all_of(&whole, "c", &mut number, 1).unwrap();
        assert_eq!(alone.len(), 1000, "a row is never cut");
    }
}
