//! Writes sorted records as ranges into a folder.

use super::range_boundary::{break_after, may_break_within};
use crate::codec::RangeInfo;
use crate::error::{Error, Result};
use crate::table::{BlockScan, Kind, Table, TableFolder, TableWriter};

/// Cuts records into ranges, writes each to a file named by its id, and keeps the list.
///
/// The folder is not synced; see [`TableFolder::sync`].
pub struct RangeWriter {
    folder: TableFolder,
    metadata: Vec<(String, String)>,
    open: Option<TableWriter>,
    ranges: Vec<RangeInfo>,
    written: Vec<String>,
    closed: u64,
    scan: BlockScan,
    hash_states: Vec<u64>,
}

impl RangeWriter {
    /// Returns a writer of tables into a folder.
    pub fn new(folder: impl Into<TableFolder>) -> Self {
        RangeWriter::with_metadata(folder, &[])
    }

    /// Returns a writer of ranges that all have this metadata, which is part of their ids.
    pub fn with_metadata(folder: impl Into<TableFolder>, metadata: &[(String, String)]) -> Self {
        RangeWriter {
            folder: folder.into(),
            metadata: metadata.to_vec(),
            open: None,
            ranges: Vec::new(),
            written: Vec::new(),
            closed: 0,
            scan: BlockScan::default(),
            hash_states: Vec::new(),
        }
    }

    /// Adds a record; `value` is a framed value. Fails with [`Error::Order`] unless the key is
    /// greater than all before.
    pub fn add(&mut self, key: &[u8], value: &[u8]) -> Result<()> {
        let size = {
            let writer = self.writer_for(key)?;
            writer.add(key, value)?;
            writer.estimated_size()
        };
        if break_after(key, size) {
            self.close()?;
        }
        Ok(())
    }

    /// Adds all records of a block of another range, with the result of adding them one by one.
    /// Where it can, the block's stored bytes are copied instead of being made again.
    pub fn add_block(&mut self, table: &Table, block: usize) -> Result<()> {
        let mut scan = std::mem::take(&mut self.scan);
        let added = scan
            .load(table, block)
            .and_then(|()| self.add_scan(&scan, table.sealed_block(block)?));
        self.scan = scan;
        added
    }

    fn add_scan(&mut self, block: &BlockScan, sealed: &[u8]) -> Result<()> {
        let Some(last) = block.last_key() else {
            return Ok(());
        };
        let size = self.open.as_ref().map_or(0, TableWriter::estimated_size);
        if !block.is_canonical() || may_break_within(block, size, &mut self.hash_states) {
            return (0..block.records()).try_for_each(|number| {
                let (key, value) = block.record(number);
                self.add(key, value)
            });
        }
        let size = {
            let writer = self.writer_for(block.record(0).0)?;
            writer.add_block(block, sealed)?;
            writer.estimated_size()
        };
        if break_after(last, size) {
            self.close()?;
        }
        Ok(())
    }

    /// Adds a whole range that exists already; the range being filled ends before it.
    pub fn add_range(&mut self, info: RangeInfo) -> Result<()> {
        self.close()?;
        self.check_begins(&info.min_key)?;
        self.closed += info.count as u64;
        self.ranges.push(info);
        Ok(())
    }

    /// Returns how many records have been added, those of whole ranges included.
    pub fn count(&self) -> u64 {
        self.closed + self.open.as_ref().map_or(0, TableWriter::count)
    }

    /// Returns whether no range is being filled, so that the next record begins one.
    pub fn is_between_ranges(&self) -> bool {
        self.open.is_none()
    }

    /// Ends the range being filled, if there is one.
    pub fn close(&mut self) -> Result<()> {
        let Some(writer) = self.open.take() else {
            return Ok(());
        };
        let table = writer.finish(&self.metadata)?;
        if self.folder.write(&table)? {
            self.written.push(table.id.clone());
        }
        self.closed += table.count;
        self.ranges.push(RangeInfo {
            id: table.id,
            min_key: table.min_key,
            max_key: table.max_key,
            count: table.count as i64,
            estimated_size: table.estimated_size,
        });
        Ok(())
    }

    /// Returns all ranges in order, and the ids of those whose files were not there before.
    pub fn finish(mut self) -> Result<(Vec<RangeInfo>, Vec<String>)> {
        self.close()?;
        Ok((self.ranges, self.written))
    }

    fn writer_for(&mut self, key: &[u8]) -> Result<&mut TableWriter> {
        if self.open.is_none() {
            self.check_begins(key)?;
        }
        Ok(self
            .open
            .get_or_insert_with(|| TableWriter::new(Kind::Ranges)))
    }

    fn check_begins(&self, key: &[u8]) -> Result<()> {
        match self.ranges.last() {
            Some(last) if key <= last.max_key.as_slice() => {
                let [key, last] = [key, &last.max_key].map(String::from_utf8_lossy);
                Err(Error::Order(format!(
                    "the key {key:?} comes after {last:?}"
                )))
            }
            _ => Ok(()),
        }
    }
}
