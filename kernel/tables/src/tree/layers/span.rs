//! Spans of new keys, which are processed in parallel.
//!
//! A key whose hash ends ranges does so in every tree, so the spans between such keys can be written
//! independently and result in the ranges of a sequential write. An entry of any layer can end a
//! span, because an entry that shadows it has the same key.

use super::layer::Layer;
use super::walk::Walk;
use crate::codec::RangeInfo;
use crate::error::Result;
use crate::ranges::break_after;
use crate::tree::pages::list_range::{successor, upper_bound};
use crate::tree::parallel;

/// The keys from `start` on, up to `end` and with it.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Span {
    /// The first key.
    pub start: Vec<u8>,
    /// The last key, if there is an end.
    pub end: Option<Vec<u8>>,
}

impl Span {
    /// Returns whether a key is not behind the end.
    pub fn reaches(&self, key: &[u8]) -> bool {
        self.end.as_deref().is_none_or(|end| key <= end)
    }
}

/// Splits all keys into spans with about `entries` entries of the largest layer.
pub fn spans(layers: &[Layer], entries: u64, longest: usize) -> Result<Vec<Span>> {
    let mut ends = match largest(layers) {
        Some(layer) => ends_within(layer, entries, longest)?,
        None => Vec::new(),
    };
    ends.sort_unstable();
    ends.dedup();
    let starts = std::iter::once(Vec::new()).chain(ends.iter().map(|end| successor(end)));
    let ends = ends.iter().cloned().map(Some).chain([None]);
    Ok(starts
        .zip(ends)
        .map(|(start, end)| Span { start, end })
        .collect())
}

/// Returns the layer with the most entries, of those whose entries cost little to look at.
fn largest(layers: &[Layer]) -> Option<&Layer> {
    let simple = layers
        .iter()
        .filter(|layer| layer.leave_out.is_none() && !layer.single);
    simple.max_by_key(|layer| ranges(layer).iter().map(|info| info.count).sum::<i64>())
}

/// Returns the ranges of a layer's tree that have keys with its prefix.
fn ranges(layer: &Layer) -> &[RangeInfo] {
    let tree = &layer.tree;
    let first = tree.find_range(&layer.prefix);
    let end = match upper_bound(&layer.prefix) {
        Some(bound) => (tree.find_range(&bound) + 1).min(tree.ranges().len()),
        None => tree.ranges().len(),
    };
    &tree.ranges()[first..end.max(first)]
}

fn ends_within(layer: &Layer, entries: u64, longest: usize) -> Result<Vec<Vec<u8>>> {
    let mut looked_behind = Vec::new();
    let mut count = 0;
    for info in ranges(layer) {
        count += info.count as u64;
        if count >= entries {
            looked_behind.push(info);
            count = 0;
        }
    }
    let found = parallel::each(looked_behind.len(), |number| {
        end_from(layer, looked_behind[number], longest)
    })?;
    Ok(found.into_iter().flatten().collect())
}

/// Returns the new key of an entry that ends ranges by its hash: the first from the end of a range
/// on. In a layer that is taken as it is no range is read for it.
fn end_from(layer: &Layer, info: &RangeInfo, longest: usize) -> Result<Option<Vec<u8>>> {
    let Some(name) = layer.name(&info.max_key) else {
        return Ok(None);
    };
    if layer.is_kept() {
        return Ok(break_after(&info.max_key, 0).then(|| info.max_key.clone()));
    }
    let span = Span {
        start: [&layer.target, name].concat(),
        end: None,
    };
    let mut walk = Walk::open(layer, &span, longest)?;
    while !walk.is_over() {
        if break_after(&walk.key, 0) {
            return Ok(Some(walk.key));
        }
        walk.forward()?;
    }
    Ok(None)
}
