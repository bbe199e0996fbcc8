//! Writes a tree from record batches in either form.

use arrow_array::{RecordBatch, RecordBatchReader};

use super::columns::{Bytes, Maps, Numbers, Times};
use crate::codec::{EntryView, encode_value};
use crate::error::{Error, Result};
use crate::tree::load::Loader;

/// Adds all records of a stream, sorted by path or key. The form is known by its columns: raw
/// records have the column `key`. Fails with [`Error::Order`] for keys that are not in order and
/// with [`Error::Invalid`] for columns that are not there, of another type, or null.
pub fn load(source: impl RecordBatchReader, loader: &mut Loader) -> Result<()> {
    for batch in source {
        let batch = batch.map_err(|error| Error::Invalid(error.to_string()))?;
        if batch.column_by_name("key").is_some() {
            load_raw(&batch, loader)?;
        } else {
            load_decoded(&batch, loader)?;
        }
    }
    Ok(())
}

fn load_raw(batch: &RecordBatch, loader: &mut Loader) -> Result<()> {
    let column = |name| Bytes::binary(batch, name);
    let (keys, identities, data) = (column("key")?, column("identity")?, column("data")?);
    let mut value = Vec::new();
    for row in 0..batch.num_rows() {
        value.clear();
        let identity = present(identities.get(row), "identity", row)?;
        encode_value(identity, present(data.get(row), "data", row)?, &mut value);
        loader.add(present(keys.get(row), "key", row)?, &value)?;
    }
    Ok(())
}

fn load_decoded(batch: &RecordBatch, loader: &mut Loader) -> Result<()> {
    let paths = Bytes::text(batch, "path")?;
    let addresses = Bytes::text(batch, "physical_address")?;
    let address_types = Numbers::find(batch, "address_type")?;
    let times = Times::find(batch, "last_modified")?;
    let sizes = Numbers::find(batch, "size")?;
    let checksums = Bytes::text(batch, "checksum")?;
    let metadata = Maps::find(batch, "metadata")?;
    let content_types = Bytes::text(batch, "content_type")?;
    let (mut value, mut data) = (Vec::new(), Vec::new());
    let mut entry = EntryView::default();
    for row in 0..batch.num_rows() {
        entry.address = text(addresses.get(row), "physical_address", row)?;
        let address_type = present(address_types.get(row), "address_type", row)?;
        entry.address_type = i32::try_from(address_type)
            .map_err(|_| Error::Invalid(format!("no address type {address_type}")))?;
        (entry.mtime, entry.mtime_nanos) = present(times.get(row), "last_modified", row)?;
        entry.size = present(sizes.get(row), "size", row)?;
        entry.checksum = text(checksums.get(row), "checksum", row)?;
        entry.metadata.clear();
        metadata.get(row, &mut entry.metadata);
        for (key, value) in &entry.metadata {
            text(Some(key), "metadata", row)?;
            text(Some(value), "metadata", row)?;
        }
        entry.sort_metadata();
        let content_type = content_types.get(row).unwrap_or_default();
        entry.content_type = text(Some(content_type), "content_type", row)?;
        data.clear();
        entry.encode(&mut data);
        value.clear();
        encode_value(&entry.identity(), &data, &mut value);
        loader.add(text(paths.get(row), "path", row)?, &value)?;
    }
    Ok(())
}

/// Columns of text are UTF-8 by their type, but nobody has checked them.
fn text<'a>(value: Option<&'a [u8]>, column: &str, row: usize) -> Result<&'a [u8]> {
    let bytes = present(value, column, row)?;
    match std::str::from_utf8(bytes) {
        Ok(_) => Ok(bytes),
        Err(_) => Err(Error::Invalid(format!(
            "{column:?} is not UTF-8 in row {row} of a batch"
        ))),
    }
}

fn present<T>(value: Option<T>, column: &str, row: usize) -> Result<T> {
    value.ok_or_else(|| Error::Invalid(format!("{column:?} is null in row {row} of a batch")))
}
