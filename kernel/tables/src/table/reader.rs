//! An open table: its file is mapped, its index is parsed once, and blocks are read in place.
//!
//! There is no cache of blocks. A look-up finds its block in memory, verifies the block's
//! checksum, decompresses it and searches it; the operating system keeps the file's pages, once
//! for all processes.

use std::fs::File;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use super::block_reader::{Block, Walk};
use super::cursor::Cursor;
use super::footer::{Footer, Handle};
use super::index::Index;
use super::look_up::BlockLookUp;
use super::properties::Properties;
use super::sigbus_safe_mmap::SigbusSafeMmap;
use super::stored_block::RawBlock;
use crate::error::{Error, Fault, Result};
use crate::key_tree::Search;
use crate::prefetch::prefetch;

/// A table that can be read, from any number of threads.
pub struct Table {
    path: String,
    bytes: Bytes,
    index: Index,
    properties: Properties,
    damaged: AtomicBool,
}

enum Bytes {
    Mapped(SigbusSafeMmap),
    Owned(Vec<u8>),
}

impl Bytes {
    #[inline]
    fn as_slice(&self) -> &[u8] {
        match self {
            Bytes::Mapped(map) => map,
            Bytes::Owned(bytes) => bytes,
        }
    }
}

impl Table {
    /// Opens a file and verifies its footer, properties and index. Fails with
    /// [`Error::Missing`] when there is no file and [`Error::Corrupt`] when it is no table.
    pub fn open(path: &Path) -> Result<Table> {
        let file = File::open(path).map_err(|error| Error::from_io(path, error))?;
        let metadata = file
            .metadata()
            .map_err(|error| Error::from_io(path, error))?;
        let name = path.display().to_string();
        if !metadata.is_file() {
            return Err(Error::corrupt(&name, "it is not a file"));
        }
        if metadata.len() == 0 {
            return Err(Error::corrupt(&name, "the file is empty"));
        }
        let map = SigbusSafeMmap::new(&file).map_err(|error| Error::from_io(path, error))?;
        Table::over(Bytes::Mapped(map), name)
    }

    /// Reads a table from memory; `name` stands for its path in errors.
    pub fn from_bytes(bytes: Vec<u8>, name: &str) -> Result<Table> {
        Table::over(Bytes::Owned(bytes), name.to_owned())
    }

    fn over(bytes: Bytes, path: String) -> Result<Table> {
        match parse(bytes.as_slice()) {
            Ok((index, properties)) => Ok(Table {
                path,
                bytes,
                index,
                properties,
                damaged: AtomicBool::new(false),
            }),
            Err(fault) => Err(Error::corrupt(&path, fault)),
        }
    }

    /// Returns the path or the name that the table was opened with.
    pub fn path(&self) -> &str {
        &self.path
    }

    /// Returns what the table says of itself.
    pub fn properties(&self) -> &Properties {
        &self.properties
    }

    /// Returns the framed value of a key, None when it is not there. `scratch` may hold it, and is
    /// reused from call to call.
    #[inline]
    pub fn get<'s>(&'s self, key: &[u8], scratch: &'s mut Vec<u8>) -> Result<Option<&'s [u8]>> {
        match self.index.find(key) {
            Some((_, handle)) => {
                // more of its lines at once than the checksum asks for
                self.prefetch(handle);
                self.look_up(handle, |block| block.get(key, scratch))
            }
            None => Ok(None),
        }
    }

    /// Starts a search for the block that holds a key if the table does.
    #[inline]
    pub(crate) fn search<'a>(&'a self, key: &'a [u8]) -> Search<'a> {
        self.index.search(key)
    }

    /// Looks up keys in a block whose checksum is verified.
    #[inline]
    pub(crate) fn look_up<'t, T>(
        &'t self,
        handle: Handle,
        look_up: impl FnOnce(&mut BlockLookUp<'t>) -> std::result::Result<T, Fault>,
    ) -> Result<T> {
        RawBlock::read(self.bytes.as_slice(), handle.offset, handle.length)
            .and_then(|raw| look_up(&mut BlockLookUp::new(raw)?))
            .map_err(|fault| self.corrupt(fault))
    }

    /// Prefetches a block.
    #[inline]
    pub(crate) fn prefetch(&self, handle: Handle) {
        if let Ok(bytes) = RawBlock::bytes(self.bytes.as_slice(), handle.offset, handle.length) {
            prefetch(bytes);
        }
    }

    /// Returns the number of data blocks.
    pub fn block_count(&self) -> usize {
        self.index.block_count()
    }

    /// Returns the first block that may hold keys that are at least `key`; [`Self::block_count`]
    /// when there is none. The block itself may end before `key`, never a later one.
    #[inline]
    pub fn find_block(&self, key: &[u8]) -> usize {
        self.index
            .find(key)
            .map_or(self.block_count(), |(block, _)| block)
    }

    /// Returns whether all keys of a block are below `key`, as [`Self::find_block`] knows it.
    #[inline]
    pub fn ends_before(&self, block: usize, key: &[u8]) -> bool {
        self.find_block(key) > block
    }

    /// Returns a key that no key of the block is above and every key of later blocks is above.
    pub fn separator(&self, block: usize) -> Vec<u8> {
        self.index.separator(block)
    }

    /// Returns a block's stored bytes after verifying their checksum. Equal blocks have equal
    /// records.
    #[inline]
    pub fn raw_block(&self, block: usize) -> Result<RawBlock<'_>> {
        let handle = self.index.handle(block);
        let handle = handle.ok_or_else(|| Error::Invalid(format!("no block {block}")))?;
        RawBlock::read(self.bytes.as_slice(), handle.offset, handle.length)
            .map_err(|fault| self.corrupt(fault))
    }

    /// Returns where a data block is.
    pub(super) fn block_handle(&self, block: usize) -> Option<Handle> {
        self.index.handle(block)
    }

    /// Returns a block's bytes and trailer without verifying them.
    #[inline]
    pub fn sealed_block(&self, block: usize) -> Result<&[u8]> {
        let handle = self.index.handle(block);
        self.sealed_bytes(handle.ok_or_else(|| Error::Invalid(format!("no block {block}")))?)
    }

    /// Returns how many blocks from one on, at most `most`, are stored, checksum and all, as those of
    /// another table are. Equal blocks hold equal records, if any can be read: the checksums are not
    /// verified.
    pub fn count_equal_blocks(
        &self,
        block: usize,
        other: &Table,
        other_block: usize,
        most: usize,
    ) -> Result<usize> {
        let handles = self.index.handles(block).take(most);
        let mut equal = 0;
        for (mine, theirs) in handles.zip(other.index.handles(other_block)) {
            if self.sealed_bytes(mine)? != other.sealed_bytes(theirs)? {
                break;
            }
            equal += 1;
        }
        Ok(equal)
    }

    #[inline]
    fn sealed_bytes(&self, handle: Handle) -> Result<&[u8]> {
        RawBlock::bytes(self.bytes.as_slice(), handle.offset, handle.length)
            .map_err(|fault| self.corrupt(fault))
    }

    /// Returns a cursor that stands before the first record and keeps the table open.
    pub fn cursor(self: &Arc<Table>) -> Cursor {
        Cursor::new(Arc::clone(self))
    }

    /// Returns whether damaged bytes were read. The file may have been repaired since; open it again
    /// to check.
    #[inline]
    pub fn is_damaged(&self) -> bool {
        self.damaged.load(Ordering::Relaxed)
    }

    pub(super) fn corrupt(&self, fault: Fault) -> Error {
        self.damaged.store(true, Ordering::Relaxed);
        Error::corrupt(&self.path, fault)
    }
}

fn parse(file: &[u8]) -> std::result::Result<(Index, Properties), Fault> {
    let footer = Footer::read(file)?;
    let handle = find_properties(file, footer.metaindex)?;
    let mut scratch = Vec::new();
    let stored = RawBlock::read(file, handle.offset, handle.length)?;
    let properties = Properties::decode(stored.content(&mut scratch)?)?;
    let two_levels = properties.index_has_two_levels()?;
    let index = Index::read(file, footer.index, two_levels)?;
    Ok((index, properties))
}

/// Finds the properties in the list of meta blocks.
pub(super) fn find_properties(file: &[u8], list: Handle) -> std::result::Result<Handle, Fault> {
    let mut scratch = Vec::new();
    let stored = RawBlock::read(file, list.offset, list.length)?;
    let block = Block::parse(stored.content(&mut scratch)?)?;
    let mut walk = Walk::default();
    while walk.step(block.entries)? {
        if walk.key() == b"rocksdb.properties" {
            return Handle::decode(&block.entries[walk.value()]);
        }
    }
    Err("the table has no properties")
}
