//! A staged change in a branch's staging area: the protobuf message `StagedEntryData`.

use super::wire::{Fields, put_bytes};
use crate::error::Result;

/// A change to one key, borrowed from its bytes. An empty identity marks a tombstone: the key is
/// deleted.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct StagedEntry<'a> {
    /// The path of the change.
    pub key: &'a [u8],
    /// The identity of the entry; empty for a removal.
    pub identity: &'a [u8],
    /// The encoded entry; empty for a removal.
    pub data: &'a [u8],
}

impl<'a> StagedEntry<'a> {
    /// Returns the identity and the data, None for a tombstone.
    pub fn value(&self) -> Option<(&'a [u8], &'a [u8])> {
        (!self.identity.is_empty()).then_some((self.identity, self.data))
    }

    /// Returns the protobuf form.
    pub fn encode(&self) -> Vec<u8> {
        let length = self.key.len() + self.identity.len() + self.data.len();
        let mut out = Vec::with_capacity(length + 12);
        put_bytes(&mut out, 1, self.key);
        put_bytes(&mut out, 2, self.identity);
        put_bytes(&mut out, 3, self.data);
        out
    }

    /// Reads the protobuf form. Fails with [`crate::Error::Invalid`].
    pub fn decode(data: &'a [u8]) -> Result<StagedEntry<'a>> {
        let mut staged = StagedEntry::default();
        let mut fields = Fields::of(data);
        while let Some((field, value)) = fields.next()? {
            match field {
                1 => staged.key = value.bytes()?,
                2 => staged.identity = value.bytes()?,
                3 => staged.data = value.bytes()?,
                _ => {}
            }
        }
        Ok(staged)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn comes_back(key: Vec<u8>, identity: Vec<u8>, data: Vec<u8>) {
            let staged = StagedEntry { key: &key, identity: &identity, data: &data };
            let encoded = staged.encode();
            prop_assert_eq!(StagedEntry::decode(&encoded).unwrap(), staged);
        }

        #[test]
        fn any_bytes_are_read_without_panic(bytes: Vec<u8>) {
            let _ = StagedEntry::decode(&bytes);
        }
    }

    #[test]
    fn a_tombstone_is_a_key_alone() {
        let staged = StagedEntry {
            key: b"k",
            ..StagedEntry::default()
        };
        assert_eq!(staged.value(), None);
        assert_eq!(staged.encode(), b"\x0a\x01k");
    }
}
