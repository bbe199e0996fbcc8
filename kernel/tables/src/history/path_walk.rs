//! The way back along first parents to a commit that may have changed one of several paths.

use super::changed_paths::{fingerprint, prefix_fingerprint};
use super::commit_graph::{Commit, CommitGraph};
use crate::error::Result;

/// What is looked for: fingerprints with the numbers of the targets that they stand for.
pub struct Targets {
    /// Sorted by fingerprint.
    fingerprints: Vec<(u32, usize)>,
    /// Targets that any change may touch.
    always: Vec<usize>,
    count: usize,
}

impl Targets {
    /// Returns the targets of paths and of prefixes, numbered in this order.
    pub fn new<'a>(
        paths: impl Iterator<Item = &'a [u8]>,
        prefixes: impl Iterator<Item = &'a [u8]>,
    ) -> Targets {
        let mut targets = Targets {
            fingerprints: Vec::new(),
            always: Vec::new(),
            count: 0,
        };
        let found = paths.map(|path| Some(fingerprint(path)));
        for value in found.chain(prefixes.map(prefix_fingerprint)) {
            match value {
                Some(value) => targets.fingerprints.push((value, targets.count)),
                None => targets.always.push(targets.count),
            }
            targets.count += 1;
        }
        targets.fingerprints.sort_unstable();
        targets
    }

    /// Returns whether a commit may have changed one of the targets, compared with its first parent.
    pub fn may_match(&self, graph: &CommitGraph, commit: &Commit) -> bool {
        let Some(changed) = graph.changed_paths(commit) else {
            return true;
        };
        if !self.always.is_empty() && !changed.is_empty() {
            return true;
        }
        if changed.len() < self.fingerprints.len() {
            changed.iter().any(|value| self.position(*value).is_some())
        } else {
            let wanted = self.fingerprints.iter();
            wanted
                .into_iter()
                .any(|(value, _)| changed.binary_search(value).is_ok())
        }
    }

    /// Returns the numbers of the targets that a commit may have changed.
    fn matches(&self, graph: &CommitGraph, commit: &Commit) -> Vec<usize> {
        let Some(changed) = graph.changed_paths(commit) else {
            return (0..self.count).collect();
        };
        let mut numbers = if changed.is_empty() {
            Vec::new()
        } else {
            self.always.clone()
        };
        let wanted = self.fingerprints.iter();
        let found = wanted.filter(|(value, _)| changed.binary_search(value).is_ok());
        numbers.extend(found.map(|(_, number)| *number));
        numbers.sort_unstable();
        numbers
    }

    fn position(&self, value: u32) -> Option<usize> {
        let at = self
            .fingerprints
            .partition_point(|(other, _)| *other < value);
        (self.fingerprints.get(at)?.0 == value).then_some(at)
    }
}

/// Returns the first commit, from `start` on along first parents, that may have changed one of the
/// targets or has no parent, and the numbers of the targets that it may have changed.
pub fn last_candidate(
    graph: &CommitGraph,
    start: u32,
    targets: &Targets,
) -> Result<(u32, Vec<usize>)> {
    let mut number = start;
    loop {
        let commit = graph.get(number);
        let parents = graph.parents(commit)?;
        let Some(parent) = parents.first() else {
            return Ok((number, (0..targets.count).collect()));
        };
        if targets.may_match(graph, commit) {
            return Ok((number, targets.matches(graph, commit)));
        }
        number = *parent;
    }
}
