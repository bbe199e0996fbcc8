//! Merges two trees, given their base.
//!
//! A first pass finds conflicts and the keys that the merge changes (see [`super::compare`]). If
//! there are no conflicts, or a strategy resolves them, a second pass writes the new tree (see
//! [`super::merge_walk`]). Otherwise the first pass ends with as many conflicts as are asked for
//! (see [`super::first_conflicts`]).
//!
//! A key that ends ranges of both sides by its hash is always in the result and ends a range there.
//! A merge is therefore split at such keys into pieces that are processed in parallel.

use super::compare::{CompareWalk, Comparison, Step};
use super::first_conflicts::FirstConflicts;
use super::merge_walk::MergeWalk;
use super::stretches::Stretches;
use crate::codec::RangeInfo;
use crate::error::Result;
use crate::ranges::{RangeWriter, break_after};
use crate::table::TableFolder;
use crate::tree::pages::diff_page::{Kind, kind};
use crate::tree::pages::list_range::successor;
use crate::tree::parallel;
use crate::tree::tree::Tree;
use crate::tree::write_result::{ChangeCounts, WriteResult};

/// The memory for changed keys in bytes, divided equally among the pieces.
const MEMORY: usize = 64 << 20;

/// After so many changes, a piece looks whether those before it have found enough conflicts.
const STEPS_BETWEEN_LOOKS: usize = 1024;

/// The resolution of keys that both sides changed differently.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Strategy {
    /// Nothing: it is a conflict.
    #[default]
    None,
    /// They get what the source has.
    SourceWins,
    /// They keep what the destination has.
    DestWins,
}

/// The result of a merge.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Merged {
    /// None when there are conflicts.
    pub result: Option<WriteResult>,
    /// The first conflicting keys, in order.
    pub conflicts: Vec<Vec<u8>>,
    /// Whether there are others.
    pub has_more: bool,
}

/// The trees of a merge.
#[derive(Clone, Copy)]
pub struct Sides<'a> {
    /// The tree that is merged into.
    pub dest: &'a Tree,
    /// The tree whose changes are merged.
    pub source: &'a Tree,
    /// The common ancestor of both.
    pub base: &'a Tree,
}

/// How conflicts are handled.
#[derive(Clone, Copy, Debug, Default)]
pub struct Rules {
    /// What becomes of keys that both sides changed differently.
    pub strategy: Strategy,
    /// A merge that is refused lists at most this many conflicts.
    pub max_conflicts: usize,
}

/// Writes the merge of `sides.source` into `sides.dest` into `folder`.
pub fn merge(sides: Sides<'_>, folder: impl Into<TableFolder>, rules: Rules) -> Result<Merged> {
    merge_within(MEMORY, sides, &folder.into(), rules)
}

/// Like [`merge`], with about `memory` bytes of what is changed remembered.
pub(in crate::tree) fn merge_within(
    memory: usize,
    sides: Sides<'_>,
    folder: &TableFolder,
    rules: Rules,
) -> Result<Merged> {
    let pieces = pieces(sides);
    let first = FirstConflicts::new(rules.max_conflicts.saturating_add(1), pieces.len());
    let (findings, mut all) = look_at_all(&pieces, sides, rules, memory, Some(&first))?;
    if all.conflict_count > 0 {
        all.conflicts.truncate(rules.max_conflicts);
        return Ok(Merged {
            result: None,
            has_more: all.conflict_count > all.conflicts.len() as u64,
            conflicts: all.conflicts,
        });
    }
    let [dest, source, base] =
        [sides.dest, sides.source, sides.base].map(|tree| tree.metarange_id());
    let result = if source == base {
        WriteResult::existing(sides.dest, all.counts)
    } else if dest == base {
        WriteResult::existing(sides.source, all.counts)
    } else {
        let ranges = parallel::each_of(entries(sides), pieces.len(), |number| {
            pieces[number].write(sides, rules.strategy, &findings[number].changed, folder)
        })?;
        let origins = [sides.dest, sides.source];
        WriteResult::write(&ranges.concat(), &origins, all.counts, folder)?
    };
    Ok(Merged {
        result: Some(result),
        ..Merged::default()
    })
}

/// Returns the most entries that a merge may read of one side.
fn entries(sides: Sides<'_>) -> u64 {
    let trees = [sides.dest, sides.source, sides.base];
    trees.map(Tree::count).into_iter().max().unwrap_or_default()
}

/// Returns what a merge would change, without its conflicts, and how many conflicts it has.
pub fn count(sides: Sides<'_>) -> Result<(ChangeCounts, u64)> {
    let (_, all) = look_at_all(&pieces(sides), sides, Rules::default(), MEMORY, None)?;
    Ok((all.counts, all.conflict_count))
}

/// Returns the findings of each piece and of all together. With `first`, pieces end when enough
/// conflicts are found; the counts are then of a part.
fn look_at_all(
    pieces: &[Piece],
    sides: Sides<'_>,
    rules: Rules,
    memory: usize,
    first: Option<&FirstConflicts>,
) -> Result<(Vec<Findings>, Findings)> {
    let memory = memory / pieces.len();
    let mut findings = parallel::each_of(entries(sides), pieces.len(), |number| {
        let first = first.map(|first| (first, number));
        pieces[number].look(sides, rules, memory, first)
    })?;
    let mut all = Findings::default();
    for findings in &mut findings {
        all.add(findings);
    }
    Ok((findings, all))
}

/// The keys from `start` on, up to `end` and with it.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
struct Piece {
    start: Vec<u8>,
    end: Option<Vec<u8>>,
}

/// Splits the keys where both sides have a range that ends with a key whose hash ends ranges.
fn pieces(sides: Sides<'_>) -> Vec<Piece> {
    let mut pieces = vec![Piece::default()];
    for info in sides.dest.ranges() {
        let end = &info.max_key;
        let there = sides.source.ranges().get(sides.source.find_range(end));
        if there.is_some_and(|other| other.max_key == *end) && break_after(end, 0) {
            if let Some(open) = pieces.last_mut() {
                open.end = Some(end.clone());
            }
            pieces.push(Piece {
                start: successor(end),
                end: None,
            });
        }
    }
    pieces
}

/// The effect of a merge on a piece.
#[derive(Default)]
struct Findings {
    counts: ChangeCounts,
    conflicts: Vec<Vec<u8>>,
    conflict_count: u64,
    changed: Stretches,
}

impl Findings {
    /// Adds the counts of the piece that follows, and takes over its conflicts.
    fn add(&mut self, next: &mut Findings) {
        self.counts.add(next.counts);
        self.conflict_count += next.conflict_count;
        self.conflicts.append(&mut next.conflicts);
    }

    fn take(&mut self, found: &Comparison<'_>, memory: usize) {
        self.changed.push(found.key, found.key, memory);
        let counts = &mut self.counts;
        match kind(found.dest.is_some(), found.source.is_some()) {
            Kind::Added => counts.added += 1,
            Kind::Removed => counts.removed += 1,
            _ => counts.changed += 1,
        }
    }
}

impl Piece {
    /// Determines the effect of the merge and its positions, in about `memory` bytes; as far as the
    /// first conflicts, if this piece is one of those among which they are sought.
    fn look(
        &self,
        sides: Sides<'_>,
        rules: Rules,
        memory: usize,
        first: Option<(&FirstConflicts, usize)>,
    ) -> Result<Findings> {
        let are_before = || first.is_some_and(|(first, number)| first.are_before(number));
        let mut findings = Findings::default();
        if are_before() {
            return Ok(findings);
        }
        let limit = self.end.as_deref().map(successor);
        let mut walk = CompareWalk::new(sides.dest, sides.source, sides.base, limit);
        let mut steps = 0;
        walk.seek(&self.start)?;
        while let Some(step) = walk.advance_by_ranges()? {
            steps += 1;
            if steps % STEPS_BETWEEN_LOOKS == 0 && are_before() {
                break;
            }
            if let Step::Range(info, counts) = step {
                findings.counts.add(counts);
                let changed = &mut findings.changed;
                changed.push(&info.min_key, &info.max_key, memory);
                continue;
            }
            let Some(found) = walk.current()? else {
                break;
            };
            if !found.is_conflict || rules.strategy == Strategy::SourceWins {
                findings.take(&found, memory);
            } else if rules.strategy == Strategy::None {
                findings.conflict_count += 1;
                if findings.conflicts.len() < rules.max_conflicts {
                    findings.conflicts.push(found.key.to_vec());
                }
                if first.is_some_and(|(first, number)| first.add(number)) {
                    break;
                }
            }
        }
        Ok(findings)
    }

    fn write(
        &self,
        sides: Sides<'_>,
        strategy: Strategy,
        changed: &Stretches,
        folder: &TableFolder,
    ) -> Result<Vec<RangeInfo>> {
        let mut out = RangeWriter::new(folder);
        let end = self.end.as_deref();
        let walk = MergeWalk::new(sides, &self.start, end, changed, strategy, &mut out);
        walk?.run()?;
        Ok(out.finish()?.0)
    }
}
