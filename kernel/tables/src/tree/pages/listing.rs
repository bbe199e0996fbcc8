//! A page of a tree with staged changes applied.
//!
//! Staged changes are fed in pieces, in order. The page proceeds up to the last change fed, because
//! all staged changes up to there are known. A staged value replaces the tree's, a tombstone removes
//! it.

use std::ops::Range;

use super::list_range::{ListRange, successor, upper_bound};
use crate::codec::decode_value;
use crate::error::{Error, Result};
use crate::tree::cursor::TreeCursor;
use crate::tree::tree::Tree;

/// A staged change: the identity and data of a value, None for a tombstone.
pub type Staged<'a> = (&'a [u8], Option<(&'a [u8], &'a [u8])>);

/// The maximum number of rows for which memory is allocated in advance.
const MANY: usize = 1000;

/// A page being filled.
pub struct Listing {
    cursor: TreeCursor,
    range: ListRange,
    amount: usize,
    /// The bytes of all rows, one part behind the other.
    bytes: Vec<u8>,
    rows: Vec<Row>,
    position: Vec<u8>,
    done: bool,
    has_more: bool,
}

struct Row {
    key: Range<usize>,
    /// The identity and the data; None for a common prefix.
    value: Option<(Range<usize>, Range<usize>)>,
}

/// One item of a page.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Item<'a> {
    /// The key, or a common prefix.
    pub key: &'a [u8],
    /// The identity and the data; None for a common prefix.
    pub value: Option<(&'a [u8], &'a [u8])>,
}

impl Listing {
    /// Starts a page of at most `amount` items.
    pub fn new(tree: &Tree, range: ListRange, amount: usize) -> Result<Listing> {
        let mut listing = Listing {
            cursor: tree.cursor(),
            range,
            amount,
            bytes: Vec::new(),
            rows: Vec::new(),
            position: Vec::new(),
            done: false,
            has_more: false,
        };
        match listing.range.start() {
            Some(start) => {
                listing.cursor.seek(&start)?;
                listing.position = start;
            }
            None => listing.done = true,
        }
        Ok(listing)
    }

    /// Returns the least key of the staged changes that must be fed next.
    pub fn position(&self) -> &[u8] {
        &self.position
    }

    /// Returns whether the listing has ended.
    pub fn done(&self) -> bool {
        self.done
    }

    /// Returns whether items follow the page; known when it is done.
    pub fn has_more(&self) -> bool {
        self.has_more
    }

    /// Continues up to the last of these changes, or to the page's or the tree's end when they
    /// are the last. Fails with [`Error::Order`] when they are not sorted or begin before the
    /// position.
    pub fn feed(&mut self, staged: &[Staged<'_>], last: bool) -> Result<()> {
        self.check_order(staged)?;
        let mut staged = staged.iter().copied().peekable();
        while !self.done {
            let Some(&(key, value)) = staged.peek() else {
                break;
            };
            if key < self.position.as_slice() {
                // it belongs to a common prefix that the page already contains
                staged.next();
                continue;
            }
            if self.take_committed(Some(key))? {
                continue;
            }
            staged.next();
            self.take_staged(key, value)?;
        }
        while last && !self.done {
            if !self.take_committed(None)? {
                self.done = true;
            }
        }
        Ok(())
    }

    fn check_order(&self, staged: &[Staged<'_>]) -> Result<()> {
        let sorted = staged.windows(2).all(|pair| pair[0].0 < pair[1].0);
        let begins = staged
            .first()
            .is_none_or(|first| first.0 >= self.position.as_slice());
        if self.done || (sorted && begins) {
            return Ok(());
        }
        Err(Error::Order("staged changes are not in order".into()))
    }

    /// Takes the tree's next record if it comes before `limit`; returns false if none does.
    fn take_committed(&mut self, limit: Option<&[u8]>) -> Result<bool> {
        let Some(key) = self.cursor.key() else {
            return Ok(false);
        };
        if limit.is_some_and(|limit| key >= limit) {
            return Ok(false);
        }
        if !self.range.holds(key) {
            return Ok(false);
        }
        if self.rows.len() == self.amount {
            self.end_full();
            return Ok(true);
        }
        if let Some(prefix) = self.range.common_prefix(key) {
            let prefix = prefix.to_vec();
            self.add_common_prefix(&prefix)?;
            return Ok(true);
        }
        self.cursor.enter()?;
        self.add_committed()?;
        self.cursor.next()?;
        Ok(true)
    }

    fn add_committed(&mut self) -> Result<()> {
        let Some((key, raw)) = self.cursor.record()? else {
            return Ok(());
        };
        match decode_value(raw) {
            Some(value) => {
                if self.rows.is_empty() {
                    // Rows are about as long as the first one.
                    let rows = self.amount.min(MANY);
                    self.bytes.reserve(rows * (key.len() + raw.len()));
                    self.rows.reserve(rows);
                }
                push_row(&mut self.rows, &mut self.bytes, key, Some(value));
                Ok(())
            }
            None => Err(self.cursor.corrupt("a value is malformed")),
        }
    }

    /// Takes a staged change; the tree's records before it are taken already.
    fn take_staged(&mut self, key: &[u8], value: Option<(&[u8], &[u8])>) -> Result<()> {
        if !self.range.holds(key) {
            self.done |= key > self.range.prefix.as_slice();
            return Ok(());
        }
        if self.cursor.key() == Some(key) {
            self.cursor.next()?;
        }
        self.position = successor(key);
        if value.is_none() {
            return Ok(());
        }
        if self.rows.len() == self.amount {
            self.end_full();
        } else if let Some(prefix) = self.range.common_prefix(key) {
            self.add_common_prefix(prefix)?;
        } else {
            push_row(&mut self.rows, &mut self.bytes, key, value);
        }
        Ok(())
    }

    fn add_common_prefix(&mut self, prefix: &[u8]) -> Result<()> {
        push_row(&mut self.rows, &mut self.bytes, prefix, None);
        match upper_bound(prefix) {
            Some(bound) => {
                self.cursor.advance_to(&bound)?;
                self.position = bound;
            }
            None => self.done = true,
        }
        Ok(())
    }

    fn end_full(&mut self) {
        self.has_more = true;
        self.done = true;
    }

    /// Replaces the items, with those of several pages for example, and whether more follow.
    pub fn replace<'a>(&mut self, items: impl Iterator<Item = Staged<'a>>, has_more: bool) {
        self.rows.clear();
        self.bytes.clear();
        for (key, value) in items {
            push_row(&mut self.rows, &mut self.bytes, key, value);
        }
        self.has_more = has_more;
        self.done = true;
    }

    /// Returns the number of items.
    pub fn len(&self) -> usize {
        self.rows.len()
    }

    /// Returns whether there are none.
    pub fn is_empty(&self) -> bool {
        self.rows.is_empty()
    }

    /// Returns the page's items in order.
    pub fn items(&self) -> impl ExactSizeIterator<Item = Item<'_>> {
        self.rows.iter().map(|row| Item {
            key: &self.bytes[row.key.clone()],
            value: row
                .value
                .as_ref()
                .map(|(identity, data)| (&self.bytes[identity.clone()], &self.bytes[data.clone()])),
        })
    }
}

fn push_row(rows: &mut Vec<Row>, bytes: &mut Vec<u8>, key: &[u8], value: Option<(&[u8], &[u8])>) {
    let mut keep = |part: &[u8]| {
        let start = bytes.len();
        bytes.extend_from_slice(part);
        start..bytes.len()
    };
    rows.push(Row {
        key: keep(key),
        value: value.map(|(identity, data)| (keep(identity), keep(data))),
    });
}
