//! Tables hold what a plain map holds, however they are asked.

mod samples;

use std::sync::Arc;

use anabranch_tables::Error;
use anabranch_tables::table::verify::verify;
use anabranch_tables::table::{BlockScan, Kind, Table, TableWriter};
use proptest::prelude::*;
use samples::foreign::{self, Manner, OURS};
use samples::{Records, open, records, sample_records, table_bytes, walk};

fn expect_walks_and_look_ups(records: &Records, others: &Records) {
    let table = open(table_bytes(records));
    assert_eq!(&walk(&table).unwrap(), records);
    assert_eq!(table.properties().count(), records.len() as u64);
    let mut scratch = Vec::new();
    let mut cursor = table.cursor();
    for key in others.keys().chain(records.keys()) {
        let found = table.get(key, &mut scratch).unwrap();
        assert_eq!(found, records.get(key).map(Vec::as_slice));
        cursor.seek(key).unwrap();
        let mut expected = records.range(key.clone()..);
        for _ in 0..3 {
            let next = expected.next().map(|(k, v)| (&k[..], &v[..]));
            let here = cursor.valid().then(|| (cursor.key(), cursor.value()));
            assert_eq!(here, next);
            cursor.next().unwrap();
        }
    }
}

/// Adds each table's records to one writer, whole blocks where `whole` says so.
fn rewrite(tables: &[Arc<Table>], mut whole: impl FnMut() -> bool) -> Vec<u8> {
    let mut writer = TableWriter::new(Kind::Ranges);
    let mut scan = BlockScan::default();
    for table in tables {
        for block in 0..table.block_count() {
            scan.load(table, block).unwrap();
            if whole() {
                let sealed = table.sealed_block(block).unwrap();
                writer.add_block(&scan, sealed).unwrap();
            } else {
                for number in 0..scan.records() {
                    let (key, value) = scan.record(number);
                    writer.add(key, value).unwrap();
                }
            }
        }
    }
    writer.finish(&[]).unwrap().bytes
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(60))]

    #[test]
    fn walks_and_look_ups(records in records(), others in records()) {
        expect_walks_and_look_ups(&records, &others);
    }

    #[test]
    fn blocks_tell_where_they_are(records in records()) {
        let table = open(table_bytes(&records));
        let mut cursor = table.cursor();
        cursor.first().unwrap();
        let mut last = None;
        while cursor.valid() {
            let block = cursor.block_index();
            prop_assert_eq!(table.find_block(cursor.key()), block);
            prop_assert_eq!(cursor.at_block_start(), last != Some(block));
            prop_assert!(cursor.key() <= &table.separator(block)[..]);
            last = Some(block);
            cursor.next().unwrap();
        }
    }

    /// Two tables, one behind the other, with records taken out and changed here and there.
    #[test]
    fn copied_blocks_give_the_bytes_of_single_records(
        records in records(),
        split in 0..250usize,
        edits in prop::collection::btree_set(0..250usize, 0..4),
        choices in prop::collection::vec(any::<bool>(), 1..20),
    ) {
        let all: Vec<_> = records.iter().collect();
        let (low, high) = all.split_at(split.min(all.len()));
        let part = |part: &[(&Vec<u8>, &Vec<u8>)]| -> Records {
            let kept = part.iter().enumerate().filter(|(number, _)| !edits.contains(number));
            kept.map(|(_, (key, value))| ((*key).clone(), (*value).clone())).collect()
        };
        let (low, high) = (part(low), part(high));
        let expected: Records = low.iter().chain(&high).map(|(k, v)| (k.clone(), v.clone())).collect();
        let tables = [open(table_bytes(&low)), open(table_bytes(&high))];
        let mut turn = choices.iter().cycle();
        let rewritten = rewrite(&tables, || *turn.next().unwrap());
        prop_assert!(rewritten == table_bytes(&expected));
        prop_assert!(rewrite(&tables, || true) == table_bytes(&expected));
    }

    #[test]
    fn blocks_that_others_cut_are_not_copied(
        records in records(),
        restart_interval in prop::sample::select(vec![1, 2, 8, 15, 16, 17, 64]),
        records_in_block in 1..60usize,
    ) {
        let manner = Manner { restart_interval, records_in_block, ..OURS };
        let list: Vec<_> = records.clone().into_iter().collect();
        let foreign = open(foreign::table_bytes(&list, &manner));
        prop_assert_eq!(&walk(&foreign).unwrap(), &records);
        prop_assert!(rewrite(&[foreign], || true) == table_bytes(&records));
    }

    #[test]
    fn blocks_of_our_own_can_be_copied(records in records()) {
        let table = open(table_bytes(&records));
        let mut scan = BlockScan::default();
        for block in 0..table.block_count() {
            scan.load(&table, block).unwrap();
            // The one block of an empty table is no more than a restart.
            prop_assert!(scan.is_canonical() || records.is_empty());
        }
    }

    #[test]
    fn a_table_verifies_to_its_id(records in records()) {
        let mut writer = TableWriter::new(Kind::Metaranges);
        for (key, value) in &records {
            writer.add(key, value).unwrap();
        }
        let table = writer.finish(&[("a".into(), "b".into())]).unwrap();
        prop_assert_eq!(verify(&open(table.bytes)).unwrap(), table.id);
    }
}

/// A block of 40 records that is not cut by any rule.
fn one_block() -> Records {
    let key = |number: usize| format!("stem/{number:02}").into_bytes();
    (0..40)
        .map(|number| (key(number), vec![7; number]))
        .collect()
}

#[test]
fn blocks_that_others_encode_are_not_copied() {
    let records = one_block();
    let list: Vec<_> = records.clone().into_iter().collect();
    let expected = table_bytes(&records);
    let ours = open(foreign::table_bytes(&list, &OURS));
    let mut scan = BlockScan::default();
    scan.load(&ours, 0).unwrap();
    assert!(scan.is_canonical(), "our manner is canonical");
    for manner in [
        Manner {
            restart_interval: 8,
            ..OURS
        },
        Manner {
            restart_interval: 64,
            ..OURS
        },
        Manner {
            shares_less: 1,
            ..OURS
        },
        Manner {
            shares_less: 99,
            ..OURS
        },
        Manner {
            long_lengths: true,
            ..OURS
        },
        Manner {
            lists_a_restart_twice: true,
            ..OURS
        },
        Manner {
            names_a_wrong_restart: true,
            ..OURS
        },
        Manner {
            shares_at_restarts: true,
            ..OURS
        },
        Manner {
            sequence_number: 5,
            ..OURS
        },
    ] {
        let foreign = open(foreign::table_bytes(&list, &manner));
        assert_eq!(walk(&foreign).unwrap(), records, "{manner:?}");
        assert!(rewrite(&[foreign], || true) == expected, "{manner:?}");
    }
}

#[test]
fn blocks_out_of_order_are_refused() {
    let mut list: Vec<_> = one_block().into_iter().collect();
    list.swap(3, 20);
    let foreign = open(foreign::table_bytes(&list, &OURS));
    let mut scan = BlockScan::default();
    scan.load(&foreign, 0).unwrap();
    let mut writer = TableWriter::new(Kind::Ranges);
    let added = writer.add_block(&scan, foreign.sealed_block(0).unwrap());
    assert!(matches!(added, Err(Error::Order(_))));
    assert!(verify(&foreign).is_err());
}

#[test]
fn an_index_of_two_levels() {
    let records = sample_records(20_000);
    let table = open(table_bytes(&records));
    assert!(table.properties().index_has_two_levels().unwrap());
    assert!(table.block_count() > 500);
    assert_eq!(walk(&table).unwrap(), records);
    let mut scratch = Vec::new();
    for (key, value) in records.iter().step_by(97) {
        assert_eq!(
            table.get(key, &mut scratch).unwrap(),
            Some(value.as_slice())
        );
    }
    let bytes = rewrite(&[table], || true);
    assert!(bytes == table_bytes(&records));
}

#[test]
fn keys_out_of_order_are_refused_and_change_nothing() {
    let mut writer = TableWriter::new(Kind::Ranges);
    writer.add(b"b", b"1").unwrap();
    for key in [&b"b"[..], b"a", b""] {
        assert!(matches!(writer.add(key, b"2"), Err(Error::Order(_))));
    }
    writer.add(b"c", b"3").unwrap();
    let expected = Records::from([
        (b"b".to_vec(), b"1".to_vec()),
        (b"c".to_vec(), b"3".to_vec()),
    ]);
    assert!(writer.finish(&[]).unwrap().bytes == table_bytes(&expected));
}

#[test]
fn the_empty_key_and_a_table_without_records() {
    expect_walks_and_look_ups(&Records::from([(vec![], vec![])]), &Records::new());
    expect_walks_and_look_ups(&Records::new(), &Records::from([(vec![], vec![])]));
}
