//! Streams of Arrow record batches in PyCapsules: without a copy, and without a shared library, by
//! the layout of the Arrow C stream interface.

use std::ffi::CStr;
use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError};

use anabranch_tables::arrow::batches::{BatchStream, Batches};
use anabranch_tables::arrow::load::load;
use anabranch_tables::arrow::order;
use anabranch_tables::error::Result;
use anabranch_tables::tree::load::Loader;
use arrow_array::RecordBatchReader;
use arrow_array::ffi_stream::{FFI_ArrowArrayStream, RecordBatchStreamReader};
use pyo3::exceptions::{PyTypeError, PyValueError};
use pyo3::prelude::*;
use pyo3::types::{PyBytes, PyCapsule};

use crate::errors::OrRaise;
use crate::tables::{RangeInfo, Written};

/// The name that the interface gives to capsules.
const STREAM: &CStr = c"arrow_array_stream";

/// A stream of record batches, which can be taken once.
#[pyclass(module = "anabranch._kernel", frozen)]
pub struct ArrowStream {
    batches: Mutex<Option<Box<dyn RecordBatchReader + Send>>>,
}

impl ArrowStream {
    pub fn new(batches: impl Batches + Send + 'static) -> ArrowStream {
        ArrowStream {
            batches: Mutex::new(Some(Box::new(BatchStream::new(batches)))),
        }
    }
}

#[pymethods]
impl ArrowStream {
    /// Returns the stream; a requested schema is ignored.
    #[pyo3(signature = (requested_schema = None))]
    fn __arrow_c_stream__<'py>(
        &self,
        py: Python<'py>,
        requested_schema: Option<&Bound<'py, PyAny>>,
    ) -> PyResult<Bound<'py, PyCapsule>> {
        let _ = requested_schema;
        let batches = self
            .batches
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .take();
        let batches =
            batches.ok_or_else(|| PyValueError::new_err("the stream was taken already"))?;
        let stream = FFI_ArrowArrayStream::new(batches);
        PyCapsule::new_with_value(py, stream, STREAM)
    }
}

/// Takes the stream from an object that exports one.
fn take_stream(source: &Bound<'_, PyAny>) -> PyResult<RecordBatchStreamReader> {
    let offered = source.getattr_opt("__arrow_c_stream__")?;
    let offered = offered.ok_or_else(|| {
        PyTypeError::new_err("the source has no __arrow_c_stream__: it is no Arrow stream")
    })?;
    let capsule = offered.call0()?;
    let capsule = capsule.cast::<PyCapsule>()?;
    let stream = capsule.pointer_checked(Some(STREAM))?;
    // SAFETY: a capsule of this name holds a stream of this layout. Moving it out leaves one
    // behind that is marked as released, which is how a stream is taken.
    let reader = unsafe { RecordBatchStreamReader::from_raw(stream.as_ptr().cast()) };
    reader.map_err(|error| PyValueError::new_err(error.to_string()))
}

fn loaded(source: &Bound<'_, PyAny>, folder: &Path) -> PyResult<Loader> {
    let reader = take_stream(source)?;
    let mut loader = Loader::new(folder);
    source
        .py()
        .detach(|| -> Result<Loader> {
            load(reader, &mut loader)?;
            Ok(loader)
        })
        .or_raise()
}

#[pyfunction]
fn write_arrow(py: Python<'_>, source: &Bound<'_, PyAny>, folder: PathBuf) -> PyResult<Written> {
    let loader = loaded(source, &folder)?;
    Ok(py.detach(|| loader.finish()).or_raise()?.into())
}

#[pyfunction]
fn write_ranges_arrow(
    py: Python<'_>,
    source: &Bound<'_, PyAny>,
    folder: PathBuf,
) -> PyResult<Vec<RangeInfo>> {
    let loader = loaded(source, &folder)?;
    let infos = py.detach(|| loader.finish_ranges()).or_raise()?;
    Ok(infos.into_iter().map(|info| RangeInfo { info }).collect())
}

/// Returns the order as numbers of four bytes each, of this machine's kind.
#[pyfunction]
fn path_order<'py>(py: Python<'py>, source: &Bound<'py, PyAny>) -> PyResult<Bound<'py, PyBytes>> {
    let reader = take_stream(source)?;
    let numbers = py.detach(|| order::path_order(reader)).or_raise()?;
    PyBytes::new_with(py, numbers.len() * size_of::<u32>(), |bytes| {
        let places = bytes.chunks_exact_mut(size_of::<u32>());
        for (place, number) in places.zip(numbers) {
            place.copy_from_slice(&number.to_ne_bytes());
        }
        Ok(())
    })
}

pub fn register(module: &Bound<'_, PyModule>) -> PyResult<()> {
    module.add_class::<ArrowStream>()?;
    module.add_function(wrap_pyfunction!(write_arrow, module)?)?;
    module.add_function(wrap_pyfunction!(write_ranges_arrow, module)?)?;
    module.add_function(wrap_pyfunction!(path_order, module)?)
}
