//! Sorted keys in a compact tree that is searched for the first key at or above another.
//!
//! Every node holds up to 16 keys, each written as its difference from the key before, and beside
//! each key a span: what the caller keeps there, or, above the leaves, where the child lies. The
//! key of a child is its last one. What all keys begin with is kept once.
//!
//! ```text
//! bytes    leaves … | the level above … | root | common beginning of all keys
//! node     varint base | entries …
//! entry    varint shared | varint unshared | unshared bytes | varint gap | varint length
//! ```
//!
//! A search reads one node a level, each of two or three cache lines that lie side by side, where
//! halving an array of numbers would miss a cache at most of its steps. A key of a table's index
//! takes about 10 bytes.

use crate::prefetch::prefetch;
use crate::varint;

/// Keys in a node.
const FANOUT: usize = 16;

/// Where something lies: offset and length.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Span {
    pub offset: u64,
    pub length: u64,
}

/// Sorted keys, with a span each.
#[derive(Default)]
pub struct KeyTree {
    bytes: Box<[u8]>,
    root: usize,
    /// Where the root ends and the common beginning starts.
    common: usize,
    /// Levels above the leaves.
    height: usize,
    count: usize,
}

impl KeyTree {
    /// Returns the number of keys.
    #[inline]
    pub fn count(&self) -> usize {
        self.count
    }

    /// Returns the number and the span of the first key that is at least `key`; `None` when all are
    /// below it.
    #[inline]
    pub fn find(&self, key: &[u8]) -> Option<(usize, Span)> {
        let mut search = self.search(key);
        loop {
            if let Progress::Done(found) = search.step() {
                return found;
            }
        }
    }

    /// Starts a search for the first key that is at least `key`. Each step of it reads one node,
    /// for which the step before has asked the processor: between steps there is time for others.
    #[inline]
    pub fn search<'a>(&'a self, key: &'a [u8]) -> Search<'a> {
        prefetch(&self.bytes[self.root..]);
        Search {
            tree: self,
            key,
            node: None,
            number: 0,
            height: self.height,
        }
    }

    /// Returns the span of a key by its number, `None` when there are not as many.
    #[inline]
    pub fn span(&self, number: usize) -> Option<Span> {
        let (node, digit) = self.leaf(number)?;
        node.nth(digit).map(|entry| entry.span)
    }

    /// Returns a key by its number, `None` when there are not as many.
    pub fn key(&self, number: usize) -> Option<Vec<u8>> {
        let (node, digit) = self.leaf(number)?;
        let mut key = self.bytes[self.common..].to_vec();
        let common = key.len();
        for entry in node.take(digit + 1) {
            key.truncate(common + entry.shared);
            key.extend_from_slice(entry.unshared);
        }
        Some(key)
    }

    /// Returns the leaf that holds a key by its number, and the key's place in it.
    #[inline]
    fn leaf(&self, number: usize) -> Option<(Entries<'_>, usize)> {
        if number >= self.count {
            return None;
        }
        let mut node = self.root_node();
        for level in (1..=self.height).rev() {
            let digit = number / FANOUT.pow(level as u32) % FANOUT;
            node = self.node(node.nth(digit)?.span);
        }
        Some((node, number % FANOUT))
    }

    #[inline]
    fn root_node(&self) -> Entries<'_> {
        Entries::of(&self.bytes[self.root..self.common])
    }

    #[inline]
    fn node(&self, span: Span) -> Entries<'_> {
        Entries::of(self.bytes_at(span))
    }

    #[inline]
    fn bytes_at(&self, span: Span) -> &[u8] {
        let start = span.offset as usize;
        &self.bytes[start..start + span.length as usize]
    }
}

/// What a step of a search came to.
pub enum Progress {
    /// There is another node to read.
    Under,
    /// The number and the span of what was searched for, `None` when there is no such key.
    Done(Option<(usize, Span)>),
}

/// A search that stands before a node.
pub struct Search<'a> {
    tree: &'a KeyTree,
    /// The key, without the common beginning once a node is known.
    key: &'a [u8],
    node: Option<Span>,
    number: usize,
    /// Levels below the node.
    height: usize,
}

impl Search<'_> {
    /// Reads the next node. After [`Progress::Done`] a search must not be continued.
    #[inline]
    pub fn step(&mut self) -> Progress {
        let tree = self.tree;
        let node = match self.node {
            Some(span) => tree.node(span),
            None => {
                let common = &tree.bytes[tree.common..];
                self.key = match self.key.strip_prefix(common) {
                    Some(rest) => rest,
                    None if self.key < common => &[],
                    None => return Progress::Done(None),
                };
                tree.root_node()
            }
        };
        let Some((digit, span)) = node.find(self.key) else {
            return Progress::Done(None);
        };
        self.number = self.number * FANOUT + digit;
        if self.height == 0 {
            return Progress::Done(Some((self.number, span)));
        }
        prefetch(tree.bytes_at(span));
        self.node = Some(span);
        self.height -= 1;
        Progress::Under
    }
}

/// The entries of a node that are still ahead.
struct Entries<'a> {
    node: &'a [u8],
    position: usize,
    /// Where the span before ends.
    end: u64,
}

struct Entry<'a> {
    shared: usize,
    unshared: &'a [u8],
    span: Span,
}

impl<'a> Entries<'a> {
    #[inline]
    fn of(node: &'a [u8]) -> Entries<'a> {
        let mut position = 0;
        let end = varint::take(node, &mut position).unwrap_or_default();
        Entries {
            node,
            position,
            end,
        }
    }

    #[inline]
    fn nth(mut self, number: usize) -> Option<Entry<'a>> {
        for _ in 0..number {
            self.next()?;
        }
        self.next()
    }

    /// Returns the place and the span of the first key that is at least `key`.
    #[inline]
    fn find(self, key: &[u8]) -> Option<(usize, Span)> {
        // All keys so far were below `key`, and this many bytes of the last one are those of it.
        let mut common = 0;
        for (place, entry) in self.enumerate() {
            if entry.shared > common {
                continue; // it differs from the one before only behind what decided about that
            }
            if entry.shared < common {
                return Some((place, entry.span)); // above the one before where that equals `key`
            }
            let rest = &key[common..];
            let more = shared_prefix(entry.unshared, rest);
            if more == rest.len() {
                return Some((place, entry.span));
            }
            if entry
                .unshared
                .get(more)
                .is_some_and(|byte| *byte > rest[more])
            {
                return Some((place, entry.span));
            }
            common += more;
        }
        None
    }
}

impl<'a> Iterator for Entries<'a> {
    type Item = Entry<'a>;

    #[inline]
    fn next(&mut self) -> Option<Entry<'a>> {
        let node = self.node;
        let shared = varint::take(node, &mut self.position)? as usize;
        let unshared = varint::take(node, &mut self.position)? as usize;
        let unshared = node.get(self.position..self.position + unshared)?;
        self.position += unshared.len();
        let gap = varint::take(node, &mut self.position)?;
        let length = varint::take(node, &mut self.position)?;
        let offset = self.end.wrapping_add(gap);
        self.end = offset.wrapping_add(length);
        Some(Entry {
            shared,
            unshared,
            span: Span { offset, length },
        })
    }
}

/// Returns how many first bytes two short strings have in common.
#[inline]
fn shared_prefix(a: &[u8], b: &[u8]) -> usize {
    a.iter().zip(b).take_while(|(x, y)| x == y).count()
}

/// Gathers keys in ascending order.
#[derive(Default)]
pub struct KeyTreeBuilder {
    keys: Vec<u8>,
    ends: Vec<usize>,
    spans: Vec<Span>,
}

impl KeyTreeBuilder {
    /// Adds a key and its span; returns false, and adds nothing, unless the key is greater than
    /// all before.
    pub fn add(&mut self, key: &[u8], span: Span) -> bool {
        if !self.ends.is_empty() && key <= self.key(self.ends.len() - 1) {
            return false;
        }
        self.keys.extend_from_slice(key);
        self.ends.push(self.keys.len());
        self.spans.push(span);
        true
    }

    fn key(&self, number: usize) -> &[u8] {
        let start = if number == 0 {
            0
        } else {
            self.ends[number - 1]
        };
        &self.keys[start..self.ends[number]]
    }

    pub fn finish(self) -> KeyTree {
        let Some(last) = self.ends.len().checked_sub(1) else {
            return KeyTree::default();
        };
        let common = shared_prefix(self.key(0), self.key(last));
        let mut bytes = Vec::new();
        // Of a level: the number of each key, and its span.
        let mut level: Vec<(usize, Span)> = self.spans.iter().copied().enumerate().collect();
        let mut height = 0;
        loop {
            let nodes: Vec<(usize, Span)> = level
                .chunks(FANOUT)
                .map(|entries| self.put_node(entries, common, &mut bytes))
                .collect();
            if let [(_, root)] = nodes[..] {
                let end = bytes.len();
                bytes.extend_from_slice(&self.key(0)[..common]);
                return KeyTree {
                    bytes: bytes.into_boxed_slice(),
                    root: root.offset as usize,
                    common: end,
                    height,
                    count: self.ends.len(),
                };
            }
            level = nodes;
            height += 1;
        }
    }

    /// Appends a node. Returns the number of its last key and where it lies.
    fn put_node(
        &self,
        entries: &[(usize, Span)],
        common: usize,
        bytes: &mut Vec<u8>,
    ) -> (usize, Span) {
        let offset = bytes.len() as u64;
        let mut end = entries.first().map_or(0, |(_, span)| span.offset);
        let (mut before, mut last): (&[u8], usize) = (&[], 0);
        varint::put(bytes, end);
        for &(number, span) in entries {
            let key = &self.key(number)[common..];
            let shared = shared_prefix(before, key);
            varint::put(bytes, shared as u64);
            varint::put(bytes, (key.len() - shared) as u64);
            bytes.extend_from_slice(&key[shared..]);
            varint::put(bytes, span.offset.wrapping_sub(end));
            varint::put(bytes, span.length);
            end = span.offset.wrapping_add(span.length);
            (before, last) = (key, number);
        }
        let length = bytes.len() as u64 - offset;
        (last, Span { offset, length })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use std::collections::BTreeSet;

    fn keys(most: usize) -> impl Strategy<Value = BTreeSet<Vec<u8>>> {
        let part = prop::sample::select(vec![&b"\0"[..], b"12345678", b"a", b"\xff", b"\0\0\0"]);
        let key = prop::collection::vec(part, 0..7).prop_map(|parts| parts.concat());
        prop::collection::btree_set(key, 0..most)
    }

    /// Offsets that ascend without a gap, as those of a table's blocks, or anything at all.
    fn span(number: usize, seed: u64) -> Span {
        let offset = match seed {
            0 => 2400 * number as u64,
            _ => seed.wrapping_mul(number as u64 + 1),
        };
        let length = 2400 ^ seed;
        Span { offset, length }
    }

    fn check(keys: &[Vec<u8>], wanted: &[Vec<u8>], seed: u64) {
        let mut builder = KeyTreeBuilder::default();
        for (number, key) in keys.iter().enumerate() {
            assert!(builder.add(key, span(number, seed)));
        }
        let tree = builder.finish();
        assert_eq!(tree.count(), keys.len());
        for (number, key) in keys.iter().enumerate() {
            assert_eq!(tree.key(number).as_ref(), Some(key));
            assert_eq!(tree.span(number), Some(span(number, seed)));
        }
        assert_eq!(tree.key(keys.len()), None);
        assert_eq!(tree.span(keys.len()), None);
        for key in wanted {
            let found = keys.partition_point(|other| other < key);
            let expected = (found < keys.len()).then(|| (found, span(found, seed)));
            assert_eq!(tree.find(key), expected, "{key:?}");
        }
    }

    proptest! {
        #[test]
        fn finds_what_a_plain_search_finds(
            stem in "[a-c]{0,9}",
            keys in keys(400),
            wanted in keys(60),
            seed in prop_oneof![Just(0), any::<u64>()],
        ) {
            let keys: Vec<Vec<u8>> = keys.iter().map(|key| [stem.as_bytes(), key].concat()).collect();
            let beside = wanted.iter().map(|key| [stem.as_bytes(), key].concat());
            let wanted: Vec<Vec<u8>> = beside.chain(wanted.iter().cloned()).chain(keys.clone()).collect();
            check(&keys, &wanted, seed);
        }
    }

    #[test]
    fn trees_of_every_height_hold_their_keys() {
        for count in [0, 1, 15, 16, 17, 255, 256, 257, 4095, 4096, 4097, 5000] {
            let keys: Vec<Vec<u8>> = (0..count)
                .map(|number| format!("day={:03}/part-{number:07}", number / 48).into_bytes())
                .collect();
            let beside = keys.iter().map(|key| [key.as_slice(), b"+"].concat());
            let wanted: Vec<Vec<u8>> = beside.chain(keys.clone()).chain([vec![]]).collect();
            check(&keys, &wanted, 0);
        }
    }

    #[test]
    fn keys_out_of_order_are_refused() {
        let mut builder = KeyTreeBuilder::default();
        assert!(builder.add(b"b", Span::default()));
        assert!(!builder.add(b"b", Span::default()));
        assert!(!builder.add(b"a", Span::default()));
        assert_eq!(builder.finish().count(), 1);
    }

    #[test]
    fn a_key_takes_about_ten_bytes() {
        let mut builder = KeyTreeBuilder::default();
        for number in 0..2000usize {
            let key = format!("warehouse/events/day=00012/part-{:09}", number * 25);
            builder.add(key.as_bytes(), span(number, 0));
        }
        assert!(builder.finish().bytes.len() < 12 * 2000);
    }
}
