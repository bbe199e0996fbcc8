//! Requests and answers of HTTP.

use pyo3::prelude::*;
use pyo3::types::{PyBytes, PyList, PyString, PyTuple};

use super::latin_1::raw;
use crate::http;

/// A request as Python has it: method, path, query, headers, body.
type PyRequest<'py> = (
    Bound<'py, PyString>,
    Bound<'py, PyBytes>,
    Bound<'py, PyBytes>,
    Bound<'py, PyList>,
    Bound<'py, PyBytes>,
);

#[pyfunction]
fn whole_request<'py>(py: Python<'py>, data: &[u8]) -> PyResult<Option<PyRequest<'py>>> {
    let mut pairs = Vec::with_capacity(16);
    let mut name = Vec::new();
    let request = http::whole_request(data, |sent, value| {
        name.clear();
        name.extend(sent.bytes().map(|byte| byte.to_ascii_lowercase()));
        pairs.push((PyBytes::new(py, &name), PyBytes::new(py, value)));
    });
    let Some(request) = request else {
        return Ok(None);
    };
    Ok(Some((
        PyString::intern(py, request.method),
        PyBytes::new(py, request.path.as_bytes()),
        PyBytes::new(py, request.query.as_bytes()),
        PyList::new(py, pairs)?,
        PyBytes::new(py, request.body),
    )))
}

#[pyfunction]
fn whole_answer<'py>(
    py: Python<'py>,
    status_line: &[u8],
    headers: &Bound<'py, PyList>,
    more_headers: &Bound<'py, PyList>,
    body: &[u8],
) -> PyResult<Option<Bound<'py, PyBytes>>> {
    let mut out = Vec::with_capacity(512 + body.len());
    out.extend_from_slice(status_line);
    for pair in headers.iter().chain(more_headers.iter()) {
        let pair = pair.cast::<PyTuple>()?;
        let (name, value) = (pair.get_borrowed_item(0)?, pair.get_borrowed_item(1)?);
        if !http::put_header(&mut out, &raw(&name)?, &raw(&value)?) {
            return Ok(None);
        }
    }
    out.extend_from_slice(b"\r\n");
    out.extend_from_slice(body);
    Ok(Some(PyBytes::new(py, &out)))
}

pub fn register(module: &Bound<'_, PyModule>) -> PyResult<()> {
    module.add_function(wrap_pyfunction!(whole_request, module)?)?;
    module.add_function(wrap_pyfunction!(whole_answer, module)?)
}
