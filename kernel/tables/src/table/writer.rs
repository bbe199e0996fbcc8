//! Writes a table into memory, byte for byte as Pebble writes it with lakeFS's options.
//!
//! The file is: data blocks, index, properties, the list of meta blocks, footer. A table's bytes
//! are a function of its records and metadata alone, so equal contents are equal files.

use std::collections::BTreeMap;

use super::block_reader::Block;
use super::block_scan::BlockScan;
use super::block_writer::{BlockWriter, user_key};
use super::digest::RecordDigest;
use super::footer::{Footer, Handle};
use super::index_writer::{IndexWriter, append_block};
use super::properties::{self, Counted, rocksdb_properties};
use super::separator::index_key;
use super::stored_block::{Compressor, RawBlock, TRAILER_LEN, plain};
use super::{KEY_TRAILER_LEN, Kind, SET_TRAILER};
use crate::error::{Error, Result};

/// Every 16th key of a data block is written whole.
const DATA_RESTART_INTERVAL: usize = 16;

/// A longer record is refused: blocks hold whole records and have 32-bit offsets.
const MAX_RECORD: usize = 1 << 28;

/// A table being written. Records come in ascending order of their keys.
pub struct TableWriter {
    kind: Kind,
    file: Vec<u8>,
    block: BlockWriter,
    /// While the block being filled is exactly one of another table, it stands at the end of the
    /// file already, as it is stored there; this is its length then, trailer included, else 0.
    sealed: usize,
    index: IndexWriter,
    compressor: Compressor,
    digest: RecordDigest,
    counted: Counted,
    min_key: Vec<u8>,
}

/// A table that is complete.
#[derive(Clone, Debug)]
pub struct FinishedTable {
    /// The table's name: the digest of its records and metadata.
    pub id: String,
    /// The bytes of the file.
    pub bytes: Vec<u8>,
    /// The first key; empty without records.
    pub min_key: Vec<u8>,
    /// The last key; empty without records.
    pub max_key: Vec<u8>,
    /// The number of records.
    pub count: u64,
    /// The size that decides where ranges are cut and that a metarange records, in bytes.
    pub estimated_size: u64,
}

impl TableWriter {
    /// Returns a table without records.
    pub fn new(kind: Kind) -> Self {
        TableWriter {
            kind,
            file: Vec::new(),
            block: BlockWriter::new(DATA_RESTART_INTERVAL),
            sealed: 0,
            index: IndexWriter::default(),
            compressor: Compressor::default(),
            digest: RecordDigest::default(),
            counted: Counted::default(),
            min_key: Vec::new(),
        }
    }

    /// Returns the number of records added.
    pub fn count(&self) -> u64 {
        self.counted.records
    }

    /// Returns the size of the table so far, in bytes, as Pebble's `EstimatedSize` does: blocks
    /// that are complete as they are stored, the one being filled and the part of the index
    /// being filled before compression.
    pub fn estimated_size(&self) -> u64 {
        let complete = self.file.len() - self.sealed;
        (complete + self.block.estimated_size() + self.index.estimated_size()) as u64
    }

    /// Adds a record; `value` is a framed value. Fails with [`Error::Order`] unless the key is
    /// greater than the last one, and with [`Error::Invalid`] for a record above 256 MiB.
    pub fn add(&mut self, key: &[u8], value: &[u8]) -> Result<()> {
        self.check_next(key)?;
        if key.len() + value.len() > MAX_RECORD {
            let size = key.len() + value.len();
            return Err(Error::Invalid(format!(
                "a record of {size} bytes is too large"
            )));
        }
        self.start_record(key, value.len())?;
        self.block.add(key, &SET_TRAILER, value);
        self.digest.add(key, value);
        self.counted.records += 1;
        self.counted.key_bytes += (key.len() + KEY_TRAILER_LEN) as u64;
        self.counted.value_bytes += value.len() as u64;
        Ok(())
    }

    /// Adds all records of a block of another table, of which `sealed` are the stored bytes,
    /// trailer included. The result is that of adding them one by one; when the block can stand
    /// in this table as it stands in the other, which is when a block begins with its first
    /// record and its writer followed the same rules, its stored bytes are copied and need not
    /// be made again.
    pub fn add_block(&mut self, block: &BlockScan, sealed: &[u8]) -> Result<()> {
        let Some(last_key) = block.last_key() else {
            return Ok(());
        };
        if !block.is_canonical() {
            return (0..block.records()).try_for_each(|number| {
                let (key, value) = block.record(number);
                self.add(key, value)
            });
        }
        let (key, value) = block.record(0);
        self.check_next(key)?;
        let starts_block = self.block.records() == 0
            || self
                .block
                .cuts_before(key.len() + KEY_TRAILER_LEN, value.len());
        if starts_block {
            self.start_record(key, value.len())?;
            self.file.extend_from_slice(sealed);
            self.sealed = sealed.len();
            self.block
                .stand_for(block.size(), block.records(), [last_key, &SET_TRAILER]);
        } else {
            self.add_stored(block)?;
        }
        self.digest.add_text(block.digest_text());
        let (key_bytes, value_bytes) = block.sizes();
        self.counted.records += block.records() as u64;
        self.counted.key_bytes += key_bytes;
        self.counted.value_bytes += value_bytes;
        Ok(())
    }

    /// Fills blocks with the records of a canonical block of another table.
    fn add_stored(&mut self, block: &BlockScan) -> Result<()> {
        for number in 0..block.records() {
            let (key, value) = block.record(number);
            self.start_record(key, value.len())?;
            match block.stored(number) {
                Some(record) if !self.block.at_restart() => self.block.add_stored(&record),
                _ => self.block.add(key, &SET_TRAILER, value),
            }
        }
        Ok(())
    }

    fn check_next(&self, key: &[u8]) -> Result<()> {
        let last = user_key(self.block.last_key());
        if self.count() > 0 && key <= last {
            let [key, last] = [key, last].map(String::from_utf8_lossy);
            return Err(Error::Order(format!(
                "the key {key:?} comes after {last:?}"
            )));
        }
        Ok(())
    }

    /// Cuts the block if the rule wants it cut before this record, else makes room in it.
    fn start_record(&mut self, key: &[u8], value_len: usize) -> Result<()> {
        if self.count() == 0 {
            self.min_key.extend_from_slice(key);
        } else if self
            .block
            .cuts_before(key.len() + KEY_TRAILER_LEN, value_len)
        {
            self.cut_block(Some(key));
        } else if self.sealed > 0 {
            self.unseal()?;
        }
        Ok(())
    }

    /// Takes the block being filled back from the file, so that records can be added to it.
    fn unseal(&mut self) -> Result<()> {
        let start = self.file.len() - std::mem::take(&mut self.sealed);
        let length = self.file.len() - start - TRAILER_LEN;
        let mut scratch = Vec::new();
        RawBlock::read(&self.file, start as u64, length as u64)
            .and_then(|raw| self.block.fill(Block::parse(raw.content(&mut scratch)?)?))
            .map_err(|fault| Error::Invalid(fault.into()))?;
        self.file.truncate(start);
        Ok(())
    }

    fn cut_block(&mut self, next: Option<&[u8]>) {
        let handle = match std::mem::take(&mut self.sealed) {
            0 => append_block(self.block.finish(), &mut self.file, &mut self.compressor),
            length => Handle {
                offset: (self.file.len() - length) as u64,
                length: (length - TRAILER_LEN) as u64,
            },
        };
        self.block.clear();
        let separator = index_key(self.block.last_key(), next);
        self.index.add(&separator, handle);
    }

    /// Completes the table. `metadata` becomes properties and part of the id.
    pub fn finish(mut self, metadata: &[(String, String)]) -> Result<FinishedTable> {
        let estimated_size = self.estimated_size();
        let max_key = user_key(self.block.last_key()).to_vec();
        self.cut_block(None);
        self.counted.data_size = self.file.len() as u64;
        let count = self.counted.records;

        let mut hashed: BTreeMap<String, String> = metadata.iter().cloned().collect();
        hashed.insert(properties::TYPE.into(), self.kind.name().into());
        let hashed: Vec<(String, String)> = hashed.into_iter().collect();

        let summary = self.index.finish(&mut self.file, &mut self.compressor);
        let mut all = rocksdb_properties(&self.counted, &summary);
        all.extend(
            hashed
                .iter()
                .map(|(name, value)| (name.clone(), value.clone().into())),
        );
        all.insert(properties::MIN_KEY.into(), self.min_key.clone());
        all.insert(properties::MAX_KEY.into(), max_key.clone());
        all.insert(properties::COUNT.into(), count.to_string().into());
        all.insert(
            properties::ESTIMATED_SIZE.into(),
            estimated_size.to_string().into(),
        );
        append_tail(&mut self.file, &properties::encode(&all), summary.handle);

        Ok(FinishedTable {
            id: self.digest.finish(&hashed),
            bytes: self.file,
            min_key: self.min_key,
            max_key,
            count,
            estimated_size,
        })
    }
}

/// Appends a block that is never compressed.
fn append_plain(content: &[u8], file: &mut Vec<u8>) -> Handle {
    let handle = Handle {
        offset: file.len() as u64,
        length: content.len() as u64,
    };
    plain(content).append_to(file);
    handle
}

/// Appends the properties, the list of meta blocks that names them, and the footer.
fn append_tail(file: &mut Vec<u8>, properties: &[u8], index: Handle) {
    let mut value = Vec::new();
    append_plain(properties, file).encode(&mut value);
    let mut list = BlockWriter::new(1);
    list.add(b"rocksdb.properties", &[], &value);
    let metaindex = append_plain(list.finish(), file);
    Footer { metaindex, index }.append_to(file);
}
