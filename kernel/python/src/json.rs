//! The scan of JSON lines.

use std::ffi::CStr;

use anabranch_objects::json::{Lines, document_lines};
use arrow_schema::ffi::FFI_ArrowSchema;
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use pyo3::types::{PyBytes, PyCapsule};

/// The name that the Arrow C data interface gives to capsules.
const SCHEMA: &CStr = c"arrow_schema";

#[pyclass(module = "anabranch._kernel")]
#[derive(Default)]
struct JsonLines {
    lines: Lines,
}

#[pymethods]
impl JsonLines {
    #[new]
    fn new() -> JsonLines {
        JsonLines::default()
    }

    fn add(&mut self, py: Python<'_>, lines: &[u8]) -> bool {
        py.detach(|| self.lines.add(lines))
    }

    #[getter]
    fn rows(&self) -> u64 {
        self.lines.rows()
    }

    #[getter]
    fn doubled_rows(&self) -> u64 {
        self.lines.doubled_rows()
    }

    #[getter]
    fn first_doubled(&self) -> Option<&[u8]> {
        self.lines.first_doubled()
    }

    fn values<'py>(
        &self,
        py: Python<'py>,
        lines: &[u8],
        places: Vec<usize>,
    ) -> PyResult<Vec<Bound<'py, PyBytes>>> {
        let values = py.detach(|| self.lines.values(lines, &places));
        let values = values.ok_or_else(|| PyValueError::new_err("the lines have changed"))?;
        Ok(values.iter().map(|each| PyBytes::new(py, each)).collect())
    }

    fn __arrow_c_schema__<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyCapsule>> {
        let schema = FFI_ArrowSchema::try_from(&self.lines.schema())
            .map_err(|error| PyValueError::new_err(error.to_string()))?;
        PyCapsule::new_with_value(py, schema, SCHEMA)
    }
}

#[pyfunction]
fn json_document_lines<'py>(py: Python<'py>, document: &[u8]) -> Option<Bound<'py, PyBytes>> {
    let lines = py.detach(|| document_lines(document))?;
    Some(PyBytes::new(py, &lines))
}

pub fn register(module: &Bound<'_, PyModule>) -> PyResult<()> {
    module.add_function(wrap_pyfunction!(json_document_lines, module)?)?;
    module.add_class::<JsonLines>()
}
