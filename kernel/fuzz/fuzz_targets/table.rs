//! Any bytes are a table or an error.
//!
//! The input is a file as it is and, so that the fuzzer reaches what lies behind the checksums,
//! the blocks of a file that is put together with checksums that hold: a byte says which are
//! compressed, two numbers of 16 bits how long the data and the index are, the rest are the
//! properties. `seeds/table` has some of both.

#![no_main]

use std::sync::Arc;

use anabranch_tables::table::footer::{Footer, Handle};
use anabranch_tables::table::verify::verify;
use anabranch_tables::table::{BlockScan, RawBlock, Table};
use libfuzzer_sys::fuzz_target;

/// Appends a block, its checksum made to hold, and returns where it is.
fn append(file: &mut Vec<u8>, compression: u8, stored: &[u8]) -> Handle {
    let handle = Handle {
        offset: file.len() as u64,
        length: stored.len() as u64,
    };
    RawBlock {
        compression,
        stored,
    }
    .append_to(file);
    handle
}

/// Puts a file together: one data block, an index, properties, and a list that names them.
fn assemble(input: &[u8]) -> Option<Vec<u8>> {
    let ([compressions, a, b, c, d], rest) = input.split_first_chunk::<5>()?;
    let length = |low: &u8, high: &u8| usize::from(u16::from_le_bytes([*low, *high]));
    let (data, rest) = rest.split_at(length(a, b).min(rest.len()));
    let (index, properties) = rest.split_at(length(c, d).min(rest.len()));
    let mut file = Vec::new();
    append(&mut file, compressions & 1, data);
    let index = append(&mut file, compressions >> 1 & 1, index);
    let properties = append(&mut file, compressions >> 2 & 1, properties);
    let mut value = Vec::new();
    properties.encode(&mut value);
    let mut list = vec![0, 18, value.len() as u8];
    list.extend_from_slice(b"rocksdb.properties");
    list.extend_from_slice(&value);
    list.extend_from_slice(&[0, 0, 0, 0, 1, 0, 0, 0]);
    let metaindex = append(&mut file, 0, &list);
    Footer { metaindex, index }.append_to(&mut file);
    Some(file)
}

fn exercise(bytes: Vec<u8>) {
    let Ok(table) = Table::from_bytes(bytes, "fuzz") else {
        return;
    };
    let table = Arc::new(table);
    let mut keys = vec![Vec::new()];
    let mut cursor = table.cursor();
    if cursor.first().is_ok() {
        while cursor.valid() && keys.len() < 64 {
            keys.push(cursor.key().to_vec());
            if cursor.next().is_err() {
                break;
            }
        }
    }
    let _ = verify(&table);
    let mut scratch = Vec::new();
    for key in &keys {
        let _ = table.get(key, &mut scratch);
        let _ = cursor.seek(key);
    }
    let mut scan = BlockScan::default();
    for block in 0..table.block_count().min(64) {
        let _ = scan.load(&table, block);
    }
}

fuzz_target!(|input: &[u8]| {
    exercise(input.to_vec());
    if let Some(file) = assemble(input) {
        exercise(file);
    }
});
