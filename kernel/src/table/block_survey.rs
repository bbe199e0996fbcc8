//! One block of an existing table, looked through so that it can be copied into a new one.
//!
//! A block can be copied as it is stored if it is *canonical*: exactly what our own writer would
//! have made of the same records, starting with an empty block. Of every record it is checked
//! that its key shares all it can with the key before, that its lengths take as few bytes as
//! they can, that restarts are where they belong and that no cut was due before it.

use std::ops::Range;

use super::block_reader::{Block, Record};
use super::block_writer::{cuts, user_key};
use super::digest::append_record;
use super::reader::Table;
use super::{KEY_TRAILER_LEN, SET_TRAILER};
use crate::error::{Error, Fault, Result};
use crate::varint;

const RESTART_INTERVAL: usize = 16;

/// A block and what is known of its records. One can be loaded again and again.
#[derive(Default)]
pub struct BlockSurvey {
    content: Vec<u8>,
    restarts: Vec<u32>,
    /// All keys, without trailers, one behind the other.
    keys: Vec<u8>,
    spans: Vec<Span>,
    digest_text: Vec<u8>,
    last_internal_key: Vec<u8>,
    key_bytes: u64,
    value_bytes: u64,
    canonical: bool,
}

/// A record of the block.
struct Span {
    /// Where its key lies among the keys, and how much of it is the key's before.
    key: Range<usize>,
    shared: usize,
    /// Where its value lies in the content.
    value: Range<usize>,
}

impl BlockSurvey {
    /// Loads a block in place of the one before. Fails with [`Error::Corrupt`], which leaves a
    /// survey without records.
    pub fn load(&mut self, table: &Table, block: usize) -> Result<()> {
        let raw = table.raw_block(block)?;
        self.clear();
        let mut content = std::mem::take(&mut self.content);
        let done = raw
            .copy_content(&mut content)
            .and_then(|()| self.look_through(&content));
        self.content = content;
        done.map_err(|fault| {
            self.clear();
            Error::corrupt(table.path(), fault)
        })
    }

    fn clear(&mut self) {
        self.restarts.clear();
        self.keys.clear();
        self.spans.clear();
        self.digest_text.clear();
        self.last_internal_key.clear();
        self.key_bytes = 0;
        self.value_bytes = 0;
        self.canonical = false;
    }

    fn look_through(&mut self, content: &[u8]) -> std::result::Result<(), Fault> {
        let block = Block::parse(content)?;
        self.canonical = true;
        let mut position = 0;
        while let Some(record) = Record::read(block.entries, position)? {
            let next = record.value.end;
            self.take(block.entries, position, record)?;
            position = next;
        }
        self.canonical &= block.restart_count() == self.restarts.len();
        for (number, &expected) in self.restarts.iter().enumerate() {
            self.canonical &= block.restart(number) == Ok(expected as usize);
        }
        Ok(())
    }

    fn take(
        &mut self,
        entries: &[u8],
        position: usize,
        record: Record,
    ) -> std::result::Result<(), Fault> {
        let unshared = &entries[record.unshared.clone()];
        let previous = &self.last_internal_key;
        if record.shared > previous.len() {
            return Err("a key shares more than there is");
        }
        let at_restart = self.spans.len().is_multiple_of(RESTART_INTERVAL);
        let key_len = record.shared + unshared.len();
        let lengths = varint::len(record.shared as u64)
            + varint::len(unshared.len() as u64)
            + varint::len(record.value.len() as u64);
        // The trailer is never shared, so at least its bytes must be there.
        let shares_all = if at_restart {
            record.shared == 0
        } else {
            unshared.len() == KEY_TRAILER_LEN || previous.get(record.shared) != unshared.first()
        };
        let size = position + 4 * self.restarts.len() + 4;
        self.canonical &= unshared.len() >= KEY_TRAILER_LEN
            && shares_all
            && lengths == record.unshared.start - position
            && (self.spans.is_empty() || !cuts(size, at_restart, key_len, record.value.len()));
        if at_restart {
            self.restarts.push(position as u32);
        }
        self.last_internal_key.truncate(record.shared);
        self.last_internal_key.extend_from_slice(unshared);
        if self.last_internal_key.len() < KEY_TRAILER_LEN {
            return Err("a key is too short for its trailer");
        }
        self.keep(entries, record)
    }

    fn keep(&mut self, entries: &[u8], record: Record) -> std::result::Result<(), Fault> {
        let (key, trailer) = self
            .last_internal_key
            .split_at(self.last_internal_key.len() - KEY_TRAILER_LEN);
        if trailer[0] != SET_TRAILER[0] {
            return Err("a record is of a kind other than SET");
        }
        let start = self.keys.len();
        let shared = record.shared.min(key.len());
        if let Some(last) = self.spans.last() {
            // What is shared may reach into the trailer of the key before.
            let last = &self.keys[last.key.clone()];
            let common = shared.min(last.len());
            self.canonical &= key[common..] > last[common..];
        }
        self.canonical &= trailer == SET_TRAILER;
        self.keys.extend_from_slice(key);
        append_record(&mut self.digest_text, key, &entries[record.value.clone()]);
        self.key_bytes += self.last_internal_key.len() as u64;
        self.value_bytes += record.value.len() as u64;
        self.spans.push(Span {
            key: start..self.keys.len(),
            shared,
            value: record.value,
        });
        Ok(())
    }

    /// Returns whether the block is what our writer would make of its records.
    pub fn is_canonical(&self) -> bool {
        self.canonical
    }

    /// Returns the number of records.
    pub fn records(&self) -> usize {
        self.spans.len()
    }

    /// Returns the key and the framed value of a record.
    pub fn record(&self, number: usize) -> (&[u8], &[u8]) {
        let span = &self.spans[number];
        (
            &self.keys[span.key.clone()],
            &self.content[span.value.clone()],
        )
    }

    /// Returns how many bytes of a record's key are known to be those of the key before.
    pub fn shared(&self, number: usize) -> usize {
        self.spans[number].shared
    }

    /// Returns the bytes that the records take before compression.
    pub fn size(&self) -> usize {
        self.content.len()
    }

    pub(super) fn last_internal_key(&self) -> &[u8] {
        &self.last_internal_key
    }

    pub(super) fn digest_text(&self) -> &[u8] {
        &self.digest_text
    }

    /// Returns the bytes of all keys, with trailers, and of all values.
    pub(super) fn sizes(&self) -> (u64, u64) {
        (self.key_bytes, self.value_bytes)
    }

    /// Returns the last key, None when there are no records.
    pub fn last_key(&self) -> Option<&[u8]> {
        (!self.spans.is_empty()).then(|| user_key(&self.last_internal_key))
    }
}
