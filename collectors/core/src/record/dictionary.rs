//! A dictionary column under construction. Rows that say nothing have the empty string.

use crate::seeded::Seeded;
use arrow_array::types::UInt32Type;
use arrow_array::{ArrayRef, DictionaryArray, StringArray, UInt32Array};
use std::collections::HashMap;
use std::sync::Arc;

/// Distinct texts, and per row which.
#[derive(Debug)]
pub struct Dictionary {
    index: HashMap<Box<[u8]>, u32, Seeded>,
    values: Vec<Box<[u8]>>,
    keys: Vec<u32>,
    /// The text of each length (by its low bits) that was seen last: neighbours repeat in turns.
    recent: [u32; RECENT],
}

const RECENT: usize = 64;

impl Default for Dictionary {
    fn default() -> Self {
        let empty: Box<[u8]> = Box::default();
        Self {
            index: HashMap::from_iter([(empty.clone(), 0)]),
            values: vec![empty],
            keys: Vec::new(),
            recent: [0; RECENT],
        }
    }
}

impl Dictionary {
    /// An empty one with room for so many rows.
    pub fn with_room(rows: usize) -> Self {
        Self { keys: Vec::with_capacity(rows), ..Self::default() }
    }

    /// Key of `text`.
    #[inline]
    pub fn key(&mut self, text: &[u8]) -> u32 {
        self.find(text).0
    }

    /// Key of `text`, and the bytes that it cost.
    #[inline]
    fn find(&mut self, text: &[u8]) -> (u32, usize) {
        let place = text.len() % RECENT;
        let recent = self.recent[place];
        if *self.values[recent as usize] == *text {
            return (recent, 0);
        }
        let (key, cost) = if let Some(key) = self.index.get(text) {
            (*key, 0)
        } else {
            let key = u32::try_from(self.values.len()).unwrap_or(0);
            self.values.push(text.into());
            self.index.insert(text.into(), key);
            // Twice, and what a small allocation takes.
            (key, 2 * (text.len() + 32))
        };
        self.recent[place] = key;
        (key, cost)
    }

    /// Appends a value and gives the bytes that a new text costs.
    #[inline]
    pub fn push(&mut self, text: &[u8]) -> usize {
        let (key, cost) = self.find(text);
        self.keys.push(key);
        cost
    }

    /// Sets the value of `row`; rows between are empty. Gives what [`Dictionary::push`] gives.
    #[inline]
    pub fn set(&mut self, row: usize, text: &[u8]) -> usize {
        self.keys.resize(row, 0);
        self.push(text)
    }

    /// Puts other texts in place of those of which `redact` gives one. Texts that become the same are one value: ClickHouse
    /// refuses a dictionary that has a value twice.
    pub fn redact(&mut self, redact: impl Fn(&str) -> Option<String>) {
        let kept: Vec<Option<String>> =
            self.values.iter().map(|text| core::str::from_utf8(text).ok().and_then(&redact)).collect();
        if kept.iter().all(Option::is_none) {
            return;
        }
        let before = std::mem::take(self);
        let texts = before.values.iter().zip(&kept);
        let now: Vec<u32> =
            texts.map(|(text, kept)| self.key(kept.as_ref().map_or(&**text, |kept| kept.as_bytes()))).collect();
        // Keys are indexes into `values` by construction.
        self.keys = before.keys.into_iter().filter_map(|key| now.get(key as usize).copied()).collect();
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn texts_that_redaction_makes_the_same_are_one_value() {
        let mut column = Dictionary::default();
        for text in ["from 192.0.2.1", "", "plain", "from 192.0.2.2", "from 192.0.2.1"] {
            column.push(text.as_bytes());
        }
        column.redact(|text| text.starts_with("from").then(|| "from 192.0.2.0/24".to_owned()));
        let texts: Vec<&[u8]> = column.keys.iter().map(|key| &*column.values[*key as usize]).collect();
        let network: &[u8] = b"from 192.0.2.0/24";
        assert_eq!(texts, [network, b"", b"plain", network, network]);
        assert_eq!(column.values.len(), 3);
    }
}
