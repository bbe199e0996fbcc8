//! The metadata of one object, read where it lies: [`super::Entry`] without copies.

use super::wire::{Fields, Value};
use crate::error::Result;

/// An object's metadata. Texts are bytes here: whether they are UTF-8, who shows them decides.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct EntryView<'a> {
    pub address: &'a [u8],
    pub address_type: i32,
    pub mtime: i64,
    pub mtime_nanos: i32,
    pub size: i64,
    pub checksum: &'a [u8],
    /// Sorted by key, each key once.
    pub metadata: Vec<(&'a [u8], &'a [u8])>,
    pub content_type: &'a [u8],
}

impl<'a> EntryView<'a> {
    /// Reads the protobuf form as [`super::Entry::decode`] does. Fails with
    /// [`crate::Error::Invalid`].
    pub fn decode(data: &'a [u8]) -> Result<EntryView<'a>> {
        let mut entry = EntryView::default();
        let mut fields = Fields::of(data);
        while let Some((field, value)) = fields.next()? {
            entry.take(field, value)?;
        }
        if entry.metadata.len() > 1 {
            entry.metadata.reverse();
            entry.metadata.sort_by_key(|pair| pair.0);
            entry.metadata.dedup_by_key(|pair| pair.0);
        }
        Ok(entry)
    }

    fn take(&mut self, field: u64, value: Value<'a>) -> Result<()> {
        match field {
            1 => self.address = value.bytes()?,
            2 => self.take_time(value.bytes()?)?,
            3 => self.size = value.int()?,
            4 => self.checksum = value.bytes()?,
            5 => self.metadata.push(pair(value.bytes()?)?),
            6 => self.address_type = value.int32()?,
            7 => self.content_type = value.bytes()?,
            _ => {}
        }
        Ok(())
    }

    fn take_time(&mut self, message: &[u8]) -> Result<()> {
        let mut fields = Fields::of(message);
        while let Some((field, value)) = fields.next()? {
            match field {
                1 => self.mtime = value.int()?,
                2 => self.mtime_nanos = value.int32()?,
                _ => {}
            }
        }
        Ok(())
    }
}

fn pair(message: &[u8]) -> Result<(&[u8], &[u8])> {
    let mut pair: (&[u8], &[u8]) = (&[], &[]);
    let mut fields = Fields::of(message);
    while let Some((field, value)) = fields.next()? {
        match field {
            1 => pair.0 = value.bytes()?,
            2 => pair.1 = value.bytes()?,
            _ => {}
        }
    }
    Ok(pair)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::codec::Entry;
    use proptest::prelude::*;

    fn assert_agrees(bytes: &[u8]) {
        let view = EntryView::decode(bytes);
        if let Ok(entry) = Entry::decode(bytes) {
            let view = view.expect("what an entry is read from");
            let pairs = entry.metadata.iter();
            assert_eq!(
                view,
                EntryView {
                    address: entry.address.as_bytes(),
                    address_type: entry.address_type,
                    mtime: entry.mtime,
                    mtime_nanos: entry.mtime_nanos,
                    size: entry.size,
                    checksum: entry.checksum.as_bytes(),
                    metadata: pairs.map(|(k, v)| (k.as_bytes(), v.as_bytes())).collect(),
                    content_type: entry.content_type.as_bytes(),
                }
            );
        }
    }

    proptest! {
        #[test]
        fn agrees_with_the_copying_reader(
            (address, checksum, content_type) in (".*", ".*", ".*"),
            (mtime, mtime_nanos, size, address_type) in any::<(i64, i32, i64, i32)>(),
            metadata in prop::collection::vec((".*", ".*"), 0..4),
            twice in any::<bool>(),
        ) {
            let entry = Entry {
                address, address_type, mtime, mtime_nanos, size, checksum, metadata, content_type,
            };
            let mut bytes = entry.encode();
            if twice {
                bytes.extend(entry.encode());
            }
            assert_agrees(&bytes);
        }

        #[test]
        fn any_bytes_are_read_without_panic(bytes: Vec<u8>) {
            assert_agrees(&bytes);
        }
    }
}
