//! Tables and trees of Anabranch: the RocksDB-compatible SSTables that hold object metadata,
//! and the walks over them.
//!
//! - [`checksum`]: checksums of uploads.
//! - [`codec`]: the contents of a record: identities, values, protobuf messages.
//! - [`table`]: reader and writer of SSTable files, byte for byte as Pebble writes them.
//! - [`key_tree`]: a compact index of sorted keys.
//! - [`prefetch`]: prefetch hints to the processor.
//! - [`ranges`]: splits a sequence of records into tables, and writes the table that lists them.
//! - [`tree`]: all records of one commit, and the operations on them.
//! - [`history`]: the commits of a repository in memory, and which paths each changed.
//! - [`arrow`]: conversion of records to and from Arrow columns.
//! - [`signing`]: signatures of S3 requests.
//! - [`files`]: system calls on files.
//! - [`http`]: reader and writer of HTTP/1.1 messages.
//! - [`json`]: scans of JSON lines.
//! - [`text`]: numbers, times and keys as text.

pub mod arrow;
pub mod checksum;
pub mod codec;
pub mod error;
#[cfg(unix)]
pub mod files;
pub mod history;
pub mod http;
pub mod json;
mod key_tree;
mod prefetch;
pub mod ranges;
pub mod signing;
pub mod table;
pub mod text;
pub mod tree;
pub mod varint;

#[cfg(feature = "python")]
mod python;

pub use error::{Error, Result};
