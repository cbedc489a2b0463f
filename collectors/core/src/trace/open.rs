//! The connections of a trace that are open: found by the name that their records give them, ended one by one.

use crate::client::KnownClient;
use crate::event::Event;
use crate::fold::Fold;
use crate::limits::{REFUSED, REJECT_BYTES};
use crate::record::events::Key;
use crate::retention::{At, Standing};
use crate::seeded::Seeded;
use crate::tables::Tables;
use crate::trace::clock::Clock;
use crate::trace::order::{HeldRecord, Order};
use crate::trace::silence::{Silence, Verdict};
use crate::trace::state_size::StateSize;
use crate::trace::{Reject, beyond};
use get_size2::GetSize;
use std::collections::{BTreeMap, BTreeSet, HashMap};
use xxhash_rust::xxh3::xxh3_64;

/// A record as it stands in the file.
#[derive(Clone, Copy)]
pub(super) struct Told<'r> {
    pub raw: &'r [u8],
    pub place: u64,
    /// Corrected time.
    pub at_ns: i64,
    /// The log's clock was set back before it.
    pub is_step: bool,
}

/// One connection of a trace.
pub(super) struct Connection {
    /// The name in its records; empty for records that name none.
    pub group: String,
    /// Its place in the order of their beginning, from 1: never given to another.
    pub number: u64,
    pub key: Key,
    pub fold: Fold,
    pub seq: u64,
    pub base_ns: i64,
    /// Corrects its times where the log's clock is set back.
    pub clock: Clock,
    /// Records that wait for older ones, in a log that is out of order.
    pub order: Option<Box<Order>>,
    /// Records that wait for one that shows whether the log's clock was set forward.
    pub silence: Option<Box<Silence>>,
    pub started: bool,
    /// What is known of its client, where that is asked.
    pub client: Option<Box<KnownClient>>,
    /// Events that the newest row of `connections` knew.
    pub shown: u64,
    /// Its close was logged.
    pub is_closed: bool,
    /// Second, on the reader's clock, of its newest record.
    pub heard_s: u64,
    /// It has had a record since it was put away.
    pub is_dirty: bool,
    /// Where its first record stands; 0 for those that decide the identity.
    pub began_at: u64,
    /// The time of that record counts from the one before it.
    pub is_delta: bool,
    pub standing: Standing,
    /// Something of it is missing.
    pub is_harmed: bool,
    /// Rejected records of the trace without a known connection, counted up to the event before its first.
    pub harms_before: u64,
    /// Values that their column cannot hold.
    pub values_unread: u64,
    pub size: StateSize,
}

impl Connection {
    /// Counts the memory that its state takes; records that wait, and what is known of its client, are not in it.
    /// `of_all` is the sum of all connections, in bytes.
    pub fn count_state(&mut self, of_all: &mut usize) {
        let before = self.size.bytes();
        self.size.count(size_of::<Self>() + self.names_bytes() + self.fold.get_heap_size());
        *of_all = (*of_all + self.size.bytes()).saturating_sub(before);
    }

    /// Memory of its names, of which the first is the key of the map of open connections too.
    fn names_bytes(&self) -> usize {
        2 * self.group.capacity() + self.key.connection_id.capacity() + self.key.trace_id.capacity()
    }

    /// Folds an event, at once or, if records of the connection are held, in the order of their times.
    pub fn fold(&mut self, event: &Event, told: Told<'_>, tables: &mut Tables, file: &str) {
        let Told { raw, place, at_ns, is_step } = told;
        if self.order.is_none() && self.silence.is_none() {
            match self.fold.silence_us(event.time_us) {
                Some(gap_us) => self.silence = Some(Box::new(Silence::of(gap_us))),
                None => {
                    if is_step {
                        self.fold.clock_made_a_step();
                    }
                    self.fold.event(event);
                    self.tell_beyond(event.seq, place, raw, raw.len(), tables, file);
                    return;
                }
            }
        }
        let kept = raw[..raw.len().min(REJECT_BYTES)].to_vec();
        let held = HeldRecord { event: event.clone(), is_step, place, raw: kept, length: raw.len() };
        let Some(order) = self.order.as_deref_mut() else {
            let verdict = self.silence.as_deref_mut().map(|silence| silence.hold(held, &self.fold));
            if let Some(Verdict::Forward(step_ns)) = verdict {
                self.go_on(step_ns, tables, file);
            }
            return;
        };
        order.hold(at_ns, held);
        self.go_on(0, tables, file);
        while let Some(held) = self.order.as_deref_mut().and_then(Order::next) {
            self.fold_held(&held, tables, file);
        }
    }

    /// Folds the records after a silence in which the log's clock was set forward by `step_ns`.
    fn go_on(&mut self, step_ns: i64, tables: &mut Tables, file: &str) {
        let Some(silence) = self.silence.take() else { return };
        if step_ns > 0 {
            self.clock.set_back(step_ns);
            self.fold.clock_made_a_step();
        }
        for mut held in silence.into_held() {
            held.event.time_us = held.event.time_us.saturating_sub(step_ns / 1000);
            self.fold_held(&held, tables, file);
        }
    }

    /// Bytes of its records that wait for older ones.
    pub fn held_bytes(&self) -> usize {
        self.order.as_deref().map_or(0, Order::bytes) + self.silence.as_deref().map_or(0, Silence::bytes)
    }

    /// Folds all records that wait; older ones are not awaited any more. `seq` is that of the first event that is not
    /// given to the tables.
    pub fn fold_all(&mut self, tables: &mut Tables, file: &str, seq: u64) {
        self.is_dirty |= self.silence.is_some();
        self.go_on(0, tables, file);
        while let Some(held) = self.order.as_deref_mut().and_then(Order::next_of_all) {
            self.fold_held(&held, tables, file);
            self.is_dirty = true;
        }
        self.give(tables, At::Between, seq);
    }

    /// Moves final rows to the tables, as a checkpoint holds no rows. Applies the retention rules before, as these may
    /// depend on the rows.
    pub fn give(&mut self, tables: &mut Tables, at: At, seq: u64) {
        self.look(tables, at, seq);
        let output = &mut self.fold.output;
        if !output.streams.is_empty() || !output.episodes.is_empty() {
            tables.streams.append(&mut output.streams);
            tables.episodes.append(&mut output.episodes);
        }
    }

    fn fold_held(&mut self, held: &HeldRecord, tables: &mut Tables, file: &str) {
        if held.is_step {
            self.fold.clock_made_a_step();
        }
        self.fold.event(&held.event);
        self.tell_beyond(held.event.seq, held.place, &held.raw, held.length, tables, file);
    }

    /// Rejects the newest event if it exceeds a limit.
    fn tell_beyond(&mut self, seq: u64, place: u64, raw: &[u8], length: usize, tables: &mut Tables, file: &str) {
        if let Some(reason) = self.fold.beyond.take() {
            let trace_id = &self.key.trace_id;
            let reject = Reject { length: length as u64, ..beyond(reason, place, raw) };
            tables.reject(trace_id, &reject, file, trace_id, Some(seq));
            self.is_harmed = true;
        }
    }

    /// Its row as of now, and those of its aliases, among which are its client's keys.
    pub fn rows(&self, complete: bool, tables: &mut Tables) {
        tables.aliases.extend(self.fold.alias_rows());
        let mut row = self.row(complete, tables);
        if let Some(client) = &self.client {
            tables.aliases.extend(self.fold.client_rows(client));
            client.fill(&mut row);
        }
        tables.connections.push(row);
        tables.traces.insert(self.key.trace_id.clone());
    }
}

/// The open connections of one trace. Slots are used again, numbers are not.
#[derive(Default)]
pub(super) struct Open {
    slots: Vec<Option<Box<Connection>>>,
    free: Vec<usize>,
    /// Slots before it were taken out at the end.
    taken: usize,
    groups: HashMap<String, usize, Seeded>,
    /// Connections that ever began.
    pub begun: u64,
    /// Trace id of the first of them.
    pub first: Option<String>,
    /// The first is the one of records that name none.
    pub is_plain: bool,
    /// Numbers of those that ended since the state was put away, in this trace or in one before it in the file.
    pub ended: BTreeSet<u64>,
    /// Numbers and slots of named ones that closed. The order must be one that a restored state has too.
    closed: BTreeMap<u64, usize>,
    /// Names of those that ended to make room since the state was put away.
    made_room: BTreeSet<u64>,
}

/// Closed connections that are looked at for one that can end.
const LOOKED_AT: usize = 8;

impl Open {
    /// How many are open.
    pub fn count(&self) -> usize {
        self.groups.len()
    }

    /// Slot of the connection whose records say `group`.
    pub fn find(&self, group: &str) -> Option<usize> {
        // The usual file has one connection, which its records do not name.
        if self.begun == 1 && self.is_plain && group.is_empty() { Some(0) } else { self.groups.get(group).copied() }
    }

    pub fn get_mut(&mut self, slot: usize) -> Option<&mut Connection> {
        self.slots.get_mut(slot)?.as_deref_mut()
    }

    /// The connection, if the trace has never had another.
    pub fn only(&mut self) -> Option<&mut Connection> {
        if self.begun == 1 { self.get_mut(0) } else { None }
    }

    pub fn all_mut(&mut self) -> impl Iterator<Item = &mut Connection> {
        self.slots.iter_mut().filter_map(Option::as_deref_mut)
    }

    /// A connection begins; its number is given here. Returns its slot.
    pub fn begin(&mut self, mut connection: Connection) -> usize {
        self.begun += 1;
        connection.number = self.begun;
        if self.begun == 1 {
            self.first = Some(connection.key.trace_id.clone());
            self.is_plain = connection.group.is_empty();
        }
        self.put(connection)
    }

    /// Gives a connection, new or taken up, a slot.
    pub fn put(&mut self, connection: Connection) -> usize {
        let slot = self.free.pop().unwrap_or(self.slots.len());
        if slot == self.slots.len() {
            self.slots.push(None);
        }
        self.groups.insert(connection.group.clone(), slot);
        if connection.is_closed && !connection.group.is_empty() {
            self.closed.insert(connection.number, slot);
        }
        self.slots[slot] = Some(Box::new(connection));
        slot
    }

    /// The close of the connection in this slot was logged.
    pub fn close(&mut self, slot: usize) {
        let Some(connection) = self.get_mut(slot).filter(|connection| !connection.is_closed) else { return };
        connection.is_closed = true;
        let number = (!connection.group.is_empty()).then_some(connection.number);
        self.closed.extend(number.map(|number| (number, slot)));
    }

    /// Takes out the oldest connection that is closed. `is_settled`: what its end decides is decided and done.
    pub fn take_closed(&mut self, is_settled: impl Fn(&mut Connection) -> bool) -> Option<Connection> {
        let first = self.closed.iter().take(LOOKED_AT).map(|(_, slot)| *slot).collect::<Vec<_>>();
        let slot = first.into_iter().find(|slot| self.get_mut(*slot).is_some_and(&is_settled))?;
        let connection = self.take(slot)?;
        if self.made_room.len() >= REFUSED {
            // No second has so many, and a file that is loaded has no state.
            self.made_room.clear();
        }
        self.made_room.insert(xxh3_64(connection.group.as_bytes()));
        Some(connection)
    }

    /// Takes out the connection in this slot.
    fn take(&mut self, slot: usize) -> Option<Connection> {
        let connection = self.slots.get_mut(slot)?.take()?;
        self.groups.remove(&connection.group);
        self.closed.remove(&connection.number);
        self.free.push(slot);
        self.ended.insert(connection.number);
        Some(*connection)
    }

    /// Connections have ended to make room, and no state says so yet.
    pub fn has_made_room(&self) -> bool {
        !self.made_room.is_empty()
    }

    /// The connection is one of them. Were another one of its name to begin, a start after a kill might count its records
    /// as those of the first.
    pub fn was_for_room(&self, group: &str) -> bool {
        self.has_made_room() && self.made_room.contains(&xxh3_64(group.as_bytes()))
    }

    /// Numbers of those that ended since the state was put away; it contains what they were.
    pub fn take_ended(&mut self) -> BTreeSet<u64> {
        self.made_room.clear();
        std::mem::take(&mut self.ended)
    }

    /// Those, and the numbers of all that are open.
    pub fn all_numbers(&mut self) -> BTreeSet<u64> {
        let mut numbers = self.take_ended();
        numbers.extend(self.all_mut().map(|connection| connection.number));
        numbers
    }

    /// Takes out the next named connection, from slot `from` on, that is closed and silent for `closed_s`, or silent
    /// for `idle_s`, with its slot. The one of records that name none ends with the trace. `is_settled`: what its end
    /// decides is decided and done.
    pub fn take_quiet(
        &mut self,
        from: usize,
        now_s: u64,
        closed_s: u64,
        idle_s: u64,
        is_settled: impl Fn(&mut Connection) -> bool,
    ) -> Option<(usize, Connection)> {
        let is_over = |connection: &mut Connection| {
            let silent_s = now_s.saturating_sub(connection.heard_s);
            let is_quiet = silent_s >= if connection.is_closed { closed_s } else { idle_s };
            !connection.group.is_empty() && is_quiet && is_settled(connection)
        };
        let mut slots = self.slots.iter_mut().enumerate().skip(from);
        let slot = slots.find_map(|(slot, held)| held.as_deref_mut().is_some_and(is_over).then_some(slot))?;
        Some((slot, self.take(slot)?))
    }

    /// Takes out the connection whose records say `group`; the next such record begins another.
    pub fn part(&mut self, group: &str) {
        if let Some(slot) = self.groups.get(group).copied() {
            self.take(slot);
        }
    }

    /// Takes out the next one, when nothing begins any more.
    pub fn take_one(&mut self) -> Option<Connection> {
        loop {
            let slot = self.taken;
            self.slots.get(slot)?;
            self.taken += 1;
            if let Some(connection) = self.take(slot) {
                return Some(connection);
            }
        }
    }

    /// Takes out all.
    pub fn take_all(&mut self) -> impl Iterator<Item = Connection> + use<> {
        self.groups.clear();
        std::mem::take(&mut self.slots).into_iter().flatten().map(|connection| *connection)
    }
}
