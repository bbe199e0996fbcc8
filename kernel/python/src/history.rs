//! The history of a repository in memory.

use std::sync::{Mutex, MutexGuard, PoisonError};

use anabranch_tables::codec::hex;
use anabranch_tables::error::{Error, Result};
use anabranch_tables::history::path_walk::{Targets, last_candidate};
use anabranch_tables::history::{self, CommitId, LogWalk, changed_paths, merge_base, parse_id};
use pyo3::prelude::*;
use pyo3::pybacked::{PyBackedBytes, PyBackedStr};
use pyo3::types::PyBytes;

use crate::errors::OrRaise;
use crate::trees::Tree;

/// The commits of a repository, and which paths each changed. Safe for use from many threads.
#[pyclass(module = "anabranch._kernel", frozen)]
pub struct CommitGraph {
    graph: Mutex<history::CommitGraph>,
}

impl CommitGraph {
    fn lock(&self) -> MutexGuard<'_, history::CommitGraph> {
        // A thread that panicked leaves at worst a commit without its parents, which walks report.
        self.graph.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[pymethods]
impl CommitGraph {
    #[new]
    fn new() -> CommitGraph {
        let graph = Mutex::default();
        CommitGraph { graph }
    }

    fn __len__(&self) -> usize {
        self.lock().len()
    }

    fn __contains__(&self, commit_id: &str) -> bool {
        parse_id(commit_id.as_bytes()).is_ok_and(|id| self.lock().number(&id).is_some())
    }

    fn add(&self, py: Python<'_>, records: Vec<PyBackedBytes>) -> PyResult<()> {
        let records = records.iter().map(|record| &record[..]);
        py.detach(|| self.lock().add(records)).or_raise()
    }

    fn set_changed(&self, py: Python<'_>, rows: Vec<(PyBackedStr, PyBackedBytes)>) -> usize {
        py.detach(|| {
            let rows = rows
                .iter()
                .filter_map(|(id, stored)| Some((parse_id(id.as_bytes()).ok()?, &stored[..])));
            self.lock().set_changed(rows)
        })
    }

    fn is_unknown(&self, commit_id: &str) -> PyResult<bool> {
        let graph = self.lock();
        let number = number(&graph, commit_id).or_raise()?;
        Ok(graph.is_unknown(number))
    }

    fn merge_bases(&self, py: Python<'_>, left: &str, right: &str) -> PyResult<Vec<String>> {
        let bases = py.detach(|| {
            let graph = self.lock();
            let (left, right) = (number(&graph, left)?, number(&graph, right)?);
            let bases = merge_base::merge_bases(&graph, left, right)?;
            let ids = bases.iter().map(|number| hex(&graph.get(*number).id));
            Result::Ok(ids.collect())
        });
        bases.or_raise()
    }

    fn last_candidate(
        &self,
        py: Python<'_>,
        commit_id: &str,
        paths: Vec<PyBackedBytes>,
        prefixes: Vec<PyBackedBytes>,
    ) -> PyResult<(String, Vec<usize>)> {
        let found = py.detach(|| {
            let graph = self.lock();
            let start = number(&graph, commit_id)?;
            let (number, targets) = last_candidate(&graph, start, &targets(&paths, &prefixes))?;
            Result::Ok((hex(&graph.get(number).id), targets))
        });
        found.or_raise()
    }

    fn first_parent_ancestor(
        &self,
        py: Python<'_>,
        commit_id: &str,
        count: u64,
    ) -> PyResult<(String, u64)> {
        let found = py.detach(|| {
            let graph = self.lock();
            let start = number(&graph, commit_id)?;
            let (ancestor, followed) = graph.first_parent_ancestor(start, count)?;
            Result::Ok((hex(&graph.get(ancestor).id), followed))
        });
        found.or_raise()
    }

    #[pyo3(signature = (commit_id, paths = None, prefixes = None, *, first_parent = false, since = None, stop_at = None, after = None))]
    #[expect(clippy::too_many_arguments, reason = "Python gives them by name")]
    fn log(
        this: Bound<'_, Self>,
        commit_id: &str,
        paths: Option<Vec<PyBackedBytes>>,
        prefixes: Option<Vec<PyBackedBytes>>,
        first_parent: bool,
        since: Option<(i64, i32)>,
        stop_at: Option<&str>,
        after: Option<&str>,
    ) -> PyResult<CommitLog> {
        let limits = history::Limits {
            first_parent,
            since,
            stop_at: optional_id(stop_at).or_raise()?,
            after: optional_id(after).or_raise()?,
        };
        let walk = {
            let graph = this.get().lock();
            let start = number(&graph, commit_id).or_raise()?;
            let selected = paths.is_some() || prefixes.is_some();
            let (paths, prefixes) = (paths.unwrap_or_default(), prefixes.unwrap_or_default());
            let targets = selected.then(|| targets(&paths, &prefixes));
            LogWalk::new(&graph, start, targets, limits)
        };
        Ok(CommitLog {
            graph: this.unbind(),
            walk,
        })
    }
}

/// The log of a commit, all of it or restricted to commits that may have changed certain paths.
#[pyclass(module = "anabranch._kernel")]
pub struct CommitLog {
    graph: Py<CommitGraph>,
    walk: LogWalk,
}

#[pymethods]
impl CommitLog {
    fn __iter__(this: PyRef<'_, Self>) -> PyRef<'_, Self> {
        this
    }

    fn __next__(&mut self, py: Python<'_>) -> PyResult<Option<String>> {
        let CommitLog { graph, walk } = self;
        let graph = graph.get();
        let found = py.detach(|| {
            let graph = graph.lock();
            let number = walk.next(&graph)?;
            Result::Ok(number.map(|number| hex(&graph.get(number).id)))
        });
        found.or_raise()
    }
}

#[pyfunction]
fn encode_changed_paths<'py>(
    py: Python<'py>,
    commit_id: &str,
    changed: PyBackedBytes,
) -> PyResult<Bound<'py, PyBytes>> {
    let id = parse_id(commit_id.as_bytes()).or_raise()?;
    let stored = changed_paths::with_checksum(&id, changed.to_vec());
    Ok(PyBytes::new(py, &stored))
}

#[pyfunction]
fn changed_paths_between<'py>(
    py: Python<'py>,
    before: &Tree,
    after: &Tree,
) -> PyResult<Bound<'py, PyBytes>> {
    let changed = py
        .detach(|| changed_paths::between(&before.tree, &after.tree))
        .or_raise()?;
    Ok(PyBytes::new(py, &changed))
}

fn number(graph: &history::CommitGraph, commit_id: &str) -> Result<u32> {
    let number = graph.number(&parse_id(commit_id.as_bytes())?);
    number.ok_or_else(|| Error::Invalid(format!("commit {commit_id} is not in the graph")))
}

fn optional_id(id: Option<&str>) -> Result<Option<CommitId>> {
    id.map(|id| parse_id(id.as_bytes())).transpose()
}

fn targets(paths: &[PyBackedBytes], prefixes: &[PyBackedBytes]) -> Targets {
    let [paths, prefixes] = [paths, prefixes].map(|items| items.iter().map(|item| &item[..]));
    Targets::new(paths, prefixes)
}

pub fn register(module: &Bound<'_, PyModule>) -> PyResult<()> {
    module.add_class::<CommitGraph>()?;
    module.add_class::<CommitLog>()?;
    module.add_function(wrap_pyfunction!(encode_changed_paths, module)?)?;
    module.add_function(wrap_pyfunction!(changed_paths_between, module)?)
}
