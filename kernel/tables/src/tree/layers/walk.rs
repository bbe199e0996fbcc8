//! Iterates over the entries of one layer in the order of their new keys, which is that of the old.

use super::address::put_full;
use super::layer::Layer;
use super::span::Span;
use crate::codec::{EntryView, RangeInfo, decode_value, encode_value};
use crate::error::{Error, Result};
use crate::ranges::{RangeWriter, break_after};
use crate::tree::TreeCursor;
use crate::tree::copy::copy_piece;

/// The maximum number of reported keys of each kind.
pub const SHOWN: usize = 10;

/// The statistics of a layer.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Seen {
    /// Entries that the layer has, those that were left out or invalid not among them.
    pub found: u64,
    /// Entries that were left out.
    pub skipped: u64,
    /// Entries under one of a layer above.
    pub shadowed: u64,
    /// The first of their keys.
    pub shadowed_keys: Vec<Vec<u8>>,
    /// Entries whose new key would be empty or too long.
    pub invalid: u64,
    /// The first of their old keys.
    pub invalid_keys: Vec<Vec<u8>>,
    /// The sizes of the objects found, in bytes; 0 for a layer that is taken as it is.
    pub size: i128,
    /// The sizes of the objects shadowed.
    pub shadowed_size: i128,
}

impl Seen {
    /// Adds the statistics of a later span.
    pub fn add(&mut self, next: &Seen) {
        self.found += next.found;
        self.skipped += next.skipped;
        self.shadowed += next.shadowed;
        self.invalid += next.invalid;
        self.size += next.size;
        self.shadowed_size += next.shadowed_size;
        let both = [
            (&mut self.shadowed_keys, &next.shadowed_keys),
            (&mut self.invalid_keys, &next.invalid_keys),
        ];
        for (mine, others) in both {
            others.iter().for_each(|key| remember(mine, key));
        }
    }
}

/// A walk that stands on an entry, or behind the last.
pub struct Walk<'a> {
    layer: &'a Layer,
    span: &'a Span,
    longest: usize,
    cursor: TreeCursor,
    /// The new key of the entry.
    pub key: Vec<u8>,
    /// The statistics of the entries so far.
    pub seen: Seen,
    data: Vec<u8>,
    value: Vec<u8>,
    address: Vec<u8>,
}

impl<'a> Walk<'a> {
    /// Returns the walk on its first entry in the span. Keys of more than `longest` bytes are
    /// invalid.
    pub fn open(layer: &'a Layer, span: &'a Span, longest: usize) -> Result<Walk<'a>> {
        let mut cursor = layer.tree.cursor();
        let start = layer.first_from(&span.start);
        if let Some(start) = &start {
            cursor.seek(start)?;
        }
        let mut walk = Walk {
            layer,
            span,
            longest,
            cursor,
            key: Vec::new(),
            seen: Seen::default(),
            data: Vec::new(),
            value: Vec::new(),
            address: Vec::new(),
        };
        if start.is_some() {
            walk.settle()?;
        }
        Ok(walk)
    }

    /// Returns whether it is behind the last entry.
    pub fn is_over(&self) -> bool {
        self.key.is_empty()
    }

    /// Adds the entry, and those behind it up to the key `limit` and without it, as many as can be
    /// taken at once. Returns how many there were.
    pub fn add(&mut self, limit: Option<&[u8]>, out: &mut RangeWriter) -> Result<u64> {
        if self.layer.is_kept() {
            return self.add_piece(limit, out);
        }
        let size = self.put_value()?;
        let added = out.add(&self.key, &self.value);
        added.map_err(|error| self.blame(error))?;
        self.seen.found += 1;
        self.seen.size += i128::from(size);
        self.forward()?;
        Ok(1)
    }

    /// Skips the entry, which one of a higher layer hides.
    pub fn shadow(&mut self) -> Result<()> {
        let size = self.size()?;
        self.seen.found += 1;
        self.seen.shadowed += 1;
        self.seen.shadowed_size += i128::from(size);
        if !self.layer.is_kept() {
            self.seen.size += i128::from(size);
        }
        remember(&mut self.seen.shadowed_keys, &self.key);
        self.forward()
    }

    /// A range is taken whole if it would be made just so of its entries: where one begins, and
    /// ends by its last key's hash or because nothing follows.
    fn add_piece(&mut self, limit: Option<&[u8]>, out: &mut RangeWriter) -> Result<u64> {
        let before = out.count();
        let fits = |key: &[u8]| {
            key.starts_with(&self.layer.prefix)
                && limit.is_none_or(|limit| key < limit)
                && self.span.reaches(key)
        };
        let is_alone = limit.is_none() && self.span.end.is_none();
        let last = self.layer.tree.ranges().last().filter(|_| is_alone);
        let would_be = |info: &RangeInfo, out: &RangeWriter| {
            out.is_between_ranges() && (break_after(&info.max_key, 0) || last == Some(info))
        };
        let copied = copy_piece(&mut self.cursor, &fits, would_be, out);
        copied.map_err(|error| self.blame(error))?;
        let added = out.count() - before;
        self.seen.found += added;
        self.settle()?;
        Ok(added)
    }

    /// Passes over the entry.
    pub fn forward(&mut self) -> Result<()> {
        self.cursor.next()?;
        self.settle()
    }

    /// Goes forward to an entry that counts, and makes its new key.
    fn settle(&mut self) -> Result<()> {
        loop {
            self.key.clear();
            let Some((key, name)) = self
                .cursor
                .key()
                .and_then(|key| Some((key, self.layer.name(key)?)))
            else {
                return Ok(());
            };
            self.key.extend_from_slice(&self.layer.target);
            self.key.extend_from_slice(name);
            if !self.span.reaches(&self.key) {
                self.key.clear();
                return Ok(());
            }
            let skipped = match &self.layer.leave_out {
                Some(leave_out) => leave_out.leaves_out(name)?,
                None => false,
            };
            if skipped {
                self.seen.skipped += 1;
            } else if self.is_fit() {
                return Ok(());
            } else {
                self.seen.invalid += 1;
                remember(&mut self.seen.invalid_keys, key);
            }
            self.cursor.next()?;
        }
    }

    fn is_fit(&self) -> bool {
        !self.key.is_empty() && (self.key.len() <= self.longest || self.layer.is_kept())
    }

    /// Makes the entry's new value and returns the object's size.
    fn put_value(&mut self) -> Result<i64> {
        let raw = self.cursor.value()?;
        let malformed = || Error::Invalid("a value is malformed".into());
        let (identity, data) = decode_value(raw).ok_or_else(malformed)?;
        self.value.clear();
        let size = match &self.layer.namespace {
            Some(namespace) => {
                self.data.clear();
                let size = put_full(&mut self.data, data, namespace, &mut self.address)?;
                encode_value(identity, &self.data, &mut self.value);
                size
            }
            None => {
                self.value.extend_from_slice(raw);
                EntryView::decode(data)?.size
            }
        };
        Ok(size)
    }

    fn size(&mut self) -> Result<i64> {
        let malformed = || Error::Invalid("a value is malformed".into());
        let (_, data) = decode_value(self.cursor.value()?).ok_or_else(malformed)?;
        Ok(EntryView::decode(data)?.size)
    }

    /// Keys are in stored order and values are stored ones, so an error means a damaged table.
    fn blame(&self, error: Error) -> Error {
        match error {
            Error::Order(reason) | Error::Invalid(reason) => self.cursor.corrupt(&reason),
            other => other,
        }
    }
}

fn remember(keys: &mut Vec<Vec<u8>>, key: &[u8]) {
    if keys.len() < SHOWN {
        keys.push(key.to_vec());
    }
}
