//! One range as its metarange describes it: the protobuf message `RangeData`, and the id.

use super::value::{decode_value, encode_value};
use super::wire::{Fields, put_bytes, put_int};
use crate::error::{Error, Result};

/// A range: its id, its bounds (both inclusive), how many records it has, and the size that was
/// estimated when it was closed, in bytes.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct RangeInfo {
    /// The name of the table.
    pub id: String,
    /// The first key.
    pub min_key: Vec<u8>,
    /// The last key.
    pub max_key: Vec<u8>,
    /// The number of records.
    pub count: i64,
    /// The size of the table in bytes, as its writer estimated it.
    pub estimated_size: u64,
}

impl RangeInfo {
    /// Appends the framed value under which a metarange keeps this range; the key is `max_key`.
    pub fn encode_value(&self, out: &mut Vec<u8>) {
        let mut data = Vec::with_capacity(self.min_key.len() + self.max_key.len() + 32);
        put_bytes(&mut data, 1, &self.min_key);
        put_bytes(&mut data, 2, &self.max_key);
        put_int(&mut data, 3, self.estimated_size as i64);
        put_int(&mut data, 4, self.count);
        encode_value(self.id.as_bytes(), &data, out);
    }

    /// Reads the framed value of a metarange's record. Fails with [`Error::Invalid`].
    pub fn decode_value(raw: &[u8]) -> Result<RangeInfo> {
        let malformed = |what: &str| Error::Invalid(format!("malformed range record: {what}"));
        let (identity, data) = decode_value(raw).ok_or_else(|| malformed("bad value"))?;
        // The id becomes a file name, so only valid ids are accepted.
        if identity.len() != 64 || !identity.iter().all(|b| b"0123456789abcdef".contains(b)) {
            return Err(malformed("bad id"));
        }
        let mut info = RangeInfo {
            id: String::from_utf8_lossy(identity).into_owned(),
            ..RangeInfo::default()
        };
        let mut fields = Fields::of(data);
        while let Some((field, value)) = fields.next()? {
            match field {
                1 => info.min_key = value.bytes()?.to_vec(),
                2 => info.max_key = value.bytes()?.to_vec(),
                3 => info.estimated_size = value.int()? as u64,
                4 => info.count = value.int()?,
                _ => {}
            }
        }
        Ok(info)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn comes_back(id in "[0-9a-f]{64}", min_key: Vec<u8>, max_key: Vec<u8>, count: i64, estimated_size: u64) {
            let info = RangeInfo { id, min_key, max_key, count, estimated_size };
            let mut raw = Vec::new();
            info.encode_value(&mut raw);
            prop_assert_eq!(RangeInfo::decode_value(&raw).unwrap(), info);
        }

        #[test]
        fn any_bytes_are_read_without_panic(raw: Vec<u8>) {
            let _ = RangeInfo::decode_value(&raw);
        }
    }
}
