//! The index of an open table: which block may hold a key.
//!
//! It is parsed once into flat arrays. Separators are sorted, so what the first and the last of
//! them begin with, all begin with; it is kept once. Of the rest, 16 bytes are kept as a
//! number, and a search goes by these numbers first and by whole keys only among equal ones.

use super::block_reader::{Block, Walk};
use super::block_writer::{shared_prefix, user_key};
use super::footer::Handle;
use super::stored_block::RawBlock;
use crate::error::Fault;

/// Separators and handles of all blocks of a table, in order.
#[derive(Default)]
pub struct Index {
    /// What every separator begins with.
    common: Vec<u8>,
    /// The 16 bytes that follow, as numbers.
    prefixes: Vec<u128>,
    /// All separators without `common`, one behind the other, and where each ends.
    rests: Vec<u8>,
    ends: Vec<usize>,
    handles: Vec<Handle>,
}

impl Index {
    /// Reads the index that begins at `handle`. Only the order of separators and the form of
    /// handles are checked here, the blocks when they are read.
    pub fn read(file: &[u8], handle: Handle, two_levels: bool) -> Result<Index, Fault> {
        let mut separators = Separators::default();
        if two_levels {
            let mut partitions = Vec::new();
            each_handle(file, handle, |_, handle| {
                partitions.push(handle);
                Ok(())
            })?;
            for partition in partitions {
                each_handle(file, partition, |key, handle| separators.add(key, handle))?;
            }
        } else {
            each_handle(file, handle, |key, handle| separators.add(key, handle))?;
        }
        Ok(separators.into_index())
    }

    pub fn block_count(&self) -> usize {
        self.handles.len()
    }

    pub fn handle(&self, block: usize) -> Option<Handle> {
        self.handles.get(block).copied()
    }

    /// Returns the first block that may hold keys that are at least `key`; the number of blocks
    /// when there is none.
    #[inline]
    pub fn find(&self, key: &[u8]) -> usize {
        let common = self.common.as_slice();
        let Some(rest) = key.strip_prefix(common) else {
            return if key < common { 0 } else { self.block_count() };
        };
        let number = prefix_number(rest);
        let low = self.prefixes.partition_point(|&prefix| prefix < number);
        let ties = self.prefixes[low..].partition_point(|&prefix| prefix == number);
        low + self.ties_below(low, low + ties, rest)
    }

    /// Returns how many of the separators from `low` to `high` are below a key.
    fn ties_below(&self, low: usize, high: usize, rest: &[u8]) -> usize {
        let (mut first, mut last) = (low, high);
        while first < last {
            let middle = first + (last - first) / 2;
            if self.rest(middle) < rest {
                first = middle + 1;
            } else {
                last = middle;
            }
        }
        first - low
    }

    fn rest(&self, block: usize) -> &[u8] {
        let start = if block == 0 { 0 } else { self.ends[block - 1] };
        &self.rests[start..self.ends[block]]
    }

    /// Returns whether the separator of a block is below a key, so that the key lies in a later
    /// block or in none.
    #[inline]
    pub fn ends_before(&self, block: usize, key: &[u8]) -> bool {
        match key.strip_prefix(self.common.as_slice()) {
            Some(rest) => self.rest(block) < rest,
            None => self.common.as_slice() < key,
        }
    }

    /// Returns the separator of a block: no key in it is greater.
    pub fn separator(&self, block: usize) -> Vec<u8> {
        [&self.common, self.rest(block)].concat()
    }
}

/// Returns the first 16 bytes as a number that sorts as they do; missing ones count as 0.
#[inline]
fn prefix_number(bytes: &[u8]) -> u128 {
    if let Some(first) = bytes.first_chunk::<16>() {
        return u128::from_be_bytes(*first);
    }
    let mut padded = [0; 16];
    padded[..bytes.len()].copy_from_slice(bytes);
    u128::from_be_bytes(padded)
}

/// Calls `visit` with each key, without trailer, and handle of an index block.
fn each_handle(
    file: &[u8],
    handle: Handle,
    mut visit: impl FnMut(&[u8], Handle) -> Result<(), Fault>,
) -> Result<(), Fault> {
    let mut scratch = Vec::new();
    let stored = RawBlock::read(file, handle.offset, handle.length)?;
    let block = Block::parse(stored.content(&mut scratch)?)?;
    let mut walk = Walk::default();
    while walk.step(block.entries)? {
        if walk.key().len() < super::KEY_TRAILER_LEN {
            return Err("a key of the index is too short");
        }
        let handle = Handle::decode(&block.entries[walk.value()])?;
        visit(user_key(walk.key()), handle)?;
    }
    Ok(())
}

/// Whole separators, gathered before it is known what they have in common.
#[derive(Default)]
struct Separators {
    keys: Vec<u8>,
    ends: Vec<usize>,
    handles: Vec<Handle>,
}

impl Separators {
    fn key(&self, block: usize) -> &[u8] {
        let start = if block == 0 { 0 } else { self.ends[block - 1] };
        &self.keys[start..self.ends[block]]
    }

    fn add(&mut self, key: &[u8], handle: Handle) -> Result<(), Fault> {
        if !self.ends.is_empty() && key <= self.key(self.ends.len() - 1) {
            return Err("the keys of the index are not in order");
        }
        self.keys.extend_from_slice(key);
        self.ends.push(self.keys.len());
        self.handles.push(handle);
        Ok(())
    }

    fn into_index(self) -> Index {
        let Some(last) = self.ends.len().checked_sub(1) else {
            return Index::default();
        };
        let common = shared_prefix(self.key(0), self.key(last));
        let mut index = Index {
            common: self.key(0)[..common].to_vec(),
            rests: Vec::with_capacity(self.keys.len() - common * self.ends.len()),
            ends: Vec::with_capacity(self.ends.len()),
            prefixes: Vec::with_capacity(self.ends.len()),
            handles: Vec::new(),
        };
        for block in 0..self.ends.len() {
            let rest = &self.key(block)[common..];
            index.prefixes.push(prefix_number(rest));
            index.rests.extend_from_slice(rest);
            index.ends.push(index.rests.len());
        }
        index.handles = self.handles;
        index.handles.shrink_to_fit();
        index
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use std::collections::BTreeSet;

    fn keys() -> impl Strategy<Value = BTreeSet<Vec<u8>>> {
        let part = prop::sample::select(vec![&b"\0"[..], b"12345678", b"a", b"\xff", b"\0\0\0"]);
        let key = prop::collection::vec(part, 0..5).prop_map(|parts| parts.concat());
        prop::collection::btree_set(key, 0..60)
    }

    proptest! {
        #[test]
        fn finds_what_a_plain_search_finds(stem in "[a-c]{0,9}", keys in keys(), wanted in keys()) {
            let keys: Vec<Vec<u8>> = keys.iter().map(|key| [stem.as_bytes(), key].concat()).collect();
            let mut separators = Separators::default();
            for key in &keys {
                separators.add(key, Handle::default()).unwrap();
            }
            let index = separators.into_index();
            for (block, key) in keys.iter().enumerate() {
                prop_assert_eq!(&index.separator(block), key);
            }
            let beside = wanted.iter().map(|key| [stem.as_bytes(), key].concat());
            for key in beside.chain(wanted.iter().cloned()) {
                let found = keys.partition_point(|other| other < &key);
                prop_assert_eq!(index.find(&key), found);
                for block in 0..keys.len() {
                    prop_assert_eq!(index.ends_before(block, &key), block < found);
                }
            }
        }
    }

    #[test]
    fn keys_out_of_order_are_an_error() {
        let mut separators = Separators::default();
        separators.add(b"b", Handle::default()).unwrap();
        assert!(separators.add(b"b", Handle::default()).is_err());
        assert!(separators.add(b"a", Handle::default()).is_err());
    }
}
