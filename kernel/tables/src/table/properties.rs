//! The properties of a table: a block of names and values, some for RocksDB's readers, some for
//! ours.
//!
//! Ours are `type`, `min_key`, `max_key`, `count` and `estimated_size_bytes`, and whatever
//! metadata the writer was given; names that begin with `rocksdb.` or `pebble.` are the others'.

use std::collections::BTreeMap;

use super::Kind;
use super::block_reader::{Block, Walk};
use super::block_writer::BlockWriter;
use super::index_writer::IndexSummary;
use crate::error::Fault;
use crate::varint;

/// The property that names the kind of table.
pub const TYPE: &str = "type";
/// The property with the first key.
pub const MIN_KEY: &str = "min_key";
/// The property with the last key.
pub const MAX_KEY: &str = "max_key";
/// The property with the number of records.
pub const COUNT: &str = "count";
/// The property with the estimated size in bytes.
pub const ESTIMATED_SIZE: &str = "estimated_size_bytes";

const INDEX_TYPE: &str = "rocksdb.block.based.table.index.type";
const ENTRIES: &str = "rocksdb.num.entries";
const TWO_LEVELS: u32 = 2;

/// The value that RocksDB writes for each compressor.
const COMPRESSION_OPTIONS: &str = "window_bits=-14; level=32767; strategy=0; max_dict_bytes=0; zstd_max_train_bytes=0; enabled=0; ";

/// The number of a column family that is not known.
const NO_COLUMN_FAMILY: u64 = i32::MAX as u64;

/// Sizes, in bytes, and numbers that a writer has counted.
#[derive(Debug, Default)]
pub struct Counted {
    /// The size of the data blocks in bytes.
    pub data_size: u64,
    /// The number of records.
    pub records: u64,
    /// The size of all keys in bytes, trailers included.
    pub key_bytes: u64,
    /// The size of all values in bytes.
    pub value_bytes: u64,
}

/// Returns the properties that every table has, without our own.
pub fn rocksdb_properties(counted: &Counted, index: &IndexSummary) -> BTreeMap<String, Vec<u8>> {
    let mut all = BTreeMap::new();
    let mut put = |name: &str, value: Vec<u8>| all.insert(format!("rocksdb.{name}"), value);
    let number = |value: u64| {
        let mut bytes = Vec::new();
        varint::put(&mut bytes, value);
        bytes
    };
    let two_levels = index.partitions > 0;
    let index_type = if two_levels { TWO_LEVELS } else { 0 };
    put(
        "block.based.table.index.type",
        index_type.to_le_bytes().to_vec(),
    );
    put("block.based.table.prefix.filtering", b"0".to_vec());
    put("block.based.table.whole.key.filtering", b"0".to_vec());
    put("column.family.id", number(NO_COLUMN_FAMILY));
    put("comparator", b"leveldb.BytewiseComparator".to_vec());
    put("compression", b"Snappy".to_vec());
    put("compression_options", COMPRESSION_OPTIONS.into());
    put("data.size", number(counted.data_size));
    put("external_sst_file.global_seqno", vec![0; 8]);
    put("external_sst_file.version", 2u32.to_le_bytes().to_vec());
    put("index.size", number(index.size));
    put("merge.operator", b"pebble.concatenate".to_vec());
    put("num.data.blocks", number(index.blocks));
    put("num.entries", number(counted.records));
    put("prefix.extractor.name", b"nullptr".to_vec());
    put("property.collectors", b"[static]".to_vec());
    put("raw.key.size", number(counted.key_bytes));
    put("raw.value.size", number(counted.value_bytes));
    for name in [
        "creation.time",
        "deleted.keys",
        "filter.size",
        "fixed.key.length",
        "format.version",
        "index.key.is.user.key",
        "index.value.is.delta.encoded",
        "merge.operands",
        "num.range-deletions",
        "oldest.key.time",
    ] {
        put(name, number(0));
    }
    if two_levels {
        put("index.partitions", number(index.partitions));
        put("top-level.index.size", number(index.top_level_size));
    }
    all
}

/// Returns the content of the properties block.
pub fn encode(properties: &BTreeMap<String, Vec<u8>>) -> Vec<u8> {
    let mut block = BlockWriter::new(usize::MAX);
    for (name, value) in properties {
        block.add(name.as_bytes(), &[], value);
    }
    block.finish().to_vec()
}

/// The properties of a table that is open.
#[derive(Clone, Debug, Default)]
pub struct Properties {
    all: BTreeMap<String, Vec<u8>>,
    count: u64,
    estimated_size: u64,
}

impl Properties {
    /// Reads the content of the properties block.
    pub fn decode(content: &[u8]) -> Result<Properties, Fault> {
        let block = Block::parse(content)?;
        let mut walk = Walk::default();
        let mut all = BTreeMap::new();
        while walk.step(block.entries)? {
            let name = String::from_utf8(walk.key().to_vec());
            let name = name.map_err(|_| "a property's name is not UTF-8")?;
            all.insert(name, block.entries[walk.value()].to_vec());
        }
        let count = match decimal(&all, COUNT)? {
            Some(count) => count,
            None => entries(&all)?,
        };
        let estimated_size = decimal(&all, ESTIMATED_SIZE)?.unwrap_or_default();
        Ok(Properties {
            all,
            count,
            estimated_size,
        })
    }

    /// Returns every property by name.
    pub fn all(&self) -> &BTreeMap<String, Vec<u8>> {
        &self.all
    }

    /// Returns the value of a property.
    pub fn get(&self, name: &str) -> Option<&[u8]> {
        self.all.get(name).map(Vec::as_slice)
    }

    /// Returns what the table says it holds, None for something that is neither.
    pub fn kind(&self) -> Option<Kind> {
        let name = self.get(TYPE)?;
        [Kind::Ranges, Kind::Metaranges]
            .into_iter()
            .find(|kind| kind.name().as_bytes() == name)
    }

    /// Returns the first key, empty when the table does not say.
    pub fn min_key(&self) -> &[u8] {
        self.get(MIN_KEY).unwrap_or_default()
    }

    /// Returns the last key, empty when the table does not say.
    pub fn max_key(&self) -> &[u8] {
        self.get(MAX_KEY).unwrap_or_default()
    }

    /// Returns the number of records.
    pub fn count(&self) -> u64 {
        self.count
    }

    /// Returns the size that decided where the table was cut, in bytes; 0 when it is not known.
    pub fn estimated_size(&self) -> u64 {
        self.estimated_size
    }

    /// Returns whether the index has two levels.
    pub fn index_has_two_levels(&self) -> Result<bool, Fault> {
        match self.get(INDEX_TYPE) {
            None => Ok(false),
            Some(value) if value == 0u32.to_le_bytes() => Ok(false),
            Some(value) if value == TWO_LEVELS.to_le_bytes() => Ok(true),
            Some(_) => Err("the type of the index is unknown"),
        }
    }

    /// Returns the metadata that is part of the table's id: all that is not RocksDB's, without
    /// what is counted only after the id is made.
    pub fn hashed(&self) -> Result<Vec<(String, String)>, Fault> {
        let counted = [MIN_KEY, MAX_KEY, COUNT, ESTIMATED_SIZE];
        let foreign = |name: &str| name.starts_with("rocksdb.") || name.starts_with("pebble.");
        let ours = self.all.iter().filter(|(name, _)| {
            let name = name.as_str();
            !foreign(name) && !counted.contains(&name)
        });
        ours.map(|(name, value)| {
            let value = String::from_utf8(value.clone());
            Ok((name.clone(), value.map_err(|_| "metadata is not UTF-8")?))
        })
        .collect()
    }
}

fn decimal(all: &BTreeMap<String, Vec<u8>>, name: &str) -> Result<Option<u64>, Fault> {
    let Some(value) = all.get(name) else {
        return Ok(None);
    };
    let number = std::str::from_utf8(value).ok().and_then(|v| v.parse().ok());
    number.map(Some).ok_or("a property is not a number")
}

fn entries(all: &BTreeMap<String, Vec<u8>>) -> Result<u64, Fault> {
    let value = all.get(ENTRIES).map(Vec::as_slice).unwrap_or_default();
    if value.is_empty() {
        return Ok(0);
    }
    varint::take(value, &mut 0).ok_or("a property is not a number")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn come_back() {
        let mut all = rocksdb_properties(&Counted::default(), &IndexSummary::default());
        for (name, value) in [
            (TYPE, "ranges"),
            (COUNT, "12"),
            (ESTIMATED_SIZE, "345"),
            (MIN_KEY, "a"),
        ] {
            all.insert(name.into(), value.into());
        }
        let read = Properties::decode(&encode(&all)).unwrap();
        assert_eq!(read.all(), &all);
        assert_eq!(read.kind(), Some(Kind::Ranges));
        assert_eq!((read.count(), read.estimated_size()), (12, 345));
        assert_eq!((read.min_key(), read.max_key()), (&b"a"[..], &b""[..]));
        assert_eq!(read.hashed().unwrap(), [(TYPE.into(), "ranges".into())]);
    }

    #[test]
    fn malformed_numbers_are_errors() {
        for value in ["", "x", "-1", "99999999999999999999999"] {
            let all = BTreeMap::from([(COUNT.to_owned(), value.into())]);
            assert!(Properties::decode(&encode(&all)).is_err(), "{value}");
        }
    }
}
