//! The head of a response.

/// Appends a header line with the name in lower case. Returns false if the name or the value
/// contains a line end, which would make it more than one line.
pub fn put_header(out: &mut Vec<u8>, name: &[u8], value: &[u8]) -> bool {
    let start = out.len();
    out.extend_from_slice(name);
    out[start..].make_ascii_lowercase();
    out.extend_from_slice(b": ");
    out.extend_from_slice(value);
    let ends_later = out[start..]
        .iter()
        .any(|byte| matches!(byte, b'\r' | b'\n'));
    out.extend_from_slice(b"\r\n");
    !ends_later
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_header_is_one_line() {
        let mut out = b"HTTP/1.1 200 OK\r\n".to_vec();
        assert!(put_header(&mut out, b"ETag", b"\"A\""));
        assert_eq!(out, b"HTTP/1.1 200 OK\r\netag: \"A\"\r\n");
        for value in ["a\r\nb: c", "a\nb", "a\rb"] {
            assert!(!put_header(&mut out, b"etag", value.as_bytes()));
        }
        assert!(!put_header(&mut out, b"e\ntag", b"a"));
    }
}
