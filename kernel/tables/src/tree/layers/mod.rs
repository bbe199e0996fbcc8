//! Overlays parts of trees, under new keys and with full addresses: the metadata of an image.
//!
//! A [`Layer`] is the part of a tree under a prefix. If several layers have a key, the uppermost
//! layer wins. The tree that [`write`] writes is equal, byte for byte, to the one that
//! [`super::load`] writes for the same entries: whole ranges of an unchanged layer are reused only
//! where that results in the same ranges. Entries keep their identities, which do not depend on
//! addresses.

mod address;
mod layer;
mod overlay;
mod progress;
mod span;
mod walk;
mod write;

#[cfg(test)]
mod model_tests;

pub use layer::{Layer, LeaveOut};
pub use walk::{SHOWN, Seen};
pub use write::{Layered, Limits, write};
