//! Parts of a table's file: which bytes a reader of some keys needs.
//!
//! A file ends with its index, so a reader can fetch its end, then the blocks of the keys, and leave
//! the rest of the file empty. Each block has its own checksum; the digest of all records, by which
//! the table is named, can only be verified with the whole file.

use std::ops::Range;

use super::footer::Footer;
use super::index::each_handle;
use super::properties::Properties;
use super::reader::find_properties;
use super::stored_block::{RawBlock, TRAILER_LEN};
use super::{Handle, Table};
use crate::error::{Error, Fault, Result};

/// The name of a file's end in errors.
const TAIL: &str = "the end of a table";

/// Blocks that a walk up to a key may read behind the one in which the key would be.
const BLOCKS_BEHIND: usize = 1;

/// Returns the position from which on a file of `size` bytes is needed to open it, given its last
/// bytes. If these begin behind it, more are needed to know, and it is where those begin.
/// Fails with [`Error::Corrupt`].
pub fn index_start(tail: &[u8], size: u64) -> Result<u64> {
    find_index(tail, size).map_err(|fault| Error::corrupt(TAIL, fault))
}

fn find_index(tail: &[u8], size: u64) -> std::result::Result<u64, Fault> {
    let footer = Footer::read(tail)?;
    let base = size
        .checked_sub(tail.len() as u64)
        .ok_or("the end is longer than the file")?;
    let first = footer.index.offset.min(footer.metaindex.offset);
    let (Some(index), Some(list)) = (within(footer.index, base), within(footer.metaindex, base))
    else {
        return Ok(first);
    };
    let properties = find_properties(tail, list)?;
    let Some(stored) = within(properties, base) else {
        return Ok(first.min(properties.offset));
    };
    let mut scratch = Vec::new();
    let block = RawBlock::read(tail, stored.offset, stored.length)?;
    let described = Properties::decode(block.content(&mut scratch)?)?;
    let mut start = first.min(properties.offset);
    if described.index_has_two_levels()? {
        each_handle(tail, index, |_, partition| {
            start = start.min(partition.offset);
            Ok(())
        })?;
    }
    Ok(start)
}

/// Returns a handle relative to `base`, None if the block begins before it.
fn within(handle: Handle, base: u64) -> Option<Handle> {
    let offset = handle.offset.checked_sub(base)?;
    Some(Handle { offset, ..handle })
}

/// Returns the bytes of the data blocks that a walk over the keys after `after`, up to and including
/// `until`, may read. Fails with [`Error::Corrupt`] for an index with blocks out of order.
pub fn span(table: &Table, after: &[u8], until: Option<&[u8]>) -> Result<Range<u64>> {
    let count = table.block_count();
    let first = table.find_block(&[after, &[0]].concat());
    let last = until.map_or(count, |key| {
        table.find_block(&[key, &[0]].concat()) + BLOCKS_BEHIND
    });
    let last = last.min(count.saturating_sub(1));
    let (Some(first), Some(last)) = (table.block_handle(first), table.block_handle(last)) else {
        return Ok(0..0);
    };
    let end = last
        .offset
        .checked_add(last.length)
        .and_then(|end| end.checked_add(TRAILER_LEN as u64))
        .filter(|end| first.offset < *end);
    match end {
        Some(end) => Ok(first.offset..end),
        None => Err(table.corrupt("its blocks are out of order")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::table::{Kind, TableWriter};

    fn file(records: usize) -> Vec<u8> {
        let mut writer = TableWriter::new(Kind::Ranges);
        for number in 0..records {
            let value = format!("value {} of {number}", number * number % 977);
            writer
                .add(format!("k{number:06}").as_bytes(), value.as_bytes())
                .unwrap();
        }
        writer.finish(&[]).unwrap().bytes
    }

    /// What is fetched of a file by its end is enough to open it, and no data block.
    #[test]
    fn an_index_is_found_from_the_end() {
        for records in [1, 50, 20_000] {
            let file = file(records);
            let mut base = file.len() - 60;
            loop {
                let start = index_start(&file[base..], file.len() as u64).unwrap();
                let start = usize::try_from(start).unwrap();
                if start >= base {
                    base = start;
                    break;
                }
                base = start;
            }
            let mut sparse = vec![0; file.len()];
            sparse[base..].copy_from_slice(&file[base..]);
            let table = Table::from_bytes(sparse, "sparse").unwrap();
            let whole = Table::from_bytes(file, "whole").unwrap();
            assert_eq!(table.block_count(), whole.block_count());
            assert!(table.raw_block(0).is_err(), "an empty block is refused");
            assert_eq!(span(&whole, b"", None).unwrap(), 0..base as u64);
            assert_eq!(span(&whole, b"l", None).unwrap(), 0..0);
        }
    }

    #[test]
    fn damaged_ends_are_errors() {
        let file = file(2_000);
        let size = file.len() as u64;
        assert!(index_start(b"short", size).is_err());
        assert!(index_start(&file, size - 1).is_err());
        for position in file.len() - 400..file.len() {
            let mut damaged = file.clone();
            damaged[position] ^= 0x40;
            let _ = index_start(&damaged, size);
        }
    }
}
