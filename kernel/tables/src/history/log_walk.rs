//! The log of a commit, all of it or restricted to commits that may have changed certain paths.
//!
//! The order and the limits are those of `versioning/history/log.py`: the newest commit whose child
//! has been visited comes next.

use std::collections::BinaryHeap;

use super::commit_graph::{CommitGraph, CommitId};
use super::path_walk::Targets;
use crate::error::Result;

/// Where a log begins and ends.
#[derive(Default)]
pub struct Limits {
    /// Follows only the first parent of each commit.
    pub first_parent: bool,
    /// Omits older commits, and those reached only through them.
    pub since: Option<(i64, i32)>,
    /// The last commit.
    pub stop_at: Option<CommitId>,
    /// Omits everything up to and including this commit.
    pub after: Option<CommitId>,
}

/// An iterator over the commits of a log; with targets, those with one parent that may have changed
/// one of them.
pub struct LogWalk {
    targets: Option<Targets>,
    limits: Limits,
    queue: BinaryHeap<((i64, i32), CommitId, u32)>,
    seen: Vec<bool>,
}

impl LogWalk {
    /// Returns a walk from a commit, of those that change one of `targets`.
    pub fn new(
        graph: &CommitGraph,
        start: u32,
        targets: Option<Targets>,
        limits: Limits,
    ) -> LogWalk {
        let mut walk = LogWalk {
            targets,
            limits,
            queue: BinaryHeap::new(),
            seen: vec![false; graph.len()],
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
                    self.push(graph, *parent);
                }
            }
            if let Some(after) = self.limits.after {
                if after == id {
                    self.limits.after = None;
                }
                continue;
            }
            let is_wanted = self
                .targets
                .as_ref()
                .is_none_or(|targets| parents.len() == 1 && targets.may_match(graph, commit));
            if is_wanted {
                return Ok(Some(number));
            }
        }
        Ok(None)
    }

    /// Adds a commit to those that come next, unless it was added before.
    fn push(&mut self, graph: &CommitGraph, number: u32) {
        // the graph may grow between two steps of a walk, but ancestors are there from its start
        if std::mem::replace(&mut self.seen[number as usize], true) {
            return;
        }
        let commit = graph.get(number);
        if self.limits.since.is_none_or(|oldest| commit.date >= oldest) {
            self.queue.push((commit.date, commit.id, number));
        }
    }
}
