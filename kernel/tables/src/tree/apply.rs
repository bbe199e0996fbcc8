//! Applies changes to a tree.
//!
//! As in lakeFS, a range is reused unless a change falls into it or into the gap before it; the
//! other ranges are rewritten together with their neighbours, and get new boundaries. That includes
//! changes without effect, but a range that would not change is not written.
//!
//! A boundary after a key whose hash ends a range stays as long as the key exists. The ranges before
//! and after such a boundary are therefore independent, and are written in parallel.

use std::ops::Range;

use super::changes::{Change, Changes};
use super::parallel;
use super::rewrite::Rewrite;
use super::tree::Tree;
use super::write_result::{ChangeCounts, WriteResult};
use crate::codec::RangeInfo;
use crate::error::{Error, Result};
use crate::ranges::{RangeWriter, break_after};
use crate::table::{Table, TableFolder};

/// Writes the tree with changes applied into `folder`. If they have no effect, nothing is written.
pub fn apply(
    base: &Tree,
    changes: &Changes,
    folder: impl Into<TableFolder>,
) -> Result<WriteResult> {
    let folder = &folder.into();
    let pieces = pieces(base, changes);
    let entries = base.count() + changes.len() as u64;
    let done = parallel::each_of(entries, pieces.len(), |number| {
        pieces[number].apply(base, changes, folder)
    })?;
    let mut counts = ChangeCounts::default();
    let mut ranges = Vec::with_capacity(base.ranges().len() + pieces.len());
    for (piece_ranges, piece_counts) in done {
        ranges.extend(piece_ranges);
        counts.add(piece_counts);
    }
    if counts.is_zero() {
        return Ok(WriteResult::existing(base, counts));
    }
    WriteResult::write(&ranges, &[base], counts, folder)
}

/// Neighbouring ranges, and the changes that fall into them and the gaps before them; behind
/// the last range those that come after it.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Piece {
    ranges: Range<usize>,
    changes: Range<usize>,
}

/// Splits a tree at boundaries that cannot move, such that each piece has changes.
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

/// Returns whether a range's last key ends it by its hash and is not deleted; `next_change` is the
/// first change after it.
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
        folder: &TableFolder,
    ) -> Result<(Vec<RangeInfo>, ChangeCounts)> {
        let changes: Vec<Change<'_>> = changes.slice(self.changes.clone()).collect();
        let mut out = RangeWriter::new(folder);
        let counts = rewrite_ranges(base, self.ranges.clone(), &changes, &mut out)?;
        Ok((out.finish()?.0, counts))
    }
}

/// Writes neighbouring ranges with changes applied, which are greater than all keys of earlier
/// ranges, and counts the changes with an effect.
pub(super) fn rewrite_ranges(
    base: &Tree,
    ranges: Range<usize>,
    mut changes: &[Change<'_>],
    out: &mut RangeWriter,
) -> Result<ChangeCounts> {
    let mut counts = ChangeCounts::default();
    for number in ranges.clone() {
        let info = &base.ranges()[number];
        let within = changes.partition_point(|change| change.key <= info.max_key.as_slice());
        let (touching, behind) = changes.split_at(within);
        changes = behind;
        if touching.is_empty() {
            out.add_range(info.clone())?;
            continue;
        }
        let next = ranges
            .contains(&(number + 1))
            .then(|| &base.ranges()[number + 1]);
        let stays = out.is_between_ranges() && is_cut_off(info, next, changes);
        let table = base.table(number)?;
        let rewrite = Rewrite::new(&table, out);
        let made = if stays {
            rewrite.run_if_effective(touching)
        } else {
            rewrite.run(touching).map(Some)
        };
        match made.map_err(|error| blame(&table, error))? {
            Some(made) => counts.add(made),
            None => out.add_range(info.clone())?,
        }
    }
    for change in changes {
        if let Some(value) = change.value {
            counts.added += 1;
            out.add(change.key, value)?;
        }
    }
    Ok(counts)
}

/// Returns whether a rewritten range keeps its end, given the next range and the changes after it.
fn is_cut_off(info: &RangeInfo, next: Option<&RangeInfo>, changes: &[Change<'_>]) -> bool {
    let next_is_kept = match (next, changes.first()) {
        (Some(next), Some(change)) => change.key > next.max_key.as_slice(),
        (_, None) => true,
        (None, Some(_)) => false,
    };
    next_is_kept || break_after(&info.max_key, info.estimated_size)
}

/// The changes are in order, so records out of order mean that the table is damaged.
fn blame(table: &Table, error: Error) -> Error {
    match error {
        Error::Order(reason) => Error::corrupt(table.path(), reason),
        other => other,
    }
}
