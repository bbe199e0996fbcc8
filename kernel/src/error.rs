//! The one error type of the kernel.

use std::io;
use std::path::Path;

use thiserror::Error;

/// Whatever can go wrong with tables and trees.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum Error {
    /// Stored bytes are not what they must be.
    #[error("{path}: {reason}")]
    Corrupt { path: String, reason: String },
    /// There is no file for a table.
    #[error("no table {table_id} at {path}")]
    Missing { table_id: String, path: String },
    /// The disk or the operating system refused.
    #[error("{path}: {source}")]
    Io { path: String, source: io::Error },
    /// Keys came out of order or twice.
    #[error("{0}")]
    Order(String),
    /// A request that makes no sense, or bytes given by the caller that are malformed.
    #[error("{0}")]
    Invalid(String),
    /// The caller's own code, which finds the files of tables, failed.
    #[error("{0}")]
    Caller(Box<dyn std::error::Error + Send + Sync>),
}

pub type Result<T> = std::result::Result<T, Error>;

/// What is wrong with some bytes, before it is known which file they belong to.
pub type Fault = &'static str;

impl Error {
    /// Returns the error for a file operation; a file that is not there is a missing table.
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

    /// Returns the error for bytes of the file `path` that are not what they must be.
    pub fn corrupt(path: &str, reason: impl Into<String>) -> Error {
        Error::Corrupt {
            path: path.to_owned(),
            reason: reason.into(),
        }
    }
}
