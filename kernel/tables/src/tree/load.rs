//! Writes a tree from sorted records.

use super::write_result::{ChangeCounts, WriteResult};
use crate::codec::RangeInfo;
use crate::error::Result;
use crate::ranges::RangeWriter;
use crate::table::TableFolder;

/// A tree being written.
pub struct Loader {
    folder: TableFolder,
    metadata: Vec<(String, String)>,
    out: RangeWriter,
}

impl Loader {
    /// Returns a loader that writes tables into a folder.
    pub fn new(folder: impl Into<TableFolder>) -> Loader {
        Loader::with_metadata(folder, &[])
    }

    /// Returns a loader whose tables all have this metadata, which is part of their ids.
    pub fn with_metadata(folder: impl Into<TableFolder>, metadata: &[(String, String)]) -> Loader {
        let folder = folder.into();
        Loader {
            out: RangeWriter::with_metadata(&folder, metadata),
            folder,
            metadata: metadata.to_vec(),
        }
    }

    /// Adds a record; `value` is a framed value. Fails with [`crate::Error::Order`] unless the
    /// key is greater than all before.
    pub fn add(&mut self, key: &[u8], value: &[u8]) -> Result<()> {
        self.out.add(key, value)
    }

    /// Completes the tree and writes its metarange.
    pub fn finish(self) -> Result<WriteResult> {
        let (ranges, _) = self.out.finish()?;
        let added = ranges.iter().map(|info| info.count as u64).sum();
        let counts = ChangeCounts {
            added,
            ..ChangeCounts::default()
        };
        WriteResult::write_with_metadata(&ranges, &[], counts, &self.metadata, &self.folder)
    }

    /// Ends the last range and returns all of them, without a metarange.
    pub fn finish_ranges(self) -> Result<Vec<RangeInfo>> {
        let (ranges, _) = self.out.finish()?;
        self.folder.sync()?;
        Ok(ranges)
    }
}
