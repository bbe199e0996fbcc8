//! Merge bases: git's best common ancestors.
//!
//! Both histories are painted downwards, the highest generation first, so a commit is visited after
//! all its descendants and its paint is final then. A commit painted from both sides is a best
//! common ancestor, and its ancestors are stale. The same walk over stored commits, with its reasons,
//! is in `versioning/history/merge_base.py`.

use std::collections::{BinaryHeap, HashMap};

use super::commit_graph::CommitGraph;
use crate::error::{Error, Result};

const LEFT: u8 = 1;
const RIGHT: u8 = 2;
const STALE: u8 = 4;
const BOTH: u8 = LEFT | RIGHT;

/// Returns the numbers of all best common ancestors, in no order.
///
/// Fails if a parent is missing, and if a generation is unknown or not above its parents'.
pub fn merge_bases(graph: &CommitGraph, left: u32, right: u32) -> Result<Vec<u32>> {
    let mut frontier = Frontier::new(graph);
    frontier.paint(left, LEFT, None)?;
    frontier.paint(right, RIGHT, None)?;
    let mut bases = Vec::new();
    while frontier.is_promising() {
        let Some((number, mut paint)) = frontier.pop() else {
            break;
        };
        if paint == BOTH {
            bases.push(number);
            paint |= STALE;
        }
        let commit = graph.get(number);
        for parent in graph.parents(commit)? {
            frontier.paint(*parent, paint, Some(commit.generation))?;
        }
    }
    Ok(bases)
}

/// The painted commits that have not been visited yet.
struct Frontier<'a> {
    graph: &'a CommitGraph,
    queue: BinaryHeap<(i32, u32)>,
    waiting: HashMap<u32, u8>,
    /// How many commits wait with each paint.
    counts: [usize; 8],
}

impl<'a> Frontier<'a> {
    fn new(graph: &'a CommitGraph) -> Self {
        Frontier {
            graph,
            queue: BinaryHeap::new(),
            waiting: HashMap::new(),
            counts: [0; 8],
        }
    }

    /// Returns whether another best common ancestor may be found.
    fn is_promising(&self) -> bool {
        let count = |paint: u8| self.counts[usize::from(paint)];
        count(BOTH) > 0 || (count(LEFT) > 0 && count(RIGHT) > 0)
    }

    fn paint(&mut self, number: u32, paint: u8, child: Option<i32>) -> Result<()> {
        let waiting = self.waiting.get(&number).copied();
        if let Some(previous) = waiting {
            self.counts[usize::from(previous)] -= 1;
        } else {
            let generation = self.graph.get(number).generation;
            if generation < 1 || child.is_some_and(|child| generation >= child) {
                return Err(Error::Invalid("generations are unknown".into()));
            }
            self.queue.push((generation, number));
        }
        let paint = paint | waiting.unwrap_or(0);
        self.waiting.insert(number, paint);
        self.counts[usize::from(paint)] += 1;
        Ok(())
    }

    fn pop(&mut self) -> Option<(u32, u8)> {
        let (_, number) = self.queue.pop()?;
        let paint = self.waiting.remove(&number)?;
        self.counts[usize::from(paint)] -= 1;
        Some((number, paint))
    }
}
