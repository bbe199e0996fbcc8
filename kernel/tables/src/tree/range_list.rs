//! The ranges of a tree, as its metarange lists them.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use super::pool::TableId;
use crate::codec::RangeInfo;
use crate::error::{Error, Result};
use crate::key_tree::{KeyTree, KeyTreeBuilder, Span};
use crate::table::Table;

/// The ranges of a tree in order. Their bounds do not overlap.
#[derive(Default)]
pub struct RangeList {
    metarange_id: String,
    infos: Vec<RangeInfo>,
    ids: Vec<TableId>,
    /// The last keys of the ranges, which are searched.
    ends: KeyTree,
    /// Whether a range's file was found to be what the metarange says.
    agreed: Vec<AtomicBool>,
    count: u64,
}

impl RangeList {
    /// Reads a metarange. Fails with [`Error::Corrupt`] when it is malformed or its ranges
    /// overlap or are out of order.
    pub fn read(metarange_id: &str, table: &Arc<Table>) -> Result<RangeList> {
        let mut list = RangeList {
            metarange_id: metarange_id.to_owned(),
            ..RangeList::default()
        };
        let mut cursor = table.cursor();
        cursor.first()?;
        while cursor.valid() {
            list.add(cursor.key(), cursor.value())
                .map_err(|reason| Error::corrupt(table.path(), reason))?;
            cursor.next()?;
        }
        let mut ends = KeyTreeBuilder::default();
        for info in &list.infos {
            ends.add(&info.max_key, Span::default());
        }
        list.ends = ends.finish();
        if list.infos.len() as u64 != table.properties().count() {
            return Err(Error::corrupt(
                table.path(),
                "the number of ranges is not the one in the properties",
            ));
        }
        Ok(list)
    }

    fn add(&mut self, key: &[u8], value: &[u8]) -> std::result::Result<(), String> {
        let info = RangeInfo::decode_value(value).map_err(|error| error.to_string())?;
        let id = TableId::parse(&info.id).map_err(|error| error.to_string())?;
        if info.max_key != key {
            return Err("a range's key is not its last key".into());
        }
        if info.min_key > info.max_key {
            return Err("a range ends before it begins".into());
        }
        if self
            .infos
            .last()
            .is_some_and(|last| last.max_key >= info.min_key)
        {
            return Err("its ranges overlap or are out of order".into());
        }
        let count = u64::try_from(info.count).map_err(|_| "a range's count is negative")?;
        self.count = self
            .count
            .checked_add(count)
            .ok_or("its counts are too large")?;
        self.infos.push(info);
        self.ids.push(id);
        self.agreed.push(AtomicBool::new(false));
        Ok(())
    }

    /// Returns the tree's id, the empty string for the empty tree.
    pub fn metarange_id(&self) -> &str {
        &self.metarange_id
    }

    /// Returns what the metarange says of each range, in order.
    pub fn infos(&self) -> &[RangeInfo] {
        &self.infos
    }

    /// Returns the number of entries in all ranges.
    pub fn count(&self) -> u64 {
        self.count
    }

    /// Returns the id of a range.
    pub fn id(&self, range: usize) -> TableId {
        self.ids[range]
    }

    /// Returns the first range that ends at `key` or behind it; the number of ranges when all
    /// end before.
    #[inline]
    pub fn find(&self, key: &[u8]) -> usize {
        self.ends
            .find(key)
            .map_or(self.infos.len(), |(range, _)| range)
    }

    /// Checks that a range's file has the bounds and the count that are listed here. Fails with
    /// [`Error::Corrupt`], which names the range's file.
    #[inline]
    pub fn check(&self, range: usize, table: &Table) -> Result<()> {
        if self.agreed[range].load(Ordering::Relaxed) {
            return Ok(());
        }
        let (info, properties) = (&self.infos[range], table.properties());
        let agrees = info.min_key == properties.min_key()
            && info.max_key == properties.max_key()
            && info.count as u64 == properties.count();
        if !agrees {
            let reason = format!(
                "its bounds or count are not what the metarange {} says",
                self.metarange_id
            );
            return Err(Error::corrupt(table.path(), reason));
        }
        self.agreed[range].store(true, Ordering::Relaxed);
        Ok(())
    }
}
