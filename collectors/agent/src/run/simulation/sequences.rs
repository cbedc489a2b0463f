//! Servers whose log is a sequence of records that grows in a followed folder: written in pieces that end at any byte,
//! renamed, moved, deleted, copied and cut, cut without a copy, replaced by another with its inode, and begun again by a
//! server that was started anew; and what must be held of them in the end, by the content of each record.

use super::documents::is_header_of;
use super::store::{Content, Held, content, differences, value_of};
use crate::machine::simulated::{self, Chance};
use crate::run::followed::PREFIX;
use crate::run::journal::{FileId, KnownFile};
use quiclens_core::limits::{IDENTITY_RECORDS, PRELUDE};
use std::collections::BTreeMap;
use xxhash_rust::xxh3::xxh3_64;

/// Folder whose sequences are followed.
pub const FOLDER: &str = "/logs/s";
/// Where nobody follows them.
const ELSEWHERE: &str = "/logs/t";
/// Sequences that grow at once.
const OPEN: usize = 3;
/// Connections of a log that several share.
const SHARING: u64 = 3;

/// How records are told apart, and whose they are.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct SequenceKind {
    /// JSON-SEQ, not NDJSON.
    is_separated: bool,
    /// Its header says when it began.
    is_dated: bool,
    /// Records name one of several connections.
    is_shared: bool,
}

/// What one header begins.
#[derive(Debug)]
struct WrittenTrace {
    number: usize,
    kind: SequenceKind,
    /// Its header is whole.
    is_begun: bool,
    /// Records that are whole, after the header.
    events: u64,
    /// One of which only a part was written.
    has_part: bool,
    /// Its connection was closed: nothing comes any more.
    is_closed: bool,
    /// The file that it stands in, or stood in.
    file: usize,
    /// It was cut out of its file: whether the collector had that open.
    cut: Option<bool>,
}

/// A file.
struct SequenceFile {
    inode: u64,
    name: String,
    /// All the names that it had.
    names: Vec<String>,
    /// Traces that stand in it; the last one is being written.
    traces: Vec<usize>,
    /// What of a record is still to be written, and whether the record is an event.
    rest: Option<(Vec<u8>, bool)>,
    /// Nobody writes it any more: it is a copy.
    is_copy: bool,
    /// It was deleted (true) or moved away (false): whether the collector had it open, and in which life.
    left: Option<(bool, bool, u64)>,
    /// Its first bytes, once it is gone: an inode may be another's.
    head: Vec<u8>,
    /// A checkpoint knew it after it was gone.
    is_known_after: bool,
}

/// All of them.
pub struct Sequences {
    traces: Vec<WrittenTrace>,
    files: Vec<SequenceFile>,
    /// What was done, by name.
    pub did: BTreeMap<&'static str, u64>,
}

const DEEDS: [&str; 10] = [
    "sequence_begun",
    "sequence_closed",
    "sequence_renamed",
    "sequence_deleted",
    "sequence_moved",
    "sequence_copied_and_cut",
    "sequence_cut",
    "sequence_with_a_reused_inode",
    "sequence_begun_again",
    "part_of_a_record",
];

impl Default for Sequences {
    fn default() -> Self {
        let did = DEEDS.into_iter().map(|what| (what, 0)).collect();
        Self { traces: Vec::new(), files: Vec::new(), did }
    }
}

impl WrittenTrace {
    /// The connection of a record, and its place among the records of that connection.
    fn whose(&self, index: u64) -> (String, u64) {
        match self.kind.is_shared {
            true => (format!("{:06x}5{}", self.number, index % SHARING), index / SHARING),
            false => (format!("{:06x}5e", self.number), index),
        }
    }

    fn connections(&self) -> impl Iterator<Item = String> {
        (0..if self.kind.is_shared { SHARING } else { 1 }).map(|index| self.whose(index).0)
    }

    fn header(&self) -> String {
        let SequenceKind { is_separated, is_dated, is_shared } = self.kind;
        let format = if is_separated { "JSON-SEQ" } else { "NDJSON" };
        let whose = if is_shared { String::new() } else { format!(r#""ODCID":"{}","#, self.whose(0).0) };
        let clock = if is_dated {
            r#""time_format":"relative","reference_time":1795168800000"#
        } else {
            r#""time_format":"relative""#
        };
        format!(
            concat!(
                r#"{{"qlog_version":"0.3","qlog_format":"{}","title":"server {:06x}, größer","#,
                r#""trace":{{"vantage_point":{{"type":"server"}},"common_fields":{{{}{}}}}}}}"#
            ),
            format, self.number, whose, clock
        )
    }

    /// A record: a packet, one of a few with what no column holds, and now and then a time that is before the last one's.
    fn event(&self, index: u64) -> String {
        let (connection, number) = self.whose(index);
        let group = if self.kind.is_shared { format!(r#""group_id":"{connection}","#) } else { String::new() };
        let time = self.time(index);
        let note = if index % 5 == 3 { r#","note":"größer""# } else { "" };
        format!(
            concat!(
                r#"{{"time":{},"name":"transport:packet_received",{}"data":{{"header":{{"packet_type":"1RTT","#,
                r#""packet_number":{}}},"raw":{{"length":{}}}{}}}}}"#
            ),
            time,
            group,
            number,
            300 + index % 1000,
            note
        )
    }

    /// When a record was, ms.
    fn time(&self, index: u64) -> i64 {
        let is_event = !(self.is_closed && index + 1 == self.events);
        let back = if is_event && index % 13 == 7 { 5 } else { 0 };
        i64::try_from(10 + index).unwrap() - back
    }

    /// The row of a record.
    fn row(&self, index: u64) -> Content {
        let (connection, number) = self.whose(index);
        // Times are counted from the first record of the connection.
        let since_us = 1000 * (self.time(index) - self.time(if self.kind.is_shared { index % SHARING } else { 0 }));
        let (since_us, number) = (since_us.to_string(), number.to_string());
        let group = if self.kind.is_shared { r#""group_id":*,"# } else { "" };
        let mut columns = vec![("vantage", "server")];
        columns.push(("trace_day", if self.kind.is_dated { "2026-11-20" } else { "1970-01-01" }));
        if since_us != "0" {
            columns.push(("time_us", &since_us));
        }
        if self.is_closed && index + 1 == self.events {
            let shape = r#"{"time":$,"name":"connectivity:connection_closed","data":{"owner":"remote"}}"#;
            columns.extend([("name", "quic:connection_closed"), ("owner", "remote"), ("shape", shape)]);
            return content(&columns);
        }
        let (bytes, is_noted) = ((300 + index % 1000).to_string(), index % 5 == 3);
        let shape = format!(
            concat!(
                r#"{{"time":$,"name":"transport:packet_received",{}"data":{{"header":{{"packet_type":"1RTT","#,
                r##""packet_number":#B}},"raw":{{"length":#C}}{}}}}}"##
            ),
            group,
            if is_noted { r#","note":*"# } else { "" }
        );
        columns.extend([("name", "quic:packet_received"), ("shape", &*shape), ("packet_type", "1RTT")]);
        columns.extend([("packet_number", &*number), ("packet_bytes", &*bytes)]);
        let more = match (self.kind.is_shared, is_noted) {
            (false, false) => String::new(),
            (false, true) => r#"{note: "größer"}"#.to_owned(),
            (true, false) => format!(r#"{{group_id: "{connection}"}}"#),
            (true, true) => format!(r#"{{group_id: "{connection}", note: "größer"}}"#),
        };
        if !more.is_empty() {
            columns.push(("more", &more));
        }
        content(&columns)
    }

    fn close(&self, index: u64) -> String {
        format!(r#"{{"time":{},"name":"connectivity:connection_closed","data":{{"owner":"remote"}}}}"#, 10 + index)
    }

    /// The record that was written there.
    fn record(&self, index: u64) -> String {
        if self.is_closed && index + 1 == self.events { self.close(index) } else { self.event(index) }
    }

    /// As it stands in its file.
    fn framed(&self, record: &str) -> Vec<u8> {
        let separator = if self.kind.is_separated { "\u{1e}" } else { "" };
        format!("{separator}{record}\n").into_bytes()
    }
}

/// Bytes of the packet of a record, if it is one.
fn bytes_of(record: &str) -> Option<u64> {
    let (_, rest) = record.split_once(r#""length":"#)?;
    rest.split(|letter: char| !letter.is_ascii_digit()).next()?.parse().ok()
}

impl SequenceFile {
    fn is_followed(&self) -> bool {
        self.left.is_none()
    }

    /// Its first bytes have that length and hash.
    fn begins(&self, (length, hash): (u32, u64)) -> bool {
        self.head.get(..length as usize).is_some_and(|head| length > 0 && xxh3_64(head) == hash)
    }
}

impl Sequences {
    fn did(&mut self, what: &'static str) {
        *self.did.entry(what).or_default() += 1;
    }

    /// Records written so far.
    pub fn records(&self) -> u64 {
        self.traces.iter().map(|trace| trace.events).sum()
    }

    /// Files written so far.
    pub fn logs(&self) -> usize {
        self.files.len()
    }

    /// Connections that sequences are of.
    pub fn connections(&self) -> impl Iterator<Item = String> {
        self.traces.iter().flat_map(WrittenTrace::connections)
    }

    /// One of the servers does something. `is_brief`: silent logs are soon over.
    pub fn act(&mut self, chance: &mut Chance, is_brief: bool, life: u64) {
        let there: Vec<usize> = (0..self.files.len()).filter(|at| self.files[*at].is_followed()).collect();
        let growing: Vec<usize> = there.iter().copied().filter(|at| !self.files[*at].is_copy).collect();
        if growing.is_empty() || growing.len() < OPEN && chance.one_in(4) {
            let kind = Self::kind(chance, is_brief);
            let name = format!("{FOLDER}/{}.sqlog", self.files.len());
            let at = self.begin_file(name);
            self.begin(at, kind, chance);
            return;
        }
        let at = growing[usize::try_from(chance.below(growing.len() as u64)).unwrap()];
        // Before its first records came a log without a clock is not told from another: see `schema/README.md`.
        let is_told = self.files[at].traces.iter().all(|trace| self.traces[*trace].kind.is_dated);
        match chance.below(24) {
            0 => self.rename(at),
            1 if is_told => self.cut(at, true),
            2 if is_told => self.cut(at, false),
            3 => {
                // A copy may go too.
                let at = there[usize::try_from(chance.below(there.len() as u64)).unwrap()];
                self.leave(at, chance.one_in(2), life);
            }
            4 => self.replace(at, chance, is_brief, life),
            5 if self.last(at).is_some_and(|trace| trace.kind.is_separated) => {
                // A server that was started anew goes on with the file: what was half written stays so.
                self.did("sequence_begun_again");
                let kind = Self::kind(chance, is_brief);
                self.begin(at, SequenceKind { is_separated: true, ..kind }, chance);
            }
            6 => self.close(at),
            deed => {
                let count = if chance.one_in(4) { 30 + chance.below(50) } else { 1 + chance.below(12) };
                let part = (deed < 14).then(|| chance.next());
                self.grow(at, count, part, chance);
            }
        }
    }

    fn kind(chance: &mut Chance, is_brief: bool) -> SequenceKind {
        // A silence ends connections of a shared log, and decides what a log without a clock is.
        let (is_separated, is_dated) = (!chance.one_in(3), is_brief || !chance.one_in(4));
        SequenceKind { is_separated, is_dated, is_shared: !is_brief && is_dated && chance.one_in(4) }
    }

    fn last(&self, at: usize) -> Option<&WrittenTrace> {
        self.files[at].traces.last().map(|trace| &self.traces[*trace])
    }

    fn begin_file(&mut self, name: String) -> usize {
        self.files.push(SequenceFile {
            inode: 0,
            names: vec![name.clone()],
            name,
            traces: Vec::new(),
            rest: None,
            is_copy: false,
            left: None,
            head: Vec::new(),
            is_known_after: false,
        });
        self.files.len() - 1
    }

    /// A trace begins in a file: its header, or a part of that.
    fn begin(&mut self, at: usize, kind: SequenceKind, chance: &mut Chance) {
        self.did("sequence_begun");
        let number = self.traces.len();
        let mut trace = WrittenTrace {
            number,
            kind,
            is_begun: false,
            events: 0,
            has_part: false,
            is_closed: false,
            file: at,
            cut: None,
        };
        let header = trace.framed(&trace.header());
        let length = if chance.one_in(3) { 1 + chance.below(header.len() as u64 - 1) } else { header.len() as u64 };
        let (now, rest) = header.split_at(usize::try_from(length).unwrap());
        trace.is_begun = rest.is_empty();
        self.traces.push(trace);
        let file = &mut self.files[at];
        file.traces.push(number);
        file.rest = (!rest.is_empty()).then(|| (rest.to_vec(), false));
        self.append(at, now);
    }

    fn append(&mut self, at: usize, bytes: &[u8]) {
        let file = &mut self.files[at];
        simulated::world(|world| {
            world.append(&file.name, bytes);
            file.inode = world.log(&file.name).unwrap().0;
        });
    }

    /// What is still to be written of the record that was written last, which is whole then.
    fn rest(&mut self, at: usize) -> Vec<u8> {
        let file = &mut self.files[at];
        let trace = &mut self.traces[*file.traces.last().unwrap()];
        let Some((rest, is_event)) = file.rest.take() else { return Vec::new() };
        trace.is_begun = true;
        trace.events += u64::from(is_event);
        trace.has_part = false;
        rest
    }

    /// Records are written, and `part` of one more.
    fn grow(&mut self, at: usize, count: u64, part: Option<u64>, chance: &mut Chance) {
        if self.last(at).is_none_or(|trace| trace.is_closed) {
            let kind = self.last(at).map_or_else(|| Self::kind(chance, true), |trace| trace.kind);
            self.begin(at, kind, chance);
        }
        let mut bytes = self.rest(at);
        let file = &mut self.files[at];
        let trace = &mut self.traces[*file.traces.last().unwrap()];
        for _ in 0..count {
            bytes.extend(trace.framed(&trace.event(trace.events)));
            trace.events += 1;
        }
        if let Some(part) = part {
            let record = trace.framed(&trace.event(trace.events));
            let (now, rest) = record.split_at(1 + usize::try_from(part % (record.len() as u64 - 1)).unwrap());
            bytes.extend(now);
            file.rest = Some((rest.to_vec(), true));
            trace.has_part = true;
            self.did("part_of_a_record");
        }
        self.append(at, &bytes);
    }

    /// The connection is closed, which is the last record of its trace.
    fn close(&mut self, at: usize) {
        let may_close = |trace: &WrittenTrace| !trace.is_closed && !trace.kind.is_shared && trace.events > 0;
        if !self.last(at).is_some_and(may_close) {
            return;
        }
        self.did("sequence_closed");
        let mut bytes = self.rest(at);
        let trace = &mut self.traces[*self.files[at].traces.last().unwrap()];
        bytes.extend(trace.framed(&trace.close(trace.events)));
        trace.events += 1;
        trace.is_closed = true;
        self.append(at, &bytes);
    }

    fn rename(&mut self, at: usize) {
        self.did("sequence_renamed");
        let times = self.did["sequence_renamed"];
        let file = &mut self.files[at];
        let name = format!("{FOLDER}/{at}.{times}.sqlog");
        simulated::world(|world| world.rename_log(&file.name, &name));
        file.names.push(name.clone());
        file.name = name;
    }

    fn leave(&mut self, at: usize, is_deleted: bool, life: u64) {
        self.did(if is_deleted { "sequence_deleted" } else { "sequence_moved" });
        let file = &mut self.files[at];
        simulated::world(|world| {
            file.left = Some((is_deleted, world.is_held(file.inode), life));
            file.head = world.log(&file.name).unwrap().1.iter().copied().take(PREFIX).collect();
            if is_deleted {
                world.remove_log(&file.name);
            } else {
                world.rename_log(&file.name, &format!("{ELSEWHERE}/{at}.sqlog"));
            }
        });
    }

    /// A file is deleted, and at once one with its name, and its inode where that is free, is as long as it was.
    fn replace(&mut self, at: usize, chance: &mut Chance, is_brief: bool, life: u64) {
        let name = self.files[at].name.clone();
        let last = self.last(at).map(|trace| (trace.kind, trace.events));
        self.leave(at, true, life);
        self.did("sequence_with_a_reused_inode");
        let (kind, events) = last.unwrap_or_else(|| (Self::kind(chance, is_brief), 0));
        let at = self.begin_file(name);
        self.begin(at, kind, chance);
        self.grow(at, events, None, chance);
    }

    /// A file is cut to nothing under its writer, who then begins another trace in it; `is_copied`: a copy stays.
    fn cut(&mut self, at: usize, is_copied: bool) {
        self.did(if is_copied { "sequence_copied_and_cut" } else { "sequence_cut" });
        let name = self.files[at].name.clone();
        let traces = std::mem::take(&mut self.files[at].traces);
        self.files[at].rest = None;
        if is_copied {
            let to = format!("{FOLDER}/{at}.copy{}.sqlog", self.files.len());
            let copy = self.begin_file(to.clone());
            let inode = simulated::world(|world| {
                world.copy_truncate(&name, &to);
                world.log(&to).unwrap().0
            });
            traces.iter().for_each(|trace| self.traces[*trace].file = copy);
            let file = &mut self.files[copy];
            (file.traces, file.inode, file.is_copy) = (traces, inode, true);
        } else {
            let inode = self.files[at].inode;
            let is_held = simulated::world(|world| {
                world.cut_log(&name);
                world.is_held(inode)
            });
            traces.into_iter().for_each(|trace| self.traces[trace].cut = Some(is_held));
        }
    }

    /// A collector starts: what its checkpoints know.
    pub fn hear(&mut self, found: &BTreeMap<FileId, KnownFile>) {
        for file in self.files.iter_mut().filter(|file| !file.is_followed()) {
            let known = found.get(&FileId { device: 1, inode: file.inode });
            file.is_known_after |=
                known.is_some_and(|known| !known.head.state.is_empty() && file.begins(known.head.prefix));
        }
    }

    /// What is wrong with what is held. `is_brief`: silent logs are over; `last_life` is the one that ended in order.
    pub fn wrong(&self, held: &Held, is_brief: bool, last_life: u64) -> Vec<String> {
        let mut wrong = Vec::new();
        for trace in &self.traces {
            let file = &self.files[trace.file];
            let mut all = self.misplaced(trace, held);
            all.extend(self.missing(trace, held, is_brief, last_life));
            wrong.extend(all.into_iter().map(|wrong| {
                let (names, left, is_known) = (&file.names, file.left, file.is_known_after);
                format!("{wrong}; {trace:?} of {names:?}, left {left:?}, known after {is_known}")
            }));
        }
        wrong
    }

    /// Records that stand twice, in another's place, in two traces, or that nobody wrote.
    fn misplaced(&self, trace: &WrittenTrace, held: &Held) -> Vec<String> {
        let mut wrong = Vec::new();
        let mut written: BTreeMap<String, BTreeMap<String, u64>> = BTreeMap::new();
        for index in 0..trace.events + u64::from(trace.has_part) {
            let (connection, seq) = trace.whose(index);
            written.entry(connection).or_default().insert(trace.record(index), seq);
        }
        let mut rows = BTreeMap::new();
        for index in 0..trace.events + u64::from(trace.has_part) {
            rows.insert(trace.whose(index), trace.row(index));
        }
        for connection in trace.connections() {
            for (seq, found) in held.events_of(&connection) {
                let row = rows.get(&(connection.clone(), seq));
                wrong.extend(found.values().flatten().filter(|found| Some(*found) != row).map(|found| {
                    let row = row.map_or("", String::as_str);
                    format!("event {seq} of {connection} was never written: {}", differences(found, row))
                }));
            }
            let written = written.remove(&connection).unwrap_or_default();
            let ids = held.traces(&connection);
            let found = held.texts.get(&connection);
            let twice = found.into_iter().flatten().filter(|(_, places)| places.len() > 1).count();
            // A log without a clock is identified by its first records. When it is gone and its checkpoint has fewer
            // than these, its records may stand under a second id beside those that the sink has already taken.
            let SequenceFile { left, is_known_after, .. } = self.files[trace.file];
            let is_gone = is_known_after || left.is_some_and(|(_, is_held, _)| !is_held);
            let is_excused = is_gone && !trace.kind.is_dated && twice < IDENTITY_RECORDS && ids.len() == 2;
            if ids.len() > 1 && !is_excused {
                wrong.push(format!("{connection} is in traces {ids:?}"));
            }
            for (text, places) in found.into_iter().flatten() {
                let is_once = places.len() == 1 || is_excused;
                let Some(seq) = written.get(text) else {
                    wrong.push(format!("{text} of {connection} was never written"));
                    continue;
                };
                if !is_once || places.iter().any(|(_, at)| at != seq) {
                    wrong.push(format!("{text} of {connection}, its record {seq}, stands at {places:?}"));
                }
            }
        }
        wrong
    }

    /// Records that are lost though they were due, or of whose loss nothing says anything; and rows that say too much.
    fn missing(&self, trace: &WrittenTrace, held: &Held, is_brief: bool, last_life: u64) -> Vec<String> {
        let mut wrong = Vec::new();
        let file = &self.files[trace.file];
        // A part of a record is none, and is one where only its line feed is missing and its file is over.
        let is_lost = |index: &u64| {
            let (connection, _) = trace.whose(*index);
            !held.texts.get(&connection).is_some_and(|found| found.contains_key(&trace.record(*index)))
        };
        let lost = (0..trace.events).filter(is_lost).count();
        let is_followed_by = |after: &usize| *after > trace.number && self.traces[*after].is_begun;
        // What is silent has fewer records than decide what it is.
        let is_decided = trace.events >= PRELUDE as u64 || file.traces.iter().any(is_followed_by);
        let is_over = is_brief || is_decided;
        let is_due = trace.cut.is_none()
            && match file.left {
                None => is_over,
                // What was open is read to its end, unless the process ended before.
                Some((is_deleted, is_held, life)) => is_held && life == last_life && (is_deleted || is_over),
            };
        if is_due && lost > 0 {
            wrong.push(format!("{lost} events lost"));
        }
        let of = |trace: &WrittenTrace| trace.connections().flat_map(|id| held.rows(&id)).collect::<Vec<_>>();
        for (connection, trace_id, row) in of(trace) {
            if !is_header_of(&row.header, &trace.header()) {
                wrong.push(format!("{connection} in {trace_id} has another header: {}", row.header));
            }
            let texts = held.texts.get(connection);
            let packets = texts.into_iter().flatten().filter_map(|(text, _)| bytes_of(text));
            let (count, bytes) = packets.fold((0, 0), |(count, bytes), more| (count + 1, bytes + more));
            let said = ["packets_received", "bytes_received"].map(|name| value_of(&row.content, name));
            let is_all = row.events_seen == texts.map_or(0, BTreeMap::len) as u64;
            if is_all && said != [Some(&*count.to_string()), Some(&*bytes.to_string())] {
                wrong.push(format!("{connection} in {trace_id}: {said:?}, and {count}, {bytes} are stored"));
            }
            let stored = held.texts.get(connection).map_or(0, BTreeMap::len) as u64;
            // Of a log that cannot be read again, a kill leaves what the sink had by then, and a row that says that its end
            // is missing, or where the log was over, its end.
            let is_exact = is_due || row.is_complete && !is_brief;
            if row.events_seen != stored && is_exact {
                let seen = row.events_seen;
                wrong
                    .push(format!("the row of {connection} in {trace_id} has seen {seen} events, {stored} are stored"));
            }
        }
        // A record that is missing may have been of any trace of its file.
        let rows = of(trace);
        let others = file.traces.iter().filter(|other| **other != trace.number);
        let is_told = rows.iter().any(|(.., row)| !row.is_complete)
            || others.flat_map(|other| of(&self.traces[*other])).any(|(.., row)| !row.is_complete)
            || held.rejects.iter().any(|(reason, at, ..)| reason == "source_lost" && file.names.contains(at));
        // What a log that was over has grown by is known to nobody when it is gone before that is read and put away; and so
        // is a trace of which no checkpoint says that the one before it has ended.
        let is_known = match rows.is_empty() {
            true => file.is_known_after && file.traces.first() == Some(&trace.number),
            // Of a cycle that was taken in part there may be no checkpoint, and none that knows of the trace.
            false if held.has_parts && !(file.is_known_after && file.traces.first() == Some(&trace.number)) => false,
            false => !is_brief || !rows.iter().any(|(.., row)| row.is_complete),
        };
        if lost > 0 && is_known && !is_told {
            wrong.push(format!("{lost} events lost and nothing says so"));
        }
        wrong
    }
}
