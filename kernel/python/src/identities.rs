//! Identities and codecs of records.

use anabranch_tables::codec::{self, Entry, EntryView, StagedEntry, text};
use pyo3::exceptions::PyTypeError;
use pyo3::prelude::*;
use pyo3::types::{PyBytes, PyDict, PyMapping};

use crate::errors::OrRaise;
use crate::values::py_value;

/// (identity, data) of a record, as Python has it.
pub type PyValue<'py> = (Bound<'py, PyBytes>, Bound<'py, PyBytes>);

type DecodedEntry<'a, 'py> = (
    &'a str,
    i32,
    i64,
    i32,
    i64,
    &'a str,
    Bound<'py, PyDict>,
    &'a str,
);

/// Returns the pairs of a mapping of strings.
pub fn pairs(mapping: &Bound<'_, PyAny>) -> PyResult<Vec<(String, String)>> {
    if let Ok(dict) = mapping.cast::<PyDict>() {
        return dict
            .iter()
            .map(|(key, value)| Ok((key.extract()?, value.extract()?)))
            .collect();
    }
    let mapping = mapping
        .cast::<PyMapping>()
        .map_err(|_| PyTypeError::new_err("metadata must be a mapping"))?;
    mapping.items()?.iter().map(|item| item.extract()).collect()
}

#[pyfunction]
fn entry_identity<'py>(
    py: Python<'py>,
    size: i64,
    checksum: &str,
    metadata: &Bound<'py, PyAny>,
    content_type: &str,
) -> PyResult<Bound<'py, PyBytes>> {
    let (checksum, content_type) = (checksum.as_bytes(), content_type.as_bytes());
    let identity = codec::entry_identity(size, checksum, &pairs(metadata)?, content_type);
    Ok(PyBytes::new(py, &identity))
}

#[pyfunction]
#[expect(clippy::too_many_arguments, reason = "an entry has that many parts")]
fn encode_entry<'py>(
    py: Python<'py>,
    address: String,
    address_type: i32,
    mtime: i64,
    mtime_nanos: i32,
    size: i64,
    checksum: String,
    metadata: &Bound<'py, PyAny>,
    content_type: String,
) -> PyResult<PyValue<'py>> {
    let entry = Entry {
        address,
        address_type,
        mtime,
        mtime_nanos,
        size,
        checksum,
        metadata: pairs(metadata)?,
        content_type,
    };
    let identity = PyBytes::new(py, &entry.identity());
    Ok((identity, PyBytes::new(py, &entry.encode())))
}

#[pyfunction]
fn decode_entry<'a, 'py>(py: Python<'py>, data: &'a [u8]) -> PyResult<DecodedEntry<'a, 'py>> {
    let entry = EntryView::decode(data).or_raise()?;
    let metadata = PyDict::new(py);
    for &(key, value) in &entry.metadata {
        metadata.set_item(text(key).or_raise()?, text(value).or_raise()?)?;
    }
    Ok((
        text(entry.address).or_raise()?,
        entry.address_type,
        entry.mtime,
        entry.mtime_nanos,
        entry.size,
        text(entry.checksum).or_raise()?,
        metadata,
        text(entry.content_type).or_raise()?,
    ))
}

#[pyfunction]
fn encode_staged<'py>(
    py: Python<'py>,
    key: &[u8],
    value: Option<(&[u8], &[u8])>,
) -> Bound<'py, PyBytes> {
    let (identity, data) = value.unwrap_or_default();
    let staged = StagedEntry {
        key,
        identity,
        data,
    };
    PyBytes::new(py, &staged.encode())
}

#[pyfunction]
fn decode_staged<'py>(
    py: Python<'py>,
    data: &[u8],
) -> PyResult<(Bound<'py, PyBytes>, Option<PyValue<'py>>)> {
    let staged = StagedEntry::decode(data).or_raise()?;
    let value = staged.value().map(|value| py_value(py, value));
    Ok((PyBytes::new(py, staged.key), value))
}

#[pyfunction]
fn commit_id(
    committer: &str,
    message: &str,
    metarange_id: &str,
    creation_date: i64,
    metadata: &Bound<'_, PyAny>,
    parents: Vec<String>,
) -> PyResult<String> {
    Ok(codec::commit_id(
        committer,
        message,
        metarange_id,
        creation_date,
        &pairs(metadata)?,
        &parents,
    ))
}

pub fn register(module: &Bound<'_, PyModule>) -> PyResult<()> {
    module.add_function(wrap_pyfunction!(entry_identity, module)?)?;
    module.add_function(wrap_pyfunction!(encode_entry, module)?)?;
    module.add_function(wrap_pyfunction!(decode_entry, module)?)?;
    module.add_function(wrap_pyfunction!(encode_staged, module)?)?;
    module.add_function(wrap_pyfunction!(decode_staged, module)?)?;
    module.add_function(wrap_pyfunction!(commit_id, module)?)
}
