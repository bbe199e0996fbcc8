//! A page of objects as the JSON that lakeFS answers: an array of `ObjectStats`.
//!
//! Keys are in alphabetical order, as Go's encoder of maps and the model's generator write them,
//! so that a page is the same bytes every time. Whatever the bytes of an entry are, the JSON is
//! valid: bytes that are not UTF-8 become replacement characters.

use super::listing::{Item, Listing};
use super::shown_entry::{Roots, content_type};
use crate::codec::{EntryView, is_system_key};
use crate::error::Result;
use crate::text::put_signed;

/// How a page is shown.
#[derive(Clone, Copy, Debug)]
pub struct Shown<'a> {
    /// How addresses are made full.
    pub roots: Roots<'a>,
    /// Whether objects have the key `metadata`.
    pub user_metadata: bool,
}

/// Puts the page as a JSON array into `out`, replacing its content. Fails with
/// [`crate::Error::Invalid`] for a value that is no entry.
pub fn object_stats(page: &Listing, shown: Shown<'_>, out: &mut Vec<u8>) -> Result<()> {
    out.clear();
    out.push(b'[');
    for (number, item) in page.items().enumerate() {
        if number > 0 {
            out.push(b',');
        }
        put_item(out, item, shown)?;
    }
    out.push(b']');
    Ok(())
}

fn put_item(out: &mut Vec<u8>, item: Item<'_>, shown: Shown<'_>) -> Result<()> {
    let Some((_, data)) = item.value else {
        out.extend_from_slice(b"{\"checksum\":\"\",\"mtime\":0,\"path\":");
        put_string(out, &[item.key]);
        out.extend_from_slice(
            b",\"path_type\":\"common_prefix\",\"physical_address\":\"\",\"size_bytes\":0}",
        );
        return Ok(());
    };
    let entry = EntryView::decode(data)?;
    out.extend_from_slice(b"{\"checksum\":");
    put_string(out, &[entry.checksum]);
    out.extend_from_slice(b",\"content_type\":");
    put_string(out, &[content_type(&entry)]);
    if shown.user_metadata {
        put_metadata(out, &entry.metadata);
    }
    out.extend_from_slice(b",\"mtime\":");
    put_signed(out, entry.mtime);
    out.extend_from_slice(b",\"path\":");
    put_string(out, &[item.key]);
    out.extend_from_slice(b",\"path_type\":\"object\",\"physical_address\":");
    put_string(out, &shown.roots.address(&entry));
    out.extend_from_slice(b",\"size_bytes\":");
    put_signed(out, entry.size);
    out.push(b'}');
    Ok(())
}

/// Appends the user's metadata; nothing where there is only the server's own, or none.
fn put_metadata(out: &mut Vec<u8>, pairs: &[(&[u8], &[u8])]) {
    let mut opening: &[u8] = b",\"metadata\":{";
    for (key, value) in pairs.iter().filter(|pair| !is_system_key(pair.0)) {
        out.extend_from_slice(opening);
        put_string(out, &[key]);
        out.push(b':');
        put_string(out, &[value]);
        opening = b",";
    }
    if opening == b"," {
        out.push(b'}');
    }
}

/// Appends one JSON string made of some parts.
fn put_string(out: &mut Vec<u8>, parts: &[&[u8]]) {
    out.push(b'"');
    for part in parts {
        // A loop without branches over all bytes is vectorized.
        if part
            .iter()
            .fold(true, |plain, &byte| plain & is_plain(byte))
        {
            out.extend_from_slice(part);
        } else {
            put_escaped(out, part);
        }
    }
    out.push(b'"');
}

fn is_plain(byte: u8) -> bool {
    (b' '..0x80).contains(&byte) & (byte != b'"') & (byte != b'\\')
}

fn put_escaped(out: &mut Vec<u8>, text: &[u8]) {
    const HEX: &[u8; 16] = b"0123456789abcdef";
    for &byte in String::from_utf8_lossy(text).as_bytes() {
        match byte {
            b'"' | b'\\' => out.extend_from_slice(&[b'\\', byte]),
            b'\n' => out.extend_from_slice(b"\\n"),
            b'\r' => out.extend_from_slice(b"\\r"),
            b'\t' => out.extend_from_slice(b"\\t"),
            0..b' ' => {
                let [high, low] = [byte >> 4, byte & 15].map(|half| HEX[usize::from(half)]);
                out.extend_from_slice(&[b'\\', b'u', b'0', b'0', high, low]);
            }
            _ => out.push(byte),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn string(text: &[u8]) -> String {
        let mut out = Vec::new();
        put_string(&mut out, &[text]);
        String::from_utf8(out).unwrap()
    }

    #[test]
    fn strings() {
        assert_eq!(string(b"plain/~"), r#""plain/~""#);
        assert_eq!(
            string(b"\"\\\n\r\t\x00\x1f\x7f"),
            "\"\\\"\\\\\\n\\r\\t\\u0000\\u001f\x7f\""
        );
        assert_eq!(string("ä€😀".as_bytes()), "\"ä€😀\"");
        assert_eq!(string(b"a\xffb\xc3"), "\"a\u{fffd}b\u{fffd}\"");
    }
}
