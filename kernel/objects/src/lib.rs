//! What is done with the bytes of objects.
//!
//! - [`checksum`]: checksums of uploads.
//! - [`files`]: system calls on files of a local store.
//! - [`json`]: scans of JSON lines.

#![warn(missing_docs)]

pub mod checksum;
#[cfg(unix)]
pub mod files;
pub mod json;
