//! Batched look-ups in a tree.
//!
//! In a large tree, neither the index nor the block of a key is in the processor's caches. The blocks
//! of many keys are therefore located first, in groups whose searches are interleaved. Then, while a
//! block is read, the processor fetches those of the keys behind it.

use std::ops::Range;
use std::sync::Arc;

use super::tree::Tree;
use crate::error::Result;
use crate::key_tree::{Progress, Search};
use crate::table::{Handle, Table};

/// The number of keys that are located before the first block is read.
const LOCATED: usize = 1024;

/// The number of searches that are interleaved.
const GROUP: usize = 16;

/// Blocks are fetched for so many keys ahead: a few of them fill the nearest cache.
const AHEAD: usize = 4;

/// Concatenated framed values, None for keys that do not exist.
#[derive(Default)]
pub struct Values {
    bytes: Vec<u8>,
    places: Vec<Option<Range<usize>>>,
}

impl Values {
    fn push(&mut self, value: Option<&[u8]>) {
        self.places.push(value.map(|value| {
            let start = self.bytes.len();
            self.bytes.extend_from_slice(value);
            start..self.bytes.len()
        }));
    }

    /// Returns the values in the order of the keys.
    pub fn iter(&self) -> impl Iterator<Item = Option<&[u8]>> {
        let places = self.places.iter().cloned();
        places.map(|place| place.and_then(|place| self.bytes.get(place)))
    }
}

impl Tree {
    /// Returns the values of keys. They cost least in the order of the tree, in which those that
    /// lie in one block follow one another.
    pub fn get_many(&self, keys: &[&[u8]]) -> Result<Values> {
        let mut values = Values::default();
        let mut scratch = Vec::new();
        let mut places = Vec::with_capacity(keys.len().min(LOCATED));
        for keys in keys.chunks(LOCATED) {
            places.clear();
            for group in keys.chunks(GROUP) {
                self.find_blocks(group, &mut places)?;
            }
            (0..AHEAD).for_each(|at| prefetch_at(&places, at));
            let mut at = 0;
            for same in places.chunk_by(|one, other| one == other) {
                let behind = at + same.len();
                (at..behind).for_each(|at| prefetch_at(&places, at + AHEAD));
                let keys = &keys[at..behind];
                match &same[0] {
                    None => keys.iter().for_each(|_| values.push(None)),
                    Some(Place { table, handle }) => table.look_up(*handle, |block| {
                        keys.iter().try_for_each(|key| {
                            values.push(block.get(key, &mut scratch)?);
                            Ok(())
                        })
                    })?,
                }
                at = behind;
            }
        }
        Ok(values)
    }

    /// Appends the blocks that hold the keys if the tree does, None for keys outside of all ranges.
    fn find_blocks(&self, keys: &[&[u8]], places: &mut Vec<Option<Place>>) -> Result<()> {
        let tables = keys.iter().map(|key| self.table_for(key));
        let tables: Vec<Option<Arc<Table>>> = tables.collect::<Result<_>>()?;
        let mut found: [Option<Handle>; GROUP] = [None; GROUP];
        let mut searches: Vec<(usize, Search<'_>)> = Vec::with_capacity(GROUP);
        for (number, (table, key)) in tables.iter().zip(keys).enumerate() {
            if let Some(table) = table {
                searches.push((number, table.search(key)));
            }
        }
        while !searches.is_empty() {
            searches.retain_mut(|(number, search)| match search.step() {
                Progress::Under => true,
                Progress::Done(place) => {
                    found[*number] = place.map(|(_, span)| Handle::from(span));
                    false
                }
            });
        }
        let found = tables.into_iter().zip(found).map(|pair| {
            let (table, handle) = (pair.0?, pair.1?);
            Some(Place { table, handle })
        });
        places.extend(found);
        Ok(())
    }
}

/// A table and one of its blocks.
struct Place {
    table: Arc<Table>,
    handle: Handle,
}

impl PartialEq for Place {
    fn eq(&self, other: &Place) -> bool {
        self.handle == other.handle && Arc::ptr_eq(&self.table, &other.table)
    }
}

/// Asks the processor for the block of a key, unless the key before has the same.
fn prefetch_at(places: &[Option<Place>], at: usize) {
    let Some(Some(place)) = places.get(at) else {
        return;
    };
    if at == 0 || places[at - 1].as_ref() != Some(place) {
        place.table.prefetch(place.handle);
    }
}
