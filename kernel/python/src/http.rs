//! HTTP requests and responses.

use anabranch_http::{self as http, Body, Head};
use pyo3::prelude::*;
use pyo3::types::{PyBytes, PyDict, PyList, PyString, PyTuple};

use crate::errors::OrRaise;
use crate::latin_1::{py_text, raw};
use crate::signing::join_header;

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

/// The head of a request.
#[pyclass(frozen, get_all)]
struct RequestHead {
    method: Py<PyString>,
    path: Py<PyString>,
    query: Py<PyString>,
    is_1_0: bool,
    headers: Py<PyDict>,
    pairs: Py<PyList>,
    length: Option<u64>,
    keep_alive: bool,
    expects_continue: bool,
}

impl RequestHead {
    fn new(py: Python<'_>, head: &Head<'_>) -> PyResult<RequestHead> {
        let headers = PyDict::new(py);
        let pairs = PyList::empty(py);
        for &(name, value) in &head.headers {
            join_header(&headers, name.as_bytes(), value)?;
            let name = name.to_ascii_lowercase();
            pairs.append((PyBytes::new(py, name.as_bytes()), PyBytes::new(py, value)))?;
        }
        Ok(RequestHead {
            method: PyString::new(py, head.method).unbind(),
            path: py_text(py, head.path.as_bytes()).unbind(),
            query: py_text(py, head.query.as_bytes()).unbind(),
            is_1_0: head.is_1_0,
            headers: headers.unbind(),
            pairs: pairs.unbind(),
            length: match head.body {
                Body::Length(length) => Some(length),
                Body::Chunked => None,
            },
            keep_alive: head.keep_alive,
            expects_continue: head.expects_continue,
        })
    }
}

/// An incremental parser of a request head.
#[pyclass]
#[derive(Default)]
struct HeadReader(http::HeadReader);

#[pymethods]
impl HeadReader {
    #[new]
    fn new() -> HeadReader {
        HeadReader::default()
    }

    #[getter]
    fn empty(&self) -> bool {
        self.0.is_empty()
    }

    fn take(
        &mut self,
        py: Python<'_>,
        data: &[u8],
        start: usize,
    ) -> PyResult<(usize, Option<RequestHead>)> {
        let (taken, head) = self
            .0
            .take(data.get(start..).unwrap_or_default())
            .or_raise()?;
        let head = match head {
            Some(head) => Some(RequestHead::new(py, &http::parse_head(&head).or_raise()?)?),
            None => None,
        };
        Ok((start + taken, head))
    }
}

/// An incremental decoder of a chunked body.
#[pyclass]
#[derive(Default)]
struct ChunkReader(http::ChunkReader);

#[pymethods]
impl ChunkReader {
    #[new]
    fn new() -> ChunkReader {
        ChunkReader::default()
    }

    #[getter]
    fn done(&self) -> bool {
        self.0.is_done()
    }

    fn take<'py>(
        &mut self,
        py: Python<'py>,
        data: &[u8],
        start: usize,
    ) -> PyResult<(usize, Bound<'py, PyBytes>)> {
        let data = data.get(start..).unwrap_or_default();
        let mut body = Vec::with_capacity(data.len());
        let taken = self.0.take(data, &mut body).or_raise()?;
        Ok((start + taken, PyBytes::new(py, &body)))
    }
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
    module.add_class::<HeadReader>()?;
    module.add_class::<ChunkReader>()?;
    module.add_class::<RequestHead>()?;
    module.add_function(wrap_pyfunction!(whole_request, module)?)?;
    module.add_function(wrap_pyfunction!(whole_answer, module)?)
}
