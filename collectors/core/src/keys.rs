//! A small table of byte keys, looked up for every key of every record: no hash of the whole key, no call to compare.
//! The standard library's `HashMap`, which is hashbrown, with rustc-hash in its place costs 3.3 % more instructions an event
//! (callgrind, `load` of 52,000 records of JSON-SEQ).

/// First and last word of a key, the key, its value.
type Slot<V> = (u64, u64, Box<[u8]>, V);

/// Keys to values; keys up to 16 bytes are compared as two words.
#[derive(Clone, Debug)]
pub struct Keys<V> {
    slots: Vec<Option<Slot<V>>>,
    count: usize,
}

impl<V> Default for Keys<V> {
    fn default() -> Self {
        Self { slots: (0..16).map(|_| None).collect(), count: 0 }
    }
}

/// First and last bytes of a key, which with its length tell keys of up to 16 bytes apart.
#[inline]
pub(crate) fn ends(key: &[u8]) -> (u64, u64) {
    if let (Some(first), Some(last)) = (key.first_chunk::<8>(), key.last_chunk::<8>()) {
        (u64::from_le_bytes(*first), u64::from_le_bytes(*last))
    } else if let (Some(first), Some(last)) = (key.first_chunk::<4>(), key.last_chunk::<4>()) {
        (u64::from(u32::from_le_bytes(*first)), u64::from(u32::from_le_bytes(*last)))
    } else {
        let byte = |at: usize| u64::from(key.get(at).copied().unwrap_or(0));
        (byte(0) | byte(1) << 8 | byte(2) << 16, 0)
    }
}

#[inline]
fn place(first: u64, last: u64, length: usize) -> usize {
    let mixed = (first ^ last.rotate_left(29) ^ length as u64).wrapping_mul(0x9E37_79B9_7F4A_7C15);
    (mixed >> 40) as usize
}

impl<V> Keys<V> {
    /// Sets the value of a key.
    pub fn insert(&mut self, key: &[u8], value: V) {
        if self.count * 3 >= self.slots.len() {
            let larger = (0..self.slots.len() * 2).map(|_| None).collect();
            self.count = 0;
            for (_, _, key, value) in std::mem::replace(&mut self.slots, larger).into_iter().flatten() {
                self.insert(&key, value);
            }
        }
        let (first, last) = ends(key);
        let mask = self.slots.len() - 1;
        let mut at = place(first, last, key.len()) & mask;
        while self.slots[at].as_ref().is_some_and(|slot| *slot.2 != *key) {
            at = (at + 1) & mask;
        }
        self.count += usize::from(self.slots[at].is_none());
        self.slots[at] = Some((first, last, key.into(), value));
    }

    /// The value of a key.
    #[inline(always)]
    pub fn get(&self, key: &[u8]) -> Option<&V> {
        let (first, last) = ends(key);
        let mask = self.slots.len() - 1;
        let mut at = place(first, last, key.len()) & mask;
        while let Some(slot) = &self.slots[at] {
            if slot.0 == first && slot.1 == last && slot.2.len() == key.len() && (key.len() <= 16 || *slot.2 == *key) {
                return Some(&slot.3);
            }
            at = (at + 1) & mask;
        }
        None
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn keys_of_every_length_are_told_apart() {
        let mut keys = Keys::default();
        let all: Vec<String> = (0..40)
            .flat_map(|length| {
                (0..5).map(move |k| format!("{}{k}{}", "a".repeat(length / 2), "b".repeat(length - length / 2)))
            })
            .collect();
        for (value, key) in all.iter().enumerate() {
            keys.insert(key.as_bytes(), value);
        }
        keys.insert(b"", 999);
        for (value, key) in all.iter().enumerate() {
            assert_eq!(keys.get(key.as_bytes()), Some(&value), "{key}");
        }
        assert_eq!(keys.get(b""), Some(&999));
        assert_eq!(keys.get(b"absent"), None);
    }
}
