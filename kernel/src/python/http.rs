//! Requests and answers of HTTP.

use pyo3::prelude::*;
use pyo3::types::{PyBytes, PyDict, PyList, PyString, PyTuple};

use super::latin_1::{py_text, raw};
use super::signing::join_header;
use crate::http;

/// A request as Python has it: method, path, query, headers, body.
type PyRequest<'py> = (
    Bound<'py, PyString>,
    Bound<'py, PyString>,
    Bound<'py, PyString>,
    Bound<'py, PyDict>,
    Bound<'py, PyBytes>,
);

#[pyfunction]
fn whole_request<'py>(py: Python<'py>, data: &[u8]) -> PyResult<Option<PyRequest<'py>>> {
    let headers = PyDict::new(py);
    let mut joined = Ok(());
    let request = http::whole_request(data, |name, value| {
        if joined.is_ok() {
            joined = join_header(&headers, name.as_bytes(), value);
        }
    });
    joined?;
    let Some(request) = request else {
        return Ok(None);
    };
    Ok(Some((
        PyString::intern(py, request.method),
        py_text(py, request.path.as_bytes()),
        py_text(py, request.query.as_bytes()),
        headers,
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
