//! The elements of a compressed block: how their tags are read and their bytes are written.
//!
//! All kinds of copies are read by one table, so that none needs a branch of its own.

use crate::error::Fault;

/// The bytes of a tag and what may follow it, if it is no long literal.
pub const WINDOW: usize = 65;

/// What is said of elements that no compressor makes.
pub const MALFORMED: Fault = "a block cannot be decompressed";

/// What the tag of a copy says.
#[derive(Clone, Copy)]
struct CopyTag {
    length: u8,
    /// The bytes of the offset that follow the tag.
    bytes: u8,
    /// The bits of the offset in the tag, in their place.
    high: u16,
    /// What those bytes are of four.
    mask: u32,
}

/// What each tag says; those of literals are not used.
static COPIES: [CopyTag; 256] = {
    let none = CopyTag {
        length: 0,
        bytes: 0,
        high: 0,
        mask: 0,
    };
    let mut copies = [none; 256];
    let mut number = 0;
    while number < copies.len() {
        let tag = number as u8;
        copies[number] = match tag & 3 {
            1 => CopyTag {
                length: (tag >> 2 & 7) + 4,
                bytes: 1,
                high: ((tag >> 5) as u16) << 8,
                mask: 0xff,
            },
            2 => CopyTag {
                length: (tag >> 2) + 1,
                bytes: 2,
                high: 0,
                mask: 0xffff,
            },
            _ => CopyTag {
                length: (tag >> 2) + 1,
                bytes: 4,
                high: 0,
                mask: u32::MAX,
            },
        };
        number += 1;
    }
    copies
};

/// Returns whether a tag is that of a literal whose length follows.
#[inline(always)]
pub fn is_long_literal(tag: u8) -> bool {
    tag & 3 == 0 && tag >= 60 << 2
}

/// Writes the element at the beginning of a window, which is no long literal. Returns its length,
/// and how many bytes it takes.
#[inline(always)]
pub fn put_short(
    out: &mut [u8],
    window: &[u8; WINDOW],
    written: usize,
) -> Result<(usize, usize), Fault> {
    let [tag, behind @ ..] = window;
    if tag & 3 == 0 {
        let length = usize::from(tag >> 2) + 1;
        let target = &mut out[written..];
        match behind.first_chunk::<16>() {
            Some(chunk) if length <= 16 => put(target, chunk),
            _ => put(target, behind),
        }
        return Ok((length, 1 + length));
    }
    let copy = COPIES[usize::from(*tag)];
    let next = u32::from_le_bytes([behind[0], behind[1], behind[2], behind[3]]);
    let offset = usize::from(copy.high) | (next & copy.mask) as usize;
    if offset.wrapping_sub(1) >= written {
        return Err(MALFORMED);
    }
    let length = usize::from(copy.length);
    put_copy(out, written, offset, length);
    Ok((length, 1 + usize::from(copy.bytes)))
}

/// Writes a whole chunk at the beginning of `target`, which has room for it.
#[inline(always)]
pub fn put<const N: usize>(target: &mut [u8], chunk: &[u8; N]) {
    if let Some(target) = target.first_chunk_mut::<N>() {
        *target = *chunk;
    }
}

/// Repeats up to 64 bytes that lie `offset` before `written`.
#[inline(always)]
pub fn put_copy(out: &mut [u8], written: usize, offset: usize, length: usize) {
    let start = written - offset;
    if offset >= 16 {
        out.copy_within(start..start + 16, written);
        if length > 16 {
            out.copy_within(start + 16..start + 32, written + 16);
            if length > 32 {
                out.copy_within(start + 32..start + 48, written + 32);
                out.copy_within(start + 48..start + 64, written + 48);
            }
        }
        return;
    }
    for at in written..written + length {
        out[at] = out[at - offset];
    }
}
