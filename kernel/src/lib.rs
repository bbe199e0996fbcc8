//! Tables and trees of Anabranch: the RocksDB-compatible SSTables that hold object metadata,
//! and the walks over them.
//!
//! - [`checksum`]: checksums that uploads carry.
//! - [`codec`]: what lies inside a record: identities, values, protobuf messages.
//! - [`table`]: one SSTable file, written byte for byte as Pebble writes it, and read.
//! - [`key_tree`]: sorted keys in little memory, searched.
//! - [`prefetch`]: hints about memory that is read soon.
//! - [`ranges`]: how a sequence of records is cut into tables, and the table that lists them.
//! - [`tree`]: all records of one commit, and what is done with them.
//! - [`arrow`]: records as columns, to and from whoever works with those.
//! - [`signing`]: signatures over requests of S3.
//! - [`files`]: small questions to the system about files.
//! - [`http`]: plain messages of HTTP.
//! - [`text`]: how numbers, times and keys are written for those who read text.

pub mod arrow;
pub mod checksum;
pub mod codec;
pub mod error;
#[cfg(unix)]
pub mod files;
pub mod http;
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
