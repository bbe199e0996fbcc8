//! A page of the keys that both sides of a merge changed differently.

use super::compare::{CompareWalk, Step};
use super::merge::Sides;
use crate::error::Result;
use crate::tree::pages::list_range::{ListRange, upper_bound};

/// A conflicting key, with the framed values of the three trees; None if a tree does not have it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Conflict {
    /// The key.
    pub key: Vec<u8>,
    /// The base's value.
    pub base: Option<Vec<u8>>,
    /// The source's value.
    pub source: Option<Vec<u8>>,
    /// The destination's value.
    pub dest: Option<Vec<u8>>,
}

/// A page of conflicts in the order of their keys.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ConflictPage {
    /// The conflicts of the page.
    pub conflicts: Vec<Conflict>,
    /// Whether others follow.
    pub has_more: bool,
}

/// Returns at most `amount` conflicts of a merge, those in `range`, whose delimiter is ignored.
pub fn conflict_page(sides: Sides<'_>, range: &ListRange, amount: usize) -> Result<ConflictPage> {
    let mut page = ConflictPage::default();
    let Some(start) = range.start() else {
        return Ok(page);
    };
    let limit = upper_bound(&range.prefix);
    let mut walk = CompareWalk::new(sides.dest, sides.source, sides.base, limit);
    walk.seek(&start)?;
    while let Some(step) = walk.advance_by_ranges()? {
        if step != Step::Key {
            continue;
        }
        let Some(found) = walk.current()?.filter(|found| found.is_conflict) else {
            continue;
        };
        if page.conflicts.len() == amount {
            page.has_more = true;
            break;
        }
        page.conflicts.push(Conflict {
            key: found.key.to_vec(),
            base: found.base.map(<[u8]>::to_vec),
            source: found.source.map(<[u8]>::to_vec),
            dest: found.dest.map(<[u8]>::to_vec),
        });
    }
    Ok(page)
}
