//! The log of a commit, restricted to commits that may have changed certain paths.
//!
//! The order and the limits are those of `versioning/history/log.py`: the newest commit whose child
//! has been visited comes next.

use std::collections::{BinaryHeap, HashSet};

use super::commit_graph::{CommitGraph, CommitId};
use super::path_walk::Targets;
use crate::error::Result;

/// Where a log begins and ends.
#[derive(Default)]
pub struct Limits {
    pub first_parent: bool,
    /// Omits older commits, and those reached only through them.
    pub since: Option<(i64, i32)>,
    /// The last commit.
    pub stop_at: Option<CommitId>,
    /// Omits everything up to and including this commit.
    pub after: Option<CommitId>,
}

/// An iterator over the commits with one parent that may have changed one of the targets.
pub struct LogWalk {
    targets: Targets,
    limits: Limits,
    queue: BinaryHeap<((i64, i32), CommitId, u32)>,
    seen: HashSet<u32>,
}

impl LogWalk {
    pub fn new(graph: &CommitGraph, start: u32, targets: Targets, limits: Limits) -> LogWalk {
        let mut walk = LogWalk {
            targets,
            limits,
            queue: BinaryHeap::new(),
            seen: HashSet::from([start]),
        };
        walk.push(graph, start);
        walk
    }

    /// Returns the number of the next commit, None after the last.
    pub fn next(&mut self, graph: &CommitGraph) -> Result<Option<u32>> {
        while let Some((_, id, number)) = self.queue.pop() {
            let commit = graph.get(number);
            let parents = graph.parents(commit)?;
            if self.limits.stop_at == Some(id) {
                self.queue.clear();
            } else {
                let followed = if self.limits.first_parent {
                    1
                } else {
                    usize::MAX
                };
                for parent in parents.iter().take(followed) {
                    if self.seen.insert(*parent) {
                        self.push(graph, *parent);
                    }
                }
            }
            if let Some(after) = self.limits.after {
                if after == id {
                    self.limits.after = None;
                }
                continue;
            }
            if parents.len() == 1 && self.targets.may_match(graph, commit) {
                return Ok(Some(number));
            }
        }
        Ok(None)
    }

    fn push(&mut self, graph: &CommitGraph, number: u32) {
        let commit = graph.get(number);
        if self.limits.since.is_none_or(|oldest| commit.date >= oldest) {
            self.queue.push((commit.date, commit.id, number));
        }
    }
}
