//! Small questions about files.

use std::os::fd::RawFd;
use std::path::PathBuf;

use pyo3::prelude::*;
use pyo3::pybacked::PyBackedBytes;
use pyo3::types::PyBytes;

use crate::files;

#[pyfunction]
fn has_name(descriptor: RawFd) -> PyResult<bool> {
    Ok(files::has_name(descriptor)?)
}

#[pyfunction]
fn read_cached(
    py: Python<'_>,
    path: PathBuf,
    start: u64,
    length: usize,
) -> PyResult<Option<Bound<'_, PyBytes>>> {
    let mut all = false;
    let bytes = PyBytes::new_with(py, length, |buffer| {
        // whatever goes wrong is told by who reads it otherwise
        all = files::read_cached(&path, start, buffer).unwrap_or(false);
        Ok(())
    })?;
    Ok(all.then_some(bytes))
}

#[pyfunction]
fn write_new_file(py: Python<'_>, path: PathBuf, body: PyBackedBytes) -> i32 {
    let written = py.detach(|| files::write_new(&path, &body));
    written.map_or_else(|error| error.raw_os_error().unwrap_or(libc::EIO), |()| 0)
}

pub fn register(module: &Bound<'_, PyModule>) -> PyResult<()> {
    module.add_function(wrap_pyfunction!(has_name, module)?)?;
    module.add_function(wrap_pyfunction!(read_cached, module)?)?;
    module.add_function(wrap_pyfunction!(write_new_file, module)?)
}
