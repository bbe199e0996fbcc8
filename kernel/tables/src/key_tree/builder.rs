//! Builds a key tree, level by level from the leaves up.

use super::node::{Span, put_node};
use super::{FANOUT, KeyTree};
use crate::shared_prefix::shared_prefix;

/// A builder that takes keys in ascending order.
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

    /// Returns the tree of all keys.
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

    /// Appends a node. Returns the number of its last key and its position.
    fn put_node(
        &self,
        entries: &[(usize, Span)],
        common: usize,
        bytes: &mut Vec<u8>,
    ) -> (usize, Span) {
        let offset = bytes.len() as u64;
        let keys = entries
            .iter()
            .map(|(number, _)| &self.key(*number)[common..]);
        let spans: Vec<Span> = entries.iter().map(|(_, span)| *span).collect();
        put_node(keys, &spans, bytes);
        let last = entries.last().map_or(0, |(number, _)| *number);
        let length = bytes.len() as u64 - offset;
        (last, Span { offset, length })
    }
}
