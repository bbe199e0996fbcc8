//! Keys percent-encoded, as S3's `encoding-type=url` wants them: all but RFC 3986's unreserved
//! characters and slashes.

/// Appends bytes, encoded.
pub fn put_percent_encoded(out: &mut Vec<u8>, bytes: &[u8]) {
    const HEX: &[u8; 16] = b"0123456789ABCDEF";
    for &byte in bytes {
        if byte.is_ascii_alphanumeric() || b"-._~/".contains(&byte) {
            out.push(byte);
        } else {
            let [high, low] = [byte >> 4, byte & 15].map(|half| HEX[usize::from(half)]);
            out.extend_from_slice(&[b'%', high, low]);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn keys() {
        let mut out = Vec::new();
        put_percent_encoded(&mut out, b"aZ09-._~/ +%&\x00\xff");
        put_percent_encoded(&mut out, "ä".as_bytes());
        assert_eq!(out, b"aZ09-._~/%20%2B%25%26%00%FF%C3%A4");
    }
}
