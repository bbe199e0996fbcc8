//! Records and tables for tests.

#![allow(dead_code, reason = "each test file uses its own part")]

pub mod foreign;

use std::collections::BTreeMap;
use std::sync::Arc;

use anabranch_tables::table::{Kind, Table, TableWriter};
use proptest::prelude::*;

pub type Records = BTreeMap<Vec<u8>, Vec<u8>>;

/// Random numbers that are the same in every run (xorshift).
pub struct Random(pub u64);

impl Random {
    pub fn next(&mut self) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        self.0
    }

    /// Returns a number below `bound`.
    pub fn below(&mut self, bound: usize) -> usize {
        (self.next() % bound.max(1) as u64) as usize
    }

    pub fn bytes(&mut self, length: usize) -> Vec<u8> {
        (0..length).map(|_| self.next() as u8).collect()
    }
}

/// Keys with long shared beginnings and every kind of byte, and values of every length.
pub fn records() -> impl Strategy<Value = Records> {
    let part = prop::sample::select(vec![
        &b"a"[..],
        b"\0",
        b"\x01",
        b"\x01\0\0\0\0\0\0\0",
        b"year=2024/month=11/",
        b"\xfe",
        b"\xff",
        b"zz",
    ]);
    let parts = prop::collection::vec(part, 0..9).prop_map(|parts| parts.concat());
    let number = (0..3000u32).prop_map(|number| format!("data/part-{number:05}").into_bytes());
    let key = prop_oneof![1 => parts, 3 => number];
    let value = prop_oneof![
        4 => prop::collection::vec(any::<u8>(), 0..300),
        4 => (any::<u8>(), 0..600usize).prop_map(|(byte, length)| vec![byte; length]),
        1 => (any::<u64>(), 3000..9000usize).prop_map(|(seed, length)| Random(seed | 1).bytes(length)),
    ];
    prop::collection::btree_map(key, value, 0..250)
}

/// Returns a table's bytes.
pub fn table_bytes(records: &Records) -> Vec<u8> {
    let mut writer = TableWriter::new(Kind::Ranges);
    for (key, value) in records {
        writer.add(key, value).unwrap();
    }
    writer.finish(&[]).unwrap().bytes
}

pub fn open(bytes: Vec<u8>) -> Arc<Table> {
    Arc::new(Table::from_bytes(bytes, "sample").unwrap())
}

/// Reads all records by a cursor.
pub fn walk(table: &Arc<Table>) -> anabranch_tables::Result<Records> {
    let mut found = Records::new();
    let mut cursor = table.cursor();
    cursor.first()?;
    while cursor.valid() {
        found.insert(cursor.key().to_vec(), cursor.value().to_vec());
        cursor.next()?;
    }
    Ok(found)
}

/// Returns a table of the same shape for every run: compressible and incompressible blocks, and
/// an index of two levels when there are many records.
pub fn sample_records(count: usize) -> Records {
    let mut random = Random(0x5eed);
    (0..count)
        .map(|number| {
            let key = format!("{}/file-{number:06}", "folder".repeat(number % 3)).into_bytes();
            let value = if number % 2 == 0 {
                random.bytes(150)
            } else {
                vec![number as u8; 150]
            };
            (key, value)
        })
        .collect()
}
