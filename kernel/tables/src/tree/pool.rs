//! The pool of open tables, which closes the least recently used ones.
//!
//! Tables are immutable and named by their content, so an open one serves every tree that has
//! it. Files are opened outside of the lock; when two threads open the same one, one opening is
//! thrown away. A table that is closed here lives on while a reader holds it.

use std::collections::HashMap;
use std::hash::{BuildHasherDefault, Hasher};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use super::range_list::RangeList;
use crate::error::{Error, Result};
use crate::table::{Kind, Table};

/// Finds the file of a table, and brings it there when it must.
pub trait Locate: Send + Sync {
    /// Returns the path of the file. Fails with the errors of the finder.
    fn locate(&self, table_id: &str) -> Result<PathBuf>;
}

impl<F: Fn(&str) -> PathBuf + Send + Sync> Locate for F {
    fn locate(&self, table_id: &str) -> Result<PathBuf> {
        Ok(self(table_id))
    }
}

/// A table's name as bytes: a SHA-256 digest.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
pub struct TableId([u8; 32]);

impl TableId {
    /// Reads 64 hexadecimal digits. Fails with [`Error::Invalid`].
    pub fn parse(text: &str) -> Result<TableId> {
        let bad = || Error::Invalid(format!("{text:?} is not the id of a table"));
        let digits = text.as_bytes();
        let mut id = [0; 32];
        if digits.len() != 64 {
            return Err(bad());
        }
        for (byte, pair) in id.iter_mut().zip(digits.chunks_exact(2)) {
            *byte =
                hex_digit(pair[0]).ok_or_else(bad)? << 4 | hex_digit(pair[1]).ok_or_else(bad)?;
        }
        Ok(TableId(id))
    }
}

fn hex_digit(digit: u8) -> Option<u8> {
    match digit {
        b'0'..=b'9' => Some(digit - b'0'),
        b'a'..=b'f' => Some(digit - b'a' + 10),
        _ => None,
    }
}

/// Takes the first bytes of a digest for its hash: they are as even as any hash of them.
#[derive(Default)]
struct DigestHasher(u64);

impl Hasher for DigestHasher {
    fn finish(&self) -> u64 {
        self.0
    }

    fn write(&mut self, bytes: &[u8]) {
        if let Some(first) = bytes.first_chunk::<8>() {
            self.0 ^= u64::from_le_bytes(*first);
        }
    }

    fn write_usize(&mut self, _length: usize) {}
}

/// An open table: a range, or a metarange as its list of ranges.
#[derive(Clone)]
enum Open {
    Range(Arc<Table>),
    Metarange(Arc<RangeList>),
}

#[derive(Default)]
struct Shelf {
    tables: HashMap<TableId, (Open, u64), BuildHasherDefault<DigestHasher>>,
    clock: u64,
}

impl Shelf {
    fn tick(&mut self) -> u64 {
        self.clock += 1;
        self.clock
    }

    fn get(&mut self, id: TableId) -> Option<&Open> {
        let now = self.tick();
        self.tables.get_mut(&id).map(|(open, used)| {
            *used = now;
            &*open
        })
    }

    /// Removes the table that was not used for longest. Opening a file costs more than this.
    fn evict(&mut self) -> Option<Open> {
        let oldest = self.tables.iter().min_by_key(|(_, (_, used))| *used);
        let id = *oldest?.0;
        self.tables.remove(&id).map(|(open, _)| open)
    }
}

/// Open tables by id.
pub struct Pool {
    capacity: usize,
    shelf: Mutex<Shelf>,
}

impl Pool {
    /// Makes a pool that keeps at most `capacity` tables open, at least one.
    pub fn new(capacity: usize) -> Self {
        Pool {
            capacity: capacity.max(1),
            shelf: Mutex::default(),
        }
    }

    /// Returns the number of open tables.
    pub fn open_count(&self) -> usize {
        self.shelf().tables.len()
    }

    /// Closes a table, if it is open.
    pub fn forget(&self, id: TableId) {
        let closed = self.shelf().tables.remove(&id);
        // Dropped here, when the lock is free again.
        drop(closed);
    }

    /// Returns the range with an id, opened if need be: also when its bytes were bad before, since
    /// the file may have been put right.
    #[inline]
    pub fn range(&self, id: TableId, name: &str, locate: &dyn Locate) -> Result<Arc<Table>> {
        if let Some(Open::Range(table)) = self.shelf().get(id)
            && !table.is_damaged()
        {
            return Ok(Arc::clone(table));
        }
        let table = Arc::new(open(name, locate, Kind::Ranges)?);
        self.keep(id, Open::Range(Arc::clone(&table)));
        Ok(table)
    }

    /// Returns the list in the metarange with an id, opened if need be.
    pub fn metarange(
        &self,
        id: TableId,
        name: &str,
        locate: &dyn Locate,
    ) -> Result<Arc<RangeList>> {
        if let Some(Open::Metarange(list)) = self.shelf().get(id) {
            return Ok(Arc::clone(list));
        }
        let table = open(name, locate, Kind::Metaranges)?;
        let list = Arc::new(RangeList::read(name, &Arc::new(table))?);
        self.keep(id, Open::Metarange(Arc::clone(&list)));
        Ok(list)
    }

    fn keep(&self, id: TableId, open: Open) {
        let mut closed = Vec::new();
        let mut shelf = self.shelf();
        let now = shelf.tick();
        closed.extend(shelf.tables.insert(id, (open, now)).map(|(old, _)| old));
        while shelf.tables.len() > self.capacity {
            closed.extend(shelf.evict());
        }
        drop(shelf);
    }

    /// Nothing that can panic is done under the lock, so a poisoned one is as good.
    #[inline]
    fn shelf(&self) -> MutexGuard<'_, Shelf> {
        self.shelf.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

fn open(name: &str, locate: &dyn Locate, kind: Kind) -> Result<Table> {
    let path = locate.locate(name)?;
    let table = open_file(name, &path)?;
    if table.properties().kind() != Some(kind) {
        let reason = format!("its type is not {:?}", kind.name());
        return Err(Error::corrupt(table.path(), reason));
    }
    Ok(table)
}

/// A file may have any name, the error about one that is missing has the table's.
fn open_file(name: &str, path: &Path) -> Result<Table> {
    Table::open(path).map_err(|error| match error {
        Error::Missing { path, .. } => Error::Missing {
            table_id: name.to_owned(),
            path,
        },
        other => other,
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tree::testing::Folder;

    #[test]
    fn the_least_recently_used_is_closed() {
        let folder = Folder::new();
        let names: Vec<String> = (0..3)
            .map(|n| folder.range(&[(&format!("key{n}"), "v")]))
            .collect();
        let ids: Vec<TableId> = names.iter().map(|n| TableId::parse(n).unwrap()).collect();
        let pool = Pool::new(2);
        let open = |n: usize| pool.range(ids[n], &names[n], &folder.locate()).unwrap();
        let (first, second) = (open(0), open(1));
        assert!(Arc::ptr_eq(&first, &open(0)));
        open(2);
        assert_eq!(pool.open_count(), 2);
        assert!(Arc::ptr_eq(&first, &open(0)), "used after the second");
        assert!(!Arc::ptr_eq(&second, &open(1)), "closed and opened again");
        pool.forget(ids[1]);
        assert_eq!(pool.open_count(), 1);
        assert_eq!(
            second.get(b"key1", &mut Vec::new()).unwrap().unwrap(),
            b"\x02v\x02d"
        );
    }

    #[test]
    fn what_is_no_range_is_an_error() {
        let folder = Folder::new();
        let range = folder.range(&[("key", "v")]);
        let id = TableId::parse(&range).unwrap();
        let pool = Pool::new(2);
        let wrong = pool.metarange(id, &range, &folder.locate());
        assert!(matches!(wrong, Err(Error::Corrupt { .. })));
        let missing = "0".repeat(64);
        let error = pool.range(
            TableId::parse(&missing).unwrap(),
            &missing,
            &folder.locate(),
        );
        assert!(matches!(error, Err(Error::Missing { table_id, .. }) if table_id == missing));
        assert!(TableId::parse("../etc/passwd").is_err());
        assert!(TableId::parse(&"é".repeat(32)).is_err());
    }
}
