//! Builds the index of a table: for each block a separator key and its handle.
//!
//! An index that outgrows one block is split into partitions, and a top level names the
//! partitions by their last separators. All of them are compressed as data blocks are.

use super::block_writer::BlockWriter;
use super::footer::Handle;
use super::stored_block::{Compressor, TRAILER_LEN};

/// The length of a handle that the cut rule assumes, whatever it will be.
const ASSUMED_HANDLE_LEN: usize = 20;

struct Partition {
    separator: Vec<u8>,
    content: Vec<u8>,
    blocks: usize,
}

/// An index being filled.
pub struct IndexWriter {
    current: BlockWriter,
    partitions: Vec<Partition>,
}

/// What is known of an index when it is written.
#[derive(Debug, Default)]
pub struct IndexSummary {
    /// Where the index is; of two levels, the upper one.
    pub handle: Handle,
    /// The number of blocks of the index.
    pub blocks: u64,
    /// Bytes before compression, as the property `rocksdb.index.size` counts them.
    pub size: u64,
    /// 0 when the index has one level.
    pub partitions: u64,
    /// The size of the upper level in bytes.
    pub top_level_size: u64,
}

impl Default for IndexWriter {
    fn default() -> Self {
        IndexWriter {
            current: BlockWriter::new(1),
            partitions: Vec::new(),
        }
    }
}

impl IndexWriter {
    /// Returns the size of the partition being filled, in bytes before compression.
    pub fn estimated_size(&self) -> usize {
        self.current.estimated_size()
    }

    /// Adds a block. `separator` is a key with its trailer.
    pub fn add(&mut self, separator: &[u8], handle: Handle) {
        if self
            .current
            .cuts_before(separator.len(), ASSUMED_HANDLE_LEN)
        {
            self.close_partition();
        }
        let mut value = Vec::with_capacity(ASSUMED_HANDLE_LEN);
        handle.encode(&mut value);
        self.current.add(separator, &[], &value);
    }

    fn close_partition(&mut self) {
        self.partitions.push(Partition {
            separator: self.current.last_key().to_vec(),
            blocks: self.current.records(),
            content: self.current.finish().to_vec(),
        });
        self.current.clear();
    }

    /// Appends the index to the file.
    pub fn finish(mut self, file: &mut Vec<u8>, compressor: &mut Compressor) -> IndexSummary {
        if self.partitions.is_empty() {
            return IndexSummary {
                size: (self.current.estimated_size() + TRAILER_LEN) as u64,
                blocks: self.current.records() as u64,
                handle: append_block(self.current.finish(), file, compressor),
                ..IndexSummary::default()
            };
        }
        self.close_partition();
        let mut summary = IndexSummary {
            partitions: self.partitions.len() as u64,
            ..IndexSummary::default()
        };
        let mut top = BlockWriter::new(1);
        for partition in &self.partitions {
            let mut value = Vec::with_capacity(ASSUMED_HANDLE_LEN);
            append_block(&partition.content, file, compressor).encode(&mut value);
            top.add(&partition.separator, &[], &value);
            summary.blocks += partition.blocks as u64;
            summary.size += partition.content.len() as u64;
        }
        summary.top_level_size = top.estimated_size() as u64;
        summary.size += summary.top_level_size + TRAILER_LEN as u64;
        summary.handle = append_block(top.finish(), file, compressor);
        summary
    }
}

/// Appends a block to a file, compressed if that pays, and returns where it is.
pub fn append_block(content: &[u8], file: &mut Vec<u8>, compressor: &mut Compressor) -> Handle {
    let block = compressor.compress(content);
    let handle = Handle {
        offset: file.len() as u64,
        length: block.stored.len() as u64,
    };
    block.append_to(file);
    handle
}
