//! Trees against plain maps, and apply against its rule followed one record at a time.
//!
//! The keys are few, so that changes meet; among them are keys that end ranges, and values are
//! long enough to fill blocks, so that a small tree has many ranges and blocks.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::LazyLock;

use proptest::prelude::*;

use super::application::Application;
use super::apply::apply;
use super::merging::merge::{Merged, Rules, Sides, Strategy as Resolve, count, merge_within};
use super::merging::merge_rule::merge_by_the_rule;
use super::pages::list_range::successor;
use super::testing::{Folder, value};
use super::{
    Change, ChangeCounts, Changes, DiffPage, Kind, ListRange, Row, Tree, WriteResult, compare_page,
    diff_page,
};
use crate::codec::RangeInfo;
use crate::ranges::{RangeWriter, break_after};

type Records = BTreeMap<Vec<u8>, Vec<u8>>;
type Edits = BTreeMap<usize, Option<u8>>;

const KEY_COUNT: usize = 16 * 7;

/// Sixteen keys that end ranges, and six between each two, of which one comes next of all keys.
pub(super) static KEYS: LazyLock<Vec<Vec<u8>>> = LazyLock::new(|| {
    let names = (0u32..).map(|n| format!("k{n:07}").into_bytes());
    let mut keys = vec![b"k".to_vec()];
    for name in names {
        let cuts = break_after(&name, 0);
        if cuts || keys.len() % 7 < 6 {
            keys.push(name.clone());
        }
        if keys.len() == KEY_COUNT {
            return keys;
        }
        if cuts {
            keys.push(successor(&name));
        }
    }
    keys
});

/// Returns a value whose identity is one of a few; its data, of up to 1.5 KB, do not compress.
fn valued(key: usize, identity: u8) -> Vec<u8> {
    let mut state = key as u64 * 7 + u64::from(identity) + 1;
    let noise = (0..key % 4 * 500).map(|_| {
        state = state
            .wrapping_mul(6_364_136_223_846_793_005)
            .wrapping_add(1);
        char::from(b' ' + (state >> 58) as u8)
    });
    value(&format!("identity {identity}"), &noise.collect::<String>())
}

fn records() -> impl Strategy<Value = Edits> {
    let dense = prop::collection::btree_map(0..KEY_COUNT, (0..3u8).prop_map(Some), 60..KEY_COUNT);
    prop_oneof![edits(60), dense]
}

/// Changes of single keys and, often, one change of all the keys in a row.
fn edits(most: usize) -> impl Strategy<Value = Edits> {
    let change = || prop::option::weighted(0.7, 0..3u8);
    let single = prop::collection::btree_map(0..KEY_COUNT, change(), 0..most);
    let row = (0..KEY_COUNT, 0..30usize, change());
    (single, prop::option::of(row)).prop_map(|(mut edits, row)| {
        if let Some((first, length, change)) = row {
            edits.extend((first..KEY_COUNT).take(length).map(|key| (key, change)));
        }
        edits
    })
}

fn edited(records: &Records, edits: &Edits) -> Records {
    let mut records = records.clone();
    for (&key, identity) in edits {
        match identity {
            Some(identity) => records.insert(KEYS[key].clone(), valued(key, *identity)),
            None => records.remove(&KEYS[key]),
        };
    }
    records
}

fn packed(edits: &Edits) -> Changes {
    let mut changes = Changes::default();
    for (&key, identity) in edits {
        let value = identity.map(|identity| valued(key, identity));
        let parts = value.as_deref().and_then(crate::codec::decode_value);
        changes.push(&KEYS[key], parts).unwrap();
    }
    changes
}

fn read(tree: &Tree) -> Records {
    let mut records = Records::new();
    let mut cursor = tree.cursor();
    while let Some((key, value)) = cursor.record().unwrap() {
        records.insert(key.to_vec(), value.to_vec());
        cursor.next().unwrap();
    }
    assert_eq!(records.len() as u64, tree.count());
    records
}

fn kind_of(left: Option<&Vec<u8>>, right: Option<&Vec<u8>>) -> Kind {
    match (left, right) {
        (None, _) => Kind::Added,
        (_, None) => Kind::Removed,
        _ => Kind::Changed,
    }
}

fn model_diff(left: &Records, right: &Records) -> Vec<Row> {
    let keys = KEYS.iter().filter(|key| left.get(*key) != right.get(*key));
    keys.map(|key| Row {
        kind: kind_of(left.get(key), right.get(key)),
        key: key.clone(),
        left: left.get(key).cloned(),
        right: right.get(key).cloned(),
    })
    .collect()
}

fn model_compare(dest: &Records, source: &Records, base: &Records) -> Vec<Row> {
    let all = model_diff(dest, source).into_iter();
    let changed = all.filter(|row| source.get(&row.key) != base.get(&row.key));
    changed
        .map(|row| match dest.get(&row.key) == base.get(&row.key) {
            true => row,
            false => Row {
                kind: Kind::Conflict,
                ..row
            },
        })
        .collect()
}

fn count_changes(rows: &[Row]) -> ChangeCounts {
    let count = |kind: Kind| rows.iter().filter(|row| row.kind == kind).count() as u64;
    ChangeCounts {
        added: count(Kind::Added),
        changed: count(Kind::Changed),
        removed: count(Kind::Removed),
    }
}

/// Follows the rule of a commit one record at a time, on one thread.
fn apply_by_the_rule(folder: &Folder, base: &Tree, changes: &Changes) -> Vec<RangeInfo> {
    let mut out = RangeWriter::new(folder.path());
    let mut changes = changes.slice(0..changes.len()).peekable();
    for info in base.ranges() {
        if changes
            .peek()
            .is_none_or(|next| *next.key > info.max_key[..])
        {
            out.add_range(info.clone()).unwrap();
            continue;
        }
        let mut cursor = base.cursor();
        cursor.seek(&info.min_key).unwrap();
        while let Some((key, value)) = cursor.record().unwrap() {
            if key > info.max_key.as_slice() {
                break;
            }
            while let Some(change) = changes.next_if(|change| change.key < key) {
                add_if_given(&mut out, &change);
            }
            match changes.next_if(|change| change.key == key) {
                Some(change) => add_if_given(&mut out, &change),
                None => out.add(key, value).unwrap(),
            }
            cursor.next().unwrap();
        }
    }
    changes.for_each(|change| add_if_given(&mut out, &change));
    out.finish().unwrap().0
}

fn add_if_given(out: &mut RangeWriter, change: &Change<'_>) {
    if let Some(value) = change.value {
        out.add(change.key, value).unwrap();
    }
}

/// A tree, and what it holds, that came about by commits, so that its cuts tell its history.
fn committed(folder: &Folder, history: &[Edits]) -> (Tree, Records) {
    let (mut tree, mut records) = (folder.open(""), Records::new());
    for edits in history {
        let result = apply(&tree, &packed(edits), folder.path()).unwrap();
        tree = folder.open(&result.metarange_id);
        records = edited(&records, edits);
    }
    (tree, records)
}

/// Asserts that ranges that were written end where a key's hash says, and nowhere else but
/// before ranges that were kept and at the tree's end.
fn assert_cuts_are_canonical(tree: &Tree, origins: [&Tree; 2]) {
    let kept = |info: &RangeInfo| origins.iter().any(|origin| origin.has_range(info));
    let keys: Vec<Vec<u8>> = read(tree).into_keys().collect();
    for (number, info) in tree.ranges().iter().enumerate() {
        let next_is_kept = tree.ranges().get(number + 1).is_none_or(kept);
        let within = keys
            .iter()
            .filter(|key| (&info.min_key..&info.max_key).contains(key));
        let cuts_within = within.filter(|key| break_after(key, 0)).count();
        let ends_well = break_after(&info.max_key, 0) || next_is_kept;
        assert!(kept(info) || (ends_well && cuts_within == 0), "{info:?}");
    }
}

fn page(rows: Vec<Row>) -> DiffPage {
    DiffPage {
        rows,
        has_more: false,
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 160, ..ProptestConfig::default() })]

    #[test]
    fn applying_follows_the_rule(history in prop::collection::vec(records(), 1..4), last in edits(20)) {
        let folder = Folder::new();
        let (base, before) = committed(&folder, &history);
        prop_assert_eq!(&read(&base), &before);
        let after = edited(&before, &last);
        let changes = model_diff(&before, &after);
        let result = apply(&base, &packed(&last), folder.path()).unwrap();
        prop_assert_eq!(result.counts, count_changes(&changes));
        prop_assert_eq!(result.count, after.len() as u64);
        let tree = folder.open(&result.metarange_id);
        prop_assert_eq!(&read(&tree), &after);
        if changes.is_empty() {
            prop_assert_eq!(result, WriteResult::existing(&base, ChangeCounts::default()));
        } else {
            let by_the_rule = apply_by_the_rule(&folder, &base, &packed(&last));
            prop_assert_eq!(tree.ranges(), by_the_rule);
        }
    }

    #[test]
    fn changes_in_several_passes_are_those_of_one(
        history in prop::collection::vec(records(), 1..4),
        last in edits(60),
        memory in prop::sample::select(vec![0, 200, 2000]),
    ) {
        let folder = Folder::new();
        let (base, before) = committed(&folder, &history);
        let changes = packed(&last);
        let mut application = Application::within(memory, &base, folder.path());
        for change in changes.slice(0..changes.len()) {
            let parts = change.value.and_then(crate::codec::decode_value);
            if application.push(change.key, parts).unwrap() {
                application.apply_waiting().unwrap();
            }
        }
        let result = application.finish().unwrap();
        let at_once = apply(&base, &changes, folder.path()).unwrap();
        prop_assert_eq!(result.counts, at_once.counts);
        prop_assert_eq!(result.count, at_once.count);
        let tree = folder.open(&result.metarange_id);
        prop_assert_eq!(&read(&tree), &edited(&before, &last));
        let new = tree.ranges().iter().filter(|info| !base.has_range(info));
        let expected: BTreeSet<&str> = new.map(|info| info.id.as_str()).collect();
        let tables = result.tables.iter().filter(|&id| *id != result.metarange_id);
        prop_assert_eq!(tables.map(String::as_str).collect::<BTreeSet<_>>(), expected);
        if result.counts.is_zero() {
            prop_assert_eq!(result.metarange_id, base.metarange_id());
        }
    }

    #[test]
    fn a_tree_written_at_once_is_one_applied_to_nothing(edits in records()) {
        let folder = Folder::new();
        let (tree, records) = committed(&folder, std::slice::from_ref(&edits));
        let at_once = folder.tree(&records);
        match records.is_empty() {
            true => prop_assert_eq!(tree.metarange_id(), ""),
            false => prop_assert_eq!(at_once.metarange_id(), tree.metarange_id()),
        }
    }

    #[test]
    fn differences_are_those_of_maps(shared in records(), one in edits(20), other in edits(20)) {
        let folder = Folder::new();
        let (left, left_records) = committed(&folder, &[shared.clone(), one]);
        let (right, right_records) = committed(&folder, &[shared, other]);
        let expected = model_diff(&left_records, &right_records);
        let found = diff_page(&left, &right, &ListRange::default(), None, 1000).unwrap();
        prop_assert_eq!(found, page(expected));
    }

    #[test]
    fn merges_are_those_of_maps(
        shared in prop_oneof![Just(Vec::new()), prop::collection::vec(records(), 1..3)],
        ours in prop::collection::vec(edits(12), 0..3),
        theirs in prop::collection::vec(edits(12), 0..3),
        memory in prop::sample::select(vec![0, 2000, 1 << 20]),
        resolve in prop::sample::select(vec![Resolve::None, Resolve::SourceWins, Resolve::DestWins]),
        max_conflicts in 0usize..6,
    ) {
        let folder = Folder::new();
        let (base, base_records) = committed(&folder, &shared);
        let (dest, dest_records) = committed(&folder, &[shared.clone(), ours].concat());
        let (source, source_records) = committed(&folder, &[shared, theirs].concat());
        let rows = model_compare(&dest_records, &source_records, &base_records);
        let compared = compare_page(&dest, &source, &base, &ListRange::default(), 1000).unwrap();
        prop_assert_eq!(&compared, &page(rows.clone()));

        let sides = Sides { dest: &dest, source: &source, base: &base };
        let rules = Rules { strategy: resolve, max_conflicts };
        let merged = merge_within(memory, sides, &folder.path().into(), rules).unwrap();
        let conflicts: Vec<&Row> = rows.iter().filter(|row| row.kind == Kind::Conflict).collect();
        if resolve == Resolve::None && !conflicts.is_empty() {
            let first = conflicts.iter().take(max_conflicts).map(|row| row.key.clone());
            prop_assert_eq!(merged, Merged {
                result: None,
                conflicts: first.collect(),
                has_more: conflicts.len() > max_conflicts,
            });
            let (counts, conflict_count) = count(sides).unwrap();
            prop_assert_eq!(conflict_count, conflicts.len() as u64);
            let taken = rows.iter().filter(|row| row.kind != Kind::Conflict);
            prop_assert_eq!(counts, count_changes(&taken.cloned().collect::<Vec<_>>()));
            return Ok(());
        }
        let mut expected = dest_records.clone();
        let taken = rows.iter().filter(|row| {
            row.kind != Kind::Conflict || resolve == Resolve::SourceWins
        });
        for row in taken {
            match &row.right {
                Some(value) => expected.insert(row.key.clone(), value.clone()),
                None => expected.remove(&row.key),
            };
        }
        prop_assert!(merged.conflicts.is_empty() && !merged.has_more);
        let result = merged.result.unwrap();
        let tree = folder.open(&result.metarange_id);
        prop_assert_eq!(&read(&tree), &expected);
        prop_assert_eq!(result.counts, count_changes(&model_diff(&dest_records, &expected)));
        prop_assert_eq!(result.count, expected.len() as u64);
        if ![dest.metarange_id(), source.metarange_id()].contains(&base.metarange_id()) {
            prop_assert_eq!(tree.ranges(), merge_by_the_rule(&folder, sides, resolve));
        }
        assert_cuts_are_canonical(&tree, [&dest, &source]);
    }
}

#[test]
fn many_ranges_are_found_in_the_trees_of_these_tests() {
    let folder = Folder::new();
    let all: Edits = (0..KEYS.len()).map(|key| (key, Some(1))).collect();
    let (tree, _) = committed(&folder, &[all]);
    assert_eq!(tree.ranges().len(), 16);
    let blocks: usize = (0..16).map(|n| tree.table(n).unwrap().block_count()).sum();
    assert!(blocks > 24, "{blocks}");
}
