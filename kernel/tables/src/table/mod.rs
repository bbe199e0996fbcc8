//! One table: a RocksDB-compatible SSTable file, written byte for byte as Pebble writes it.
//!
//! `docs/format/table.md` draws the bytes. From small to large: [`stored_block`] (a block as it
//! is in the file), [`block_writer`] and [`block_reader`] (its records), [`look_up`] (one of
//! them by its key), [`index`] and [`index_writer`] (which block holds which keys), [`properties`], [`footer`], and at the top
//! the [`writer`], the [`reader`] and the [`cursor`]. [`parts`] tells which bytes a reader of some keys needs.

pub mod block_reader;
pub mod block_scan;
pub mod block_writer;
pub mod cursor;
pub mod digest;
pub mod file;
pub mod footer;
pub mod index;
pub mod index_writer;
mod look_up;
pub mod parts;
pub mod properties;
pub mod reader;
pub mod separator;
pub mod sigbus_safe_mmap;
mod snappy;
mod snappy_element;
pub mod stored_block;
pub mod verify;
pub mod writer;

pub use block_scan::BlockScan;
pub use cursor::Cursor;
pub use file::{SmallTable, TableFolder, sync_folder};
pub use footer::Handle;
pub use properties::Properties;
pub use reader::Table;
pub use stored_block::RawBlock;
pub use verify::verify_table;
pub use writer::{FinishedTable, TableWriter};

/// The content of a table.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// Records of objects.
    Ranges,
    /// Records of ranges.
    Metaranges,
}

impl Kind {
    /// Returns the value of the property `type`.
    pub fn name(self) -> &'static str {
        match self {
            Kind::Ranges => "ranges",
            Kind::Metaranges => "metaranges",
        }
    }
}

/// The bytes that follow every key of a record: sequence number 0, kind SET.
pub(crate) const SET_TRAILER: [u8; 8] = [1, 0, 0, 0, 0, 0, 0, 0];

/// Bytes that follow every key inside a block.
pub(crate) const KEY_TRAILER_LEN: usize = 8;
