//! The canonical form of a request: what a signature of version 4 signs the digest of.
//!
//! ```text
//! method, path, query sorted by name and value, signed headers, their names, the body's digest
//! ```
//!
//! [AWS, "Signature Version 4 signing process for Amazon S3"]

use std::borrow::Cow;

use super::encoding::{put_parameter, put_path};

/// The parameter that is the signature itself, which is not signed.
const SIGNATURE: &[u8] = b"X-Amz-Signature=";

/// A request but for its headers, as it was sent; the query has no `?`.
#[derive(Clone, Copy)]
pub struct Head<'a> {
    /// The method.
    pub method: &'a [u8],
    /// The path, as it was sent.
    pub path: &'a [u8],
    /// What follows the question mark.
    pub query: &'a [u8],
    /// The names of the headers that are signed, as `name;name`.
    pub signed_headers: &'a [u8],
    /// The digest of the body, or the word in its place.
    pub payload: &'a [u8],
}

/// Returns the canonical form of a request. `put_header` appends the trimmed value of the header
/// with a name, nothing where there is no such header.
///
/// With `as_sent` the path, the query and the headers' spaces are taken as they were sent, which
/// is what some clients sign.
pub fn canonical_request<E>(
    head: Head<'_>,
    as_sent: bool,
    mut put_header: impl FnMut(&mut Vec<u8>, &[u8]) -> Result<(), E>,
) -> Result<Vec<u8>, E> {
    let mut out = Vec::with_capacity(512 + head.path.len() + 2 * head.query.len());
    out.extend_from_slice(head.method);
    out.push(b'\n');
    match head.path {
        b"" => out.push(b'/'),
        path if as_sent => out.extend_from_slice(path),
        path => put_path(&mut out, path),
    }
    out.push(b'\n');
    put_query(&mut out, head.query, as_sent);
    out.push(b'\n');
    for name in head.signed_headers.split(|&byte| byte == b';') {
        out.extend_from_slice(name);
        out.push(b':');
        let start = out.len();
        put_header(&mut out, name)?;
        if !as_sent {
            fold_spaces(&mut out, start);
        }
        out.push(b'\n');
    }
    out.push(b'\n');
    out.extend_from_slice(head.signed_headers);
    out.push(b'\n');
    out.extend_from_slice(head.payload);
    Ok(out)
}

/// Returns a header's value without the space around it.
pub fn trimmed(value: &[u8]) -> &[u8] {
    let is_text = |byte: &u8| !is_space(*byte);
    match value.iter().position(is_text) {
        None => b"",
        Some(start) => {
            let end = value.iter().rposition(is_text).map_or(start, |at| at + 1);
            &value[start..end]
        }
    }
}

fn put_query(out: &mut Vec<u8>, query: &[u8], as_sent: bool) {
    let parts = query.split(|&byte| byte == b'&');
    let mut pairs: Vec<_> = parts
        .filter(|part| !part.is_empty() && !part.starts_with(SIGNATURE))
        .map(|part| {
            let equals = part.iter().position(|&byte| byte == b'=');
            let (name, value) = part.split_at(equals.unwrap_or(part.len()));
            let value = value.strip_prefix(b"=").unwrap_or(value);
            [name, value].map(|text| canonical_text(text, as_sent))
        })
        .collect();
    pairs.sort_unstable();
    for (number, [name, value]) in pairs.iter().enumerate() {
        if number > 0 {
            out.push(b'&');
        }
        out.extend_from_slice(name);
        out.push(b'=');
        out.extend_from_slice(value);
    }
}

fn canonical_text(text: &[u8], as_sent: bool) -> Cow<'_, [u8]> {
    if as_sent {
        return Cow::Borrowed(text);
    }
    let mut encoded = Vec::with_capacity(text.len() + 8);
    put_parameter(&mut encoded, text);
    Cow::Owned(encoded)
}

/// Makes one space of several from `start` on, and of what else counts as space where some do.
fn fold_spaces(out: &mut Vec<u8>, start: usize) {
    let value = &out[start..];
    if !value.contains(&b'\t') && !value.windows(2).any(|pair| pair == b"  ") {
        return;
    }
    let (mut end, mut in_space) = (start, false);
    for at in start..out.len() {
        let byte = out[at];
        let space = is_space(byte);
        if !(space && in_space) {
            out[end] = if space { b' ' } else { byte };
            end += 1;
        }
        in_space = space;
    }
    out.truncate(end);
}

fn is_space(byte: u8) -> bool {
    matches!(byte, b' ' | b'\t' | b'\r' | b'\n' | 0x0b | 0x0c)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn canonical(query: &str, value: &str, as_sent: bool) -> String {
        let head = Head {
            method: b"GET",
            path: b"",
            query: query.as_bytes(),
            signed_headers: b"host;missing",
            payload: b"digest",
        };
        let form = canonical_request(head, as_sent, |out, name| {
            if name == b"host" {
                out.extend_from_slice(value.as_bytes());
            }
            Ok::<(), ()>(())
        });
        String::from_utf8(form.unwrap()).unwrap()
    }

    #[test]
    fn a_request() {
        assert_eq!(
            canonical("b=2&a=1&&X-Amz-Signature=x&a", "h  h", false),
            "GET\n/\na=&a=1&b=2\nhost:h h\nmissing:\n\nhost;missing\ndigest"
        );
        assert_eq!(
            canonical("b=%2f&X-Amz-Signature=x&a=+", "h  h", true),
            "GET\n/\na=+&b=%2f\nhost:h  h\nmissing:\n\nhost;missing\ndigest"
        );
    }

    #[test]
    fn spaces() {
        assert_eq!(trimmed(b" \t a b\x0b\r\n"), b"a b");
        assert_eq!(trimmed(b" \n "), b"");
        let mut out = b"  a\t\r\nb  c d".to_vec();
        fold_spaces(&mut out, 2);
        assert_eq!(out, b"  a b c d");
    }
}
