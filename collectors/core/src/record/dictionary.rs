//! A dictionary column under construction. Rows that say nothing have the empty string.

use arrow_array::types::UInt32Type;
use arrow_array::{ArrayRef, DictionaryArray, StringArray, UInt32Array};
use rustc_hash::FxHashMap;
use std::sync::Arc;

/// Distinct texts, and per row which.
#[derive(Debug)]
pub struct Dictionary {
    index: FxHashMap<Box<[u8]>, u32>,
    values: Vec<Box<[u8]>>,
    keys: Vec<u32>,
    last: u32,
}

impl Default for Dictionary {
    fn default() -> Self {
        let empty: Box<[u8]> = Box::default();
        Self { index: FxHashMap::from_iter([(empty.clone(), 0)]), values: vec![empty], keys: Vec::new(), last: 0 }
    }
}

impl Dictionary {
    /// Key of `text`; neighbours mostly repeat.
    #[inline]
    pub fn key(&mut self, text: &[u8]) -> u32 {
        if *self.values[self.last as usize] == *text {
            return self.last;
        }
        self.last = if let Some(key) = self.index.get(text) {
            *key
        } else {
            let key = u32::try_from(self.values.len()).unwrap_or(0);
            self.values.push(text.into());
            self.index.insert(text.into(), key);
            key
        };
        self.last
    }

    /// Appends a value.
    #[inline]
    pub fn push(&mut self, text: &[u8]) {
        let key = self.key(text);
        self.keys.push(key);
    }

    /// Sets the value of `row`; rows between are empty.
    #[inline]
    pub fn set(&mut self, row: usize, text: &[u8]) {
        self.keys.resize(row, 0);
        self.push(text);
    }

    /// Values appended so far.
    pub fn len(&self) -> usize {
        self.keys.len()
    }

    /// Nothing was appended.
    pub fn is_empty(&self) -> bool {
        self.keys.is_empty()
    }

    /// The column with `rows` rows; starts anew.
    pub fn finish(&mut self, rows: usize) -> ArrayRef {
        let mut done = std::mem::take(self);
        done.keys.resize(rows, 0);
        let values =
            StringArray::from_iter_values(done.values.iter().map(|text| core::str::from_utf8(text).unwrap_or("")));
        // Keys are indexes into `values` by construction.
        match DictionaryArray::<UInt32Type>::try_new(UInt32Array::from(done.keys), Arc::new(values)) {
            Ok(column) => Arc::new(column),
            Err(_) => Arc::new(DictionaryArray::<UInt32Type>::from_iter(std::iter::repeat_n("", rows))),
        }
    }
}
