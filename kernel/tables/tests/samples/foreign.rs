//! Good tables that other writers might have made: the same records, other bytes.

use anabranch_tables::table::footer::{Footer, Handle};
use anabranch_tables::table::index_writer::{IndexWriter, append_block};
use anabranch_tables::table::properties::{self, Counted, rocksdb_properties};
use anabranch_tables::table::separator::index_key;
use anabranch_tables::table::stored_block::Compressor;

/// How a writer differs from ours, if at all.
#[derive(Clone, Debug)]
pub struct Manner {
    pub records_in_block: usize,
    pub restart_interval: usize,
    /// How many bytes less than it could a key shares.
    pub shares_less: usize,
    /// Lengths take two bytes where one would do.
    pub long_lengths: bool,
    /// The restarts are listed once more than there are.
    pub lists_a_restart_twice: bool,
    /// The second restart is said to be where the record before it is.
    pub names_a_wrong_restart: bool,
    /// Keys share at restarts as well, which makes them useless.
    pub shares_at_restarts: bool,
    pub sequence_number: u8,
}

/// Our own manner, but for the number of records in a block.
pub const OURS: Manner = Manner {
    records_in_block: usize::MAX,
    restart_interval: 16,
    shares_less: 0,
    long_lengths: false,
    lists_a_restart_twice: false,
    names_a_wrong_restart: false,
    shares_at_restarts: false,
    sequence_number: 0,
};

/// Returns a table's bytes. The records need not be sorted.
pub fn table_bytes(records: &[(Vec<u8>, Vec<u8>)], manner: &Manner) -> Vec<u8> {
    let mut file = Vec::new();
    let mut compressor = Compressor::default();
    let mut index = IndexWriter::default();
    let in_block = manner.records_in_block.min(records.len().max(1));
    for (number, chunk) in records.chunks(in_block).enumerate() {
        let content = block(chunk, manner);
        let handle = append_block(&content, &mut file, &mut compressor);
        let next = records
            .get((number + 1) * in_block)
            .map(|(key, _)| key.as_slice());
        let last = internal(&chunk[chunk.len() - 1].0, manner);
        index.add(&index_key(&last, next), handle);
    }
    let counted = Counted {
        data_size: file.len() as u64,
        records: records.len() as u64,
        ..Counted::default()
    };
    let summary = index.finish(&mut file, &mut compressor);
    let properties = properties::encode(&rocksdb_properties(&counted, &summary));
    let mut value = Vec::new();
    append_block(&properties, &mut file, &mut compressor).encode(&mut value);
    let mut list = vec![0, 18, value.len() as u8];
    list.extend_from_slice(b"rocksdb.properties");
    list.extend_from_slice(&value);
    list.extend_from_slice(&[0, 0, 0, 0, 1, 0, 0, 0]);
    let metaindex: Handle = append_block(&list, &mut file, &mut compressor);
    let index = summary.handle;
    Footer { metaindex, index }.append_to(&mut file);
    file
}

fn internal(key: &[u8], manner: &Manner) -> Vec<u8> {
    [key, &[1, manner.sequence_number, 0, 0, 0, 0, 0, 0]].concat()
}

fn block(records: &[(Vec<u8>, Vec<u8>)], manner: &Manner) -> Vec<u8> {
    let (mut out, mut restarts, mut starts) = (Vec::new(), Vec::new(), Vec::new());
    let mut last = Vec::new();
    for (number, (user_key, value)) in records.iter().enumerate() {
        let key = internal(user_key, manner);
        let restarts_here = number % manner.restart_interval == 0;
        if restarts_here {
            restarts.push(out.len() as u32);
        }
        let shared = if restarts_here && !manner.shares_at_restarts {
            0
        } else {
            shared_prefix(&last, user_key).saturating_sub(manner.shares_less)
        };
        starts.push(out.len() as u32);
        for length in [shared, key.len() - shared, value.len()] {
            put_length(&mut out, length, manner.long_lengths);
        }
        out.extend_from_slice(&key[shared..]);
        out.extend_from_slice(value);
        last = key;
    }
    if manner.names_a_wrong_restart && restarts.len() > 1 {
        restarts[1] = starts[manner.restart_interval - 1];
    }
    if manner.lists_a_restart_twice {
        restarts.extend(restarts.last().copied());
    }
    for number in restarts.iter().copied().chain([restarts.len() as u32]) {
        out.extend_from_slice(&number.to_le_bytes());
    }
    out
}

fn put_length(out: &mut Vec<u8>, length: usize, long: bool) {
    if long && length < 0x80 {
        out.extend_from_slice(&[length as u8 | 0x80, 0]);
    } else {
        anabranch_tables::varint::put(out, length as u64);
    }
}

/// Returns how many first bytes two keys have in common.
fn shared_prefix(a: &[u8], b: &[u8]) -> usize {
    a.iter().zip(b).take_while(|(x, y)| x == y).count()
}
