//! Writes a tree from record batches in either form.

use std::panic::resume_unwind;
use std::sync::mpsc::sync_channel;
use std::thread;

use arrow_array::{RecordBatch, RecordBatchReader};

use super::columns::{Bytes, Maps, Numbers, Times};
use crate::codec::{EntryView, encode_value, is_system_key};
use crate::error::{Error, Result};
use crate::tree::load::Loader;

/// The maximum number of encoded batches that wait to be written.
const AHEAD: usize = 2;

/// Adds all records of a stream, sorted by path or key; one thread encodes them while another
/// writes. The form is known by its columns: raw records have the column `key`. Fails with
/// [`Error::Order`] for keys that are not in order and with [`Error::Invalid`] for columns that are
/// missing, of another type, or null.
pub fn load(source: impl RecordBatchReader, loader: &mut Loader) -> Result<()> {
    thread::scope(|scope| {
        let (sender, encoded) = sync_channel::<Records>(AHEAD);
        let writing = scope.spawn(move || {
            encoded
                .into_iter()
                .try_for_each(|records| records.add_to(loader))
        });
        let encoding = encode(source, |records| sender.send(records).is_ok());
        drop(sender);
        // what was written comes before what was encoded last
        writing
            .join()
            .unwrap_or_else(|panic| resume_unwind(panic))?;
        encoding
    })
}

/// Encodes batch by batch, until `send` returns false.
fn encode(source: impl RecordBatchReader, send: impl Fn(Records) -> bool) -> Result<()> {
    for batch in source {
        let batch = batch.map_err(|error| Error::Invalid(error.to_string()))?;
        let mut records = Records::default();
        if batch.column_by_name("key").is_some() {
            encode_raw(&batch, &mut records)?;
        } else {
            encode_decoded(&batch, &mut records)?;
        }
        if !send(records) {
            break;
        }
    }
    Ok(())
}

/// Records of a batch, behind one another.
#[derive(Default)]
struct Records {
    bytes: Vec<u8>,
    /// Where each one's key and its framed value end.
    ends: Vec<(usize, usize)>,
}

impl Records {
    fn add(&mut self, key: &[u8], identity: &[u8], data: &[u8]) {
        self.bytes.extend_from_slice(key);
        let key_end = self.bytes.len();
        encode_value(identity, data, &mut self.bytes);
        self.ends.push((key_end, self.bytes.len()));
    }

    fn add_to(&self, loader: &mut Loader) -> Result<()> {
        let mut start = 0;
        for &(key_end, end) in &self.ends {
            loader.add(&self.bytes[start..key_end], &self.bytes[key_end..end])?;
            start = end;
        }
        Ok(())
    }
}

fn encode_raw(batch: &RecordBatch, records: &mut Records) -> Result<()> {
    let column = |name| Bytes::binary(batch, name);
    let (keys, identities, data) = (column("key")?, column("identity")?, column("data")?);
    for row in 0..batch.num_rows() {
        records.add(
            present(keys.get(row), "key", row)?,
            present(identities.get(row), "identity", row)?,
            present(data.get(row), "data", row)?,
        );
    }
    Ok(())
}

fn encode_decoded(batch: &RecordBatch, records: &mut Records) -> Result<()> {
    let paths = Bytes::text(batch, "path")?;
    let addresses = Bytes::text(batch, "physical_address")?;
    let address_types = Numbers::find(batch, "address_type")?;
    let times = Times::find(batch, "last_modified")?;
    let sizes = Numbers::find(batch, "size")?;
    let checksums = Bytes::text(batch, "checksum")?;
    let metadata = Maps::find(batch, "metadata")?;
    let content_types = Bytes::text(batch, "content_type")?;
    let mut data = Vec::new();
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
        entry.metadata.retain(|pair| !is_system_key(pair.0));
        for (key, value) in &entry.metadata {
            text(Some(key), "metadata", row)?;
            text(Some(value), "metadata", row)?;
        }
        entry.sort_metadata();
        let content_type = content_types.get(row).unwrap_or_default();
        entry.content_type = text(Some(content_type), "content_type", row)?;
        data.clear();
        entry.encode(&mut data);
        let path = text(paths.get(row), "path", row)?;
        records.add(path, &entry.identity(), &data);
    }
    Ok(())
}

/// Text columns are UTF-8 by their type, but this is not yet verified.
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
