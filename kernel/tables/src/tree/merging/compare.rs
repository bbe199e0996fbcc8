//! Iterates over the keys that a merge would change in its destination, and over its conflicts.
//!
//! By the identities of a key in destination, source and base: a key that the source did not change
//! stays; a key that only the source changed is taken; a key that both changed equally stays; a key
//! that both changed differently is a conflict. Only keys that differ between source and base need
//! to be examined.

use crate::codec::RangeInfo;
use crate::error::Result;
use crate::tree::cursor::TreeCursor;
use crate::tree::diff::{DiffWalk, Side, same_identity};
use crate::tree::tree::Tree;
use crate::tree::write_result::ChangeCounts;

/// The effect of a merge on a key.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Verdict {
    /// The destination is unchanged.
    Keep,
    /// The destination gets what the source has, which may be nothing.
    Take,
    /// Both sides changed it differently.
    Conflict,
}

/// Returns the effect of a merge on a key, given its framed values, each None if the side does not
/// have the key. Returns None for a malformed value.
pub fn verdict(dest: Option<&[u8]>, source: Option<&[u8]>, base: Option<&[u8]>) -> Option<Verdict> {
    Some(if same(source, base)? || same(source, dest)? {
        Verdict::Keep
    } else if same(dest, base)? {
        Verdict::Take
    } else {
        Verdict::Conflict
    })
}

fn same(a: Option<&[u8]>, b: Option<&[u8]>) -> Option<bool> {
    match (a, b) {
        (Some(a), Some(b)) if a == b => Some(true),
        (Some(a), Some(b)) => same_identity(a, b),
        (None, None) => Some(true),
        _ => Some(false),
    }
}

/// A step of a walk.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Step {
    /// To a key.
    Key,
    /// Over a whole range, which makes these differences.
    Range(RangeInfo, ChangeCounts),
}

/// A walk over what merging `source` into `dest` would do, given their base.
pub struct CompareWalk {
    changes: DiffWalk,
    dest: TreeCursor,
    verdict: Verdict,
}

/// A key that a merge would change, with its framed values.
#[derive(Clone, Copy, Debug)]
pub struct Comparison<'a> {
    /// The key.
    pub key: &'a [u8],
    /// The destination's value, if it has the key.
    pub dest: Option<&'a [u8]>,
    /// The source's value, if it has the key.
    pub source: Option<&'a [u8]>,
    /// The base's value, if it has the key.
    pub base: Option<&'a [u8]>,
    /// Whether both sides changed it differently.
    pub is_conflict: bool,
}

impl CompareWalk {
    /// Returns a walk that stands before the first key and ends before `limit`.
    pub fn new(dest: &Tree, source: &Tree, base: &Tree, limit: Option<Vec<u8>>) -> CompareWalk {
        CompareWalk {
            changes: DiffWalk::new(base, source).passing_over(dest).until(limit),
            dest: dest.cursor(),
            verdict: Verdict::Keep,
        }
    }

    /// Stands before the first comparison whose key is at least `key`.
    pub fn seek(&mut self, key: &[u8]) -> Result<()> {
        self.dest.seek(key)?;
        self.changes.seek(key)
    }

    /// Goes to the next key that is not kept; returns false when there is none.
    pub fn advance(&mut self) -> Result<bool> {
        while self.changes.advance()? {
            if self.judge()? {
                return Ok(true);
            }
        }
        Ok(false)
    }

    /// Goes to the next key that is not kept, or over the next range that a merge would take as
    /// a whole. Returns None at the end.
    pub fn advance_by_ranges(&mut self) -> Result<Option<Step>> {
        while self.changes.advance()? {
            if let Some((info, counts)) = self.pass_lone_range()? {
                return Ok(Some(Step::Range(info, counts)));
            }
            if self.judge()? {
                return Ok(Some(Step::Key));
            }
        }
        Ok(None)
    }

    /// Passes over the range ahead if the source has it where the others have nothing, or has
    /// nothing where the others have it, and returns it with what taking that does.
    fn pass_lone_range(&mut self) -> Result<Option<(RangeInfo, ChangeCounts)>> {
        let Some((side, info)) = self.changes.lone_range() else {
            return Ok(None);
        };
        let mut counts = ChangeCounts::default();
        if side == Side::Right {
            self.dest.advance_to(&info.min_key)?;
            let max_key = info.max_key.as_slice();
            if self.dest.key().is_some_and(|key| key <= max_key) {
                return Ok(None);
            }
            counts.added = info.count as u64;
        } else {
            if !self.dest.tree().has_range(info) {
                return Ok(None);
            }
            counts.removed = info.count as u64;
        }
        let info = info.clone();
        self.changes.skip_range(side);
        Ok(Some((info, counts)))
    }

    /// Decides what the merge does with the current key; returns whether it does anything.
    fn judge(&mut self) -> Result<bool> {
        let Some(change) = self.changes.current()? else {
            return Ok(false);
        };
        self.dest.advance_to(change.key)?;
        let dest = match self.dest.key() == Some(change.key) {
            true => Some(self.dest.value()?),
            false => None,
        };
        self.verdict = verdict(dest, change.right, change.left)
            .ok_or_else(|| self.dest.corrupt("a value is malformed"))?;
        Ok(self.verdict != Verdict::Keep)
    }

    /// Returns the comparison at which the walk stopped, None before the first and at the end.
    pub fn current(&mut self) -> Result<Option<Comparison<'_>>> {
        let Some(change) = self.changes.current()? else {
            return Ok(None);
        };
        let dest = match self.dest.key() == Some(change.key) {
            true => Some(self.dest.value()?),
            false => None,
        };
        Ok(Some(Comparison {
            key: change.key,
            dest,
            source: change.right,
            base: change.left,
            is_conflict: self.verdict == Verdict::Conflict,
        }))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use Verdict::{Conflict, Keep, Take};

    /// Every way in which a key can be absent or have one of three identities on three sides.
    #[test]
    fn all_rows() {
        let value = |name: &str| crate::tree::testing::value(name, "data");
        let (x, y, z) = (value("x"), value("y"), value("z"));
        let (x, y, z) = (Some(&x[..]), Some(&y[..]), Some(&z[..]));
        for (dest, source, base, expected) in [
            (x, x, x, Keep),
            (None, None, x, Keep),
            (x, x, None, Keep),
            (y, y, x, Keep),
            (y, x, x, Keep),
            (None, x, x, Keep),
            (x, None, None, Keep),
            (x, y, x, Take),
            (x, None, x, Take),
            (None, x, None, Take),
            (y, z, x, Conflict),
            (y, z, None, Conflict),
            (None, y, x, Conflict),
            (y, None, x, Conflict),
        ] {
            assert_eq!(
                verdict(dest, source, base),
                Some(expected),
                "{dest:?} {source:?} {base:?}"
            );
        }
        let other_data = crate::tree::testing::value("x", "elsewhere");
        assert_eq!(
            verdict(Some(&other_data), y, x),
            Some(Take),
            "identity decides"
        );
    }
}
