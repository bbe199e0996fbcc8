//! The one error type of the kernel.

use std::io;
use std::path::Path;

use thiserror::Error;

/// An error of an operation on tables or trees.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum Error {
    /// Stored bytes are invalid.
    #[error("{path}: {reason}")]
    Corrupt {
        /// The file.
        path: String,
        /// What is wrong with it.
        reason: String,
    },
    /// The file of a table does not exist.
    #[error("no table {table_id} at {path}")]
    Missing {
        /// The name of the table.
        table_id: String,
        /// Where it was looked for.
        path: String,
    },
    /// The disk or the operating system reported an error.
    #[error("{path}: {source}")]
    Io {
        /// The file or folder.
        path: String,
        /// The error of the system.
        source: io::Error,
    },
    /// Keys are not in order or repeated.
    #[error("{0}")]
    Order(String),
    /// An invalid argument, or malformed bytes from the caller.
    #[error("{0}")]
    Invalid(String),
    /// The caller's function that locates table files failed.
    #[error("{0}")]
    Caller(Box<dyn std::error::Error + Send + Sync>),
}

/// The result of an operation of this crate.
pub type Result<T> = std::result::Result<T, Error>;

/// The reason why bytes are invalid, without the file that they belong to.
pub type Fault = &'static str;

impl Error {
    /// Returns the error of a file operation; a file that does not exist is a missing table.
    pub fn from_io(path: &Path, source: io::Error) -> Error {
        let shown = path.display().to_string();
        if source.kind() == io::ErrorKind::NotFound {
            let name = path.file_name().unwrap_or_default();
            return Error::Missing {
                table_id: name.to_string_lossy().into_owned(),
                path: shown,
            };
        }
        Error::Io {
            path: shown,
            source,
        }
    }

    /// Returns the error for invalid bytes in the file `path`.
    pub fn corrupt(path: &str, reason: impl Into<String>) -> Error {
        Error::Corrupt {
            path: path.to_owned(),
            reason: reason.into(),
        }
    }
}
