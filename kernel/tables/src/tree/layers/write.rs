//! Writes the tree of several layers.

use std::path::Path;

use super::layer::Layer;
use super::overlay::Overlay;
use super::progress::Progress;
use super::span::spans;
use super::walk::Seen;
use crate::error::Result;
use crate::ranges::RangeWriter;
use crate::tree::{ChangeCounts, Tree, WriteResult, parallel};

/// The minimum number of entries of the largest layer in a span.
const SPAN: u64 = 200_000;

/// The result of overlaying layers.
pub struct Layered {
    /// The tree that was written.
    pub result: WriteResult,
    /// The statistics of each layer.
    pub seen: Vec<Seen>,
}

/// The limit of new keys, and the progress callback.
#[derive(Clone, Copy)]
pub struct Limits<'a> {
    /// Keys of more bytes are invalid.
    pub longest_key: usize,
    /// Called regularly with the number of further processed entries; its error cancels the work.
    pub look: &'a (dyn Fn(u64) -> Result<()> + Sync),
}

/// Writes the tree of layers, of which the last is the top one, into a folder.
pub fn write(layers: &[Layer], folder: &Path, limits: Limits<'_>) -> Result<Layered> {
    write_in_spans(SPAN, layers, folder, limits)
}

/// Like [`write`], in spans of about so many entries.
pub(super) fn write_in_spans(
    entries: u64,
    layers: &[Layer],
    folder: &Path,
    limits: Limits<'_>,
) -> Result<Layered> {
    let spans = spans(layers, entries, limits.longest_key)?;
    let progress = Progress::new(limits.look);
    let done = parallel::each(spans.len(), |number| {
        let mut out = RangeWriter::new(folder);
        let overlay = Overlay::new(layers, &spans[number], limits.longest_key, &progress);
        let seen = overlay.run(&mut out)?.into_iter().enumerate();
        // of many layers most are not in a span
        let seen: Vec<(usize, Seen)> = seen.filter(|(_, seen)| *seen != Seen::default()).collect();
        Ok((out.finish()?.0, seen))
    })?;
    progress.finish()?;
    let mut ranges = Vec::new();
    let mut seen = vec![Seen::default(); layers.len()];
    for (span_ranges, span_seen) in done {
        ranges.extend(span_ranges);
        for (layer, next) in &span_seen {
            seen[*layer].add(next);
        }
    }
    let kept = layers.iter().filter(|layer| layer.is_kept());
    let kept: Vec<&Tree> = kept.map(|layer| &layer.tree).collect();
    let counts = ChangeCounts {
        added: ranges.iter().map(|info| info.count as u64).sum(),
        ..ChangeCounts::default()
    };
    let result = WriteResult::write(&ranges, &kept, counts, &folder.into())?;
    Ok(Layered { result, seen })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::codec::{Entry, decode_value, encode_value};
    use crate::tree::testing::Folder;
    use std::collections::BTreeMap;
    use std::sync::atomic::{AtomicU64, Ordering};

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
        let passed = AtomicU64::new(0);
        let limits = Limits {
            longest_key: 3,
            look: &|count| {
                passed.fetch_add(count, Ordering::Relaxed);
                Ok(())
            },
        };
        let done = write(&layers, folder.path(), limits).unwrap();
        let tree = folder.open(&done.result.metarange_id);
        for (key, address) in [("x/1", "one"), ("x/2", "two"), ("x/3", "three")] {
            let value = tree
                .get(key.as_bytes(), &mut Vec::new(), <[u8]>::to_vec)
                .unwrap()
                .unwrap();
            let entry = Entry::decode(decode_value(&value).unwrap().1).unwrap();
            assert_eq!(entry.address, format!("mem://n/{address}"));
        }
        assert_eq!((tree.count(), passed.into_inner()), (3, 5));
        let shadowed: Vec<u64> = done.seen.iter().map(|seen| seen.shadowed).collect();
        assert_eq!(shadowed, [1, 1, 0]);
        assert_eq!(done.seen[0].shadowed_keys, [b"x/2"]);
        assert_eq!(done.seen[2].invalid_keys, [b"c/long"]);
        assert_eq!((done.seen[0].size, done.seen[0].shadowed_size), (10, 5));
    }
}
