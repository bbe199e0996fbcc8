//! What part of a tree a page shows, and what it rolls up into common prefixes.

/// The keys that begin with `prefix` and come after `after`; with a delimiter, keys that have it
/// behind the prefix stand for one common prefix, which ends with it.
#[derive(Clone, Debug, Default)]
pub struct Window {
    pub prefix: Vec<u8>,
    pub after: Vec<u8>,
    /// Empty when nothing is rolled up.
    pub delimiter: Vec<u8>,
}

impl Window {
    /// Returns the least key that the page may show, None when it shows none. An `after` that
    /// is a common prefix has shown its members.
    pub fn start(&self) -> Option<Vec<u8>> {
        if self.after < self.prefix {
            return Some(self.prefix.clone());
        }
        if self.common_prefix(&self.after) == Some(&self.after) {
            return upper_bound(&self.after);
        }
        // Nothing begins with the prefix and comes after the empty key but longer keys.
        if self.after.is_empty() {
            return Some(Vec::new());
        }
        Some(successor(&self.after))
    }

    pub fn holds(&self, key: &[u8]) -> bool {
        key.starts_with(&self.prefix)
    }

    /// Returns the common prefix that a key of the window stands for, None when it stands for
    /// itself.
    pub fn common_prefix<'k>(&self, key: &'k [u8]) -> Option<&'k [u8]> {
        if self.delimiter.is_empty() {
            return None;
        }
        let rest = key.strip_prefix(self.prefix.as_slice())?;
        let found = find(rest, &self.delimiter)?;
        Some(&key[..self.prefix.len() + found + self.delimiter.len()])
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

    fn window(prefix: &[u8], after: &[u8], delimiter: &[u8]) -> Window {
        Window {
            prefix: prefix.to_vec(),
            after: after.to_vec(),
            delimiter: delimiter.to_vec(),
        }
    }

    #[test]
    fn starts() {
        let start = |prefix: &str, after: &str, delimiter: &str| {
            let window = window(prefix.as_bytes(), after.as_bytes(), delimiter.as_bytes());
            window.start().map(|key| String::from_utf8(key).unwrap())
        };
        assert_eq!(start("", "", "").as_deref(), Some(""));
        assert_eq!(start("b", "a", "").as_deref(), Some("b"));
        assert_eq!(start("a", "a", "").as_deref(), Some("a\0"));
        assert_eq!(start("a/", "a/b/", "/").as_deref(), Some("a/b0"));
        assert_eq!(start("a/", "a/", "/").as_deref(), Some("a/\0"));
        assert_eq!(start("", "a/b/", "/").as_deref(), Some("a/b/\0"));
        assert_eq!(start("", "a--", "--").as_deref(), Some("a-."));
        assert_eq!(window(b"", b"\xff", b"\xff").start(), None);
    }

    #[test]
    fn common_prefixes() {
        let slash = window(b"a/", b"", b"/");
        assert_eq!(slash.common_prefix(b"a/b/c/d"), Some(&b"a/b/"[..]));
        assert_eq!(slash.common_prefix(b"a/b"), None);
        assert_eq!(slash.common_prefix(b"a//b"), Some(&b"a//"[..]));
        assert_eq!(slash.common_prefix(b"x/y/z"), None);
        assert_eq!(window(b"", b"", b"").common_prefix(b"a/b"), None);
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
