#![doc = include_str!("../README.md")]
#![warn(missing_docs)]

#[cfg(feature = "arrow")]
pub mod arrow;
pub mod codec;
pub mod error;
pub mod history;
mod key_tree;
mod prefetch;
pub mod ranges;
mod shared_prefix;
pub mod table;
pub mod text;
pub mod tree;
pub mod varint;

pub use error::{Error, Result};
