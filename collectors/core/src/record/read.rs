//! Rows of `events` back to events, for export. Columns are found by name; a missing one is empty.

use crate::event::{Event, FRAME_NUMBERS, Frame, NUMBERS, Number, Span, WORDS, Word};
use arrow_array::cast::AsArray;
use arrow_array::types::{Int64Type, UInt64Type};
use arrow_array::{Array, ArrayRef, Int64Array, ListArray, RecordBatch, StringArray, UInt64Array};
use arrow_cast::cast;
use arrow_schema::{ArrowError, DataType, Field};
use std::sync::Arc;

/// The columns of a batch, in the types that events are read from.
pub struct BatchColumns {
    rows: usize,
    texts: Vec<Option<StringArray>>,
    numbers: Vec<Option<UInt64Array>>,
    seq: Option<UInt64Array>,
    time_us: Option<Int64Array>,
    time_ns: Option<UInt64Array>,
    frame_texts: Vec<Option<ListArray>>,
    frame_numbers: Vec<Option<ListArray>>,
    acked: Vec<Option<ListArray>>,
    exact: Option<ListArray>,
    more: Option<(Vec<i32>, StringArray, StringArray)>,
}

fn list_of(kind: DataType) -> DataType {
    DataType::List(Arc::new(Field::new("item", kind, true)))
}

impl BatchColumns {
    /// Takes the columns of a batch; an error names a column that is of no fitting type.
    pub fn new(batch: &RecordBatch) -> Result<Self, ArrowError> {
        let column = |name: &str, kind: &DataType| -> Result<Option<ArrayRef>, ArrowError> {
            batch.column_by_name(name).map(|column| cast(column, kind)).transpose()
        };
        let text =
            |name: &str| Ok::<_, ArrowError>(column(name, &DataType::Utf8)?.map(|c| c.as_string::<i32>().clone()));
        let whole = |name: &str| {
            Ok::<_, ArrowError>(column(name, &DataType::UInt64)?.map(|c| c.as_primitive::<UInt64Type>().clone()))
        };
        let list = |name: &str, kind: DataType| {
            Ok::<_, ArrowError>(column(name, &list_of(kind))?.map(|c| c.as_list::<i32>().clone()))
        };
        for needed in ["name", "shape", "time_us", "time_ns"] {
            if batch.column_by_name(needed).is_none() {
                return Err(ArrowError::SchemaError(format!("there is no column {needed}")));
            }
        }
        let more = match batch.column_by_name("more") {
            None => None,
            Some(column) => {
                let map = column.as_map_opt().ok_or_else(|| ArrowError::SchemaError("more is no map".into()))?;
                let part =
                    |column: &ArrayRef| Ok::<_, ArrowError>(cast(column, &DataType::Utf8)?.as_string::<i32>().clone());
                Some((map.offsets().to_vec(), part(map.keys())?, part(map.values())?))
            }
        };
        Ok(Self {
            rows: batch.num_rows(),
            texts: ["trace_id", "name", "shape"].into_iter().chain(WORDS).map(text).collect::<Result<_, _>>()?,
            numbers: NUMBERS.into_iter().map(whole).collect::<Result<_, _>>()?,
            seq: whole("seq")?,
            time_us: column("time_us", &DataType::Int64)?.map(|c| c.as_primitive::<Int64Type>().clone()),
            time_ns: whole("time_ns")?,
            frame_texts: ["frames.frame_type", "frames.shape"]
                .into_iter()
                .map(|name| list(name, DataType::Utf8))
                .collect::<Result<_, _>>()?,
            frame_numbers: FRAME_NUMBERS
                .iter()
                .map(|name| format!("frames.{name}"))
                .chain(["frames.fin".to_owned(), "frames.ack_ranges".to_owned()])
                .map(|name| list(&name, DataType::UInt64))
                .collect::<Result<_, _>>()?,
            acked: ["acked.from", "acked.to"]
                .into_iter()
                .map(|name| list(name, DataType::UInt64))
                .collect::<Result<_, _>>()?,
            exact: list("exact", DataType::Int64)?,
            more,
        })
    }

    /// Number of rows.
    pub fn len(&self) -> usize {
        self.rows
    }

    /// No rows.
    pub fn is_empty(&self) -> bool {
        self.rows == 0
    }

    /// Reads row `at` into `event` and gives its trace. Its kind is not known: names are all that is stored.
    pub fn read(&self, at: usize, event: &mut Event) -> String {
        event.clear();
        let text = |column: &Option<StringArray>| column.as_ref().map_or("", |column| column.value(at)).to_owned();
        event.seq = self.seq.as_ref().map_or(0, |column| column.value(at));
        event.time_us = self.time_us.as_ref().map_or(0, |column| column.value(at));
        event.time_ns = self.time_ns.as_ref().map_or(0, |column| u16::try_from(column.value(at)).unwrap_or(0));
        event.name = event.keep(text(&self.texts[1]).as_bytes());
        event.shape.extend_from_slice(text(&self.texts[2]).as_bytes());
        for (word, column) in Word::ALL.into_iter().zip(&self.texts[3..]) {
            let value = text(column);
            if !value.is_empty() {
                event.set_word(word, value.as_bytes());
            }
        }
        for (number, column) in Number::ALL.into_iter().zip(&self.numbers) {
            if let Some(column) = column.as_ref().filter(|column| column.is_valid(at)) {
                event.set(number, column.value(at));
            }
        }
        self.read_frames(at, event);
        let wholes = |column: &Option<ListArray>| -> Vec<u64> {
            column
                .as_ref()
                .map_or_else(Vec::new, |column| column.value(at).as_primitive::<UInt64Type>().values().to_vec())
        };
        event.acked = wholes(&self.acked[0]).into_iter().zip(wholes(&self.acked[1])).collect();
        if let Some(column) = &self.exact {
            event.exact = column.value(at).as_primitive::<Int64Type>().values().to_vec();
        }
        if let Some((ends, keys, values)) = &self.more {
            for entry in ends[at]..ends[at + 1] {
                let entry = usize::try_from(entry).unwrap_or(0);
                let key = event.keep(keys.value(entry).as_bytes());
                let value = event.keep(values.value(entry).as_bytes());
                event.more.push((key, value));
            }
        }
        text(&self.texts[0])
    }

    fn read_frames(&self, at: usize, event: &mut Event) {
        let Some(types) = &self.frame_texts[0] else { return };
        let (types, shapes) = (types.value(at), self.frame_texts[1].as_ref().map(|column| column.value(at)));
        let numbers: Vec<Option<ArrayRef>> =
            self.frame_numbers.iter().map(|column| column.as_ref().map(|column| column.value(at))).collect();
        for index in 0..types.len() {
            let mut frame =
                Frame { frame_type: event.keep(types.as_string::<i32>().value(index).as_bytes()), ..Frame::default() };
            frame.shape = shapes
                .as_ref()
                .map_or(Span::default(), |shapes| event.keep(shapes.as_string::<i32>().value(index).as_bytes()));
            let number = |column: usize| {
                numbers[column].as_ref().map_or(0, |values| values.as_primitive::<UInt64Type>().value(index))
            };
            for column in 0..FRAME_NUMBERS.len() {
                frame.numbers[column] = number(column);
                // The shape has a slot for every number that the frame has.
                let slot = crate::reader::shape::letter(u8::try_from(column).unwrap_or(0));
                let has = event
                    .bytes(frame.shape)
                    .windows(2)
                    .any(|pair| pair[1] == slot && matches!(pair[0], b'#' | b'@' | b'~'));
                frame.present |= u8::from(has || frame.numbers[column] > 0) << column;
            }
            frame.fin = number(FRAME_NUMBERS.len()) == 1;
            frame.ack_ranges = u16::try_from(number(FRAME_NUMBERS.len() + 1)).unwrap_or(0);
            event.frames.push(frame);
        }
    }
}
