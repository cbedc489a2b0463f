//! Summary tables: rows of named cells, to columns as the catalogue types them.

use crate::catalogue::Column;
use crate::client::Edge;
use crate::record::Batch;
use crate::record::dictionary::Dictionary;
use arrow_array::builder::{
    BinaryBuilder, BooleanBuilder, Date32Builder, Float64Builder, Int64Builder, MapBuilder, StringBuilder,
    TimestampMicrosecondBuilder, UInt16Builder, UInt32Builder, UInt64Builder,
};
use arrow_array::{ArrayRef, ListArray, RecordBatch};
use arrow_buffer::{OffsetBuffer, ScalarBuffer};
use arrow_schema::{ArrowError, Field, Schema};
use std::sync::Arc;

/// One value. `None` cells of a row are null, or the type's zero where the column cannot be null.
#[derive(Clone, Debug, PartialEq, serde::Serialize)]
#[serde(untagged)]
#[expect(missing_docs, reason = "named after what they hold")]
pub enum Cell {
    Null,
    Int(i64),
    Whole(u64),
    Float(f64),
    Text(String),
    /// A text that many rows have.
    #[serde(serialize_with = "as_text")]
    Shared(Arc<str>),
    Bytes(Vec<u8>),
    Truth(bool),
    List(Vec<String>),
    #[serde(serialize_with = "as_map")]
    Counts(Vec<(String, u64)>),
    Histogram(Vec<(u16, u32)>),
}

fn as_text<S: serde::Serializer>(text: &Arc<str>, serializer: S) -> Result<S::Ok, S::Error> {
    serializer.serialize_str(text)
}

fn as_map<S: serde::Serializer>(counts: &[(String, u64)], serializer: S) -> Result<S::Ok, S::Error> {
    serializer.collect_map(counts.iter().map(|(key, value)| (key, value)))
}

impl From<i64> for Cell {
    fn from(value: i64) -> Self {
        Self::Int(value)
    }
}
impl From<u64> for Cell {
    fn from(value: u64) -> Self {
        Self::Whole(value)
    }
}
impl From<u32> for Cell {
    fn from(value: u32) -> Self {
        Self::Whole(value.into())
    }
}
impl From<f64> for Cell {
    fn from(value: f64) -> Self {
        Self::Float(value)
    }
}
impl From<bool> for Cell {
    fn from(value: bool) -> Self {
        Self::Truth(value)
    }
}
impl From<&str> for Cell {
    fn from(value: &str) -> Self {
        Self::Text(value.to_owned())
    }
}
impl From<String> for Cell {
    fn from(value: String) -> Self {
        Self::Text(value)
    }
}
impl<T: Into<Self>> From<Option<T>> for Cell {
    fn from(value: Option<T>) -> Self {
        value.map_or(Self::Null, Into::into)
    }
}

/// One row: names of the catalogue and their values.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Row(pub Vec<(&'static str, Cell)>);

impl Row {
    /// A row that will have so many values.
    pub fn of(values: usize) -> Self {
        Self(Vec::with_capacity(values))
    }

    /// Adds a value.
    pub fn set(&mut self, name: &'static str, value: impl Into<Cell>) {
        self.0.push((name, value.into()));
    }

    /// The value under a name.
    pub fn get(&self, name: &str) -> Option<&Cell> {
        self.0.iter().find(|(known, _)| *known == name).map(|(_, cell)| cell)
    }
}

impl Row {
    /// Takes out of a column what may not be kept.
    pub fn redact(&mut self, column: &str, edge: &dyn Edge) {
        let Some((_, cell)) = self.0.iter_mut().find(|(name, _)| *name == column) else { return };
        let kept = |text: &str| edge.redact_text(column, text);
        match cell {
            Cell::Text(text) => {
                if let Some(kept) = kept(text) {
                    *text = kept;
                }
            }
            Cell::Shared(text) => {
                if let Some(kept) = kept(text) {
                    *text = kept.into();
                }
            }
            Cell::List(list) => {
                for text in list {
                    if let Some(kept) = kept(text) {
                        *text = kept;
                    }
                }
            }
            Cell::Bytes(_) if !edge.keeps_reject_bytes() => *cell = Cell::Null,
            _ => {}
        }
    }

    /// Bytes that it has in a batch, about.
    pub fn size(&self) -> usize {
        let size = |cell: &Cell| match cell {
            Cell::Text(text) => text.len(),
            Cell::Shared(text) => text.len(),
            Cell::Bytes(bytes) => bytes.len(),
            Cell::List(list) => list.iter().map(|text| text.len() + 4).sum(),
            Cell::Counts(counts) => counts.iter().map(|(name, _)| name.len() + 12).sum(),
            Cell::Histogram(counts) => counts.len() * 6,
            Cell::Null | Cell::Int(_) | Cell::Whole(_) | Cell::Float(_) | Cell::Truth(_) => 0,
        };
        self.0.iter().map(|(_, cell)| 8 + size(cell)).sum()
    }

    /// The text under a name.
    pub fn text(&self, name: &str) -> Option<&str> {
        match self.get(name)? {
            Cell::Text(text) => Some(text),
            Cell::Shared(text) => Some(text),
            _ => None,
        }
    }

    /// The signed number under a name.
    pub fn int(&self, name: &str) -> Option<i64> {
        match self.get(name)? {
            Cell::Int(value) => Some(*value),
            _ => None,
        }
    }

    /// The number under a name, 0 where there is none.
    pub fn whole(&self, name: &str) -> u64 {
        match self.get(name) {
            Some(Cell::Whole(value)) => *value,
            _ => 0,
        }
    }
}

impl serde::Serialize for Row {
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_map(self.0.iter().map(|(name, cell)| (name, cell)))
    }
}

/// The batch of `rows` for a table with these columns; those that the store fills itself are left out.
pub fn batch(table: &'static str, columns: &[Column], rows: &[Row]) -> Result<Batch, ArrowError> {
    let mut fields = Vec::with_capacity(columns.len());
    let mut arrays = Vec::with_capacity(columns.len());
    for column in columns.iter().filter(|column| column.default.is_none()) {
        // Rows of one table are mostly built in one order: look where the name stood last.
        let mut hint = 0;
        let cells: Vec<&Cell> = rows
            .iter()
            .map(|row| match row.0.get(hint) {
                Some((name, cell)) if *name == column.name => cell,
                _ => {
                    hint = row.0.iter().position(|(name, _)| *name == column.name).unwrap_or(usize::MAX);
                    row.0.get(hint).map_or(&Cell::Null, |(_, cell)| cell)
                }
            })
            .collect();
        let array = array(&column.kind, &cells)?;
        fields.push(Field::new(&column.name, array.data_type().clone(), array.null_count() > 0));
        arrays.push(array);
    }
    Ok(Batch { table, rows: RecordBatch::try_new(Arc::new(Schema::new(fields)), arrays)? })
}

fn array(kind: &str, cells: &[&Cell]) -> Result<ArrayRef, ArrowError> {
    let nullable = kind.contains("Nullable(");
    let inner = kind.trim_start_matches("LowCardinality(").trim_start_matches("Nullable(").trim_end_matches(')');
    macro_rules! numbers {
        ($builder:ty, $type:ty) => {{
            let mut builder = <$builder>::new();
            for cell in cells {
                match whole(cell).and_then(|value| <$type>::try_from(value).ok()) {
                    Some(value) => builder.append_value(value),
                    None if nullable => builder.append_null(),
                    None => builder.append_value(0),
                }
            }
            Arc::new(builder.finish()) as ArrayRef
        }};
    }
    Ok(match inner {
        "UInt64" => numbers!(UInt64Builder, u64),
        "Int64" => numbers!(Int64Builder, i64),
        "UInt32" => numbers!(UInt32Builder, u32),
        "UInt16" => numbers!(UInt16Builder, u16),
        "Date" => numbers!(Date32Builder, i32),
        "Bool" => {
            let mut builder = BooleanBuilder::new();
            cells.iter().for_each(|cell| builder.append_value(matches!(cell, Cell::Truth(true))));
            Arc::new(builder.finish())
        }
        "Float64" => {
            let mut builder = Float64Builder::new();
            for cell in cells {
                match cell {
                    Cell::Float(value) => builder.append_value(*value),
                    _ if nullable => builder.append_null(),
                    _ => builder.append_value(0.0),
                }
            }
            Arc::new(builder.finish())
        }
        _ if inner.starts_with("DateTime64(6") => {
            let mut builder = TimestampMicrosecondBuilder::new().with_timezone("UTC");
            for cell in cells {
                match cell {
                    Cell::Int(value) => builder.append_value(*value),
                    _ if nullable => builder.append_null(),
                    _ => builder.append_value(0),
                }
            }
            Arc::new(builder.finish())
        }
        // Arrow's text must be UTF-8; binary becomes the same String column, byte by byte.
        "String" if cells.iter().any(|cell| matches!(cell, Cell::Bytes(_))) => {
            let mut builder = BinaryBuilder::new();
            for cell in cells {
                match cell {
                    Cell::Bytes(bytes) => builder.append_value(bytes),
                    Cell::Text(text) => builder.append_value(text),
                    Cell::Shared(text) => builder.append_value(&**text),
                    _ => builder.append_value(b""),
                }
            }
            Arc::new(builder.finish())
        }
        "String" => {
            let mut builder = StringBuilder::new();
            for cell in cells {
                match cell {
                    Cell::Text(text) => builder.append_value(text),
                    Cell::Shared(text) => builder.append_value(text),
                    _ if nullable => builder.append_null(),
                    _ => builder.append_value(""),
                }
            }
            Arc::new(builder.finish())
        }
        _ if kind.starts_with("Array(") => {
            let (mut texts, mut ends) = (Dictionary::default(), vec![0i32]);
            for cell in cells {
                if let Cell::List(list) = cell {
                    list.iter().for_each(|text| {
                        texts.push(text.as_bytes());
                    });
                }
                ends.push(i32::try_from(texts.len()).unwrap_or(i32::MAX));
            }
            let child = {
                let count = texts.len();
                texts.finish(count)
            };
            let field = Arc::new(Field::new("item", child.data_type().clone(), false));
            Arc::new(ListArray::try_new(field, OffsetBuffer::new(ScalarBuffer::from(ends)), child, None)?)
        }
        "Map(UInt16, UInt32" => {
            let mut builder = MapBuilder::new(None, UInt16Builder::new(), UInt32Builder::new());
            for cell in cells {
                if let Cell::Histogram(counts) = cell {
                    for (bucket, count) in counts {
                        builder.keys().append_value(*bucket);
                        builder.values().append_value(*count);
                    }
                }
                builder.append(true)?;
            }
            Arc::new(builder.finish())
        }
        _ if kind.starts_with("Map(LowCardinality(String), UInt64") => {
            let mut builder = MapBuilder::new(None, StringBuilder::new(), UInt64Builder::new());
            for cell in cells {
                if let Cell::Counts(counts) = cell {
                    for (name, count) in counts {
                        builder.keys().append_value(name);
                        builder.values().append_value(*count);
                    }
                }
                builder.append(true)?;
            }
            Arc::new(builder.finish())
        }
        _ if kind.starts_with("Map(") => {
            let mut builder = MapBuilder::new(None, StringBuilder::new(), StringBuilder::new());
            for cell in cells {
                if let Cell::List(pairs) = cell {
                    for pair in pairs.chunks_exact(2) {
                        builder.keys().append_value(&pair[0]);
                        builder.values().append_value(&pair[1]);
                    }
                }
                builder.append(true)?;
            }
            Arc::new(builder.finish())
        }
        _ => return Err(ArrowError::SchemaError(format!("no Arrow form for {kind}"))),
    })
}

fn whole(cell: &Cell) -> Option<i128> {
    match cell {
        Cell::Int(value) => Some((*value).into()),
        Cell::Whole(value) => Some((*value).into()),
        _ => None,
    }
}
