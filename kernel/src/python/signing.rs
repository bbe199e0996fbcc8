//! Canonical requests and their signatures, and headers as both want them.
//!
//! Text is what HTTP has, one character for each byte (Latin-1); here it is those bytes.

use std::borrow::Cow;

use pyo3::exceptions::{PyTypeError, PyValueError};
use pyo3::prelude::*;
use pyo3::types::{PyBytes, PyDict, PyString};

use crate::signing::{self, Head, trimmed};

#[pyfunction]
#[pyo3(signature = (method, path, query, headers, signed_headers, payload, *, as_sent = false))]
#[expect(clippy::too_many_arguments, reason = "a request has that many parts")]
fn canonical_request<'py>(
    py: Python<'py>,
    method: &Bound<'py, PyString>,
    path: &Bound<'py, PyString>,
    query: &Bound<'py, PyString>,
    headers: &Bound<'py, PyDict>,
    signed_headers: &Bound<'py, PyString>,
    payload: &Bound<'py, PyString>,
    as_sent: bool,
) -> PyResult<Bound<'py, PyString>> {
    let head = Head {
        method: &latin_1(method)?,
        path: &latin_1(path)?,
        query: &latin_1(query)?,
        signed_headers: &latin_1(signed_headers)?,
        payload: &latin_1(payload)?,
    };
    let form = signing::canonical_request(head, as_sent, |out, name| -> PyResult<()> {
        if let Some(value) = headers.get_item(py_text(py, name))? {
            out.extend_from_slice(&latin_1(value.cast::<PyString>()?)?);
        }
        Ok(())
    })?;
    Ok(py_text(py, &form))
}

#[pyfunction]
fn signature_v4(
    key: &[u8],
    timestamp: &Bound<'_, PyString>,
    scope: &Bound<'_, PyString>,
    canonical: &Bound<'_, PyString>,
) -> PyResult<String> {
    let key = key
        .try_into()
        .map_err(|_| PyValueError::new_err("a key for signing has 32 bytes"))?;
    let [timestamp, scope, canonical] = [timestamp, scope, canonical].map(latin_1);
    Ok(signing::signature(key, &timestamp?, &scope?, &canonical?))
}

#[pyfunction]
fn joined_headers<'py>(py: Python<'py>, pairs: &Bound<'py, PyAny>) -> PyResult<Bound<'py, PyDict>> {
    let joined = PyDict::new(py);
    for pair in pairs.try_iter()? {
        let (name, value): (Bound<'py, PyAny>, Bound<'py, PyAny>) = pair?.extract()?;
        let mut name = raw(&name)?;
        if name.iter().any(u8::is_ascii_uppercase) {
            name.to_mut().make_ascii_lowercase();
        }
        let name = py_text(py, &name);
        let value = raw(&value)?;
        let mut value = Cow::Borrowed(trimmed(&value));
        if let Some(before) = joined.get_item(&name)? {
            let before = latin_1(before.cast::<PyString>()?)?.into_owned();
            value = Cow::Owned([&before, value.as_ref()].join(&b','));
        }
        joined.set_item(name, py_text(py, &value))?;
    }
    Ok(joined)
}

/// Returns the bytes of text. Fails with ValueError for a character that is none.
fn latin_1<'a>(text: &'a Bound<'_, PyString>) -> PyResult<Cow<'a, [u8]>> {
    let text = text.to_str()?;
    if text.is_ascii() {
        return Ok(Cow::Borrowed(text.as_bytes()));
    }
    let bytes = text.chars().map(|letter| u8::try_from(letter).ok());
    let bytes: Option<Vec<u8>> = bytes.collect();
    bytes
        .map(Cow::Owned)
        .ok_or_else(|| PyValueError::new_err("text of HTTP has a character for each byte"))
}

/// Returns bytes as text.
fn py_text<'py>(py: Python<'py>, bytes: &[u8]) -> Bound<'py, PyString> {
    match std::str::from_utf8(bytes) {
        Ok(text) if text.is_ascii() => PyString::new(py, text),
        _ => PyString::new(
            py,
            &bytes.iter().copied().map(char::from).collect::<String>(),
        ),
    }
}

/// Returns the bytes of a header's name or value, given as they are, or as text, which is Latin-1
/// if it can be, else UTF-8.
fn raw<'a>(given: &'a Bound<'_, PyAny>) -> PyResult<Cow<'a, [u8]>> {
    if let Ok(bytes) = given.cast::<PyBytes>() {
        return Ok(Cow::Borrowed(bytes.as_bytes()));
    }
    let text = given
        .cast::<PyString>()
        .map_err(|_| PyTypeError::new_err("a header is bytes or text"))?;
    if let Ok(bytes) = latin_1(text) {
        return Ok(bytes);
    }
    let encoded = text.call_method1("encode", ("utf-8", "surrogatepass"))?;
    Ok(Cow::Owned(encoded.extract()?))
}

pub fn register(module: &Bound<'_, PyModule>) -> PyResult<()> {
    module.add_function(wrap_pyfunction!(canonical_request, module)?)?;
    module.add_function(wrap_pyfunction!(signature_v4, module)?)?;
    module.add_function(wrap_pyfunction!(joined_headers, module)?)
}
