//! The value of a record: an identity and data, each behind its length.
//!
//! The lengths are zig-zag varints (Go's `binary.PutVarint`), so a length of 32 is the byte 0x40.
//! Bytes that follow the data are ignored, as lakeFS ignores them.

use crate::varint;

/// The longest identity or data that lakeFS reads.
const MAX_PART: i64 = 640 << 16;

/// Appends the value made of an identity and data.
pub fn encode_value(identity: &[u8], data: &[u8], out: &mut Vec<u8>) {
    for part in [identity, data] {
        varint::put_signed(out, part.len() as i64);
        out.extend_from_slice(part);
    }
}

/// Returns the identity and the data of a value, or None when it is malformed.
pub fn decode_value(raw: &[u8]) -> Option<(&[u8], &[u8])> {
    let mut position = 0;
    let identity = take_part(raw, &mut position)?;
    let data = take_part(raw, &mut position)?;
    Some((identity, data))
}

fn take_part<'a>(raw: &'a [u8], position: &mut usize) -> Option<&'a [u8]> {
    let length = varint::take_signed(raw, position)?;
    if !(0..=MAX_PART).contains(&length) {
        return None;
    }
    let start = *position;
    let end = start.checked_add(usize::try_from(length).ok()?)?;
    *position = end;
    raw.get(start..end)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn comes_back(identity: Vec<u8>, data: Vec<u8>, tail: Vec<u8>) {
            let mut raw = Vec::new();
            encode_value(&identity, &data, &mut raw);
            raw.extend_from_slice(&tail);
            prop_assert_eq!(decode_value(&raw), Some((&identity[..], &data[..])));
        }

        #[test]
        fn any_bytes_are_read_without_panic(raw: Vec<u8>) {
            let _ = decode_value(&raw);
        }
    }

    #[test]
    fn malformed_is_none() {
        assert_eq!(decode_value(b""), None);
        assert_eq!(decode_value(b"\x02"), None, "identity cut off");
        assert_eq!(decode_value(b"\x00"), None, "no data");
        assert_eq!(decode_value(b"\x01\x00"), None, "a negative length");
        assert_eq!(
            decode_value(b"\x00\xfe\xff\xff\xff\xff\xff\xff\xff\xff\x01"),
            None
        );
        assert_eq!(decode_value(b"\x00\x00"), Some((&b""[..], &b""[..])));
    }
}
