//! The spool, read as one log of many connections: what of it was read, and what its records make.

use crate::error::Error;
use crate::records::{Records, SavedRecords, Turn};
use crate::run::journal::{Entry, FileHead, FileId, HEAD, KnownFile, bytes_of};
use crate::run::spool::{Item, LineRun, Spool, SpoolReader};
use quiclens_core::catalogue::Catalogue;
use quiclens_core::memory::TraceMemory;
use quiclens_core::reader::records::Window;
use quiclens_core::reader::skip::Skip;
use quiclens_core::tables::Tables;
use quiclens_core::trace::Reject;
use serde::{Deserialize, Serialize};
use std::sync::Arc;
use std::time::Duration;

/// The spool in the journal: no file has this identity.
pub const ID: FileId = FileId { device: u64::MAX, inode: 0 };
const NAME: &str = "spool";
/// Bytes that are read before the files' turn.
const TURN: usize = 1 << 20;
/// Most runs that wait for their connection to begin; beyond it the oldest gets its row without a trace.
const MOST_OWED: usize = 10_000;

/// A run of records that is lost, whose connection has not begun: its first records may be among them.
#[derive(Debug, Serialize, Deserialize)]
struct OwedRun {
    run: LineRun,
    source: String,
    reject: Reject,
}

#[derive(Serialize, Deserialize)]
struct SavedSpoolReading {
    records: SavedRecords,
    owed: Vec<OwedRun>,
}

/// The spool's reading.
pub struct Spooled<'c> {
    spool: Arc<Spool>,
    reader: SpoolReader,
    window: Window,
    records: Records<'c>,
    owed: Vec<OwedRun>,
    /// Source of what belongs to no trace.
    id: String,
    /// Rows that are ready.
    pub tables: Tables,
    /// Something was taken since the state was saved, or the state was saved only once since then.
    pub is_dirty: bool,
    /// Where it was when it was put away last.
    told: Option<u64>,
    /// Removes a state from the journal that could not be restored, once that is counted.
    pub gone: Option<Entry>,
    /// More is there than was read.
    is_behind: bool,
    /// Total time for which senders had to wait for room, or their records for a sync.
    stood: Duration,
}

impl<'c> Spooled<'c> {
    /// Reads on from where `known` says, or from the oldest record that is there. Rows gather in `tables`.
    pub fn open(catalogue: &'c Catalogue, spool: &Arc<Spool>, known: Option<&KnownFile>, mut tables: Tables) -> Self {
        let id = format!("{:016x}", spool.id());
        let state = known.filter(|known| known.is_sound && known.head.prefix == (0, spool.id()));
        let taken_up = state.and_then(|known| {
            let SavedSpoolReading { records, owed } = postcard::from_bytes(&known.head.state).ok()?;
            let mut records = Records::restore(catalogue, records)?;
            for (number, state) in &known.parts {
                records.restore_connection(*number, postcard::from_bytes(state).ok()?);
            }
            Some((records, owed, known.head.offset))
        });
        if let (None, Some(known)) = (&taken_up, known) {
            let reject = Reject { reason: Some(Skip::SourceLost), offset: known.head.offset, ..Reject::default() };
            tables.reject(&id, &reject, NAME, "", None);
        }
        let gone = (taken_up.is_none() && known.is_some()).then(|| Entry::gone(ID));
        let offset = taken_up.as_ref().map(|(.., offset)| *offset);
        let (records, owed, _) = taken_up.unwrap_or_else(|| (Records::line_v1(catalogue, NAME, &id), Vec::new(), 0));
        let window = Window::from(offset.unwrap_or(0));
        let (reader, spool) = (SpoolReader::new(spool, offset), Arc::clone(spool));
        Self {
            spool,
            reader,
            window,
            records,
            owed,
            id,
            tables,
            // The spool is told again what was shipped: the process may have ended before, with a full spool.
            is_dirty: offset.is_some(),
            told: None,
            gone,
            is_behind: true,
            stood: Duration::ZERO,
        }
    }

    /// So much time has passed. It does not count as silence while senders have to wait, or their records wait for a
    /// sync.
    pub fn pass(&mut self, time: Duration) {
        if self.spool.is_refusing() || self.spool.is_slow() {
            self.stood += time;
        }
    }

    /// Reads what is there, up to a turn's worth. True when more is there. `now` is the time of the clock that measures
    /// silences of connections.
    pub fn read(&mut self, now: Duration) -> Result<bool, Error> {
        self.spool.fault()?;
        self.is_behind = true;
        self.records.at(now.saturating_sub(self.stood).as_secs());
        let begin = self.window.offset();
        while self.tables.is_small() {
            if self.records.next(&mut self.window, &mut self.tables) == Turn::Taken {
                self.is_dirty = true;
                continue;
            }
            self.settle();
            if self.window.offset() - begin >= TURN as u64 {
                return Ok(true);
            }
            match self.reader.next().map_err(|error| Error::of_state("the spool", &error))? {
                None => {
                    self.is_behind = false;
                    return Ok(false);
                }
                Some(Item::Lines { offset, bytes }) => {
                    if self.window.offset() + self.window.rest().len() as u64 != offset {
                        self.window = Window::from(offset);
                    }
                    self.window.space().extend_from_slice(&bytes);
                }
                Some(Item::Reject { offset, end, source, reason, length, bytes, runs }) => {
                    self.is_dirty = true;
                    let reject = Reject { reason: Some(reason), offset, length, bytes };
                    self.lose(&source, reject, runs);
                    self.window = Window::from(end);
                }
            }
        }
        Ok(true)
    }

    /// A record is lost: one row for each run in it, the bytes with the first.
    fn lose(&mut self, source: &str, mut reject: Reject, runs: Vec<LineRun>) {
        if runs.is_empty() {
            self.tables.reject(&self.id, &reject, source, "", None);
        }
        let begin = reject.offset;
        for (index, run) in runs.into_iter().enumerate() {
            // A run is at least one byte of the payload, so places stay unique.
            let bytes = std::mem::take(&mut reject.bytes);
            let reject = Reject { offset: begin + index as u64, bytes, ..reject.clone() };
            self.owed.push(OwedRun { run, source: source.to_owned(), reject });
        }
    }

    /// Rows for what was lost of connections that have begun.
    fn settle(&mut self) {
        if self.owed.is_empty() {
            return;
        }
        let surplus = self.owed.len().saturating_sub(MOST_OWED);
        for (index, owed) in std::mem::take(&mut self.owed).into_iter().enumerate() {
            let trace_id = self.records.trace_id(&owed.run.connection).unwrap_or_default();
            if trace_id.is_empty() && index >= surplus {
                self.owed.push(owed);
            } else {
                let seqs = (owed.run.first_seq, owed.run.last_seq);
                self.tables.reject_run(&self.id, &owed.reject, &owed.source, trace_id, seqs);
            }
        }
    }

    /// See [`Records::has_made_room`].
    pub fn has_made_room(&self) -> bool {
        self.records.has_made_room()
    }

    /// Ends connections that are over; see [`Records::end_quiet`].
    pub fn end_quiet(&mut self, now: Duration, closed_s: u64, idle_s: u64) -> bool {
        if self.is_behind {
            return false;
        }
        self.records.at(now.saturating_sub(self.stood).as_secs());
        let has_ended = self.records.end_quiet(closed_s, idle_s, &mut self.tables);
        self.is_dirty |= has_ended;
        has_ended
    }

    /// Rows of its connections as they stand now; see [`Records::show`].
    pub fn show(&mut self) {
        self.records.show(&mut self.tables);
    }

    /// No source is left: ends connections until rows are many; true while there are more. Then [`Spooled::finish`].
    pub fn end_some(&mut self) -> bool {
        self.is_dirty = true;
        self.records.end_some(true, &mut self.tables)
    }

    /// No source is left: its connections end here, and what was lost of others is told without them.
    pub fn finish(&mut self, catalogue: &'c Catalogue) {
        let records = std::mem::replace(&mut self.records, Records::line_v1(catalogue, NAME, &self.id));
        records.finish(true, &mut self.tables);
        for owed in std::mem::take(&mut self.owed) {
            let seqs = (owed.run.first_seq, owed.run.last_seq);
            self.tables.reject_run(&self.id, &owed.reject, &owed.source, "", seqs);
        }
        self.is_dirty = true;
    }

    /// What a checkpoint says of it, once everything that was taken so far is acknowledged; and where that is.
    pub fn put_away(&mut self, entries: &mut Vec<Entry>) -> Result<u64, Error> {
        // Each offset is saved in two cycles before the spool may remove what is before it: when the newer cycle is
        // damaged, the older one counts.
        self.is_dirty = self.told.replace(self.window.offset()) != Some(self.window.offset());
        for (part, state) in self.records.save_connections() {
            let state = state.as_ref().map(bytes_of).transpose()?;
            entries.push(Entry { file: ID, part, state });
        }
        let state = SavedSpoolReading { records: self.records.save(), owed: std::mem::take(&mut self.owed) };
        let (prefix, offset) = ((0, self.spool.id()), self.window.offset());
        let head = FileHead { name: NAME.into(), prefix, offset, state: bytes_of(&state)? };
        self.owed = state.owed;
        entries.push(Entry { file: ID, part: HEAD, state: Some(bytes_of(&head)?) });
        Ok(offset)
    }

    /// What its trace holds.
    pub fn memory(&self) -> TraceMemory {
        self.records.memory()
    }

    /// How many lost runs wait for their connection to begin.
    pub fn owed(&self) -> usize {
        self.owed.len()
    }

    /// The spool fills, and events are to be dropped: nothing else should add to them.
    pub fn is_pressed(&self) -> bool {
        self.spool.is_pressed()
    }
}
