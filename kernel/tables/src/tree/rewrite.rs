//! Rewrites the records of one range with changes.
//!
//! Blocks into which no change falls are copied whole. Where a range may stay as it is, nothing is
//! written until a change has an effect.

use std::ops::Range;
use std::sync::Arc;

use super::changes::Change;
use super::diff::same_identity;
use super::write_result::ChangeCounts;
use crate::error::{Error, Result};
use crate::ranges::RangeWriter;
use crate::table::{Cursor, Table};

/// The writing of a range's records with changes made.
pub struct Rewrite<'a> {
    table: &'a Table,
    cursor: Cursor,
    out: &'a mut RangeWriter,
    counts: ChangeCounts,
}

impl<'a> Rewrite<'a> {
    /// Returns the rewriting of a table from its first record on.
    pub fn new(table: &'a Arc<Table>, out: &'a mut RangeWriter) -> Rewrite<'a> {
        Rewrite {
            table,
            cursor: table.cursor(),
            out,
            counts: ChangeCounts::default(),
        }
    }

    /// Writes the range if one of the changes has an effect, and returns what those did that
    /// have one; None when it is not written. No change may be behind its last key.
    pub fn run_if_effective(mut self, changes: &[Change<'_>]) -> Result<Option<ChangeCounts>> {
        match self.first_effective(changes)? {
            Some(first) => self.run(&changes[first..]).map(Some),
            None => Ok(None),
        }
    }

    /// Writes the range and returns what the changes did that have an effect. No change may be
    /// behind its last key.
    pub fn run(mut self, mut changes: &[Change<'_>]) -> Result<ChangeCounts> {
        let mut next_block = 0;
        while let Some(change) = changes.first() {
            let block = self.table.find_block(change.key);
            self.copy_blocks(next_block..block)?;
            next_block = (block + 1).min(self.table.block_count());
            let beyond = |change: &Change<'_>| {
                block < next_block && self.table.ends_before(block, change.key)
            };
            let within = changes.iter().position(beyond).unwrap_or(changes.len());
            let (touching, behind) = changes.split_at(within);
            changes = behind;
            self.rewrite_block(block, touching)?;
        }
        self.copy_blocks(next_block..self.table.block_count())?;
        Ok(self.counts)
    }

    fn first_effective(&mut self, changes: &[Change<'_>]) -> Result<Option<usize>> {
        for (number, change) in changes.iter().enumerate() {
            if number == 0 {
                self.cursor.seek(change.key)?;
            } else if self.cursor.valid() && self.cursor.key() < change.key {
                self.cursor.advance(change.key)?;
            }
            if self.effect(change)? != Effect::None {
                return Ok(Some(number));
            }
        }
        Ok(None)
    }

    fn rewrite_block(&mut self, block: usize, changes: &[Change<'_>]) -> Result<()> {
        self.cursor.seek_block(block)?;
        let mut changes = changes.iter().peekable();
        while self.cursor.valid() && self.cursor.block_index() == block {
            match changes.peek() {
                Some(change) if change.key <= self.cursor.key() => {
                    self.make(change)?;
                    changes.next();
                }
                _ => {
                    self.out.add(self.cursor.key(), self.cursor.value())?;
                    self.cursor.next()?;
                }
            }
        }
        changes.try_for_each(|change| self.make(change))
    }

    /// Makes a change; the cursor stands on the first record whose key is not below the change's.
    fn make(&mut self, change: &Change<'_>) -> Result<()> {
        let effect = self.effect(change)?;
        match effect {
            Effect::None => return Ok(()),
            Effect::Adds => self.counts.added += 1,
            Effect::Changes => self.counts.changed += 1,
            Effect::Removes => self.counts.removed += 1,
        }
        if effect != Effect::Adds {
            self.cursor.next()?;
        }
        match change.value {
            Some(value) => self.out.add(change.key, value),
            None => Ok(()),
        }
    }

    /// Returns what a change does. One that gives a key the identity it has, or deletes what is
    /// not there, does nothing.
    fn effect(&self, change: &Change<'_>) -> Result<Effect> {
        let there = self.cursor.valid() && self.cursor.key() == change.key;
        Ok(match (there, change.value) {
            (false, None) => Effect::None,
            (false, Some(_)) => Effect::Adds,
            (true, None) => Effect::Removes,
            (true, Some(value)) => {
                let same = same_identity(self.cursor.value(), value);
                match same {
                    Some(true) => Effect::None,
                    Some(false) => Effect::Changes,
                    None => return Err(Error::corrupt(self.table.path(), "a value is malformed")),
                }
            }
        })
    }

    fn copy_blocks(&mut self, mut blocks: Range<usize>) -> Result<()> {
        blocks.try_for_each(|block| self.out.add_block(self.table, block))
    }
}

/// The effect of a change.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Effect {
    None,
    Adds,
    Changes,
    Removes,
}
