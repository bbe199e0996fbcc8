//! Lays parts of trees over each other, under other keys and with full addresses: the metadata of
//! an image.
//!
//! A [`Layer`] is what lies under a prefix of a tree. Of the entries of one key, that of the
//! uppermost layer counts. The tree that [`write`] makes is the one that [`super::load`] would make
//! of the same entries, byte for byte: whole ranges of a layer that is taken as it is are reused
//! only where that gives the same ranges. An entry's identity stays, as its address is no part of
//! it.

mod address;
mod layer;
mod looks;
mod overlay;
mod span;
mod walk;
mod write;

#[cfg(test)]
mod model_tests;

pub use layer::{Layer, LeaveOut};
pub use walk::{SHOWN, Seen};
pub use write::{Layered, Limits, write};
