//! Look-ups in a block, which is decompressed only up to the records found.

use std::cmp::Ordering;
use std::ops::Range;

use super::KEY_TRAILER_LEN;
use super::block_reader::{Block, Record, Walk};
use super::block_writer::user_key;
use super::snappy::Decompression;
use super::stored_block::{RawBlock, SNAPPY};
use crate::error::Fault;
use crate::shared_prefix::shared_prefix;

/// Bytes that are decompressed at a time.
const STEP: usize = 512;

/// The three lengths at the beginning of a record take at most so many bytes.
const LENGTHS: usize = 30;

/// What follows a block's records takes at least so many bytes: one restart and their number.
const RESTARTS: usize = 8;

/// A block in which keys are looked up. It is decompressed once, as far as one of them needs it.
pub struct BlockLookUp<'a> {
    raw: RawBlock<'a>,
    /// None for an uncompressed block.
    content: Option<Decompression<'a>>,
}

impl<'a> BlockLookUp<'a> {
    /// Prepares look-ups in a block. Fails for a damaged one.
    #[inline]
    pub fn new(raw: RawBlock<'a>) -> Result<BlockLookUp<'a>, Fault> {
        let content = match raw.compression {
            SNAPPY => Some(Decompression::new(raw.stored)?),
            _ => None,
        };
        Ok(BlockLookUp { raw, content })
    }

    /// Returns the value of a key, None when it is not there. `scratch` holds what is
    /// decompressed, so all look-ups in one block must be given the same. Fails for records that
    /// are malformed and lie before that of the key; what lies behind it is not read.
    #[inline]
    pub fn get<'s>(
        &mut self,
        key: &[u8],
        scratch: &'s mut Vec<u8>,
    ) -> Result<Option<&'s [u8]>, Fault>
    where
        'a: 's,
    {
        let Some(content) = &mut self.content else {
            let content = self.raw.content(scratch)?;
            return Ok(search(content, key)?.and_then(|value| content.get(value)));
        };
        content.reserve(scratch);
        let value = match scan(content, scratch, key)? {
            Scanned::Value(value) => Some(value),
            Scanned::Absent => None,
            Scanned::Undecided => {
                content.finish(scratch)?;
                search(&scratch[..content.length()], key)?
            }
        };
        Ok(value.and_then(|value| scratch.get(value)))
    }
}

/// Returns the position of the value of a key in a whole content.
fn search(content: &[u8], key: &[u8]) -> Result<Option<Range<usize>>, Fault> {
    let block = Block::parse(content)?;
    let mut walk = Walk::default();
    walk.restart_at(block.search(key)?);
    let found = walk.seek(block.entries, key)? && user_key(walk.key()) == key;
    Ok(found.then(|| walk.value()))
}

/// The result of a scan.
enum Scanned {
    Value(Range<usize>),
    Absent,
    /// The records end before the key, or are unusual: the whole block must be searched.
    Undecided,
}

/// Walks the records from the first one to the first whose key is at least `key`.
///
/// Keys are not put together: as long as they are below `key`, it is enough to know how many of
/// their first bytes are those of `key`. A record without room for its trailer ends the scan
/// undecided. The first restart behind the records is such a one, since it is 0.
#[inline]
fn scan(content: &mut Decompression<'_>, out: &mut [u8], key: &[u8]) -> Result<Scanned, Fault> {
    let Some(last) = content.length().checked_sub(RESTARTS) else {
        return Ok(Scanned::Undecided);
    };
    let mut position = 0;
    // The length of the key before, which is below `key`, and how many bytes they have in common.
    let (mut length, mut common) = (0, 0);
    while position < last {
        need(content, out, position + LENGTHS)?;
        let record = match Record::read(&out[..content.length()], position) {
            Ok(Some(record)) if record.value.end <= last => record,
            _ => return Ok(Scanned::Undecided),
        };
        need(content, out, record.value.end)?;
        let Some(end) = record.unshared.len().checked_sub(KEY_TRAILER_LEN) else {
            return Ok(Scanned::Undecided);
        };
        let unshared = &out[record.unshared.clone()];
        // Only the kind SET is usual, and a key that shares nothing with the trailer before it.
        if unshared[end] != 1 || record.shared > length {
            return Ok(Scanned::Undecided);
        }
        // Where more is shared than is common, the key differs from `key` where that before does.
        if record.shared <= common {
            let (compared, more) = compare(&unshared[..end], &key[record.shared..]);
            match compared {
                Ordering::Less => common = record.shared + more,
                Ordering::Equal => return Ok(Scanned::Value(record.value)),
                Ordering::Greater => return Ok(Scanned::Absent),
            }
        }
        length = record.shared + end;
        position = record.value.end;
    }
    Ok(Scanned::Undecided)
}

/// Decompresses the content up to `end`, and some more.
#[inline(always)]
fn need(content: &mut Decompression<'_>, out: &mut [u8], end: usize) -> Result<(), Fault> {
    if end > content.written() && content.written() < content.length() {
        content.advance(out, end.max(content.written() + STEP))?;
    }
    Ok(())
}

/// Compares short strings; returns how many first bytes they have in common as well.
#[inline(always)]
fn compare(a: &[u8], b: &[u8]) -> (Ordering, usize) {
    let common = shared_prefix(a, b);
    (a.get(common).cmp(&b.get(common)), common)
}

#[cfg(test)]
mod tests {
    use super::super::SET_TRAILER;
    use super::super::block_writer::BlockWriter;
    use super::super::stored_block::PLAIN;
    use super::*;
    use proptest::prelude::*;
    use snap::raw::Encoder;
    use std::collections::BTreeMap;

    type Records = BTreeMap<Vec<u8>, Vec<u8>>;

    fn content(records: &Records) -> Vec<u8> {
        let mut writer = BlockWriter::new(16);
        for (key, value) in records {
            writer.add(key, &SET_TRAILER, value);
        }
        writer.finish().to_vec()
    }

    fn block(compression: u8, stored: &[u8]) -> BlockLookUp<'_> {
        let raw = RawBlock {
            compression,
            stored,
        };
        BlockLookUp::new(raw).unwrap()
    }

    /// Keys with long shared beginnings, and some that go on as the trailer of others does.
    fn records() -> impl Strategy<Value = Records> {
        let part = prop::sample::select(vec![
            &b"a"[..],
            b"\0",
            b"\x01",
            b"\x01\0\0",
            b"folder/",
            b"\xff",
        ]);
        let key = prop::collection::vec(part, 0..7).prop_map(|parts| parts.concat());
        let value = prop::collection::vec(0..3u8, 0..90);
        prop::collection::btree_map(key, value, 0..90)
    }

    proptest! {
        #[test]
        fn a_block_gives_what_a_map_gives(records in records(), others in records()) {
            let content = content(&records);
            let stored = Encoder::new().compress_vec(&content).unwrap();
            let mut scratch = Vec::new();
            for mut block in [block(PLAIN, &content), block(SNAPPY, &stored)] {
                for key in records.keys().chain(others.keys()).rev() {
                    let found = block.get(key, &mut scratch).unwrap();
                    prop_assert_eq!(found, records.get(key).map(Vec::as_slice));
                }
            }
        }

        #[test]
        fn any_content_is_read_without_panic(content: Vec<u8>, key: Vec<u8>) {
            let stored = Encoder::new().compress_vec(&content).unwrap();
            for mut block in [block(PLAIN, &content), block(SNAPPY, &stored)] {
                let _ = block.get(&key, &mut Vec::new());
            }
        }
    }

    #[test]
    fn what_lies_behind_a_record_is_not_read() {
        let records: Records = (0..40u32)
            .map(|n| (format!("key{n:03}").into_bytes(), vec![n as u8; 100]))
            .collect();
        let mut stored = Encoder::new().compress_vec(&content(&records)).unwrap();
        stored.pop();
        let mut scratch = Vec::new();
        let mut block = block(SNAPPY, &stored);
        assert_eq!(block.get(b"key002", &mut scratch), Ok(Some(&[2; 100][..])));
        assert_eq!(block.get(b"key002+", &mut scratch), Ok(None));
        assert!(block.get(b"key999", &mut scratch).is_err());
    }

    #[test]
    fn a_record_that_sets_nothing_is_an_error() {
        let mut writer = BlockWriter::new(16);
        writer.add(b"deleted", &[0; 8], b"");
        writer.add(b"key", &SET_TRAILER, b"value");
        let stored = Encoder::new().compress_vec(writer.finish()).unwrap();
        let mut block = block(SNAPPY, &stored);
        assert_eq!(
            block.get(b"key", &mut Vec::new()),
            Err("a record is of a kind other than SET")
        );
    }
}
