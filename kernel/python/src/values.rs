//! Conversion of records from and to Python.

use anabranch_tables::codec::{StagedEntry, decode_value};
use anabranch_tables::error::{Error, Result};
use pyo3::prelude::*;
use pyo3::types::{PyBytes, PyString};

use crate::errors::OrRaise;
use crate::identities::PyValue;

/// A key with a value or, in its place, None.
pub type PyChange<'py> = (Bound<'py, PyBytes>, Option<PyValue<'py>>);

/// A staged change as a key-value store gives it: a key and the record at it.
pub type PyStaged<'py> = (Bound<'py, PyBytes>, Bound<'py, PyBytes>);

/// An identity and data.
pub type Parts<'a> = (&'a [u8], &'a [u8]);

/// Returns the parts of a change.
pub fn parts<'a>((key, value): &'a PyChange<'_>) -> (&'a [u8], Option<Parts<'a>>) {
    let value = value.as_ref();
    let value = value.map(|(identity, data)| (identity.as_bytes(), data.as_bytes()));
    (key.as_bytes(), value)
}

/// Returns the parts of a staged change.
pub fn staged_parts<'a>((key, record): &'a PyStaged<'_>) -> Result<(&'a [u8], Option<Parts<'a>>)> {
    let staged = StagedEntry::decode(record.as_bytes())?;
    Ok((key.as_bytes(), staged.value()))
}

/// Returns a value for Python.
pub fn py_value<'py>(py: Python<'py>, (identity, data): Parts<'_>) -> PyValue<'py> {
    (PyBytes::new(py, identity), PyBytes::new(py, data))
}

/// Returns the path of a key: bytes that are not UTF-8 become surrogates, as in `decode_key`.
pub fn py_path<'py>(py: Python<'py>, key: &[u8]) -> PyResult<Bound<'py, PyString>> {
    match str::from_utf8(key) {
        Ok(text) => Ok(PyString::new(py, text)),
        Err(_) => {
            let key = PyBytes::new(py, key);
            PyString::from_encoded_object(&key, Some(c"utf-8"), Some(c"surrogateescape"))
        }
    }
}

/// Returns a framed value for Python.
pub fn py_framed<'py>(py: Python<'py>, framed: &[u8]) -> PyResult<PyValue<'py>> {
    let parts = decode_value(framed)
        .ok_or(Error::Invalid("a value is malformed".into()))
        .or_raise()?;
    Ok(py_value(py, parts))
}
