//! Checks a whole table, and computes its id again.

use std::path::Path;
use std::sync::Arc;

use super::digest::RecordDigest;
use super::reader::Table;
use crate::error::{Error, Result};

/// Reads a whole table, checks every checksum, the order of its keys, the index and the counts
/// in its properties, and returns the id computed from its records. Fails with
/// [`Error::Corrupt`].
pub fn verify_table(path: &Path) -> Result<String> {
    verify(&Arc::new(Table::open(path)?))
}

/// Like [`verify_table`], for a table that is open.
pub fn verify(table: &Arc<Table>) -> Result<String> {
    let corrupt = |reason: &str| Error::corrupt(table.path(), reason);
    let mut digest = RecordDigest::default();
    let mut cursor = table.cursor();
    let mut last: Option<Vec<u8>> = None;
    let mut count = 0;
    cursor.first()?;
    while cursor.valid() {
        let key = cursor.key();
        if last.as_deref().is_some_and(|last| key <= last) {
            return Err(corrupt("keys are not in order"));
        }
        if table.find_block(key) != cursor.block_index() {
            return Err(corrupt("a key is not in the block that the index says"));
        }
        if count == 0 && !bound_holds(table.properties().min_key(), key) {
            return Err(corrupt("the first key is not the one in the properties"));
        }
        digest.add(key, cursor.value());
        count += 1;
        let last = last.get_or_insert_default();
        last.clear();
        last.extend_from_slice(key);
        cursor.next()?;
    }
    if !bound_holds(table.properties().max_key(), &last.unwrap_or_default()) {
        return Err(corrupt("the last key is not the one in the properties"));
    }
    if count != table.properties().count() {
        return Err(corrupt(
            "the number of records is not the one in the properties",
        ));
    }
    let metadata = table.properties().hashed().map_err(corrupt)?;
    Ok(digest.finish(&metadata))
}

/// Whether a bound in the properties, which may be absent, is the key.
fn bound_holds(bound: &[u8], key: &[u8]) -> bool {
    bound.is_empty() || bound == key
}
