//! The metadata of one object as the protobuf message `catalog.Entry`, borrowed from its bytes.
//!
//! Go writes the pairs of a map in random order, so bytes of the same entry may differ between
//! writers; ours are sorted by key. Identities never depend on these bytes.

use super::identity::entry_identity;
use super::wire::{Fields, Value, put_bytes, put_int, put_message};
use crate::error::Result;

const ADDRESS: u64 = 1;
const LAST_MODIFIED: u64 = 2;
const SIZE: u64 = 3;
const E_TAG: u64 = 4;
const METADATA: u64 = 5;
const ADDRESS_TYPE: u64 = 6;
const CONTENT_TYPE: u64 = 7;

/// An object's metadata. Strings are bytes: code that displays them checks whether they are UTF-8.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct EntryView<'a> {
    /// Where the data are stored.
    pub address: &'a [u8],
    /// How the address is to be read.
    pub address_type: i32,
    /// The time of the last change in seconds since 1970.
    pub mtime: i64,
    /// The nanoseconds of that time.
    pub mtime_nanos: i32,
    /// In bytes.
    pub size: i64,
    /// The checksum of the data, as text.
    pub checksum: &'a [u8],
    /// Sorted by key, each key once.
    pub metadata: Vec<(&'a [u8], &'a [u8])>,
    /// The media type.
    pub content_type: &'a [u8],
}

impl<'a> EntryView<'a> {
    /// Returns the identity of the content, which does not depend on the address.
    pub fn identity(&self) -> [u8; 32] {
        entry_identity(self.size, self.checksum, &self.metadata, self.content_type)
    }

    /// Appends the protobuf form.
    pub fn encode(&self, out: &mut Vec<u8>) {
        put_bytes(out, ADDRESS, self.address);
        put_message(out, LAST_MODIFIED, &[]);
        let time = out.len();
        put_int(out, 1, self.mtime);
        put_int(out, 2, i64::from(self.mtime_nanos));
        // at most two tags and two varints, so its length has one byte
        out[time - 1] = (out.len() - time) as u8;
        put_int(out, SIZE, self.size);
        put_bytes(out, E_TAG, self.checksum);
        for (key, value) in &self.metadata {
            let mut pair = Vec::with_capacity(key.len() + value.len() + 4);
            put_message(&mut pair, 1, key);
            put_message(&mut pair, 2, value);
            put_message(out, METADATA, &pair);
        }
        put_int(out, ADDRESS_TYPE, i64::from(self.address_type));
        put_bytes(out, CONTENT_TYPE, self.content_type);
    }

    /// Reads the protobuf form. Of fields that come twice the last counts, unknown ones are
    /// skipped. Fails with [`crate::Error::Invalid`].
    pub fn decode(data: &'a [u8]) -> Result<EntryView<'a>> {
        let mut entry = EntryView::decode_fields(data, |_| true)?;
        entry.sort_metadata();
        Ok(entry)
    }

    /// Reads the protobuf form without the metadata, which are empty then.
    pub fn decode_without_metadata(data: &'a [u8]) -> Result<EntryView<'a>> {
        EntryView::decode_fields(data, |field| field != METADATA)
    }

    fn decode_fields(data: &'a [u8], wanted: impl Fn(u64) -> bool) -> Result<EntryView<'a>> {
        let mut entry = EntryView::default();
        let mut fields = Fields::of(data);
        while let Some((field, value)) = fields.next()? {
            if wanted(field) {
                entry.take(field, value)?;
            }
        }
        Ok(entry)
    }

    /// Sorts the pairs by key and keeps the last one of each key, as a map would.
    pub fn sort_metadata(&mut self) {
        if self.metadata.len() > 1 {
            self.metadata.reverse();
            self.metadata.sort_by_key(|pair| pair.0);
            self.metadata.dedup_by_key(|pair| pair.0);
        }
    }

    fn take(&mut self, field: u64, value: Value<'a>) -> Result<()> {
        match field {
            ADDRESS => self.address = value.bytes()?,
            LAST_MODIFIED => self.take_time(value.bytes()?)?,
            SIZE => self.size = value.int()?,
            E_TAG => self.checksum = value.bytes()?,
            METADATA => self.metadata.push(pair(value.bytes()?)?),
            ADDRESS_TYPE => self.address_type = value.int32()?,
            CONTENT_TYPE => self.content_type = value.bytes()?,
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
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn any_texts_come_back(
            address: Vec<u8>,
            checksum: Vec<u8>,
            content_type: Vec<u8>,
            metadata: std::collections::BTreeMap<Vec<u8>, Vec<u8>>,
        ) {
            let entry = EntryView {
                address: &address,
                checksum: &checksum,
                content_type: &content_type,
                metadata: metadata.iter().map(|(k, v)| (&k[..], &v[..])).collect(),
                ..EntryView::default()
            };
            let mut bytes = Vec::new();
            entry.encode(&mut bytes);
            prop_assert_eq!(EntryView::decode(&bytes).unwrap(), entry);
        }
    }

    #[test]
    fn the_last_of_a_key_counts() {
        let pair = |value: &'static [u8]| (&b"key"[..], value);
        let mut entry = EntryView {
            metadata: vec![pair(b"1"), (b"a", b""), pair(b"2")],
            ..EntryView::default()
        };
        entry.sort_metadata();
        assert_eq!(entry.metadata, [(&b"a"[..], &b""[..]), pair(b"2")]);
    }
}
