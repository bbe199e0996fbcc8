//! A cursor over the records of a tree, which can also skip whole ranges and blocks.
//!
//! On the first record of a range, the range need not be open: the metarange has its first key, and
//! the caller may skip the range. [`TreeCursor::enter`] opens it.

use std::sync::Arc;

use super::tree::Tree;
use crate::codec::RangeInfo;
use crate::error::{Error, Result};
use crate::table::{Cursor, Table};

const WRONG_END: &str = "its last key is not the one that is listed";

/// A position in the records of a tree: on a record, or after the last.
pub struct TreeCursor {
    tree: Tree,
    /// The range of the record, the number of ranges at the end.
    range: usize,
    /// None while the range is not entered; the cursor then stands on its first record.
    inside: Option<Cursor>,
}

impl TreeCursor {
    pub(super) fn new(tree: Tree) -> Self {
        TreeCursor {
            tree,
            range: 0,
            inside: None,
        }
    }

    /// Returns the tree.
    pub fn tree(&self) -> &Tree {
        &self.tree
    }

    /// Returns the record's key, None at the end.
    #[inline]
    pub fn key(&self) -> Option<&[u8]> {
        match &self.inside {
            Some(cursor) => Some(cursor.key()),
            None => self.whole_range().map(|info| info.min_key.as_slice()),
        }
    }

    /// Returns the record's framed value, entering its range if need be.
    #[inline]
    pub fn value(&mut self) -> Result<&[u8]> {
        self.enter()?;
        Ok(self.inside.as_ref().map_or(&[], |cursor| cursor.value()))
    }

    /// Returns the key and the framed value of the record, None at the end.
    #[inline]
    pub fn record(&mut self) -> Result<Option<(&[u8], &[u8])>> {
        self.enter()?;
        let cursor = self.inside.as_ref();
        Ok(cursor.map(|cursor| (cursor.key(), cursor.value())))
    }

    /// Returns the next range, None within a range and at the end.
    #[inline]
    pub fn whole_range(&self) -> Option<&RangeInfo> {
        match self.inside {
            Some(_) => None,
            None => self.tree.ranges().get(self.range),
        }
    }

    /// Returns the range of the record, entered or not, None at the end.
    #[inline]
    pub fn range(&self) -> Option<&RangeInfo> {
        self.tree.ranges().get(self.range)
    }

    /// Returns the ranges that lie ahead, that of the record first unless it is entered.
    pub fn whole_ranges(&self) -> &[RangeInfo] {
        match self.inside {
            Some(_) => &[],
            None => &self.tree.ranges()[self.range..],
        }
    }

    /// Passes over that many ranges. The cursor must not be inside of one.
    pub fn skip_ranges(&mut self, count: usize) {
        debug_assert!(self.inside.is_none());
        self.range += count;
    }

    /// Opens the next range; does nothing within a range and at the end.
    #[inline]
    pub fn enter(&mut self) -> Result<()> {
        if self.inside.is_some() || self.range == self.tree.ranges().len() {
            return Ok(());
        }
        let mut cursor = self.tree.table(self.range)?.cursor();
        cursor.first()?;
        if !cursor.valid() || cursor.key() != self.tree.ranges()[self.range].min_key {
            return Err(corrupt(
                &cursor,
                "its first key is not the one that is listed",
            ));
        }
        self.inside = Some(cursor);
        Ok(())
    }

    /// Goes to the next record.
    #[inline]
    #[expect(
        clippy::should_implement_trait,
        reason = "it moves and returns no item"
    )]
    pub fn next(&mut self) -> Result<()> {
        self.enter()?;
        if let Some(cursor) = &mut self.inside {
            cursor.next()?;
            if !cursor.valid() {
                self.leave();
            }
        }
        Ok(())
    }

    fn leave(&mut self) {
        self.inside = None;
        self.range += 1;
    }

    /// Goes to the first record whose key is at least `key`, forward or back.
    pub fn seek(&mut self, key: &[u8]) -> Result<()> {
        let range = self.tree.find_range(key);
        if range != self.range {
            self.inside = None;
            self.range = range;
        }
        match self.tree.ranges().get(range) {
            None => Ok(()),
            Some(info) if key <= info.min_key.as_slice() => {
                self.inside = None;
                Ok(())
            }
            Some(_) => self.seek_inside(key),
        }
    }

    fn seek_inside(&mut self, key: &[u8]) -> Result<()> {
        let mut cursor = match self.inside.take() {
            Some(cursor) => cursor,
            None => self.tree.table(self.range)?.cursor(),
        };
        cursor.seek(key)?;
        if !cursor.valid() {
            return Err(corrupt(&cursor, WRONG_END));
        }
        self.inside = Some(cursor);
        Ok(())
    }

    /// Goes forward to the first record whose key is at least `key`; stays where it is when its
    /// record is that already.
    #[inline]
    pub fn advance_to(&mut self, key: &[u8]) -> Result<()> {
        match self.key() {
            Some(mine) if mine < key => self.advance_beyond(key),
            _ => Ok(()),
        }
    }

    /// Goes forward to a key that is above that of the record.
    fn advance_beyond(&mut self, key: &[u8]) -> Result<()> {
        let within = match self.tree.ranges().get(self.range) {
            Some(info) => key <= info.max_key.as_slice(),
            None => false,
        };
        let Some(cursor) = self.inside.as_mut().filter(|_| within) else {
            return self.seek(key);
        };
        cursor.advance(key)?;
        if cursor.valid() {
            return Ok(());
        }
        let error = corrupt(cursor, WRONG_END);
        self.inside = None;
        Err(error)
    }

    /// Goes forward to the first record whose key is greater than `key`.
    pub fn advance_past(&mut self, key: &[u8]) -> Result<()> {
        self.advance_to(key)?;
        if self.key() == Some(key) {
            self.next()?;
        }
        Ok(())
    }

    /// Returns the table and the block whose first record this is, None elsewhere.
    #[inline]
    pub fn block_ahead(&self) -> Option<(&Arc<Table>, usize)> {
        let cursor = self.inside.as_ref()?;
        cursor
            .at_block_start()
            .then(|| (cursor.table(), cursor.block_index()))
    }

    /// Returns whether the record is the first of a block, entered or not.
    #[inline]
    pub fn is_ahead_of_block(&self) -> bool {
        match &self.inside {
            Some(cursor) => cursor.at_block_start(),
            None => self.whole_range().is_some(),
        }
    }

    /// Returns a key that ends that many blocks, of which the first lies ahead: they have no
    /// key above it, and no record below it follows them. `None` when there are not as many.
    pub fn blocks_end(&self, count: usize) -> Option<Vec<u8>> {
        let (table, first) = self.block_ahead()?;
        let last = first + count.checked_sub(1)?;
        if last >= table.block_count() {
            return None;
        }
        // Behind the last block of a range there may be room up to its separator, which the
        // next range uses.
        let max_key = &self.tree.ranges()[self.range].max_key;
        Some(table.separator(last).min(max_key.clone()))
    }

    /// Passes over that many blocks of the range entered, from that of the record on.
    pub fn skip_blocks(&mut self, count: usize) -> Result<()> {
        if let Some(cursor) = &mut self.inside {
            cursor.seek_block(cursor.block_index() + count)?;
            if !cursor.valid() {
                self.leave();
            }
        }
        Ok(())
    }

    /// Returns the error for a range with invalid bytes.
    pub fn corrupt(&self, reason: &str) -> Error {
        match &self.inside {
            Some(cursor) => corrupt(cursor, reason),
            None => Error::Invalid(reason.to_owned()),
        }
    }
}

fn corrupt(cursor: &Cursor, reason: &str) -> Error {
    Error::corrupt(cursor.table().path(), reason)
}

#[cfg(test)]
mod tests {
    use crate::tree::testing::{Folder, value};
    use std::collections::BTreeMap;

    /// Keys of one range and the first of the next; the last block's separator is above it.
    #[test]
    fn an_end_of_blocks_is_between_their_keys_and_the_next() {
        let names = ["p009/f00102", "p0099", "p00"].map(str::to_owned);
        let numbered = (0..100).map(|number| format!("p009/a{number:03}"));
        let noise: String = (0..700u32)
            .map(|n| char::from(33 + (n * n % 89) as u8))
            .collect();
        let records: BTreeMap<Vec<u8>, Vec<u8>> = names
            .into_iter()
            .chain(numbered)
            .map(|name| (name.into_bytes(), value("identity", &noise)))
            .collect();
        let folder = Folder::new();
        let tree = folder.tree(&records);
        assert_eq!(tree.ranges().len(), 2);
        let mut cursor = tree.cursor();
        let mut last_end = Vec::new();
        for key in records.keys() {
            cursor.enter().unwrap();
            if let Some(end) = cursor.blocks_end(1) {
                assert!(&last_end < key && key <= &end);
                last_end = end;
            }
            assert!(key <= &last_end);
            cursor.next().unwrap();
        }
        assert_eq!(cursor.key(), None);
        assert_eq!(last_end, *records.keys().last().unwrap());
    }
}
