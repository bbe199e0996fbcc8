//! The exceptions of the kernel, and the libraries' errors as these.

use anabranch_http::Fault;
use anabranch_tables::Error;
use pyo3::create_exception;
use pyo3::exceptions::{PyException, PyOSError, PyValueError};
use pyo3::prelude::*;

create_exception!(anabranch._kernel, KernelError, PyException);
create_exception!(anabranch._kernel, CorruptTable, KernelError);
create_exception!(anabranch._kernel, MissingTable, KernelError);
create_exception!(anabranch._kernel, MalformedRequest, PyException);

/// The result of a library as one of Python's: the error as an exception.
pub trait OrRaise<T> {
    fn or_raise(self) -> PyResult<T>;
}

impl<T> OrRaise<T> for anabranch_tables::Result<T> {
    fn or_raise(self) -> PyResult<T> {
        self.map_err(exception)
    }
}

impl<T> OrRaise<T> for Result<T, Fault> {
    fn or_raise(self) -> PyResult<T> {
        self.map_err(|fault| MalformedRequest::new_err((fault.status, fault.reason)))
    }
}

fn exception(error: Error) -> PyErr {
    let message = error.to_string();
    match error {
        Error::Corrupt { path, reason } => with_attributes(
            CorruptTable::new_err(message),
            [("path", path), ("reason", reason)],
        ),
        Error::Missing { table_id, path } => with_attributes(
            MissingTable::new_err(message),
            [("table_id", table_id), ("path", path)],
        ),
        Error::Io { path, source } => match source.raw_os_error() {
            Some(number) => PyOSError::new_err((number, source.to_string(), path)),
            None => PyOSError::new_err(message),
        },
        Error::Order(_) => PyValueError::new_err(message),
        Error::Caller(error) => match error.downcast::<PyErr>() {
            Ok(error) => *error,
            Err(_) => KernelError::new_err(message),
        },
        _ => KernelError::new_err(message),
    }
}

fn with_attributes(error: PyErr, attributes: [(&str, String); 2]) -> PyErr {
    let set = Python::attach(|py| {
        let value = error.value(py);
        attributes
            .into_iter()
            .try_for_each(|(name, text)| value.setattr(name, text))
    });
    set.err().unwrap_or(error)
}

pub fn register(module: &Bound<'_, PyModule>) -> PyResult<()> {
    let py = module.py();
    module.add("KernelError", py.get_type::<KernelError>())?;
    module.add("CorruptTable", py.get_type::<CorruptTable>())?;
    module.add("MissingTable", py.get_type::<MissingTable>())?;
    module.add("MalformedRequest", py.get_type::<MalformedRequest>())
}
