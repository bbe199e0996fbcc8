//! The rule of a merge followed one range and one record at a time, for tests to compare with.

use std::collections::{BTreeMap, VecDeque};

use super::compare::{Verdict, verdict};
use super::merge::{Sides, Strategy};
use crate::codec::RangeInfo;
use crate::ranges::RangeWriter;
use crate::tree::testing::Folder;
use crate::tree::tree::Tree;

type Records = VecDeque<(Vec<u8>, Vec<u8>)>;

/// A side of a merge: the ranges ahead, and what is left of the one that was entered.
struct Side {
    ahead: VecDeque<(RangeInfo, Records)>,
    inside: Records,
}

impl Side {
    fn new(tree: &Tree) -> Side {
        let mut cursor = tree.cursor();
        let ahead = tree.ranges().iter().map(|info| {
            let mut records = Records::new();
            while let Some((key, value)) = cursor.record().unwrap()
                && key <= info.max_key.as_slice()
            {
                records.push_back((key.to_vec(), value.to_vec()));
                cursor.next().unwrap();
            }
            (info.clone(), records)
        });
        Side {
            ahead: ahead.collect(),
            inside: Records::new(),
        }
    }

    fn key(&self) -> Option<Vec<u8>> {
        self.inside.front().map(|(key, _)| key.clone())
    }

    fn whole(&self) -> Option<RangeInfo> {
        let (info, _) = self.ahead.front()?;
        self.inside.is_empty().then(|| info.clone())
    }

    fn enter(&mut self) {
        if self.inside.is_empty()
            && let Some((_, records)) = self.ahead.pop_front()
        {
            self.inside = records;
        }
    }

    fn take_value(&mut self, key: &[u8]) -> Option<Vec<u8>> {
        let is_here = self.inside.front().is_some_and(|(mine, _)| mine == key);
        is_here.then(|| self.inside.pop_front().unwrap().1)
    }
}

/// Returns the ranges of the merge of trees without conflicts that no strategy decides.
pub fn merge_by_the_rule(folder: &Folder, sides: Sides<'_>, strategy: Strategy) -> Vec<RangeInfo> {
    let mut out = RangeWriter::new(folder.path());
    let (mut dest, mut source) = (Side::new(sides.dest), Side::new(sides.source));
    let base: BTreeMap<_, _> = (Side::new(sides.base).ahead.into_iter())
        .flat_map(|(_, records)| records)
        .collect();
    let common = |info: &RangeInfo| {
        let mut ranges = sides.base.ranges().iter();
        ranges.find(|other| other.max_key >= info.min_key && other.min_key <= info.max_key)
    };
    loop {
        match (dest.whole(), source.whole()) {
            (None, None) if dest.inside.is_empty() && source.inside.is_empty() => break,
            (Some(ours), Some(theirs)) if ours.id == theirs.id => {
                source.ahead.pop_front();
                dest.ahead.pop_front();
                out.add_range(ours).unwrap();
            }
            (Some(ours), Some(theirs))
                if ours.min_key <= theirs.max_key && theirs.min_key <= ours.max_key =>
            {
                let bounds_agree = ours.min_key == theirs.min_key && ours.max_key == theirs.max_key;
                let id = common(&ours).filter(|_| bounds_agree).map(|info| &info.id);
                if id == Some(&ours.id) || id == Some(&theirs.id) {
                    dest.ahead.pop_front();
                    source.ahead.pop_front();
                    let taken = if id == Some(&theirs.id) { ours } else { theirs };
                    out.add_range(taken).unwrap();
                } else {
                    dest.enter();
                    source.enter();
                }
            }
            (ours, theirs) => {
                let keys = [dest.key(), source.key()];
                let least = keys.into_iter().flatten().min();
                let ours_is_first = match (&ours, &theirs) {
                    (Some(ours), Some(theirs)) => ours.max_key < theirs.min_key,
                    (ours, _) => ours.is_some(),
                };
                let (side, other) = match ours_is_first {
                    true => (&mut dest, &mut source),
                    false => (&mut source, &mut dest),
                };
                match (side.whole(), &least) {
                    (Some(info), Some(key)) if info.min_key <= *key && *key <= info.max_key => {
                        side.enter();
                    }
                    (Some(info), least) if least.as_ref().is_none_or(|key| info.max_key < *key) => {
                        match common(&info) {
                            None => {
                                out.add_range(info).unwrap();
                                side.ahead.pop_front();
                            }
                            Some(found) if found.id == info.id => {
                                side.ahead.pop_front();
                            }
                            Some(_) => {
                                side.enter();
                                other.enter();
                            }
                        }
                    }
                    _ => {
                        let key = least.unwrap();
                        let (ours, theirs) = (dest.take_value(&key), source.take_value(&key));
                        let base = base.get(&key).map(Vec::as_slice);
                        let taken = match verdict(ours.as_deref(), theirs.as_deref(), base) {
                            Some(Verdict::Keep) => ours,
                            Some(Verdict::Take) => theirs,
                            _ if strategy == Strategy::SourceWins => theirs,
                            _ => ours,
                        };
                        if let Some(value) = taken {
                            out.add(&key, &value).unwrap();
                        }
                    }
                }
            }
        }
    }
    out.finish().unwrap().0
}
