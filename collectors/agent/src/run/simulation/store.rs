//! The far end of a simulated collector: a broker that answers late, partly, twice, wrongly or not at all, and what it
//! holds in the end.

use super::served;
use crate::machine::simulated::{self, Chance};
use crate::run::sink::Message;
use crate::run::to_kafka::{AttemptEnd, Broker, SharedAttempt};
use arrow_array::cast::AsArray;
use arrow_array::types::{Int64Type, UInt64Type};
use arrow_array::{Array, ArrayRef, RecordBatch};
use arrow_cast::cast;
use arrow_cast::display::{ArrayFormatter, FormatOptions};
use arrow_ipc::reader::StreamReader;
use arrow_schema::{ArrowError, DataType};
use quiclens_core::dialect::Units;
use quiclens_core::event::Event;
use quiclens_core::header::Header;
use quiclens_core::reader::shape::{WrittenClock, restore};
use quiclens_core::record::read::BatchColumns;
use rdkafka::error::{KafkaError, RDKafkaErrorCode};
use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::fmt::Write;
use std::path::Path;
use std::sync::{Arc, Mutex};
use std::time::Duration;

/// Batches that are there for good, by table and name.
pub struct Store {
    batches: BTreeMap<String, (String, Vec<u8>)>,
    /// Nothing goes wrong any more.
    pub is_healthy: bool,
    /// Nobody is there until then.
    pub down_until: Duration,
    /// Until when nothing comes of a table's messages.
    stalled: BTreeMap<&'static str, Duration>,
    /// It is not there for long.
    pub is_away: bool,
    /// Tables stall and refuse apart from each other, often.
    is_partial: bool,
    /// What the broker did, by name.
    pub did: BTreeMap<&'static str, u64>,
    /// What a store behind HTTP did, by name.
    pub served: BTreeMap<&'static str, u64>,
    /// Batches that such a store has taken so far.
    taken: u64,
    /// Whom it lets in.
    pub password: u64,
    /// Batches that a sink was told would never be taken.
    pub refusals: u64,
    /// What decides all that.
    pub chance: Chance,
}

/// What a broker does other than to store a message and to acknowledge it.
const DEEDS: [&str; 11] = [
    "queue_full",
    "down",
    "stalled",
    "late",
    "stored_and_acknowledged_late",
    "refused",
    "stored_and_said_to_be_refused",
    "acknowledged_twice",
    "too_large",
    "said_to_be_too_large",
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
            served: served::DEEDS.into_iter().map(|name| (name, 0)).collect(),
            taken: 0,
            password: 0,
            refusals: 0,
            chance,
        }))
    }

    fn put(&mut self, message: &Message) {
        self.batches.insert(message.batch.clone(), (message.table.to_owned(), message.bytes.clone()));
    }

    /// A store behind HTTP has done that.
    pub fn served(&mut self, what: &'static str) {
        *self.served.entry(what).or_default() += 1;
        simulated::world(|world| world.note(&[what.as_bytes()]));
    }

    /// A store behind HTTP holds these rows.
    pub fn hold(&mut self, table: &str, bytes: Vec<u8>) {
        self.taken += 1;
        self.batches.insert(format!("{:08}", self.taken), (table.to_owned(), bytes));
    }

    fn did(&mut self, what: &'static str) {
        *self.did.entry(what).or_default() += 1;
        simulated::world(|world| world.note(&[what.as_bytes()]));
    }

    /// A broker finds a message too large, once in so many times: only such as are larger than any of one row, about.
    fn is_too_large(&mut self, message: &Message, times: u64) -> bool {
        let may_be = !self.is_healthy && message.table == "connections" && message.rows > 1;
        let is_too_large = may_be && self.chance.one_in(times);
        // Should a row alone be larger nevertheless, that is final.
        self.refusals += u64::from(is_too_large);
        is_too_large
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

struct WaitingMessage {
    message: Message,
    tag: (u64, usize),
    is_stored: bool,
}

/// A producer of the simulated broker.
pub struct Simulated {
    store: SharedStore,
    attempt: SharedAttempt,
    waiting: Mutex<VecDeque<WaitingMessage>>,
}

impl Simulated {
    /// A new producer.
    pub fn new(store: &SharedStore, attempt: &SharedAttempt) -> Self {
        Self { store: Arc::clone(store), attempt: Arc::clone(attempt), waiting: Mutex::default() }
    }
}

impl Broker for Simulated {
    fn produce(&self, message: &Message, tag: (u64, usize)) -> Result<bool, AttemptEnd> {
        let mut store = self.store.lock().unwrap();
        let mut waiting = self.waiting.lock().unwrap();
        if !store.is_healthy && !waiting.is_empty() && store.chance.one_in(20) {
            store.did("queue_full");
            return Ok(false);
        }
        if store.is_too_large(message, 6) {
            store.did("too_large");
            return Err(AttemptEnd::TooLarge(message.bytes.len()));
        }
        simulated::world(|world| {
            world.note(&[message.batch.as_bytes(), &message.bytes, &tag.0.to_le_bytes(), &tag.1.to_le_bytes()]);
        });
        waiting.push_back(WaitingMessage { message: message.clone(), tag, is_stored: false });
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
            if store.is_too_large(&each.message, 12) {
                store.did("said_to_be_too_large");
                let too_large = KafkaError::MessageProduction(RDKafkaErrorCode::MessageSizeTooLarge);
                attempt.hear(Err(&too_large), each.tag);
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

/// All that a row says but its key, as text: see [`content`].
pub type Content = String;

/// A row that has these columns and no others: their names and values, as they are shown.
pub fn content(columns: &[(&str, &str)]) -> Content {
    let mut columns = columns.to_vec();
    columns.sort_unstable();
    columns.iter().flat_map(|(name, value)| [name, "=", value, "\n"]).collect()
}

/// What only one of two rows says.
pub fn differences(one: &str, other: &str) -> String {
    let (one, other): (BTreeSet<&str>, BTreeSet<&str>) = (one.lines().collect(), other.lines().collect());
    format!("{:?}, not {:?}", one.difference(&other).collect::<Vec<_>>(), other.difference(&one).collect::<Vec<_>>())
}

/// The value of a column of a row.
pub fn value_of<'c>(content: &'c str, name: &str) -> Option<&'c str> {
    content.lines().find_map(|line| line.strip_prefix(name)?.strip_prefix('='))
}

/// What a row of `connections` says.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Shown {
    version: u64,
    /// All of it.
    pub content: Content,
    /// The trace has its end, and nothing of it is missing.
    pub is_complete: bool,
    /// Records that became events.
    pub events_seen: u64,
    /// Of its log.
    pub header: String,
    unit_rule: String,
    base_ns: i64,
}

impl Shown {
    /// When its first record was, in its source's time, ns.
    pub fn base_ns(&self) -> i64 {
        self.base_ns
    }

    /// How its records write times; none where the row says nothing that is known.
    fn clock(&self) -> Option<(Units, WrittenClock)> {
        let format = Header::stored(&self.header)?.time_format();
        Some((Units::from_rule(&self.unit_rule)?, WrittenClock::new(self.base_ns, format)))
    }
}

/// What is held, by what was written.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Held {
    /// What lines of access logs say, by log and offset: one, where no two rows of a key differ.
    pub lines: BTreeMap<(String, u64), BTreeSet<Content>>,
    /// What events say, by connection and seq, and by trace: one, where no two rows of a key differ.
    pub events: BTreeMap<(String, u64), BTreeMap<String, BTreeSet<Content>>>,
    /// The records that events of qlogs give back, by connection, and where each stands: trace and seq.
    pub texts: BTreeMap<String, BTreeMap<String, BTreeSet<(String, u64)>>>,
    /// The newest row of each connection, by its id and trace.
    pub connections: BTreeMap<(String, String), Shown>,
    /// Rows of other tables: nobody writes what they could be of.
    pub others: BTreeMap<(String, Content), u64>,
    /// Rejects: reason, file, source, first and last seq.
    pub rejects: BTreeSet<(String, String, String, u64, u64)>,
    /// Batches that nobody can read.
    pub damaged: Vec<String>,
    /// Of some cycle rows may be held, and others not: a batch was refused, or stored in part.
    pub has_parts: bool,
}

impl Held {
    /// Of a broker, and of files in a folder.
    pub fn read(store: &SharedStore, folder: &Path) -> Self {
        let store = store.lock().unwrap();
        let has_parts =
            store.refusals > 0 || store.served.get("stored_in_part_and_failed").is_some_and(|count| *count > 0);
        let mut held = Self { has_parts, ..Self::default() };
        let mut batches: Vec<(String, Vec<u8>)> = store.batches.values().cloned().collect();
        drop(store);
        for path in simulated::files_below(folder).unwrap() {
            let table = path.parent().and_then(Path::file_name).unwrap().to_string_lossy().into_owned();
            if path.extension().is_some_and(|extension| extension == "arrow") {
                batches.push((table, simulated::content(&path)));
            }
        }
        // Rows of connections tell how their events are written.
        batches.sort_by_key(|(table, _)| table != "connections");
        for (table, bytes) in &batches {
            held.take(table, bytes);
        }
        held
    }

    /// Connections that rows speak of, and what else no server can have written, but that of connections `written`.
    pub fn strangers(&self, written: &BTreeSet<String>) -> Vec<String> {
        let spoken_of: BTreeSet<&String> =
            self.events.keys().map(|(id, _)| id).chain(self.connections.keys().map(|(id, _)| id)).collect();
        let mut wrong: Vec<String> = spoken_of
            .into_iter()
            .filter(|id| !written.contains(*id))
            .map(|id| format!("nobody wrote of connection {id}"))
            .collect();
        wrong.extend(self.others.keys().filter_map(|(table, row)| {
            let [alias, id, role] = ["alias", "connection_id", "role"].map(|name| value_of(row, name));
            let is_written = table == "connection_aliases" && alias == id && role == Some("odcid");
            let is_known = is_written && id.is_some_and(|id| written.contains(id));
            (!is_known).then(|| format!("nobody wrote a row of {table}: {row:?}"))
        }));
        // The spool has no damage here.
        let odd = self.rejects.iter().filter(|(reason, file, ..)| file == "spool" && reason != "spool_full");
        wrong.extend(odd.map(|reject| format!("nothing of that kind was written: {reject:?}")));
        wrong
    }

    /// Traces that events of a connection are in.
    pub fn traces(&self, connection: &str) -> BTreeSet<&str> {
        self.events_of(connection).flat_map(|(_, traces)| traces.keys().map(String::as_str)).collect()
    }

    /// Events of a connection: seq, and what they say by trace.
    pub fn events_of(&self, connection: &str) -> impl Iterator<Item = (u64, &BTreeMap<String, BTreeSet<Content>>)> {
        let events = self.events.range((connection.to_owned(), 0)..=(connection.to_owned(), u64::MAX));
        events.map(|((_, seq), traces)| (*seq, traces))
    }

    /// The newest rows of a connection, one for each of its traces.
    pub fn rows<'h>(&'h self, connection: &str) -> impl Iterator<Item = (&'h str, &'h str, &'h Shown)> + use<'h> {
        let rows = self.connections.range((connection.to_owned(), String::new())..);
        let connection = connection.to_owned();
        let rows = rows.take_while(move |((id, _), _)| *id == connection);
        rows.map(|((connection, trace), row)| (connection.as_str(), trace.as_str(), row))
    }

    fn take_connection(&mut self, key: (String, String), row: Shown) {
        match self.connections.get(&key) {
            Some(known) if known.version == row.version && *known != row => {
                self.damaged
                    .push(format!("two rows of one version of {key:?}: {}", differences(&known.content, &row.content)));
            }
            Some(known) if known.version >= row.version => {}
            _ => drop(self.connections.insert(key, row)),
        }
    }

    /// The records that events give back; of those whose connection has no row nobody can tell.
    fn take_texts(&mut self, bytes: &[u8]) -> Result<(), ArrowError> {
        let (mut event, mut text) = (Event::default(), Vec::new());
        for batch in StreamReader::try_new(bytes, None)? {
            let batch = batch?;
            let connections = cast(batch.column_by_name("connection_id").unwrap(), &DataType::Utf8)?;
            let rows = BatchColumns::new(&batch)?;
            for at in 0..rows.len() {
                let key = (self::text(&connections, at), rows.read(at, &mut event));
                let Some((units, mut clock)) = self.connections.get(&key).and_then(Shown::clock) else { continue };
                text.clear();
                restore(&event, &units, &mut clock, &mut text);
                let (connection, trace) = key;
                let texts = self.texts.entry(connection).or_default();
                texts.entry(String::from_utf8_lossy(&text).into_owned()).or_default().insert((trace, event.seq));
            }
        }
        Ok(())
    }

    fn take(&mut self, table: &str, bytes: &[u8]) {
        let batches: Vec<RecordBatch> = match StreamReader::try_new(bytes, None).and_then(Iterator::collect) {
            Ok(batches) => batches,
            Err(error) => return self.damaged.push(format!("a batch of {table} cannot be read: {error}")),
        };
        if table == "events"
            && let Err(error) = self.take_texts(bytes)
        {
            self.damaged.push(format!("events cannot be given back: {error}"));
        }
        for batch in batches {
            let texts = |name| cast(batch.column_by_name(name).unwrap(), &DataType::Utf8).unwrap();
            let numbers = |name| cast(batch.column_by_name(name).unwrap(), &DataType::UInt64).unwrap();
            let key: &[&str] = match table {
                "request_lines" => &["log_id", "offset"],
                "events" => &["connection_id", "trace_id", "seq"],
                "connections" => &UNSTEADY,
                _ => &[],
            };
            let contents = match table {
                "rejects" => vec![String::new(); batch.num_rows()],
                _ => contents(&batch, key),
            };
            match table {
                "request_lines" => {
                    let (logs, offsets) = (texts("log_id"), numbers("offset"));
                    for (row, content) in contents.into_iter().enumerate() {
                        let key = (text(&logs, row), number(&offsets, row));
                        self.lines.entry(key).or_default().insert(content);
                    }
                }
                "events" => {
                    let (connections, traces, seqs) = (texts("connection_id"), texts("trace_id"), numbers("seq"));
                    for (row, content) in contents.into_iter().enumerate() {
                        let key = (text(&connections, row), number(&seqs, row));
                        let traces = self.events.entry(key).or_default().entry(text(&traces, row));
                        traces.or_default().insert(content);
                    }
                }
                "connections" => {
                    let (connections, traces, headers) = (texts("connection_id"), texts("trace_id"), texts("header"));
                    let (rules, complete) = (texts("unit_rule"), texts("complete"));
                    let (versions, seen) = (numbers("version"), numbers("events_seen"));
                    let bases = cast(batch.column_by_name("time_base_ns").unwrap(), &DataType::Int64).unwrap();
                    for (row, content) in contents.into_iter().enumerate() {
                        let shown = Shown {
                            version: number(&versions, row),
                            content,
                            is_complete: text(&complete, row) == "true",
                            events_seen: number(&seen, row),
                            header: text(&headers, row),
                            unit_rule: text(&rules, row),
                            base_ns: bases.as_primitive::<Int64Type>().value(row),
                        };
                        self.take_connection((text(&connections, row), text(&traces, row)), shown);
                    }
                }
                "rejects" => {
                    let (reasons, files, sources) = (texts("reason"), texts("file"), texts("source"));
                    let (firsts, lasts) = (numbers("seq"), numbers("seq_last"));
                    for row in 0..batch.num_rows() {
                        let (first, last) = (number(&firsts, row), number(&lasts, row));
                        let (reason, file, source) = (text(&reasons, row), text(&files, row), text(&sources, row));
                        self.rejects.insert((reason, file, source, first, last.max(first)));
                    }
                }
                _ => {
                    for content in contents {
                        *self.others.entry((table.to_owned(), content)).or_default() += 1;
                    }
                }
            }
        }
    }
}

/// Key of a row of a connection, and columns that two rows of one version may differ in: a file may have another name when
/// it is read again, and what was read in one piece then may have been read in several before, with silences between.
const UNSTEADY: [&str; 7] =
    ["connection_id", "trace_id", "version", "source_file", "damage", "idle_max_us", "packets_out_of_order"];

/// A column of numbers in which zero says as much as nothing.
fn never_null(name: &str) -> bool {
    matches!(name, "time_us" | "time_ns")
}

/// What each row of a batch says but in the columns of its key: without nulls, and without empty lists and the zeros and
/// empty texts of columns that are never null.
fn contents(batch: &RecordBatch, key: &[&str]) -> Vec<Content> {
    let mut contents = vec![Content::new(); batch.num_rows()];
    let schema = batch.schema();
    let mut columns: Vec<_> = schema.fields().iter().zip(batch.columns()).collect();
    columns.retain(|(field, _)| !key.contains(&field.name().as_str()));
    columns.sort_unstable_by(|(one, _), (other, _)| one.name().cmp(other.name()));
    let options = FormatOptions::default();
    let mut value = String::new();
    for (field, column) in columns {
        let is_empty_list = match column.data_type() {
            DataType::List(_) => column.as_list::<i32>().values().is_empty(),
            DataType::Map(..) => column.as_map().entries().is_empty(),
            _ => column.null_count() == column.len(),
        };
        if is_empty_list {
            continue;
        }
        // The name of a time zone is nothing that is shown.
        let column = match column.data_type() {
            DataType::Timestamp(unit, Some(_)) => &cast(column, &DataType::Timestamp(*unit, None)).unwrap(),
            _ => column,
        };
        let shown = ArrayFormatter::try_new(column.as_ref(), &options).unwrap();
        for (row, content) in contents.iter_mut().enumerate().filter(|(row, _)| column.is_valid(*row)) {
            value.clear();
            write!(value, "{}", shown.value(row)).unwrap();
            let is_none = matches!(&*value, "" | "[]" | "{}" | "false") || value == "0" && never_null(field.name());
            if !is_none {
                content.extend([field.name(), "=", &*value, "\n"]);
            }
        }
    }
    contents
}

fn text(column: &ArrayRef, row: usize) -> String {
    if column.is_null(row) { String::new() } else { column.as_string::<i32>().value(row).to_owned() }
}

fn number(column: &ArrayRef, row: usize) -> u64 {
    if column.is_null(row) { 0 } else { column.as_primitive::<UInt64Type>().value(row) }
}
