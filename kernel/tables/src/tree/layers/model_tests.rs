//! Layers written in many spans, against the same in one.

use std::collections::BTreeMap;

use proptest::prelude::*;

use super::write::write_in_spans;
use super::{Layer, LeaveOut, Limits};
use crate::codec::{Entry, encode_value};
use crate::error::Result;
use crate::tree::Tree;
use crate::tree::model_tests::KEYS;
use crate::tree::testing::Folder;

/// Leaves out the names that end so.
struct Ending(u8);

impl LeaveOut for Ending {
    fn leaves_out(&self, name: &[u8]) -> Result<bool> {
        Ok(name.last() == Some(&self.0))
    }
}

#[derive(Clone, Debug)]
struct Drawn {
    /// Which of the keys there are.
    keys: Vec<bool>,
    prefix: usize,
    moved: bool,
    full: bool,
    skipped: bool,
}

fn layers() -> impl Strategy<Value = Vec<Drawn>> {
    let keys = prop::collection::vec(prop::bool::weighted(0.7), KEYS.len());
    let often = || prop::bool::weighted(0.3);
    let layer = (keys, 0..3usize, often(), any::<bool>(), often()).prop_map(
        |(keys, prefix, moved, full, skipped)| Drawn {
            keys,
            prefix,
            moved,
            full,
            skipped,
        },
    );
    prop::collection::vec(layer, 0..4)
}

fn tree(folder: &Folder, number: usize, keys: &[bool]) -> Tree {
    let chosen = KEYS.iter().zip(keys).filter(|(_, there)| **there);
    let records: BTreeMap<Vec<u8>, Vec<u8>> = chosen
        .map(|(key, _)| {
            let entry = Entry {
                address: format!("{number}/{}", "é".repeat(key.len() % 4 * 200)),
                size: 3,
                ..Entry::default()
            };
            let mut value = Vec::new();
            encode_value(&entry.identity(), &entry.encode(), &mut value);
            (key.clone(), value)
        })
        .collect();
    folder.tree(&records)
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(24))]

    #[test]
    fn spans_change_nothing(drawn in layers()) {
        let folder = Folder::new();
        let layers: Vec<Layer> = drawn.iter().enumerate().map(|(number, drawn)| {
            let prefix = [&b""[..], b"k", b"k0"][drawn.prefix].to_vec();
            Layer {
                tree: tree(&folder, number, &drawn.keys),
                target: if drawn.moved { b"k00".to_vec() } else { prefix.clone() },
                prefix,
                single: false,
                namespace: drawn.full.then(|| b"mem://n".to_vec()),
                leave_out: drawn.skipped.then(|| Box::new(Ending(b'3')) as Box<dyn LeaveOut>),
            }
        }).collect();
        let limits = Limits { longest_key: 8, look: &|_| Ok(()) };
        let whole = write_in_spans(u64::MAX, &layers, folder.path(), limits).unwrap();
        let parted = write_in_spans(2, &layers, folder.path(), limits).unwrap();
        prop_assert_eq!(parted.result, whole.result);
        prop_assert_eq!(parted.seen, whole.seen);
    }
}

#[test]
fn a_tree_is_parted_where_its_ranges_end() {
    let folder = Folder::new();
    let all = vec![true; KEYS.len()];
    let mut layer = Layer {
        tree: tree(&folder, 0, &all),
        prefix: Vec::new(),
        target: Vec::new(),
        single: false,
        namespace: None,
        leave_out: None,
    };
    let ranges = layer.tree.ranges().len();
    for namespace in [None, Some(b"mem://n".to_vec())] {
        layer.namespace = namespace;
        let spans = super::span::spans(std::slice::from_ref(&layer), 1, 1024).unwrap();
        assert!(ranges > 10 && (ranges - 1..=ranges + 1).contains(&spans.len()));
    }
}
