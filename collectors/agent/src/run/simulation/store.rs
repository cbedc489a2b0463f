//! The far end of a simulated collector: a broker that answers late, partly, twice, wrongly or not at all, and what it
//! holds in the end.

use crate::machine::simulated::{self, Chance};
use crate::run::sink::Message;
use crate::run::to_kafka::{Broker, Shared, Stop};
use arrow_array::cast::AsArray;
use arrow_array::types::UInt64Type;
use arrow_array::{Array, ArrayRef, RecordBatch};
use arrow_cast::cast;
use arrow_ipc::reader::StreamReader;
use arrow_schema::{ArrowError, DataType};
use rdkafka::error::KafkaError;
use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::path::Path;
use std::sync::{Arc, Mutex};
use std::time::Duration;

/// Batches that are there for good, by table and name.
pub struct Store {
    batches: BTreeMap<String, (String, Vec<u8>)>,
    /// Nothing goes wrong any more.
    pub is_healthy: bool,
    down_until: Duration,
    /// Until when nothing comes of a table's messages.
    stalled: BTreeMap<&'static str, Duration>,
    is_away: bool,
    /// Tables stall and refuse apart from each other, often.
    is_partial: bool,
    /// What the broker did, by name.
    pub did: BTreeMap<&'static str, u64>,
    chance: Chance,
}

/// What a broker does that is not taking a message and saying so.
const DEEDS: [&str; 9] = [
    "queue_full",
    "down",
    "stalled",
    "late",
    "stored_and_acknowledged_late",
    "refused",
    "stored_and_said_to_be_refused",
    "acknowledged_twice",
    "fatal",
];

/// A store that is shared by every producer.
pub type SharedStore = Arc<Mutex<Store>>;

impl Store {
    /// One whose faults come of `seed`; `is_away`: it is not there for long.
    pub fn new(seed: u64, is_away: bool) -> SharedStore {
        let mut chance = Chance(seed);
        Arc::new(Mutex::new(Self {
            batches: BTreeMap::new(),
            is_healthy: false,
            down_until: Duration::ZERO,
            stalled: BTreeMap::new(),
            is_away,
            is_partial: chance.one_in(2),
            did: DEEDS.into_iter().map(|name| (name, 0)).collect(),
            chance,
        }))
    }

    fn put(&mut self, message: &Message) {
        self.batches.insert(message.batch.clone(), (message.table.to_owned(), message.bytes.clone()));
    }

    fn did(&mut self, what: &'static str) {
        *self.did.entry(what).or_default() += 1;
        simulated::world(|world| world.note(&[what.as_bytes()]));
    }

    /// The partitions of a table have no leader for a while.
    fn is_stalled(&mut self, table: &'static str, now: Duration) -> bool {
        if self.is_healthy {
            return false;
        }
        if self.is_partial && self.chance.one_in(40) {
            self.did("stalled");
            self.stalled.insert(table, now + Duration::from_millis(self.chance.below(4000)));
        }
        self.stalled.get(table).is_some_and(|until| now < *until)
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
        if !store.is_healthy && !waiting.is_empty() && store.chance.one_in(20) {
            store.did("queue_full");
            return Ok(false);
        }
        simulated::world(|world| {
            world.note(&[message.batch.as_bytes(), &message.bytes, &tag.0.to_le_bytes(), &tag.1.to_le_bytes()]);
        });
        waiting.push_back(Waiting { message: message.clone(), tag, is_stored: false });
        Ok(true)
    }

    fn poll(&self, most: Duration) {
        let now = simulated::world(|world| world.elapsed());
        let mut store = self.store.lock().unwrap();
        let (times, most_ms) = if store.is_away { (6, 20_000) } else { (25, 6000) };
        if !store.is_healthy && store.chance.one_in(times) {
            store.did("down");
            store.down_until = now + Duration::from_millis(store.chance.below(most_ms));
        }
        if !store.is_healthy && now < store.down_until {
            drop(store);
            return crate::machine::sleep(most);
        }
        let mut waiting = self.waiting.lock().unwrap();
        let mut attempt = self.attempt.lock().unwrap();
        for mut each in std::mem::take(&mut *waiting) {
            if store.is_stalled(each.message.table, now) {
                waiting.push_back(each);
                continue;
            }
            let fate = match (store.is_healthy, store.is_partial) {
                (true, _) => 99,
                (false, false) => store.chance.below(20),
                (false, true) => store.chance.below(8),
            };
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
        let is_fatal = !store.is_healthy && store.chance.one_in(300);
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
            if store.chance.one_in(2) {
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
    /// Rejects: reason, file, source, first and last seq.
    pub rejects: BTreeSet<(String, String, String, u64, u64)>,
    /// Batches that nobody can read.
    pub damaged: Vec<String>,
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
                held.take(&table, &simulated::content(&path));
            }
        }
        held
    }

    fn take(&mut self, table: &str, bytes: &[u8]) {
        let wanted: &[&str] = match table {
            "request_lines" => &["path", "log_id", "offset"],
            "events" => &["connection_id", "trace_id", "seq"],
            "rejects" => &["reason", "file", "source", "seq", "seq_last"],
            _ => return,
        };
        let batches = match columns(bytes, wanted) {
            Ok(batches) => batches,
            Err(error) => return self.damaged.push(format!("a batch of {table} cannot be read: {error}")),
        };
        for batch in batches {
            let texts = |name| cast(batch.column_by_name(name).unwrap(), &DataType::Utf8).unwrap();
            let numbers = |name| cast(batch.column_by_name(name).unwrap(), &DataType::UInt64).unwrap();
            match table {
                "request_lines" => {
                    let (paths, logs, offsets) = (texts("path"), texts("log_id"), numbers("offset"));
                    for row in 0..batch.num_rows() {
                        self.lines
                            .entry(text(&paths, row))
                            .or_default()
                            .insert((text(&logs, row), number(&offsets, row)));
                    }
                }
                "events" => {
                    let (connections, traces, seqs) = (texts("connection_id"), texts("trace_id"), numbers("seq"));
                    for row in 0..batch.num_rows() {
                        let key = (text(&connections, row), number(&seqs, row));
                        self.events.entry(key).or_default().insert(text(&traces, row));
                    }
                }
                _ => {
                    let (reasons, files, sources) = (texts("reason"), texts("file"), texts("source"));
                    let (firsts, lasts) = (numbers("seq"), numbers("seq_last"));
                    for row in 0..batch.num_rows() {
                        let (first, last) = (number(&firsts, row), number(&lasts, row));
                        let (reason, file, source) = (text(&reasons, row), text(&files, row), text(&sources, row));
                        self.rejects.insert((reason, file, source, first, last.max(first)));
                    }
                }
            }
        }
    }
}

fn columns(bytes: &[u8], wanted: &[&str]) -> Result<Vec<RecordBatch>, ArrowError> {
    let schema = StreamReader::try_new(bytes, None)?.schema();
    let columns = wanted.iter().map(|name| schema.index_of(name)).collect::<Result<_, _>>()?;
    StreamReader::try_new(bytes, Some(columns))?.collect()
}

fn text(column: &ArrayRef, row: usize) -> String {
    if column.is_null(row) { String::new() } else { column.as_string::<i32>().value(row).to_owned() }
}

fn number(column: &ArrayRef, row: usize) -> u64 {
    if column.is_null(row) { 0 } else { column.as_primitive::<UInt64Type>().value(row) }
}
