//! Percent-encoding as signatures want it: every byte but RFC 3986's unreserved characters, in
//! capitals. Received paths are decoded and encoded again, never normalised: `//`, `.` and `..` are
//! parts of keys.

/// Appends a path; its slashes stay.
pub fn put_path(out: &mut Vec<u8>, sent: &[u8]) {
    put(out, sent, |byte| byte == b'/' || is_unreserved(byte), false);
}

/// Appends a name or a value of a query, in which `+` is a space.
pub fn put_parameter(out: &mut Vec<u8>, sent: &[u8]) {
    put(out, sent, is_unreserved, true);
}

fn put(out: &mut Vec<u8>, sent: &[u8], stays: impl Fn(u8) -> bool, plus_is_space: bool) {
    const HEX: &[u8; 16] = b"0123456789ABCDEF";
    let mut rest = sent;
    while let [first, behind @ ..] = rest {
        let (byte, behind) = match (*first, behind) {
            (b'+', _) if plus_is_space => (b' ', behind),
            (b'%', [high, low, behind @ ..]) => match (digit(*high), digit(*low)) {
                (Some(high), Some(low)) => (high << 4 | low, behind),
                _ => (b'%', &rest[1..]),
            },
            (byte, _) => (byte, behind),
        };
        if stays(byte) {
            out.push(byte);
        } else {
            let [high, low] = [byte >> 4, byte & 15].map(|half| HEX[usize::from(half)]);
            out.extend_from_slice(&[b'%', high, low]);
        }
        rest = behind;
    }
}

fn is_unreserved(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'.' | b'_' | b'~')
}

/// Returns a digest as hexadecimal digits of small letters.
pub fn hex(digest: &[u8; 32]) -> String {
    let digits = digest.iter().flat_map(|byte| [byte >> 4, byte & 15]);
    digits
        .filter_map(|digit| char::from_digit(digit.into(), 16))
        .collect()
}

/// Returns the value of a hexadecimal digit.
pub fn digit(byte: u8) -> Option<u8> {
    char::from(byte).to_digit(16).map(|value| value as u8)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn path(sent: &str) -> String {
        let mut out = Vec::new();
        put_path(&mut out, sent.as_bytes());
        String::from_utf8(out).unwrap()
    }

    fn parameter(sent: &str) -> String {
        let mut out = Vec::new();
        put_parameter(&mut out, sent.as_bytes());
        String::from_utf8(out).unwrap()
    }

    #[test]
    fn what_is_encoded_in_another_way_is_encoded_anew() {
        assert_eq!(path("/%2e%2E%2d%5F%30%41%7a%2f%2F"), "/..-_0Az//");
        assert_eq!(path("/a+b c=d:é"), "/a%2Bb%20c%3Dd%3A%C3%A9");
        assert_eq!(parameter("a+b%2B/%2f"), "a%20b%2B%2F%2F");
    }

    #[test]
    fn a_percent_sign_without_two_digits_is_one() {
        assert_eq!(path("%"), "%25");
        assert_eq!(path("%4"), "%254");
        assert_eq!(path("%zz%%41"), "%25zz%25A");
    }
}
