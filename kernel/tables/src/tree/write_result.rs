//! The result of writing a tree.

use std::collections::HashSet;

use super::tree::Tree;
use crate::codec::RangeInfo;
use crate::error::Result;
use crate::ranges::write_metarange;
use crate::table::TableFolder;

/// The numbers of records in which a new tree differs from its base.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ChangeCounts {
    /// The number of new keys.
    pub added: u64,
    /// The number of keys with another value.
    pub changed: u64,
    /// The number of removed keys.
    pub removed: u64,
}

impl ChangeCounts {
    /// Returns whether nothing has changed.
    pub fn is_zero(self) -> bool {
        self == ChangeCounts::default()
    }

    /// Adds the counts of another part.
    pub fn add(&mut self, other: ChangeCounts) {
        self.added += other.added;
        self.changed += other.changed;
        self.removed += other.removed;
    }
}

/// A tree that was written.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct WriteResult {
    /// The name of the new metarange.
    pub metarange_id: String,
    /// Ids of the new tables: those that no tree it was made from has. All of them are in the
    /// folder, including those that already existed there.
    pub tables: Vec<String>,
    /// Entries in the tree.
    pub count: u64,
    /// What has changed.
    pub counts: ChangeCounts,
}

impl WriteResult {
    /// Returns the result of a write that results in an existing tree.
    pub fn existing(tree: &Tree, counts: ChangeCounts) -> WriteResult {
        WriteResult {
            metarange_id: tree.metarange_id().to_owned(),
            tables: Vec::new(),
            count: tree.count(),
            counts,
        }
    }

    /// Writes the metarange of ranges and syncs their folder. `origins` are the trees whose tables
    /// are not counted as written.
    pub fn write(
        ranges: &[RangeInfo],
        origins: &[&Tree],
        counts: ChangeCounts,
        folder: &TableFolder,
    ) -> Result<WriteResult> {
        WriteResult::write_with_metadata(ranges, origins, counts, &[], folder)
    }

    /// Like [`WriteResult::write`], with metadata of the metarange, which is part of its id.
    pub fn write_with_metadata(
        ranges: &[RangeInfo],
        origins: &[&Tree],
        counts: ChangeCounts,
        metadata: &[(String, String)],
        folder: &TableFolder,
    ) -> Result<WriteResult> {
        let mut known: HashSet<&str> = HashSet::new();
        for tree in origins {
            known.insert(tree.metarange_id());
            known.extend(tree.ranges().iter().map(|info| info.id.as_str()));
        }
        let (metarange_id, _) = write_metarange(ranges, metadata, folder)?;
        let ids = ranges.iter().map(|info| &info.id);
        let tables: Vec<String> = ids
            .chain([&metarange_id])
            .filter(|id| !known.contains(id.as_str()))
            .cloned()
            .collect();
        if !tables.is_empty() {
            folder.sync()?;
        }
        Ok(WriteResult {
            metarange_id,
            tables,
            count: ranges.iter().map(|info| info.count as u64).sum(),
            counts,
        })
    }
}
