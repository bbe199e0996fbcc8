//! Overlays the layers' entries in a span of keys.
//!
//! A heap orders the walks of the layers by their next keys, and walks with equal keys by layer, the
//! uppermost first. A layer is opened when the heap reaches the least key that it can have, and is
//! closed at its end, so that only one of several disjoint layers is open.

use std::cmp::Reverse;
use std::collections::BinaryHeap;

use super::layer::Layer;
use super::progress::Progress;
use super::span::Span;
use super::walk::{Seen, Walk};
use crate::error::Result;
use crate::ranges::RangeWriter;

/// A layer in the heap: its next key, or the least that it can have while it is not open. Not
/// open ones come first, so that among those of one key all are known.
#[derive(PartialEq, Eq, PartialOrd, Ord)]
struct Next {
    key: Vec<u8>,
    is_open: bool,
    layer: Reverse<usize>,
}

/// The overlay of a span.
pub struct Overlay<'a> {
    layers: &'a [Layer],
    span: &'a Span,
    longest: usize,
    progress: &'a Progress<'a>,
    walks: Vec<Option<Walk<'a>>>,
    heap: BinaryHeap<Reverse<Next>>,
    seen: Vec<Seen>,
}

impl<'a> Overlay<'a> {
    /// Returns the overlay of layers, the last uppermost, in which keys of more than `longest`
    /// bytes are invalid.
    pub fn new(
        layers: &'a [Layer],
        span: &'a Span,
        longest: usize,
        progress: &'a Progress<'a>,
    ) -> Overlay<'a> {
        let within = layers.iter().enumerate();
        let within = within.filter(|(_, layer)| span.reaches(&layer.target));
        Overlay {
            layers,
            span,
            longest,
            progress,
            walks: layers.iter().map(|_| None).collect(),
            heap: within
                .map(|(number, layer)| {
                    Reverse(Next {
                        key: layer.target.clone().max(span.start.clone()),
                        is_open: false,
                        layer: Reverse(number),
                    })
                })
                .collect(),
            seen: vec![Seen::default(); layers.len()],
        }
    }

    /// Writes the entries and returns the statistics of each layer.
    pub fn run(mut self, out: &mut RangeWriter) -> Result<Vec<Seen>> {
        while let Some(Reverse(next)) = self.heap.pop() {
            let number = next.layer.0;
            if !next.is_open {
                let walk = Walk::open(&self.layers[number], self.span, self.longest)?;
                self.put_back(number, walk);
                continue;
            }
            let Some(mut walk) = self.walks[number].take() else {
                continue;
            };
            walk.key = next.key;
            self.shadow_others(&walk.key)?;
            self.add(&mut walk, out)?;
            self.put_back(number, walk);
        }
        Ok(self.seen)
    }

    /// Passes over the entries of this key of all layers that are still in the heap.
    fn shadow_others(&mut self, key: &[u8]) -> Result<()> {
        while self
            .heap
            .peek()
            .is_some_and(|Reverse(next)| next.key == key)
        {
            let Some(Reverse(next)) = self.heap.pop() else {
                break;
            };
            let number = next.layer.0;
            if let Some(mut walk) = self.walks[number].take() {
                walk.key = next.key;
                walk.shadow()?;
                self.progress.add(1)?;
                self.put_back(number, walk);
            }
        }
        Ok(())
    }

    /// Adds the entries of a walk that come before those of all others.
    fn add(&mut self, walk: &mut Walk<'_>, out: &mut RangeWriter) -> Result<()> {
        loop {
            let limit = self.heap.peek().map(|Reverse(next)| next.key.as_slice());
            let added = walk.add(limit, out)?;
            let goes_on = !walk.is_over() && limit.is_none_or(|limit| walk.key.as_slice() < limit);
            self.progress.add(added)?;
            if !goes_on {
                return Ok(());
            }
        }
    }

    fn put_back(&mut self, number: usize, mut walk: Walk<'a>) {
        if walk.is_over() {
            self.seen[number] = walk.seen;
            return;
        }
        self.heap.push(Reverse(Next {
            key: std::mem::take(&mut walk.key),
            is_open: true,
            layer: Reverse(number),
        }));
        self.walks[number] = Some(walk);
    }
}
