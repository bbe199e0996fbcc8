//! Walks three trees together and writes what a merge makes of them.
//!
//! As far as two of them are the same, which ids of ranges and bytes of blocks tell, the result
//! is the third, or either, and is copied: whole ranges by their ids, blocks as they are stored.
//! What is left is decided key by key.

use super::compare::{Verdict, verdict};
use super::copy::copy_through;
use super::cursor::TreeCursor;
use super::diff::{equal_blocks, equal_ranges};
use super::merge::{Sides, Strategy};
use super::tree::Tree;
use crate::codec::RangeInfo;
use crate::error::Result;
use crate::ranges::RangeWriter;

/// A walk through three trees that writes what a merge makes of them.
pub struct MergeWalk<'a> {
    dest: TreeCursor,
    source: TreeCursor,
    base: TreeCursor,
    /// The last key, at which ranges of `dest` and `source` end.
    end: Option<&'a [u8]>,
    strategy: Strategy,
    out: &'a mut RangeWriter,
}

impl<'a> MergeWalk<'a> {
    /// Returns a walk over the keys from `start` on, up to `end` and with it, where ranges of
    /// destination and source end.
    pub fn new(
        sides: Sides<'_>,
        start: &[u8],
        end: Option<&'a [u8]>,
        strategy: Strategy,
        out: &'a mut RangeWriter,
    ) -> Result<MergeWalk<'a>> {
        let at_start = |tree: &Tree| {
            let mut cursor = tree.cursor();
            cursor.seek(start).map(|()| cursor)
        };
        Ok(MergeWalk {
            dest: at_start(sides.dest)?,
            source: at_start(sides.source)?,
            base: at_start(sides.base)?,
            end,
            strategy,
            out,
        })
    }

    /// Walks to the end.
    pub fn run(&mut self) -> Result<()> {
        let mut key = Vec::new();
        loop {
            if self.pass_agreeing_ranges()? || self.pass_lone_range()? || self.pass_blocks()? {
                continue;
            }
            let keys = [self.dest.key(), self.source.key(), self.base.key()];
            let Some(least) = keys.into_iter().flatten().min() else {
                return Ok(());
            };
            if self.end.is_some_and(|end| least > end) {
                return Ok(());
            }
            key.clear();
            key.extend_from_slice(least);
            self.take_record(&key)?;
        }
    }

    /// Takes the keys on which two sides agree by the ids of their ranges; returns whether there
    /// were any.
    fn pass_agreeing_ranges(&mut self) -> Result<bool> {
        if let Some((count, end)) = self.agreement(&self.source, &self.base) {
            self.source.skip_ranges(count);
            self.base.skip_ranges(count);
            copy_through(&mut self.dest, Some(&end), self.out)?;
        } else if let Some((count, end)) = self.agreement(&self.dest, &self.base) {
            self.dest.skip_ranges(count);
            self.base.skip_ranges(count);
            copy_through(&mut self.source, Some(&end), self.out)?;
        } else if let Some((count, end)) = self.agreement(&self.dest, &self.source) {
            self.source.skip_ranges(count);
            self.base.advance_past(&end)?;
            copy_through(&mut self.dest, Some(&end), self.out)?;
        } else {
            return Ok(false);
        }
        Ok(true)
    }

    /// Takes a range where only one side has anything: of the destination it is kept, of the
    /// source taken, and of the base both have deleted it. Returns whether there was one.
    fn pass_lone_range(&mut self) -> Result<bool> {
        let Self {
            dest, source, base, ..
        } = self;
        if let Some(info) = lone_range(dest, [source, base], self.end) {
            self.out.add_range(info.clone())?;
            dest.skip_ranges(1);
        } else if let Some(info) = lone_range(source, [dest, base], self.end) {
            self.out.add_range(info.clone())?;
            source.skip_ranges(1);
        } else if lone_range(base, [dest, source], self.end).is_some() {
            base.skip_ranges(1);
        } else {
            return Ok(false);
        }
        Ok(true)
    }

    /// Returns how many equal ranges lie ahead of two sides, within the piece, and the last key
    /// of them; None when there are none.
    fn agreement(&self, one: &TreeCursor, other: &TreeCursor) -> Option<(usize, Vec<u8>)> {
        let ahead = &one.whole_ranges()[..equal_ranges(one, other)];
        let within = match self.end {
            Some(end) => ahead.partition_point(|info| info.max_key.as_slice() <= end),
            None => ahead.len(),
        };
        let last = ahead[..within].last()?;
        Some((within, last.max_key.clone()))
    }

    /// Takes the keys on which two sides agree by the bytes of their blocks; returns whether
    /// there were any.
    fn pass_blocks(&mut self) -> Result<bool> {
        let Self {
            dest, source, base, ..
        } = self;
        if let Some(end) = skip_agreeing_blocks(source, base, self.end)? {
            copy_through(dest, Some(&end), self.out)?;
        } else if let Some(end) = skip_agreeing_blocks(dest, base, self.end)? {
            copy_through(source, Some(&end), self.out)?;
        } else {
            return Ok(false);
        }
        Ok(true)
    }

    /// Decides about the least key that any side has, and goes behind it.
    fn take_record(&mut self, key: &[u8]) -> Result<()> {
        let dest = value_at(&mut self.dest, key)?;
        let source = value_at(&mut self.source, key)?;
        let base = value_at(&mut self.base, key)?;
        let Some(verdict) = verdict(dest, source, base) else {
            return Err(self.dest.corrupt("a value is malformed"));
        };
        let source_is_taken = match verdict {
            Verdict::Keep => false,
            Verdict::Take => true,
            Verdict::Conflict => self.strategy == Strategy::SourceWins,
        };
        if let Some(value) = if source_is_taken { source } else { dest } {
            self.out.add(key, value)?;
        }
        for cursor in [&mut self.dest, &mut self.source, &mut self.base] {
            if cursor.key() == Some(key) {
                cursor.next()?;
            }
        }
        Ok(())
    }
}

/// Returns the range that lies ahead of one side, within the piece that ends with `end`, if the
/// others have no key up to its end.
fn lone_range<'a>(
    one: &'a TreeCursor,
    others: [&TreeCursor; 2],
    end: Option<&[u8]>,
) -> Option<&'a RangeInfo> {
    let info = one.whole_range()?;
    let max_key = info.max_key.as_slice();
    let is_behind = |other: &TreeCursor| other.key().is_none_or(|key| key > max_key);
    let is_within = end.is_none_or(|end| max_key <= end);
    (is_within && others.into_iter().all(is_behind)).then_some(info)
}

fn value_at<'a>(cursor: &'a mut TreeCursor, key: &[u8]) -> Result<Option<&'a [u8]>> {
    match cursor.key() == Some(key) {
        true => cursor.value().map(Some),
        false => Ok(None),
    }
}

/// Passes over the equal blocks that lie ahead of two sides. Returns a key up to which the two
/// then have the same records, None when there were no such blocks.
fn skip_agreeing_blocks(
    one: &mut TreeCursor,
    other: &mut TreeCursor,
    end: Option<&[u8]>,
) -> Result<Option<Vec<u8>>> {
    if !one.is_ahead_of_block() || !other.is_ahead_of_block() || one.key() != other.key() {
        return Ok(None);
    }
    one.enter()?;
    other.enter()?;
    let count = equal_blocks(one, other)?;
    let ends = [one.blocks_end(count), other.blocks_end(count)];
    let [Some(one_end), Some(other_end)] = ends else {
        return Ok(None);
    };
    one.skip_blocks(count)?;
    other.skip_blocks(count)?;
    let least = one_end.min(other_end);
    Ok(Some(match end {
        Some(end) if end < least.as_slice() => end.to_vec(),
        _ => least,
    }))
}
