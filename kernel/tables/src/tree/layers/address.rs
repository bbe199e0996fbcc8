//! Rewrites entries with full addresses, so that any repository can read their objects.

use crate::codec::EntryView;
use crate::error::Result;

/// Relative or full, which its form decides.
const BY_PREFIX: i32 = 0;
const FULL: i32 = 2;

/// Appends an entry's data with a full address: a relative one is resolved in `namespace`. Returns
/// the object's size; `full` is a scratch buffer. Fails with [`crate::Error::Invalid`] for bytes
/// that are not an entry.
pub fn put_full(
    out: &mut Vec<u8>,
    data: &[u8],
    namespace: &[u8],
    full: &mut Vec<u8>,
) -> Result<i64> {
    let mut entry = EntryView::decode(data)?;
    if entry.address_type == FULL {
        out.extend_from_slice(data);
        return Ok(entry.size);
    }
    let is_full =
        entry.address_type == BY_PREFIX && entry.address.windows(3).any(|part| part == b"://");
    if !is_full {
        full.clear();
        let end = namespace.iter().rposition(|&byte| byte != b'/');
        full.extend_from_slice(&namespace[..end.map_or(0, |last| last + 1)]);
        full.push(b'/');
        full.extend_from_slice(entry.address);
        entry.address = full;
    }
    entry.address_type = FULL;
    entry.encode(out);
    Ok(entry.size)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::codec::Entry;

    fn moved(address: &str, address_type: i32) -> (String, i32) {
        let entry = Entry {
            address: address.into(),
            address_type,
            size: 7,
            metadata: vec![("k".into(), "v".into())],
            ..Entry::default()
        };
        let mut out = Vec::new();
        assert_eq!(
            put_full(&mut out, &entry.encode(), b"s3://b/n//", &mut Vec::new()).unwrap(),
            7
        );
        let moved = Entry::decode(&out).unwrap();
        assert_eq!(moved.identity(), entry.identity());
        (moved.address, moved.address_type)
    }

    #[test]
    fn addresses() {
        assert_eq!(moved("data/a", 1), ("s3://b/n/data/a".into(), FULL));
        assert_eq!(moved("data/a", 0), ("s3://b/n/data/a".into(), FULL));
        assert_eq!(moved("s3://c/a", 0), ("s3://c/a".into(), FULL));
        assert_eq!(moved("s3://c/a", 2), ("s3://c/a".into(), FULL));
        assert_eq!(moved("s3://c/a", 1), ("s3://b/n/s3://c/a".into(), FULL));
        assert!(put_full(&mut Vec::new(), b"\x00", b"", &mut Vec::new()).is_err());
    }
}
