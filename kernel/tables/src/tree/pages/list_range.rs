//! The part of a tree that a listing contains, and its grouping into common prefixes.

/// The keys that begin with `prefix` and are greater than `after`. With a delimiter, keys that
/// contain it after the prefix are grouped into one common prefix, which ends with it.
#[derive(Clone, Debug, Default)]
pub struct ListRange {
    /// What the keys begin with.
    pub prefix: Vec<u8>,
    /// The key or common prefix after which the listing begins.
    pub after: Vec<u8>,
    /// Empty without grouping.
    pub delimiter: Vec<u8>,
}

impl ListRange {
    /// Returns the least key that a page may contain, None if it contains none. An `after` that is a
    /// common prefix also excludes its members.
    pub fn start(&self) -> Option<Vec<u8>> {
        if self.after < self.prefix {
            return Some(self.prefix.clone());
        }
        if self.common_prefix(&self.after) == Some(&self.after) {
            return upper_bound(&self.after);
        }
        // only longer keys are greater than the empty key
        if self.after.is_empty() {
            return Some(Vec::new());
        }
        Some(successor(&self.after))
    }

    /// Returns whether a key has the prefix.
    pub fn holds(&self, key: &[u8]) -> bool {
        key.starts_with(&self.prefix)
    }

    /// Returns the common prefix that groups a key of the range, None if the key is not grouped.
    pub fn common_prefix<'k>(&self, key: &'k [u8]) -> Option<&'k [u8]> {
        if self.delimiter.is_empty() {
            return None;
        }
        let rest = key.strip_prefix(self.prefix.as_slice())?;
        let position = find(rest, &self.delimiter)?;
        Some(&key[..self.prefix.len() + position + self.delimiter.len()])
    }
}

fn find(text: &[u8], wanted: &[u8]) -> Option<usize> {
    match wanted {
        [byte] => text.iter().position(|b| b == byte),
        _ => text.windows(wanted.len()).position(|part| part == wanted),
    }
}

/// Returns the least key that is greater than `key`.
pub fn successor(key: &[u8]) -> Vec<u8> {
    [key, &[0]].concat()
}

/// Returns the least key that is greater than all that begin with `prefix`, None when there is
/// no such key.
pub fn upper_bound(prefix: &[u8]) -> Option<Vec<u8>> {
    let last = prefix.iter().rposition(|&byte| byte != 0xff)?;
    let mut bound = prefix[..=last].to_vec();
    bound[last] += 1;
    Some(bound)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn range(prefix: &[u8], after: &[u8], delimiter: &[u8]) -> ListRange {
        ListRange {
            prefix: prefix.to_vec(),
            after: after.to_vec(),
            delimiter: delimiter.to_vec(),
        }
    }

    #[test]
    fn starts() {
        let start = |prefix: &str, after: &str, delimiter: &str| {
            let range = range(prefix.as_bytes(), after.as_bytes(), delimiter.as_bytes());
            range.start().map(|key| String::from_utf8(key).unwrap())
        };
        assert_eq!(start("", "", "").as_deref(), Some(""));
        assert_eq!(start("b", "a", "").as_deref(), Some("b"));
        assert_eq!(start("a", "a", "").as_deref(), Some("a\0"));
        assert_eq!(start("a/", "a/b/", "/").as_deref(), Some("a/b0"));
        assert_eq!(start("a/", "a/", "/").as_deref(), Some("a/\0"));
        assert_eq!(start("", "a/b/", "/").as_deref(), Some("a/b/\0"));
        assert_eq!(start("", "a--", "--").as_deref(), Some("a-."));
        assert_eq!(range(b"", b"\xff", b"\xff").start(), None);
    }

    #[test]
    fn common_prefixes() {
        let slash = range(b"a/", b"", b"/");
        assert_eq!(slash.common_prefix(b"a/b/c/d"), Some(&b"a/b/"[..]));
        assert_eq!(slash.common_prefix(b"a/b"), None);
        assert_eq!(slash.common_prefix(b"a//b"), Some(&b"a//"[..]));
        assert_eq!(slash.common_prefix(b"x/y/z"), None);
        assert_eq!(range(b"", b"", b"").common_prefix(b"a/b"), None);
    }

    proptest! {
        #[test]
        fn an_upper_bound_parts_what_begins_with_the_prefix(prefix: Vec<u8>, tail: Vec<u8>, other: Vec<u8>) {
            let bound = upper_bound(&prefix);
            let below = |key: &Vec<u8>| bound.as_ref().is_none_or(|bound| key < bound);
            prop_assert!(below(&[prefix.clone(), tail].concat()));
            if other >= prefix && below(&other) {
                prop_assert!(other.starts_with(&prefix));
            }
        }
    }
}
