//! The Python bindings: the module `anabranch._kernel`, documented in `_kernel.pyi`.

mod arrow;
mod checksums;
mod diffs;
mod errors;
#[cfg(unix)]
mod files;
mod history;
mod http;
mod identities;
mod json;
mod latin_1;
mod layers;
mod listing;
mod pool;
mod search;
mod signing;
mod tables;
mod trees;
mod values;
mod writes;

use pyo3::prelude::*;

#[pymodule]
fn _kernel(module: &Bound<'_, PyModule>) -> PyResult<()> {
    errors::register(module)?;
    identities::register(module)?;
    tables::register(module)?;
    pool::register(module)?;
    trees::register(module)?;
    listing::register(module)?;
    diffs::register(module)?;
    writes::register(module)?;
    layers::register(module)?;
    history::register(module)?;
    arrow::register(module)?;
    json::register(module)?;
    checksums::register(module)?;
    signing::register(module)?;
    #[cfg(unix)]
    files::register(module)?;
    http::register(module)
}
