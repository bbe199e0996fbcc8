//! The addresses in a part of a tree, one for each folder. A rule about addresses that depends only
//! on the folder, if the name is ordinary, can then be evaluated once per folder.

use std::collections::HashSet;

use super::{ListRange, Tree};
use crate::codec::{EntryView, decode_value};
use crate::error::Result;

/// The maximum sizes of names and addresses that every store supports.
const MAX_NAME_BYTES: usize = 200;
const MAX_ADDRESS_BYTES: usize = 1_000;

/// An address, and the first key that has one in its folder.
#[derive(Debug, PartialEq, Eq)]
pub struct Found {
    /// The key of the entry.
    pub key: Vec<u8>,
    /// The address, as the entry has it.
    pub address: Vec<u8>,
    /// Whether the address is full or relative, as in entries.
    pub address_type: i32,
}

/// Some addresses, and the key after which there may be more.
#[derive(Debug, Default, PartialEq, Eq)]
pub struct Page {
    /// The addresses, in the order of their keys.
    pub found: Vec<Found>,
    /// The key after which there may be more, None at the end.
    pub next: Option<Vec<u8>>,
}

/// Returns addresses of the entries with keys after `after` and up to `last`: of each folder and
/// type the first one with an ordinary name, and all with other names; at most `amount` of them.
pub fn page(tree: &Tree, after: &[u8], last: &[u8], amount: usize) -> Result<Page> {
    let range = ListRange {
        after: after.to_vec(),
        ..ListRange::default()
    };
    let mut page = Page::default();
    let Some(start) = range.start() else {
        return Ok(page);
    };
    let mut cursor = tree.cursor();
    cursor.seek(&start)?;
    let mut folders: HashSet<(i32, Vec<u8>)> = HashSet::new();
    // neighbouring entries mostly share a folder
    let mut before: Option<(i32, Vec<u8>)> = None;
    while let Some((key, value)) = cursor.record()? {
        if key > last {
            break;
        }
        let entry = decode_value(value).map(|(_, data)| EntryView::decode(data));
        let Some(Ok(entry)) = entry else {
            return Err(cursor.corrupt("an entry is malformed"));
        };
        let folder = ordinary_folder(entry.address);
        let is_known = folder.is_some_and(|folder| {
            let same = |known: &(i32, Vec<u8>)| known.0 == entry.address_type && known.1 == folder;
            if before.as_ref().is_some_and(same) {
                return true;
            }
            let place = (entry.address_type, folder.to_vec());
            before = Some(place.clone());
            !folders.insert(place)
        });
        if !is_known {
            if page.found.len() == amount {
                page.next = page.found.last().map(|found| found.key.clone());
                break;
            }
            page.found.push(Found {
                key: key.to_vec(),
                address: entry.address.to_vec(),
                address_type: entry.address_type,
            });
        }
        cursor.next()?;
    }
    Ok(page)
}

/// Returns the folder of an address if every store preserves the name in it exactly.
fn ordinary_folder(address: &[u8]) -> Option<&[u8]> {
    let slash = address.iter().rposition(|&byte| byte == b'/')?;
    let name = &address[slash + 1..];
    let fits = (1..=MAX_NAME_BYTES).contains(&name.len()) && address.len() <= MAX_ADDRESS_BYTES;
    let is_odd = |byte: &u8| *byte < 0x20 || *byte == 0x7f || *byte == b'\\';
    let is_plain = !name.starts_with(b".") && !name.ends_with(b".") && !name.iter().any(is_odd);
    let is_text = name.is_ascii() || std::str::from_utf8(name).is_ok();
    (fits && is_plain && is_text).then(|| &address[..slash])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_that_are_ordinary_have_a_folder() {
        for (address, folder) in [
            ("s3://bucket/a/b", Some("s3://bucket/a")),
            ("a/b c=1.txt", Some("a")),
            ("a/\u{e9}", Some("a")),
            ("a", None),
            ("a/", None),
            ("a/.b", None),
            ("a/..", None),
            ("a/b.", None),
            ("a/b\\c", None),
            ("a/b\nc", None),
        ] {
            let found = ordinary_folder(address.as_bytes());
            assert_eq!(found, folder.map(str::as_bytes), "{address}");
        }
        assert_eq!(ordinary_folder(b"a/\xff"), None);
        assert_eq!(
            ordinary_folder(format!("a/{}", "b".repeat(201)).as_bytes()),
            None
        );
        assert_eq!(
            ordinary_folder(format!("{}/b", "a".repeat(999)).as_bytes()),
            None
        );
    }
}
