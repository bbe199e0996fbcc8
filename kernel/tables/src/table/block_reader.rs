//! Reads the records of one block: walks them in order and searches them by key.
//!
//! Nothing in a block is trusted: every length and offset is checked before it is followed.

use std::ops::Range;

use super::KEY_TRAILER_LEN;
use super::block_writer::user_key;
use crate::error::Fault;
use crate::varint;

/// The content of a block, split into its records and its restarts.
#[derive(Clone, Copy)]
pub struct Block<'a> {
    /// The records without the list of restarts.
    pub entries: &'a [u8],
    restarts: &'a [u8],
}

impl<'a> Block<'a> {
    /// Reads the list of restarts of a block.
    #[inline]
    pub fn parse(content: &'a [u8]) -> Result<Block<'a>, Fault> {
        let bad = "a block's restarts are malformed";
        let (rest, count) = content.split_last_chunk::<4>().ok_or(bad)?;
        let count = u32::from_le_bytes(*count) as usize;
        let length = count.checked_mul(4).ok_or(bad)?;
        let start = rest.len().checked_sub(length).ok_or(bad)?;
        if count == 0 {
            return Err(bad);
        }
        let (entries, restarts) = rest.split_at(start);
        Ok(Block { entries, restarts })
    }

    /// Returns the number of restarts.
    pub fn restart_count(&self) -> usize {
        self.restarts.len() / 4
    }

    /// Returns where the records of a restart begin.
    #[inline]
    pub fn restart(&self, number: usize) -> Result<usize, Fault> {
        let bytes = self.restarts.get(4 * number..4 * number + 4);
        let offset = bytes
            .and_then(|bytes| bytes.try_into().ok())
            .map(u32::from_le_bytes)
            .ok_or("a restart is not there")? as usize;
        if offset > self.entries.len() {
            return Err("a restart lies outside of its block");
        }
        Ok(offset)
    }

    /// Returns where a walk may begin to find the first record whose key is at least `key`.
    #[inline]
    pub fn search(&self, key: &[u8]) -> Result<usize, Fault> {
        let (mut low, mut high) = (0, self.restart_count());
        while high - low > 1 {
            let middle = low + (high - low) / 2;
            let record = Record::read(self.entries, self.restart(middle)?)?
                .ok_or("a restart lies at the end of its block")?;
            if record.shared != 0 {
                return Err("the key at a restart is not whole");
            }
            if user_key(&self.entries[record.unshared]) < key {
                low = middle;
            } else {
                high = middle;
            }
        }
        self.restart(low)
    }
}

/// Where the parts of a record lie among a block's entries.
pub struct Record {
    /// How many bytes of the key are those of the key before.
    pub shared: usize,
    /// Where the part of the key is that the record does not share.
    pub unshared: Range<usize>,
    /// Where the value is.
    pub value: Range<usize>,
}

impl Record {
    /// Reads the lengths at `position`; None at the end of the entries.
    #[inline]
    pub fn read(entries: &[u8], position: usize) -> Result<Option<Record>, Fault> {
        if position == entries.len() {
            return Ok(None);
        }
        let mut start = position;
        let bad = "a record's lengths are malformed";
        let mut length = || -> Result<usize, Fault> {
            let number = varint::take(entries, &mut start).ok_or(bad)?;
            u32::try_from(number).map(|n| n as usize).map_err(|_| bad)
        };
        let (shared, unshared, value) = (length()?, length()?, length()?);
        let key_end = start.checked_add(unshared).ok_or(bad)?;
        let end = key_end.checked_add(value).ok_or(bad)?;
        if end > entries.len() {
            return Err("a record ends behind its block");
        }
        Ok(Some(Record {
            shared,
            unshared: start..key_end,
            value: key_end..end,
        }))
    }
}

/// A walk over the records of a block. The block's bytes are given at each step, so that the
/// walk can exist at the same time.
#[derive(Default)]
pub struct Walk {
    /// Where the record begins, and where the next one does.
    start: usize,
    next: usize,
    key: Vec<u8>,
    value: Range<usize>,
}

impl Walk {
    /// Makes the record at a restart the next one.
    pub fn restart_at(&mut self, position: usize) {
        self.next = position;
        self.key.clear();
        self.value = 0..0;
    }

    /// Goes to the next record; returns false at the end.
    #[inline]
    pub fn step(&mut self, entries: &[u8]) -> Result<bool, Fault> {
        let Some(record) = Record::read(entries, self.next)? else {
            return Ok(false);
        };
        if record.shared > self.key.len() {
            return Err("a key shares more than there is");
        }
        self.key.truncate(record.shared);
        self.key.extend_from_slice(&entries[record.unshared]);
        self.start = self.next;
        self.next = record.value.end;
        self.value = record.value;
        Ok(true)
    }

    /// Goes to the next record, whose key must be that of a record that sets a value.
    #[inline]
    pub fn step_set(&mut self, entries: &[u8]) -> Result<bool, Fault> {
        if !self.step(entries)? {
            return Ok(false);
        }
        match self.key.len().checked_sub(KEY_TRAILER_LEN) {
            // The kind is the lowest byte of the trailer; readers need nothing else of it.
            Some(end) if self.key[end] == 1 => Ok(true),
            Some(_) => Err("a record is of a kind other than SET"),
            None => Err("a key is too short for its trailer"),
        }
    }

    /// Goes to the first record from here on whose key is at least `key`; false if there is none.
    #[inline]
    pub fn seek(&mut self, entries: &[u8], key: &[u8]) -> Result<bool, Fault> {
        while self.step_set(entries)? {
            if user_key(&self.key) >= key {
                return Ok(true);
            }
        }
        Ok(false)
    }

    /// Returns the key as stored, with the trailer if the block's keys have one.
    #[inline]
    pub fn key(&self) -> &[u8] {
        &self.key
    }

    /// Returns whether the record is the first of its block.
    pub fn is_first(&self) -> bool {
        self.start == 0
    }

    /// Returns the position of the value among the entries.
    #[inline]
    pub fn value(&self) -> Range<usize> {
        self.value.clone()
    }
}

#[cfg(test)]
mod tests {
    use super::super::SET_TRAILER;
    use super::super::block_writer::BlockWriter;
    use super::*;
    use proptest::prelude::*;
    use std::collections::BTreeMap;

    fn written(records: &BTreeMap<Vec<u8>, Vec<u8>>) -> Vec<u8> {
        let mut writer = BlockWriter::new(16);
        for (key, value) in records {
            writer.add(key, &SET_TRAILER, value);
        }
        writer.finish().to_vec()
    }

    /// Keys with long shared beginnings and every kind of byte.
    fn records() -> impl Strategy<Value = BTreeMap<Vec<u8>, Vec<u8>>> {
        let part = prop::sample::select(vec![&b"a"[..], b"\x01", b"\0", b"longer/part/", b"\xff"]);
        let key = prop::collection::vec(part, 0..8).prop_map(|parts| parts.concat());
        prop::collection::btree_map(key, prop::collection::vec(any::<u8>(), 0..20), 0..80)
    }

    proptest! {
        #[test]
        fn a_walk_gives_what_was_written(records in records()) {
            let content = written(&records);
            let block = Block::parse(&content).unwrap();
            let mut walk = Walk::default();
            for (key, value) in &records {
                prop_assert!(walk.step_set(block.entries).unwrap());
                prop_assert_eq!(user_key(walk.key()), &key[..]);
                prop_assert_eq!(&block.entries[walk.value()], &value[..]);
            }
            prop_assert!(!walk.step(block.entries).unwrap());
        }

        #[test]
        fn a_search_finds_what_a_map_finds(records in records(), wanted in records()) {
            let content = written(&records);
            let block = Block::parse(&content).unwrap();
            let mut walk = Walk::default();
            for key in records.keys().chain(wanted.keys()) {
                walk.restart_at(block.search(key).unwrap());
                let found = walk.seek(block.entries, key).unwrap();
                let expected = records.range(key.clone()..).next();
                prop_assert_eq!(found.then(|| user_key(walk.key())), expected.map(|(k, _)| &k[..]));
            }
        }

        #[test]
        fn any_bytes_are_read_without_panic(content: Vec<u8>, key: Vec<u8>) {
            let Ok(block) = Block::parse(&content) else { return Ok(()) };
            let mut walk = Walk::default();
            while let Ok(true) = walk.step(block.entries) {}
            if let Ok(position) = block.search(&key) {
                walk.restart_at(position);
                let _ = walk.seek(block.entries, &key);
            }
        }
    }

    #[test]
    fn hostile_restarts_are_errors() {
        assert!(Block::parse(b"").is_err());
        assert!(Block::parse(&[0, 0, 0, 0]).is_err(), "no restart");
        assert!(Block::parse(&[0xff; 8]).is_err(), "more than there are");
        let outside = [9, 0, 0, 0, 1, 0, 0, 0];
        assert!(Block::parse(&outside).unwrap().restart(0).is_err());
    }

    #[test]
    fn hostile_lengths_are_errors() {
        for entries in [
            &b"\x01\x08\x00\x01\0\0\0\0\0\0\0"[..],
            b"\x00\x09\x00\x01\0\0\0\0\0\0\0",
            b"\x00\x08\x01\x01\0\0\0\0\0\0\0",
            b"\x00\xff\xff\xff\xff\x0f\x00",
            b"\x00\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01\x00",
            b"\x80",
        ] {
            assert!(Walk::default().step(entries).is_err(), "{entries:?}");
        }
        assert!(
            Walk::default()
                .step_set(b"\x00\x07\x00\x01\0\0\0\0\0\0")
                .is_err()
        );
        assert!(
            Walk::default()
                .step_set(b"\x00\x08\x00\x00\0\0\0\0\0\0\0")
                .is_err()
        );
    }
}
