//! Signatures of version 4 over requests of S3: the canonical form of a request, and its
//! signature. Which headers must be signed, and until when a signature holds, is for others to say.

#![warn(missing_docs)]

mod canonical;
mod encoding;
mod signature;

pub use canonical::{Head, canonical_request, trimmed};
pub use signature::{is_signature, signature};
