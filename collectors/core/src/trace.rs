//! One trace of a file: its identity, its connections, and the way of each record through parse, fold and record.

use crate::catalogue::Catalogue;
use crate::client::{Edge, KnownClient};
use crate::crossed::Bound;
use crate::dialect::Units;
use crate::event::{Event, Kind, Number, Word};
use crate::fold::{Fold, Trace};
use crate::header::{DIMENSIONS, Header, Vantage, is_plausible, normal_id};
use crate::limits;
use crate::memory::TraceMemory;
use crate::reader::qlog::Reader;
use crate::reader::skip::{Skip, Stop};
use crate::reader::sniff::Framing;
use crate::reader::{number, quic_trace};
use crate::record::columns::connections::{self, Connections};
use crate::record::events::Key;
use crate::record::rows::Row;
use crate::retention::{At, Standing};
use crate::seeded::Seeded;
use crate::tables::Tables;
use std::collections::HashMap;
use std::sync::Arc;
use xxhash_rust::xxh3::xxh3_64;

pub use crate::limits::{PRELUDE, REJECT_BYTES};

mod clock;
mod identity;
mod kept;
mod open;
mod order;
mod refused;
mod saved;
mod silence;
mod state_size;
mod timeline;

use clock::{Clock, ClockReading, RecordOrder};
pub use identity::Earlier;
use identity::Identity;
use open::{Connection, Open, Told};
use refused::RefusedConnections;
pub use saved::{Saved, SavedConnection};
use state_size::StateSize;
use timeline::{TraceTimeline, Unplaced};

/// Something that could not become a row.
#[derive(Clone, Debug, Default, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
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

#[derive(Clone, Debug, serde::Serialize, serde::Deserialize)]
enum Stashed {
    /// A record's text, and where it stands.
    Record(Vec<u8>, u64),
    Reject(Reject),
}

/// Most connections that end to make room for one.
const ENDED_FOR_ROOM: usize = 4;

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
    stashed_bytes: usize,
    open: Open,
    initial: Option<String>,
    /// Who logged, by the first packet of each connection whose beginning is put away: for a header that does not say.
    first_packets: HashMap<String, Vantage, Seeded>,
    timeline: TraceTimeline,
    identity: Identity,
    /// The caller's clock, s.
    now_s: u64,
    /// Where the record stands that is being taken; 0 for those that decide the identity.
    offset: u64,
    /// Where it stands in the file, for people.
    place: u64,
    /// Rejected records without a known connection: all of them, and those before the newest event.
    harms: u64,
    harms_before: u64,
    /// For each connection, what its first records show about its writer, and whether one of them is a late one.
    writers: HashMap<String, (RecordOrder, bool)>,
    /// Bytes of records that wait for older ones.
    held_bytes: usize,
    /// Connections that could not begin.
    refused: RefusedConnections,
    /// Requests of all connections that have ended, and wait for their last HTTP frames.
    lingering: usize,
    /// Memory that the states of all connections take, as each was counted last.
    state_bytes: usize,
    /// What the header says of each connection that met this server.
    facts: Option<(Option<String>, Arc<Row<Connections>>)>,
}

impl<'c> TraceReader<'c> {
    /// A reader for the records that follow `header` in `file` (its name, for people).
    pub fn new(catalogue: &'c Catalogue, header: Header, file: &str) -> Self {
        let fields = header.event_fields();
        let joined = fields.join(",").to_lowercase();
        let dialect = catalogue.dialects.iter().position(|dialect| dialect.holds(&header.json, &joined)).unwrap_or(0);
        let units = match catalogue.dialects.get(dialect) {
            Some(dialect) => dialect.units(header.time_places(), None),
            None => Units::all(6),
        };
        Self {
            reader: Reader::new(units, &fields),
            catalogue,
            first_packets: HashMap::default(),
            timeline: TraceTimeline::new(header.time_format()),
            identity: Identity::default(),
            now_s: 0,
            offset: 0,
            place: 0,
            harms: 0,
            harms_before: 0,
            writers: HashMap::new(),
            held_bytes: 0,
            refused: RefusedConnections::default(),
            lingering: 0,
            state_bytes: 0,
            facts: None,
            header,
            file: file.to_owned(),
            dialect,
            event: Event::default(),
            stash: Some(Vec::new()),
            stashed_events: 0,
            stashed_bytes: 0,
            open: Open::default(),
            initial: None,
        }
    }

    /// Nothing was given to it.
    pub fn is_empty(&self) -> bool {
        self.stash.as_ref().is_some_and(Vec::is_empty)
    }

    /// It comes after `other` in one file, and `other` gets no more records: the saved states of its connections are
    /// out of date.
    pub fn follow(&mut self, other: &mut Self, tables: &mut Tables) {
        other.open(tables);
        self.open.ended = other.open.all_numbers();
        self.comes_after(other.earlier());
    }

    /// It comes after these traces of its file.
    pub fn comes_after(&mut self, earlier: Earlier) {
        self.identity.earlier = earlier;
    }

    /// The traces of its file up to this one, once it is over.
    pub fn earlier(&mut self) -> Earlier {
        std::mem::take(&mut self.identity.earlier)
    }

    /// Header fields came after the events. True when they are in use: rows that were made before cannot have them.
    pub fn amend(&mut self, header: Header) -> bool {
        match self.stash.take() {
            Some(stash) => {
                let (events, bytes) = (self.stashed_events, self.stashed_bytes);
                let earlier = self.earlier();
                *self = Self::new(self.catalogue, header, &self.file);
                self.comes_after(earlier);
                (self.stash, self.stashed_events, self.stashed_bytes) = (Some(stash), events, bytes);
                true
            }
            None => false,
        }
    }

    /// Takes rows at once, without waiting for the first records to decide the identity; `source` is that of rejects.
    pub fn begun(mut self, source: &str) -> Self {
        self.stash = None;
        self.open.first = Some(source.to_owned());
        self
    }

    /// Trace id of the open connection that records call `group`.
    pub fn trace_id(&mut self, group: &str) -> Option<&str> {
        let slot = self.open.find(group)?;
        self.open.get_mut(slot).map(|connection| connection.key.trace_id.as_str())
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
        stash.push(Stashed::Record(raw.to_vec(), self.place));
        self.stashed_events += 1;
        self.stashed_bytes += length;
        self.open_when_full(tables);
        Ok(length)
    }

    fn parse(&mut self, text: &[u8]) -> Result<usize, Stop> {
        let length = self.parse_any(text)?;
        if self.event.group.len as usize > limits::NAME_BYTES {
            // A connection keeps its name several times over.
            return Err(Stop::Skip(Skip::TooLong));
        }
        Ok(length)
    }

    fn parse_any(&mut self, text: &[u8]) -> Result<usize, Stop> {
        if matches!(self.header.framing, Framing::QuicTrace | Framing::LineV1) {
            let seq = quic_trace::read(self.catalogue, text, &mut self.event).map_err(Stop::Skip)?;
            if seq.is_none() && self.header.framing == Framing::LineV1 {
                // Its key would be another row's.
                return Err(Stop::Skip(Skip::BadLine));
            }
            return Ok(text.len());
        }
        self.reader.read(self.catalogue, text, &mut self.event)
    }

    /// Counts something that is no event, in its place.
    pub fn reject(&mut self, reject: Reject, tables: &mut Tables) {
        match &mut self.stash {
            Some(stash) => {
                self.stashed_bytes += reject.bytes.len();
                stash.push(Stashed::Reject(reject));
                self.open_when_full(tables);
            }
            None => self.take_reject(&reject, tables),
        }
    }

    /// The records that decide the identity are held in memory, up to a limit.
    fn open_when_full(&mut self, tables: &mut Tables) {
        let rejects = self.stash.as_ref().map_or(0, Vec::len) - self.stashed_events;
        let crossed = if self.stashed_bytes > limits::PRELUDE_BYTES {
            Some(Bound::PreludeBytes)
        } else {
            (rejects > limits::PRELUDE_REJECTS).then_some(Bound::PreludeRejects)
        };
        if let Some(bound) = crossed {
            bound.cross();
        }
        if self.stashed_events >= PRELUDE || crossed.is_some() {
            self.open(tables);
        }
    }

    fn take_reject(&mut self, reject: &Reject, tables: &mut Tables) {
        if self.header.framing == Framing::LineV1 {
            // A row says itself which connection's record it was to be.
            let place = quic_trace::named(&reject.bytes).and_then(|(group, seq)| {
                let slot = self.open.find(group)?;
                let connection = self.open.get_mut(slot)?;
                (connection.is_harmed, connection.is_dirty) = (true, true);
                Some((connection.key.trace_id.clone(), seq))
            });
            let (trace_id, seq) = place.unzip();
            tables.reject(&self.source(), reject, &self.file, trace_id.as_deref().unwrap_or(""), seq);
            return;
        }
        // It may have been of any connection that is open, or of one that has its first event after it.
        self.harms += u64::from(reject.reason != Some(Skip::EmptyRecord));
        // A record that names no connection has a place in one only where the file has no other.
        match self.open.only() {
            Some(only) => {
                let seq = only.seq;
                only.seq += 1;
                only.is_dirty = true;
                tables.reject(&only.key.trace_id, reject, &self.file, &only.key.trace_id, Some(seq));
            }
            None => tables.reject(&self.source(), reject, &self.file, "", None),
        }
    }

    fn source(&self) -> String {
        self.open.first.clone().unwrap_or_else(|| format!("{:016x}", xxh3_64(&self.header.text)))
    }

    /// Decides identity and units from the first records, and takes them.
    fn open(&mut self, tables: &mut Tables) {
        let Some(stash) = self.stash.take() else { return };
        self.offset = 0;
        let records = || {
            stash.iter().filter_map(|stashed| match stashed {
                Stashed::Record(raw, _) => Some(raw.as_slice()),
                Stashed::Reject(_) => None,
            })
        };
        // A row of line v1 says itself which connection's record it is, and which of its records.
        if self.header.framing != Framing::LineV1 {
            self.identity.decide(&self.header.text, records());
        }
        let is_silent = self.header.vantage() == Vantage::Unknown;
        let (mut first_rtt, mut timeline) = (None, self.timeline.clone());
        let mut clocks = HashMap::<String, (Clock, bool)>::new();
        for raw in records() {
            if self.parse(raw).is_err() {
                continue;
            }
            let event = &self.event;
            #[expect(clippy::cast_precision_loss, reason = "a threshold near 1")]
            let rtt = || event.get(Number::SmoothedRttUs).map(|us| us as f64 / 1000.0);
            first_rtt = first_rtt.or_else(rtt);
            let group = event.str(event.group);
            if is_silent && event.is_packet() && !self.first_packets.contains_key(group) {
                self.first_packets.insert(group.to_owned(), first_packet(event));
            }
            if self.initial.is_none() && event.group.len == 0 {
                self.initial = initial_id(event, self.header.vantage(), self.header.flow_is_client());
            }
            if timeline.place(&mut self.event, &self.header, &self.reader.units).is_ok() {
                let group = self.event.str(self.event.group);
                let (clock, is_late) = clocks.entry(group.to_owned()).or_default();
                *is_late |= clock.read(&self.event).is_late;
            }
        }
        self.writers = clocks.into_iter().map(|(group, (clock, is_late))| (group, (clock.writer(), is_late))).collect();
        if let Some(dialect) = self.catalogue.dialects.get(self.dialect) {
            self.reader.units = dialect.units(self.header.time_places(), first_rtt);
        }
        let newest = self.place;
        for stashed in stash {
            match stashed {
                Stashed::Record(raw, place) => {
                    self.place = place;
                    if self.parse(&raw).is_ok() {
                        self.take(&raw, tables);
                    }
                }
                Stashed::Reject(reject) => self.take_reject(&reject, tables),
            }
        }
        self.place = newest;
        self.first_packets = HashMap::default();
    }

    /// The parsed event goes to its connection.
    fn take(&mut self, raw: &[u8], tables: &mut Tables) {
        let placed = self.timeline.place(&mut self.event, &self.header, &self.reader.units);
        if let Err(Unplaced) = placed {
            self.take_reject(&beyond(Skip::NoTime, self.place, raw), tables);
            return;
        }
        if !self.is_wanted(tables) {
            return;
        }
        self.let_requests_go(tables);
        let slot = match self.open.find(self.event.str(self.event.group)) {
            Some(slot) => slot,
            None if !self.makes_room(tables) => {
                self.refused.note(self.event.str(self.event.group));
                let reject = beyond(Skip::TooManyConnections, self.place, raw);
                tables.reject(&self.source(), &reject, &self.file, "", None);
                return;
            }
            None => self.begin(raw, tables),
        };
        if self.event.kind == Kind::ConnectionClosed {
            self.open.close(slot);
        }
        let beside = tables.memory_beside();
        self.harms_before = self.harms;
        let free = beside.states_left_to_grow(self.state_bytes);
        let Some(connection) = self.open.get_mut(slot) else { return };
        let event = &mut self.event;
        connection.heard_s = self.now_s;
        connection.is_dirty = true;
        if self.header.framing == Framing::LineV1 {
            connection.seq = event.seq;
        }
        event.seq = connection.seq;
        connection.seq += 1;
        if !connection.started {
            connection.started = true;
            connection.base_ns = event.source_ns;
            connection.standing = tables.begin(&connection.fold.trace);
        }
        let since = event.source_ns.wrapping_sub(connection.base_ns);
        event.time_us = since.div_euclid(1000);
        event.time_ns = u16::try_from(since.rem_euclid(1000)).unwrap_or(0);
        if tables.again.is_some() {
            if connection.standing.owed().is_some_and(|before| event.seq < before) {
                tables.events.push(&connection.key, event);
            }
            return;
        }
        let told_us = event.time_us;
        let ClockReading { at_ns, is_step, is_late } = connection.clock.read(event);
        if at_ns != event.source_ns {
            event.time_us = at_ns.wrapping_sub(connection.base_ns).div_euclid(1000);
        }
        if is_late {
            connection.order.get_or_insert_default();
        }
        let told = Told { raw, place: self.place, at_ns, is_step };
        let (held, lingering) = (connection.held_bytes(), connection.fold.lingering());
        connection.fold.is_full = connection.size.bytes() > free;
        connection.fold(event, told, tables, &self.file);
        self.held_bytes = (self.held_bytes + connection.held_bytes()).saturating_sub(held);
        if self.held_bytes > beside.held_left() {
            Bound::HeldBytes.cross();
            self.held_bytes = self.held_bytes.saturating_sub(connection.held_bytes());
            connection.fold_all(tables, &self.file, event.seq);
        }
        self.lingering = (self.lingering + connection.fold.lingering()).saturating_sub(lingering);
        if connection.size.read(raw.len()) {
            connection.count_state(&mut self.state_bytes);
        }
        event.time_us = told_us;
        if let Some(edge) = &tables.edge {
            let trace = &connection.fold.trace;
            connection.client.get_or_insert_default().see(
                &**edge,
                &self.header,
                trace.vantage,
                trace.server.as_deref(),
                event,
            );
            edge.redact_event(event);
        }
        if !event.unread.is_empty() {
            connection.values_unread += event.unread.len() as u64;
            if tables.again.is_none() {
                tables.values_unread += event.unread.len() as u64;
            }
        }
        if let Some(unread) = &mut tables.unread {
            unread.entry(connection.key.trace_id.clone()).or_default().add(event, self.catalogue);
        }
        let at = if event.kind == Kind::ConnectionClosed { At::Close } else { At::Us(event.time_us) };
        connection.give(tables, at, event.seq);
        if tables.wants_events && connection.standing.flows() {
            tables.events.push(&connection.key, event);
        }
        tables.counted += 1;
    }

    /// Whether the connection of the newest record can begin. Where there is no room, the oldest of those that are closed
    /// ends: in a log that is read long after it was written, no time passes in which they are silent. It is not
    /// complete, since late records of it may come.
    fn makes_room(&mut self, tables: &mut Tables) -> bool {
        if self.open.was_for_room(self.event.str(self.event.group)) {
            return false;
        }
        let beside = tables.memory_beside();
        let (most, mut ended) = (self.most_connections(), 0);
        while self.open.count() >= most || beside.states_left(self.state_bytes) == 0 {
            if ended >= ENDED_FOR_ROOM || beside.states_left(0) == 0 {
                return false;
            }
            let is_settled = |connection: &mut Connection| connection.settle(tables);
            let Some(connection) = self.open.take_closed(is_settled) else { return false };
            let declared = self.header.declared();
            self.end(connection, declared.as_deref(), false, tables);
            ended += 1;
        }
        true
    }

    /// A connection of the file: its ids, its clock, what the header says of it.
    fn begin(&mut self, raw: &[u8], tables: &Tables) -> usize {
        let group = self.event.str(self.event.group).to_owned();
        let header = &self.header;
        let mut vantage = header.vantage();
        let declared = if group.is_empty() {
            header.declared()
        } else {
            // A value that is no text tells connections of one file apart, and is the id of none.
            let raw = ["ODCID", "group_id"].iter().find_map(|key| self.event.leftover(key));
            raw.is_none_or(|raw| raw.starts_with('"')).then(|| normal_id(&group))
        };
        let mut epoch_ns = self.timeline.epoch_ns();
        let mut server = header.server().map(str::to_owned);
        if self.event.kind == Kind::ClockAnchor {
            // quiclens line v1: epoch us, host, process id, vantage.
            let value: String =
                self.event.leftover("value").and_then(|json| serde_json::from_str(json).ok()).unwrap_or_default();
            let mut parts = value.split(", ");
            let anchor =
                parts.next().and_then(|epoch| number::scaled(epoch.as_bytes(), 3)).filter(|ns| is_plausible(*ns));
            if anchor.is_none() {
                self.event.unread.push(0);
            }
            epoch_ns = anchor.map(|anchor| anchor.wrapping_sub(self.event.source_ns));
            let name = parts.next();
            server = name.filter(|name| name.len() <= limits::NAME_BYTES).map(str::to_owned);
            if name.is_some() && server.is_none() {
                self.event.unread.push(0);
            }
            if let Some(word) = parts.nth(1) {
                vantage = Vantage::read(word).unwrap_or(Vantage::Unknown);
            }
        }
        let parts = [raw, declared.as_deref().unwrap_or("").as_bytes(), vantage.name().as_bytes()];
        let trace_id = self.identity.trace_id(&header.text, parts, epoch_ns.is_some());
        if vantage == Vantage::Unknown {
            let known = self.first_packets.get(&group).copied();
            vantage = known.unwrap_or_else(|| first_packet(&self.event));
        }
        let id_in = self.catalogue.dialects.get(self.dialect).map_or(&[][..], |dialect| &dialect.id_in);
        // What is said of the whole file names none of its several connections.
        let of_file = || self.initial.clone().or_else(|| header.described(id_in)).filter(|_| group.is_empty());
        let connection_id = declared.or_else(of_file).unwrap_or_else(|| format!("t-{trace_id}"));
        let kept = tables.edge.as_ref().and_then(|edge| edge.redact_id(&connection_id));
        let connection_id = kept.map_or(connection_id, |id| id.unwrap_or_else(|| format!("t-{trace_id}")));
        let started_us = epoch_ns.map(|epoch| epoch.wrapping_add(self.event.source_ns).div_euclid(1000));
        let day = started_us.map_or(0, |us| us.div_euclid(86_400_000_000));
        let trace_day = i32::try_from(day).unwrap_or(0);
        let of_header = |edge: &Arc<dyn Edge>| Box::new(KnownClient::of_header(&**edge, header, server.as_deref()));
        let client = tables.edge.as_ref().map(of_header);
        let flow_is_server = !header.flow_is_client();
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
            flow_is_server,
        });
        let key = Key { connection_id, vantage: vantage.name(), trace_id, trace_day };
        let (writer, is_late) = self.writers.remove(&group).unwrap_or_default();
        let is_harmed = self.refused.begins(&group);
        let order = (is_late && writer != RecordOrder::Ordered).then(Box::default);
        self.open.begin(Connection {
            group,
            number: 0,
            key,
            fold,
            seq: 0,
            base_ns: 0,
            clock: Clock::of(writer),
            order,
            silence: None,
            started: false,
            client,
            shown: 0,
            is_closed: false,
            heard_s: self.now_s,
            is_dirty: true,
            began_at: self.offset,
            is_delta: self.timeline.is_delta(&self.event),
            standing: Standing::ALL,
            is_harmed,
            harms_before: self.harms_before,
            values_unread: 0,
            size: StateSize::default(),
        })
    }

    /// Most connections that may be open: each row repeats the header, and the copies have a memory limit.
    fn most_connections(&self) -> usize {
        limits::CONNECTIONS.min(limits::HEADER_COPIES / self.header.text.len().max(1)).max(1)
    }

    /// Connections of one trace share what the header says of them.
    fn facts(&mut self, server: Option<&str>) -> Arc<Row<Connections>> {
        if let Some((_, facts)) = self.facts.as_ref().filter(|(known, _)| known.as_deref() == server) {
            return Arc::clone(facts);
        }
        let facts = Arc::new(self.header_facts(server));
        self.facts = Some((server.map(str::to_owned), Arc::clone(&facts)));
        facts
    }

    fn header_facts(&self, server: Option<&str>) -> Row<Connections> {
        let mut row = Row::default();
        let header = &self.header;
        row.set(connections::SOURCE_FILE, self.file.as_str());
        row.set(connections::SERIALIZATION, header.framing.name());
        row.set(connections::HEADER, Arc::<str>::from(header.json.to_string()));
        row.set(connections::TIME_UNIT, crate::dialect::unit(self.reader.units.time));
        if let Some(dialect) = self.catalogue.dialects.get(self.dialect) {
            row.set(connections::DIALECT, dialect.name.as_str());
            row.set(
                connections::STACK,
                if header.framing == Framing::QuicTrace { "mvfst" } else { dialect.stack.as_str() },
            );
        }
        row.set(connections::UNIT_RULE, self.reader.units.rule());
        let version = header.text_of("stack_version");
        row.set(connections::STACK_VERSION, if version.is_empty() { header.text_of("code_version") } else { version });
        row.set(connections::CONGESTION_CONTROLLER, header.text_of("congestion_controller"));
        for column in DIMENSIONS {
            let said = header.common(column.name()).as_str();
            row.set(column, if column == connections::SERVER { said.or(server) } else { said });
        }
        row.set(connections::ASN, header.common(connections::ASN.name()).as_u64());
        row
    }

    /// Rows of the connections as they stand now, for a trace that goes on: without them none of its rows are seen.
    /// Ends when rows are many: then there may be more, see [`Tables::is_small`].
    pub fn show(&mut self, tables: &mut Tables) {
        self.fold_all(tables);
        for connection in self.open.all_mut() {
            // Its row says that all events are kept only with the last of them.
            if connection.fold.events() > connection.shown && connection.standing.owed().is_none() {
                connection.shown = connection.fold.events();
                tables.streams.extend(connection.fold.standing());
                connection.rows(false, tables);
                if !tables.is_small() {
                    return;
                }
            }
        }
    }

    /// Records wait for older ones. [`TraceReader::show`], which every checkpoint needs, folds them as they are: an
    /// older record that comes after that counts as late, which it would not be otherwise.
    pub fn is_waiting(&self) -> bool {
        self.held_bytes > 0
    }

    /// Folds the records that wait for older ones, as a checkpoint does not hold them.
    fn fold_all(&mut self, tables: &mut Tables) {
        if std::mem::take(&mut self.held_bytes) > 0 {
            self.open.all_mut().for_each(|connection| connection.fold_all(tables, &self.file, connection.seq));
            self.count_lingering();
        }
    }

    fn count_lingering(&mut self) {
        self.lingering = self.open.all_mut().map(|connection| connection.fold.lingering()).sum();
    }

    /// Lingering requests of silent connections take memory: if there are too many, all of them become rows.
    fn let_requests_go(&mut self, tables: &mut Tables) {
        if self.lingering > limits::LINGERING_OF_ALL {
            for connection in self.open.all_mut() {
                connection.is_dirty |= connection.fold.lingering() > 0;
                connection.fold.let_all_go();
                connection.count_state(&mut self.state_bytes);
                connection.give(tables, At::Between, connection.seq);
            }
            self.count_lingering();
        }
    }

    /// The last rows of a connection; `declared` is the id that the header gives it.
    fn end(&mut self, mut connection: Connection, declared: Option<&str>, complete: bool, tables: &mut Tables) {
        self.held_bytes = self.held_bytes.saturating_sub(connection.held_bytes());
        self.lingering = self.lingering.saturating_sub(connection.fold.lingering());
        self.state_bytes = self.state_bytes.saturating_sub(connection.size.bytes());
        connection.fold_all(tables, &self.file, connection.seq);
        connection.fold.finish();
        connection.give(tables, At::End, connection.seq);
        tables.owed.extend(connection.owed());
        tables.lost += u64::from(connection.standing.is_lost());
        if let Some(id) = declared {
            connection.fold.declare(id);
        }
        let is_harmed = connection.is_harmed || connection.harms_before != self.harms;
        connection.rows(complete && !is_harmed, tables);
        if tables.unread.is_some() {
            tables.abilities.push((connection.key, connection.fold.abilities(), connection.fold.events()));
        }
    }

    /// Sets the time at which records are received, s since any instant. Without it, each connection stays open until
    /// the trace is over.
    pub fn at(&mut self, now_s: u64) {
        self.now_s = now_s;
    }

    /// Holds no memory for records until the next one comes.
    pub fn release(&mut self) {
        self.event = Event::default();
        self.reader.release();
    }

    /// Connections that are open.
    pub fn open_connections(&self) -> usize {
        self.open.count()
    }

    /// Nothing was made of any record of its file: too few came to tell what it is, and no trace comes before it.
    pub fn is_undecided(&self) -> bool {
        self.stash.is_some() && self.identity.earlier.is_empty()
    }

    /// Connections have ended to make room since the state was put away: what is made of a later record of one of them
    /// depends on when that was.
    pub fn has_made_room(&self) -> bool {
        self.open.has_made_room()
    }

    /// What it holds.
    pub fn memory(&self) -> TraceMemory {
        let prelude = if self.stash.is_some() { self.stashed_bytes } else { 0 };
        TraceMemory { states: self.state_bytes, held: self.held_bytes, prelude }
    }

    /// Ends the connections of a shared trace that are over: closed and silent for `closed_s`, or silent for `idle_s`.
    /// A later record of one of them begins another. True when there were any. Ends when rows are many: then there may
    /// be more, see [`Tables::is_small`].
    pub fn end_quiet(&mut self, closed_s: u64, idle_s: u64, tables: &mut Tables) -> bool {
        self.refused.forget(self.now_s, idle_s);
        let declared = self.header.declared();
        let mut next = 0;
        while tables.is_small() {
            let is_settled = |connection: &mut Connection| connection.settle(tables);
            let Some((slot, connection)) = self.open.take_quiet(next, self.now_s, closed_s, idle_s, is_settled) else {
                break;
            };
            self.end(connection, declared.as_deref(), true, tables);
            next = slot + 1;
        }
        next > 0
    }

    /// The trace is over. `complete`: nothing of it was cut off; what was rejected among its records is known here.
    pub fn finish(mut self, complete: bool, tables: &mut Tables) {
        self.open(tables);
        if tables.again.is_some() {
            return;
        }
        let declared = self.header.declared();
        for connection in self.open.take_all() {
            self.end(connection, declared.as_deref(), complete, tables);
        }
    }

    /// The trace is over: ends connections until rows are many. True while there are more; then
    /// [`TraceReader::finish`].
    pub fn end_some(&mut self, complete: bool, tables: &mut Tables) -> bool {
        self.open(tables);
        let declared = self.header.declared();
        while tables.again.is_none() {
            let Some(connection) = self.open.take_one() else { break };
            self.end(connection, declared.as_deref(), complete, tables);
            if !tables.is_small() {
                return true;
            }
        }
        false
    }
}

/// A record that is beyond a limit.
fn beyond(reason: Skip, offset: u64, raw: &[u8]) -> Reject {
    let bytes = raw[..raw.len().min(REJECT_BYTES)].to_vec();
    Reject { reason: Some(reason), offset, length: raw.len() as u64, bytes }
}

/// Who logged, where the first packet of a connection is an Initial: the client speaks first (RFC 9000, 7).
fn first_packet(event: &Event) -> Vantage {
    match event.kind {
        Kind::PacketSent if event.is(Word::PacketType, "initial") => Vantage::Client,
        Kind::PacketReceived if event.is(Word::PacketType, "initial") => Vantage::Server,
        _ => Vantage::Unknown,
    }
}

/// DCID of the first Initial that the client sent, or what the server says it was.
fn initial_id(event: &Event, vantage: Vantage, flow_is_client: bool) -> Option<String> {
    if event.kind == Kind::ParametersSet {
        let id = ["original_destination_connection_id", "original_connection_id"]
            .iter()
            .find_map(|key| event.leftover(key))?;
        let id = id.trim_matches('"');
        return (1..=limits::NAME_BYTES).contains(&id.len()).then(|| normal_id(id));
    }
    let from_client = match (event.kind, vantage) {
        (Kind::PacketSent, Vantage::Client) | (Kind::PacketReceived, Vantage::Server) => true,
        (Kind::PacketSent, Vantage::Network) => flow_is_client,
        (Kind::PacketReceived, Vantage::Network) => !flow_is_client,
        (Kind::PacketSent | Kind::PacketReceived, Vantage::Unknown) => true,
        _ => false,
    };
    let id = event.word(Word::Dcid);
    let is_long_enough = (8..=limits::NAME_BYTES).contains(&id.len());
    (from_client && event.word(Word::PacketType) == "initial" && is_long_enough).then(|| normal_id(id))
}
