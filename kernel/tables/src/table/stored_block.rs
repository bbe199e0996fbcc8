//! A block of a file: its bytes, perhaps compressed, then a trailer of five bytes
//! that says how (0 as they are, 1 snappy) and carries the masked CRC-32C of both.

use snap::raw::{Encoder, max_compress_len};

use super::snappy::Decompression;
use crate::error::Fault;

/// Bytes of the trailer behind every block.
pub const TRAILER_LEN: usize = 5;

pub(super) const PLAIN: u8 = 0;
pub(super) const SNAPPY: u8 = 1;

/// A block's bytes as stored. Two equal ones hold equal records.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RawBlock<'a> {
    /// How the bytes are stored: 0 as they are, 1 compressed by snappy.
    pub compression: u8,
    /// The bytes as they are in the file, without the trailer.
    pub stored: &'a [u8],
}

impl<'a> RawBlock<'a> {
    /// Reads the block of `length` bytes at `offset` in a file and verifies its checksum.
    #[inline]
    pub fn read(file: &'a [u8], offset: u64, length: u64) -> Result<RawBlock<'a>, Fault> {
        let bytes = RawBlock::bytes(file, offset, length)?;
        let (stored, trailer) = bytes.split_at(bytes.len() - TRAILER_LEN);
        let block = RawBlock {
            compression: trailer[0],
            stored,
        };
        if trailer[1..] != block.checksum().to_le_bytes() {
            return Err("a block's checksum does not hold");
        }
        Ok(block)
    }

    /// Returns the bytes of a block, trailer included, as they are.
    #[inline]
    pub fn bytes(file: &'a [u8], offset: u64, length: u64) -> Result<&'a [u8], Fault> {
        let outside = "a block lies outside of the file";
        let start = usize::try_from(offset).map_err(|_| outside)?;
        let length = usize::try_from(length).map_err(|_| outside)?;
        let end = start
            .checked_add(length)
            .and_then(|end| end.checked_add(TRAILER_LEN));
        file.get(start..end.ok_or(outside)?).ok_or(outside)
    }

    /// Returns the block's content; `scratch` holds it when it had to be decompressed.
    #[inline]
    pub fn content<'s>(&self, scratch: &'s mut Vec<u8>) -> Result<&'s [u8], Fault>
    where
        'a: 's,
    {
        match self.compression {
            PLAIN => Ok(self.stored),
            SNAPPY => {
                decompress(self.stored, scratch)?;
                Ok(scratch)
            }
            _ => Err("a block's compression is unknown"),
        }
    }

    /// Puts the block's content into `out`, replacing its content.
    pub fn copy_content(&self, out: &mut Vec<u8>) -> Result<(), Fault> {
        match self.compression {
            PLAIN => {
                out.clear();
                out.extend_from_slice(self.stored);
                Ok(())
            }
            SNAPPY => decompress(self.stored, out),
            _ => Err("a block's compression is unknown"),
        }
    }

    /// Appends the block and its trailer to a file.
    pub fn append_to(&self, file: &mut Vec<u8>) {
        file.extend_from_slice(self.stored);
        file.push(self.compression);
        file.extend_from_slice(&self.checksum().to_le_bytes());
    }

    /// CRC-32C, rotated and shifted so that a checksum of checksummed data stays a good one.
    fn checksum(&self) -> u32 {
        let plain = crc32c::crc32c(self.stored);
        let all = crc32c::crc32c_append(plain, &[self.compression]);
        all.rotate_right(15).wrapping_add(0xa282_ead8)
    }
}

fn decompress(stored: &[u8], out: &mut Vec<u8>) -> Result<(), Fault> {
    let mut content = Decompression::new(stored)?;
    content.reserve(out);
    content.finish(out)?;
    out.truncate(content.length());
    Ok(())
}

/// Compresses blocks as Pebble does.
pub struct Compressor {
    encoder: Encoder,
    buffer: Vec<u8>,
}

impl Default for Compressor {
    fn default() -> Self {
        Compressor {
            encoder: Encoder::new(),
            buffer: Vec::new(),
        }
    }
}

impl Compressor {
    /// Returns a block's stored form: compressed when that saves at least an eighth.
    pub fn compress<'a>(&'a mut self, content: &'a [u8]) -> RawBlock<'a> {
        let bound = max_compress_len(content.len());
        if self.buffer.len() < bound {
            self.buffer.resize(bound, 0);
        }
        match self.encoder.compress(content, &mut self.buffer) {
            Ok(length) if length < content.len() - content.len() / 8 => RawBlock {
                compression: SNAPPY,
                stored: &self.buffer[..length],
            },
            _ => plain(content),
        }
    }
}

/// Returns an uncompressed block.
pub fn plain(content: &[u8]) -> RawBlock<'_> {
    RawBlock {
        compression: PLAIN,
        stored: content,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn round_trip(content: &[u8]) {
        let mut file = b"before".to_vec();
        let mut compressor = Compressor::default();
        let block = compressor.compress(content);
        let length = block.stored.len() as u64;
        block.append_to(&mut file);
        let read = RawBlock::read(&file, 6, length).unwrap();
        let mut scratch = Vec::new();
        assert_eq!(read.content(&mut scratch).unwrap(), content);
        read.copy_content(&mut scratch).unwrap();
        assert_eq!(scratch, content);
    }

    proptest! {
        #[test]
        fn comes_back(content: Vec<u8>, byte: u8, times in 0..10_000usize) {
            round_trip(&content);
            round_trip(&vec![byte; times]);
        }

        #[test]
        fn any_bytes_are_read_without_panic(stored: Vec<u8>, compression in 0..3u8) {
            let block = RawBlock { compression, stored: &stored };
            let _ = block.content(&mut Vec::new());
        }
    }

    #[test]
    fn a_lie_about_the_length_is_found_before_memory_is_set_aside() {
        let stored = b"\xff\xff\xff\xff\x0f\x00a";
        let block = RawBlock {
            compression: SNAPPY,
            stored,
        };
        let mut scratch = Vec::new();
        assert!(block.content(&mut scratch).is_err());
        assert!(scratch.capacity() < 1 << 20);
    }

    #[test]
    fn outside_of_the_file_is_an_error() {
        for (offset, length) in [(0, 100), (u64::MAX, 1), (1, u64::MAX), (100, 0)] {
            assert!(RawBlock::read(&[0; 20], offset, length).is_err());
        }
    }
}
