//! System calls on files.

use std::os::fd::{IntoRawFd, RawFd};
use std::path::PathBuf;

use anabranch_objects::{beneath, files};
use pyo3::prelude::*;
use pyo3::pybacked::PyBackedBytes;
use pyo3::types::{PyBytes, PyString};

#[pyfunction]
fn has_name(descriptor: RawFd) -> PyResult<bool> {
    Ok(files::has_name(descriptor)?)
}

#[pyfunction]
fn open_folder_beneath(root: PathBuf, folder: PathBuf) -> Option<RawFd> {
    beneath::open_folder(&root, &folder).map(IntoRawFd::into_raw_fd)
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
        // the caller then reads the file in another way, which reports any error
        all = files::read_cached(&path, start, buffer).unwrap_or(false);
        Ok(())
    })?;
    Ok(all.then_some(bytes))
}

#[pyfunction]
fn read_whole_cached(
    py: Python<'_>,
    path: PathBuf,
    size: usize,
) -> PyResult<Option<(Bound<'_, PyBytes>, u64)>> {
    let mut identity = None;
    let bytes = PyBytes::new_with(py, size, |buffer| {
        // as above
        identity = files::read_whole_cached(&path, buffer).unwrap_or(None);
        Ok(())
    })?;
    Ok(identity.map(|identity| (bytes, identity)))
}

#[pyfunction]
fn ordinary_place<'py>(
    address: &Bound<'py, PyString>,
) -> Option<(Bound<'py, PyString>, Bound<'py, PyString>)> {
    // a string that is not valid Unicode is not an ordinary address
    let text = address.to_cow().ok()?;
    let (folder, name) = files::ordinary_place(&text)?;
    let py = address.py();
    Some((PyString::new(py, folder), PyString::new(py, name)))
}

#[derive(FromPyObject)]
enum FileName {
    Path(PathBuf),
    Descriptor(RawFd),
}

#[pyfunction]
fn file_state(path: FileName) -> PyResult<Option<(u64, u64)>> {
    let state = match path {
        FileName::Path(path) => files::state(&path)?,
        FileName::Descriptor(descriptor) => Some(files::open_state(descriptor)?),
    };
    Ok(state.map(|state| (state.size, state.identity)))
}

#[pyfunction]
fn write_new_file(py: Python<'_>, path: PathBuf, body: PyBackedBytes) -> i32 {
    let written = py.detach(|| files::write_new(&path, &body));
    written.map_or_else(|error| error.raw_os_error().unwrap_or(libc::EIO), |()| 0)
}

pub fn register(module: &Bound<'_, PyModule>) -> PyResult<()> {
    module.add_function(wrap_pyfunction!(has_name, module)?)?;
    module.add_function(wrap_pyfunction!(open_folder_beneath, module)?)?;
    module.add_function(wrap_pyfunction!(read_cached, module)?)?;
    module.add_function(wrap_pyfunction!(read_whole_cached, module)?)?;
    module.add_function(wrap_pyfunction!(ordinary_place, module)?)?;
    module.add_function(wrap_pyfunction!(file_state, module)?)?;
    module.add_function(wrap_pyfunction!(write_new_file, module)?)
}
