//! Which key comes next. A writer writes the fields of an event in the same order each time, so the key that came last time
//! is compared with the text before a string is read and looked up. Mison does so with whole records (Li and others:
//! Mison, a fast JSON parser for data analytics, VLDB 2017, section 4).

use crate::catalogue::{Catalogue, WrittenKey};

/// What followed each key, and what began each table, when they were met last.
#[derive(Clone, Debug, Default)]
pub struct KeyOrder {
    /// Places in [`Catalogue::written`]: first of what began each table, then of what followed each key.
    next: Vec<u16>,
}

/// A key of a record, or the start of a table.
#[derive(Clone, Copy, Debug)]
pub struct Before(usize);

impl Before {
    /// Nothing of this table was met yet.
    #[inline]
    pub fn start(table: u8) -> Self {
        Self(usize::from(table))
    }

    /// The key that has this place in [`Catalogue::written`].
    #[inline]
    pub fn key(catalogue: &Catalogue, place: u16) -> Self {
        Self(catalogue.tables.len() + usize::from(place))
    }
}

impl KeyOrder {
    /// What came behind `before` last time, and its place.
    #[inline(always)]
    pub fn likely<'c>(&self, catalogue: &'c Catalogue, before: Before) -> Option<(&'c WrittenKey, u16)> {
        let place = *self.next.get(before.0)?;
        Some((catalogue.written.get(usize::from(place))?, place))
    }

    /// The key of this place came behind `before`.
    #[inline(never)]
    pub fn learn(&mut self, catalogue: &Catalogue, before: Before, place: u16) {
        if self.next.is_empty() {
            self.next = vec![u16::MAX; catalogue.tables.len() + catalogue.written.len()];
        }
        if let Some(next) = self.next.get_mut(before.0) {
            *next = place;
        }
    }
}
