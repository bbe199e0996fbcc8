//! A page of differences.

use super::list_range::{ListRange, upper_bound};
use crate::error::Result;
use crate::tree::diff::DiffWalk;
use crate::tree::merging::compare::CompareWalk;
use crate::tree::tree::Tree;

/// The kind of a difference.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// Only the right side has it.
    Added,
    /// Only the left side has it.
    Removed,
    /// Both sides have it, differently.
    Changed,
    /// Both sides of a merge changed it, differently.
    Conflict,
    /// It is a common prefix, and something under it differs.
    PrefixChanged,
}

impl Kind {
    /// Returns the word of the API.
    pub fn name(self) -> &'static str {
        match self {
            Kind::Added => "added",
            Kind::Removed => "removed",
            Kind::Changed => "changed",
            Kind::Conflict => "conflict",
            Kind::PrefixChanged => "prefix_changed",
        }
    }
}

/// One row of a page, with the framed values of both sides.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Row {
    /// What happened to the key.
    pub kind: Kind,
    /// The key, or a common prefix.
    pub key: Vec<u8>,
    /// The value of the left tree, if it has the key.
    pub left: Option<Vec<u8>>,
    /// The value of the right tree, if it has the key.
    pub right: Option<Vec<u8>>,
}

/// A page of differences in the order of their keys.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct DiffPage {
    /// The differences of the page.
    pub rows: Vec<Row>,
    /// Whether others follow.
    pub has_more: bool,
}

/// Returns a page of what must change in `left` to make it `right`, with keys below `limit` if there
/// is one.
pub fn diff_page(
    left: &Tree,
    right: &Tree,
    range: &ListRange,
    limit: Option<Vec<u8>>,
    amount: usize,
) -> Result<DiffPage> {
    let end = upper_bound(&range.prefix).into_iter().chain(limit).min();
    let mut walk = DiffWalk::new(left, right).until(end);
    fill(&mut walk, range, amount)
}

/// Returns a page of what merging `source` into `dest` would do, given their base.
pub fn compare_page(
    dest: &Tree,
    source: &Tree,
    base: &Tree,
    range: &ListRange,
    amount: usize,
) -> Result<DiffPage> {
    let mut walk = CompareWalk::new(dest, source, base, upper_bound(&range.prefix));
    fill(&mut walk, range, amount)
}

/// A walk over rows, in either of its two forms.
trait Walk {
    fn seek(&mut self, key: &[u8]) -> Result<()>;
    fn advance(&mut self) -> Result<bool>;
    /// Returns the key at which the walk stopped.
    fn key(&mut self) -> Result<Vec<u8>>;
    fn row(&mut self) -> Result<Option<Row>>;
}

impl Walk for DiffWalk {
    fn seek(&mut self, key: &[u8]) -> Result<()> {
        DiffWalk::seek(self, key)
    }

    fn advance(&mut self) -> Result<bool> {
        DiffWalk::advance(self)
    }

    fn key(&mut self) -> Result<Vec<u8>> {
        let found = self.current()?;
        Ok(found.map(|found| found.key.to_vec()).unwrap_or_default())
    }

    fn row(&mut self) -> Result<Option<Row>> {
        let found = self.current()?;
        Ok(found.map(|found| row(found.key, found.left, found.right)))
    }
}

impl Walk for CompareWalk {
    fn seek(&mut self, key: &[u8]) -> Result<()> {
        CompareWalk::seek(self, key)
    }

    fn advance(&mut self) -> Result<bool> {
        CompareWalk::advance(self)
    }

    fn key(&mut self) -> Result<Vec<u8>> {
        let found = self.current()?;
        Ok(found.map(|found| found.key.to_vec()).unwrap_or_default())
    }

    fn row(&mut self) -> Result<Option<Row>> {
        let found = self.current()?;
        Ok(found.map(|found| {
            let mut row = row(found.key, found.dest, found.source);
            if found.is_conflict {
                row.kind = Kind::Conflict;
            }
            row
        }))
    }
}

fn row(key: &[u8], left: Option<&[u8]>, right: Option<&[u8]>) -> Row {
    Row {
        kind: kind(left.is_some(), right.is_some()),
        key: key.to_vec(),
        left: left.map(<[u8]>::to_vec),
        right: right.map(<[u8]>::to_vec),
    }
}

/// Returns the kind of difference of a key that one side or both have.
pub fn kind(left: bool, right: bool) -> Kind {
    match (left, right) {
        (false, _) => Kind::Added,
        (true, false) => Kind::Removed,
        (true, true) => Kind::Changed,
    }
}

fn fill(walk: &mut impl Walk, range: &ListRange, amount: usize) -> Result<DiffPage> {
    let mut page = DiffPage::default();
    let Some(start) = range.start() else {
        return Ok(page);
    };
    walk.seek(&start)?;
    while walk.advance()? {
        let key = walk.key()?;
        if !range.holds(&key) {
            break;
        }
        if page.rows.len() == amount {
            page.has_more = true;
            break;
        }
        let Some(prefix) = range.common_prefix(&key) else {
            page.rows.extend(walk.row()?);
            continue;
        };
        page.rows.push(Row {
            kind: Kind::PrefixChanged,
            key: prefix.to_vec(),
            left: None,
            right: None,
        });
        match upper_bound(prefix) {
            Some(bound) => walk.seek(&bound)?,
            None => break,
        }
    }
    Ok(page)
}
