//! Tables and their descriptions.

use std::path::PathBuf;
use std::sync::Arc;

use anabranch_tables::codec;
use anabranch_tables::table::{self, Table, parts};
use pyo3::prelude::*;
use pyo3::types::{PyBytes, PyDict};

use crate::errors::OrRaise;

/// One range of a tree, as its metarange describes it.
#[pyclass(module = "anabranch._kernel", frozen, eq)]
#[derive(Clone, PartialEq)]
pub struct RangeInfo {
    pub info: codec::RangeInfo,
}

#[pymethods]
impl RangeInfo {
    #[new]
    fn new(
        id: String,
        min_key: Vec<u8>,
        max_key: Vec<u8>,
        count: i64,
        estimated_size: u64,
    ) -> RangeInfo {
        let info = codec::RangeInfo {
            id,
            min_key,
            max_key,
            count,
            estimated_size,
        };
        RangeInfo { info }
    }

    #[getter]
    fn id(&self) -> &str {
        &self.info.id
    }

    #[getter]
    fn min_key<'py>(&self, py: Python<'py>) -> Bound<'py, PyBytes> {
        PyBytes::new(py, &self.info.min_key)
    }

    #[getter]
    fn max_key<'py>(&self, py: Python<'py>) -> Bound<'py, PyBytes> {
        PyBytes::new(py, &self.info.max_key)
    }

    #[getter]
    fn count(&self) -> i64 {
        self.info.count
    }

    #[getter]
    fn estimated_size(&self) -> u64 {
        self.info.estimated_size
    }

    fn __repr__(&self) -> String {
        let info = &self.info;
        let [min_key, max_key] = [&info.min_key, &info.max_key].map(|k| k.escape_ascii());
        format!(
            "RangeInfo(id='{}', min_key=b'{min_key}', max_key=b'{max_key}', count={}, estimated_size={})",
            info.id, info.count, info.estimated_size
        )
    }
}

/// The result of a write to a folder.
#[pyclass(module = "anabranch._kernel", frozen, get_all)]
pub struct Written {
    pub metarange_id: String,
    pub tables: Vec<String>,
    pub count: u64,
    pub added: u64,
    pub changed: u64,
    pub removed: u64,
    /// Which paths the changes name, in the form that `history::changed_paths` encodes.
    pub changed_paths: Option<Vec<u8>>,
    /// Small tables that are in the folder and not synced, with their bytes.
    pub unsynced: Vec<(String, Py<PyBytes>)>,
}

#[pymethods]
impl Written {
    fn __repr__(&self) -> String {
        format!(
            "Written(metarange_id='{}', tables={:?}, count={}, added={}, changed={}, removed={})",
            self.metarange_id, self.tables, self.count, self.added, self.changed, self.removed
        )
    }
}

#[pyfunction]
fn verify_table(py: Python<'_>, path: PathBuf) -> PyResult<String> {
    py.detach(|| table::verify_table(&path)).or_raise()
}

#[pyfunction]
fn table_properties(py: Python<'_>, path: PathBuf) -> PyResult<Bound<'_, PyDict>> {
    let table = Table::open(&path).or_raise()?;
    let properties = PyDict::new(py);
    for (name, value) in table.properties().all() {
        properties.set_item(name, PyBytes::new(py, value))?;
    }
    Ok(properties)
}

type PyRecord<'py> = (Bound<'py, PyBytes>, Bound<'py, PyBytes>);

#[pyfunction]
fn table_records(py: Python<'_>, path: PathBuf) -> PyResult<Vec<PyRecord<'_>>> {
    let mut cursor = Arc::new(Table::open(&path).or_raise()?).cursor();
    let mut records = Vec::new();
    cursor.first().or_raise()?;
    while cursor.valid() {
        let key = PyBytes::new(py, cursor.key());
        records.push((key, PyBytes::new(py, cursor.value())));
        cursor.next().or_raise()?;
    }
    Ok(records)
}

#[pyfunction]
fn table_index_start(tail: &[u8], size: u64) -> PyResult<u64> {
    parts::index_start(tail, size).or_raise()
}

#[pyfunction]
#[pyo3(signature = (path, after, until))]
fn table_span(path: PathBuf, after: &[u8], until: Option<&[u8]>) -> PyResult<(u64, u64)> {
    let table = Table::open(&path).or_raise()?;
    let span = parts::span(&table, after, until).or_raise()?;
    Ok((span.start, span.end))
}

pub fn register(module: &Bound<'_, PyModule>) -> PyResult<()> {
    module.add("EMPTY_TREE_ID", "")?;
    module.add_class::<RangeInfo>()?;
    module.add_class::<Written>()?;
    module.add_function(wrap_pyfunction!(verify_table, module)?)?;
    module.add_function(wrap_pyfunction!(table_properties, module)?)?;
    module.add_function(wrap_pyfunction!(table_records, module)?)?;
    module.add_function(wrap_pyfunction!(table_index_start, module)?)?;
    module.add_function(wrap_pyfunction!(table_span, module)?)
}
