//! The id of a table: SHA-256 over its records in order and its metadata.

use std::ops::Range;

use sha2::{Digest, Sha256};

use crate::codec::{IdentityStream, hex};
use crate::text::put_decimal;

/// Text is gathered up to about this many bytes before it is hashed, which is faster than
/// hashing it in small pieces.
const GATHER: usize = 8192;

/// What follows each part of a record.
pub const DELIMITER: u8 = b'|';

/// The digest of the records added so far.
#[derive(Default)]
pub struct RecordDigest {
    digest: Sha256,
    text: Vec<u8>,
}

impl RecordDigest {
    /// Adds a record.
    pub fn add(&mut self, key: &[u8], value: &[u8]) {
        append_record(&mut self.text, key, value);
        if self.text.len() >= GATHER {
            self.digest.update(&self.text);
            self.text.clear();
        }
    }

    /// Adds records that [`append_record`] has made text of.
    pub fn add_text(&mut self, text: &[u8]) {
        self.digest.update(&self.text);
        self.text.clear();
        self.digest.update(text);
    }

    /// Adds the metadata and returns the id, 64 hexadecimal digits.
    pub fn finish(mut self, metadata: &[(String, String)]) -> String {
        self.digest.update(&self.text);
        let mut stream = IdentityStream::over(self.digest);
        stream.map(metadata);
        hex(&stream.finish())
    }
}

/// Appends what is hashed of a record: `len(key) key | len(value) value |`, lengths in decimal,
/// without the spaces.
pub fn append_record(text: &mut Vec<u8>, key: &[u8], value: &[u8]) {
    put_part(text, key);
    put_part(text, value);
}

/// Appends a key or a value as it is hashed, and returns where in the text it lies.
#[inline]
pub fn put_part(text: &mut Vec<u8>, part: &[u8]) -> Range<usize> {
    put_decimal(text, part.len() as u64);
    let start = text.len();
    text.extend_from_slice(part);
    text.push(DELIMITER);
    start..text.len() - 1
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn known_table() {
        let mut digest = RecordDigest::default();
        digest.add(b"key", b"value");
        assert_eq!(
            digest.finish(&[]),
            "1f60902cb44890618d61597673a62e44cf526f5991d9db687141218985fe60b8"
        );
    }

    #[test]
    fn text_and_records_mix() {
        let (mut one, mut other) = (RecordDigest::default(), RecordDigest::default());
        let mut text = Vec::new();
        for number in 0..1000usize {
            let key = number.to_string().into_bytes();
            one.add(&key, &[7; 30]);
            if number % 3 == 0 {
                other.add(&key, &[7; 30]);
            } else {
                text.clear();
                append_record(&mut text, &key, &[7; 30]);
                other.add_text(&text);
            }
        }
        assert_eq!(one.finish(&[]), other.finish(&[]));
    }
}
