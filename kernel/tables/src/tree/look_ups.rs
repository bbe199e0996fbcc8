//! Batched look-ups in a tree.
//!
//! In a large tree, neither the index nor the block of a key is in the processor's caches. Look-ups
//! are therefore processed in groups: the blocks of a whole group are located and prefetched before
//! the first of them is read.

use std::ops::Range;
use std::sync::Arc;

use super::tree::Tree;
use crate::error::Result;
use crate::key_tree::{Progress, Search};
use crate::table::{Handle, Table};

/// The number of look-ups in a group.
const GROUP: usize = 16;

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
        for group in keys.chunks(GROUP) {
            let tables = group.iter().map(|key| self.table_for(key));
            let tables: Vec<Option<Arc<Table>>> = tables.collect::<Result<_>>()?;
            let places = find_blocks(&tables, group);
            let mut pairs = group.iter().zip(&places).peekable();
            while let Some((&key, place)) = pairs.next() {
                let Some((table, handle)) = *place else {
                    values.push(None);
                    continue;
                };
                table.look_up(handle, |block| {
                    values.push(block.get(key, &mut scratch)?);
                    while let Some((&key, _)) =
                        pairs.next_if(|(_, next)| is_at(next, table, handle))
                    {
                        values.push(block.get(key, &mut scratch)?);
                    }
                    Ok(())
                })?;
            }
        }
        Ok(values)
    }
}

/// A table and one of its blocks.
type Place<'a> = Option<(&'a Table, Handle)>;

/// Returns the blocks that hold the keys if their tables do, and asks the processor for them.
fn find_blocks<'a>(tables: &'a [Option<Arc<Table>>], keys: &[&[u8]]) -> Vec<Place<'a>> {
    let mut places: Vec<Place<'a>> = vec![None; keys.len()];
    let mut searches: Vec<(usize, &Table, Search<'_>)> = Vec::with_capacity(keys.len());
    for (number, (table, key)) in tables.iter().zip(keys).enumerate() {
        if let Some(table) = table {
            searches.push((number, table, table.search(key)));
        }
    }
    while !searches.is_empty() {
        searches.retain_mut(|(number, table, search)| match search.step() {
            Progress::Under => true,
            Progress::Done(found) => {
                places[*number] = found.map(|(_, span)| (&**table, Handle::from(span)));
                places[*number].inspect(|(table, handle)| table.prefetch(*handle));
                false
            }
        });
    }
    places
}

fn is_at(place: &Place<'_>, table: &Table, handle: Handle) -> bool {
    place.is_some_and(|(other, of)| std::ptr::eq(other, table) && of == handle)
}
