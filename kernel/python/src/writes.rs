//! Writing trees, and the results.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use anabranch_tables::codec::{self, encode_value};
use anabranch_tables::error::Result;
use anabranch_tables::ranges;
use anabranch_tables::table::{TableFolder, sync_folder};
use anabranch_tables::tree::WriteResult;
use anabranch_tables::tree::load::Loader;
use anabranch_tables::tree::merge::{self, Strategy};
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use pyo3::types::{PyBytes, PyList};

use crate::errors::OrRaise;
use crate::identities::PyValue;
use crate::tables::{RangeInfo, Written};

/// The number of bytes of records that are read from Python before they are written with the GIL
/// released.
const BATCH: usize = 4 << 20;

impl From<WriteResult> for Written {
    fn from(result: WriteResult) -> Written {
        Written {
            metarange_id: result.metarange_id,
            tables: result.tables,
            count: result.count,
            added: result.counts.added,
            changed: result.counts.changed,
            removed: result.counts.removed,
            changed_paths: None,
            unsynced: Vec::new(),
        }
    }
}

impl Written {
    /// Adds the tables of a folder that were not synced.
    pub fn with_unsynced(mut self, py: Python<'_>, folder: &TableFolder) -> Written {
        let tables = folder.take_unsynced().into_iter();
        let shown = tables.map(|table| (table.id, PyBytes::new(py, &table.bytes).unbind()));
        self.unsynced = shown.collect();
        self
    }
}

/// Returns a folder, whose small tables are not synced if that is asked for.
pub fn table_folder(path: &Path, unsynced: bool) -> TableFolder {
    if unsynced {
        TableFolder::unsynced(path)
    } else {
        TableFolder::from(path)
    }
}

/// The result of a merge.
#[pyclass(module = "anabranch._kernel", frozen, get_all)]
pub struct Merged {
    written: Option<Py<Written>>,
    conflicts: Py<PyList>,
    has_more: bool,
}

impl Merged {
    pub fn new(py: Python<'_>, merged: merge::Merged, folder: &TableFolder) -> PyResult<Merged> {
        let keys = merged.conflicts.iter().map(|key| PyBytes::new(py, key));
        let conflicts = PyList::new(py, keys)?.unbind();
        let written = merged
            .result
            .map(|result| Py::new(py, Written::from(result).with_unsynced(py, folder)));
        Ok(Merged {
            written: written.transpose()?,
            conflicts,
            has_more: merged.has_more,
        })
    }
}

/// Returns the strategy with a name. Fails with ValueError.
pub fn strategy_named(name: &str) -> PyResult<Strategy> {
    match name {
        "" => Ok(Strategy::None),
        "source-wins" => Ok(Strategy::SourceWins),
        "dest-wins" => Ok(Strategy::DestWins),
        _ => Err(PyValueError::new_err(format!("unknown strategy {name:?}"))),
    }
}

/// Records on their way from Python to a loader.
#[derive(Default)]
struct Batch {
    bytes: Vec<u8>,
    /// Where keys and framed values end, in turn.
    ends: Vec<usize>,
}

impl Batch {
    fn push(&mut self, key: &[u8], (identity, data): (&[u8], &[u8])) {
        self.bytes.extend_from_slice(key);
        self.ends.push(self.bytes.len());
        encode_value(identity, data, &mut self.bytes);
        self.ends.push(self.bytes.len());
    }

    fn pour(&mut self, loader: &mut Loader) -> Result<()> {
        let mut start = 0;
        for ends in self.ends.chunks_exact(2) {
            let (key, value) = (&self.bytes[start..ends[0]], &self.bytes[ends[0]..ends[1]]);
            loader.add(key, value)?;
            start = ends[1];
        }
        self.bytes.clear();
        self.ends.clear();
        Ok(())
    }
}

#[pyfunction]
#[pyo3(signature = (records, folder, *, metadata=BTreeMap::new(), unsynced=false))]
fn write_tree(
    py: Python<'_>,
    records: &Bound<'_, PyAny>,
    folder: PathBuf,
    metadata: BTreeMap<String, String>,
    unsynced: bool,
) -> PyResult<Written> {
    let folder = table_folder(&folder, unsynced);
    let metadata: Vec<(String, String)> = metadata.into_iter().collect();
    let mut loader = Loader::with_metadata(&folder, &metadata);
    let mut batch = Batch::default();
    for record in records.try_iter()? {
        let (key, (identity, data)): (Bound<'_, PyBytes>, PyValue<'_>) = record?.extract()?;
        batch.push(key.as_bytes(), (identity.as_bytes(), data.as_bytes()));
        if batch.bytes.len() >= BATCH {
            py.detach(|| batch.pour(&mut loader)).or_raise()?;
        }
    }
    let done = py
        .detach(|| {
            batch.pour(&mut loader)?;
            loader.finish()
        })
        .or_raise()?;
    Ok(Written::from(done).with_unsynced(py, &folder))
}

#[pyfunction]
fn write_metarange(
    py: Python<'_>,
    ranges: Vec<PyRef<'_, RangeInfo>>,
    folder: PathBuf,
) -> PyResult<String> {
    let infos: Vec<codec::RangeInfo> = ranges.iter().map(|range| range.info.clone()).collect();
    py.detach(|| write_list(&infos, &folder)).or_raise()
}

fn write_list(infos: &[codec::RangeInfo], folder: &Path) -> Result<String> {
    let (id, written) = ranges::write_metarange(infos, &[], folder)?;
    if written {
        sync_folder(folder)?;
    }
    Ok(id)
}

/// The size of the range is left out: it is unknown where the ranges of several writers are joined.
#[pyfunction]
fn ends_range(key: &[u8]) -> bool {
    ranges::break_after(key, 0)
}

pub fn register(module: &Bound<'_, PyModule>) -> PyResult<()> {
    module.add_class::<Merged>()?;
    module.add_function(wrap_pyfunction!(write_tree, module)?)?;
    module.add_function(wrap_pyfunction!(ends_range, module)?)?;
    module.add_function(wrap_pyfunction!(write_metarange, module)?)
}
