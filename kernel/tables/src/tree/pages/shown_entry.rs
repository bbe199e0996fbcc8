//! An entry as clients see it: its address in full, its content type never empty.

use crate::codec::EntryView;

const DEFAULT_CONTENT_TYPE: &[u8] = b"application/octet-stream";

/// The address types of an entry: its address stands behind the storage namespace, or is whole.
/// In old entries, of neither type, the address itself must tell.
const RELATIVE: i32 = 1;
const FULL: i32 = 2;

/// The scheme of addresses in a local folder.
const LOCAL: &[u8] = b"local://";

/// What addresses are completed with.
#[derive(Clone, Copy, Debug)]
pub struct Roots<'a> {
    /// Relative addresses are put behind it and a slash.
    pub storage_namespace: &'a str,
    /// Where the blocks of a local folder are, as `local:///srv/blocks/`: stands in place of the
    /// scheme of full addresses that do not name it. Empty for other stores.
    pub local_root: &'a str,
}

impl<'a> Roots<'a> {
    /// Returns the pieces of an entry's full address.
    pub fn address(&self, entry: &EntryView<'a>) -> [&'a [u8]; 3] {
        if is_relative(entry) {
            return [self.storage_namespace.as_bytes(), b"/", entry.address];
        }
        match entry.address.strip_prefix(LOCAL) {
            Some(key) if !self.local_root.is_empty() && !key.starts_with(b"/") => {
                [self.local_root.as_bytes(), b"", key]
            }
            _ => [b"", b"", entry.address],
        }
    }
}

/// Returns the content type of an entry.
pub fn content_type<'a>(entry: &EntryView<'a>) -> &'a [u8] {
    match entry.content_type {
        b"" => DEFAULT_CONTENT_TYPE,
        given => given,
    }
}

fn is_relative(entry: &EntryView<'_>) -> bool {
    match entry.address_type {
        RELATIVE => true,
        FULL => false,
        _ => !has_scheme(entry.address),
    }
}

/// Returns whether an address begins as a URI does: a letter, letters, digits and `+-.`, `://`.
fn has_scheme(address: &[u8]) -> bool {
    let Some(end) = address.windows(3).position(|part| part == b"://") else {
        return false;
    };
    let scheme = &address[..end];
    scheme.first().is_some_and(u8::is_ascii_alphabetic)
        && scheme
            .iter()
            .all(|b| b.is_ascii_alphanumeric() || b"+-.".contains(b))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn schemes() {
        for whole in ["s3://b/k", "local:///x", "a+b-c.1://"] {
            assert!(has_scheme(whole.as_bytes()), "{whole}");
        }
        for relative in ["", "data/x", "://x", "1s://x", "a/b://x", "s3:/x"] {
            assert!(!has_scheme(relative.as_bytes()), "{relative}");
        }
    }
}
