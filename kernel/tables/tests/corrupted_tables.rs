//! A file of which any byte is wrong is found out: never other records, never a panic.

mod samples;

use std::sync::Arc;

use anabranch_tables::table::Table;
use anabranch_tables::table::verify::verify;
use anabranch_tables::{Error, Result};
use samples::{Records, sample_records, table_bytes, walk};

/// Opens a table and reads all of it.
fn read_all(bytes: Vec<u8>) -> Result<Records> {
    let table = Arc::new(Table::from_bytes(bytes, "corrupted")?);
    let found = walk(&table)?;
    verify(&table)?;
    Ok(found)
}

/// Look-ups in a corrupted table give what is there or an error.
fn expect_true_look_ups(bytes: &[u8], records: &Records) {
    let Ok(table) = Table::from_bytes(bytes.to_vec(), "corrupted") else {
        return;
    };
    let mut scratch = Vec::new();
    for (key, value) in records {
        match table.get(key, &mut scratch) {
            Ok(found) => assert_eq!(found, Some(value.as_slice())),
            Err(error) => assert!(matches!(error, Error::Corrupt { .. }), "{error}"),
        }
    }
}

#[test]
fn every_flipped_byte_is_found() {
    let records = sample_records(60);
    let bytes = table_bytes(&records);
    assert_eq!(read_all(bytes.clone()).unwrap(), records);
    for position in 0..bytes.len() {
        for flip in [0x01, 0x80, 0xff] {
            let mut corrupted = bytes.clone();
            corrupted[position] ^= flip;
            expect_true_look_ups(&corrupted, &records);
            let found = read_all(corrupted).map(|_| ());
            assert!(matches!(found, Err(Error::Corrupt { .. })), "{position}");
        }
    }
}

#[test]
fn every_truncation_is_found() {
    let bytes = table_bytes(&sample_records(60));
    for length in 0..bytes.len() {
        let front = Table::from_bytes(bytes[..length].to_vec(), "front");
        assert!(matches!(front, Err(Error::Corrupt { .. })));
        let back = Table::from_bytes(bytes[bytes.len() - length..].to_vec(), "back");
        assert!(matches!(back, Err(Error::Corrupt { .. })));
    }
}

#[test]
fn errors_name_the_file() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("f00d");
    assert!(matches!(
        Table::open(&path).err(),
        Some(Error::Missing { table_id, .. }) if table_id == "f00d"
    ));
    for content in [&b""[..], b"short", &[0; 4096]] {
        std::fs::write(&path, content).unwrap();
        let error = Table::open(&path).err().unwrap();
        assert!(matches!(error, Error::Corrupt { path: p, .. } if p.ends_with("f00d")));
    }
    let error = Table::open(folder.path()).err().unwrap();
    assert!(matches!(error, Error::Corrupt { .. }), "{error}");
}
