//! Merges of two trees, given their base: which keys differ, conflicts, and the tree that results.

pub mod compare;
pub mod conflicts;
mod first_conflicts;
pub mod merge;
mod merge_walk;
mod stretches;

#[cfg(test)]
pub(in crate::tree) mod merge_rule;
