//! The records of a tree as a stream of record batches.

use std::sync::Arc;

use arrow_array::builder::{
    BinaryBuilder, Int32Builder, Int64Builder, MapBuilder, MapFieldNames, StringBuilder,
    TimestampMicrosecondBuilder,
};
use arrow_array::{ArrayRef, RecordBatch};
use arrow_schema::SchemaRef;

use super::batches::{Batches, record_batch};
use super::{DECODED, RAW};
use crate::codec::{EntryView, decode_value, is_system_key};
use crate::error::Result;
use crate::tree::{ListRange, Tree, TreeCursor};

/// A batch ends after this many bytes of records, so that no column's offsets overflow.
const MAX_BATCH_BYTES: usize = 64 << 20;

/// An iterator over the records of a list range in batches.
pub struct Scan {
    cursor: TreeCursor,
    range: ListRange,
    decoded: bool,
    batch: usize,
    ended: bool,
}

impl Scan {
    /// Starts a scan in batches of at most `batch` records, in the decoded or the raw form. The
    /// range's delimiter is ignored.
    pub fn new(tree: &Tree, range: ListRange, decoded: bool, batch: usize) -> Result<Scan> {
        let mut cursor = tree.cursor();
        let start = range.start();
        if let Some(start) = &start {
            cursor.seek(start)?;
        }
        Ok(Scan {
            cursor,
            range,
            decoded,
            batch: batch.max(1),
            ended: start.is_none(),
        })
    }

    /// Returns the next columns with the number of their rows, None at the end.
    fn fill(&mut self, mut columns: impl Columns) -> Result<Option<(Vec<ArrayRef>, usize)>> {
        let (mut rows, mut bytes) = (0, 0);
        while !self.ended && rows < self.batch && bytes < MAX_BATCH_BYTES {
            let Some((key, value)) = self.cursor.record()? else {
                self.ended = true;
                break;
            };
            if !self.range.holds(key) {
                self.ended = true;
                break;
            }
            if let Err(reason) = columns.add(key, value) {
                return Err(self.cursor.corrupt(&reason));
            }
            rows += 1;
            bytes += key.len() + value.len();
            self.cursor.next()?;
        }
        Ok((rows > 0).then(|| (columns.finish(), rows)))
    }
}

impl Batches for Scan {
    fn schema(&self) -> SchemaRef {
        let schema = if self.decoded { &DECODED } else { &RAW };
        SchemaRef::clone(schema)
    }

    fn next_batch(&mut self) -> Result<Option<RecordBatch>> {
        let filled = if self.decoded {
            self.fill(Decoded::default())?
        } else {
            self.fill(Raw::default())?
        };
        filled
            .map(|(arrays, rows)| record_batch(self.schema(), arrays, rows))
            .transpose()
    }
}

/// The columns of a batch being filled.
trait Columns {
    /// Adds a record, or says what is wrong with it.
    fn add(&mut self, key: &[u8], value: &[u8]) -> std::result::Result<(), String>;
    fn finish(self) -> Vec<ArrayRef>;
}

#[derive(Default)]
struct Raw {
    key: BinaryBuilder,
    identity: BinaryBuilder,
    data: BinaryBuilder,
}

impl Columns for Raw {
    fn add(&mut self, key: &[u8], value: &[u8]) -> std::result::Result<(), String> {
        let (identity, data) = decode_value(value).ok_or("a value is malformed")?;
        self.key.append_value(key);
        self.identity.append_value(identity);
        self.data.append_value(data);
        Ok(())
    }

    fn finish(mut self) -> Vec<ArrayRef> {
        vec![
            Arc::new(self.key.finish()),
            Arc::new(self.identity.finish()),
            Arc::new(self.data.finish()),
        ]
    }
}

struct Decoded {
    path: StringBuilder,
    physical_address: StringBuilder,
    address_type: Int32Builder,
    last_modified: TimestampMicrosecondBuilder,
    size: Int64Builder,
    checksum: StringBuilder,
    metadata: MapBuilder<StringBuilder, StringBuilder>,
    content_type: StringBuilder,
}

impl Default for Decoded {
    fn default() -> Self {
        let names = MapFieldNames {
            entry: "entries".into(),
            key: "key".into(),
            value: "value".into(),
        };
        let (keys, values) = (StringBuilder::new(), StringBuilder::new());
        Decoded {
            path: StringBuilder::new(),
            physical_address: StringBuilder::new(),
            address_type: Int32Builder::new(),
            last_modified: TimestampMicrosecondBuilder::new().with_timezone("UTC"),
            size: Int64Builder::new(),
            checksum: StringBuilder::new(),
            metadata: MapBuilder::new(Some(names), keys, values),
            content_type: StringBuilder::new(),
        }
    }
}

impl Columns for Decoded {
    fn add(&mut self, key: &[u8], value: &[u8]) -> std::result::Result<(), String> {
        let (_, data) = decode_value(value).ok_or("a value is malformed")?;
        let entry = EntryView::decode(data).map_err(|error| error.to_string())?;
        self.path.append_value(text(key)?);
        self.physical_address.append_value(text(entry.address)?);
        self.address_type.append_value(entry.address_type);
        self.last_modified.append_value(microseconds(&entry)?);
        self.size.append_value(entry.size);
        self.checksum.append_value(text(entry.checksum)?);
        let user = entry.metadata.iter().filter(|pair| !is_system_key(pair.0));
        for (key, value) in user {
            self.metadata.keys().append_value(text(key)?);
            self.metadata.values().append_value(text(value)?);
        }
        self.metadata
            .append(true)
            .map_err(|error| error.to_string())?;
        self.content_type.append_value(text(entry.content_type)?);
        Ok(())
    }

    fn finish(mut self) -> Vec<ArrayRef> {
        vec![
            Arc::new(self.path.finish()),
            Arc::new(self.physical_address.finish()),
            Arc::new(self.address_type.finish()),
            Arc::new(self.last_modified.finish()),
            Arc::new(self.size.finish()),
            Arc::new(self.checksum.finish()),
            Arc::new(self.metadata.finish()),
            Arc::new(self.content_type.finish()),
        ]
    }
}

fn text(bytes: &[u8]) -> std::result::Result<&str, String> {
    std::str::from_utf8(bytes).map_err(|_| {
        let shown = bytes.escape_ascii();
        format!("{shown} is not UTF-8, which only the raw form of a scan shows")
    })
}

fn microseconds(entry: &EntryView<'_>) -> std::result::Result<i64, String> {
    let seconds = entry.mtime.checked_mul(1_000_000);
    seconds
        .and_then(|time| time.checked_add(i64::from(entry.mtime_nanos / 1000)))
        .ok_or_else(|| format!("the time {} is out of bounds", entry.mtime))
}
