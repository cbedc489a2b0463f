//! The near end of a simulated collector: servers that write logs, rename, cut, delete and replace them, and a source
//! that cannot be read again; and what must be held of all that in the end.

use super::store::{Content, Held, Shown, content, differences, value_of};
use crate::machine::simulated::{self, Chance, World};
use crate::run::followed::PREFIX;
use crate::run::journal::{FileId, KnownFile};
use crate::run::spool::{Position, Refused, Spool, What};
use std::collections::{BTreeMap, BTreeSet};
use xxhash_rust::xxh3::{xxh3_64, xxh3_64_with_seed};

/// Folder whose files are all followed, and a single file that is.
pub const FOLDER: &str = "/logs/a";
/// See [`FOLDER`].
pub const SINGLE: &str = "/logs/b/access.log";

/// A log that was written.
struct WrittenLog {
    inode: u64,
    /// Name now; none where it is gone, or where nobody follows it.
    name: Option<String>,
    /// All the names that it had.
    names: Vec<String>,
    number: u64,
    /// Lines that are whole.
    lines: u64,
    /// Those with which a file began: those before the last one's were cut.
    starts: Vec<u64>,
    /// The rest of the line that is half written.
    half: Option<String>,
    /// It was deleted: whether the collector had it open, and in which life.
    deleted: Option<(bool, u64)>,
    /// A checkpoint knew it after it was gone.
    is_known_after: bool,
}

/// How many records of a connection were given to the spool, from its first on.
#[derive(Default)]
struct Given {
    /// The spool said that it has them.
    taken: u64,
    /// They are on disk.
    synced: u64,
    /// The spool may have them: a kill came before it said so.
    tried: u64,
}

/// Everybody who writes.
pub struct Writer {
    logs: Vec<WrittenLog>,
    /// Records of the spool by connection.
    given: BTreeMap<u64, Given>,
    copies: u64,
    /// What was done, by name.
    pub did: BTreeMap<&'static str, u64>,
}

/// What a line says; some lines lack a field, and some have one that no column holds.
fn line(log: u64, number: u64) -> String {
    let (time, path, status) = (time(number), path(log, number), status(number));
    let mut more = String::new();
    if number % 4 != 1 {
        more += &format!(r#","duration_us":{},"response_bytes":{}"#, number * 7, log * 100_000 + number);
    }
    if number % 5 == 3 {
        more += &format!(r#","note":{{"größer":{number}}}"#);
    }
    format!("{{\"time\":\"{time}\",\"method\":\"GET\",\"path\":\"{path}\",\"status\":{status}{more}}}\n")
}

/// The row of [`line`].
fn row(log: u64, number: u64) -> Content {
    let (time, path, status) = (time(number), path(log, number), status(number).to_string());
    let time = time.trim_end_matches('Z');
    let (duration, bytes) = ((number * 7).to_string(), (log * 100_000 + number).to_string());
    let note = format!("{{note: {{\"größer\":{number}}}}}");
    let mut columns = vec![("line_day", "2026-11-22"), ("time", time), ("time_is", "end"), ("method", "GET")];
    columns.extend([("path", &*path), ("status", &*status)]);
    if number % 4 != 1 {
        columns.extend([("duration_us", &*duration), ("response_bytes", &*bytes)]);
    }
    if number % 5 == 3 {
        columns.push(("more", &note));
    }
    content(&columns)
}

fn time(number: u64) -> String {
    format!("2026-11-22T{:02}:{:02}:{:02}Z", number / 3600 % 24, number / 60 % 60, number % 60)
}

fn path(log: u64, number: u64) -> String {
    format!("/f{log:04}/n{number:05}")
}

fn status(number: u64) -> u64 {
    [200, 404, 503][usize::try_from(number % 3).unwrap()]
}

/// A record of a connection whose source cannot be read again: the first says when it is.
fn record(connection: u64, seq: u64) -> String {
    let time = 5000 + seq * 10;
    match seq {
        0 => format!("c{connection}\t0\t{time}\tclock_anchor\t1795168800000000, edge-1, 77, server\n"),
        seq => format!("c{connection}\t{seq}\t{time}\tpacket_recvd\t{seq}, {}\n", bytes(connection, seq)),
    }
}

/// Bytes of the packet of [`record`].
fn bytes(connection: u64, seq: u64) -> u64 {
    300 + 100 * connection + seq % 50
}

/// The row of [`record`], `time_us` after the first one of its trace.
fn event(connection: u64, seq: u64, time_us: &str, trace_day: &str, vantage: &str) -> Content {
    let (number, bytes) = (seq.to_string(), bytes(connection, seq).to_string());
    let mut columns = vec![("trace_day", trace_day), ("vantage", vantage)];
    if time_us != "0" {
        columns.push(("time_us", time_us));
    }
    let anchored = "{value: \"1795168800000000, edge-1, 77, server\"}";
    let more = format!("{{value: \"{number}, {bytes}\"}}");
    columns.extend(match seq {
        0 => [
            ("name", "clock_anchor"),
            ("shape", r#"{"time":$,"name":"clock_anchor","data":{"value":*}}"#),
            ("more", anchored),
        ],
        _ => [
            ("name", "quic:packet_received"),
            ("shape", r#"{"time":$,"name":"packet_recvd","data":{"value":*}}"#),
            ("more", &*more),
        ],
    });
    if seq > 0 {
        columns.extend([("packet_number", &*number), ("packet_bytes", &*bytes)]);
    }
    content(&columns)
}

impl Default for Writer {
    fn default() -> Self {
        let did = ["rename", "copy_truncate", "delete", "inode_reuse", "half_line", "spool_full"];
        let did = did.into_iter().map(|what| (what, 0)).collect();
        Self { logs: Vec::new(), given: BTreeMap::new(), copies: 0, did }
    }
}

impl Writer {
    fn did(&mut self, what: &'static str) {
        *self.did.entry(what).or_default() += 1;
    }

    /// Records written so far.
    pub fn records(&self) -> u64 {
        self.logs.iter().map(|log| log.lines).sum::<u64>() + self.given.values().map(|given| given.taken).sum::<u64>()
    }

    /// Logs written so far.
    pub fn logs(&self) -> usize {
        self.logs.len()
    }

    /// Connections of the source that cannot be read again.
    pub fn connections(&self) -> impl Iterator<Item = String> {
        self.given.keys().map(|connection| format!("c{connection}"))
    }

    fn append(&mut self, world: &mut World, at: usize, count: u64, is_half: bool) {
        let log = &mut self.logs[at];
        let Some(name) = log.name.clone() else { return };
        let mut text = String::new();
        if let Some(half) = log.half.take() {
            text.push_str(&half);
            log.lines += 1;
        }
        for _ in 0..count {
            text.push_str(&line(log.number, log.lines));
            log.lines += 1;
        }
        if is_half {
            let whole = line(log.number, log.lines);
            let (first, rest) = whole.split_at(30);
            text.push_str(first);
            log.half = Some(rest.to_owned());
        }
        world.append(&name, text.as_bytes());
        log.inode = world.log(&name).unwrap().0;
    }

    fn make(&mut self, world: &mut World, name: &str, count: u64) {
        let number = self.logs.len() as u64;
        self.logs.push(WrittenLog {
            inode: 0,
            name: Some(name.to_owned()),
            names: vec![name.to_owned()],
            number,
            lines: 0,
            starts: vec![0],
            half: None,
            deleted: None,
            is_known_after: false,
        });
        self.append(world, self.logs.len() - 1, count, false);
    }

    fn named(&self, name: &str) -> Option<usize> {
        self.logs.iter().position(|log| log.name.as_deref() == Some(name))
    }

    /// One of them does something.
    pub fn act(&mut self, chance: &mut Chance, life: u64) {
        simulated::world(|world| {
            let name = match chance.below(4) {
                0 => SINGLE.to_owned(),
                number => format!("{FOLDER}/{number}.log"),
            };
            let count = 1 + chance.below(12);
            let Some(at) = self.named(&name) else { return self.make(world, &name, count) };
            let is_half = self.logs[at].half.is_some();
            match chance.below(24) {
                0 => {
                    self.did("rename");
                    self.copies += 1;
                    let other = format!("{name}.{}", self.copies);
                    world.rename_log(&name, &other);
                    self.logs[at].name = Some(other.clone());
                    self.logs[at].names.push(other);
                }
                1 if !is_half && name != SINGLE => {
                    self.did("copy_truncate");
                    self.copies += 1;
                    world.copy_truncate(&name, &format!("{name}.{}", self.copies));
                    let log = &mut self.logs[at];
                    log.starts.push(log.lines);
                }
                2 => self.delete(world, at, life),
                3 => {
                    self.did("inode_reuse");
                    let lines = self.logs[at].lines;
                    self.delete(world, at, life);
                    self.make(world, &name, lines);
                }
                4 | 5 => {
                    self.did("half_line");
                    self.append(world, at, count, true);
                }
                _ => self.append(world, at, count, false),
            }
        });
    }

    fn delete(&mut self, world: &mut World, at: usize, life: u64) {
        self.did("delete");
        let log = &mut self.logs[at];
        let name = log.name.take().unwrap();
        log.deleted = Some((world.is_held(log.inode), life));
        world.remove_log(&name);
    }

    /// A collector starts: what its checkpoints know.
    pub fn hear(&mut self, found: &BTreeMap<FileId, KnownFile>) {
        for log in self.logs.iter_mut().filter(|log| !log.is_followed()) {
            let known = found.get(&FileId { device: 1, inode: log.inode });
            log.is_known_after |=
                known.is_some_and(|known| !known.head.state.is_empty() && log.begins(known.head.prefix));
        }
    }

    /// The source that cannot be read again gives a record.
    pub fn give(&mut self, chance: &mut Chance, spool: &Spool) {
        let connection = chance.below(3);
        let given = self.given.entry(connection).or_default();
        let mut text = String::new();
        let count = 1 + chance.below(10);
        given.tried = given.tried.max(given.taken + count);
        text.extend((given.taken..given.taken + count).map(|seq| record(connection, seq)));
        let what = What::lines("stdin:-", Position::Running(0), text.as_bytes());
        match spool.append(what, text.as_bytes()) {
            Ok(()) => given.taken += count,
            Err(Refused::Full) => *self.did.entry("spool_full").or_default() += 1,
            Err(Refused::TooLarge | Refused::Broken(_)) => {}
        }
    }

    /// All that was given is on disk.
    pub fn synced(&mut self) {
        self.given.values_mut().for_each(|given| given.synced = given.taken);
    }

    /// The machine is gone, or the process: what was not synced may be given by nobody any more.
    pub fn unsynced(&self) -> BTreeMap<u64, (u64, u64)> {
        self.given.iter().map(|(connection, given)| (*connection, (given.synced, given.taken))).collect()
    }

    /// What is wrong with what is held: nothing, where this is empty. `may_miss`: records that no source was told to be
    /// on disk when a life ended; `last_life` is the one that ended in order.
    pub fn wrong(&self, held: &Held, may_miss: &BTreeSet<(u64, u64)>, last_life: u64) -> Vec<String> {
        let mut wrong = Vec::new();
        let mut written = BTreeSet::new();
        for log in &self.logs {
            let mut lost = Vec::new();
            for (number, place) in log.places() {
                let Some(found) = held.lines.get(&place) else {
                    lost.push(number);
                    continue;
                };
                let row = row(log.number, number);
                wrong.extend(
                    found
                        .iter()
                        .filter(|found| **found != row)
                        .map(|found| format!("{}, line {number} of log {}", differences(found, &row), log.number)),
                );
                written.insert(place);
            }
            if log.is_followed() && log.is_falsely_lost(held) {
                wrong.push(format!("log {} {:?} counts as lost and is there", log.number, log.names));
            }
            let (Some(first), Some(last)) = (lost.first(), lost.last()) else { continue };
            let is_counted =
                held.rejects.iter().any(|(reason, file, ..)| reason == "source_lost" && log.names.contains(file));
            let is_excused = match log.deleted {
                // A file that is there is read.
                None => !log.is_followed() && (!log.is_known_after || is_counted),
                // What was open is read to its end, unless the process ended before.
                Some((is_held, life)) => {
                    if log.is_known_after {
                        is_counted
                    } else {
                        !is_held || life != last_life
                    }
                }
            };
            if !is_excused {
                wrong.push(format!(
                    "{} of {} lines of log {} {:?} lost, {first} to {last}; deleted {:?}, known after {}",
                    lost.len(),
                    log.lines,
                    log.number,
                    log.names,
                    log.deleted,
                    log.is_known_after
                ));
            }
        }
        wrong.extend(
            held.lines
                .iter()
                .filter(|(place, _)| !written.contains(place))
                .map(|(place, found)| format!("{found:?} at {place:?} was never written")),
        );
        for (connection, given) in &self.given {
            let name = format!("c{connection}");
            for seq in 0..given.taken {
                let key = (name.clone(), seq);
                match held.events.get(&key).map_or(0, BTreeMap::len) {
                    0 if may_miss.contains(&(*connection, seq)) => {}
                    0 if held.is_dropped(seq) => {}
                    0 => wrong.push(format!("event {key:?} lost")),
                    1 => {}
                    _ => wrong.push(format!("event {key:?} in traces {:?}", held.events[&key])),
                }
            }
            for (seq, traces) in held.events_of(&name) {
                let found = traces.iter().flat_map(|(trace, found)| found.iter().map(move |found| (trace, found)));
                for (trace, found) in found {
                    if seq >= given.tried || !held.is_given(*connection, seq, trace, found) {
                        wrong.push(format!("event {seq} of {name} in {trace} is {found:?}, which was never written"));
                    }
                }
            }
        }
        wrong
    }
}

impl WrittenLog {
    /// The first line that is still there.
    fn start(&self) -> u64 {
        self.starts.last().copied().unwrap_or_default()
    }

    /// Each line's number, and where its row stands: under the hash of the first line of its file, and its offset.
    fn places(&self) -> impl Iterator<Item = (u64, (String, u64))> {
        let (mut log_id, mut offset) = (String::new(), 0);
        (0..self.lines).map(move |number| {
            let text = line(self.number, number);
            if self.starts.contains(&number) {
                // "sim" is the collector's name.
                (log_id, offset) =
                    (format!("{:016x}", xxh3_64_with_seed(text.trim_end().as_bytes(), xxh3_64(b"sim"))), 0);
            }
            let place = (log_id.clone(), offset);
            offset += text.len() as u64;
            (number, place)
        })
    }

    /// Its first bytes have that length and hash: an inode, and a name, may have been another's.
    fn begins(&self, (length, hash): (u32, u64)) -> bool {
        let start = self.start();
        let text: String = (start..start + 60).map(|number| line(self.number, number)).collect();
        text.as_bytes().get(..length as usize).is_some_and(|head| length > 0 && xxh3_64(head) == hash)
    }

    /// A `source_lost` tells of a file that begins like this one does.
    fn is_falsely_lost(&self, held: &Held) -> bool {
        let lost =
            held.rejects.iter().filter(|(reason, file, ..)| reason == "source_lost" && self.names.contains(file));
        let sources: BTreeSet<&String> = lost.map(|(_, _, source, ..)| source).collect();
        if sources.is_empty() {
            return false;
        }
        let text: String = (self.start()..self.lines).map(|number| line(self.number, number)).collect();
        let mut heads =
            (1..=text.len().min(PREFIX)).map(|length| format!("{:016x}", xxh3_64(&text.as_bytes()[..length])));
        heads.any(|head| sources.contains(&head))
    }

    /// It has a name that is followed.
    fn is_followed(&self) -> bool {
        self.name.as_ref().is_some_and(|name| name.starts_with(FOLDER) || name == SINGLE)
    }
}

impl Held {
    /// An event of such a seq was dropped and counted.
    fn is_dropped(&self, seq: u64) -> bool {
        self.rejects.iter().any(|(reason, _, _, first, last)| reason == "spool_full" && (*first..=*last).contains(&seq))
    }

    /// That is the row of a record that was given.
    fn is_given(&self, connection: u64, seq: u64, trace: &str, found: &Content) -> bool {
        // Times are counted from the trace's first record, which its row names; a trace may begin at any.
        let base_ns = self.connections.get(&(format!("c{connection}"), trace.to_owned())).map(Shown::base_ns);
        let written_us = 5000 + 10 * i64::try_from(seq).unwrap();
        let said = value_of(found, "time_us").unwrap_or("0");
        let time_us = base_ns.map_or_else(|| said.to_owned(), |base_ns| (written_us - base_ns / 1000).to_string());
        let day = value_of(found, "trace_day").unwrap_or_default();
        let vantage = value_of(found, "vantage").unwrap_or_default();
        *found == event(connection, seq, &time_us, day, vantage)
            && ["2026-11-20", "1970-01-01"].contains(&day)
            && ["server", ""].contains(&vantage)
    }
}
