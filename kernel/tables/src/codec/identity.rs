//! Identities: SHA-256 over a typed stream, in which every part says its type and length.
//!
//! ```text
//! int64    02 08 + 8 bytes, big-endian          string   01 + int64(length) + UTF-8
//! bytes    00 + int64(length) + the bytes       strings  03 + int64(count) + each string
//! map      04 + int64(count) + each key and value as strings, keys sorted by their bytes
//! embedded 05 + bytes(identity of the embedded thing)
//! ```
//!
//! A commit's identity leaves out its version and generation; an entry's leaves out its address
//! and time, so that the same content at another address is no change, and its system metadata,
//! so that the same content with another checksum is no change either.

use sha2::{Digest, Sha256};

/// The prefix of the keys of an entry's system metadata, which the server stores in the same map as
/// the user's metadata.
const SYSTEM_PREFIX: &[u8] = b"::anabranch::";

/// Returns whether a key of an entry's metadata is system metadata.
pub fn is_system_key(key: &[u8]) -> bool {
    key.starts_with(SYSTEM_PREFIX)
}

/// A SHA-256 digest being fed with typed parts.
#[derive(Clone, Default)]
pub struct IdentityStream {
    digest: Sha256,
}

impl IdentityStream {
    /// Returns the digest of nothing.
    pub fn new() -> Self {
        Self::default()
    }

    /// Continues a digest that already contains bytes of another kind.
    pub fn over(digest: Sha256) -> Self {
        Self { digest }
    }

    /// Adds a number.
    pub fn int(&mut self, value: i64) {
        self.digest.update([2, 8]);
        self.digest.update(value.to_be_bytes());
    }

    /// Adds bytes.
    pub fn bytes(&mut self, value: &[u8]) {
        self.digest.update([0]);
        self.int(value.len() as i64);
        self.digest.update(value);
    }

    /// Adds a text.
    pub fn string(&mut self, value: impl AsRef<[u8]>) {
        let value = value.as_ref();
        self.digest.update([1]);
        self.int(value.len() as i64);
        self.digest.update(value);
    }

    /// Adds a list of texts.
    pub fn strings<S: AsRef<str>>(&mut self, values: &[S]) {
        self.digest.update([3]);
        self.int(values.len() as i64);
        for value in values {
            self.string(value.as_ref());
        }
    }

    /// Adds a map; the pairs may come in any order.
    pub fn map<T: AsRef<[u8]>>(&mut self, pairs: &[(T, T)]) {
        let mut sorted: Vec<&(T, T)> = pairs.iter().collect();
        sorted.sort_by(|a, b| a.0.as_ref().cmp(b.0.as_ref()));
        self.digest.update([4]);
        self.int(sorted.len() as i64);
        for (key, value) in sorted {
            self.string(key);
            self.string(value);
        }
    }

    /// Adds the identity of an embedded thing.
    pub fn embedded(&mut self, identity: &[u8]) {
        self.digest.update([5]);
        self.bytes(identity);
    }

    /// Returns the identity.
    pub fn finish(self) -> [u8; 32] {
        self.digest.finalize().into()
    }
}

/// Returns the digest as 64 hexadecimal digits.
pub fn hex(digest: &[u8; 32]) -> String {
    const DIGITS: &[u8; 16] = b"0123456789abcdef";
    let mut text = String::with_capacity(64);
    for byte in digest {
        text.push(DIGITS[usize::from(byte >> 4)] as char);
        text.push(DIGITS[usize::from(byte & 15)] as char);
    }
    text
}

/// Returns the identity of an object's content: the digest of its size, checksum, user metadata and
/// content type.
pub fn entry_identity<T: AsRef<[u8]>>(
    size: i64,
    checksum: &[u8],
    metadata: &[(T, T)],
    content_type: &[u8],
) -> [u8; 32] {
    let mut stream = IdentityStream::new();
    stream.int(size);
    stream.string(checksum);
    if metadata.iter().any(|(key, _)| is_system_key(key.as_ref())) {
        let user = metadata
            .iter()
            .map(|(key, value)| (key.as_ref(), value.as_ref()));
        let user: Vec<(&[u8], &[u8])> = user.filter(|(key, _)| !is_system_key(key)).collect();
        stream.map(&user);
    } else {
        stream.map(metadata);
    }
    if !content_type.is_empty() {
        stream.string(content_type);
    }
    stream.finish()
}

/// Returns the id of a commit; `creation_date` is in seconds since 1970.
pub fn commit_id<S: AsRef<str>>(
    committer: &str,
    message: &str,
    metarange_id: &str,
    creation_date: i64,
    metadata: &[(String, String)],
    parents: &[S],
) -> String {
    let mut parent_stream = IdentityStream::new();
    parent_stream.strings(parents);
    let mut stream = IdentityStream::new();
    stream.string("commit:v1");
    stream.string(committer);
    stream.string(message);
    stream.string(metarange_id);
    stream.int(creation_date);
    stream.map(metadata);
    stream.embedded(&parent_stream.finish());
    hex(&stream.finish())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn known_commit() {
        let id = commit_id::<&str>("", "Repository created", "", 1_700_000_000, &[], &[]);
        assert_eq!(
            id,
            "e7720703b5e19f0c37c665b0bf14fc291522d882cd951d854edb8b1f1c33689d"
        );
    }

    #[test]
    fn known_entry() {
        let identity = entry_identity::<&str>(5, b"abc", &[], b"text/plain");
        assert_eq!(
            hex(&identity),
            "f623b19aa609c5f1652c60b7bb5592528b6048b6ec7ae9fd3b652c5d547a04e6"
        );
    }

    #[test]
    fn order_of_metadata_is_of_no_account() {
        let pair = |key: &str| (key.to_owned(), "v".to_owned());
        let forward = entry_identity(1, b"c", &[pair("a"), pair("b")], b"");
        let backward = entry_identity(1, b"c", &[pair("b"), pair("a")], b"");
        assert_eq!(forward, backward);
        assert_ne!(forward, entry_identity(1, b"c", &[pair("a")], b""));
    }

    #[test]
    fn system_metadata_is_of_no_account() {
        let identity = |metadata: &[(&str, &str)]| entry_identity(1, b"c", metadata, b"t");
        let checksum = ("::anabranch::checksum", "v");
        assert_eq!(identity(&[checksum]), identity(&[]));
        assert_eq!(identity(&[("a", "b"), checksum]), identity(&[("a", "b")]));
        for other in ["::anabranch:", "::lakefs::x", "anabranch", "x::anabranch::"] {
            assert_ne!(identity(&[(other, "v")]), identity(&[]), "{other}");
        }
    }
}
