//! The history of a repository in memory: its commits, their parents, and which paths each changed.
//!
//! - [`CommitGraph`]: the commits that were added, by number.
//! - [`changed_paths`]: which paths a commit changed, as fingerprints.
//! - [`merge_base`]: best common ancestors of two commits.
//! - [`LogWalk`]: the log of a commit, restricted to commits that may have changed certain paths.
//! - [`path_walk`]: the way back along first parents to a commit that may have changed a path.
//!
//! Nothing here is needed for a correct result: where something is missing or damaged, the caller
//! reads the commits and their trees instead.

pub mod changed_paths;
mod commit_graph;
mod log_walk;
pub mod merge_base;
pub mod path_walk;

pub use commit_graph::{Changed, CommitGraph, CommitId, parse_id};
pub use log_walk::{Limits, LogWalk};
