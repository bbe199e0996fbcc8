//! The error of a malformed request, with the status of its response.

/// A request that cannot be parsed. Bytes after it on the same connection must not be parsed as
/// another request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Fault {
    /// The status of the response.
    pub status: u16,
    /// The reason as text.
    pub reason: &'static str,
}

impl Fault {
    /// Returns the fault of a request that breaks the grammar of HTTP.
    pub const fn bad(reason: &'static str) -> Fault {
        Fault {
            status: 400,
            reason,
        }
    }

    /// Returns the fault of a head that is longer than the server reads.
    pub const fn head_too_large(reason: &'static str) -> Fault {
        Fault {
            status: 431,
            reason,
        }
    }
}
