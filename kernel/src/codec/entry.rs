//! The metadata of one object, as the protobuf message `catalog.Entry`.
//!
//! Go writes the pairs of a map in random order, so bytes of the same entry may differ between
//! writers; ours are sorted by key. Identities never depend on these bytes.

use super::identity::entry_identity;
use super::wire::{Fields, put_bytes, put_int, put_message};
use crate::error::Result;

const ADDRESS: u64 = 1;
const LAST_MODIFIED: u64 = 2;
const SIZE: u64 = 3;
const E_TAG: u64 = 4;
const METADATA: u64 = 5;
const ADDRESS_TYPE: u64 = 6;
const CONTENT_TYPE: u64 = 7;

/// An object: where its bytes are and what is known of them.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Entry {
    pub address: String,
    /// 0 decided by the address's form (deprecated), 1 relative to the storage namespace, 2 full.
    pub address_type: i32,
    /// Seconds since 1970, and the nanoseconds that go on top.
    pub mtime: i64,
    pub mtime_nanos: i32,
    pub size: i64,
    /// The ETag.
    pub checksum: String,
    /// Sorted by key after decoding; encoding sorts.
    pub metadata: Vec<(String, String)>,
    pub content_type: String,
}

impl Entry {
    /// Returns what tells this content from another; the address has no part in it.
    pub fn identity(&self) -> [u8; 32] {
        entry_identity(
            self.size,
            &self.checksum,
            &self.metadata,
            &self.content_type,
        )
    }

    /// Returns the protobuf form.
    pub fn encode(&self) -> Vec<u8> {
        let mut out = Vec::with_capacity(160);
        put_bytes(&mut out, ADDRESS, self.address.as_bytes());
        let mut time = Vec::with_capacity(16);
        put_int(&mut time, 1, self.mtime);
        put_int(&mut time, 2, i64::from(self.mtime_nanos));
        put_message(&mut out, LAST_MODIFIED, &time);
        put_int(&mut out, SIZE, self.size);
        put_bytes(&mut out, E_TAG, self.checksum.as_bytes());
        let mut sorted: Vec<&(String, String)> = self.metadata.iter().collect();
        sorted.sort();
        for (key, value) in sorted {
            let mut pair = Vec::with_capacity(key.len() + value.len() + 4);
            put_message(&mut pair, 1, key.as_bytes());
            put_message(&mut pair, 2, value.as_bytes());
            put_message(&mut out, METADATA, &pair);
        }
        put_int(&mut out, ADDRESS_TYPE, i64::from(self.address_type));
        put_bytes(&mut out, CONTENT_TYPE, self.content_type.as_bytes());
        out
    }

    /// Reads the protobuf form. Of fields that come twice the last counts, unknown ones are
    /// skipped. Fails with [`crate::Error::Invalid`].
    pub fn decode(data: &[u8]) -> Result<Entry> {
        let mut entry = Entry::default();
        let mut fields = Fields::of(data);
        while let Some((field, value)) = fields.next()? {
            match field {
                ADDRESS => entry.address = value.text()?.to_owned(),
                LAST_MODIFIED => entry.decode_time(value.bytes()?)?,
                SIZE => entry.size = value.int()?,
                E_TAG => entry.checksum = value.text()?.to_owned(),
                METADATA => entry.metadata.push(decode_pair(value.bytes()?)?),
                ADDRESS_TYPE => entry.address_type = value.int32()?,
                CONTENT_TYPE => entry.content_type = value.text()?.to_owned(),
                _ => {}
            }
        }
        entry.sort_metadata();
        Ok(entry)
    }

    fn decode_time(&mut self, message: &[u8]) -> Result<()> {
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

    /// Sorts the pairs by key and keeps the last one of each key, as a map would.
    fn sort_metadata(&mut self) {
        if self.metadata.len() > 1 {
            self.metadata.reverse();
            self.metadata.sort_by(|a, b| a.0.cmp(&b.0));
            self.metadata.dedup_by(|next, kept| next.0 == kept.0);
        }
    }
}

fn decode_pair(message: &[u8]) -> Result<(String, String)> {
    let mut pair = (String::new(), String::new());
    let mut fields = Fields::of(message);
    while let Some((field, value)) = fields.next()? {
        match field {
            1 => pair.0 = value.text()?.to_owned(),
            2 => pair.1 = value.text()?.to_owned(),
            _ => {}
        }
    }
    Ok(pair)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn entries() -> impl Strategy<Value = Entry> {
        (
            (".*", 0..3i32, any::<i64>(), any::<i32>()),
            (
                any::<i64>(),
                ".*",
                prop::collection::btree_map(".*", ".*", 0..5),
            ),
            ".*",
        )
            .prop_map(
                |(
                    (address, address_type, mtime, mtime_nanos),
                    (size, checksum, map),
                    content_type,
                )| Entry {
                    address,
                    address_type,
                    mtime,
                    mtime_nanos,
                    size,
                    checksum,
                    metadata: map.into_iter().collect(),
                    content_type,
                },
            )
    }

    proptest! {
        #[test]
        fn comes_back(entry in entries()) {
            prop_assert_eq!(Entry::decode(&entry.encode()).unwrap(), entry);
        }

        #[test]
        fn order_of_metadata_is_of_no_account(mut entry in entries()) {
            let bytes = entry.encode();
            entry.metadata.reverse();
            prop_assert_eq!(entry.encode(), bytes);
        }

        #[test]
        fn any_bytes_are_read_without_panic(bytes: Vec<u8>) {
            let _ = Entry::decode(&bytes);
        }

        #[test]
        fn cut_off_never_gives_the_entry(entry in entries(), keep in 0.0..1.0f64) {
            let bytes = entry.encode();
            let keep = (bytes.len() as f64 * keep) as usize;
            if let Ok(other) = Entry::decode(&bytes[..keep]) {
                prop_assert_ne!(other, entry);
            }
        }
    }

    #[test]
    fn bytes_are_as_go_writes_them() {
        let entry = Entry {
            address: "a".into(),
            address_type: 1,
            mtime: 1,
            mtime_nanos: 2,
            size: 300,
            checksum: "e".into(),
            metadata: vec![("k".into(), String::new())],
            content_type: "t".into(),
        };
        let expected = b"\x0a\x01a\x12\x04\x08\x01\x10\x02\x18\xac\x02\x22\x01e\x2a\x05\x0a\x01k\x12\x00\x30\x01\x3a\x01t";
        assert_eq!(entry.encode(), expected);
    }

    #[test]
    fn unknown_fields_are_skipped_and_the_last_of_a_field_counts() {
        let bytes = b"\x98\x06\x01\x0a\x01a\xa1\x06\x00\x00\x00\x00\x00\x00\x00\x00\x0a\x01b\xad\x06\x00\x00\x00\x00";
        assert_eq!(Entry::decode(bytes).unwrap().address, "b");
    }

    #[test]
    fn malformed_is_an_error() {
        for bytes in [
            &b"\x0a\x02a"[..],
            b"\x0a\x01\xff",
            b"\x0a",
            b"\x08\x01",
            b"\x00\x01",
            b"\x0b\x01",
            b"\x0a\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01",
            b"\x12\x02\x0a\x05",
        ] {
            assert!(Entry::decode(bytes).is_err(), "{bytes:?}");
        }
    }
}
