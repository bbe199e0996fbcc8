//! Changes to a tree, sorted by key.

use std::ops::Range;

use crate::codec::encode_value;
use crate::error::{Error, Result};

/// Changes in the order of their keys, stored in one buffer.
#[derive(Default)]
pub struct Changes {
    bytes: Vec<u8>,
    rows: Vec<Row>,
    /// The greatest key of all, also of those that were removed.
    last_key: Vec<u8>,
    has_any: bool,
}

struct Row {
    key: Range<usize>,
    /// The framed value; None deletes.
    value: Option<Range<usize>>,
}

/// A change: the framed value that a key gets, None when it is deleted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Change<'a> {
    /// The key.
    pub key: &'a [u8],
    /// The framed value, None for a deletion.
    pub value: Option<&'a [u8]>,
}

impl Changes {
    /// Adds a change: an identity and data, None to delete. Fails with [`Error::Order`] unless
    /// the key is greater than all before.
    pub fn push(&mut self, key: &[u8], value: Option<(&[u8], &[u8])>) -> Result<()> {
        if self.has_any && key <= self.last_key.as_slice() {
            let [key, last] = [key, &self.last_key].map(String::from_utf8_lossy);
            return Err(Error::Order(format!(
                "the key {key:?} comes after {last:?}"
            )));
        }
        self.has_any = true;
        self.last_key.clear();
        self.last_key.extend_from_slice(key);
        let start = self.bytes.len();
        self.bytes.extend_from_slice(key);
        let key_end = self.bytes.len();
        if let Some((identity, data)) = value {
            encode_value(identity, data, &mut self.bytes);
        }
        self.rows.push(Row {
            key: start..key_end,
            value: value.is_some().then_some(key_end..self.bytes.len()),
        });
        Ok(())
    }

    /// Removes all changes. Those that are added later must have greater keys nevertheless.
    pub fn clear(&mut self) {
        self.bytes.clear();
        self.rows.clear();
    }

    /// Returns how many bytes the changes take in memory.
    pub fn memory(&self) -> usize {
        self.bytes.len() + self.rows.len() * size_of::<Row>()
    }

    /// Returns the changes with these numbers.
    pub fn slice(&self, numbers: Range<usize>) -> impl Iterator<Item = Change<'_>> {
        numbers.map(|number| self.get(number))
    }

    /// Returns the number of changes.
    pub fn len(&self) -> usize {
        self.rows.len()
    }

    /// Returns whether there are none.
    pub fn is_empty(&self) -> bool {
        self.rows.is_empty()
    }

    /// Returns the change with a number in the order of keys.
    pub fn get(&self, number: usize) -> Change<'_> {
        let row = &self.rows[number];
        Change {
            key: &self.bytes[row.key.clone()],
            value: row.value.clone().map(|value| &self.bytes[value]),
        }
    }

    /// Returns the number of changes whose key is at most `key`.
    pub fn count_through(&self, key: &[u8]) -> usize {
        self.rows
            .partition_point(|row| &self.bytes[row.key.clone()] <= key)
    }
}
