//! Builds one block: records whose keys are written as their difference from the key before.
//!
//! ```text
//! record   varint shared | varint unshared | varint value length | unshared bytes | value
//! block    records … | restart offsets, u32 each | u32 how many restarts
//! ```
//!
//! At a restart (every 16th record of a data block, every record of an index) nothing is shared,
//! so that a reader can search them.

use super::KEY_TRAILER_LEN;
use super::block_reader::Block;
use crate::error::Fault;
use crate::shared_prefix::shared_prefix;
use crate::varint;

/// The size, in bytes, at which a block ends.
const TARGET: usize = 4096;

/// Up to here, nine tenths of the target, no record is too large to be added.
const THRESHOLD: usize = 3687;

/// The stored form of a record that is not at a restart.
pub struct StoredRecord<'a> {
    /// How many bytes of its key are those of the key before, trailers included; the others.
    pub shared: usize,
    /// The bytes of the key that it does not share with the one before.
    pub unshared: &'a [u8],
    /// The whole record.
    pub bytes: &'a [u8],
}

/// A block being filled.
pub struct BlockWriter {
    restart_interval: usize,
    bytes: Vec<u8>,
    restarts: Vec<u32>,
    records: usize,
    /// The size of a content that lies elsewhere, in place of which the block stands; else 0.
    elsewhere: usize,
    /// The last key with its trailer; survives the end of a block.
    last_key: Vec<u8>,
}

impl BlockWriter {
    /// Returns an empty block, each `restart_interval`-th key of which is written whole.
    pub fn new(restart_interval: usize) -> Self {
        BlockWriter {
            restart_interval,
            bytes: Vec::with_capacity(TARGET + 1024),
            restarts: Vec::with_capacity(16),
            records: 0,
            elsewhere: 0,
            last_key: Vec::new(),
        }
    }

    /// Returns the number of records.
    pub fn records(&self) -> usize {
        self.records
    }

    /// Returns the last key added, with its trailer.
    pub fn last_key(&self) -> &[u8] {
        &self.last_key
    }

    /// Returns the size of the uncompressed block in bytes.
    pub fn estimated_size(&self) -> usize {
        match self.elsewhere {
            0 => self.bytes.len() + 4 * self.restarts.len() + 4,
            size => size,
        }
    }

    /// Returns whether the block is cut before a record with a key of `key_len` bytes, its
    /// trailer included, and a value of `value_len`.
    pub fn cuts_before(&self, key_len: usize, value_len: usize) -> bool {
        let size = self.estimated_size();
        self.records > 0 && cuts(size, self.at_restart(), key_len, value_len)
    }

    /// Appends a record. The trailer is never shared with the key before.
    pub fn add(&mut self, key: &[u8], trailer: &[u8], value: &[u8]) {
        let shared = if self.at_restart() {
            self.restarts.push(self.bytes.len() as u32);
            0
        } else {
            shared_prefix(&self.last_key, key)
        };
        let unshared = &key[shared..];
        varint::put(&mut self.bytes, shared as u64);
        varint::put(&mut self.bytes, (unshared.len() + trailer.len()) as u64);
        varint::put(&mut self.bytes, value.len() as u64);
        self.bytes.extend_from_slice(unshared);
        self.bytes.extend_from_slice(trailer);
        self.bytes.extend_from_slice(value);
        self.last_key.truncate(shared);
        self.last_key.extend_from_slice(unshared);
        self.last_key.extend_from_slice(trailer);
        self.records += 1;
    }

    /// Returns whether the next record is at a restart.
    pub fn at_restart(&self) -> bool {
        self.records.is_multiple_of(self.restart_interval)
    }

    /// Appends a record that is stored in another block behind the same key. It must not be at a
    /// restart here.
    pub fn add_stored(&mut self, record: &StoredRecord<'_>) {
        debug_assert!(!self.at_restart());
        self.bytes.extend_from_slice(record.bytes);
        self.last_key.truncate(record.shared);
        self.last_key.extend_from_slice(record.unshared);
        self.records += 1;
    }

    /// Stands for a finished block, made by the same rules, as if its records had been added one
    /// by one; `last_key` is a key and its trailer. This block must be empty; before more is added, [`Self::fill`] gets the content.
    pub fn stand_for(&mut self, size: usize, records: usize, last_key: [&[u8]; 2]) {
        debug_assert_eq!(self.records, 0);
        self.elsewhere = size;
        self.records = records;
        self.last_key.clear();
        for part in last_key {
            self.last_key.extend_from_slice(part);
        }
    }

    /// Takes the content of the block for which this one stands.
    pub fn fill(&mut self, block: Block<'_>) -> Result<(), Fault> {
        self.bytes.extend_from_slice(block.entries);
        for number in 0..block.restart_count() {
            self.restarts.push(block.restart(number)? as u32);
        }
        self.elsewhere = 0;
        Ok(())
    }

    /// Completes the block and returns its content; [`Self::clear`] starts the next one.
    pub fn finish(&mut self) -> &[u8] {
        if self.restarts.is_empty() {
            self.restarts.push(0);
        }
        for restart in &self.restarts {
            self.bytes.extend_from_slice(&restart.to_le_bytes());
        }
        let count = self.restarts.len() as u32;
        self.bytes.extend_from_slice(&count.to_le_bytes());
        &self.bytes
    }

    /// Removes all records.
    pub fn clear(&mut self) {
        self.bytes.clear();
        self.restarts.clear();
        self.elsewhere = 0;
        self.records = 0;
    }
}

/// Returns whether a block of `size` bytes is cut before the next record, which would be a
/// restart or not. The size the record is thought to add is a guess that never shares a prefix.
pub fn cuts(size: usize, at_restart: bool, key_len: usize, value_len: usize) -> bool {
    if size >= TARGET {
        return true;
    }
    if size <= THRESHOLD {
        return false;
    }
    let restart = if at_restart { 4 } else { 0 };
    let lengths = 4 + varint::len(key_len as u64) + varint::len(value_len as u64);
    size + key_len + value_len + restart + lengths > TARGET
}

/// Returns a key without its trailer.
#[inline]
pub fn user_key(internal: &[u8]) -> &[u8] {
    &internal[..internal.len().saturating_sub(KEY_TRAILER_LEN)]
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::table::SET_TRAILER;

    #[test]
    fn an_empty_block_has_one_restart() {
        assert_eq!(BlockWriter::new(16).finish(), [0, 0, 0, 0, 1, 0, 0, 0]);
    }

    #[test]
    fn a_key_may_share_with_the_trailer_before_it() {
        let mut block = BlockWriter::new(16);
        block.add(b"a", &SET_TRAILER, b"");
        block.add(b"a\x01\x00x", &SET_TRAILER, b"v");
        let expected =
            b"\x00\x09\x00a\x01\0\0\0\0\0\0\0\x03\x09\x01x\x01\0\0\0\0\0\0\0v\0\0\0\0\x01\0\0\0";
        assert_eq!(block.finish(), expected);
    }

    #[test]
    fn cut_rule() {
        assert!(cuts(4096, false, 9, 0));
        assert!(!cuts(3687, false, 100_000, 100_000));
        assert!(!cuts(3688, false, 400, 0));
        assert!(cuts(3688, false, 402, 0));
        assert!(cuts(3688, true, 398, 0));
        assert!(!cuts(3688, true, 397, 0));
    }
}
