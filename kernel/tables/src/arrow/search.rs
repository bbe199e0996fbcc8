//! The objects of a tree that meet conditions, with some of their columns, as a stream of record
//! batches: what people search is shown like a listing, and only as much of it as they need.

use std::ops::RangeInclusive;

use arrow_array::RecordBatch;
use arrow_schema::SchemaRef;

use super::batches::{Batches, record_batch};
pub use super::search_columns::Filling;
use crate::codec::{EntryView, decode_value};
use crate::error::Result;
use crate::tree::shown_entry::content_type;
use crate::tree::{Tree, TreeCursor};

/// A batch ends after this many bytes of records, so that no column's offsets overflow.
pub(super) const MAX_BATCH_BYTES: usize = 32 << 20;

/// A batch ends after this many records that were looked at, so that a search for few objects
/// returns now and then.
pub(super) const MAX_EXAMINED: usize = 1 << 20;

/// The keys that begin with `prefix`, are not less than `start`, and less than `end`.
#[derive(Clone, Debug, Default)]
pub struct KeyBounds {
    /// What the keys begin with.
    pub prefix: Vec<u8>,
    /// The least key.
    pub start: Vec<u8>,
    /// The key behind the last one, if there is an end.
    pub end: Option<Vec<u8>>,
}

impl KeyBounds {
    /// Returns the bounds of these keys.
    pub fn new(prefix: &[u8], start: &[u8], end: Option<&[u8]>) -> KeyBounds {
        KeyBounds {
            prefix: prefix.to_vec(),
            start: start.to_vec(),
            end: end.map(<[u8]>::to_vec),
        }
    }

    pub(super) fn first(&self) -> &[u8] {
        self.start.as_slice().max(&self.prefix)
    }

    fn hold(&self, key: &[u8]) -> bool {
        key.starts_with(&self.prefix) && self.end.as_ref().is_none_or(|end| key < end.as_slice())
    }
}

/// Conditions that an object must meet, all of them; times are in microseconds since 1970.
#[derive(Clone, Debug, Default)]
pub struct Conditions {
    /// The sizes that are allowed, in bytes.
    pub sizes: Option<RangeInclusive<i64>>,
    /// The creation times that are allowed.
    pub times: Option<RangeInclusive<i64>>,
    /// One of these, if there are any.
    pub content_types: Vec<String>,
    /// What the user metadata must have.
    pub metadata: Vec<MetadataCondition>,
}

/// A condition on the value that user metadata have for a key; they must have one.
#[derive(Clone, Debug)]
pub struct MetadataCondition {
    /// The key.
    pub key: String,
    /// What its value must be.
    pub value: ValueCondition,
}

/// A condition on a value, of which bytes are compared.
#[derive(Clone, Debug)]
pub enum ValueCondition {
    /// None: every value meets it.
    Any,
    /// It is one of these.
    OneOf(Vec<String>),
    /// It begins with this.
    Prefix(String),
    /// It ends with this.
    Suffix(String),
    /// This is somewhere in it.
    Contains(String),
}

impl MetadataCondition {
    fn holds(&self, (key, value): (&[u8], &[u8])) -> bool {
        key == self.key.as_bytes()
            && match &self.value {
                ValueCondition::Any => true,
                ValueCondition::OneOf(values) => values.iter().any(|each| each.as_bytes() == value),
                ValueCondition::Prefix(text) => value.starts_with(text.as_bytes()),
                ValueCondition::Suffix(text) => value.ends_with(text.as_bytes()),
                ValueCondition::Contains(text) => contains(value, text.as_bytes()),
            }
    }
}

fn contains(value: &[u8], text: &[u8]) -> bool {
    text.is_empty() || value.windows(text.len()).any(|window| window == text)
}

impl Conditions {
    fn hold(&self, entry: &EntryView<'_>, time: Option<i64>) -> bool {
        let types = &self.content_types;
        self.sizes
            .as_ref()
            .is_none_or(|sizes| sizes.contains(&entry.size))
            && self
                .times
                .as_ref()
                .is_none_or(|times| time.is_some_and(|time| times.contains(&time)))
            && (types.is_empty()
                || types
                    .iter()
                    .any(|each| each.as_bytes() == content_type(entry)))
            && self
                .metadata
                .iter()
                .all(|condition| entry.metadata.iter().any(|&pair| condition.holds(pair)))
    }
}

/// An iterator over the objects that meet conditions, in batches; a batch may be empty.
pub struct Search {
    cursor: TreeCursor,
    keys: KeyBounds,
    conditions: Conditions,
    columns: Filling,
    batch: usize,
    needs_metadata: bool,
    ended: bool,
}

impl Search {
    /// Starts a search in batches of at most `batch` objects.
    pub fn new(
        tree: &Tree,
        keys: KeyBounds,
        conditions: Conditions,
        columns: Filling,
        batch: usize,
    ) -> Result<Search> {
        let mut cursor = tree.cursor();
        cursor.seek(keys.first())?;
        Ok(Search {
            cursor,
            keys,
            needs_metadata: columns.shows_metadata() || !conditions.metadata.is_empty(),
            conditions,
            columns,
            batch: batch.max(1),
            ended: false,
        })
    }
}

impl Batches for Search {
    fn schema(&self) -> SchemaRef {
        self.columns.schema()
    }

    fn next_batch(&mut self) -> Result<Option<RecordBatch>> {
        if self.ended {
            return Ok(None);
        }
        let (mut rows, mut bytes) = (0, 0);
        for _ in 0..MAX_EXAMINED {
            if rows == self.batch || bytes >= MAX_BATCH_BYTES {
                break;
            }
            let record = self.cursor.record()?;
            let Some((key, value)) = record.filter(|(key, _)| self.keys.hold(key)) else {
                self.ended = true;
                break;
            };
            let entry = match decode(value, self.needs_metadata) {
                Ok(entry) => entry,
                Err(reason) => return Err(self.cursor.corrupt(&reason)),
            };
            let time = microseconds(&entry);
            if self.conditions.hold(&entry, time) {
                self.columns.add(key, &entry, time)?;
                rows += 1;
                bytes += key.len() + value.len();
            }
            self.cursor.next()?;
        }
        let arrays = self.columns.finish();
        record_batch(self.schema(), arrays, rows).map(Some)
    }
}

pub(super) fn decode(value: &[u8], metadata: bool) -> std::result::Result<EntryView<'_>, String> {
    let (_, data) = decode_value(value).ok_or("a value is malformed")?;
    let entry = if metadata {
        EntryView::decode(data)
    } else {
        EntryView::decode_without_metadata(data)
    };
    entry.map_err(|error| error.to_string())
}

/// Returns when an object was modified, None for a time out of bounds.
pub(super) fn microseconds(entry: &EntryView<'_>) -> Option<i64> {
    let seconds = entry.mtime.checked_mul(1_000_000)?;
    seconds.checked_add(i64::from(entry.mtime_nanos / 1000))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn conditions() -> Conditions {
        Conditions {
            sizes: Some(1..=9),
            times: Some(1_000_000..=2_000_000),
            content_types: vec!["text/csv".into(), "application/octet-stream".into()],
            metadata: vec![of_k(ValueCondition::OneOf(vec!["u".into(), "v".into()]))],
        }
    }

    fn of_k(value: ValueCondition) -> MetadataCondition {
        let key = "k".into();
        MetadataCondition { key, value }
    }

    fn entry() -> EntryView<'static> {
        EntryView {
            size: 9,
            mtime: 1,
            metadata: vec![(b"a", b""), (b"k", b"v")],
            ..EntryView::default()
        }
    }

    #[test]
    fn all_conditions_must_hold() {
        let hold = |entry: &EntryView<'_>| conditions().hold(entry, microseconds(entry));
        assert!(hold(&entry()));
        assert!(!hold(&EntryView {
            size: 10,
            ..entry()
        }));
        assert!(!hold(&EntryView {
            mtime: 3,
            ..entry()
        }));
        assert!(!hold(&EntryView {
            mtime: i64::MAX,
            ..entry()
        }));
        assert!(!hold(&EntryView {
            content_type: b"text/html",
            ..entry()
        }));
        assert!(!hold(&EntryView {
            metadata: vec![(b"k", b"w")],
            ..entry()
        }));
        assert!(Conditions::default().hold(&EntryView::default(), None));
    }

    #[test]
    fn values_of_metadata_are_compared_by_parts() {
        let hold = |value: ValueCondition| of_k(value).holds((b"k", b"run-07"));
        assert!(hold(ValueCondition::Any));
        assert!(hold(ValueCondition::OneOf(vec!["run-07".into()])));
        assert!(!hold(ValueCondition::OneOf(vec!["run-0".into()])));
        for text in ["", "r", "run-07"] {
            assert!(hold(ValueCondition::Prefix(text.into())));
        }
        for text in ["", "7", "run-07"] {
            assert!(hold(ValueCondition::Suffix(text.into())));
        }
        for text in ["", "r", "n-0", "7", "run-07"] {
            assert!(hold(ValueCondition::Contains(text.into())));
        }
        for text in ["7r", "run-077"] {
            assert!(!hold(ValueCondition::Prefix(text.into())));
            assert!(!hold(ValueCondition::Suffix(text.into())));
            assert!(!hold(ValueCondition::Contains(text.into())));
        }
        assert!(!of_k(ValueCondition::Any).holds((b"l", b"run-07")));
    }

    #[test]
    fn keys_are_within_their_bounds() {
        let bounds = KeyBounds {
            prefix: b"a/".to_vec(),
            start: b"a/c".to_vec(),
            end: Some(b"a/e".to_vec()),
        };
        assert_eq!(bounds.first(), b"a/c");
        assert!(bounds.hold(b"a/d") && !bounds.hold(b"a/e") && !bounds.hold(b"b"));
        assert_eq!(
            KeyBounds {
                start: b"a".to_vec(),
                ..bounds
            }
            .first(),
            b"a/"
        );
    }
}
