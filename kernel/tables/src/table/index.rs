//! The index of an open table: which block may have a key, and its position.
//!
//! It is read once, when the table is opened, into a compact tree of the blocks' separators.

use super::block_reader::{Block, Walk};
use super::block_writer::user_key;
use super::footer::Handle;
use super::stored_block::RawBlock;
use crate::error::Fault;
use crate::key_tree::{KeyTree, KeyTreeBuilder, Search, Span};

/// Separators and handles of all blocks of a table, in order.
#[derive(Default)]
pub struct Index {
    separators: KeyTree,
}

impl Index {
    /// Reads the index that begins at `handle`. Only the order of separators and the form of
    /// handles are checked here, the blocks when they are read.
    pub fn read(file: &[u8], handle: Handle, two_levels: bool) -> Result<Index, Fault> {
        let mut separators = KeyTreeBuilder::default();
        let mut add = |key: &[u8], handle: Handle| {
            let added = separators.add(key, Span::from(handle));
            added
                .then_some(())
                .ok_or("the keys of the index are not in order")
        };
        if two_levels {
            let mut partitions = Vec::new();
            each_handle(file, handle, |_, handle| {
                partitions.push(handle);
                Ok(())
            })?;
            for partition in partitions {
                each_handle(file, partition, &mut add)?;
            }
        } else {
            each_handle(file, handle, &mut add)?;
        }
        Ok(Index {
            separators: separators.finish(),
        })
    }

    /// Returns the number of data blocks.
    #[inline]
    pub fn block_count(&self) -> usize {
        self.separators.count()
    }

    /// Returns where a data block is, None behind the last one.
    #[inline]
    pub fn handle(&self, block: usize) -> Option<Handle> {
        self.separators.span(block).map(Handle::from)
    }

    /// Returns the handles of blocks from one on.
    pub fn handles(&self, first: usize) -> impl Iterator<Item = Handle> {
        self.separators.spans(first).map(Handle::from)
    }

    /// Returns the first block that may hold keys that are at least `key`, and its handle; None
    /// when there is none.
    #[inline]
    pub fn find(&self, key: &[u8]) -> Option<(usize, Handle)> {
        let (block, span) = self.separators.find(key)?;
        Some((block, Handle::from(span)))
    }

    /// Starts what [`Self::find`] does, to be done in steps.
    #[inline]
    pub fn search<'a>(&'a self, key: &'a [u8]) -> Search<'a> {
        self.separators.search(key)
    }

    /// Returns the separator of a block, which no key in it is above; empty when there is no such
    /// block.
    pub fn separator(&self, block: usize) -> Vec<u8> {
        self.separators.key(block).unwrap_or_default()
    }
}

impl From<Handle> for Span {
    fn from(Handle { offset, length }: Handle) -> Span {
        Span { offset, length }
    }
}

impl From<Span> for Handle {
    fn from(Span { offset, length }: Span) -> Handle {
        Handle { offset, length }
    }
}

/// Calls `visit` with each key, without trailer, and handle of an index block.
pub(super) fn each_handle(
    file: &[u8],
    handle: Handle,
    mut visit: impl FnMut(&[u8], Handle) -> Result<(), Fault>,
) -> Result<(), Fault> {
    let mut scratch = Vec::new();
    let stored = RawBlock::read(file, handle.offset, handle.length)?;
    let block = Block::parse(stored.content(&mut scratch)?)?;
    let mut walk = Walk::default();
    while walk.step(block.entries)? {
        if walk.key().len() < super::KEY_TRAILER_LEN {
            return Err("a key of the index is too short");
        }
        let handle = Handle::decode(&block.entries[walk.value()])?;
        visit(user_key(walk.key()), handle)?;
    }
    Ok(())
}
