//! Walks three trees in parallel and writes their merge.
//!
//! The rule is lakeFS's, so that a merge of the same trees has the same ranges. As long as both
//! sides stand ahead of a range, whole ranges are decided on:
//!
//! - A range that both sides have is taken.
//! - A range that lies before all that is left of the other side is taken if the base has nothing
//!   there, and left out if the base has that very range (the other side deleted it); otherwise
//!   it is entered, and so is the range ahead of the other side.
//! - Of two ranges with the same bounds, of which the base has one, the other is taken.
//! - Any other two ranges that overlap are both entered.
//!
//! A side that is inside of a range decides key by key, and the other side enters each range into
//! which such a key falls. So a range is taken whole only between two ranges of the other side:
//! it never splits one that is being written.
//!
//! Inside of ranges, the destination's blocks are copied as they are stored as far as the merge
//! changes nothing; elsewhere, where the destination is the base still, those of the source.

use std::cmp::Ordering;

use super::compare::{Verdict, verdict};
use super::merge::{Sides, Strategy};
use super::stretches::Stretches;
use crate::codec::RangeInfo;
use crate::error::Result;
use crate::ranges::RangeWriter;
use crate::tree::copy::{copy_before, copy_through};
use crate::tree::cursor::TreeCursor;
use crate::tree::diff::has_equal_block;
use crate::tree::tree::Tree;

/// A walk through three trees that writes their merge.
pub struct MergeWalk<'a> {
    dest: TreeCursor,
    source: TreeCursor,
    base: TreeCursor,
    /// The last key, at which ranges of `dest` and `source` end.
    end: Option<&'a [u8]>,
    /// Where the result may differ from the destination, and the number of the first such stretch
    /// that is not passed yet.
    changed: &'a Stretches,
    next_changed: usize,
    strategy: Strategy,
    out: &'a mut RangeWriter,
}

/// Where a side of the walk stands.
enum Place<'c> {
    AheadOf(&'c RangeInfo),
    Inside(&'c [u8]),
    AtEnd,
}

/// The next step of the walk.
enum Step {
    Finish,
    /// Both sides have the range ahead.
    PassEqual,
    /// Both sides are ahead of ranges that overlap.
    PassOverlapping,
    PassDest,
    PassSource,
    EnterDest,
    EnterSource,
    Records,
}

impl<'a> MergeWalk<'a> {
    /// Returns a walk over the keys from `start` on, up to `end` and with it, where ranges of
    /// destination and source end. Outside of `changed` the result is the destination.
    pub fn new(
        sides: Sides<'_>,
        start: &[u8],
        end: Option<&'a [u8]>,
        changed: &'a Stretches,
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
            changed,
            next_changed: 0,
            strategy,
            out,
        })
    }

    /// Walks to the end.
    pub fn run(&mut self) -> Result<()> {
        let mut key = Vec::new();
        loop {
            match next_step(self.place(&self.dest), self.place(&self.source)) {
                Step::Finish => return Ok(()),
                Step::PassEqual => {
                    self.source.skip_ranges(1);
                    take_range(&mut self.dest, self.out)?;
                }
                Step::PassOverlapping => self.pass_overlapping()?,
                Step::PassDest => {
                    let Self { dest, base, .. } = self;
                    if !pass_lone_range(dest, base.tree(), self.out)? {
                        self.enter_both()?;
                    }
                }
                Step::PassSource => {
                    let Self { source, base, .. } = self;
                    if !pass_lone_range(source, base.tree(), self.out)? {
                        self.enter_both()?;
                    }
                }
                Step::EnterDest => self.dest.enter()?,
                Step::EnterSource => self.source.enter()?,
                Step::Records => self.take_records(&mut key)?,
            }
        }
    }

    fn place<'c>(&self, side: &'c TreeCursor) -> Place<'c> {
        match (side.key(), self.end) {
            (None, _) => Place::AtEnd,
            (Some(key), Some(end)) if key > end => Place::AtEnd,
            (Some(key), _) => side
                .whole_range()
                .map_or(Place::Inside(key), Place::AheadOf),
        }
    }

    /// Takes one of two overlapping ranges, or enters both.
    fn pass_overlapping(&mut self) -> Result<()> {
        let Self {
            dest, source, base, ..
        } = self;
        if let (Some(ours), Some(theirs)) = (dest.whole_range(), source.whole_range())
            && ours.min_key == theirs.min_key
            && ours.max_key == theirs.max_key
            && let Some(common) = first_overlapping(base.tree(), ours)
        {
            if common.id == theirs.id {
                source.skip_ranges(1);
                return take_range(dest, self.out);
            }
            if common.id == ours.id {
                dest.skip_ranges(1);
                return take_range(source, self.out);
            }
        }
        self.enter_both()
    }

    /// Enters the ranges ahead, as far as they are in the piece.
    fn enter_both(&mut self) -> Result<()> {
        for side in [&mut self.dest, &mut self.source] {
            if side
                .key()
                .is_some_and(|key| self.end.is_none_or(|end| key <= end))
            {
                side.enter()?;
            }
        }
        Ok(())
    }

    /// Decides about the least key of the sides that are inside of ranges, and goes behind it, or
    /// as far as is as easily decided. `key` is reused from call to call.
    fn take_records(&mut self, key: &mut Vec<u8>) -> Result<()> {
        let inside = [&self.dest, &self.source].map(|side| match side.whole_range() {
            Some(_) => None,
            None => side.key(),
        });
        let Some(least) = inside.into_iter().flatten().min() else {
            return Ok(());
        };
        key.clear();
        key.extend_from_slice(least);
        self.next_changed = self.changed.find(self.next_changed, key);
        let next_changed = self.changed.first_key(self.next_changed);
        if next_changed.is_none_or(|next| next > key.as_slice()) {
            return self.copy_unchanged(next_changed);
        }
        let Self {
            dest, source, base, ..
        } = self;
        base.advance_to(key)?;
        if let Some(end) = skip_agreeing_blocks(dest, base, source)? {
            copy_through(source, Some(&end), self.out)
        } else {
            self.take_record(key)
        }
    }

    /// Copies records of the destination and passes over those of the source, before the key
    /// `limit` and as long as no side leaves its range or reaches one.
    fn copy_unchanged(&mut self, limit: Option<&[u8]>) -> Result<()> {
        let sides = [&self.dest, &self.source];
        let ends = sides.map(|side| match side.whole_range() {
            Some(_) => None,
            None => side.range().map(|info| info.max_key.clone()),
        });
        let begins = sides.map(|side| side.whole_range().map(|info| info.min_key.clone()));
        let Some(last) = ends.into_iter().flatten().min() else {
            return Ok(());
        };
        let begin = begins.into_iter().flatten().min();
        let behind = begin.as_deref().into_iter().chain(limit).min();
        match behind.filter(|behind| *behind <= last.as_slice()) {
            Some(behind) => {
                copy_before(&mut self.dest, behind, self.out)?;
                self.source.advance_to(behind)
            }
            None => {
                copy_through(&mut self.dest, Some(&last), self.out)?;
                self.source.advance_past(&last)
            }
        }
    }

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

fn next_step(dest: Place<'_>, source: Place<'_>) -> Step {
    match (dest, source) {
        (Place::AtEnd, Place::AtEnd) => Step::Finish,
        (Place::AheadOf(_), Place::AtEnd) => Step::PassDest,
        (Place::AtEnd, Place::AheadOf(_)) => Step::PassSource,
        (Place::AheadOf(ours), Place::AheadOf(theirs)) => {
            if ours.id == theirs.id {
                Step::PassEqual
            } else if ours.max_key < theirs.min_key {
                Step::PassDest
            } else if theirs.max_key < ours.min_key {
                Step::PassSource
            } else {
                Step::PassOverlapping
            }
        }
        (Place::AheadOf(info), Place::Inside(key)) => match order(info, key) {
            Ordering::Less => Step::PassDest,
            Ordering::Equal => Step::EnterDest,
            Ordering::Greater => Step::Records,
        },
        (Place::Inside(key), Place::AheadOf(info)) => match order(info, key) {
            Ordering::Less => Step::PassSource,
            Ordering::Equal => Step::EnterSource,
            Ordering::Greater => Step::Records,
        },
        (Place::Inside(_), _) | (_, Place::Inside(_)) => Step::Records,
    }
}

/// Returns whether a range is before a key, after it, or contains it.
fn order(info: &RangeInfo, key: &[u8]) -> Ordering {
    if info.max_key.as_slice() < key {
        Ordering::Less
    } else if info.min_key.as_slice() > key {
        Ordering::Greater
    } else {
        Ordering::Equal
    }
}

fn take_range(side: &mut TreeCursor, out: &mut RangeWriter) -> Result<()> {
    if let Some(info) = side.whole_range() {
        out.add_range(info.clone())?;
    }
    side.skip_ranges(1);
    Ok(())
}

/// Takes the range ahead of a side where the other side has nothing, or leaves it out. Returns
/// false where it has to be entered.
fn pass_lone_range(side: &mut TreeCursor, base: &Tree, out: &mut RangeWriter) -> Result<bool> {
    let Some(info) = side.whole_range() else {
        return Ok(true);
    };
    match first_overlapping(base, info) {
        None => take_range(side, out)?,
        Some(common) if common.id == info.id => side.skip_ranges(1),
        Some(_) => return Ok(false),
    }
    Ok(true)
}

/// Returns the first range of a tree that overlaps `info`.
fn first_overlapping<'t>(tree: &'t Tree, info: &RangeInfo) -> Option<&'t RangeInfo> {
    let found = tree.ranges().get(tree.find_range(&info.min_key))?;
    (found.min_key <= info.max_key).then_some(found)
}

fn value_at<'a>(cursor: &'a mut TreeCursor, key: &[u8]) -> Result<Option<&'a [u8]>> {
    match cursor.key() == Some(key) {
        true => cursor.value().map(Some),
        false => Ok(None),
    }
}

/// Passes over the blocks ahead in which a side, inside of a range, is the base still. Returns a
/// key up to which the two then have the same records, None when there are no such blocks. Up to
/// that key `other` neither leaves its range nor reaches one.
fn skip_agreeing_blocks(
    side: &mut TreeCursor,
    base: &mut TreeCursor,
    other: &TreeCursor,
) -> Result<Option<Vec<u8>>> {
    if !base.is_ahead_of_block() || side.key() != base.key() {
        return Ok(None);
    }
    let fits = |end: Vec<u8>| match (other.whole_range(), other.range()) {
        (Some(ahead), _) => end < ahead.min_key,
        (None, Some(entered)) => end <= entered.max_key,
        (None, None) => true,
    };
    let mut count = 0;
    while side.blocks_end(count + 1).is_some_and(fits) {
        base.enter()?;
        if !has_equal_block(side, base, count)? {
            break;
        }
        count += 1;
    }
    let ends = [side.blocks_end(count), base.blocks_end(count)];
    let [Some(side_end), Some(base_end)] = ends else {
        return Ok(None);
    };
    side.skip_blocks(count)?;
    base.skip_blocks(count)?;
    Ok(Some(side_end.min(base_end)))
}
