//! Trees as Arrow record batches, and back: a stream in either of two forms.
//!
//! Raw, a record is a key, an identity and data, as bytes. Decoded, it is an object's path and
//! metadata, a column each, and the path and all texts must be UTF-8. System metadata is left out,
//! in both directions.

pub mod batches;
pub mod changes;
pub mod columns;
pub mod load;
pub mod order;
pub mod scan;
pub mod search;
mod search_columns;

use std::sync::{Arc, LazyLock};

use arrow_schema::{DataType, Field, Fields, Schema, SchemaRef, TimeUnit};

/// The columns of records as they are stored.
pub static RAW: LazyLock<SchemaRef> = LazyLock::new(|| {
    let binary = |name: &str| Field::new(name, DataType::Binary, false);
    Arc::new(Schema::new(vec![
        binary("key"),
        binary("identity"),
        binary("data"),
    ]))
});

/// The columns of objects.
pub static DECODED: LazyLock<SchemaRef> = LazyLock::new(|| {
    let text = |name: &str| Field::new(name, DataType::Utf8, false);
    let time = DataType::Timestamp(TimeUnit::Microsecond, Some("UTC".into()));
    let pairs = Field::new("entries", DataType::Struct(pair_fields()), false);
    Arc::new(Schema::new(vec![
        text("path"),
        text("physical_address"),
        Field::new("address_type", DataType::Int32, false),
        Field::new("last_modified", time, false),
        Field::new("size", DataType::Int64, false),
        text("checksum"),
        Field::new("metadata", DataType::Map(Arc::new(pairs), false), false),
        text("content_type"),
    ]))
});

/// The fields of one pair of a map of texts.
fn pair_fields() -> Fields {
    Fields::from(vec![
        Field::new("key", DataType::Utf8, false),
        Field::new("value", DataType::Utf8, true),
    ])
}
