//! The commits of a repository by number: a number is higher than those of older commits that were
//! added before or with it, so that walks to ancestors read memory in its order. Stored commits come in
//! the order of their ids, in which each step of a long walk would wait for memory.

use std::collections::HashMap;
use std::ops::Range;

use super::changed_paths;
use crate::codec::Fields;
use crate::error::{Error, Result};

/// A commit's id: the 32 bytes of its digest.
pub type CommitId = [u8; 32];

/// What is known of the paths that a commit changed, compared with its first parent.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum Changed {
    /// Nothing.
    #[default]
    Unknown,
    /// They were too many to list.
    Any,
    /// Where the graph holds their fingerprints.
    Paths(Range<usize>),
}

/// A commit of the graph.
#[derive(Debug)]
pub struct Commit {
    /// The id.
    pub id: CommitId,
    /// Seconds and nanoseconds since 1970.
    pub date: (i64, i32),
    /// One more than the highest of its parents; below 1 in lakeFS's oldest records.
    pub generation: i32,
    parents: Range<usize>,
    changed: Changed,
}

/// The commits of a repository. A commit is added together with, or after, its parents.
#[derive(Default)]
pub struct CommitGraph {
    commits: Vec<Commit>,
    numbers: HashMap<CommitId, u32>,
    parents: Vec<u32>,
    fingerprints: Vec<u32>,
}

/// The number of a parent that was not added.
const MISSING: u32 = u32::MAX;

impl CommitGraph {
    /// Returns the number of commits.
    pub fn len(&self) -> usize {
        self.commits.len()
    }

    /// Returns whether there are none.
    pub fn is_empty(&self) -> bool {
        self.commits.is_empty()
    }

    /// Returns the number of the commit with an id, None if the graph lacks it.
    pub fn number(&self, id: &CommitId) -> Option<u32> {
        self.numbers.get(id).copied()
    }

    /// Returns a commit by its number.
    pub fn get(&self, number: u32) -> &Commit {
        &self.commits[number as usize]
    }

    /// Returns the numbers of a commit's parents. Fails if one of them was not added.
    pub fn parents(&self, commit: &Commit) -> Result<&[u32]> {
        let parents = &self.parents[commit.parents.clone()];
        if parents.contains(&MISSING) {
            return Err(Error::Invalid("a parent is missing in the graph".into()));
        }
        Ok(parents)
    }

    /// Returns the ancestor that is `count` first parents back, and how many were followed: fewer
    /// if the history ends before. Fails if a parent was not added.
    pub fn first_parent_ancestor(&self, number: u32, count: u64) -> Result<(u32, u64)> {
        let (mut number, mut followed) = (number, 0);
        while followed < count {
            let Some(parent) = self.parents(self.get(number))?.first() else {
                break;
            };
            (number, followed) = (*parent, followed + 1);
        }
        Ok((number, followed))
    }

    /// Returns the sorted fingerprints of the paths that a commit changed, compared with its first
    /// parent; None if they are unknown or too many to list.
    pub fn changed_paths(&self, commit: &Commit) -> Option<&[u32]> {
        match &commit.changed {
            Changed::Paths(listed) => Some(&self.fingerprints[listed.clone()]),
            _ => None,
        }
    }

    /// Returns whether it is unknown which paths a commit changed.
    pub fn is_unknown(&self, number: u32) -> bool {
        self.get(number).changed == Changed::Unknown
    }

    /// Adds commits by their CommitData records. Those that the graph has are ignored.
    ///
    /// Fails for a malformed record, and adds none then.
    pub fn add<'a>(&mut self, records: impl Iterator<Item = &'a [u8]>) -> Result<()> {
        let mut decoded: Vec<Record> = records.map(Record::decode).collect::<Result<_>>()?;
        decoded.sort_by_key(|record| (record.date, record.generation));
        let first = self.commits.len();
        let mut parents: Vec<Vec<CommitId>> = Vec::new();
        for record in decoded {
            if self.numbers.contains_key(&record.id) {
                continue;
            }
            let number = u32::try_from(self.commits.len())
                .ok()
                .filter(|n| *n != MISSING);
            let number = number.ok_or_else(|| Error::Invalid("too many commits".into()))?;
            self.numbers.insert(record.id, number);
            self.commits.push(Commit {
                id: record.id,
                date: record.date,
                generation: record.generation,
                parents: 0..0,
                changed: Changed::Unknown,
            });
            parents.push(record.parents);
        }
        for (commit, ids) in self.commits[first..].iter_mut().zip(parents) {
            let start = self.parents.len();
            let numbers = ids.iter().map(|id| self.numbers.get(id).copied());
            self.parents
                .extend(numbers.map(|number| number.unwrap_or(MISSING)));
            commit.parents = start..self.parents.len();
        }
        Ok(())
    }

    /// Sets which paths commits changed, by the stored forms; returns how many were set or known. Left
    /// out are commits that the graph does not have, and damaged forms.
    pub fn set_changed<'a>(&mut self, rows: impl Iterator<Item = (CommitId, &'a [u8])>) -> usize {
        let found = rows.filter_map(|(id, stored)| Some((self.number(&id)?, id, stored)));
        let mut found: Vec<_> = found.collect();
        found.sort_unstable_by_key(|(number, ..)| *number);
        let mut count = 0;
        for (number, id, stored) in found {
            count += usize::from(self.set(number, &id, stored));
        }
        count
    }

    fn set(&mut self, number: u32, id: &CommitId, stored: &[u8]) -> bool {
        let known = &mut self.commits[number as usize].changed;
        if *known != Changed::Unknown {
            return true;
        }
        match changed_paths::decode(id, stored, &mut self.fingerprints) {
            Some(changed) => *known = changed,
            None => return false,
        }
        true
    }
}

/// What the graph needs of a CommitData record (`records/lakefs.proto`).
struct Record {
    id: CommitId,
    date: (i64, i32),
    generation: i32,
    parents: Vec<CommitId>,
}

impl Record {
    fn decode(raw: &[u8]) -> Result<Record> {
        let mut id = None;
        let (mut date, mut generation, mut parents) = ((0, 0), 0, Vec::new());
        let mut fields = Fields::of(raw);
        while let Some((field, value)) = fields.next()? {
            match field {
                1 => id = Some(parse_id(value.bytes()?)?),
                4 => date = decode_date(value.bytes()?)?,
                7 => parents.push(parse_id(value.bytes()?)?),
                9 => generation = value.int32()?,
                _ => {}
            }
        }
        let id = id.ok_or_else(|| Error::Invalid("a commit record has no id".into()))?;
        Ok(Record {
            id,
            date,
            generation,
            parents,
        })
    }
}

fn decode_date(raw: &[u8]) -> Result<(i64, i32)> {
    let mut date = (0, 0);
    let mut fields = Fields::of(raw);
    while let Some((field, value)) = fields.next()? {
        match field {
            1 => date.0 = value.int()?,
            2 => date.1 = value.int32()?,
            _ => {}
        }
    }
    Ok(date)
}

/// Returns the id that 64 lower-case hexadecimal digits spell.
pub fn parse_id(text: &[u8]) -> Result<CommitId> {
    let malformed = || Error::Invalid("a commit id is not 64 hexadecimal digits".into());
    let (pairs, []) = text.as_chunks::<2>() else {
        return Err(malformed());
    };
    let mut id = [0; 32];
    if pairs.len() != id.len() {
        return Err(malformed());
    }
    for (byte, [high, low]) in id.iter_mut().zip(pairs) {
        let (high, low) = (digit(*high), digit(*low));
        *byte = high
            .zip(low)
            .map(|(h, l)| h << 4 | l)
            .ok_or_else(malformed)?;
    }
    Ok(id)
}

fn digit(character: u8) -> Option<u8> {
    match character {
        b'0'..=b'9' => Some(character - b'0'),
        b'a'..=b'f' => Some(character - b'a' + 10),
        _ => None,
    }
}
