//! The face that Python sees: the module `anabranch._kernel`, described in `_kernel.pyi`.

mod errors;
mod identities;
mod tables;

use pyo3::prelude::*;

#[pymodule]
fn _kernel(module: &Bound<'_, PyModule>) -> PyResult<()> {
    errors::register(module)?;
    identities::register(module)?;
    tables::register(module)
}
