//! Sorted keys in a compact tree that is searched for the first key at or above another.
//!
//! Every node holds up to 16 keys, each encoded as its difference from the key before, preceded by
//! their spans: the caller's values in leaves, the positions of the children in other nodes. The key
//! of a child is its last key. The common prefix of all keys is stored once.
//!
//! ```text
//! bytes      leaves … | the level above … | root | common beginning of all keys
//! node       count, 1 byte | spans | keys …
//! key        varint shared | varint unshared | unshared bytes
//! spans      0 | varint offset of the first | varint gap between two | lengths, 2 bytes each
//!            1 | offset and length of each, 8 bytes each
//! ```
//!
//! A search reads one node of three adjacent cache lines per level, whereas a binary search in an
//! array misses the cache at most of its steps. A key of a table's index takes about 10 bytes.

mod builder;
mod node;

use node::Node;

use crate::prefetch::prefetch;

pub use builder::KeyTreeBuilder;
pub use node::Span;

/// Keys in a node.
const FANOUT: usize = 16;

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

    /// Starts a search for the first key that is at least `key`. Each step reads one node, which the
    /// step before has prefetched, so that steps of several searches can be interleaved.
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
        self.leaf(number)?.span(number % FANOUT)
    }

    /// Returns the spans of keys from a number on.
    pub fn spans(&self, first: usize) -> impl Iterator<Item = Span> {
        let leaves = (first / FANOUT..).map_while(|leaf| self.leaf(leaf * FANOUT));
        let all = leaves.flat_map(Node::spans);
        all.skip(first % FANOUT)
    }

    /// Returns a key by its number, `None` when there are not as many.
    pub fn key(&self, number: usize) -> Option<Vec<u8>> {
        let mut key = self.bytes[self.common..].to_vec();
        self.leaf(number)?.append_key(number % FANOUT, &mut key)?;
        Some(key)
    }

    /// Returns the leaf that holds a key by its number.
    #[inline]
    fn leaf(&self, number: usize) -> Option<Node<'_>> {
        if number >= self.count {
            return None;
        }
        let mut node = self.root_node()?;
        for level in (1..=self.height).rev() {
            let digit = number / FANOUT.pow(level as u32) % FANOUT;
            node = self.node(node.span(digit)?)?;
        }
        Some(node)
    }

    #[inline]
    fn root_node(&self) -> Option<Node<'_>> {
        Node::read(&self.bytes[self.root..self.common])
    }

    #[inline]
    fn node(&self, span: Span) -> Option<Node<'_>> {
        Node::read(self.bytes_at(span))
    }

    #[inline]
    fn bytes_at(&self, span: Span) -> &[u8] {
        let start = span.offset as usize;
        &self.bytes[start..start + span.length as usize]
    }
}

/// The result of a step of a search.
pub enum Progress {
    /// There is another node to read.
    Under,
    /// The number and the span of the key, `None` if there is no such key.
    Done(Option<(usize, Span)>),
}

/// A search, positioned before a node.
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
        let found = node.and_then(|node| {
            let digit = node.find(self.key)?;
            Some((digit, node.span(digit)?))
        });
        let Some((digit, span)) = found else {
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

    /// Offsets that ascend in steps of equal gaps, as those of a table's blocks, or anything.
    fn span(number: usize, seed: u64) -> Span {
        if seed == 0 {
            let (offset, length) = (2405 * number as u64, 2400);
            return Span { offset, length };
        }
        let offset = seed.wrapping_mul(number as u64 + 1);
        let length = seed.rotate_left(number as u32) >> (seed % 64);
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
        for first in [0, 1, 15, 16, 17, keys.len() / 2, keys.len()] {
            let spans: Vec<Span> = tree.spans(first).collect();
            let expected: Vec<Span> = (first..keys.len()).map(|n| span(n, seed)).collect();
            assert_eq!(spans, expected);
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
