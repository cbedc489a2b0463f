//! The far end of a simulated collector: a broker that answers late, partly, twice, wrongly or not at all, and what it
//! holds in the end.

use crate::machine::simulated::{self, Chance};
use crate::run::sink::Message;
use crate::run::to_kafka::{Broker, Shared, Stop};
use arrow_array::cast::AsArray;
use arrow_array::types::UInt64Type;
use arrow_array::{Array, RecordBatch};
use arrow_cast::cast;
use arrow_ipc::reader::StreamReader;
use arrow_schema::DataType;
use rdkafka::error::KafkaError;
use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::path::Path;
use std::sync::{Arc, Mutex};
use std::time::Duration;

/// Batches that are there for good, by table and name.
#[derive(Default)]
pub struct Store {
    batches: BTreeMap<String, (String, Vec<u8>)>,
    /// Nothing goes wrong any more.
    pub is_healthy: bool,
    down_until: Duration,
    /// What the broker did, by name.
    pub did: BTreeMap<&'static str, u64>,
    chance: Chance0,
}

/// [`Chance`] with a default.
struct Chance0(Chance);

impl Default for Chance0 {
    fn default() -> Self {
        Self(Chance(0))
    }
}

/// A store that is shared by every producer.
pub type SharedStore = Arc<Mutex<Store>>;

impl Store {
    /// One whose faults come of `seed`.
    pub fn new(seed: u64) -> SharedStore {
        Arc::new(Mutex::new(Self { chance: Chance0(Chance(seed)), ..Self::default() }))
    }

    fn put(&mut self, message: &Message) {
        self.batches.insert(message.batch.clone(), (message.table.to_owned(), message.bytes.clone()));
    }

    fn did(&mut self, what: &'static str) {
        *self.did.entry(what).or_default() += 1;
    }
}

struct Waiting {
    message: Message,
    tag: (u64, usize),
    is_stored: bool,
}

/// A producer of the simulated broker.
pub struct Simulated {
    store: SharedStore,
    attempt: Shared,
    waiting: Mutex<VecDeque<Waiting>>,
}

impl Simulated {
    /// A new producer.
    pub fn new(store: &SharedStore, attempt: &Shared) -> Self {
        Self { store: Arc::clone(store), attempt: Arc::clone(attempt), waiting: Mutex::default() }
    }
}

impl Broker for Simulated {
    fn produce(&self, message: &Message, tag: (u64, usize)) -> Result<bool, Stop> {
        let mut store = self.store.lock().unwrap();
        let mut waiting = self.waiting.lock().unwrap();
        if !store.is_healthy && !waiting.is_empty() && store.chance.0.one_in(20) {
            store.did("queue_full");
            return Ok(false);
        }
        waiting.push_back(Waiting { message: message.clone(), tag, is_stored: false });
        Ok(true)
    }

    fn poll(&self, most: Duration) {
        let now = simulated::world(|world| world.elapsed());
        let mut store = self.store.lock().unwrap();
        if !store.is_healthy && store.chance.0.one_in(25) {
            store.did("down");
            store.down_until = now + Duration::from_millis(store.chance.0.below(6000));
        }
        if !store.is_healthy && now < store.down_until {
            drop(store);
            return crate::machine::sleep(most);
        }
        let mut waiting = self.waiting.lock().unwrap();
        let mut attempt = self.attempt.lock().unwrap();
        for mut each in std::mem::take(&mut *waiting) {
            let fate = if store.is_healthy { 99 } else { store.chance.0.below(20) };
            match fate {
                0 => {
                    store.did("late");
                    waiting.push_back(each);
                }
                1 => {
                    store.did("stored_and_acknowledged_late");
                    store.put(&each.message);
                    each.is_stored = true;
                    waiting.push_back(each);
                }
                2 if !each.is_stored => {
                    store.did("refused");
                    attempt.hear(Err(&KafkaError::Canceled), each.tag);
                }
                3 => {
                    store.did("stored_and_said_to_be_refused");
                    store.put(&each.message);
                    attempt.hear(Err(&KafkaError::Canceled), each.tag);
                }
                4 => {
                    store.did("acknowledged_twice");
                    store.put(&each.message);
                    attempt.hear(Ok(()), each.tag);
                    attempt.hear(Ok(()), each.tag);
                }
                _ => {
                    store.put(&each.message);
                    attempt.hear(Ok(()), each.tag);
                }
            }
        }
        let is_idle = waiting.is_empty();
        drop((store, waiting, attempt));
        crate::machine::sleep(if is_idle { Duration::from_millis(1) } else { most });
    }

    fn fatal(&self) -> Option<String> {
        let mut store = self.store.lock().unwrap();
        let is_fatal = !store.is_healthy && store.chance.0.one_in(300);
        is_fatal.then(|| {
            store.did("fatal");
            "simulated".into()
        })
    }
}

impl Drop for Simulated {
    /// What is on its way may arrive.
    fn drop(&mut self) {
        let (Ok(mut store), Ok(mut waiting)) = (self.store.lock(), self.waiting.lock()) else { return };
        for each in waiting.drain(..) {
            if store.chance.0.one_in(2) {
                store.put(&each.message);
            }
        }
    }
}

/// What is held, by what was written.
#[derive(Debug, Default, PartialEq, Eq)]
pub struct Held {
    /// Keys (log, offset) of each line of a log, by its path.
    pub lines: BTreeMap<String, BTreeSet<(String, u64)>>,
    /// Traces of each event, by connection and seq.
    pub events: BTreeMap<(String, u64), BTreeSet<String>>,
    /// Rejects: reason, file, trace, first and last seq.
    pub rejects: BTreeSet<(String, String, String, u64, u64)>,
}

impl Held {
    /// Of a broker, and of files in a folder.
    pub fn read(store: &SharedStore, folder: &Path) -> Self {
        let mut held = Self::default();
        for (table, bytes) in store.lock().unwrap().batches.values() {
            held.take(table, bytes);
        }
        for path in simulated::files_below(folder).unwrap() {
            let table = path.parent().and_then(Path::file_name).unwrap().to_string_lossy().into_owned();
            if path.extension().is_some_and(|extension| extension == "arrow") {
                held.take(&table, &crate::machine::read(&path).unwrap());
            }
        }
        held
    }

    fn take(&mut self, table: &str, bytes: &[u8]) {
        if !matches!(table, "request_lines" | "events" | "rejects") {
            return;
        }
        for batch in StreamReader::try_new(bytes, None).unwrap() {
            let batch = batch.unwrap();
            for row in 0..batch.num_rows() {
                let text = |name| text(&batch, name, row);
                let number = |name| number(&batch, name, row);
                match table {
                    "request_lines" => {
                        self.lines.entry(text("path")).or_default().insert((text("log_id"), number("offset")));
                    }
                    "events" => {
                        let key = (text("connection_id"), number("seq"));
                        self.events.entry(key).or_default().insert(text("trace_id"));
                    }
                    _ => {
                        let (first, last) = (number("seq"), number("seq_last"));
                        let of = (text("reason"), text("file"), text("trace_id"), first, last.max(first));
                        self.rejects.insert(of);
                    }
                }
            }
        }
    }
}

fn text(batch: &RecordBatch, name: &str, row: usize) -> String {
    let column = cast(&batch.column_by_name(name).unwrap().slice(row, 1), &DataType::Utf8).unwrap();
    if column.is_null(0) { String::new() } else { column.as_string::<i32>().value(0).to_owned() }
}

fn number(batch: &RecordBatch, name: &str, row: usize) -> u64 {
    let column = cast(&batch.column_by_name(name).unwrap().slice(row, 1), &DataType::UInt64).unwrap();
    if column.is_null(0) { 0 } else { column.as_primitive::<UInt64Type>().value(0) }
}
