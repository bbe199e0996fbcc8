//! The paths that a commit changed, as fingerprints of 32 bits.
//!
//! Besides each path, the folders above it count as changed, so that a prefix can be looked for. A
//! sorted list of fingerprints takes 4 bytes a path and is wrong once in four billion look-ups per
//! path; a Bloom filter of that size is wrong once in ten million. Above [`MAX_PATHS`] nothing is
//! listed, and the commit may have changed any path: what such a commit costs to compare is little
//! beside what it changed.
//!
//! Stored form: the byte 1 (the version), the byte 1 if paths are listed and 0 otherwise, the sorted
//! fingerprints in little-endian order, and the CRC-32C of the commit's id and of all before.

use std::collections::HashSet;

use super::commit_graph::{Changed, CommitId};
use crate::error::Result;
use crate::tree::Tree;
use crate::tree::diff::DiffWalk;
use crc32c::crc32c_append;

/// The largest number of changed paths that are listed.
pub const MAX_PATHS: usize = 4096;

const VERSION: u8 = 1;
const ANY: u8 = 0;
const LISTED: u8 = 1;
const HEADER: usize = 2;
const CHECKSUM: usize = 4;

/// Returns the fingerprint of a path, or of a folder with its final slash.
pub fn fingerprint(path: &[u8]) -> u32 {
    crc32c_append(0, path)
}

/// Returns the fingerprint to look for in order to find changes under a prefix: that of the last
/// folder in it. None if any change may be one.
pub fn prefix_fingerprint(prefix: &[u8]) -> Option<u32> {
    let slash = prefix.iter().rposition(|byte| *byte == b'/')?;
    Some(fingerprint(&prefix[..=slash]))
}

/// Collects the paths that a commit changed.
#[derive(Default)]
pub struct ChangedPaths {
    fingerprints: HashSet<u32>,
    paths: usize,
}

impl ChangedPaths {
    /// Adds a path; returns whether more can be listed.
    pub fn add(&mut self, path: &[u8]) -> bool {
        self.paths += 1;
        if self.paths > MAX_PATHS {
            return false;
        }
        self.fingerprints.insert(fingerprint(path));
        for (at, _) in path.iter().enumerate().filter(|(_, byte)| **byte == b'/') {
            self.fingerprints.insert(fingerprint(&path[..=at]));
        }
        true
    }

    /// Returns the stored form without its checksum.
    pub fn encode(self) -> Vec<u8> {
        if self.paths > MAX_PATHS {
            return vec![VERSION, ANY];
        }
        let mut sorted: Vec<u32> = self.fingerprints.into_iter().collect();
        sorted.sort_unstable();
        let mut out = Vec::with_capacity(HEADER + 4 * sorted.len() + CHECKSUM);
        out.extend([VERSION, LISTED]);
        for value in sorted {
            out.extend(value.to_le_bytes());
        }
        out
    }
}

/// Returns the stored form, without its checksum, of the paths in which two trees differ.
pub fn between(left: &Tree, right: &Tree) -> Result<Vec<u8>> {
    let mut walk = DiffWalk::new(left, right);
    let mut changed = ChangedPaths::default();
    while walk.advance()? {
        if let Some(difference) = walk.current()?
            && !changed.add(difference.key)
        {
            break;
        }
    }
    Ok(changed.encode())
}

/// Returns the stored form of a commit's changed paths, given the form without checksum.
pub fn with_checksum(id: &CommitId, mut encoded: Vec<u8>) -> Vec<u8> {
    let sum = crc32c_append(crc32c_append(0, id), &encoded);
    encoded.extend(sum.to_le_bytes());
    encoded
}

/// Appends the fingerprints of a stored form to `out` and returns what the commit changed. None
/// for a damaged form or another version.
pub fn decode(id: &CommitId, stored: &[u8], out: &mut Vec<u32>) -> Option<Changed> {
    let (body, sum) = stored.split_at_checked(stored.len().checked_sub(CHECKSUM)?)?;
    let sum = u32::from_le_bytes(sum.try_into().ok()?);
    if crc32c_append(crc32c_append(0, id), body) != sum {
        return None;
    }
    match body.split_at_checked(HEADER)? {
        ([VERSION, ANY], []) => Some(Changed::Any),
        ([VERSION, LISTED], listed) if listed.len().is_multiple_of(4) => {
            let start = out.len();
            let words = listed.chunks_exact(4);
            out.extend(words.map(|word| u32::from_le_bytes([word[0], word[1], word[2], word[3]])));
            if !out[start..].is_sorted() {
                out.truncate(start);
                return None;
            }
            Some(Changed::Paths(start..out.len()))
        }
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_stored_form_is_read_back() {
        let mut changed = ChangedPaths::default();
        for path in [b"a/b/c".as_slice(), b"a/b/d", b"e"] {
            assert!(changed.add(path));
        }
        let stored = with_checksum(&[7; 32], changed.encode());
        let mut out = vec![9];
        assert_eq!(
            decode(&[7; 32], &stored, &mut out),
            Some(Changed::Paths(1..6))
        );
        for path in [b"a/b/c".as_slice(), b"a/b/", b"a/", b"e", b"a/b/d"] {
            assert!(out[1..].binary_search(&fingerprint(path)).is_ok());
        }
        assert_eq!(decode(&[8; 32], &stored, &mut out), None);
        for at in 0..stored.len() {
            let mut damaged = stored.clone();
            damaged[at] ^= 1;
            assert_eq!(decode(&[7; 32], &damaged, &mut out), None);
            assert_eq!(decode(&[7; 32], &stored[..at], &mut out), None);
        }
        assert_eq!(out.len(), 6);
    }

    #[test]
    fn too_many_paths_are_not_listed() {
        let mut changed = ChangedPaths::default();
        for number in 0..=MAX_PATHS {
            assert_eq!(
                changed.add(number.to_string().as_bytes()),
                number < MAX_PATHS
            );
        }
        let stored = with_checksum(&[0; 32], changed.encode());
        assert_eq!(
            decode(&[0; 32], &stored, &mut Vec::new()),
            Some(Changed::Any)
        );
    }

    #[test]
    fn the_last_folder_of_a_prefix_is_looked_for() {
        assert_eq!(prefix_fingerprint(b"a/b/c"), Some(fingerprint(b"a/b/")));
        assert_eq!(prefix_fingerprint(b"a/b/"), Some(fingerprint(b"a/b/")));
        assert_eq!(prefix_fingerprint(b"a"), None);
        assert_eq!(prefix_fingerprint(b""), None);
    }
}
