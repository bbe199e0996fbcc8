//! Tables that a real lakeFS 1.84 server wrote: read, and written again byte for byte.

use std::fs;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use anabranch_tables::codec::RangeInfo;
use anabranch_tables::ranges::{RangeWriter, write_metarange};
use anabranch_tables::table::{Kind, Table, TableWriter, verify_table};

/// Returns the tables that `tests/data/lakefs-1.84-trees/README.md` describes and, if the environment
/// variable `ANABRANCH_FIXTURES` names their folder, those of the larger recording.
fn tables() -> Vec<PathBuf> {
    let small =
        Path::new(env!("CARGO_MANIFEST_DIR")).join("../../tests/data/lakefs-1.84-trees/tables");
    let large = std::env::var_os("ANABRANCH_FIXTURES")
        .map(|folder| Path::new(&folder).join("written-by-lakefs-1.84/_lakefs"));
    let folders = std::iter::once(small).chain(large);
    let files = folders.flat_map(|folder| fs::read_dir(folder).unwrap());
    let tables: Vec<_> = files.map(|file| file.unwrap().path()).collect();
    assert!(tables.len() >= 18);
    tables
}

fn name(path: &Path) -> &str {
    path.file_name().unwrap().to_str().unwrap()
}

#[test]
fn ids_are_the_names() {
    for path in tables() {
        assert_eq!(verify_table(&path).unwrap(), name(&path));
    }
}

#[test]
fn records_and_blocks_written_again_give_the_same_bytes() {
    for path in tables() {
        let table = Arc::new(Table::open(&path).unwrap());
        let kind = table.properties().kind().unwrap();
        let mut by_record = TableWriter::new(kind);
        let mut cursor = table.cursor();
        cursor.first().unwrap();
        while cursor.valid() {
            by_record.add(cursor.key(), cursor.value()).unwrap();
            cursor.next().unwrap();
        }
        let again = by_record.finish(&[]).unwrap();
        assert_eq!(again.id, name(&path));
        assert!(
            again.bytes == fs::read(&path).unwrap(),
            "{}",
            path.display()
        );
        assert_eq!(again.min_key, table.properties().min_key());
        assert_eq!(again.max_key, table.properties().max_key());
        assert_eq!(again.count, table.properties().count());
        assert_eq!(again.estimated_size, table.properties().estimated_size());
    }
}

#[test]
fn trees_are_cut_into_the_same_ranges() {
    let mut trees = 0;
    for path in &tables() {
        let table = Arc::new(Table::open(path).unwrap());
        if table.properties().kind() != Some(Kind::Metaranges) {
            continue;
        }
        trees += 1;
        let mut expected = Vec::new();
        let mut cursor = table.cursor();
        cursor.first().unwrap();
        while cursor.valid() {
            expected.push(RangeInfo::decode_value(cursor.value()).unwrap());
            cursor.next().unwrap();
        }
        let folder = tempfile::tempdir().unwrap();
        let mut by_block = RangeWriter::new(folder.path());
        for info in &expected {
            let range = Table::open(&path.with_file_name(&info.id)).unwrap();
            for block in 0..range.block_count() {
                by_block.add_block(&range, block).unwrap();
            }
        }
        let (ranges, _) = by_block.finish().unwrap();
        assert_eq!(ranges, expected);
        let (id, written) = write_metarange(&ranges, &[], folder.path()).unwrap();
        assert_eq!(id, name(path));
        assert!(written);
        for file in fs::read_dir(folder.path()).unwrap() {
            let ours = file.unwrap().path();
            let theirs = path.with_file_name(ours.file_name().unwrap());
            assert!(fs::read(&ours).unwrap() == fs::read(theirs).unwrap());
        }
    }
    assert!(trees >= 5);
}
