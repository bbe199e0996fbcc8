//! What the system knows of an open file.

use std::fs::File;
use std::mem::ManuallyDrop;
use std::os::fd::{FromRawFd, RawFd};
use std::os::unix::fs::MetadataExt;

use pyo3::prelude::*;

/// Python's own `fstat` makes an object of twenty numbers, which takes longer than the call.
#[pyfunction]
fn has_name(descriptor: RawFd) -> PyResult<bool> {
    // SAFETY: nothing is closed here, and a number that is no descriptor is an error of the system.
    let file = ManuallyDrop::new(unsafe { File::from_raw_fd(descriptor) });
    Ok(file.metadata()?.nlink() > 0)
}

pub fn register(module: &Bound<'_, PyModule>) -> PyResult<()> {
    module.add_function(wrap_pyfunction!(has_name, module)?)
}
