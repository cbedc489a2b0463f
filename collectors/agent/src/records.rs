//! Records of a sequence or of rows to their trace, one at a time: the same for a file that is whole and for one that
//! still grows.

use crate::file::kept;
use crate::passing::{Passing, pass};
use quiclens_core::catalogue::Catalogue;
use quiclens_core::header::Header;
use quiclens_core::memory::TraceMemory;
use quiclens_core::reader::quic_trace::is_heading;
use quiclens_core::reader::records::{RecordStep, Window, next_record};
use quiclens_core::reader::skip::{Skip, Stop};
use quiclens_core::reader::sniff::{Framing, RS};
use quiclens_core::tables::Tables;
use quiclens_core::trace::{Reject, Saved, SavedConnection, TraceReader};
use serde::{Deserialize, Serialize};
use xxhash_rust::xxh3::xxh3_64;

/// What became of the window.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Turn {
    /// The next record is not all there.
    NeedMore,
    /// A record was taken, or passed over and counted.
    Taken,
    /// Nothing comes any more.
    Over,
}

/// The records of one file.
pub struct Records<'c> {
    catalogue: &'c Catalogue,
    framing: Framing,
    name: String,
    trace: Option<TraceReader<'c>>,
    complete: bool,
    /// A record longer than the limit, of which the end has not come.
    passing: Option<Passing>,
    is_first: bool,
    /// Time of the clock that measures silences of connections, s.
    now_s: u64,
}

/// [`Records`] put away between two of them.
#[derive(Debug, Serialize, Deserialize)]
pub struct SavedRecords {
    framing: Framing,
    name: String,
    trace: Option<Saved>,
    complete: bool,
    passing: Option<Passing>,
    is_first: bool,
}

impl<'c> Records<'c> {
    /// Of a file called `name`.
    pub fn new(catalogue: &'c Catalogue, framing: Framing, name: &str) -> Self {
        let is_rows = matches!(framing, Framing::QuicTrace | Framing::LineV1);
        let trace = is_rows.then(|| TraceReader::new(catalogue, Header::rows(framing), name));
        Self {
            catalogue,
            framing,
            name: name.to_owned(),
            trace,
            complete: true,
            passing: None,
            is_first: true,
            now_s: 0,
        }
    }

    /// Rows of `quiclens line v1` that come one by one; `source` is that of rejects among them.
    pub fn line_v1(catalogue: &'c Catalogue, name: &str, source: &str) -> Self {
        let mut records = Self::new(catalogue, Framing::LineV1, name);
        records.trace = records.trace.map(|trace| trace.begun(source));
        records
    }

    /// See [`TraceReader::trace_id`].
    pub fn trace_id(&mut self, group: &str) -> Option<&str> {
        self.trace.as_mut()?.trace_id(group)
    }

    /// Takes the next record out of the window.
    pub fn next(&mut self, window: &mut Window, tables: &mut Tables) -> Turn {
        if self.passing.is_some() {
            return self.pass(window, tables);
        }
        match next_record(self.framing, window) {
            RecordStep::NeedMore => Turn::NeedMore,
            RecordStep::Record { len, taken } => {
                self.take(window, len, taken, tables);
                window.consume(taken);
                Turn::Taken
            }
            RecordStep::TooLong => {
                self.passing = Some(Passing::begin(Skip::TooLong, window.offset()));
                self.pass(window, tables)
            }
            RecordStep::Done => Turn::Over,
        }
    }

    fn take(&mut self, window: &Window, len: usize, taken: usize, tables: &mut Tables) {
        let record = &window.rest()[..len];
        // Whether a record is cut is decided by its missing separator, never by the end of the file: `load` knows that
        // end and `run` does not.
        let is_cut = taken == len;
        let is_first = std::mem::replace(&mut self.is_first, false);
        let Some(trace) = &mut self.trace else {
            let header = Header::sequential(record, self.framing);
            if header.is_none() {
                whole(tables, &self.name, Skip::NoHeader, window.offset(), record);
            }
            let header = header.unwrap_or_else(|| Header::rows(self.framing));
            count_unread(tables, &self.name, &header, window.offset());
            let trace = self.trace.insert(TraceReader::new(self.catalogue, header, &self.name));
            trace.at(self.now_s);
            return;
        };
        trace.stand(window.offset());
        let is_rows = matches!(self.framing, Framing::QuicTrace | Framing::LineV1);
        if is_rows && is_first && core::str::from_utf8(record).is_ok_and(is_heading) {
            return;
        }
        let pushed = if is_rows { trace.push(record, tables).map(|_| ()) } else { trace.push_whole(record, tables) };
        let reason = match pushed {
            Ok(()) => return,
            Err(Stop::End) if is_rows => return,
            Err(Stop::End) if is_cut => Skip::Truncated,
            Err(Stop::End) => Skip::NotJson,
            Err(Stop::Skip(reason @ (Skip::NoTime | Skip::NoName))) if !is_rows => {
                if let Some(header) = Header::sequential(record, self.framing).filter(Header::begins_a_log) {
                    count_unread(tables, &self.name, &header, window.offset());
                    self.begin_another(header, tables);
                    return;
                }
                reason
            }
            Err(Stop::Skip(reason)) => reason,
        };
        // A truncated last line of a log with many connections may belong to any of them.
        self.complete &= self.framing != Framing::LineV1 || reason != Skip::Truncated;
        let reject = Reject { reason: Some(reason), offset: window.offset(), length: len as u64, bytes: kept(record) };
        trace.reject(reject, tables);
    }

    /// A second header among the records: the trace is over, another begins.
    fn begin_another(&mut self, header: Header, tables: &mut Tables) {
        let mut next = TraceReader::new(self.catalogue, header, &self.name);
        next.at(self.now_s);
        if let Some(mut trace) = self.trace.take() {
            next.follow(&mut trace, tables);
            let owed_by_others = std::mem::take(&mut tables.owed);
            trace.finish(std::mem::replace(&mut self.complete, true), tables);
            // Events are read again only before the end of a file, not before the end of a trace inside it.
            let owed = std::mem::replace(&mut tables.owed, owed_by_others);
            if !owed.is_empty() {
                tables.lose(&owed);
            }
        }
        self.trace = Some(next);
    }

    /// Past a record that is longer than the limit, up to its separator.
    fn pass(&mut self, window: &mut Window, tables: &mut Tables) -> Turn {
        let separator = if self.framing == Framing::Sequential { RS } else { b'\n' };
        let Some(reject) = pass(&mut self.passing, window, separator) else { return Turn::NeedMore };
        match &mut self.trace {
            Some(trace) => trace.reject(reject, tables),
            None => {
                self.complete = false;
                tables.reject("", &reject, &self.name, "", None);
            }
        }
        Turn::Taken
    }

    /// Sets the clock that measures silences of connections, s.
    pub fn at(&mut self, now_s: u64) {
        self.now_s = now_s;
        if let Some(trace) = &mut self.trace {
            trace.at(now_s);
        }
    }

    /// Ends connections that are over while the file goes on; see [`TraceReader::end_quiet`]. True when there were any.
    pub fn end_quiet(&mut self, closed_s: u64, idle_s: u64, tables: &mut Tables) -> bool {
        self.trace.as_mut().is_some_and(|trace| trace.end_quiet(closed_s, idle_s, tables))
    }

    /// Rows of the connections as they stand now; see [`TraceReader::show`].
    pub fn show(&mut self, tables: &mut Tables) {
        if let Some(trace) = &mut self.trace {
            trace.show(tables);
        }
    }

    /// The trace whose events may have to be read again, once its header is known.
    pub fn trace(&mut self) -> Option<&mut TraceReader<'c>> {
        self.trace.as_mut()
    }

    /// See [`TraceReader::open_connections`].
    pub fn open_connections(&self) -> usize {
        self.trace.as_ref().map_or(0, TraceReader::open_connections)
    }

    /// Nothing was made of any record: see [`TraceReader::is_undecided`].
    pub fn is_undecided(&self) -> bool {
        self.trace.as_ref().is_some_and(TraceReader::is_undecided)
    }

    /// See [`TraceReader::has_made_room`].
    pub fn has_made_room(&self) -> bool {
        self.trace.as_ref().is_some_and(TraceReader::has_made_room)
    }

    /// See [`TraceReader::memory`].
    pub fn memory(&self) -> TraceMemory {
        self.trace.as_ref().map_or_else(TraceMemory::default, TraceReader::memory)
    }

    /// To read the same records again, from where connections begin that came after those which decided the identity.
    pub fn again(&self) -> Option<Self> {
        let trace = TraceReader::restore(self.catalogue, self.trace.as_ref()?.save())?;
        let (framing, name) = (self.framing, self.name.clone());
        Some(Self {
            catalogue: self.catalogue,
            framing,
            name,
            trace: Some(trace),
            complete: true,
            passing: None,
            is_first: false,
            now_s: 0,
        })
    }

    /// To read the same records again from the first.
    pub fn anew(&self) -> Self {
        Self::new(self.catalogue, self.framing, &self.name)
    }

    /// The file was truncated: the rest of the window is the beginning of a record whose end never comes. `let_go`: see
    /// [`torn`].
    pub fn tear(&mut self, window: &mut Window, let_go: u64, tables: &mut Tables) {
        // More may have been written between the last look and the cut.
        self.complete = false;
        let Some(reject) = torn(window, let_go) else { return };
        match &mut self.trace {
            Some(trace) => trace.reject(reject, tables),
            None => tables.reject("", &reject, &self.name, "", None),
        }
    }

    /// The file is over: ends connections until rows are many; true while there are more. Then [`Records::finish`].
    pub fn end_some(&mut self, unharmed: bool, tables: &mut Tables) -> bool {
        let complete = self.complete && unharmed;
        self.trace.as_mut().is_some_and(|trace| trace.end_some(complete, tables))
    }

    /// The file is over. `unharmed`: nothing was wrong with reading it.
    pub fn finish(self, unharmed: bool, tables: &mut Tables) {
        if let Some(trace) = self.trace {
            trace.finish(self.complete && unharmed, tables);
        }
    }

    /// Saves what belongs to no connection.
    pub fn save(&self) -> SavedRecords {
        SavedRecords {
            framing: self.framing,
            name: self.name.clone(),
            trace: self.trace.as_ref().map(TraceReader::save),
            complete: self.complete,
            passing: self.passing.clone(),
            is_first: self.is_first,
        }
    }

    /// See [`TraceReader::save_connections`].
    pub fn save_connections(&mut self) -> impl Iterator<Item = (u64, Option<SavedConnection<'_>>)> {
        self.trace.iter_mut().flat_map(TraceReader::save_connections)
    }

    /// Holds no memory for records until the next one comes.
    pub fn release(&mut self) {
        if let Some(trace) = &mut self.trace {
            trace.release();
        }
    }

    /// All of it in as few bytes as a checkpoint takes; `None` unless it is at rest: see [`TraceReader::is_at_rest`].
    pub fn pack(&mut self) -> Option<Box<[u8]>> {
        if !self.trace.as_mut().is_none_or(TraceReader::is_at_rest) {
            return None;
        }
        let packed = (self.save(), self.trace.as_mut().and_then(TraceReader::save_only));
        postcard::to_stdvec(&packed).ok().map(Vec::into_boxed_slice)
    }

    /// Restores what was packed; the silence of its connection is measured from `now_s`.
    pub fn unpack(catalogue: &'c Catalogue, packed: &[u8], now_s: u64) -> Option<Self> {
        let (saved, only): (SavedRecords, Option<SavedConnection<'_>>) = postcard::from_bytes(packed).ok()?;
        let mut records = Self::restore(catalogue, saved)?;
        records.at(now_s);
        if let Some(only) = only {
            records.restore_connection(1, only);
        }
        Some(records)
    }

    /// Takes a state up; `None` when this build cannot.
    pub fn restore(catalogue: &'c Catalogue, saved: SavedRecords) -> Option<Self> {
        let trace = match saved.trace {
            Some(trace) => Some(TraceReader::restore(catalogue, trace)?),
            None => None,
        };
        let SavedRecords { framing, name, complete, passing, is_first, .. } = saved;
        Some(Self { catalogue, framing, name, trace, complete, passing, is_first, now_s: 0 })
    }

    /// See [`TraceReader::restore_connection`].
    pub fn restore_connection(&mut self, number: u64, saved: SavedConnection<'_>) {
        if let Some(trace) = &mut self.trace {
            trace.restore_connection(number, saved);
        }
    }
}

/// What is left of a window, as a record whose end will not come. `let_go`: as many bytes followed that were read and not
/// kept.
pub fn torn(window: &mut Window, let_go: u64) -> Option<Reject> {
    if let_go > 0 {
        let (offset, there) = (window.offset(), window.rest().len());
        window.consume(there);
        let length = let_go + there as u64;
        return Some(Reject { reason: Some(Skip::Truncated), offset, length, ..Reject::default() });
    }
    let rest = window.rest();
    let length = rest.len();
    let is_nothing = rest.iter().all(|byte| byte.is_ascii_whitespace() || *byte == RS);
    let reject =
        Reject { reason: Some(Skip::Truncated), offset: window.offset(), length: length as u64, bytes: kept(rest) };
    window.consume(length);
    (!is_nothing).then_some(reject)
}

/// Counts the invalid values of a header, if there are any, as one reject; `offset` is where the header begins or ends.
pub fn count_unread(tables: &mut Tables, name: &str, header: &Header, offset: u64) -> bool {
    let text = &header.unread;
    let has_unread = !text.is_empty();
    if has_unread {
        let length = text.len() as u64;
        reject_of_file(tables, name, &Reject { reason: Some(Skip::HeaderValue), offset, length, bytes: kept(text) });
    }
    has_unread
}

/// Counts bytes that are no trace's. Files of which nothing was read are told apart by their names.
pub fn reject_of_file(tables: &mut Tables, name: &str, reject: &Reject) {
    let identity =
        if reject.bytes.is_empty() { name.as_bytes() } else { &reject.bytes[..reject.bytes.len().min(4096)] };
    tables.reject(&format!("{:016x}", xxh3_64(identity)), reject, name, "", None);
}

/// Counts a file, or a record in a header's place, of which nothing can be read; it stands at `offset`.
pub fn whole(tables: &mut Tables, name: &str, reason: Skip, offset: u64, bytes: &[u8]) {
    let reject = Reject { reason: Some(reason), offset, length: bytes.len() as u64, bytes: kept(bytes) };
    reject_of_file(tables, name, &reject);
}

#[cfg(test)]
#[expect(clippy::unwrap_used, reason = "tests")]
mod tests {
    use super::*;
    use quiclens_core::record::columns::connection_aliases::ConnectionAliases;
    use quiclens_core::record::columns::connections::{self, Connections};
    use quiclens_core::record::columns::episodes::Episodes;
    use quiclens_core::record::columns::rejects;
    use quiclens_core::record::columns::streams::Streams;
    use quiclens_core::record::rows::Row;
    use quiclens_core::trace::PRELUDE;
    use serde_json::{Value, json};
    use std::collections::BTreeMap;
    use std::path::Path;

    /// Most bytes that one silent connection may hold, beside its path and its open file.
    const BAR: usize = 4096;

    fn input(path: &str) -> Vec<u8> {
        std::fs::read(Path::new(env!("CARGO_MANIFEST_DIR")).join("../../schema/vectors").join(path)).unwrap()
    }

    /// A vector's trace as a sequence.
    fn sequence(case: &str) -> Vec<u8> {
        let mut document: Value = serde_json::from_slice(&input(&format!("{case}/input.qlog"))).unwrap();
        let mut trace = document["traces"][0].take();
        let events = trace.as_object_mut().unwrap().shift_remove("events").unwrap();
        let header = json!({"qlog_version": "0.3", "qlog_format": "JSON-SEQ", "trace": trace});
        let records = std::iter::once(&header).chain(events.as_array().unwrap());
        records.flat_map(|record| format!("\x1e{record}\n").into_bytes()).collect()
    }

    fn window(text: &[u8]) -> Window {
        let mut window = Window::default();
        window.space().extend_from_slice(text);
        window.end = true;
        window
    }

    type Rows = (Vec<Row<Streams>>, Vec<Row<Episodes>>, Vec<Row<Connections>>, Vec<Row<ConnectionAliases>>);

    /// Rows of a sequence whose reading is packed after every `every` records, unless records wait, and the bytes of the
    /// largest pack after the records that decide the identity, which are kept whole until then.
    fn read(catalogue: &Catalogue, text: &[u8], every: usize) -> (Rows, usize) {
        let (mut tables, mut window) = (Tables::default(), window(text));
        let mut records = Records::new(catalogue, Framing::Sequential, "/var/log/qlog/a.sqlog");
        let (mut taken, mut largest) = (0, 0);
        while records.next(&mut window, &mut tables) == Turn::Taken {
            taken += 1;
            let is_waiting = records.trace().is_some_and(|trace| trace.is_waiting());
            if taken % every == 0 && !is_waiting {
                let is_decided = taken > PRELUDE;
                assert_eq!(records.pack().is_none(), is_decided, "before it is put away");
                assert_eq!(records.save_connections().count(), usize::from(is_decided));
                let packed = records.pack().unwrap();
                largest = largest.max(if is_decided { packed.len() } else { 0 });
                records = Records::unpack(catalogue, &packed, 0).unwrap();
            }
        }
        records.finish(true, &mut tables);
        let Tables { streams, episodes, connections, aliases, .. } = tables;
        ((streams, episodes, connections, aliases), largest)
    }

    #[test]
    fn what_was_packed_and_taken_up_gives_the_same_rows_and_is_small() {
        let catalogue = Catalogue::load().unwrap();
        for case in ["aioquic_clean_server", "aioquic_burst_loss_server"] {
            let text = sequence(case);
            let (whole, _) = read(&catalogue, &text, usize::MAX);
            assert!(!whole.0.is_empty() && whole.2.len() == 1);
            for every in [1, 7, 100] {
                let (rows, largest) = read(&catalogue, &text, every);
                assert_eq!(rows, whole, "{case}, every {every}");
                assert!((500..BAR).contains(&largest), "{case}, every {every}: {largest}");
            }
        }
    }

    /// Found by the fuzz target `export`: the place said was 0 whatever came before the record.
    #[test]
    fn what_stands_in_a_headers_place_is_rejected_with_its_own_place() {
        let catalogue = Catalogue::load().unwrap();
        for (before, record) in [("\x1e", "\"headers\""), ("\u{FEFF}\r\n\x1e", "[1]\n"), ("", "\"headers\"\n")] {
            let text = [before, record].concat();
            let (mut tables, mut window) = (Tables::default(), window(text.as_bytes()));
            let mut records = Records::new(&catalogue, Framing::Sequential, "a.sqlog");
            while records.next(&mut window, &mut tables) == Turn::Taken {}
            records.finish(true, &mut tables);
            let places: Vec<_> =
                tables.rejects.iter().map(|row| (row.whole(rejects::OFFSET), row.whole(rejects::LENGTH))).collect();
            assert_eq!(places, [(before.len() as u64, record.trim_end().len() as u64)], "{text:?}");
        }
    }

    #[test]
    fn connections_that_share_a_file_are_not_packed() {
        let catalogue = Catalogue::load().unwrap();
        let (mut tables, mut window) = (Tables::default(), window(&input("line_v1/input.log")));
        let mut records = Records::line_v1(&catalogue, "shared.log", "source");
        assert!(records.pack().is_some(), "nothing was read");
        assert_eq!(records.next(&mut window, &mut tables), Turn::Taken);
        assert_eq!(records.save_connections().count(), 1);
        assert!(records.pack().is_none(), "a silence ends a connection that its records name");
    }

    /// Damage is of the connections that were open, or that come next: not of those that were over, whether the file
    /// ends or a silence ends them, and not of those that come later.
    #[test]
    fn only_connections_around_a_damaged_record_are_incomplete() {
        let catalogue = Catalogue::load().unwrap();
        let event = |group: &str| {
            format!("{{\"time\":1,\"group_id\":\"{group}\",\"name\":\"transport:packet_sent\",\"data\":{{}}}}\n")
        };
        let header = "{\"qlog_version\":\"0.3\",\"qlog_format\":\"NDJSON\",\"trace\":{\"vantage_point\":{\"type\":\"server\"}}}\n";
        let before: String = (0..PRELUDE).map(|_| event("0a")).collect();
        let damaged = "{\"time\":1,\"na{}\n";
        let text = [header, &before, damaged, &event("0b"), &event("0c"), &event("0a"), &event("0c")].concat();
        for is_put_away in [false, true] {
            for is_quiet in [false, true] {
                let (mut tables, mut window) = (Tables::default(), window(text.as_bytes()));
                let mut records = Records::new(&catalogue, Framing::NdJson, "a.sqlog");
                let mut kept = BTreeMap::new();
                while records.next(&mut window, &mut tables) == Turn::Taken {
                    if !is_put_away {
                        continue;
                    }
                    for (number, saved) in records.save_connections() {
                        kept.insert(number, postcard::to_stdvec(&saved.unwrap()).unwrap());
                    }
                    let saved = postcard::to_stdvec(&records.save()).unwrap();
                    records = Records::restore(&catalogue, postcard::from_bytes(&saved).unwrap()).unwrap();
                    for (number, saved) in &kept {
                        records.restore_connection(*number, postcard::from_bytes(saved).unwrap());
                    }
                }
                if is_quiet {
                    records.at(100);
                    assert!(records.end_quiet(10, 10, &mut tables));
                }
                records.finish(true, &mut tables);
                let complete = |row: &Row<Connections>| {
                    (row.text(connections::CONNECTION_ID).unwrap().to_owned(), row.get(connections::COMPLETE).cloned())
                };
                let found: BTreeMap<_, _> = tables.connections.iter().map(complete).collect();
                let names: Vec<String> = found.iter().map(|(id, value)| format!("{id} {value:?}")).collect();
                let wanted = ["0a Some(Truth(false))", "0b Some(Truth(false))", "0c Some(Truth(true))"];
                assert_eq!(names, wanted, "quiet {is_quiet}, put away {is_put_away}");
            }
        }
    }
}
