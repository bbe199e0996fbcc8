//! Pages of differences.

use anabranch_tables::tree;
use pyo3::prelude::*;
use pyo3::types::{PyBytes, PyList, PyString};

use crate::values::py_framed;

/// A page of differences: (kind, key, left, right).
#[pyclass(module = "anabranch._kernel", frozen, get_all)]
pub struct DiffPage {
    rows: Py<PyList>,
    has_more: bool,
}

impl DiffPage {
    pub fn new(py: Python<'_>, page: &tree::DiffPage) -> PyResult<DiffPage> {
        let rows = PyList::empty(py);
        let value = |framed: Option<&[u8]>| framed.map(|framed| py_framed(py, framed)).transpose();
        for row in &page.rows {
            rows.append((
                PyString::intern(py, row.kind.name()),
                PyBytes::new(py, &row.key),
                value(row.left.as_deref())?,
                value(row.right.as_deref())?,
            ))?;
        }
        Ok(DiffPage {
            rows: rows.unbind(),
            has_more: page.has_more,
        })
    }
}

/// Returns a page of conflicts as a list of (key, base, source, destination), and whether more
/// follow.
pub fn py_conflicts<'py>(
    py: Python<'py>,
    page: &tree::conflicts::ConflictPage,
) -> PyResult<(Bound<'py, PyList>, bool)> {
    let rows = PyList::empty(py);
    let value = |framed: Option<&[u8]>| framed.map(|framed| py_framed(py, framed)).transpose();
    for row in &page.conflicts {
        rows.append((
            PyBytes::new(py, &row.key),
            value(row.base.as_deref())?,
            value(row.source.as_deref())?,
            value(row.dest.as_deref())?,
        ))?;
    }
    Ok((rows, page.has_more))
}

pub fn register(module: &Bound<'_, PyModule>) -> PyResult<()> {
    module.add_class::<DiffPage>()
}
