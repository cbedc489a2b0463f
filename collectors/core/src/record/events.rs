//! The `events` table. A column costs an event nothing that the event does not have.

use crate::catalogue::Catalogue;
use crate::client::Edge;
use crate::event::{Event, FRAME_NUMBERS, NUMBERS, WORDS};
use crate::record::Batch;
use crate::record::dictionary::Dictionary;
use arrow_array::types::{UInt8Type, UInt16Type};
use arrow_array::{
    ArrayRef, ArrowPrimitiveType, Date32Array, Int64Array, ListArray, MapArray, PrimitiveArray, RecordBatch,
    StringArray, StructArray, UInt16Array, UInt32Array, UInt64Array,
};
use arrow_buffer::{BooleanBufferBuilder, NullBuffer, OffsetBuffer, ScalarBuffer};
use arrow_schema::{ArrowError, DataType, Field, Schema};
use std::sync::Arc;

/// Which trace an event is of.
#[derive(Clone, Debug, Default)]
pub struct Key {
    /// Connection.
    pub connection_id: String,
    /// Vantage's name.
    pub vantage: &'static str,
    /// Trace.
    pub trace_id: String,
    /// Day of its start, since 1970.
    pub trace_day: i32,
}

/// A nullable column of which only the rows with a value are touched.
#[derive(Debug, Default)]
struct Sparse {
    values: Vec<u64>,
    set: Vec<u32>,
}

impl Sparse {
    fn set(&mut self, row: usize, value: u64) {
        self.values.resize(row, 0);
        self.values.push(value);
        self.set.push(u32::try_from(row).unwrap_or(0));
    }

    fn finish(&mut self, rows: usize) -> ArrayRef {
        let mut done = std::mem::take(self);
        done.values.resize(rows, 0);
        let mut valid = BooleanBufferBuilder::new(rows);
        valid.append_n(rows, false);
        for row in done.set {
            valid.set_bit(row as usize, true);
        }
        whole_numbers(&done.values, Some(NullBuffer::new(valid.finish())))
    }
}

/// Ends of the rows' lists in a child column; rows that are not named have none.
#[derive(Debug, Default)]
struct Ends(Vec<i32>);

impl Ends {
    fn end(&mut self, row: usize, length: usize) {
        let last = self.0.last().copied().unwrap_or(0);
        self.0.resize(row, last);
        self.0.push(i32::try_from(length).unwrap_or(i32::MAX));
    }

    fn finish(&mut self, rows: usize) -> OffsetBuffer<i32> {
        let mut done = std::mem::take(&mut self.0);
        let last = done.last().copied().unwrap_or(0);
        done.resize(rows, last);
        done.insert(0, 0);
        OffsetBuffer::new(ScalarBuffer::from(done))
    }
}

/// Rows of `events` under construction.
#[derive(Debug, Default)]
pub struct Events {
    rows: usize,
    /// Bytes of the texts in dictionaries.
    texts: usize,
    connection_id: Dictionary,
    vantage: Dictionary,
    trace_id: Dictionary,
    seq: Vec<u64>,
    trace_day: Vec<i32>,
    time_us: Vec<i64>,
    time_ns: Vec<u16>,
    name: Dictionary,
    shape: Dictionary,
    words: [Dictionary; WORDS.len()],
    numbers: [Sparse; NUMBERS.len()],
    frame_ends: Ends,
    frame_type: Dictionary,
    frame_shape: Dictionary,
    frame_numbers: [Vec<u64>; FRAME_NUMBERS.len()],
    frame_fin: Vec<u8>,
    frame_ack_ranges: Vec<u16>,
    acked_ends: Ends,
    acked_from: Vec<u64>,
    acked_to: Vec<u64>,
    exact_ends: Ends,
    exact: Vec<i64>,
    more_ends: Ends,
    more_keys: Dictionary,
    more_values: Vec<u8>,
    more_value_ends: Vec<i32>,
}

impl Events {
    /// Rows so far.
    pub fn len(&self) -> usize {
        self.rows
    }

    /// No rows so far.
    pub fn is_empty(&self) -> bool {
        self.rows == 0
    }

    /// Bytes that the next batch will have, about.
    pub fn size(&self) -> usize {
        self.rows * 64
            + self.frame_fin.len() * 64
            + self.acked_from.len() * 16
            + self.more_values.len()
            + self.more_value_ends.len() * 8
            + self.texts
    }

    /// Appends one event.
    pub fn push(&mut self, key: &Key, event: &Event) {
        let row = self.rows;
        self.rows += 1;
        let mut texts = 0;
        texts += self.connection_id.push(key.connection_id.as_bytes());
        texts += self.vantage.push(key.vantage.as_bytes());
        texts += self.trace_id.push(key.trace_id.as_bytes());
        self.seq.push(event.seq);
        self.trace_day.push(key.trace_day);
        self.time_us.push(event.time_us);
        self.time_ns.push(event.time_ns);
        texts += self.name.push(event.bytes(event.name));
        texts += self.shape.push(&event.shape);
        for (index, column) in self.words.iter_mut().enumerate() {
            let span = event.word_at(index);
            if span.len > 0 {
                texts += column.set(row, event.bytes(span));
            }
        }
        let mut present = event.present();
        while present != 0 {
            let index = present.trailing_zeros() as usize;
            present &= present - 1;
            self.numbers[index].set(row, event.number_at(index));
        }
        if !event.frames.is_empty() {
            for frame in &event.frames {
                texts += self.frame_type.push(event.bytes(frame.frame_type));
                texts += self.frame_shape.push(event.bytes(frame.shape));
                for (column, value) in self.frame_numbers.iter_mut().zip(frame.numbers) {
                    column.push(value);
                }
                self.frame_fin.push(u8::from(frame.fin));
                self.frame_ack_ranges.push(frame.ack_ranges);
            }
            self.frame_ends.end(row, self.frame_fin.len());
            for (from, to) in &event.acked {
                self.acked_from.push(*from);
                self.acked_to.push(*to);
            }
            self.acked_ends.end(row, self.acked_from.len());
        }
        if !event.exact.is_empty() {
            self.exact.extend_from_slice(&event.exact);
            self.exact_ends.end(row, self.exact.len());
        }
        if !event.more.is_empty() {
            for (path, value) in &event.more {
                texts += self.more_keys.push(event.bytes(*path));
                self.more_values.extend_from_slice(event.bytes(*value));
                self.more_value_ends.push(i32::try_from(self.more_values.len()).unwrap_or(i32::MAX));
            }
            self.more_ends.end(row, self.more_value_ends.len());
        }
        self.texts += texts;
    }

    /// The batch, or nothing when there are no rows; starts anew.
    pub fn flush(&mut self) -> Result<Option<Batch>, ArrowError> {
        if self.rows == 0 {
            return Ok(None);
        }
        let next = self.roomy();
        let done = std::mem::replace(self, next);
        done.finish().map(|rows| Some(Batch { table: "events", rows }))
    }

    /// The same, without what `edge` says may not be kept of the columns that may hold an address.
    pub fn flush_redacted(
        &mut self,
        catalogue: &Catalogue,
        edge: Option<&dyn Edge>,
    ) -> Result<Option<Batch>, ArrowError> {
        if let Some(edge) = edge {
            for column in catalogue.may_hold_address("events") {
                if let Some(texts) = self.texts_of(column) {
                    // Each distinct text once.
                    texts.redact(|text| edge.redact_text(column, text));
                }
            }
        }
        self.flush()
    }

    /// The texts of a column, in `more` those of its keys: its values were redacted by their names, event by event.
    fn texts_of(&mut self, column: &str) -> Option<&mut Dictionary> {
        Some(match column {
            "connection_id" => &mut self.connection_id,
            "name" => &mut self.name,
            "shape" => &mut self.shape,
            "frames.frame_type" => &mut self.frame_type,
            "frames.shape" => &mut self.frame_shape,
            "more" => &mut self.more_keys,
            word => &mut self.words[WORDS.iter().position(|known| *known == word)?],
        })
    }

    /// An empty one with room for as much as this holds: batches of one run are alike.
    fn roomy(&self) -> Self {
        let (rows, frames) = (self.rows, self.frame_fin.len());
        Self {
            connection_id: Dictionary::with_room(rows),
            vantage: Dictionary::with_room(rows),
            trace_id: Dictionary::with_room(rows),
            seq: Vec::with_capacity(rows),
            trace_day: Vec::with_capacity(rows),
            time_us: Vec::with_capacity(rows),
            time_ns: Vec::with_capacity(rows),
            name: Dictionary::with_room(rows),
            shape: Dictionary::with_room(rows),
            frame_type: Dictionary::with_room(frames),
            frame_shape: Dictionary::with_room(frames),
            frame_numbers: std::array::from_fn(|_| Vec::with_capacity(frames)),
            frame_fin: Vec::with_capacity(frames),
            frame_ack_ranges: Vec::with_capacity(frames),
            acked_from: Vec::with_capacity(self.acked_from.len()),
            acked_to: Vec::with_capacity(self.acked_to.len()),
            more_values: Vec::with_capacity(self.more_values.len()),
            ..Self::default()
        }
    }

    fn finish(mut self) -> Result<RecordBatch, ArrowError> {
        let rows = self.rows;
        let mut columns: Vec<(String, ArrayRef)> = vec![
            ("connection_id".into(), self.connection_id.finish(rows)),
            ("vantage".into(), self.vantage.finish(rows)),
            ("trace_id".into(), self.trace_id.finish(rows)),
            ("seq".into(), Arc::new(UInt64Array::from(self.seq))),
            ("trace_day".into(), Arc::new(Date32Array::from(self.trace_day))),
            ("time_us".into(), Arc::new(Int64Array::from(self.time_us))),
            ("time_ns".into(), Arc::new(UInt16Array::from(self.time_ns))),
            ("name".into(), self.name.finish(rows)),
            ("shape".into(), self.shape.finish(rows)),
        ];
        // A column that no row of the batch has is left out: the store's default, null or empty, is what it would say.
        for (name, mut column) in WORDS.iter().zip(self.words) {
            if !column.is_empty() {
                columns.push(((*name).into(), column.finish(rows)));
            }
        }
        for (name, mut column) in NUMBERS.iter().zip(self.numbers) {
            if !column.set.is_empty() {
                columns.push(((*name).into(), column.finish(rows)));
            }
        }
        let frames = self.frame_ends.finish(rows);
        let count = self.frame_fin.len();
        columns.push(("frames.frame_type".into(), list(&frames, self.frame_type.finish(count))?));
        for (name, column) in FRAME_NUMBERS.iter().zip(self.frame_numbers) {
            columns.push((format!("frames.{name}"), list(&frames, whole_numbers(&column, None))?));
        }
        columns.push(("frames.fin".into(), list(&frames, primitive::<UInt8Type>(self.frame_fin))?));
        columns.push(("frames.ack_ranges".into(), list(&frames, primitive::<UInt16Type>(self.frame_ack_ranges))?));
        columns.push(("frames.shape".into(), list(&frames, self.frame_shape.finish(count))?));
        let acked = self.acked_ends.finish(rows);
        columns.push(("acked.from".into(), list(&acked, whole_numbers(&self.acked_from, None))?));
        columns.push(("acked.to".into(), list(&acked, whole_numbers(&self.acked_to, None))?));
        columns.push(("exact".into(), list(&self.exact_ends.finish(rows), Arc::new(Int64Array::from(self.exact)))?));
        let mut ends = self.more_value_ends;
        ends.insert(0, 0);
        let values = StringArray::try_new(OffsetBuffer::new(ends.into()), self.more_values.into(), None)?;
        let keys = self.more_keys.finish(arrow_array::Array::len(&values));
        let entries = StructArray::try_new(
            vec![Field::new("keys", keys.data_type().clone(), false), Field::new("values", DataType::Utf8, false)]
                .into(),
            vec![keys, Arc::new(values)],
            None,
        )?;
        let entry = Arc::new(Field::new("entries", arrow_array::Array::data_type(&entries).clone(), false));
        let more = MapArray::try_new(entry, self.more_ends.finish(rows), entries, None, false)?;
        columns.push(("more".into(), Arc::new(more)));
        let fields: Vec<Field> = columns
            .iter()
            .map(|(name, column)| Field::new(name, column.data_type().clone(), column.null_count() > 0))
            .collect();
        RecordBatch::try_new(Arc::new(Schema::new(fields)), columns.into_iter().map(|(_, column)| column).collect())
    }
}

/// 32 bits where all values fit, which is nearly always: half the bytes to copy; the store widens them.
fn whole_numbers(values: &[u64], nulls: Option<NullBuffer>) -> ArrayRef {
    let widest = values.iter().fold(0, |all, value| all | value);
    if let Ok(_fits) = u32::try_from(widest) {
        #[expect(clippy::cast_possible_truncation, reason = "no value has a bit above the 32nd")]
        let narrow: Vec<u32> = values.iter().map(|value| *value as u32).collect();
        return Arc::new(UInt32Array::new(narrow.into(), nulls));
    }
    Arc::new(UInt64Array::new(values.to_vec().into(), nulls))
}

fn primitive<T: ArrowPrimitiveType>(values: Vec<T::Native>) -> ArrayRef
where
    ScalarBuffer<T::Native>: From<Vec<T::Native>>,
{
    Arc::new(PrimitiveArray::<T>::new(values.into(), None))
}

fn list(ends: &OffsetBuffer<i32>, child: ArrayRef) -> Result<ArrayRef, ArrowError> {
    let field = Arc::new(Field::new("item", child.data_type().clone(), false));
    Ok(Arc::new(ListArray::try_new(field, ends.clone(), child, None)?))
}
