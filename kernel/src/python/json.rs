//! The scan of JSON lines.

use std::ffi::CStr;

use arrow_schema::ffi::FFI_ArrowSchema;
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use pyo3::types::PyCapsule;

use crate::json::Lines;

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
    fn is_exact(&self) -> bool {
        self.lines.schema().is_some()
    }

    fn __arrow_c_schema__<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyCapsule>> {
        let schema = self.lines.schema();
        let schema = schema.ok_or_else(|| PyValueError::new_err("no types hold all values"))?;
        let schema = FFI_ArrowSchema::try_from(&schema)
            .map_err(|error| PyValueError::new_err(error.to_string()))?;
        PyCapsule::new_with_value(py, schema, SCHEMA)
    }
}

pub fn register(module: &Bound<'_, PyModule>) -> PyResult<()> {
    module.add_class::<JsonLines>()
}
