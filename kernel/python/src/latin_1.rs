//! Conversion of HTTP text, which Python has with one character for each byte (Latin-1).

use std::borrow::Cow;

use pyo3::exceptions::{PyTypeError, PyValueError};
use pyo3::prelude::*;
use pyo3::types::{PyBytes, PyString};

/// Returns the bytes of a text. Fails with ValueError for a character that is not Latin-1.
pub fn latin_1<'a>(text: &'a Bound<'_, PyString>) -> PyResult<Cow<'a, [u8]>> {
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
pub fn py_text<'py>(py: Python<'py>, bytes: &[u8]) -> Bound<'py, PyString> {
    match std::str::from_utf8(bytes) {
        Ok(text) if text.is_ascii() => PyString::new(py, text),
        _ => PyString::new(
            py,
            &bytes.iter().copied().map(char::from).collect::<String>(),
        ),
    }
}

/// Returns the bytes of a header's name or value, given as bytes or as text. Text is encoded as
/// Latin-1 if possible, else as UTF-8.
pub fn raw<'a>(given: &'a Bound<'_, PyAny>) -> PyResult<Cow<'a, [u8]>> {
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
