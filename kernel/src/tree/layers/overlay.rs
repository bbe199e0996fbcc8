//! Writes the tree that several layers make together.
//!
//! The walks of the layers lie in a heap by their next keys; those of one key by their layers, the
//! uppermost first. A layer is opened when the heap comes to the least key that it can have, and
//! is let go at its end, so that of layers which lie apart only one is open.

use std::cmp::Reverse;
use std::collections::BinaryHeap;
use std::path::Path;

use super::layer::Layer;
use super::walk::{Seen, Walk};
use crate::error::Result;
use crate::ranges::RangeWriter;
use crate::tree::{Outcome, Tally, Tree};

/// So many entries are written between two looks at whether to go on.
const BETWEEN_LOOKS: u64 = 1 << 14;

/// What came of laying layers over each other.
pub struct Layered {
    pub outcome: Outcome,
    /// What was met in each layer.
    pub seen: Vec<Seen>,
}

/// What new keys may be, and how it is found out whether to go on.
pub struct Limits<'a> {
    /// Keys of more bytes are unfit.
    pub longest_key: usize,
    /// Is told now and then how many entries more have been passed; its error ends the work.
    pub look: &'a mut (dyn FnMut(u64) -> Result<()> + Send),
}

/// Writes the tree of layers, of which the last lies uppermost, into a folder.
pub fn write<'a>(layers: &'a [Layer], folder: &Path, limits: Limits<'a>) -> Result<Layered> {
    let mut out = RangeWriter::new(folder);
    let mut overlay = Overlay {
        walks: layers.iter().map(|_| None).collect(),
        layers,
        heap: BinaryHeap::with_capacity(layers.len()),
        seen: vec![Seen::default(); layers.len()],
        limits,
        passed: 0,
    };
    overlay.run(&mut out)?;
    let seen = overlay.seen;
    let (ranges, _) = out.finish()?;
    let kept: Vec<&Tree> = layers
        .iter()
        .filter(|layer| layer.is_kept())
        .map(|layer| &layer.tree)
        .collect();
    let tally = Tally {
        added: ranges.iter().map(|info| info.count as u64).sum(),
        ..Tally::default()
    };
    let outcome = Outcome::write(&ranges, &kept, tally, folder)?;
    Ok(Layered { outcome, seen })
}

/// A layer in the heap: its next key, or the least that it can have while it is not open. Not
/// open ones come first, so that among those of one key all are known.
#[derive(PartialEq, Eq, PartialOrd, Ord)]
struct Next {
    key: Vec<u8>,
    is_open: bool,
    layer: Reverse<usize>,
}

struct Overlay<'a> {
    layers: &'a [Layer],
    walks: Vec<Option<Walk<'a>>>,
    heap: BinaryHeap<Reverse<Next>>,
    seen: Vec<Seen>,
    limits: Limits<'a>,
    passed: u64,
}

impl<'a> Overlay<'a> {
    fn run(&mut self, out: &mut RangeWriter) -> Result<()> {
        self.heap = (self.layers.iter().enumerate())
            .map(|(number, layer)| {
                Reverse(Next {
                    key: layer.target.clone(),
                    is_open: false,
                    layer: Reverse(number),
                })
            })
            .collect();
        while let Some(Reverse(next)) = self.heap.pop() {
            let number = next.layer.0;
            if !next.is_open {
                let walk = Walk::open(&self.layers[number], self.limits.longest_key)?;
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
        (self.limits.look)(self.passed)
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
                self.pass(1)?;
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
            self.pass(added)?;
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

    fn pass(&mut self, count: u64) -> Result<()> {
        self.passed += count;
        if self.passed >= BETWEEN_LOOKS {
            (self.limits.look)(std::mem::take(&mut self.passed))?;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::codec::{Entry, decode_value, encode_value};
    use crate::tree::testing::Folder;
    use std::collections::BTreeMap;

    fn tree(folder: &Folder, keys: &[&str], address: &str) -> Tree {
        let entry = Entry {
            address: address.into(),
            address_type: 1,
            size: 5,
            ..Entry::default()
        };
        let mut value = Vec::new();
        encode_value(&entry.identity(), &entry.encode(), &mut value);
        let records: BTreeMap<Vec<u8>, Vec<u8>> = keys
            .iter()
            .map(|key| (key.as_bytes().to_vec(), value.clone()))
            .collect();
        folder.tree(&records)
    }

    fn layer(tree: Tree, prefix: &str, target: &str) -> Layer {
        Layer {
            tree,
            prefix: prefix.into(),
            target: target.into(),
            single: false,
            namespace: Some(b"mem://n".to_vec()),
            leave_out: None,
        }
    }

    #[test]
    fn the_last_layer_of_a_key_counts() {
        let folder = Folder::new();
        let layers = [
            layer(tree(&folder, &["a/1", "a/2", "b"], "one"), "a/", "x/"),
            layer(tree(&folder, &["2", "3"], "two"), "", "x/"),
            layer(tree(&folder, &["c/3", "c/long"], "three"), "c/", "x/"),
        ];
        let mut passed = 0;
        let limits = Limits {
            longest_key: 3,
            look: &mut |count| {
                passed += count;
                Ok(())
            },
        };
        let done = write(&layers, folder.path(), limits).unwrap();
        let tree = folder.open(&done.outcome.metarange_id);
        for (key, address) in [("x/1", "one"), ("x/2", "two"), ("x/3", "three")] {
            let value = tree.get(key.as_bytes(), &mut Vec::new()).unwrap().unwrap();
            let entry = Entry::decode(decode_value(&value).unwrap().1).unwrap();
            assert_eq!(entry.address, format!("mem://n/{address}"));
        }
        assert_eq!((tree.count(), passed), (3, 5));
        let shadowed: Vec<u64> = done.seen.iter().map(|seen| seen.shadowed).collect();
        assert_eq!(shadowed, [1, 1, 0]);
        assert_eq!(done.seen[0].shadowed_keys, [b"x/2"]);
        assert_eq!(done.seen[2].unfit_keys, [b"c/long"]);
        assert_eq!((done.seen[0].size, done.seen[0].shadowed_size), (10, 5));
    }
}
