//! The columns of a search's batch being filled. Every entry can be shown: bytes that are not UTF-8
//! become replacement characters, and a time that microseconds cannot hold is null.

use std::borrow::Cow;
use std::sync::Arc;

use arrow_array::ArrayRef;
use arrow_array::builder::{
    BinaryBuilder, Int64Builder, MapBuilder, MapFieldNames, StringBuilder,
    TimestampMicrosecondBuilder,
};
use arrow_schema::{DataType, Field, Schema, SchemaRef, TimeUnit};

use super::pair_fields;
use crate::codec::{EntryView, is_system_key};
use crate::error::{Error, Result};
use crate::tree::shown_entry::{Roots, content_type};

/// What a column shows of an object.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Column {
    Key,
    Path,
    PhysicalAddress,
    LastModified,
    Size,
    Checksum,
    Metadata,
    ContentType,
}

impl Column {
    fn named(name: &str) -> Option<Column> {
        Some(match name {
            "key" => Column::Key,
            "path" => Column::Path,
            "physical_address" => Column::PhysicalAddress,
            "last_modified" => Column::LastModified,
            "size" => Column::Size,
            "checksum" => Column::Checksum,
            "metadata" => Column::Metadata,
            "content_type" => Column::ContentType,
            _ => return None,
        })
    }

    fn data_type(self) -> DataType {
        match self {
            Column::Key => DataType::Binary,
            Column::LastModified => DataType::Timestamp(TimeUnit::Microsecond, Some("UTC".into())),
            Column::Size => DataType::Int64,
            Column::Metadata => {
                let pairs = Field::new("entries", DataType::Struct(pair_fields()), false);
                DataType::Map(Arc::new(pairs), false)
            }
            _ => DataType::Utf8,
        }
    }

    fn builder(self) -> Builder {
        match self {
            Column::Key => Builder::Bytes(BinaryBuilder::new()),
            Column::LastModified => {
                Builder::Time(TimestampMicrosecondBuilder::new().with_timezone("UTC"))
            }
            Column::Size => Builder::Number(Int64Builder::new()),
            Column::Metadata => {
                let names = MapFieldNames {
                    entry: "entries".into(),
                    key: "key".into(),
                    value: "value".into(),
                };
                let (keys, values) = (StringBuilder::new(), StringBuilder::new());
                Builder::Pairs(Box::new(MapBuilder::new(Some(names), keys, values)))
            }
            _ => Builder::Text(StringBuilder::new()),
        }
    }
}

enum Builder {
    Bytes(BinaryBuilder),
    Text(StringBuilder),
    Number(Int64Builder),
    Time(TimestampMicrosecondBuilder),
    Pairs(Box<MapBuilder<StringBuilder, StringBuilder>>),
}

/// Some columns, to which objects are added.
pub struct Filling {
    columns: Vec<(Column, Builder)>,
    schema: SchemaRef,
    namespace: String,
    local_root: String,
}

impl Filling {
    /// Makes the columns of these names, each once. Addresses are completed with `namespace` and
    /// `local_root`, as in listings. Fails with [`Error::Invalid`] for an unknown name.
    pub fn new(names: &[String], namespace: &str, local_root: &str) -> Result<Filling> {
        let unknown = |name: &String| Error::Invalid(format!("no column {name:?}"));
        let columns = names
            .iter()
            .map(|name| Column::named(name).ok_or_else(|| unknown(name)));
        let columns = columns.collect::<Result<Vec<_>>>()?;
        let fields = columns.iter().zip(names).map(|(column, name)| {
            Field::new(name, column.data_type(), *column == Column::LastModified)
        });
        Ok(Filling {
            schema: Arc::new(Schema::new(fields.collect::<Vec<_>>())),
            columns: columns.into_iter().map(|c| (c, c.builder())).collect(),
            namespace: namespace.to_owned(),
            local_root: local_root.to_owned(),
        })
    }

    /// Returns the schema of the batches.
    pub fn schema(&self) -> SchemaRef {
        SchemaRef::clone(&self.schema)
    }

    /// Returns whether entries must have their metadata when they are added.
    pub fn shows_metadata(&self) -> bool {
        self.columns.iter().any(|each| each.0 == Column::Metadata)
    }

    /// Adds an object; `time` is when it was modified, in microseconds.
    pub fn add(&mut self, key: &[u8], entry: &EntryView<'_>, time: Option<i64>) -> Result<()> {
        let roots = Roots {
            storage_namespace: &self.namespace,
            local_root: &self.local_root,
        };
        for (column, builder) in &mut self.columns {
            match builder {
                Builder::Bytes(keys) => keys.append_value(key),
                Builder::Number(sizes) => sizes.append_value(entry.size),
                Builder::Time(times) => times.append_option(time),
                Builder::Pairs(pairs) => add_pairs(pairs, &entry.metadata)?,
                Builder::Text(texts) => match column {
                    Column::Path => texts.append_value(text(key)),
                    Column::Checksum => texts.append_value(text(entry.checksum)),
                    Column::ContentType => texts.append_value(text(content_type(entry))),
                    _ => texts.append_value(text(&roots.address(entry).concat())),
                },
            }
        }
        Ok(())
    }

    /// Returns the filled columns, and begins new ones.
    pub fn finish(&mut self) -> Vec<ArrayRef> {
        let arrays = self.columns.iter_mut().map(|(_, builder)| match builder {
            Builder::Bytes(keys) => Arc::new(keys.finish()) as ArrayRef,
            Builder::Text(texts) => Arc::new(texts.finish()),
            Builder::Number(sizes) => Arc::new(sizes.finish()),
            Builder::Time(times) => Arc::new(times.finish()),
            Builder::Pairs(pairs) => Arc::new(pairs.finish()),
        });
        arrays.collect()
    }
}

fn add_pairs(
    map: &mut MapBuilder<StringBuilder, StringBuilder>,
    pairs: &[(&[u8], &[u8])],
) -> Result<()> {
    let mut shown: Vec<Cow<'_, str>> = Vec::new();
    for (key, value) in pairs.iter().filter(|pair| !is_system_key(pair.0)) {
        let key = text(key);
        // different bytes that are not UTF-8 may be shown alike, and a map has each key once
        if let Cow::Owned(_) = key {
            if shown.contains(&key) {
                continue;
            }
            shown.push(key.clone());
        }
        map.keys().append_value(key);
        map.values().append_value(text(value));
    }
    let appended = map.append(true);
    appended.map_err(|error| Error::Invalid(error.to_string()))
}

fn text(bytes: &[u8]) -> Cow<'_, str> {
    String::from_utf8_lossy(bytes)
}
