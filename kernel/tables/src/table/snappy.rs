//! Decompresses snappy, as far as is needed.
//!
//! ```text
//! block     varint length of the content | elements …
//! element   tag, whose two lowest bits say what follows:
//!           0  literal; the tag's other bits + 1 are its length, 60 to 63 mean that the length - 1
//!              follows in 1 to 4 bytes
//!           1  copy of 4 to 11 bytes, 11 bits of offset: 3 in the tag, 8 in the byte that follows
//!           2  copy of 1 to 64 bytes, 16 bits of offset follow
//!           3  copy of 1 to 64 bytes, 32 bits of offset follow
//! ```
//!
//! Elements are copied 16 or 64 bytes at a time whatever their length, so the output has room
//! behind its end.

use super::snappy_element::{MALFORMED, WINDOW, is_long_literal, put, put_copy, put_short};
use crate::error::Fault;
use crate::varint;

/// Room behind the end of the output, in bytes.
const ROOM: usize = 64;

/// The decompression of one block, which can be suspended between elements.
pub struct Decompression<'a> {
    elements: &'a [u8],
    position: usize,
    written: usize,
    length: usize,
}

impl<'a> Decompression<'a> {
    /// Reads the length of the content. Fails for one that so few bytes cannot make, so that no
    /// memory is allocated for it: no element makes more than 64 bytes of 3.
    #[inline]
    pub fn new(stored: &'a [u8]) -> Result<Decompression<'a>, Fault> {
        let bad = "a block's compressed length is malformed";
        let mut position = 0;
        let length = varint::take(stored, &mut position).ok_or(bad)?;
        if position > 5 || length > u64::from(u32::MAX) {
            return Err(bad);
        }
        let length = usize::try_from(length).map_err(|_| bad)?;
        if length / 22 > stored.len() {
            return Err("a block claims an impossible length");
        }
        Ok(Decompression {
            elements: &stored[position..],
            position: 0,
            written: 0,
            length,
        })
    }

    /// Returns the length of the whole content.
    #[inline]
    pub fn length(&self) -> usize {
        self.length
    }

    /// Returns how many bytes of the content are there.
    #[inline]
    pub fn written(&self) -> usize {
        self.written
    }

    /// Makes `out` long enough for the content and the spare space after it.
    #[inline]
    pub fn reserve(&self, out: &mut Vec<u8>) {
        if out.len() < self.length + ROOM {
            out.resize(self.length + ROOM, 0);
        }
    }

    /// Writes the content up to `end` at least, or all of it if it is shorter. `out` must be
    /// [reserved](Self::reserve) and hold what was written before.
    #[inline]
    pub fn advance(&mut self, out: &mut [u8], end: usize) -> Result<(), Fault> {
        let end = end.min(self.length);
        if out.len() < self.length + ROOM {
            return Err("there is no room to decompress a block");
        }
        let (mut position, mut written) = (self.position, self.written);
        while written < end {
            let rest = self.elements.get(position..).ok_or(MALFORMED)?;
            let length = match rest.first_chunk::<WINDOW>() {
                Some(window) if !is_long_literal(window[0]) => {
                    let (length, taken) = put_short(out, window, written)?;
                    if length > self.length - written {
                        return Err(MALFORMED);
                    }
                    position += taken;
                    length
                }
                _ => self.put_any(out, &mut position, written)?,
            };
            written += length;
        }
        (self.position, self.written) = (position, written);
        Ok(())
    }

    /// Writes any element, also one near the end of the block; returns its length. The table of
    /// [put_short] reads four bytes behind every tag of a copy: here they may be missing, and each kind
    /// of copy takes as many as it has.
    fn put_any(
        &self,
        out: &mut [u8],
        position: &mut usize,
        written: usize,
    ) -> Result<usize, Fault> {
        let tag = *self.elements.get(*position).ok_or(MALFORMED)?;
        *position += 1;
        if tag & 3 == 0 {
            return self.put_literal(out, tag, position, written);
        }
        let (offset, length) = self.take_copy(tag & 3, tag, position)?;
        if offset.wrapping_sub(1) >= written || length > self.length - written {
            return Err(MALFORMED);
        }
        put_copy(out, written, offset, length);
        Ok(length)
    }

    /// Writes all of the content, and checks that nothing follows it.
    #[inline]
    pub fn finish(&mut self, out: &mut [u8]) -> Result<(), Fault> {
        self.advance(out, self.length)?;
        match self.position == self.elements.len() {
            true => Ok(()),
            false => Err(MALFORMED),
        }
    }

    /// Writes a literal; returns its length.
    #[inline(always)]
    fn put_literal(
        &self,
        out: &mut [u8],
        tag: u8,
        position: &mut usize,
        written: usize,
    ) -> Result<usize, Fault> {
        let mut length = usize::from(tag >> 2) + 1;
        if length > 60 {
            let bytes = length - 60;
            let field = self.elements.get(*position..*position + bytes);
            let field = field.ok_or(MALFORMED)?.iter().rev();
            length = field.fold(0, |sum, &byte| sum << 8 | usize::from(byte)) + 1;
            *position += bytes;
        }
        let source = &self.elements[*position..];
        if length > self.length - written {
            return Err(MALFORMED);
        }
        let target = &mut out[written..];
        match (source.first_chunk::<16>(), source.first_chunk::<64>()) {
            (Some(chunk), _) if length <= 16 => put(target, chunk),
            (_, Some(chunk)) if length <= 64 => put(target, chunk),
            _ => {
                let source = source.get(..length).ok_or(MALFORMED)?;
                target[..length].copy_from_slice(source);
            }
        }
        *position += length;
        Ok(length)
    }

    /// Returns a copy's offset and length.
    #[inline(always)]
    fn take_copy(&self, kind: u8, tag: u8, position: &mut usize) -> Result<(usize, usize), Fault> {
        let source = &self.elements[*position..];
        let (offset, length, bytes) = match kind {
            1 => {
                let low = *source.first().ok_or(MALFORMED)?;
                let offset = usize::from(tag >> 5) << 8 | usize::from(low);
                (offset, usize::from(tag >> 2 & 7) + 4, 1)
            }
            2 => {
                let offset = u16::from_le_bytes(*source.first_chunk().ok_or(MALFORMED)?);
                (usize::from(offset), usize::from(tag >> 2) + 1, 2)
            }
            _ => {
                let offset = u32::from_le_bytes(*source.first_chunk().ok_or(MALFORMED)?);
                (offset as usize, usize::from(tag >> 2) + 1, 4)
            }
        };
        *position += bytes;
        Ok((offset, length))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use snap::raw::{Decoder, Encoder};

    fn decompress(stored: &[u8]) -> Result<Vec<u8>, Fault> {
        let mut decompression = Decompression::new(stored)?;
        let mut out = Vec::new();
        decompression.reserve(&mut out);
        decompression.finish(&mut out)?;
        out.truncate(decompression.length());
        Ok(out)
    }

    /// Elements that are mostly well-formed, behind the length that they make.
    fn elements() -> impl Strategy<Value = Vec<u8>> {
        let element = prop_oneof![
            prop::collection::vec(any::<u8>(), 1..=60)
                .prop_map(|bytes| { [&[((bytes.len() - 1) << 2) as u8], &bytes[..]].concat() }),
            prop::collection::vec(any::<u8>(), 1..=300).prop_map(|bytes| {
                let length = (bytes.len() - 1) as u16;
                [&[61 << 2], &length.to_le_bytes()[..], &bytes].concat()
            }),
            (0..8u8, 0..3u8, any::<u8>())
                .prop_map(|(l, high, low)| vec![high << 5 | l << 2 | 1, low]),
            (0..64u8, 1..400u16)
                .prop_map(|(l, offset)| { [&[l << 2 | 2], &offset.to_le_bytes()[..]].concat() }),
            (0..64u8, 1..400u32)
                .prop_map(|(l, offset)| { [&[l << 2 | 3], &offset.to_le_bytes()[..]].concat() }),
        ];
        let some = prop::collection::vec(element, 0..40);
        (some, 0..3usize).prop_map(|(elements, shorter)| {
            let elements = elements.concat();
            let mut length = 0;
            let mut rest = &elements[..];
            while let Some(&tag) = rest.first() {
                let long =
                    u16::from_le_bytes([*rest.get(1).unwrap_or(&0), *rest.get(2).unwrap_or(&0)]);
                let (makes, takes) = match (tag & 3, usize::from(tag >> 2)) {
                    (0, 61) => (usize::from(long) + 1, usize::from(long) + 4),
                    (0, less) => (less + 1, less + 2),
                    (1, field) => ((field & 7) + 4, 2),
                    (2, field) => (field + 1, 3),
                    (_, field) => (field + 1, 5),
                };
                length += makes;
                rest = &rest[takes..];
            }
            let mut stored = Vec::new();
            varint::put(&mut stored, length.saturating_sub(shorter / 2) as u64);
            stored.extend_from_slice(&elements);
            stored
        })
    }

    proptest! {
        #[test]
        fn any_elements_make_what_another_decoder_makes(stored in elements()) {
            let expected = Decoder::new().decompress_vec(&stored);
            prop_assert_eq!(decompress(&stored).ok(), expected.ok());
        }

        #[test]
        fn any_bytes_make_what_another_decoder_makes(length in 0..80u8, rest: Vec<u8>) {
            let stored = [&[length], &rest[..]].concat();
            let expected = Decoder::new().decompress_vec(&stored);
            prop_assert_eq!(decompress(&stored).ok(), expected.ok());
        }

        #[test]
        fn a_part_is_the_beginning_of_the_whole(
            parts in prop::collection::vec("[ab]{1,40}|[a-z]{1,90}", 0..60),
            ends in prop::collection::vec(0..4000usize, 0..6),
        ) {
            let content = parts.concat().into_bytes();
            let stored = Encoder::new().compress_vec(&content).unwrap();
            let mut decompression = Decompression::new(&stored).unwrap();
            // the content of an earlier block must not matter
            let mut out = vec![0xee; 5000];
            decompression.reserve(&mut out);
            for end in ends {
                decompression.advance(&mut out, end).unwrap();
                let written = decompression.written();
                prop_assert!(written >= end.min(content.len()));
                prop_assert_eq!(&out[..written], &content[..written]);
            }
            decompression.finish(&mut out).unwrap();
            prop_assert_eq!(&out[..content.len()], &content[..]);
        }
    }

    #[test]
    fn malformed_lengths_are_errors() {
        for stored in [
            &b""[..],
            b"\x80",
            b"\xff\xff\xff\xff\x0f",
            b"\xff\xff\xff\xff\x1f",
            b"\x80\x80\x80\x80\x80\x00",
        ] {
            assert!(decompress(stored).is_err(), "{stored:?}");
        }
        assert_eq!(decompress(b"\x00").unwrap(), b"");
        assert!(decompress(b"\x00\x00a").is_err(), "more than there is");
        assert!(decompress(b"\x02\x00a").is_err(), "less than there is");
    }
}
