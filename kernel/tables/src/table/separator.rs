//! Short keys for the index: what stands between two blocks needs to be no key of either.

use super::SET_TRAILER;
use super::block_writer::user_key;
use crate::shared_prefix::shared_prefix;

/// Behind a shortened key: the highest sequence number, so that it sorts before records of the
/// same key, and the kind "separator".
const SHORTENED_TRAILER: [u8; 8] = [0x11, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff];

/// Behind the key of a table without records, in the manner of Pebble: the kind "invalid".
const NO_KEY: [u8; 8] = [0xff, 0, 0, 0, 0, 0, 0, 0];

/// Returns the index key, trailer included, for a block that ends with the key `last` (trailer
/// included): at least `last`, below `next`, the first key of the next block if there is one.
pub fn index_key(last: &[u8], next: Option<&[u8]>) -> Vec<u8> {
    if last.len() < SET_TRAILER.len() {
        return NO_KEY.to_vec();
    }
    let key = user_key(last);
    let shortened = match next {
        Some(next) => shorten_between(key, next),
        None => shorten_after(key, 0),
    };
    match shortened {
        Some(mut short) => {
            short.extend_from_slice(&SHORTENED_TRAILER);
            short
        }
        None => last.to_vec(),
    }
}

/// Returns a key above `key` and below `next`, not longer than `key`, if the rule finds one.
fn shorten_between(key: &[u8], next: &[u8]) -> Option<Vec<u8>> {
    let shared = shared_prefix(key, next);
    let (own, other) = (*key.get(shared)?, *next.get(shared)?);
    if own >= other {
        return None;
    }
    if shared + 1 < next.len() || own + 1 < other {
        return Some(raised(key, shared));
    }
    // The next key is exactly one above at its last byte: go on behind it.
    shorten_after(key, shared + 1)
}

/// Raises the first byte from `start` on that can be raised and drops what follows.
fn shorten_after(key: &[u8], start: usize) -> Option<Vec<u8>> {
    let offset = key[start..].iter().position(|&byte| byte != 0xff)?;
    Some(raised(key, start + offset))
}

fn raised(key: &[u8], at: usize) -> Vec<u8> {
    let mut short = key[..=at].to_vec();
    short[at] += 1;
    short
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn between(last: &[u8], next: Option<&[u8]>) -> Vec<u8> {
        let internal = [last, &SET_TRAILER].concat();
        index_key(&internal, next)
    }

    fn short(key: &[u8]) -> Vec<u8> {
        [key, &SHORTENED_TRAILER].concat()
    }

    fn same(key: &[u8]) -> Vec<u8> {
        [key, &SET_TRAILER].concat()
    }

    #[test]
    fn by_example() {
        assert_eq!(between(b"abc", Some(b"abz")), short(b"abd"));
        assert_eq!(between(b"abc", Some(b"abd")), same(b"abc"));
        assert_eq!(between(b"abcx", Some(b"abd")), short(b"abcy"));
        assert_eq!(between(b"abc\xff", Some(b"abd")), same(b"abc\xff"));
        assert_eq!(between(b"abc", Some(b"abde")), short(b"abd"));
        assert_eq!(between(b"abc", Some(b"abcd")), same(b"abc"));
        assert_eq!(between(b"abc", None), short(b"b"));
        assert_eq!(between(b"\xff\xff", None), same(b"\xff\xff"));
        assert_eq!(between(b"\xffa", None), short(b"\xffb"));
        assert_eq!(between(b"", None), same(b""));
        assert_eq!(between(b"", Some(b"a")), same(b""));
        assert_eq!(index_key(b"", None), NO_KEY);
    }

    /// Short keys of the bytes about which the rule has opinions.
    fn bytes(longest: usize) -> impl Strategy<Value = Vec<u8>> {
        let byte = prop::sample::select(vec![0u8, 1, 2, 0xfe, 0xff]);
        prop::collection::vec(byte, 0..=longest)
    }

    proptest! {
        #[test]
        fn lies_between(stem in bytes(3), a in bytes(3), b in bytes(3)) {
            let (a, b) = ([&stem[..], &a].concat(), [&stem[..], &b].concat());
            prop_assume!(a < b);
            let key = between(&a, Some(&b));
            let key = user_key(&key);
            prop_assert!(a.as_slice() <= key && key < b.as_slice() && key.len() <= a.len());
            let last = between(&a, None);
            prop_assert!(a.as_slice() <= user_key(&last));
        }
    }
}
