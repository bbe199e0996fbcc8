//! What writing a tree came to.

use std::collections::HashSet;
use std::path::Path;

use super::tree::Tree;
use crate::codec::RangeInfo;
use crate::error::Result;
use crate::ranges::write_metarange;
use crate::table::sync_folder;

/// Records in which a new tree differs from the one it was made from.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Tally {
    pub added: u64,
    pub changed: u64,
    pub removed: u64,
}

impl Tally {
    pub fn is_zero(self) -> bool {
        self == Tally::default()
    }

    pub fn add(&mut self, other: Tally) {
        self.added += other.added;
        self.changed += other.changed;
        self.removed += other.removed;
    }
}

/// A tree that was written.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Outcome {
    pub metarange_id: String,
    /// Ids of the tables that none of the trees it was made from has. All of them are in the
    /// folder, those included that lay there already.
    pub tables: Vec<String>,
    /// Entries in the tree.
    pub count: u64,
    pub tally: Tally,
}

impl Outcome {
    /// Returns the outcome of a write that ends with a tree that is there already.
    pub fn existing(tree: &Tree, tally: Tally) -> Outcome {
        Outcome {
            metarange_id: tree.metarange_id().to_owned(),
            tables: Vec::new(),
            count: tree.count(),
            tally,
        }
    }

    /// Writes the metarange of ranges, and syncs the folder in which they are. `origins` are the
    /// trees whose tables are not counted as written.
    pub fn write(
        ranges: &[RangeInfo],
        origins: &[&Tree],
        tally: Tally,
        folder: &Path,
    ) -> Result<Outcome> {
        let mut known: HashSet<&str> = HashSet::new();
        for tree in origins {
            known.insert(tree.metarange_id());
            known.extend(tree.ranges().iter().map(|info| info.id.as_str()));
        }
        let (metarange_id, _) = write_metarange(ranges, folder)?;
        let ids = ranges.iter().map(|info| &info.id);
        let tables: Vec<String> = ids
            .chain([&metarange_id])
            .filter(|id| !known.contains(id.as_str()))
            .cloned()
            .collect();
        if !tables.is_empty() {
            sync_folder(folder)?;
        }
        Ok(Outcome {
            metarange_id,
            tables,
            count: ranges.iter().map(|info| info.count as u64).sum(),
            tally,
        })
    }
}
