//! A staged change as a branch's staging area keeps it: the protobuf message `StagedEntryData`.

use super::wire::{Fields, put_bytes};
use crate::error::Result;

/// A change to one key. An empty identity marks a tombstone: the key is deleted.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct StagedEntry {
    pub key: Vec<u8>,
    pub identity: Vec<u8>,
    pub data: Vec<u8>,
}

impl StagedEntry {
    pub fn is_tombstone(&self) -> bool {
        self.identity.is_empty()
    }

    /// Returns the protobuf form.
    pub fn encode(&self) -> Vec<u8> {
        let length = self.key.len() + self.identity.len() + self.data.len();
        let mut out = Vec::with_capacity(length + 12);
        put_bytes(&mut out, 1, &self.key);
        put_bytes(&mut out, 2, &self.identity);
        put_bytes(&mut out, 3, &self.data);
        out
    }

    /// Reads the protobuf form. Fails with [`crate::Error::Invalid`].
    pub fn decode(data: &[u8]) -> Result<StagedEntry> {
        let mut staged = StagedEntry::default();
        let mut fields = Fields::of(data);
        while let Some((field, value)) = fields.next()? {
            match field {
                1 => staged.key = value.bytes()?.to_vec(),
                2 => staged.identity = value.bytes()?.to_vec(),
                3 => staged.data = value.bytes()?.to_vec(),
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
            let staged = StagedEntry { key, identity, data };
            prop_assert_eq!(StagedEntry::decode(&staged.encode()).unwrap(), staged);
        }

        #[test]
        fn any_bytes_are_read_without_panic(bytes: Vec<u8>) {
            let _ = StagedEntry::decode(&bytes);
        }
    }

    #[test]
    fn a_tombstone_is_a_key_alone() {
        let staged = StagedEntry {
            key: b"k".to_vec(),
            ..StagedEntry::default()
        };
        assert!(staged.is_tombstone());
        assert_eq!(staged.encode(), b"\x0a\x01k");
    }
}
