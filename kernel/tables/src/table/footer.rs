//! The last 53 bytes of a file, which say where the index and the list of meta blocks are, and
//! block handles, which say where any block is.

use crate::error::Fault;
use crate::varint;

/// Bytes of the footer.
pub const FOOTER_LEN: usize = 53;

const HANDLES_START: usize = 1;
const VERSION_START: usize = 41;
const MAGIC_START: usize = 45;

const CHECKSUM_CRC32C: u8 = 1;
const VERSION: [u8; 4] = 2u32.to_le_bytes();
const MAGIC: [u8; 8] = [0xf7, 0xcf, 0xf4, 0x85, 0xb7, 0x41, 0xe2, 0x88];

/// Where a block is: its first byte, and how many there are without the trailer.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Handle {
    /// Where the block begins, in bytes.
    pub offset: u64,
    /// The length in bytes, without the trailer.
    pub length: u64,
}

impl Handle {
    /// Appends the handle as two varints.
    pub fn encode(self, out: &mut Vec<u8>) {
        varint::put(out, self.offset);
        varint::put(out, self.length);
    }

    /// Reads a handle at `*position`, and moves the position behind it.
    pub fn take(bytes: &[u8], position: &mut usize) -> Option<Handle> {
        let offset = varint::take(bytes, position)?;
        let length = varint::take(bytes, position)?;
        Some(Handle { offset, length })
    }

    /// Reads a handle that fills `bytes`.
    pub fn decode(bytes: &[u8]) -> Result<Handle, Fault> {
        let mut position = 0;
        Handle::take(bytes, &mut position)
            .filter(|_| position == bytes.len())
            .ok_or("a block handle is malformed")
    }
}

/// Where a file's index and its list of meta blocks are.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Footer {
    /// Where the list of meta blocks is.
    pub metaindex: Handle,
    /// Where the index is.
    pub index: Handle,
}

impl Footer {
    /// Appends the footer to a file.
    pub fn append_to(self, file: &mut Vec<u8>) {
        let start = file.len();
        file.push(CHECKSUM_CRC32C);
        self.metaindex.encode(file);
        self.index.encode(file);
        file.resize(start + VERSION_START, 0);
        file.extend_from_slice(&VERSION);
        file.extend_from_slice(&MAGIC);
    }

    /// Reads the footer of a file.
    pub fn read(file: &[u8]) -> Result<Footer, Fault> {
        let start = file
            .len()
            .checked_sub(FOOTER_LEN)
            .ok_or("the file is too short for a table")?;
        let footer = &file[start..];
        if footer[MAGIC_START..] != MAGIC {
            return Err("the file does not end as a table");
        }
        if footer[VERSION_START..MAGIC_START] != VERSION {
            return Err("the table's format version is not 2");
        }
        if footer[0] != CHECKSUM_CRC32C {
            return Err("the table's checksums are not CRC-32C");
        }
        let malformed = "the footer's block handles are malformed";
        let mut position = HANDLES_START;
        let metaindex = Handle::take(footer, &mut position).ok_or(malformed)?;
        let index = Handle::take(footer, &mut position).ok_or(malformed)?;
        // No checksum guards these bytes, but there is only one way to write them.
        let read = Footer { metaindex, index };
        let mut again = Vec::with_capacity(FOOTER_LEN);
        read.append_to(&mut again);
        if again != footer {
            return Err(malformed);
        }
        Ok(read)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn comes_back(numbers: [u64; 4], before: Vec<u8>) {
            let footer = Footer {
                metaindex: Handle { offset: numbers[0], length: numbers[1] },
                index: Handle { offset: numbers[2], length: numbers[3] },
            };
            let mut file = before.clone();
            footer.append_to(&mut file);
            prop_assert_eq!(file.len(), before.len() + FOOTER_LEN);
            prop_assert_eq!(Footer::read(&file), Ok(footer));
        }

        #[test]
        fn any_bytes_are_read_without_panic(mut file: Vec<u8>) {
            let _ = Footer::read(&file);
            file.extend_from_slice(&[0xff; 40]);
            file.extend_from_slice(&VERSION);
            file.extend_from_slice(&MAGIC);
            let _ = Footer::read(&file);
        }
    }
}
