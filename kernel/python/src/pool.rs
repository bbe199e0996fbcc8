//! The pool of open tables.

use std::path::PathBuf;
use std::sync::Arc;

use anabranch_tables::tree::{self, Locate, Pool, TableId};
use anabranch_tables::{Error, Result};
use pyo3::prelude::*;

use crate::errors::OrRaise;
use crate::trees::Tree;

/// Finds tables by calling Python.
struct PyLocate(Py<PyAny>);

impl Locate for PyLocate {
    fn locate(&self, table_id: &str) -> Result<PathBuf> {
        let found = Python::attach(|py| self.0.call1(py, (table_id,))?.extract(py));
        found.map_err(|error: PyErr| Error::Caller(Box::new(error)))
    }
}

/// A pool of open tables, which closes the least recently used ones.
#[pyclass(module = "anabranch._kernel", frozen)]
pub struct Tables {
    pool: Arc<Pool>,
}

#[pymethods]
impl Tables {
    #[new]
    #[pyo3(signature = (capacity = 4096))]
    fn new(capacity: usize) -> Tables {
        let pool = Arc::new(Pool::new(capacity));
        Tables { pool }
    }

    fn tree(&self, metarange_id: &str, locate: Py<PyAny>) -> PyResult<Tree> {
        let locate = Arc::new(PyLocate(locate));
        let tree = tree::Tree::open(&self.pool, metarange_id, locate).or_raise()?;
        Ok(Tree { tree })
    }

    fn open_count(&self) -> usize {
        self.pool.open_count()
    }

    fn forget(&self, table_id: &str) {
        // A malformed id has no open table.
        if let Ok(id) = TableId::parse(table_id) {
            self.pool.forget(id);
        }
    }
}

pub fn register(module: &Bound<'_, PyModule>) -> PyResult<()> {
    module.add_class::<Tables>()
}
