//! Puts finished tables into a folder, whole or not at all.

use std::fs::{self, File, OpenOptions};
use std::io::Write;
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};
use std::process;
use std::sync::atomic::{AtomicU64, Ordering};

use super::writer::FinishedTable;
use crate::error::{Error, Result};

/// Distinguishes the temporary files of one process.
static COUNTER: AtomicU64 = AtomicU64::new(0);

/// Writes a table into a folder under its id. Returns false when it was there already.
///
/// The bytes go to a temporary name in the same folder, are synced to the disk and renamed; the
/// folder itself is synced by [`sync_folder`], once for all tables.
pub fn write_table_file(folder: &Path, table: &FinishedTable) -> Result<bool> {
    let path = folder.join(&table.id);
    // A name says what the bytes are, so a file of that name and length needs no second look; a
    // shorter one is what a crash of the machine left, and is replaced.
    let length = fs::metadata(&path).map(|metadata| metadata.len());
    if length.is_ok_and(|length| length == table.bytes.len() as u64) {
        return Ok(false);
    }
    let number = COUNTER.fetch_add(1, Ordering::Relaxed);
    let name = format!(".{}.{}.{number}.tmp", table.id, process::id());
    let temporary = folder.join(name);
    let done = write_synced(&temporary, &table.bytes)
        .and_then(|()| fs::rename(&temporary, &path).map_err(|error| io_error(&path, error)));
    if done.is_err() {
        let _ = fs::remove_file(&temporary);
    }
    done.map(|()| true)
}

/// Syncs a folder to the disk, so that the names of the files in it last.
pub fn sync_folder(folder: &Path) -> Result<()> {
    File::open(folder)
        .and_then(|file| file.sync_all())
        .map_err(|error| io_error(folder, error))
}

fn write_synced(path: &PathBuf, bytes: &[u8]) -> Result<()> {
    let write = || {
        let mut options = OpenOptions::new();
        options.write(true).create_new(true).mode(0o600);
        let mut file = options.open(path)?;
        file.write_all(bytes)?;
        file.sync_data()
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
        let table = table();
        assert!(write_table_file(folder.path(), &table).unwrap());
        assert!(!write_table_file(folder.path(), &table).unwrap());
        sync_folder(folder.path()).unwrap();
        let names: Vec<_> = fs::read_dir(folder.path()).unwrap().collect();
        assert_eq!(names.len(), 1, "no temporary file stays behind");
        let path = folder.path().join(&table.id);
        assert_eq!(fs::read(&path).unwrap(), table.bytes);
        assert_eq!(Table::open(&path).unwrap().properties().count(), 1);
    }

    #[test]
    fn a_folder_that_is_not_there_is_an_error() {
        let folder = tempfile::tempdir().unwrap();
        let error = write_table_file(&folder.path().join("none"), &table()).unwrap_err();
        assert!(matches!(error, Error::Io { .. }), "{error}");
    }
}
