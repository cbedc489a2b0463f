//! Servers whose log is one JSON document, written over time, deleted or moved at any moment; and what must be held of
//! them in the end.

use super::store::{Content, Held, content, differences};
use crate::machine::simulated::{self, Chance, World};
use serde_json::{Value, json};
use std::collections::BTreeMap;

/// Folder whose documents are followed.
pub const FOLDER: &str = "/logs/d";
/// Where nobody follows them.
const ELSEWHERE: &str = "/logs/elsewhere";
/// Documents that are written at once.
const OPEN: usize = 2;

struct WrittenDocument {
    inode: u64,
    number: u64,
    name: String,
    /// Events that are whole.
    events: u64,
    /// The rest of one that is half written.
    half: Option<String>,
    /// Its end was written.
    is_closed: bool,
    /// It was deleted (true) or moved away (false): whether the collector had it open, and in which life.
    left: Option<(bool, bool, u64)>,
}

/// All of them.
pub struct Documents {
    all: Vec<WrittenDocument>,
    /// What was done, by name.
    pub did: BTreeMap<&'static str, u64>,
}

impl Default for Documents {
    fn default() -> Self {
        let did = ["document_begun", "document_closed", "document_deleted", "document_moved", "document_renamed"];
        Self { all: Vec::new(), did: did.into_iter().map(|what| (what, 0)).collect() }
    }
}

fn connection(number: u64) -> String {
    format!("{number:06x}d0")
}

fn header(number: u64) -> String {
    format!(
        concat!(
            r#"{{"qlog_version":"0.3","qlog_format":"JSON","traces":[{{"vantage_point":{{"type":"server"}},"#,
            r#""common_fields":{{"ODCID":"{}","time_format":"relative","reference_time":1795168800000}},"events":["#
        ),
        connection(number)
    )
}

/// An event of a document: bytes, and every third a note, are of its document.
fn event(number: u64, seq: u64) -> String {
    let comma = if seq == 0 { "" } else { ",\n" };
    format!("{comma}{}", record(number, seq))
}

fn record(number: u64, seq: u64) -> String {
    let header = format!(r#"{{"packet_type":"1RTT","packet_number":{seq}}}"#);
    let note = if seq % 3 == 1 { format!(r#","note":"größer {number}""#) } else { String::new() };
    let data = format!(r#"{{"header":{header},"raw":{{"length":{}}}{note}}}"#, bytes(number, seq));
    format!(r#"{{"time":{},"name":"transport:packet_received","data":{data}}}"#, seq + 1)
}

fn bytes(number: u64, seq: u64) -> u64 {
    300 + 7 * number + seq % 100
}

/// The row of an event.
fn row(number: u64, seq: u64) -> Content {
    let (time_us, packet, bytes) = ((seq * 1000).to_string(), seq.to_string(), bytes(number, seq).to_string());
    let is_noted = seq % 3 == 1;
    let shape = format!(
        concat!(
            r#"{{"time":$,"name":"transport:packet_received","data":{{"header":{{"packet_type":"1RTT","#,
            r##""packet_number":#B}},"raw":{{"length":#C}}{}}}}}"##
        ),
        if is_noted { r#","note":*"# } else { "" }
    );
    let note = format!(r#"{{note: "größer {number}"}}"#);
    let mut columns = vec![("trace_day", "2026-11-20"), ("vantage", "server"), ("name", "quic:packet_received")];
    columns.extend([("packet_type", "1RTT"), ("packet_number", &*packet), ("packet_bytes", &*bytes)]);
    columns.push(("shape", &shape));
    if seq > 0 {
        columns.push(("time_us", &time_us));
    }
    if is_noted {
        columns.push(("more", &note));
    }
    content(&columns)
}

/// The header that is stored is that of the log.
pub fn is_header_of(stored: &str, log: &str) -> bool {
    let mut written: Value = serde_json::from_str(log).unwrap();
    let file = written.as_object_mut().unwrap();
    // A document has its traces in a list, and in each its events.
    let trace = file.remove("trace").or_else(|| Some(file.remove("traces")?[0].take()));
    let mut trace = trace.unwrap();
    trace.as_object_mut().unwrap().remove("events");
    serde_json::from_str(stored).is_ok_and(|stored: Value| stored == json!({"file": file, "trace": trace}))
}

impl WrittenDocument {
    fn append(&mut self, world: &mut World, count: u64, is_half: bool) {
        let mut text = String::new();
        if let Some(half) = self.half.take() {
            text.push_str(&half);
            self.events += 1;
        }
        for _ in 0..count {
            text.push_str(&event(self.number, self.events));
            self.events += 1;
        }
        if is_half {
            let whole = event(self.number, self.events);
            let (first, rest) = whole.split_at(40);
            text.push_str(first);
            self.half = Some(rest.to_owned());
        }
        world.append(&self.name, text.as_bytes());
    }
}

impl Documents {
    fn did(&mut self, what: &'static str) {
        *self.did.entry(what).or_default() += 1;
    }

    /// Events written so far.
    pub fn records(&self) -> u64 {
        self.all.iter().map(|document| document.events).sum()
    }

    /// Documents begun so far.
    pub fn logs(&self) -> usize {
        self.all.len()
    }

    /// Connections that documents are of.
    pub fn connections(&self) -> impl Iterator<Item = String> {
        self.all.iter().map(|document| connection(document.number))
    }

    /// One of the servers does something.
    pub fn act(&mut self, chance: &mut Chance, life: u64) {
        let there: Vec<usize> = (0..self.all.len()).filter(|at| self.all[*at].left.is_none()).collect();
        let open = there.iter().filter(|at| !self.all[**at].is_closed).count();
        if there.is_empty() || open < OPEN && chance.one_in(3) {
            return self.begin();
        }
        let at = there[usize::try_from(chance.below(there.len() as u64)).unwrap()];
        let deed = chance.below(12);
        if deed < 2 {
            self.leave(at, deed == 0, life);
        } else if deed == 2 {
            self.did("document_renamed");
            let times = self.did["document_renamed"];
            let document = &mut self.all[at];
            let name = format!("{FOLDER}/{}.{times}.qlog", document.number);
            simulated::world(|world| world.rename_log(&document.name, &name));
            document.name = name;
        } else if self.all[at].is_closed {
            // A closed document does not grow.
        } else if deed < 5 {
            self.did("document_closed");
            let document = &mut self.all[at];
            simulated::world(|world| {
                document.append(world, 0, false);
                world.append(&document.name, b"]}]}");
            });
            document.is_closed = true;
        } else {
            let count = 1 + chance.below(8);
            simulated::world(|world| self.all[at].append(world, count, chance.one_in(4)));
        }
    }

    fn begin(&mut self) {
        self.did("document_begun");
        let number = self.all.len() as u64;
        let name = format!("{FOLDER}/{number}.qlog");
        let inode = simulated::world(|world| {
            world.append(&name, header(number).as_bytes());
            world.log(&name).unwrap().0
        });
        self.all.push(WrittenDocument { inode, number, name, events: 0, half: None, is_closed: false, left: None });
    }

    fn leave(&mut self, at: usize, is_deleted: bool, life: u64) {
        self.did(if is_deleted { "document_deleted" } else { "document_moved" });
        let document = &mut self.all[at];
        simulated::world(|world| {
            document.left = Some((is_deleted, world.is_held(document.inode), life));
            if is_deleted {
                world.remove_log(&document.name);
            } else {
                world.rename_log(&document.name, &format!("{ELSEWHERE}/{}.qlog", document.number));
            }
        });
    }

    /// What is wrong with what is held. `is_brief`: silent documents are over; `last_life` is the one that ended in order.
    pub fn wrong(&self, held: &Held, is_brief: bool, last_life: u64) -> Vec<String> {
        let mut wrong = Vec::new();
        for document in &self.all {
            let connection = connection(document.number);
            let traces = |seq| held.events.get(&(connection.clone(), seq)).map_or(0, BTreeMap::len);
            let lost = (0..document.events).filter(|seq| traces(*seq) == 0).count();
            wrong.extend(
                (0..document.events)
                    .filter(|seq| traces(*seq) > 1)
                    .map(|seq| format!("event {seq} of document {} in {} traces", document.number, traces(seq))),
            );
            for (seq, found) in held.events_of(&connection) {
                // One that is half written may be whole where its document is over.
                let row = row(document.number, seq);
                let is_written = seq < document.events;
                wrong.extend(found.values().flatten().filter(|found| !is_written || **found != row).map(|found| {
                    let number = document.number;
                    format!("event {seq} of document {number} was never written: {}", differences(found, &row))
                }));
            }
            for (_, trace, row) in held.rows(&connection) {
                let written = format!("{}]}}]}}", header(document.number));
                let rows = held.texts.get(&connection).map_or(0, BTreeMap::len);
                if !is_header_of(&row.header, &written) {
                    wrong.push(format!("{connection} in {trace} has another header: {}", row.header));
                }
                if row.is_complete && rows as u64 != row.events_seen {
                    wrong.push(format!("{connection} in {trace}: {rows} events, not {}", row.events_seen));
                }
            }
            let is_over = document.is_closed || is_brief;
            let is_due = match document.left {
                None => is_over,
                // What was open is read to its end, unless the process ended before.
                Some((is_deleted, is_held, life)) => is_held && life == last_life && (is_deleted || is_over),
            };
            if is_due && lost > 0 {
                wrong.push(format!(
                    "{lost} of {} events of document {} lost; closed {}, left {:?}",
                    document.events, document.number, document.is_closed, document.left
                ));
            }
        }
        wrong
    }
}
