//! Layers of trees, and the trees written from them.

use std::path::PathBuf;

use anabranch_tables::error::{Error, Result};
use anabranch_tables::tree::layers::{self, LeaveOut, Limits, Seen};
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use pyo3::types::{PyBytes, PyList};

use crate::errors::OrRaise;
use crate::tables::Written;
use crate::trees::Tree;

/// A filter of entries implemented by a Python function.
struct PyLeaveOut(Py<PyAny>);

impl LeaveOut for PyLeaveOut {
    fn leaves_out(&self, name: &[u8]) -> Result<bool> {
        let said = Python::attach(|py| {
            let said = self.0.bind(py).call1((PyBytes::new(py, name),))?;
            said.is_truthy()
        });
        said.map_err(|error: PyErr| Error::Caller(Box::new(error)))
    }
}

/// The entries of a tree under a prefix, and their changes in the new tree.
#[pyclass(module = "anabranch._kernel", frozen)]
pub struct Layer {
    tree: anabranch_tables::tree::Tree,
    prefix: Vec<u8>,
    target: Vec<u8>,
    single: bool,
    namespace: Option<String>,
    leave_out: Option<Py<PyAny>>,
}

#[pymethods]
impl Layer {
    #[new]
    #[pyo3(signature = (tree, *, prefix = b"".as_slice(), target = b"".as_slice(), single = false, namespace = None, leave_out = None))]
    fn new(
        tree: &Tree,
        prefix: &[u8],
        target: &[u8],
        single: bool,
        namespace: Option<String>,
        leave_out: Option<Py<PyAny>>,
    ) -> Layer {
        Layer {
            tree: tree.tree.clone(),
            prefix: prefix.to_vec(),
            target: target.to_vec(),
            single,
            namespace,
            leave_out,
        }
    }
}

impl Layer {
    fn layer(&self, py: Python<'_>) -> layers::Layer {
        let leave_out = self.leave_out.as_ref().map(|leave_out| {
            let leave_out: Box<dyn LeaveOut> = Box::new(PyLeaveOut(leave_out.clone_ref(py)));
            leave_out
        });
        layers::Layer {
            tree: self.tree.clone(),
            prefix: self.prefix.clone(),
            target: self.target.clone(),
            single: self.single,
            namespace: self.namespace.clone().map(String::into_bytes),
            leave_out,
        }
    }
}

/// The statistics of a layer.
#[pyclass(module = "anabranch._kernel", frozen, get_all)]
pub struct LayerCounts {
    found: u64,
    skipped: u64,
    shadowed: u64,
    shadowed_keys: Py<PyList>,
    invalid: u64,
    invalid_keys: Py<PyList>,
    size: i128,
    shadowed_size: i128,
}

impl LayerCounts {
    fn new(py: Python<'_>, seen: &Seen) -> PyResult<LayerCounts> {
        let list = |keys: &[Vec<u8>]| -> PyResult<Py<PyList>> {
            let keys = keys.iter().map(|key| PyBytes::new(py, key));
            Ok(PyList::new(py, keys)?.unbind())
        };
        Ok(LayerCounts {
            found: seen.found,
            skipped: seen.skipped,
            shadowed: seen.shadowed,
            shadowed_keys: list(&seen.shadowed_keys)?,
            invalid: seen.invalid,
            invalid_keys: list(&seen.invalid_keys)?,
            size: seen.size,
            shadowed_size: seen.shadowed_size,
        })
    }
}

#[pyfunction]
#[pyo3(signature = (layers, folder, *, longest_key = 1024, look = None))]
fn write_layers(
    py: Python<'_>,
    layers: Vec<PyRef<'_, Layer>>,
    folder: PathBuf,
    longest_key: usize,
    look: Option<Py<PyAny>>,
) -> PyResult<(Written, Vec<LayerCounts>)> {
    if longest_key == 0 {
        return Err(PyValueError::new_err("keys have at least one byte"));
    }
    let layers: Vec<layers::Layer> = layers.iter().map(|layer| layer.layer(py)).collect();
    let look = |passed: u64| -> Result<()> {
        let Some(look) = &look else {
            return Ok(());
        };
        let looked = Python::attach(|py| look.call1(py, (passed,)).map(drop));
        looked.map_err(|error| Error::Caller(Box::new(error)))
    };
    let limits = Limits {
        longest_key,
        look: &look,
    };
    let done = py
        .detach(|| layers::write(&layers, &folder, limits))
        .or_raise()?;
    let seen = done.seen.iter().map(|seen| LayerCounts::new(py, seen));
    Ok((done.result.into(), seen.collect::<PyResult<_>>()?))
}

pub fn register(module: &Bound<'_, PyModule>) -> PyResult<()> {
    module.add_class::<Layer>()?;
    module.add_class::<LayerCounts>()?;
    module.add_function(wrap_pyfunction!(write_layers, module)?)
}
