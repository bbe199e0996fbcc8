//! The differences of two trees, with some of their columns, as a stream of record batches: a row
//! for each key, with the objects of both sides as they are shown in listings.

use std::sync::Arc;

use arrow_array::builder::{BinaryBuilder, NullBufferBuilder, StringBuilder};
use arrow_array::{ArrayRef, RecordBatch, StructArray};
use arrow_schema::{ArrowError, DataType, Field, Schema, SchemaRef};

use super::batches::{Batches, invalid, record_batch};
use super::search::{Filling, KeyBounds, MAX_BATCH_BYTES, MAX_EXAMINED, decode, microseconds};
use crate::codec::EntryView;
use crate::error::{Error, Result};
use crate::tree::diff::DiffWalk;
use crate::tree::{Tree, difference_kind, upper_bound};

/// The columns of a side.
const ENTRY: [&str; 6] = [
    "physical_address",
    "last_modified",
    "size",
    "checksum",
    "metadata",
    "content_type",
];

enum Column {
    Kind(StringBuilder),
    Key(BinaryBuilder),
    Path(StringBuilder),
    Left(Side),
    Right(Side),
}

impl Column {
    fn data_type(&self) -> DataType {
        match self {
            Column::Kind(_) | Column::Path(_) => DataType::Utf8,
            Column::Key(_) => DataType::Binary,
            Column::Left(side) | Column::Right(side) => {
                DataType::Struct(side.entries.schema().fields().clone())
            }
        }
    }

    fn finish(&mut self) -> std::result::Result<ArrayRef, ArrowError> {
        Ok(match self {
            Column::Kind(texts) | Column::Path(texts) => Arc::new(texts.finish()),
            Column::Key(keys) => Arc::new(keys.finish()),
            Column::Left(side) | Column::Right(side) => Arc::new(side.finish()?),
        })
    }
}

/// The objects of a side, null where it has none.
struct Side {
    entries: Filling,
    present: NullBufferBuilder,
}

impl Side {
    fn add(&mut self, key: &[u8], value: Option<&[u8]>) -> Result<std::result::Result<(), String>> {
        let entry = match value.map(|value| decode(value, true)).transpose() {
            Ok(entry) => entry,
            Err(reason) => return Ok(Err(reason)),
        };
        self.present.append(entry.is_some());
        let entry = entry.unwrap_or_else(EntryView::default);
        self.entries.add(key, &entry, microseconds(&entry))?;
        Ok(Ok(()))
    }

    fn finish(&mut self) -> std::result::Result<StructArray, ArrowError> {
        let fields = self.entries.schema().fields().clone();
        StructArray::try_new(fields, self.entries.finish(), self.present.finish())
    }
}

/// An iterator over the differences of two trees, in batches; a batch may be empty.
pub struct Changes {
    walk: DiffWalk,
    columns: Vec<Column>,
    schema: SchemaRef,
    /// The kinds of differences that are shown, all if there are none.
    kinds: Vec<String>,
    batch: usize,
    ended: bool,
}

impl Changes {
    /// Starts a walk over what must change in `left` to make it `right`, in batches of at most
    /// `batch` rows. Addresses are completed with `namespace` and `local_root`. Fails with
    /// [`Error::Invalid`] for an unknown column.
    pub fn new(
        (left, right): (&Tree, &Tree),
        names: &[String],
        keys: &KeyBounds,
        kinds: Vec<String>,
        (namespace, local_root): (&str, &str),
        batch: usize,
    ) -> Result<Changes> {
        let entry = ENTRY.map(str::to_owned);
        let side = || -> Result<Side> {
            Ok(Side {
                entries: Filling::new(&entry, namespace, local_root)?,
                present: NullBufferBuilder::new(0),
            })
        };
        let column = |name: &String| {
            Ok(match name.as_str() {
                "change" => Column::Kind(StringBuilder::new()),
                "key" => Column::Key(BinaryBuilder::new()),
                "path" => Column::Path(StringBuilder::new()),
                "left" => Column::Left(side()?),
                "right" => Column::Right(side()?),
                _ => return Err(Error::Invalid(format!("no column {name:?}"))),
            })
        };
        let columns = names.iter().map(column).collect::<Result<Vec<_>>>()?;
        let fields = columns.iter().zip(names).map(|(column, name)| {
            let is_side = matches!(column, Column::Left(_) | Column::Right(_));
            Field::new(name, column.data_type(), is_side)
        });
        let ends = [upper_bound(&keys.prefix), keys.end.clone()];
        let mut walk = DiffWalk::new(left, right).until(ends.into_iter().flatten().min());
        walk.seek(keys.first())?;
        Ok(Changes {
            walk,
            schema: Arc::new(Schema::new(fields.collect::<Vec<_>>())),
            columns,
            kinds,
            batch: batch.max(1),
            ended: false,
        })
    }

    /// Adds the difference at which the walk stopped; returns its size in bytes, None if its kind
    /// is not shown.
    fn add_current(&mut self) -> Result<Option<usize>> {
        let Some(found) = self.walk.current()? else {
            return Ok(None);
        };
        let (left, right) = (found.left, found.right);
        let name = difference_kind(left.is_some(), right.is_some()).name();
        if !self.kinds.is_empty() && !self.kinds.iter().any(|kind| kind == name) {
            return Ok(None);
        }
        let size = |value: Option<&[u8]>| value.map_or(0, <[u8]>::len);
        let bytes = found.key.len() + size(left) + size(right);
        let mut damage = None;
        for column in &mut self.columns {
            match column {
                Column::Kind(texts) => texts.append_value(name),
                Column::Key(keys) => keys.append_value(found.key),
                Column::Path(texts) => texts.append_value(String::from_utf8_lossy(found.key)),
                Column::Left(side) => damage = side.add(found.key, left)?.err().or(damage),
                Column::Right(side) => damage = side.add(found.key, right)?.err().or(damage),
            }
        }
        match damage {
            Some(reason) => Err(self.walk.corrupt(&reason)),
            None => Ok(Some(bytes)),
        }
    }
}

impl Batches for Changes {
    fn schema(&self) -> SchemaRef {
        SchemaRef::clone(&self.schema)
    }

    fn next_batch(&mut self) -> Result<Option<RecordBatch>> {
        if self.ended {
            return Ok(None);
        }
        let (mut rows, mut bytes) = (0, 0);
        for _ in 0..MAX_EXAMINED {
            if rows == self.batch || bytes >= MAX_BATCH_BYTES {
                break;
            }
            if !self.walk.advance()? {
                self.ended = true;
                break;
            }
            if let Some(size) = self.add_current()? {
                rows += 1;
                bytes += size;
            }
        }
        let arrays = self.columns.iter_mut().map(Column::finish);
        let arrays = arrays
            .collect::<std::result::Result<_, _>>()
            .map_err(invalid)?;
        record_batch(self.schema(), arrays, rows).map(Some)
    }
}
