//! The metadata of one object, with owned strings.

use super::entry_view::EntryView;
use crate::error::{Error, Result};

/// An object: the address of its bytes and its metadata.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Entry {
    /// Where the data are stored.
    pub address: String,
    /// 0 decided by the address's form (deprecated), 1 relative to the storage namespace, 2 full.
    pub address_type: i32,
    /// Seconds since 1970, and the nanoseconds that go on top.
    pub mtime: i64,
    /// The nanoseconds of the time of the last change.
    pub mtime_nanos: i32,
    /// In bytes.
    pub size: i64,
    /// The ETag.
    pub checksum: String,
    /// Sorted by key after decoding; encoding sorts.
    pub metadata: Vec<(String, String)>,
    /// The media type.
    pub content_type: String,
}

impl Entry {
    /// Returns the identity of the content, which does not depend on the address.
    pub fn identity(&self) -> [u8; 32] {
        self.view().identity()
    }

    /// Returns the protobuf form.
    pub fn encode(&self) -> Vec<u8> {
        let mut out = Vec::with_capacity(160);
        self.view().encode(&mut out);
        out
    }

    /// Reads the protobuf form, whose texts must be UTF-8. Of fields that come twice the last
    /// counts, unknown ones are skipped. Fails with [`Error::Invalid`].
    pub fn decode(data: &[u8]) -> Result<Entry> {
        let view = EntryView::decode(data)?;
        let pairs = view.metadata.iter();
        let text = |bytes| text(bytes).map(str::to_owned);
        Ok(Entry {
            address: text(view.address)?,
            address_type: view.address_type,
            mtime: view.mtime,
            mtime_nanos: view.mtime_nanos,
            size: view.size,
            checksum: text(view.checksum)?,
            metadata: pairs
                .map(|(key, value)| Ok((text(key)?, text(value)?)))
                .collect::<Result<_>>()?,
            content_type: text(view.content_type)?,
        })
    }

    fn view(&self) -> EntryView<'_> {
        let pairs = self.metadata.iter();
        let mut view = EntryView {
            address: self.address.as_bytes(),
            address_type: self.address_type,
            mtime: self.mtime,
            mtime_nanos: self.mtime_nanos,
            size: self.size,
            checksum: self.checksum.as_bytes(),
            metadata: pairs.map(|(k, v)| (k.as_bytes(), v.as_bytes())).collect(),
            content_type: self.content_type.as_bytes(),
        };
        view.sort_metadata();
        view
    }
}

/// Returns a text of an entry. Fails with [`Error::Invalid`] for bytes that are not UTF-8.
pub fn text(bytes: &[u8]) -> Result<&str> {
    let text = std::str::from_utf8(bytes);
    text.map_err(|_| Error::Invalid("malformed message: a string is not UTF-8".into()))
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
