//! The catalogue as the parser uses it: names to events, paths to columns. Read once from `schema/catalogue`.

use crate::dialect::Dialect;
use crate::event::{FRAME_NUMBERS, Kind, NUMBERS, WORDS};
use crate::keys::{Keys, ends};
use rustc_hash::FxHashMap;
use serde::Deserialize;

const EVENTS: &str = include_str!("../../../schema/catalogue/events.toml");
const SUMMARIES: &str = include_str!("../../../schema/catalogue/summaries.toml");
const REQUESTS: &str = include_str!("../../../schema/catalogue/requests.toml");
const REJECTS: &str = include_str!("../../../schema/catalogue/rejects.toml");
const GRAMMAR: &str = include_str!("../../../schema/catalogue/quic_trace_events.json");
include!(concat!(env!("OUT_DIR"), "/dialects.rs"));

/// A file of the schema, which is built in, cannot be used: a bug of ours, found by tests.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SchemaError {
    /// Which file.
    pub file: String,
    /// What is wrong.
    pub fault: SchemaFault,
}

/// What is wrong with a file of the schema.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum SchemaFault {
    /// It cannot be read; the reader says why.
    Syntax(String),
    /// A kind of field that is none, or that has no column in `event.rs`.
    Field(String),
    /// A path that is a column and an object.
    Path(String),
    /// More objects than are told apart.
    TooManyObjects,
}

impl SchemaFault {
    /// In that file.
    pub fn of(self, file: &str) -> SchemaError {
        SchemaError { file: file.to_owned(), fault: self }
    }
}

impl std::fmt::Display for SchemaError {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{}: ", self.file)?;
        match &self.fault {
            SchemaFault::Syntax(why) => f.write_str(why),
            SchemaFault::Field(kind) => write!(f, "field of kind {kind}, which is none or has no column in event.rs"),
            SchemaFault::Path(path) => write!(f, "{path} is a column and an object"),
            SchemaFault::TooManyObjects => f.write_str("more objects than are told apart"),
        }
    }
}

impl std::error::Error for SchemaError {}

/// What the value under a key becomes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Action {
    /// A whole number, of [`crate::event::Number`] or [`crate::event::FrameNumber`] by the table.
    Number(u8),
    /// A duration column, in the unit that the dialect gives `RttUnit`, `DelayUnit` or the trace's time unit.
    Duration(u8, UnitKey),
    /// `pacing_rate`, in the dialect's unit.
    Pacing(u8),
    /// Few values: stays in the shape.
    Word(u8),
    /// A string of few values with a column of its own.
    Id(u8),
    /// A boolean of a frame.
    Flag,
    /// ACK ranges.
    Ranges,
    /// An object whose fields are looked up in this table.
    Enter(u8),
    /// The array of frames.
    Frames,
    /// How this event's time is written.
    TimeFormat,
    /// From when it counts.
    ReferenceTime,
}

/// Whose unit a duration has.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[expect(missing_docs, reason = "named after the dialect's keys")]
pub enum UnitKey {
    Rtt,
    Delay,
    Time,
}

/// Keys of one object: the place of each in [`Catalogue::written`].
pub type Table = Keys<u16>;

/// A key as most logs write it: in quotes, with its colon.
#[derive(Clone, Debug)]
pub struct WrittenKey {
    text: Box<[u8]>,
    ends: (u64, u64),
    /// What the value under it becomes.
    pub action: Action,
}

impl WrittenKey {
    fn new(key: &[u8], action: Action) -> Self {
        let text: Box<[u8]> = [b"\"", key, b"\":"].concat().into();
        Self { ends: ends(&text), text, action }
    }

    /// The key.
    pub fn key(&self) -> &[u8] {
        &self.text[1..self.text.len() - 2]
    }

    /// How long it is where `text` starts with it.
    #[inline(always)]
    pub fn starts(&self, text: &[u8]) -> Option<usize> {
        let start = text.get(..self.text.len())?;
        (ends(start) == self.ends && (start.len() <= 16 || *start == *self.text)).then_some(start.len())
    }
}

/// A known event: canonical name and what the fold makes of it.
#[derive(Clone, Debug)]
pub struct KnownEvent {
    /// Canonical name.
    pub name: Box<str>,
    /// The fold's view.
    pub kind: Kind,
}

/// One column of a table.
#[derive(Clone, Debug, Deserialize)]
pub struct Column {
    /// Arrow field, ClickHouse column, JSON key.
    pub name: String,
    /// ClickHouse type.
    #[serde(rename = "type")]
    pub kind: String,
    /// It has what a log says as it says it, addresses too: whoever redacts looks through it.
    #[serde(default)]
    pub may_hold_address: bool,
    /// Filled by the store itself, so not sent.
    pub default: Option<String>,
}

/// Columns of one table.
#[derive(Clone, Debug, Deserialize)]
pub struct TableSpec {
    /// Table name.
    pub name: String,
    /// Columns in order.
    pub columns: Vec<Column>,
}

/// Everything that reader, fold and record take from `schema/`.
#[derive(Clone, Debug)]
pub struct Catalogue {
    /// Lower-case `category:type` (or bare type) to event.
    pub events: FxHashMap<Box<[u8]>, KnownEvent>,
    /// Key tables: 0 is an event's `data`, 1 a frame, 2 the event's root, others are nested objects.
    pub tables: Vec<Table>,
    /// All keys of all tables, as logs write them, and what each becomes.
    pub written: Vec<WrittenKey>,
    /// Dialects, in the order in which they are tried.
    pub dialects: Vec<Dialect>,
    /// Grammar of QUIC_TRACE rows.
    pub grammar: crate::reader::quic_trace::Grammar,
    /// Tables of the store by name.
    pub specs: Vec<TableSpec>,
}

/// Table of an event's `data`.
pub const DATA: u8 = 0;
/// Table of a frame.
pub const FRAME: u8 = 1;
/// Table of an event's root, for keys other than time, name and data.
pub const ROOT: u8 = 2;

#[derive(Deserialize)]
struct CatalogueFile {
    #[serde(default)]
    event: Vec<EventSpec>,
    #[serde(default)]
    field: Vec<FieldSpec>,
    #[serde(default)]
    frame_field: Vec<FieldSpec>,
    #[serde(default)]
    table: Vec<TableSpec>,
}

#[derive(Deserialize)]
struct EventSpec {
    name: String,
    seen: Vec<String>,
}

#[derive(Deserialize)]
struct FieldSpec {
    name: String,
    kind: String,
    at: Vec<String>,
}

impl Catalogue {
    /// Reads the catalogue that was built in. An error names the file's fault: it is a bug of ours, found by tests.
    pub fn load() -> Result<Self, SchemaError> {
        let read = |name: &str, text| {
            toml::from_str::<CatalogueFile>(text).map_err(|error| SchemaFault::Syntax(error.to_string()).of(name))
        };
        let in_events = |fault: SchemaFault| fault.of("events.toml");
        let file = read("events.toml", EVENTS)?;
        let mut specs = file.table;
        for (name, text) in [("summaries.toml", SUMMARIES), ("requests.toml", REQUESTS), ("rejects.toml", REJECTS)] {
            specs.extend(read(name, text)?.table);
        }
        let mut events = FxHashMap::default();
        for spec in file.event {
            let known = KnownEvent { kind: event_kind(&spec.name), name: spec.name.clone().into() };
            for name in spec.seen.iter().chain([&spec.name]) {
                events.insert(name.as_bytes().into(), known.clone());
            }
        }
        for name in crate::reader::quic_trace::OWN_EVENTS {
            events.insert(name.0.as_bytes().into(), KnownEvent { name: name.0.into(), kind: name.1 });
        }
        let mut objects =
            Objects { tables: vec![Table::default(), Table::default(), Table::default()], written: vec![] };
        for spec in &file.field {
            let index = |names: &[&str]| position(names, &spec.name);
            for at in &spec.at {
                let (table, path) = at.strip_prefix('.').map_or((DATA, at.as_str()), |path| (ROOT, path));
                let action = action(&spec.kind, index(&NUMBERS), index(&WORDS)).map_err(in_events)?;
                objects.add(table, path, action).map_err(in_events)?;
            }
        }
        for spec in &file.frame_field {
            for at in &spec.at {
                let action = action(&spec.kind, position(&FRAME_NUMBERS, &spec.name), Some(0)).map_err(in_events)?;
                objects.add(FRAME, at, action).map_err(in_events)?;
            }
        }
        let others = [
            (DATA, "frames", Action::Frames),
            (ROOT, "time_format", Action::TimeFormat),
            (ROOT, "reference_time", Action::ReferenceTime),
        ];
        for (table, key, action) in others {
            objects.insert(table, key, action).map_err(in_events)?;
        }
        let Objects { tables, written } = objects;
        let mut dialects = DIALECTS.iter().map(|text| Dialect::read(text)).collect::<Result<Vec<_>, _>>()?;
        dialects.sort_by(|a, b| (a.order, &a.name).cmp(&(b.order, &b.name)));
        let grammar = crate::reader::quic_trace::Grammar::read(GRAMMAR)
            .map_err(|why| SchemaFault::Syntax(why).of("schema/catalogue"))?;
        Ok(Self { events, tables, written, dialects, grammar, specs })
    }

    /// An event of this name has an entry.
    pub fn knows(&self, name: &[u8]) -> bool {
        self.events.contains_key(name) || self.grammar.knows(name)
    }

    /// Names of a table's columns that may hold an address.
    pub fn may_hold_address(&self, table: &str) -> impl Iterator<Item = &str> {
        self.columns(table).iter().filter(|column| column.may_hold_address).map(|column| column.name.as_str())
    }

    /// The columns of a table; empty for a name that is none.
    pub fn columns(&self, table: &str) -> &[Column] {
        self.specs.iter().find(|spec| spec.name == table).map_or(&[], |spec| &spec.columns)
    }
}

fn position(names: &[&str], name: &str) -> Option<u8> {
    names.iter().position(|known| *known == name).and_then(|at| u8::try_from(at).ok())
}

fn action(kind: &str, number: Option<u8>, word: Option<u8>) -> Result<Action, SchemaFault> {
    let fault = || SchemaFault::Field(kind.to_owned());
    Ok(match kind {
        "number" => Action::Number(number.ok_or_else(fault)?),
        "rtt" => Action::Duration(number.ok_or_else(fault)?, UnitKey::Rtt),
        "delay" => Action::Duration(number.ok_or_else(fault)?, UnitKey::Delay),
        "time" => Action::Duration(number.ok_or_else(fault)?, UnitKey::Time),
        "pacing" => Action::Pacing(number.ok_or_else(fault)?),
        "word" => Action::Word(word.ok_or_else(fault)?),
        "id" => Action::Id(word.ok_or_else(fault)?),
        "flag" => Action::Flag,
        "ranges" => Action::Ranges,
        _ => return Err(fault()),
    })
}

/// The objects whose fields are looked up, while they are made.
struct Objects {
    tables: Vec<Table>,
    written: Vec<WrittenKey>,
}

impl Objects {
    fn insert(&mut self, table: u8, key: &str, action: Action) -> Result<(), SchemaFault> {
        let place = u16::try_from(self.written.len()).map_err(|_| SchemaFault::TooManyObjects)?;
        self.written.push(WrittenKey::new(key.as_bytes(), action));
        self.tables[table as usize].insert(key.as_bytes(), place);
        Ok(())
    }

    fn add(&mut self, table: u8, path: &str, action: Action) -> Result<(), SchemaFault> {
        let Some((key, rest)) = path.split_once('.') else { return self.insert(table, path, action) };
        let known = self.tables[table as usize].get(key.as_bytes());
        let next = match known.map(|place| self.written[usize::from(*place)].action) {
            Some(Action::Enter(next)) => next,
            Some(_) => return Err(SchemaFault::Path(path.to_owned())),
            None => {
                let next = u8::try_from(self.tables.len()).map_err(|_| SchemaFault::TooManyObjects)?;
                self.tables.push(Table::default());
                self.insert(table, key, Action::Enter(next))?;
                next
            }
        };
        self.add(next, rest, action)
    }
}

fn event_kind(name: &str) -> Kind {
    match name {
        "quic:packet_sent" => Kind::PacketSent,
        "quic:packet_received" => Kind::PacketReceived,
        "quic:packet_dropped" => Kind::PacketDropped,
        "quic:packet_buffered" => Kind::PacketBuffered,
        "quic:key_updated" => Kind::KeyUpdated,
        "quic:key_discarded" => Kind::KeyDiscarded,
        "quic:packets_acked" => Kind::PacketsAcked,
        "quic:packet_lost" => Kind::PacketLost,
        "quic:spurious_loss" => Kind::SpuriousLoss,
        "quic:recovery_metrics_updated" => Kind::MetricsUpdated,
        "quic:congestion_state_updated" => Kind::CongestionStateUpdated,
        "quic:timer_updated" => Kind::TimerUpdated,
        "quic:parameters_set" => Kind::ParametersSet,
        "quic:recovery_parameters_set" => Kind::RecoveryParametersSet,
        "quic:connection_started" => Kind::ConnectionStarted,
        "quic:connection_closed" => Kind::ConnectionClosed,
        "quic:version_information" => Kind::VersionInformation,
        "quic:connection_id_updated" => Kind::ConnectionIdUpdated,
        "quic:migration_state_updated" => Kind::MigrationStateUpdated,
        "quic:stream_data_moved" => Kind::StreamDataMoved,
        "quic:datagram_data_moved" => Kind::DatagramDataMoved,
        "quic:stream_state_updated" => Kind::StreamStateUpdated,
        "quic:frames_created" => Kind::FramesCreated,
        "quic:frames_parsed" => Kind::FramesParsed,
        "quic:connection_data_blocked_updated" => Kind::ConnectionDataBlocked,
        "quic:stream_data_blocked_updated" => Kind::StreamDataBlocked,
        "quic:datagram_data_blocked_updated" => Kind::DatagramDataBlocked,
        "http3:frame_created" => Kind::HttpFrameCreated,
        "http3:frame_parsed" => Kind::HttpFrameParsed,
        _ => Kind::Other,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_fault_of_the_schema_names_its_kind_and_its_file() {
        assert_eq!(action("number", None, None), Err(SchemaFault::Field("number".to_owned())));
        assert_eq!(action("unheard-of", Some(0), None), Err(SchemaFault::Field("unheard-of".to_owned())));
        let mut objects = Objects { tables: vec![Table::default()], written: vec![] };
        assert_eq!(objects.add(DATA, "raw", Action::Flag), Ok(()));
        let fault = objects.add(DATA, "raw.length", Action::Flag);
        assert_eq!(fault, Err(SchemaFault::Path("raw.length".to_owned())));
        let said = SchemaFault::Path("raw.length".to_owned()).of("events.toml").to_string();
        assert_eq!(said, "events.toml: raw.length is a column and an object");
    }
}
