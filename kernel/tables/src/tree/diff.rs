//! Iterates over the differences of two trees.
//!
//! Ranges with equal ids have equal records and are skipped without opening them; blocks with equal
//! stored bytes are skipped too. Two values are equal if their identities are.
//!
//! A walk with a limit opens no range that begins at it or behind it, and of the blocks that end
//! there it reads at most two: a reader may have no more of the files.

use std::cmp::Ordering;

use super::cursor::TreeCursor;
use super::tree::Tree;
use crate::codec::{RangeInfo, decode_value};
use crate::error::{Error, Result};
use crate::table::Table;

/// An iterator over the keys at which two trees differ.
pub struct DiffWalk {
    left: TreeCursor,
    right: TreeCursor,
    /// A tree whose ranges are skipped in the right tree.
    known: Option<Tree>,
    /// The least key that the walk no longer shows.
    limit: Option<Vec<u8>>,
    found: Found,
}

/// A side of a walk.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Side {
    /// The first tree.
    Left,
    /// The second tree.
    Right,
}

/// Which sides have the key at which the walk stopped.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct Found {
    left: bool,
    right: bool,
}

/// A key at which the trees differ, with its framed values; at least one side has it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Difference<'a> {
    /// The key.
    pub key: &'a [u8],
    /// The value of the left tree, if it has the key.
    pub left: Option<&'a [u8]>,
    /// The value of the right tree, if it has the key.
    pub right: Option<&'a [u8]>,
}

impl DiffWalk {
    /// Returns a walk that stands before the first difference.
    pub fn new(left: &Tree, right: &Tree) -> DiffWalk {
        DiffWalk {
            left: left.cursor(),
            right: right.cursor(),
            known: None,
            limit: None,
            found: Found::default(),
        }
    }

    /// Makes the walk pass over those ranges of the right tree that `known` has too, whatever
    /// the left one has in their place.
    pub fn passing_over(mut self, known: &Tree) -> DiffWalk {
        self.known = Some(known.clone());
        self
    }

    /// Makes the walk end before `limit`, if there is one.
    pub fn until(mut self, limit: Option<Vec<u8>>) -> DiffWalk {
        self.limit = limit;
        self
    }

    /// Stands before the first difference whose key is at least `key`.
    pub fn seek(&mut self, key: &[u8]) -> Result<()> {
        self.found = Found::default();
        self.left.seek(key)?;
        self.right.seek(key)
    }

    /// Goes to the next difference; returns false when there is none.
    pub fn advance(&mut self) -> Result<bool> {
        self.step()?;
        loop {
            if self.is_at_limit() {
                return Ok(false);
            }
            self.skip_whole()?;
            let (key, order) = match (self.left.key(), self.right.key()) {
                (None, None) => return Ok(false),
                (Some(left), None) => (left, Ordering::Less),
                (None, Some(right)) => (right, Ordering::Greater),
                (Some(left), Some(right)) => (left.min(right), left.cmp(right)),
            };
            if self.limit.as_deref().is_some_and(|limit| key >= limit) {
                return Ok(false);
            }
            self.found = Found {
                left: order.is_le(),
                right: order.is_ge(),
            };
            if order.is_ne() || !self.same_identity()? {
                return Ok(true);
            }
            self.step()?;
        }
    }

    /// Returns the range that begins with the difference at which the walk stopped, if all of it
    /// is on one side with nothing in its place on the other.
    pub fn lone_range(&self) -> Option<(Side, &RangeInfo)> {
        let (side, one, other) = match self.found {
            Found {
                left: true,
                right: false,
            } => (Side::Left, &self.left, &self.right),
            Found {
                left: false,
                right: true,
            } => (Side::Right, &self.right, &self.left),
            _ => return None,
        };
        let info = one.whole_range()?;
        let max_key = info.max_key.as_slice();
        let alone = other.key().is_none_or(|key| key > max_key);
        let within = self.limit.as_deref().is_none_or(|limit| max_key < limit);
        (alone && within).then_some((side, info))
    }

    /// Passes over the range that begins with the difference at which the walk stopped.
    pub fn skip_range(&mut self, side: Side) {
        self.found = Found::default();
        match side {
            Side::Left => self.left.skip_ranges(1),
            Side::Right => self.right.skip_ranges(1),
        }
    }

    /// Passes over the record at which the walk stopped.
    fn step(&mut self) -> Result<()> {
        if self.found.left {
            self.left.next()?;
        }
        if self.found.right {
            self.right.next()?;
        }
        self.found = Found::default();
        Ok(())
    }

    /// Returns whether neither side has a record below the limit.
    fn is_at_limit(&self) -> bool {
        self.limit.as_deref().is_some_and(|limit| {
            let ended = |cursor: &TreeCursor| cursor.key().is_none_or(|key| key >= limit);
            ended(&self.left) && ended(&self.right)
        })
    }

    fn skip_whole(&mut self) -> Result<()> {
        while !self.is_at_limit()
            && (skip_equal_ranges(&mut self.left, &mut self.right)
                || self.skip_known_range()?
                || skip_equal_blocks(&mut self.left, &mut self.right, self.limit.as_deref())?)
        {
        }
        Ok(())
    }

    fn skip_known_range(&mut self) -> Result<bool> {
        let (Some(known), Some(info)) = (&self.known, self.right.whole_range()) else {
            return Ok(false);
        };
        let left_is_behind = self
            .left
            .key()
            .is_some_and(|key| key < info.min_key.as_slice());
        if left_is_behind || !known.has_range(info) {
            return Ok(false);
        }
        self.left.advance_past(&info.max_key)?;
        self.right.skip_ranges(1);
        Ok(true)
    }

    fn same_identity(&mut self) -> Result<bool> {
        let (left, right) = (self.left.value()?, self.right.value()?);
        if left == right {
            return Ok(true);
        }
        same_identity(left, right).ok_or_else(|| self.right.corrupt("a value is malformed"))
    }

    /// Returns the error for a value of the difference at which the walk stopped.
    pub fn corrupt(&self, reason: &str) -> Error {
        let cursor = match self.found.right {
            true => &self.right,
            false => &self.left,
        };
        cursor.corrupt(reason)
    }

    /// Returns the difference at which the walk stopped, None before the first and at the end.
    pub fn current(&mut self) -> Result<Option<Difference<'_>>> {
        let left = match self.found.left {
            true => self.left.record()?,
            false => None,
        };
        let right = match self.found.right {
            true => self.right.record()?,
            false => None,
        };
        let key = left.or(right).map(|(key, _)| key);
        Ok(key.map(|key| Difference {
            key,
            left: left.map(|(_, value)| value),
            right: right.map(|(_, value)| value),
        }))
    }
}

/// Returns whether two framed values have the same identity, None when one is malformed.
pub fn same_identity(a: &[u8], b: &[u8]) -> Option<bool> {
    Some(decode_value(a)?.0 == decode_value(b)?.0)
}

/// Passes over the ranges with the same ids that lie ahead of both; returns whether there were
/// any.
fn skip_equal_ranges(left: &mut TreeCursor, right: &mut TreeCursor) -> bool {
    let equal = equal_ranges(left, right);
    if equal > 0 {
        left.skip_ranges(equal);
        right.skip_ranges(equal);
    }
    equal > 0
}

/// Returns how many ranges with the same ids lie ahead of both.
fn equal_ranges(left: &TreeCursor, right: &TreeCursor) -> usize {
    let pairs = left.whole_ranges().iter().zip(right.whole_ranges());
    pairs.take_while(|(l, r)| l.id == r.id).count()
}

/// Passes over the equal blocks that lie ahead of both and have only keys below the limit, entering
/// ranges that begin with the same key; returns whether there were any.
fn skip_equal_blocks(
    left: &mut TreeCursor,
    right: &mut TreeCursor,
    limit: Option<&[u8]>,
) -> Result<bool> {
    if !left.is_ahead_of_block() || !right.is_ahead_of_block() || left.key() != right.key() {
        return Ok(false);
    }
    left.enter()?;
    right.enter()?;
    let equal = equal_blocks(left, right, limit)?;
    if equal > 0 {
        left.skip_blocks(equal)?;
        right.skip_blocks(equal)?;
    }
    Ok(equal > 0)
}

/// Returns how many blocks with equal bytes lie ahead of both, within the ranges entered and before
/// the blocks that may have the limit.
fn equal_blocks(left: &TreeCursor, right: &TreeCursor, limit: Option<&[u8]>) -> Result<usize> {
    let (Some((left, left_first)), Some((right, right_first))) =
        (left.block_ahead(), right.block_ahead())
    else {
        return Ok(0);
    };
    let most = limit.map_or(usize::MAX, |limit| {
        let within = |table: &Table, first| table.find_block(limit).saturating_sub(first);
        within(left, left_first).min(within(right, right_first))
    });
    left.count_equal_blocks(left_first, right, right_first, most)
}

/// Returns whether the blocks that lie so many blocks ahead of both, within the ranges entered,
/// have equal bytes; false where one has none.
pub fn has_equal_block(left: &TreeCursor, right: &TreeCursor, ahead: usize) -> Result<bool> {
    let (Some((left, left_first)), Some((right, right_first))) =
        (left.block_ahead(), right.block_ahead())
    else {
        return Ok(false);
    };
    let (mine, theirs) = (left_first + ahead, right_first + ahead);
    if mine >= left.block_count() || theirs >= right.block_count() {
        return Ok(false);
    }
    Ok(left.sealed_block(mine)? == right.sealed_block(theirs)?)
}
