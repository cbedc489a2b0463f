//! Summary tables: rows of cells, to Arrow columns as the catalogue types them.

use crate::catalogue::Column;
use crate::client::Edge;
use crate::record::Batch;
use crate::record::columns::{Int, MayBe, SummaryTable, TableColumn, Text, Value, Whole};
use crate::record::dictionary::Dictionary;
use arrow_array::builder::{
    BinaryBuilder, BooleanBuilder, Date32Builder, Float64Builder, Int64Builder, MapBuilder, StringBuilder,
    TimestampMicrosecondBuilder, UInt16Builder, UInt32Builder, UInt64Builder,
};
use arrow_array::{ArrayRef, ListArray, RecordBatch};
use arrow_buffer::{OffsetBuffer, ScalarBuffer};
use arrow_schema::{ArrowError, Field, Schema};
use std::marker::PhantomData;
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

/// One row of a table: columns and their values.
pub struct Row<T> {
    cells: Vec<(u16, Cell)>,
    table: PhantomData<fn() -> T>,
}

impl<T> Default for Row<T> {
    fn default() -> Self {
        Self::of(0)
    }
}

impl<T> Clone for Row<T> {
    fn clone(&self) -> Self {
        Self { cells: self.cells.clone(), table: PhantomData }
    }
}

impl<T> PartialEq for Row<T> {
    fn eq(&self, other: &Self) -> bool {
        self.cells == other.cells
    }
}

impl<T: SummaryTable> std::fmt::Debug for Row<T> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_map().entries(self.named()).finish()
    }
}

impl<T> Row<T> {
    /// A row that will have so many values.
    pub fn of(values: usize) -> Self {
        Self { cells: Vec::with_capacity(values), table: PhantomData }
    }

    /// Adds another row's values.
    pub fn extend(&mut self, other: &Self) {
        self.cells.extend_from_slice(&other.cells);
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
        self.cells.iter().map(|(_, cell)| 8 + size(cell)).sum()
    }

    fn cell(&self, place: u16) -> Option<&Cell> {
        self.cells.iter().find(|(known, _)| *known == place).map(|(_, cell)| cell)
    }

    fn cell_mut(&mut self, place: u16) -> Option<&mut Cell> {
        self.cells.iter_mut().find(|(known, _)| *known == place).map(|(_, cell)| cell)
    }
}

impl<T: SummaryTable> Row<T> {
    /// Adds a value. The column has none yet.
    pub fn set<K, V: Value<K>>(&mut self, column: TableColumn<T, K>, value: V) {
        self.cells.push((column.place(), value.cell()));
    }

    /// Sets a value, whatever the column has.
    pub fn replace<K, V: Value<K>>(&mut self, column: TableColumn<T, K>, value: V) {
        match self.cell_mut(column.place()) {
            Some(known) => *known = value.cell(),
            None => self.set(column, value),
        }
    }

    /// Sets a value where the column has none, or an empty text.
    pub fn fill<K, V: Value<K>>(&mut self, column: TableColumn<T, K>, value: V) {
        match self.cell_mut(column.place()) {
            Some(known) if *known == Cell::Null || *known == Cell::Text(String::new()) => *known = value.cell(),
            Some(_) => {}
            None => self.set(column, value),
        }
    }

    /// The value of a column.
    pub fn get<K>(&self, column: TableColumn<T, K>) -> Option<&Cell> {
        self.cell(column.place())
    }

    /// The text of a column.
    pub fn text<K: MayBe<Text>>(&self, column: TableColumn<T, K>) -> Option<&str> {
        match self.get(column)? {
            Cell::Text(text) => Some(text),
            Cell::Shared(text) => Some(text),
            _ => None,
        }
    }

    /// The signed number of a column.
    pub fn int<K: MayBe<Int>>(&self, column: TableColumn<T, K>) -> Option<i64> {
        match self.get(column)? {
            Cell::Int(value) => Some(*value),
            _ => None,
        }
    }

    /// The number of a column, 0 where there is none.
    pub fn whole<K: MayBe<Whole>>(&self, column: TableColumn<T, K>) -> u64 {
        match self.get(column) {
            Some(Cell::Whole(value)) => *value,
            _ => 0,
        }
    }

    /// The value of the column of this name.
    pub fn get_named(&self, name: &str) -> Option<&Cell> {
        self.named().find(|(known, _)| *known == name).map(|(_, cell)| cell)
    }

    /// Names of columns and their values.
    pub fn named(&self) -> impl Iterator<Item = (&'static str, &Cell)> {
        self.cells.iter().map(|(place, cell)| (T::COLUMNS[usize::from(*place)], cell))
    }

    /// Takes out of the columns that may hold an address what may not be kept. `columns` are the table's.
    pub fn redact(&mut self, columns: &[Column], edge: &dyn Edge) {
        for (column, place) in columns.iter().zip(0..).filter(|(column, _)| column.may_hold_address) {
            if let Some(cell) = self.cell_mut(place) {
                redact(cell, &column.name, edge);
            }
        }
    }
}

fn redact(cell: &mut Cell, column: &str, edge: &dyn Edge) {
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

impl<T: SummaryTable> serde::Serialize for Row<T> {
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_map(self.named())
    }
}

/// The batch of `rows`, `columns` are their table's; those that the store fills itself are left out.
pub fn batch<T: SummaryTable>(columns: &[Column], rows: &[Row<T>]) -> Result<Batch, ArrowError> {
    let mut fields = Vec::with_capacity(columns.len());
    let mut arrays = Vec::with_capacity(columns.len());
    for (column, place) in columns.iter().zip(0..).filter(|(column, _)| column.default.is_none()) {
        // Rows of one table are mostly built in one order: look where the column stood last.
        let mut hint = 0;
        let cells: Vec<&Cell> = rows
            .iter()
            .map(|row| match row.cells.get(hint) {
                Some((known, cell)) if *known == place => cell,
                _ => {
                    hint = row.cells.iter().position(|(known, _)| *known == place).unwrap_or(usize::MAX);
                    row.cells.get(hint).map_or(&Cell::Null, |(_, cell)| cell)
                }
            })
            .collect();
        let array = array(&column.kind, &cells)?;
        fields.push(Field::new(&column.name, array.data_type().clone(), array.null_count() > 0));
        arrays.push(array);
    }
    Ok(Batch { table: T::NAME, rows: RecordBatch::try_new(Arc::new(Schema::new(fields)), arrays)? })
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
