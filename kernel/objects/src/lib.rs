//! What is done with the bytes of objects.
//!
//! - [`beneath`]: folders below a root, opened without following links.
//! - [`checksum`]: checksums of uploads.
//! - [`files`]: system calls on files of a local store.
//! - [`json`]: scans of JSON lines.

#![warn(missing_docs)]

#[cfg(unix)]
pub mod beneath;
pub mod checksum;
#[cfg(unix)]
pub mod files;
pub mod json;
