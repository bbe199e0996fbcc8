//! What is wrong with a request, and the status of the response that says so.

/// A request that cannot be read. After it, nothing that the client sends on the same connection
/// can be trusted to be a request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Fault {
    /// The status of the response.
    pub status: u16,
    /// The reason, for people.
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
