//! Columns of the tables that rows are of, typed as the catalogue types them: `build.rs` makes them.
//!
//! ```
//! use quiclens_core::record::columns::connections;
//! use quiclens_core::record::rows::Row;
//!
//! let mut row = Row::default();
//! row.set(connections::RETRIES, 2u32);
//! row.set(connections::HANDSHAKE_US, Some(31_000u64));
//! assert_eq!(row.whole(connections::RETRIES), 2);
//! ```
//!
//! A value that its column cannot hold does not compile, nor does one that may be missing where the column has no null:
//!
//! ```compile_fail
//! # use quiclens_core::record::{columns::connections, rows::Row};
//! Row::default().set(connections::RETRIES, Some(2u32));
//! ```
//! ```compile_fail
//! # use quiclens_core::record::{columns::connections, rows::Row};
//! Row::default().set(connections::RETRIES, "two");
//! ```
//!
//! A column of another table does not compile either:
//!
//! ```compile_fail
//! # use quiclens_core::record::{columns::{connections, streams}, rows::Row};
//! let mut row = Row::default();
//! row.set(connections::RETRIES, 2u32);
//! row.set(streams::DURATION_US, 5u64);
//! ```

use crate::record::rows::Cell;
use std::marker::PhantomData;
use std::sync::Arc;

include!(concat!(env!("OUT_DIR"), "/columns.rs"));

/// A table whose rows are [`crate::record::rows::Row`]s.
pub trait SummaryTable: Sized + 'static {
    /// Its name.
    const NAME: &'static str;
    /// Names of its columns, in the catalogue's order.
    const COLUMNS: &'static [&'static str];
}

/// A column of table `T` whose cells are of kind `K`.
pub struct TableColumn<T, K> {
    at: u16,
    of: PhantomData<fn() -> (T, K)>,
}

impl<T: SummaryTable, K> TableColumn<T, K> {
    const fn at(at: u16) -> Self {
        Self { at, of: PhantomData }
    }

    /// Its place among the table's columns.
    pub const fn place(self) -> u16 {
        self.at
    }

    /// Its name in the catalogue.
    pub fn name(self) -> &'static str {
        T::COLUMNS[usize::from(self.at)]
    }
}

impl<T, K> Clone for TableColumn<T, K> {
    fn clone(&self) -> Self {
        *self
    }
}

impl<T, K> Copy for TableColumn<T, K> {}

impl<T, K> PartialEq for TableColumn<T, K> {
    fn eq(&self, other: &Self) -> bool {
        self.at == other.at
    }
}

impl<T, K> Eq for TableColumn<T, K> {}

impl<T: SummaryTable, K> std::fmt::Debug for TableColumn<T, K> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{}.{}", T::NAME, self.name())
    }
}

macro_rules! kinds {
    ($($kind:ident $doc:literal),* $(,)?) => {$(
        #[doc = $doc]
        #[derive(Clone, Copy, Debug)]
        pub struct $kind;
    )*};
}
kinds! {
    Text "A text, or bytes of what could not be read.",
    Whole "A whole number, none below zero.",
    Int "A signed whole number: also times, us, and days.",
    Float "A number.",
    Truth "True or false.",
    Texts "A list of texts.",
    Histogram "Counts by bucket.",
    Counts "Counts by name.",
    Pairs "Names and values: a list of texts by turns.",
}

/// A cell of kind `K`, or none.
#[derive(Clone, Copy, Debug)]
pub struct Nullable<K>(PhantomData<K>);

/// What a cell of kind `K` can be made of.
pub trait Value<K> {
    /// The cell.
    fn cell(self) -> Cell;
}

macro_rules! values {
    ($($kind:ty: $($type:ty => $cell:expr),+;)*) => {$($(
        impl Value<$kind> for $type {
            fn cell(self) -> Cell {
                $cell(self)
            }
        }
    )+)*};
}
values! {
    Text: &str => |text: &str| Cell::Text(text.to_owned()), String => Cell::Text, Arc<str> => Cell::Shared, Vec<u8> => Cell::Bytes;
    Whole: u64 => Cell::Whole, u32 => |number: u32| Cell::Whole(number.into()), u16 => |number: u16| Cell::Whole(number.into());
    Int: i64 => Cell::Int;
    Float: f64 => Cell::Float;
    Truth: bool => Cell::Truth;
    Texts: Vec<String> => Cell::List;
    Histogram: Vec<(u16, u32)> => Cell::Histogram;
    Counts: Vec<(String, u64)> => Cell::Counts;
    Pairs: Vec<String> => Cell::List;
}

impl<K, V: Value<K>> Value<Nullable<K>> for Option<V> {
    fn cell(self) -> Cell {
        self.map_or(Cell::Null, V::cell)
    }
}

/// A kind, or the same that may be none.
pub trait MayBe<K> {}
impl MayBe<Text> for Text {}
impl MayBe<Whole> for Whole {}
impl MayBe<Int> for Int {}
impl<K> MayBe<K> for Nullable<K> {}

macro_rules! shared {
    ($(#[$doc:meta])* $name:ident of $($table:ident::$row:ident),+: $($column:ident $kind:ty),+ $(,)?) => {
        $(#[$doc])*
        #[expect(missing_docs, reason = "the catalogue says what each is")]
        pub trait $name: SummaryTable {
            $(const $column: TableColumn<Self, $kind>;)+
        }
        shared! { @each $name ($($table::$row)+) ($($column $kind),+) }
    };
    (@each $name:ident ($first:ident::$row:ident $($rest:tt)*) $columns:tt) => {
        shared! { @one $name $first::$row $columns }
        shared! { @each $name ($($rest)*) $columns }
    };
    (@each $name:ident () $columns:tt) => {};
    (@one $name:ident $table:ident::$row:ident ($($column:ident $kind:ty),+)) => {
        impl $name for $table::$row {
            $(const $column: TableColumn<Self, $kind> = $table::$column;)+
        }
    };
}

shared! {
    /// A table whose rows speak of a trace: its key, and which version of the row it is.
    TraceTable of connections::Connections, streams::Streams, episodes::Episodes, connection_aliases::ConnectionAliases:
    CONNECTION_ID Text, VANTAGE Text, TRACE_ID Text, VERSION Whole, TRACE_DAY Int,
}

shared! {
    /// A table whose rows say who the client is, and which server it met.
    ClientTable of connections::Connections, request_lines::RequestLines:
    SERVER Nullable<Text>, CLUSTER Nullable<Text>, POP Nullable<Text>, SERVER_RELEASE Nullable<Text>,
    CLIENT_NETWORK Nullable<Text>, CLIENT_KEY Nullable<Text>, CARRIER Nullable<Text>, ASN Nullable<Whole>,
    COUNTRY Nullable<Text>, REGION Nullable<Text>, CITY Nullable<Text>, H3_CELL Nullable<Text>,
}
