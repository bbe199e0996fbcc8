//! A node of a key tree: its spans and its keys, in the layout shown in the parent module.

use crate::shared_prefix::shared_prefix;
use crate::varint;

/// Forms of spans.
const REGULAR: u8 = 0;
const ANY: u8 = 1;

/// A position: offset and length.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Span {
    /// The position of the first byte.
    pub offset: u64,
    /// The number of bytes.
    pub length: u64,
}

/// A parsed node.
#[derive(Clone, Copy)]
pub struct Node<'a> {
    count: usize,
    spans: Spans<'a>,
    keys: &'a [u8],
}

#[derive(Clone, Copy)]
enum Spans<'a> {
    /// At equal distances, and short.
    Regular {
        offset: u64,
        gap: u64,
        lengths: &'a [u8],
    },
    Any(&'a [u8]),
}

impl<'a> Node<'a> {
    /// Parses a node; None if it is damaged.
    #[inline]
    pub fn read(bytes: &'a [u8]) -> Option<Node<'a>> {
        let (&[count, form], mut rest) = bytes.split_first_chunk()?;
        let count = usize::from(count);
        let spans = if form == REGULAR {
            let mut position = 0;
            let offset = varint::take(rest, &mut position)?;
            let gap = varint::take(rest, &mut position)?;
            let (lengths, keys) = rest.get(position..)?.split_at_checked(2 * count)?;
            rest = keys;
            Spans::Regular {
                offset,
                gap,
                lengths,
            }
        } else {
            let (spans, keys) = rest.split_at_checked(16 * count)?;
            rest = keys;
            Spans::Any(spans)
        };
        Some(Node {
            count,
            spans,
            keys: rest,
        })
    }

    /// Returns the place of the first key that is at least `key`.
    #[inline]
    pub fn find(&self, key: &[u8]) -> Option<usize> {
        find_key(self.keys, key)
    }

    /// Appends the key at a place.
    pub fn append_key(&self, digit: usize, out: &mut Vec<u8>) -> Option<()> {
        let (before, mut position) = (out.len(), 0);
        for _ in 0..=digit {
            let (shared, unshared) = take_key(self.keys, &mut position)?;
            out.truncate(before + shared);
            out.extend_from_slice(unshared);
        }
        Some(())
    }

    /// Returns all spans.
    #[inline]
    pub fn spans(self) -> impl Iterator<Item = Span> + 'a {
        let mut start = match self.spans {
            Spans::Regular { offset, .. } => offset,
            Spans::Any(_) => 0,
        };
        (0..self.count).map_while(move |digit| {
            let Spans::Regular { gap, lengths, .. } = self.spans else {
                return self.span(digit);
            };
            let length = lengths.get(2 * digit..)?.first_chunk()?;
            let length = u64::from(u16::from_le_bytes(*length));
            let offset = start;
            start = offset.wrapping_add(length).wrapping_add(gap);
            Some(Span { offset, length })
        })
    }

    /// Returns the span at a place.
    #[inline]
    pub fn span(&self, digit: usize) -> Option<Span> {
        match self.spans {
            Spans::Regular {
                offset,
                gap,
                lengths,
            } => {
                let (before, here) = lengths.split_at_checked(2 * digit)?;
                let length = |bytes: &[u8]| u64::from(u16::from_le_bytes([bytes[0], bytes[1]]));
                let before: u64 = before.chunks_exact(2).map(length).sum();
                Some(Span {
                    offset: offset
                        .wrapping_add(before)
                        .wrapping_add(gap.wrapping_mul(digit as u64)),
                    length: length(here.get(..2)?),
                })
            }
            Spans::Any(spans) => {
                let span = spans.get(16 * digit..)?;
                let (offset, length) = (span.first_chunk()?, span.get(8..)?.first_chunk()?);
                Some(Span {
                    offset: u64::from_le_bytes(*offset),
                    length: u64::from_le_bytes(*length),
                })
            }
        }
    }
}

/// Returns a key's shared length and its unshared bytes, and moves the position behind it.
#[inline(always)]
fn take_key<'a>(keys: &'a [u8], position: &mut usize) -> Option<(usize, &'a [u8])> {
    let shared = varint::take(keys, position)? as usize;
    let unshared = varint::take(keys, position)? as usize;
    let unshared = keys.get(*position..*position + unshared)?;
    *position += unshared.len();
    Some((shared, unshared))
}

/// Returns the place of the first of a node's keys that is at least `key`.
#[inline]
fn find_key(keys: &[u8], key: &[u8]) -> Option<usize> {
    // All keys so far were below `key`, and so many first bytes of the last one are those of it.
    let (mut common, mut position, mut place) = (0, 0, 0);
    let mut next = first_eight(key);
    loop {
        let (shared, unshared) = take_key(keys, &mut position)?;
        // Where more is shared, a key differs from `key` where the one before does.
        if shared < common {
            return Some(place); // above the one before where that equals `key`
        }
        if shared == common {
            let first = first_eight(unshared);
            if first > next {
                return Some(place);
            }
            let more = if first < next {
                let equal = (first ^ next).leading_zeros() as usize / 8;
                equal.min(unshared.len())
            } else {
                // at least eight are equal, or zeros stand for bytes that are not there
                let rest = &key[common..];
                let more = shared_prefix(unshared, rest);
                if unshared.get(more) >= rest.get(more) {
                    return Some(place);
                }
                more
            };
            if more > 0 {
                common += more;
                next = first_eight(&key[common..]);
            }
        }
        place += 1;
    }
}

/// Returns the first eight bytes as a number that sorts as they do; missing ones count as 0.
#[inline(always)]
fn first_eight(bytes: &[u8]) -> u64 {
    match bytes.first_chunk() {
        Some(first) => u64::from_be_bytes(*first),
        None => {
            let value = bytes
                .iter()
                .fold(0, |sum, &byte| sum << 8 | u64::from(byte));
            value.unbounded_shl(8 * (8 - bytes.len() as u32))
        }
    }
}

/// Appends a node of keys in ascending order.
pub fn put_node<'a>(keys: impl Iterator<Item = &'a [u8]>, spans: &[Span], bytes: &mut Vec<u8>) {
    bytes.push(spans.len() as u8);
    put_spans(spans, bytes);
    let mut before: &[u8] = &[];
    for key in keys {
        let shared = shared_prefix(before, key);
        varint::put(bytes, shared as u64);
        varint::put(bytes, (key.len() - shared) as u64);
        bytes.extend_from_slice(&key[shared..]);
        before = key;
    }
}

/// Appends the spans of a node.
fn put_spans(spans: &[Span], bytes: &mut Vec<u8>) {
    let first = spans.first().copied().unwrap_or_default();
    let mut gaps = spans.windows(2).map(|pair| {
        let end = pair[0].offset.wrapping_add(pair[0].length);
        pair[1].offset.wrapping_sub(end)
    });
    let gap = gaps.next().unwrap_or_default();
    let are_short = spans.iter().all(|span| span.length <= u64::from(u16::MAX));
    if are_short && gaps.all(|other| other == gap) {
        bytes.push(REGULAR);
        varint::put(bytes, first.offset);
        varint::put(bytes, gap);
        for span in spans {
            bytes.extend_from_slice(&(span.length as u16).to_le_bytes());
        }
    } else {
        bytes.push(ANY);
        for span in spans {
            bytes.extend_from_slice(&span.offset.to_le_bytes());
            bytes.extend_from_slice(&span.length.to_le_bytes());
        }
    }
}
