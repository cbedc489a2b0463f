//! One trace of a file: its identity, its connections, and the way of each record through parse, fold and record.

use crate::catalogue::Catalogue;
use crate::dialect::Units;
use crate::event::{Event, Kind, Number, Word};
use crate::fold::{Fold, Trace};
use crate::header::{DIMENSIONS, Header, Vantage, normal_id};
use crate::reader::qlog::Reader;
use crate::reader::skip::{Skip, Stop};
use crate::reader::sniff::Framing;
use crate::reader::{number, quic_trace};
use crate::record::events::Key;
use crate::record::rows::{Cell, Row};
use crate::tables::Tables;
use rustc_hash::FxHashMap;
use serde_json::Value;
use xxhash_rust::xxh3::xxh3_64;

/// Records that decide a trace's identity (a shorter file is decided at its end).
pub const PRELUDE: usize = 64;

/// Connections of one file that are open at once; a record of one more is rejected.
const MOST_CONNECTIONS: usize = 100_000;

mod saved;

pub use saved::Saved;

/// Something that could not become a row.
#[derive(Clone, Debug, Default, serde::Serialize, serde::Deserialize)]
pub struct Reject {
    /// Why.
    pub reason: Option<Skip>,
    /// Where, in the decompressed file.
    pub offset: u64,
    /// Bytes of the whole thing.
    pub length: u64,
    /// At most 64 KiB of them.
    pub bytes: Vec<u8>,
}

/// Most bytes of a reject that are kept.
pub const REJECT_BYTES: usize = 64 << 10;

enum Stashed {
    Record(Vec<u8>),
    Reject(Reject),
}

struct Connection {
    key: Key,
    fold: Fold,
    seq: u64,
    base_ns: i64,
    last_ns: i64,
    started: bool,
    /// Events that the newest row of `connections` knew.
    shown: u64,
}

/// A trace being read.
pub struct TraceReader<'c> {
    catalogue: &'c Catalogue,
    header: Header,
    file: String,
    reader: Reader,
    dialect: usize,
    event: Event,
    stash: Option<Vec<Stashed>>,
    stashed_events: usize,
    connections: Vec<Connection>,
    groups: FxHashMap<String, usize>,
    initial: Option<String>,
    is_delta: bool,
    /// The first connection is the one of records that name none.
    is_plain: bool,
}

impl<'c> TraceReader<'c> {
    /// A reader for the records that follow `header` in `file` (its name, for people).
    pub fn new(catalogue: &'c Catalogue, header: Header, file: &str) -> Self {
        let fields = header.event_fields();
        let joined = fields.join(",").to_lowercase();
        let dialect = catalogue.dialects.iter().position(|dialect| dialect.holds(&header.json, &joined)).unwrap_or(0);
        let units = match catalogue.dialects.get(dialect) {
            Some(dialect) => dialect.units(header.time_unit(), None),
            None => Units { time: 6, rtt: 6, delay: 6, pacing: 1 },
        };
        Self {
            reader: Reader::new(units, &fields),
            catalogue,
            is_delta: header.is_delta(),
            is_plain: false,
            header,
            file: file.to_owned(),
            dialect,
            event: Event::default(),
            stash: Some(Vec::new()),
            stashed_events: 0,
            connections: Vec::new(),
            groups: FxHashMap::default(),
            initial: None,
        }
    }

    /// Takes a record that is all of `text`, or says why it is none.
    pub fn push_whole(&mut self, text: &[u8], tables: &mut Tables) -> Result<(), Stop> {
        let length = self.parse(text)?;
        if !text[length..].iter().all(u8::is_ascii_whitespace) {
            return Err(Stop::Skip(Skip::NotJson));
        }
        self.push_parsed(text, length, tables).map(|_| ())
    }

    /// Takes the record at the start of `text` and gives its length, or why it is none.
    pub fn push(&mut self, text: &[u8], tables: &mut Tables) -> Result<usize, Stop> {
        let length = self.parse(text)?;
        self.push_parsed(text, length, tables)
    }

    fn push_parsed(&mut self, text: &[u8], length: usize, tables: &mut Tables) -> Result<usize, Stop> {
        // std's check runs at memory speed on ASCII, which is what traces are.
        let raw = &text[..length];
        if core::str::from_utf8(raw).is_err() {
            return Err(Stop::Skip(Skip::InvalidUtf8));
        }
        let Some(stash) = &mut self.stash else {
            self.take(raw, tables);
            return Ok(length);
        };
        stash.push(Stashed::Record(raw.to_vec()));
        self.stashed_events += 1;
        if self.stashed_events == PRELUDE {
            self.open(tables);
        }
        Ok(length)
    }

    fn parse(&mut self, text: &[u8]) -> Result<usize, Stop> {
        if matches!(self.header.framing, Framing::QuicTrace | Framing::LineV1) {
            quic_trace::read(self.catalogue, text, &mut self.event).map_err(Stop::Skip)?;
            return Ok(text.len());
        }
        self.reader.read(self.catalogue, text, &mut self.event)
    }

    /// Counts something that is no event, in its place.
    pub fn reject(&mut self, reject: Reject, tables: &mut Tables) {
        match &mut self.stash {
            Some(stash) => stash.push(Stashed::Reject(reject)),
            None => self.take_reject(&reject, tables),
        }
    }

    fn take_reject(&mut self, reject: &Reject, tables: &mut Tables) {
        // A record that names no connection has a place in one only where the file has no other.
        match self.connections.as_mut_slice() {
            [only] => {
                let seq = only.seq;
                only.seq += 1;
                let trace_id = only.key.trace_id.clone();
                tables.reject(&trace_id, reject, &self.file, &trace_id, Some(seq));
            }
            _ => tables.reject(&self.source(), reject, &self.file, "", None),
        }
    }

    fn source(&self) -> String {
        self.connections
            .first()
            .map_or_else(|| format!("{:016x}", xxh3_64(&self.header.text)), |first| first.key.trace_id.clone())
    }

    /// Decides identity and units from the first records, and takes them.
    fn open(&mut self, tables: &mut Tables) {
        let Some(stash) = self.stash.take() else { return };
        let mut first_rtt = None;
        for raw in stash.iter().filter_map(|stashed| if let Stashed::Record(raw) = stashed { Some(raw) } else { None })
        {
            if self.parse(raw).is_err() {
                continue;
            }
            let event = &self.event;
            #[expect(clippy::cast_precision_loss, reason = "a threshold near 1")]
            let rtt = || event.get(Number::SmoothedRttUs).map(|us| us as f64 / 1000.0);
            first_rtt = first_rtt.or_else(rtt);
            if self.initial.is_none() && event.group.len == 0 {
                self.initial = initial_id(event, self.header.vantage(), self.header.flow_is_client());
            }
        }
        if let Some(dialect) = self.catalogue.dialects.get(self.dialect) {
            self.reader.units = dialect.units(self.header.time_unit(), first_rtt);
        }
        for stashed in stash {
            match stashed {
                Stashed::Record(raw) => {
                    if self.parse(&raw).is_ok() {
                        self.take(&raw, tables);
                    }
                }
                Stashed::Reject(reject) => self.take_reject(&reject, tables),
            }
        }
    }

    /// The parsed event goes to its connection.
    fn take(&mut self, raw: &[u8], tables: &mut Tables) {
        let at = match self.connections.len() {
            1 if self.event.group.len == 0 && self.is_plain => 0,
            _ => {
                let group = self.event.str(self.event.group);
                match self.groups.get(group) {
                    Some(at) => *at,
                    None if self.connections.len() >= MOST_CONNECTIONS => {
                        let reject = Reject {
                            reason: Some(Skip::NotARecord),
                            length: raw.len() as u64,
                            bytes: raw.to_vec(),
                            ..Reject::default()
                        };
                        tables.reject(&self.source(), &reject, &self.file, "", None);
                        return;
                    }
                    None => {
                        let group = group.to_owned();
                        self.begin(group, raw)
                    }
                }
            }
        };
        let connection = &mut self.connections[at];
        let event = &mut self.event;
        if self.header.framing == Framing::LineV1 {
            connection.seq = event.seq;
        }
        event.seq = connection.seq;
        connection.seq += 1;
        if self.is_delta {
            event.source_ns = connection.last_ns.wrapping_add(event.source_ns);
            connection.last_ns = event.source_ns;
        }
        if !connection.started {
            connection.started = true;
            connection.base_ns = event.source_ns;
        }
        let since = event.source_ns.wrapping_sub(connection.base_ns);
        event.time_us = since.div_euclid(1000);
        event.time_ns = u16::try_from(since.rem_euclid(1000)).unwrap_or(0);
        connection.fold.event(event);
        if tables.wants_events {
            tables.events.push(&connection.key, event);
        }
        tables.counted += 1;
        if !connection.fold.output.streams.is_empty() || !connection.fold.output.episodes.is_empty() {
            tables.streams.append(&mut connection.fold.output.streams);
            tables.episodes.append(&mut connection.fold.output.episodes);
        }
    }

    /// A connection of the file: its ids, its clock, what the header says of it.
    fn begin(&mut self, group: String, raw: &[u8]) -> usize {
        let header = &self.header;
        let mut vantage = header.vantage();
        let declared = if group.is_empty() { header.declared() } else { Some(normal_id(&group)) };
        let mut epoch_ns = header.epoch_ns(self.event.source_ns);
        let mut server = header.common("server").as_str().map(str::to_owned);
        if self.event.kind == Kind::ClockAnchor {
            // quiclens line v1: epoch us, host, process id, vantage.
            let value: String =
                self.event.leftover("value").and_then(|json| serde_json::from_str(json).ok()).unwrap_or_default();
            let mut parts = value.split(", ");
            let anchor = parts.next().and_then(|epoch| number::scaled(epoch.as_bytes(), 3));
            epoch_ns = anchor.map(|anchor| anchor.wrapping_sub(self.event.source_ns));
            server = parts.next().map(str::to_owned);
            match parts.nth(1) {
                Some("client") => vantage = Vantage::Client,
                Some("network") => vantage = Vantage::Network,
                _ => {}
            }
        }
        let mut identity = header.text.clone();
        for part in [raw, declared.as_deref().unwrap_or("").as_bytes(), vantage.name().as_bytes()] {
            identity.push(0);
            identity.extend_from_slice(part);
        }
        let trace_id = format!("{:016x}", xxh3_64(&identity));
        let connection_id = declared
            .or_else(|| self.initial.clone())
            .or_else(|| header.described())
            .unwrap_or_else(|| format!("t-{trace_id}"));
        let started_us = epoch_ns.map(|epoch| epoch.wrapping_add(self.event.source_ns).div_euclid(1000));
        let day = started_us.map_or(0, |us| us.div_euclid(86_400_000_000));
        let trace_day = i32::try_from(day).unwrap_or(0);
        let fold = Fold::new(Trace {
            connection_id: connection_id.clone(),
            trace_id: trace_id.clone(),
            vantage,
            trace_day,
            started_us,
            losses: self.catalogue.dialects.get(self.dialect).map(|dialect| dialect.losses).unwrap_or_default(),
            frameless: matches!(header.framing, Framing::QuicTrace | Framing::LineV1),
            facts: self.facts(server.as_deref()),
            server,
        });
        let key = Key { connection_id, vantage: vantage.name(), trace_id, trace_day };
        self.connections.push(Connection { key, fold, seq: 0, base_ns: 0, last_ns: 0, started: false, shown: 0 });
        self.is_plain |= self.connections.len() == 1 && group.is_empty();
        self.groups.insert(group, self.connections.len() - 1);
        self.connections.len() - 1
    }

    fn facts(&self, server: Option<&str>) -> Row {
        let mut row = Row::default();
        let header = &self.header;
        row.set("source_file", self.file.as_str());
        row.set("serialization", header.framing.name());
        row.set("header", header.json.to_string());
        row.set("time_unit", crate::dialect::unit(self.reader.units.time));
        if let Some(dialect) = self.catalogue.dialects.get(self.dialect) {
            row.set("dialect", dialect.name.as_str());
            row.set("stack", if header.framing == Framing::QuicTrace { "mvfst" } else { dialect.stack.as_str() });
        }
        row.set("unit_rule", self.reader.units.rule());
        let version = header.text_of("stack_version");
        row.set("stack_version", if version.is_empty() { header.text_of("code_version") } else { version });
        row.set("congestion_controller", header.text_of("congestion_controller"));
        for name in DIMENSIONS {
            let value = header.common(name);
            row.set(
                name,
                match value {
                    Value::String(text) => Cell::Text(text.clone()),
                    Value::Number(number) => number.as_u64().map_or(Cell::Null, Cell::Whole),
                    _ if name == "server" => server.into(),
                    _ => Cell::Null,
                },
            );
        }
        row
    }

    /// Rows of the connections as they stand now, for a trace that goes on: without them none of its rows are seen.
    pub fn show(&mut self, tables: &mut Tables) {
        for connection in &mut self.connections {
            if connection.fold.events() > connection.shown {
                connection.shown = connection.fold.events();
                tables.streams.extend(connection.fold.standing());
                tables.aliases.extend(connection.fold.alias_rows());
                let mut row = connection.fold.connection(false);
                row.set("time_base_ns", connection.base_ns);
                tables.connections.push(row);
                tables.traces.insert(connection.key.trace_id.clone());
            }
        }
    }

    /// The trace is over. `complete`: nothing of it was cut off.
    pub fn finish(mut self, complete: bool, tables: &mut Tables) {
        self.open(tables);
        for mut connection in std::mem::take(&mut self.connections) {
            connection.fold.finish();
            tables.streams.append(&mut connection.fold.output.streams);
            tables.episodes.append(&mut connection.fold.output.episodes);
            let declared = self.header.declared();
            if let Some(id) = &declared {
                connection.fold.declare(id);
            }
            tables.aliases.extend(connection.fold.alias_rows());
            let mut row = connection.fold.connection(complete);
            row.set("time_base_ns", connection.base_ns);
            tables.connections.push(row);
            tables.traces.insert(connection.key.trace_id.clone());
            tables.abilities.push((connection.key, connection.fold.abilities(), connection.fold.events()));
        }
    }
}

/// DCID of the first Initial that the client sent, or what the server says it was.
fn initial_id(event: &Event, vantage: Vantage, flow_is_client: bool) -> Option<String> {
    if event.kind == Kind::ParametersSet {
        let id = ["original_destination_connection_id", "original_connection_id"]
            .iter()
            .find_map(|key| event.leftover(key))?;
        let id = id.trim_matches('"');
        return (!id.is_empty()).then(|| normal_id(id));
    }
    let from_client = match (event.kind, vantage) {
        (Kind::PacketSent, Vantage::Client) | (Kind::PacketReceived, Vantage::Server) => true,
        (Kind::PacketSent, Vantage::Network) => flow_is_client,
        (Kind::PacketReceived, Vantage::Network) => !flow_is_client,
        (Kind::PacketSent | Kind::PacketReceived, Vantage::Unknown) => true,
        _ => false,
    };
    let id = event.word(Word::Dcid);
    (from_client && event.word(Word::PacketType) == "initial" && id.len() >= 8).then(|| normal_id(id))
}
