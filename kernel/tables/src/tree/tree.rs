//! A tree: all records of one commit, ordered by the bytes of their keys. Immutable.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use super::cursor::TreeCursor;
use super::pool::{Locate, Pool, TableId};
use super::range_list::RangeList;
use crate::codec::RangeInfo;
use crate::error::Result;
use crate::table::Table;

/// A tree, cheap to copy. Its ranges are opened when they are needed.
#[derive(Clone)]
pub struct Tree {
    pool: Arc<Pool>,
    list: Arc<RangeList>,
    locate: Arc<dyn Locate>,
}

/// Finds tables in a folder first.
struct InFolder {
    folder: PathBuf,
    elsewhere: Arc<dyn Locate>,
}

impl Locate for InFolder {
    fn locate(&self, table_id: &str) -> Result<PathBuf> {
        let path = self.folder.join(table_id);
        if path.exists() {
            Ok(path)
        } else {
            self.elsewhere.locate(table_id)
        }
    }
}

impl Tree {
    /// Opens the tree of a metarange; the id of the empty tree is the empty string.
    /// Fails with [`crate::Error::Missing`] or [`crate::Error::Corrupt`].
    pub fn open(pool: &Arc<Pool>, metarange_id: &str, locate: Arc<dyn Locate>) -> Result<Tree> {
        let list = if metarange_id.is_empty() {
            Arc::default()
        } else {
            pool.metarange(TableId::parse(metarange_id)?, metarange_id, &*locate)?
        };
        Ok(Tree {
            pool: Arc::clone(pool),
            list,
            locate,
        })
    }

    /// Opens another tree, whose tables are in a folder or where those of this one are.
    pub fn beside(&self, metarange_id: &str, folder: &Path) -> Result<Tree> {
        let (folder, elsewhere) = (folder.to_owned(), Arc::clone(&self.locate));
        let locate = InFolder { folder, elsewhere };
        Tree::open(&self.pool, metarange_id, Arc::new(locate))
    }

    /// Returns the name of the metarange; empty for the tree without records.
    pub fn metarange_id(&self) -> &str {
        self.list.metarange_id()
    }

    /// Returns the number of entries.
    pub fn count(&self) -> u64 {
        self.list.count()
    }

    /// Returns the ranges in the order of their keys.
    pub fn ranges(&self) -> &[RangeInfo] {
        self.list.infos()
    }

    /// Returns the first range that ends at `key` or behind it, [`Self::ranges`]'s length when
    /// there is none.
    #[inline]
    pub fn find_range(&self, key: &[u8]) -> usize {
        self.list.find(key)
    }

    /// Returns whether the tree contains a range with this id and bounds.
    pub fn has_range(&self, info: &RangeInfo) -> bool {
        let found = self.ranges().get(self.find_range(&info.max_key));
        found.is_some_and(|mine| mine.id == info.id)
    }

    /// Returns a range's table, opened if need be.
    #[inline]
    pub fn table(&self, range: usize) -> Result<Arc<Table>> {
        let name = &self.list.infos()[range].id;
        let table = self.pool.range(self.list.id(range), name, &*self.locate)?;
        self.list.check(range, &table)?;
        Ok(table)
    }

    /// Returns the result of `take` for the framed value of a key, None if the key does not exist.
    /// `scratch` is reused from call to call.
    #[inline]
    pub fn get<T>(
        &self,
        key: &[u8],
        scratch: &mut Vec<u8>,
        take: impl FnOnce(&[u8]) -> T,
    ) -> Result<Option<T>> {
        match self.table_for(key)? {
            Some(table) => Ok(table.get(key, scratch)?.map(take)),
            None => Ok(None),
        }
    }

    /// Returns the table of the range that holds a key if the tree does.
    #[inline]
    pub(super) fn table_for(&self, key: &[u8]) -> Result<Option<Arc<Table>>> {
        let range = self.find_range(key);
        match self.ranges().get(range) {
            Some(info) if info.min_key.as_slice() <= key => self.table(range).map(Some),
            _ => Ok(None),
        }
    }

    /// Returns whether any key begins with `prefix`.
    pub fn contains_prefix(&self, prefix: &[u8]) -> Result<bool> {
        let mut cursor = self.cursor();
        cursor.seek(prefix)?;
        Ok(cursor.key().is_some_and(|key| key.starts_with(prefix)))
    }

    /// Returns a cursor that stands on the first record.
    pub fn cursor(&self) -> TreeCursor {
        TreeCursor::new(self.clone())
    }
}
