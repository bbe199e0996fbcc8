//! Variable-length integers: seven bits a byte, low bits first, as protobuf and LevelDB have them.

/// The most bytes a 64-bit varint takes.
pub const MAX_LEN: usize = 10;

/// Appends an unsigned varint.
pub fn put(out: &mut Vec<u8>, mut value: u64) {
    while value >= 0x80 {
        out.push(value as u8 | 0x80);
        value >>= 7;
    }
    out.push(value as u8);
}

/// Returns how many bytes [`put`] appends for a value.
pub fn len(value: u64) -> usize {
    (64 - (value | 1).leading_zeros() as usize).div_ceil(7)
}

/// Reads an unsigned varint at `*position` and moves the position behind it. Returns None, with
/// the position undefined, when the bytes end early or the number has more than 64 bits.
#[inline]
pub fn take(bytes: &[u8], position: &mut usize) -> Option<u64> {
    let first = *bytes.get(*position)?;
    *position += 1;
    if first < 0x80 {
        return Some(u64::from(first));
    }
    let mut value = u64::from(first & 0x7f);
    let mut shift = 7;
    loop {
        let byte = *bytes.get(*position)?;
        *position += 1;
        if shift == 63 && byte > 1 {
            return None;
        }
        value |= u64::from(byte & 0x7f) << shift;
        if byte < 0x80 {
            return Some(value);
        }
        shift += 7;
    }
}

/// Appends a signed number in zig-zag form, as Go's `binary.PutVarint` does.
pub fn put_signed(out: &mut Vec<u8>, value: i64) {
    put(out, ((value << 1) ^ (value >> 63)) as u64);
}

/// Reads a signed number in zig-zag form; see [`take`].
pub fn take_signed(bytes: &[u8], position: &mut usize) -> Option<i64> {
    let raw = take(bytes, position)?;
    Some((raw >> 1) as i64 ^ -((raw & 1) as i64))
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn unsigned_comes_back(value: u64, tail: Vec<u8>) {
            let mut bytes = Vec::new();
            put(&mut bytes, value);
            prop_assert_eq!(bytes.len(), len(value));
            bytes.extend_from_slice(&tail);
            let mut position = 0;
            prop_assert_eq!(take(&bytes, &mut position), Some(value));
            prop_assert_eq!(position, len(value));
        }

        #[test]
        fn signed_comes_back(value: i64) {
            let mut bytes = Vec::new();
            put_signed(&mut bytes, value);
            prop_assert_eq!(take_signed(&bytes, &mut 0), Some(value));
        }

        #[test]
        fn any_bytes_are_read_without_panic(bytes: Vec<u8>) {
            let mut position = 0;
            if take(&bytes, &mut position).is_some() {
                prop_assert!(position <= bytes.len().min(MAX_LEN));
            }
        }
    }

    #[test]
    fn too_long_is_refused() {
        let mut bytes = vec![0xff; 9];
        bytes.push(0x02);
        assert_eq!(take(&bytes, &mut 0), None);
        assert_eq!(take(&[0x80; 11], &mut 0), None);
        assert_eq!(take(&[0x80], &mut 0), None);
        assert_eq!(take(&[], &mut 0), None);
    }

    #[test]
    fn zig_zag_of_32_is_0x40() {
        let mut bytes = Vec::new();
        put_signed(&mut bytes, 32);
        assert_eq!(bytes, [0x40]);
    }
}
