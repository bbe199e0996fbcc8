//! A page of a tree with staged changes applied.

use std::cell::RefCell;

use anabranch_tables::error::Result;
use anabranch_tables::tree;
use anabranch_tables::tree::s3_xml::{Elements, elements};
use anabranch_tables::tree::shown_entry::Roots;
use anabranch_tables::tree::stats_json::{Shown, object_stats};
use pyo3::prelude::*;
use pyo3::types::{PyBytes, PyList};

use crate::errors::OrRaise;
use crate::values::{PyChange, PyStaged, parts, py_path, py_value, staged_parts};

thread_local! {
    /// A buffer for pages, reused because allocating it would cost as much as writing a page.
    static PAGE: RefCell<Vec<u8>> = const { RefCell::new(Vec::new()) };
}

/// A page being filled.
#[pyclass(module = "anabranch._kernel")]
pub struct Listing {
    pub listing: tree::Listing,
}

#[pymethods]
impl Listing {
    #[getter]
    fn position<'py>(&self, py: Python<'py>) -> Bound<'py, PyBytes> {
        PyBytes::new(py, self.listing.position())
    }

    #[getter]
    fn done(&self) -> bool {
        self.listing.done()
    }

    #[getter]
    fn has_more(&self) -> bool {
        self.listing.has_more()
    }

    fn feed(&mut self, changes: Vec<PyChange<'_>>, last: bool) -> PyResult<()> {
        let staged: Vec<tree::Staged<'_>> = changes.iter().map(parts).collect();
        self.listing.feed(&staged, last).or_raise()
    }

    fn feed_staged(&mut self, rows: Vec<PyStaged<'_>>, last: bool) -> PyResult<()> {
        let staged: Result<Vec<tree::Staged<'_>>> = rows.iter().map(staged_parts).collect();
        self.listing.feed(&staged.or_raise()?, last).or_raise()
    }

    fn replace(&mut self, rows: Vec<PyChange<'_>>, has_more: bool) {
        self.listing.replace(rows.iter().map(parts), has_more);
    }

    fn __len__(&self) -> usize {
        self.listing.len()
    }

    fn rows<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyList>> {
        let items = self.listing.items().map(|item| {
            let value = item.value.map(|value| py_value(py, value));
            (PyBytes::new(py, item.key), value)
        });
        PyList::new(py, items)
    }

    fn paths<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyList>> {
        let mut paths = Vec::with_capacity(self.listing.len());
        for item in self.listing.items() {
            paths.push(py_path(py, item.key)?);
        }
        PyList::new(py, paths)
    }

    fn last_key<'py>(&self, py: Python<'py>) -> Bound<'py, PyBytes> {
        let last = self.listing.items().last();
        PyBytes::new(py, last.map_or(b"", |item| item.key))
    }

    #[pyo3(signature = (storage_namespace, user_metadata, local_root = ""))]
    fn object_stats_json<'py>(
        &self,
        py: Python<'py>,
        storage_namespace: &str,
        user_metadata: bool,
        local_root: &str,
    ) -> PyResult<Bound<'py, PyBytes>> {
        let roots = Roots {
            storage_namespace,
            local_root,
        };
        let shown = Shown {
            roots,
            user_metadata,
        };
        PAGE.with_borrow_mut(|json| {
            object_stats(&self.listing, shown, json).or_raise()?;
            Ok(PyBytes::new(py, json))
        })
    }

    #[pyo3(signature = (root, *, name = "Contents", after_key = "", at_end = "", encoded = false))]
    fn s3_elements<'py>(
        &self,
        py: Python<'py>,
        root: &[u8],
        name: &str,
        after_key: &str,
        at_end: &str,
        encoded: bool,
    ) -> PyResult<Bound<'py, PyBytes>> {
        let shown = Elements {
            root,
            name,
            after_key,
            at_end,
            encoded,
        };
        PAGE.with_borrow_mut(|xml| {
            elements(&self.listing, shown, xml).or_raise()?;
            Ok(PyBytes::new(py, xml))
        })
    }
}

pub fn register(module: &Bound<'_, PyModule>) -> PyResult<()> {
    module.add_class::<Listing>()
}
