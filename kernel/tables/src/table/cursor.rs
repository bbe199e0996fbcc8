//! Walks the records of a table in order, from anywhere.
//!
//! A cursor stands on a record, or on none: before the first move, behind the last record, and
//! after an error. It keeps one block's content at a time.

use std::sync::Arc;

use super::block_reader::{Block, Walk};
use super::block_writer::user_key;
use super::reader::Table;
use crate::error::{Error, Result};

/// A place among the records of a table, which it keeps open.
pub struct Cursor {
    table: Arc<Table>,
    /// The block whose content is loaded; the number of blocks when none is.
    block: usize,
    content: Vec<u8>,
    entries_len: usize,
    walk: Walk,
    valid: bool,
    at_block_start: bool,
}

impl Cursor {
    pub(super) fn new(table: Arc<Table>) -> Self {
        Cursor {
            block: table.block_count(),
            table,
            content: Vec::new(),
            entries_len: 0,
            walk: Walk::default(),
            valid: false,
            at_block_start: false,
        }
    }

    /// Returns the table.
    pub fn table(&self) -> &Arc<Table> {
        &self.table
    }

    /// Goes to the first record.
    pub fn first(&mut self) -> Result<()> {
        self.seek_block(0)
    }

    /// Goes to the first record whose key is at least `key`.
    pub fn seek(&mut self, key: &[u8]) -> Result<()> {
        let block = self.table.find_block(key);
        self.valid = false;
        if block == self.table.block_count() {
            return Ok(());
        }
        self.load(block)?;
        let found = self.seek_loaded(key);
        match found.map_err(|fault| self.table.corrupt(fault)) {
            Ok(true) => {
                self.valid = true;
                Ok(())
            }
            // The block's last key is below `key`, its separator is not.
            Ok(false) => self.seek_block(block + 1),
            Err(error) => Err(error),
        }
    }

    /// Goes forward to the first record whose key is at least `key`, which must be above that of
    /// the record. Like [`Self::seek`], but cheaper when it is near.
    pub fn advance(&mut self, key: &[u8]) -> Result<()> {
        if !self.valid || self.table.find_block(key) != self.block {
            return self.seek(key);
        }
        self.valid = false;
        self.at_block_start = false;
        let entries = &self.content[..self.entries_len];
        let found = self.walk.seek(entries, key);
        match found.map_err(|fault| self.table.corrupt(fault))? {
            true => {
                self.valid = true;
                Ok(())
            }
            false => self.seek_block(self.block + 1),
        }
    }

    fn seek_loaded(&mut self, key: &[u8]) -> std::result::Result<bool, &'static str> {
        let block = Block::parse(&self.content)?;
        self.walk.restart_at(block.search(key)?);
        let found = self.walk.seek(block.entries, key)?;
        self.at_block_start = found && self.walk.is_first();
        Ok(found)
    }

    /// Goes to the next record. A cursor that stands on none stays there.
    #[inline]
    #[expect(
        clippy::should_implement_trait,
        reason = "it moves and returns no item"
    )]
    pub fn next(&mut self) -> Result<()> {
        if !self.valid {
            return Ok(());
        }
        self.valid = false;
        if self.step()? {
            self.valid = true;
            self.at_block_start = false;
            return Ok(());
        }
        self.seek_block(self.block + 1)
    }

    /// Goes to the first record of a block, or, when it has none, of the next one that has.
    pub fn seek_block(&mut self, block: usize) -> Result<()> {
        self.valid = false;
        for block in block..self.table.block_count() {
            self.load(block)?;
            self.walk.restart_at(0);
            if self.step()? {
                self.valid = true;
                self.at_block_start = true;
                return Ok(());
            }
        }
        Ok(())
    }

    #[inline]
    fn step(&mut self) -> Result<bool> {
        let entries = &self.content[..self.entries_len];
        self.walk
            .step_set(entries)
            .map_err(|fault| self.table.corrupt(fault))
    }

    fn load(&mut self, block: usize) -> Result<()> {
        if self.block == block {
            return Ok(());
        }
        self.block = self.table.block_count();
        let raw = self.table.raw_block(block)?;
        let loaded = raw
            .copy_content(&mut self.content)
            .and_then(|()| Block::parse(&self.content));
        match loaded {
            Ok(parsed) => {
                self.entries_len = parsed.entries.len();
                self.block = block;
                Ok(())
            }
            Err(fault) => Err(Error::corrupt(self.table.path(), fault)),
        }
    }

    /// Returns whether the cursor stands on a record.
    #[inline]
    pub fn valid(&self) -> bool {
        self.valid
    }

    /// Returns the record's key; meaningless when the cursor stands on none.
    #[inline]
    pub fn key(&self) -> &[u8] {
        user_key(self.walk.key())
    }

    /// Returns the record's framed value; meaningless when the cursor stands on none.
    #[inline]
    pub fn value(&self) -> &[u8] {
        self.content.get(self.walk.value()).unwrap_or_default()
    }

    /// Returns the block that contains the record.
    pub fn block_index(&self) -> usize {
        self.block
    }

    /// Returns whether the record is the first of its block.
    pub fn at_block_start(&self) -> bool {
        self.valid && self.at_block_start
    }
}
