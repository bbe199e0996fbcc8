//! A scan of a block of an existing table, to copy it into a new one.
//!
//! A block's stored bytes can be copied if it is *canonical*: exactly what this kernel's writer
//! produces for the same records, starting with an empty block. The scan checks for every record
//! that its key shares the maximum with the key before, that its lengths have their shortest
//! encoding, that restarts are at the right records, and that the block did not have to end before.

use std::ops::Range;

use super::block_reader::{Block, Record};
use super::block_writer::{StoredRecord, cuts};
use super::digest::{DELIMITER, put_part};
use super::reader::Table;
use super::{KEY_TRAILER_LEN, SET_TRAILER};
use crate::error::{Error, Fault, Result};
use crate::text::put_decimal;
use crate::varint;

const RESTART_INTERVAL: usize = 16;

/// A block and the facts about its records. It can be reused for several blocks.
#[derive(Default)]
pub struct BlockScan {
    content: Vec<u8>,
    restarts: Vec<u32>,
    /// The digest input of all records, which contains their keys and values.
    text: Vec<u8>,
    spans: Vec<Span>,
    last_trailer: [u8; KEY_TRAILER_LEN],
    key_bytes: u64,
    value_bytes: u64,
    canonical: bool,
}

struct Span {
    /// The positions of the record's key, without the trailer, and of its value in the text.
    key: Range<usize>,
    value: Range<usize>,
    /// The number of bytes that the key shares with the key before, without trailers.
    common: usize,
    /// The number of shared bytes including trailers, and the positions of the unshared bytes and
    /// of the whole record in the content.
    shared: usize,
    unshared: Range<usize>,
    stored: Range<usize>,
}

impl BlockScan {
    /// Loads a block, replacing the one before. Fails with [`Error::Corrupt`] and is then without
    /// records.
    pub fn load(&mut self, table: &Table, block: usize) -> Result<()> {
        let raw = table.raw_block(block)?;
        self.clear();
        let mut content = std::mem::take(&mut self.content);
        let done = raw
            .copy_content(&mut content)
            .and_then(|()| self.scan(&content));
        self.content = content;
        done.map_err(|fault| {
            self.clear();
            Error::corrupt(table.path(), fault)
        })
    }

    fn clear(&mut self) {
        self.restarts.clear();
        self.text.clear();
        self.spans.clear();
        self.key_bytes = 0;
        self.value_bytes = 0;
        self.canonical = false;
    }

    fn scan(&mut self, content: &[u8]) -> std::result::Result<(), Fault> {
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
        let key_len = record.shared + unshared.len();
        let at_restart = self.spans.len().is_multiple_of(RESTART_INTERVAL);
        let lengths = varint::len(record.shared as u64)
            + varint::len(unshared.len() as u64)
            + varint::len(record.value.len() as u64);
        // The trailer is never shared, so at least its bytes must be there.
        let shares_all = if at_restart {
            record.shared == 0
        } else {
            unshared.len() == KEY_TRAILER_LEN
                || self.last_key_at(record.shared) != unshared.first().copied()
        };
        let size = position + 4 * self.restarts.len() + 4;
        self.canonical &= unshared.len() >= KEY_TRAILER_LEN
            && shares_all
            && lengths == record.unshared.start - position
            && (self.spans.is_empty() || !cuts(size, at_restart, key_len, record.value.len()));
        if at_restart {
            self.restarts.push(position as u32);
        }
        let (key, common) = self.put_key(record.shared, unshared)?;
        let stored = position..record.value.end;
        let value = put_part(&mut self.text, &entries[record.value]);
        self.key_bytes += key_len as u64;
        self.value_bytes += value.len() as u64;
        self.spans.push(Span {
            key,
            value,
            common,
            shared: record.shared,
            unshared: record.unshared,
            stored,
        });
        Ok(())
    }

    /// Returns a byte of the key before, its trailer included.
    #[inline]
    fn last_key_at(&self, position: usize) -> Option<u8> {
        let last = &self.spans.last()?.key;
        match position.checked_sub(last.len()) {
            None => self.text.get(last.start + position).copied(),
            Some(position) => self.last_trailer.get(position).copied(),
        }
    }

    /// Appends a key to the text. Returns its position and a lower bound of the bytes that it shares
    /// with the key before.
    fn put_key(
        &mut self,
        shared: usize,
        unshared: &[u8],
    ) -> std::result::Result<(Range<usize>, usize), Fault> {
        let (last, trailer_len) = match self.spans.last() {
            Some(span) => (span.key.clone(), KEY_TRAILER_LEN),
            None => (0..0, 0),
        };
        // The shared bytes may extend into the trailer of the key before.
        let common = shared.min(last.len());
        let of_trailer = shared - common;
        if of_trailer > trailer_len {
            return Err("a key shares more than there is");
        }
        let length = (shared + unshared.len())
            .checked_sub(KEY_TRAILER_LEN)
            .ok_or("a key is too short for its trailer")?;
        put_decimal(&mut self.text, length as u64);
        let start = self.text.len();
        self.text
            .extend_from_within(last.start..last.start + common);
        if of_trailer > 0 {
            self.text
                .extend_from_slice(&self.last_trailer[..of_trailer]);
        }
        self.text.extend_from_slice(unshared);
        let end = start + length;
        self.last_trailer.copy_from_slice(&self.text[end..]);
        self.text.truncate(end);
        if self.last_trailer[0] != SET_TRAILER[0] {
            return Err("a record is of a kind other than SET");
        }
        self.canonical &= self.last_trailer == SET_TRAILER;
        let common = common.min(length);
        if !self.spans.is_empty() {
            let before = &self.text[last.start + common..last.end];
            self.canonical &= is_above(&self.text[start + common..], before);
        }
        self.text.push(DELIMITER);
        Ok((start..end, common))
    }

    /// Returns whether the block is canonical.
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
        (&self.text[span.key.clone()], &self.text[span.value.clone()])
    }

    /// Returns a lower bound of the bytes that a record's key shares with the key before.
    pub fn shared(&self, number: usize) -> usize {
        self.spans[number].common
    }

    /// Returns a record's stored form, None at a restart.
    #[inline]
    pub(super) fn stored(&self, number: usize) -> Option<StoredRecord<'_>> {
        let span = &self.spans[number];
        (!number.is_multiple_of(RESTART_INTERVAL)).then(|| StoredRecord {
            shared: span.shared,
            unshared: &self.content[span.unshared.clone()],
            bytes: &self.content[span.stored.clone()],
        })
    }

    /// Returns the size of the uncompressed content in bytes.
    pub fn size(&self) -> usize {
        self.content.len()
    }

    /// Returns the digest input of the records.
    pub(super) fn digest_text(&self) -> &[u8] {
        &self.text
    }

    /// Returns the total size of all keys, with trailers, and of all values, in bytes.
    pub(super) fn sizes(&self) -> (u64, u64) {
        (self.key_bytes, self.value_bytes)
    }

    /// Returns the last key, None when there are no records.
    pub fn last_key(&self) -> Option<&[u8]> {
        self.spans.last().map(|span| &self.text[span.key.clone()])
    }
}

/// Returns whether a key is greater than another; mostly the first byte decides.
#[inline]
fn is_above(key: &[u8], other: &[u8]) -> bool {
    match (key.first(), other.first()) {
        (Some(mine), Some(others)) if mine != others => mine > others,
        _ => key > other,
    }
}
