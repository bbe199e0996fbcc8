//! Checksums of buffers.

use anabranch_objects::checksum;
use pyo3::prelude::*;
use pyo3::pybacked::PyBackedBytes;

/// The minimum length, in bytes, of a buffer for which releasing the GIL pays off.
const LONG: usize = 16 * 1024;

#[pyfunction]
#[pyo3(name = "crc32c", signature = (data, value=0, /))]
fn checksum_crc32c(py: Python<'_>, data: PyBackedBytes, value: u32) -> u32 {
    compute(py, data, move |data| checksum::crc32c(data, value))
}

#[pyfunction]
#[pyo3(name = "crc64nvme", signature = (data, value=0, /))]
fn checksum_crc64nvme(py: Python<'_>, data: PyBackedBytes, value: u64) -> u64 {
    compute(py, data, move |data| checksum::crc64nvme(data, value))
}

fn compute<T: Send>(
    py: Python<'_>,
    data: PyBackedBytes,
    checksum: impl FnOnce(&[u8]) -> T + Send,
) -> T {
    if data.len() < LONG {
        checksum(&data)
    } else {
        py.detach(|| checksum(&data))
    }
}

pub fn register(module: &Bound<'_, PyModule>) -> PyResult<()> {
    module.add_function(wrap_pyfunction!(checksum_crc32c, module)?)?;
    module.add_function(wrap_pyfunction!(checksum_crc64nvme, module)?)
}
