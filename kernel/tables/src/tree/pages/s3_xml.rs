//! A page of objects as the XML elements of S3's listings.
//!
//! An object is one element with its key, time, ETag and size. Listings differ in the element's
//! name and in what else stands in it, which is the same for all objects of a page and comes
//! written already. A common prefix is the same element in all of them.

use super::listing::{Item, Listing};
use crate::codec::EntryView;
use crate::error::Result;
use crate::text::{put_escaped, put_instant, put_percent_encoded, put_signed};

/// How a page is shown.
#[derive(Clone, Copy, Debug)]
pub struct Elements<'a> {
    /// What stands before each key of the page: a reference and a slash.
    pub root: &'a [u8],
    /// The element of an object: `Contents`.
    pub name: &'a str,
    /// Elements that stand behind the key, and at the end, of each object.
    pub after_key: &'a str,
    /// Elements at the end of each object.
    pub at_end: &'a str,
    /// Whether keys are percent-encoded, and not escaped.
    pub encoded: bool,
}

/// Puts the page's elements into `out`, replacing its content. Fails with
/// [`crate::Error::Invalid`] for a value that is no entry.
pub fn elements(page: &Listing, shown: Elements<'_>, out: &mut Vec<u8>) -> Result<()> {
    out.clear();
    let frame = Frame::of(shown);
    page.items().try_for_each(|item| frame.put(out, item))
}

/// What is the same in all elements of a page.
struct Frame {
    put_key: fn(&mut Vec<u8>, &[u8]),
    before_prefix: Vec<u8>,
    before_key: Vec<u8>,
    before_time: Vec<u8>,
    end: Vec<u8>,
}

impl Frame {
    fn of(shown: Elements<'_>) -> Frame {
        let put_key = match shown.encoded {
            true => put_percent_encoded,
            false => put_escaped,
        };
        let mut root = Vec::new();
        put_key(&mut root, shown.root);
        let name = shown.name.as_bytes();
        let after_key = shown.after_key.as_bytes();
        Frame {
            put_key,
            before_prefix: [b"<CommonPrefixes><Prefix>", &root[..]].concat(),
            before_key: [b"<", name, b"><Key>", &root].concat(),
            before_time: [b"</Key>", after_key, b"<LastModified>"].concat(),
            end: [b"</Size>", shown.at_end.as_bytes(), b"</", name, b">"].concat(),
        }
    }

    fn put(&self, out: &mut Vec<u8>, item: Item<'_>) -> Result<()> {
        let Some((_, data)) = item.value else {
            out.extend_from_slice(&self.before_prefix);
            (self.put_key)(out, item.key);
            out.extend_from_slice(b"</Prefix></CommonPrefixes>");
            return Ok(());
        };
        let entry = EntryView::decode(data)?;
        out.extend_from_slice(&self.before_key);
        (self.put_key)(out, item.key);
        out.extend_from_slice(&self.before_time);
        put_instant(out, entry.mtime);
        out.extend_from_slice(b"</LastModified><ETag>");
        put_etag(out, entry.checksum);
        out.extend_from_slice(b"</ETag><Size>");
        put_signed(out, entry.size);
        out.extend_from_slice(&self.end);
        Ok(())
    }
}

/// Appends a checksum in quotes, unless it has them already, as the ETag header shows it: a
/// question mark in place of what no header can hold.
fn put_etag(out: &mut Vec<u8>, checksum: &[u8]) {
    const QUOTE: &[u8] = b"&quot;";
    if is_alphanumeric(checksum) {
        out.extend_from_slice(QUOTE);
        out.extend_from_slice(checksum);
        out.extend_from_slice(QUOTE);
        return;
    }
    let text = String::from_utf8_lossy(checksum);
    let shown: String = text
        .chars()
        .map(|c| if (' '..='~').contains(&c) { c } else { '?' })
        .collect();
    let quote = if shown.starts_with('"') { &[] } else { QUOTE };
    out.extend_from_slice(quote);
    put_escaped(out, shown.as_bytes());
    out.extend_from_slice(quote);
}

fn is_alphanumeric(text: &[u8]) -> bool {
    text.iter()
        .fold(true, |all, byte| all & byte.is_ascii_alphanumeric())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn etags() {
        for (checksum, expected) in [
            (&b"09af"[..], "&quot;09af&quot;"),
            (b"", "&quot;&quot;"),
            (b"09af-2", "&quot;09af-2&quot;"),
            (b"\"09af\"", "&quot;09af&quot;"),
            (b"a<b\n\xc3\xa4", "&quot;a&lt;b??&quot;"),
        ] {
            let mut out = Vec::new();
            put_etag(&mut out, checksum);
            assert_eq!(String::from_utf8(out).unwrap(), expected);
        }
    }
}
