//! Puts finished tables into a folder, whole or not at all.

use std::fs::{self, File, OpenOptions};
use std::io::Write;
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};
use std::process;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use super::writer::FinishedTable;
use crate::error::{Error, Result};

/// Distinguishes the temporary files of one process.
static COUNTER: AtomicU64 = AtomicU64::new(0);

/// The most bytes of a table that may be left to the caller to make durable.
pub const SMALL_TABLE: usize = 64 << 10;

/// A folder for new tables. Clones share what was left unsynced.
///
/// The tables of a folder made from a path are synced one by one, and its names by [`Self::sync`].
/// Those of [`TableFolder::unsynced`] are not, if they are small: the caller gets their bytes, and
/// makes many of them durable together.
#[derive(Clone, Debug)]
pub struct TableFolder {
    path: PathBuf,
    unsynced: Option<Arc<Unsynced>>,
}

#[derive(Debug, Default)]
struct Unsynced {
    tables: Mutex<Vec<SmallTable>>,
    /// Whether a larger table is in the folder, which is synced as usual.
    has_others: AtomicBool,
}

impl Unsynced {
    /// Nothing that can panic is done under the lock, so a poisoned one is as good.
    fn tables(&self) -> MutexGuard<'_, Vec<SmallTable>> {
        self.tables.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// A table that is in a folder, and that may be lost with the machine.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SmallTable {
    /// The table's name.
    pub id: String,
    /// The bytes of the file.
    pub bytes: Vec<u8>,
}

impl From<&Path> for TableFolder {
    fn from(path: &Path) -> TableFolder {
        TableFolder {
            path: path.to_owned(),
            unsynced: None,
        }
    }
}

impl From<&PathBuf> for TableFolder {
    fn from(path: &PathBuf) -> TableFolder {
        TableFolder::from(path.as_path())
    }
}

impl From<&TableFolder> for TableFolder {
    fn from(folder: &TableFolder) -> TableFolder {
        folder.clone()
    }
}

impl TableFolder {
    /// Returns a folder whose small tables the caller makes durable.
    pub fn unsynced(path: &Path) -> TableFolder {
        TableFolder {
            path: path.to_owned(),
            unsynced: Some(Arc::default()),
        }
    }

    /// Returns the path of the folder.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Returns the small tables that were written and not synced, and forgets them.
    pub fn take_unsynced(&self) -> Vec<SmallTable> {
        let unsynced = self.unsynced.as_ref();
        unsynced.map_or_else(Vec::new, |unsynced| std::mem::take(&mut *unsynced.tables()))
    }

    /// Writes a table under its id. Returns false when it was there already.
    ///
    /// The bytes go to a temporary name in the same folder, are synced to the disk and renamed.
    pub fn write(&self, table: &FinishedTable) -> Result<bool> {
        let path = self.path.join(&table.id);
        let Some(unsynced) = &self.unsynced else {
            return self.write_synced(&path, table);
        };
        if table.bytes.len() > SMALL_TABLE {
            unsynced.has_others.store(true, Ordering::Relaxed);
            return self.write_synced(&path, table);
        }
        // a file that a crash has left may have the right length and other bytes; one that is right
        // may be another writer's, who has not made it durable yet
        let is_there = fs::metadata(&path)
            .is_ok_and(|found| found.len() == table.bytes.len() as u64)
            && fs::read(&path).is_ok_and(|bytes| bytes == table.bytes);
        if !is_there {
            self.rename_to(&path, table, false)?;
        }
        let small = SmallTable {
            id: table.id.clone(),
            bytes: table.bytes.clone(),
        };
        unsynced.tables().push(small);
        Ok(!is_there)
    }

    /// Syncs the names of the files in the folder to the disk, so that they last; not those of
    /// small tables that are left to the caller.
    pub fn sync(&self) -> Result<()> {
        match &self.unsynced {
            Some(unsynced) if !unsynced.has_others.load(Ordering::Relaxed) => Ok(()),
            _ => sync_folder(&self.path),
        }
    }

    fn write_synced(&self, path: &Path, table: &FinishedTable) -> Result<bool> {
        // A name says what the bytes are, so a file of that name and length needs no second look; a
        // shorter one is what a crash of the machine left, and is replaced. A small one may have
        // been left unsynced by its writer.
        let length = fs::metadata(path).map(|metadata| metadata.len());
        if length.is_ok_and(|length| length == table.bytes.len() as u64) {
            if table.bytes.len() > SMALL_TABLE {
                return Ok(false);
            }
            if fs::read(path).is_ok_and(|bytes| bytes == table.bytes) {
                let file = File::open(path).and_then(|file| file.sync_data());
                return file.map(|()| false).map_err(|error| io_error(path, error));
            }
        }
        self.rename_to(path, table, true)?;
        Ok(true)
    }

    fn rename_to(&self, path: &Path, table: &FinishedTable, synced: bool) -> Result<()> {
        let number = COUNTER.fetch_add(1, Ordering::Relaxed);
        let name = format!(".{}.{}.{number}.tmp", table.id, process::id());
        let temporary = self.path.join(name);
        let done = write_file(&temporary, &table.bytes, synced)
            .and_then(|()| fs::rename(&temporary, path).map_err(|error| io_error(path, error)));
        if done.is_err() {
            let _ = fs::remove_file(&temporary);
        }
        done
    }
}

/// Syncs a folder to the disk, so that the names of the files in it last.
pub fn sync_folder(folder: &Path) -> Result<()> {
    File::open(folder)
        .and_then(|file| file.sync_all())
        .map_err(|error| io_error(folder, error))
}

fn write_file(path: &Path, bytes: &[u8], synced: bool) -> Result<()> {
    let write = || {
        let mut options = OpenOptions::new();
        options.write(true).create_new(true).mode(0o600);
        let mut file = options.open(path)?;
        file.write_all(bytes)?;
        if synced { file.sync_data() } else { Ok(()) }
    };
    write().map_err(|error| io_error(path, error))
}

/// A folder that is not there is no missing table, so every error stays what it is.
fn io_error(path: &Path, source: std::io::Error) -> Error {
    Error::Io {
        path: path.display().to_string(),
        source,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::table::{Kind, Table, TableWriter};

    fn table() -> FinishedTable {
        let mut writer = TableWriter::new(Kind::Ranges);
        writer.add(b"key", b"\x00\x00").unwrap();
        writer.finish(&[]).unwrap()
    }

    #[test]
    fn a_table_is_written_once() {
        let folder = tempfile::tempdir().unwrap();
        let tables = TableFolder::from(folder.path());
        let table = table();
        assert!(tables.write(&table).unwrap());
        assert!(!tables.write(&table).unwrap());
        tables.sync().unwrap();
        let names: Vec<_> = fs::read_dir(folder.path()).unwrap().collect();
        assert_eq!(names.len(), 1, "no temporary file stays behind");
        let path = folder.path().join(&table.id);
        assert_eq!(fs::read(&path).unwrap(), table.bytes);
        assert_eq!(Table::open(&path).unwrap().properties().count(), 1);
        assert!(tables.take_unsynced().is_empty());
    }

    #[test]
    fn a_small_table_is_left_to_the_caller_also_if_it_is_there() {
        let folder = tempfile::tempdir().unwrap();
        let tables = TableFolder::unsynced(folder.path());
        let table = table();
        let path = folder.path().join(&table.id);
        let left = SmallTable {
            id: table.id.clone(),
            bytes: table.bytes.clone(),
        };
        assert!(tables.write(&table).unwrap());
        assert!(!tables.clone().write(&table).unwrap());
        assert_eq!(tables.take_unsynced(), [left.clone(), left.clone()]);
        assert!(tables.take_unsynced().is_empty());
        fs::write(&path, vec![0; table.bytes.len()]).unwrap();
        assert!(
            tables.write(&table).unwrap(),
            "a crash has left other bytes"
        );
        assert_eq!(fs::read(&path).unwrap(), table.bytes);
    }

    #[test]
    fn bytes_that_a_crash_has_left_are_replaced() {
        let folder = tempfile::tempdir().unwrap();
        let table = table();
        let path = folder.path().join(&table.id);
        fs::write(&path, vec![0; table.bytes.len()]).unwrap();
        assert!(TableFolder::from(folder.path()).write(&table).unwrap());
        assert_eq!(fs::read(&path).unwrap(), table.bytes);
    }

    #[test]
    fn a_folder_that_is_not_there_is_an_error() {
        let folder = tempfile::tempdir().unwrap();
        let none = TableFolder::from(&folder.path().join("none"));
        let error = none.write(&table()).unwrap_err();
        assert!(matches!(error, Error::Io { .. }), "{error}");
    }
}
