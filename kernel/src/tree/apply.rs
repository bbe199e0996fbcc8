//! Makes changes in a tree.
//!
//! The rule is lakeFS's: a range is kept as it is unless a change falls into it or into the gap
//! before it; the others are written anew, and cut anew, together with what is beside them.
//! Only changes that have an effect count.
//!
//! A cut behind a key whose hash wants one stays where it is as long as the key does. So the
//! ranges before and behind such a cut have nothing to do with each other, and are written at
//! the same time.

use std::ops::Range;
use std::path::Path;
use std::sync::Arc;

use super::changes::{Change, Changes};
use super::outcome::{Outcome, Tally};
use super::parallel;
use super::tree::Tree;
use crate::codec::RangeInfo;
use crate::error::{Error, Result};
use crate::ranges::{RangeWriter, break_after};
use crate::table::Table;

/// Writes the tree with changes made into `folder`. A tree that they do not change is not
/// written.
pub fn apply(base: &Tree, changes: &Changes, folder: &Path) -> Result<Outcome> {
    let pieces = pieces(base, changes);
    let done = parallel::each(pieces.len(), |number| {
        pieces[number].apply(base, changes, folder)
    })?;
    let mut tally = Tally::default();
    let mut ranges = Vec::with_capacity(base.ranges().len() + pieces.len());
    for (piece_ranges, piece_tally) in done {
        ranges.extend(piece_ranges);
        tally.add(piece_tally);
    }
    if tally.is_zero() {
        return Ok(Outcome::existing(base, tally));
    }
    Outcome::write(&ranges, &[base], tally, folder)
}

/// Neighbouring ranges, and the changes that fall into them and the gaps before them; behind
/// the last range those that come after it.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Piece {
    ranges: Range<usize>,
    changes: Range<usize>,
}

/// Parts a tree where a cut is sure to stay, but so that each piece has changes.
fn pieces(base: &Tree, changes: &Changes) -> Vec<Piece> {
    let mut pieces = Vec::new();
    let (mut first_range, mut first_change) = (0, 0);
    for (number, info) in base.ranges().iter().enumerate() {
        let next_change = changes.count_through(&info.max_key);
        if next_change > first_change && cut_stays(info, changes, next_change) {
            pieces.push(Piece {
                ranges: first_range..number + 1,
                changes: first_change..next_change,
            });
            (first_range, first_change) = (number + 1, next_change);
        }
    }
    pieces.push(Piece {
        ranges: first_range..base.ranges().len(),
        changes: first_change..changes.len(),
    });
    pieces
}

/// Returns whether a range's last key cuts by its hash and is not deleted; `next_change` is the
/// first change behind it.
fn cut_stays(info: &RangeInfo, changes: &Changes, next_change: usize) -> bool {
    let last = changes.get(next_change - 1);
    let deleted = last.key == info.max_key && last.value.is_none();
    !deleted && break_after(&info.max_key, 0)
}

impl Piece {
    fn apply(
        &self,
        base: &Tree,
        changes: &Changes,
        folder: &Path,
    ) -> Result<(Vec<RangeInfo>, Tally)> {
        let mut tally = Tally::default();
        let effective = changes.effective(base, self.changes.clone(), &mut tally)?;
        let mut out = RangeWriter::new(folder);
        rewrite_ranges(base, self.ranges.clone(), &effective, &mut out)?;
        Ok((out.finish()?.0, tally))
    }
}

/// Writes neighbouring ranges with changes made, all of which have an effect, and come behind
/// the ranges before these.
pub(super) fn rewrite_ranges(
    base: &Tree,
    ranges: Range<usize>,
    mut changes: &[Change<'_>],
    out: &mut RangeWriter,
) -> Result<()> {
    for range in ranges {
        let info = &base.ranges()[range];
        let within = changes.partition_point(|change| change.key <= info.max_key.as_slice());
        let (touching, behind) = changes.split_at(within);
        changes = behind;
        if touching.is_empty() {
            out.add_range(info.clone())?;
        } else {
            let table = base.table(range)?;
            rewrite(&table, touching, out).map_err(|error| blame(&table, error))?;
        }
    }
    changes.iter().try_for_each(|change| put(change, out))
}

/// The changes are in order, so when records are not, the table is to blame.
fn blame(table: &Table, error: Error) -> Error {
    match error {
        Error::Order(reason) => Error::corrupt(table.path(), reason),
        other => other,
    }
}

/// Writes a range's records with changes made, of which none is behind its last key.
fn rewrite(table: &Arc<Table>, mut changes: &[Change<'_>], out: &mut RangeWriter) -> Result<()> {
    let mut cursor = table.cursor();
    let mut next_block = 0;
    while let Some(change) = changes.first() {
        let block = table.find_block(change.key);
        copy_blocks(table, next_block..block, out)?;
        next_block = (block + 1).min(table.block_count());
        let within = changes.partition_point(|change| table.find_block(change.key) == block);
        let (touching, behind) = changes.split_at(within);
        changes = behind;
        cursor.seek_block(block)?;
        let mut touching = touching.iter().peekable();
        while cursor.valid() && cursor.block_index() == block {
            match touching.peek() {
                Some(change) if change.key <= cursor.key() => {
                    if change.key == cursor.key() {
                        cursor.next()?;
                    }
                    put(change, out)?;
                    touching.next();
                }
                _ => {
                    out.add(cursor.key(), cursor.value())?;
                    cursor.next()?;
                }
            }
        }
        touching.try_for_each(|change| put(change, out))?;
    }
    copy_blocks(table, next_block..table.block_count(), out)
}

fn copy_blocks(table: &Table, mut blocks: Range<usize>, out: &mut RangeWriter) -> Result<()> {
    blocks.try_for_each(|block| out.add_block(table, block))
}

fn put(change: &Change<'_>, out: &mut RangeWriter) -> Result<()> {
    match change.value {
        Some(value) => out.add(change.key, value),
        None => Ok(()),
    }
}
