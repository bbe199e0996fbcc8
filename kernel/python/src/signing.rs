//! Canonical requests and their signatures, and normalized headers.

use std::borrow::Cow;

use anabranch_signing::{self as signing, Head, trimmed};
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use pyo3::types::{PyDict, PyString};

use crate::latin_1::{latin_1, py_text, raw};

/// A request as Python has it: method, path, query, headers, their names that are signed, payload.
type PyHead<'py> = (
    Bound<'py, PyString>,
    Bound<'py, PyString>,
    Bound<'py, PyString>,
    Bound<'py, PyDict>,
    Bound<'py, PyString>,
    Bound<'py, PyString>,
);

#[pyfunction]
#[pyo3(signature = (head, *, as_sent = false))]
fn canonical_request<'py>(
    py: Python<'py>,
    head: PyHead<'py>,
    as_sent: bool,
) -> PyResult<Bound<'py, PyString>> {
    Ok(py_text(py, &canonical(py, &head, as_sent)?))
}

#[pyfunction]
#[pyo3(signature = (signature, key, timestamp, scope, head, *, as_sent = false))]
fn is_signature_v4<'py>(
    py: Python<'py>,
    signature: &Bound<'py, PyString>,
    key: &[u8],
    timestamp: &Bound<'py, PyString>,
    scope: &Bound<'py, PyString>,
    head: PyHead<'py>,
    as_sent: bool,
) -> PyResult<bool> {
    let canonical = canonical(py, &head, as_sent)?;
    let [signature, timestamp, scope] = [signature, timestamp, scope].map(latin_1);
    Ok(signing::is_signature(
        &signature?,
        key_of(key)?,
        &timestamp?,
        &scope?,
        &canonical,
    ))
}

fn canonical<'py>(py: Python<'py>, head: &PyHead<'py>, as_sent: bool) -> PyResult<Vec<u8>> {
    let (method, path, query, headers, signed_headers, payload) = head;
    let head = Head {
        method: &latin_1(method)?,
        path: &latin_1(path)?,
        query: &latin_1(query)?,
        signed_headers: &latin_1(signed_headers)?,
        payload: &latin_1(payload)?,
    };
    signing::canonical_request(head, as_sent, |out, name| {
        if let Some(value) = headers.get_item(py_text(py, name))? {
            out.extend_from_slice(&latin_1(value.cast::<PyString>()?)?);
        }
        Ok(())
    })
}

fn key_of(key: &[u8]) -> PyResult<&[u8; 32]> {
    let wrong = |_| PyValueError::new_err("a key for signing has 32 bytes");
    key.try_into().map_err(wrong)
}

#[pyfunction]
fn signature_v4(
    key: &[u8],
    timestamp: &Bound<'_, PyString>,
    scope: &Bound<'_, PyString>,
    canonical: &Bound<'_, PyString>,
) -> PyResult<String> {
    let [timestamp, scope, canonical] = [timestamp, scope, canonical].map(latin_1);
    Ok(signing::signature(
        key_of(key)?,
        &timestamp?,
        &scope?,
        &canonical?,
    ))
}

#[pyfunction]
fn joined_headers<'py>(py: Python<'py>, pairs: &Bound<'py, PyAny>) -> PyResult<Bound<'py, PyDict>> {
    let joined = PyDict::new(py);
    for pair in pairs.try_iter()? {
        let (name, value): (Bound<'py, PyAny>, Bound<'py, PyAny>) = pair?.extract()?;
        join_header(&joined, &raw(&name)?, &raw(&value)?)?;
    }
    Ok(joined)
}

/// Adds a header by its lower-case name; a repeated name's value is appended after a comma.
pub fn join_header(joined: &Bound<'_, PyDict>, name: &[u8], value: &[u8]) -> PyResult<()> {
    let py = joined.py();
    let mut name = Cow::Borrowed(name);
    if name.iter().any(u8::is_ascii_uppercase) {
        name.to_mut().make_ascii_lowercase();
    }
    let name = py_text(py, &name);
    let mut value = Cow::Borrowed(trimmed(value));
    if let Some(before) = joined.get_item(&name)? {
        let before = latin_1(before.cast::<PyString>()?)?.into_owned();
        value = Cow::Owned([&before, value.as_ref()].join(&b','));
    }
    joined.set_item(name, py_text(py, &value))
}

pub fn register(module: &Bound<'_, PyModule>) -> PyResult<()> {
    module.add_function(wrap_pyfunction!(canonical_request, module)?)?;
    module.add_function(wrap_pyfunction!(signature_v4, module)?)?;
    module.add_function(wrap_pyfunction!(is_signature_v4, module)?)?;
    module.add_function(wrap_pyfunction!(joined_headers, module)?)
}
