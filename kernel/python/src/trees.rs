//! Trees: look-ups, pages, searches, changes and merges.

use std::cell::RefCell;
use std::path::PathBuf;

use anabranch_tables::Result;
use anabranch_tables::arrow::changes::Changes as TreeChanges;
use anabranch_tables::arrow::scan::Scan;
use anabranch_tables::arrow::search::{Conditions, Filling, KeyBounds, Search};
use anabranch_tables::history::changed_paths::{ChangedPaths, MAX_PATHS};
use anabranch_tables::table::TableFolder;
use anabranch_tables::tree::merge::{Rules, Sides};
use anabranch_tables::tree::{self, Application, ListRange, compare_page, diff_page, successor};
use pyo3::prelude::*;
use pyo3::types::{PyBytes, PyList};

use crate::arrow::ArrowStream;
use crate::diffs::{DiffPage, py_conflicts};
use crate::errors::OrRaise;
use crate::identities::PyValue;
use crate::listing::Listing;
use crate::search::metadata_condition;
use crate::tables::{RangeInfo, Written};
use crate::values::{PyChange, PyStaged, parts, py_framed, staged_parts};
use crate::writes::{Merged, strategy_named, table_folder};

/// A page of addresses, as (key, address, type), and the key after which there may be more.
type PyAddresses<'py> = (
    Vec<(Bound<'py, PyBytes>, Bound<'py, PyBytes>, i32)>,
    Option<Bound<'py, PyBytes>>,
);

/// All entries of one commit, ordered by the bytes of their keys. Immutable.
#[pyclass(module = "anabranch._kernel", frozen)]
pub struct Tree {
    pub tree: tree::Tree,
}

thread_local! {
    /// Holds the block in which a look-up searches.
    static SCRATCH: RefCell<Vec<u8>> = const { RefCell::new(Vec::new()) };
}

#[pymethods]
impl Tree {
    #[getter]
    fn metarange_id(&self) -> &str {
        self.tree.metarange_id()
    }

    fn __len__(&self) -> usize {
        usize::try_from(self.tree.count()).unwrap_or(usize::MAX)
    }

    fn __repr__(&self) -> String {
        format!(
            "<Tree '{}' of {} entries>",
            self.tree.metarange_id(),
            self.tree.count()
        )
    }

    fn ranges(&self) -> Vec<RangeInfo> {
        let infos = self.tree.ranges().iter().cloned();
        infos.map(|info| RangeInfo { info }).collect()
    }

    fn get<'py>(&self, py: Python<'py>, key: &[u8]) -> PyResult<Option<PyValue<'py>>> {
        // Taken and put back, because locating a file may call Python, which may call this again.
        let mut scratch = SCRATCH.take();
        let tree = &self.tree;
        let found = tree.get(key, &mut scratch, |framed| py_framed(py, framed));
        SCRATCH.replace(scratch);
        found.or_raise()?.transpose()
    }

    fn get_many<'py>(
        &self,
        py: Python<'py>,
        keys: Vec<Bound<'py, PyBytes>>,
    ) -> PyResult<Vec<Option<PyValue<'py>>>> {
        let bytes: Vec<&[u8]> = keys.iter().map(|key| key.as_bytes()).collect();
        let values = py.detach(|| self.tree.get_many(&bytes)).or_raise()?;
        let shown = |framed| py_framed(py, framed);
        let found = values.iter().map(|value| value.map(shown).transpose());
        found.collect()
    }

    fn contains_prefix(&self, prefix: &[u8]) -> PyResult<bool> {
        self.tree.contains_prefix(prefix).or_raise()
    }

    #[pyo3(signature = (*, prefix = b"".as_slice(), after = b"".as_slice(), delimiter = b"".as_slice(), amount))]
    fn listing(
        &self,
        prefix: &[u8],
        after: &[u8],
        delimiter: &[u8],
        amount: usize,
    ) -> PyResult<Listing> {
        let range = range(prefix, after, delimiter);
        let listing = tree::Listing::new(&self.tree, range, amount).or_raise()?;
        Ok(Listing { listing })
    }

    #[pyo3(signature = (
        other, *, prefix = b"".as_slice(), after = b"".as_slice(), until = None, delimiter = b"".as_slice(), amount
    ))]
    #[expect(clippy::too_many_arguments, reason = "Python gives them by name")]
    fn diff(
        &self,
        py: Python<'_>,
        other: &Tree,
        prefix: &[u8],
        after: &[u8],
        until: Option<&[u8]>,
        delimiter: &[u8],
        amount: usize,
    ) -> PyResult<DiffPage> {
        let range = range(prefix, after, delimiter);
        let limit = until.map(successor);
        let page = py
            .detach(|| diff_page(&self.tree, &other.tree, &range, limit, amount))
            .or_raise()?;
        DiffPage::new(py, &page)
    }

    #[pyo3(signature = (source, base, *, prefix = b"".as_slice(), after = b"".as_slice(), delimiter = b"".as_slice(), amount))]
    #[expect(clippy::too_many_arguments, reason = "Python gives them by name")]
    fn compare(
        &self,
        py: Python<'_>,
        source: &Tree,
        base: &Tree,
        prefix: &[u8],
        after: &[u8],
        delimiter: &[u8],
        amount: usize,
    ) -> PyResult<DiffPage> {
        let range = range(prefix, after, delimiter);
        let page = py
            .detach(|| {
                let (dest, source, base) = (&self.tree, &source.tree, &base.tree);
                compare_page(dest, source, base, &range, amount)
            })
            .or_raise()?;
        DiffPage::new(py, &page)
    }

    fn apply(
        &self,
        py: Python<'_>,
        changes: &Bound<'_, PyAny>,
        folder: PathBuf,
    ) -> PyResult<Written> {
        let mut writing = Writing::new(&self.tree, TableFolder::from(&folder));
        for change in changes.try_iter()? {
            let change: PyChange<'_> = change?.extract()?;
            let (key, value) = parts(&change);
            writing.push(py, key, value)?;
        }
        writing.finish(py)
    }

    #[pyo3(signature = (rows, folder, *, unsynced = false))]
    fn apply_staged(
        &self,
        py: Python<'_>,
        rows: &Bound<'_, PyAny>,
        folder: PathBuf,
        unsynced: bool,
    ) -> PyResult<Written> {
        let mut writing = Writing::new(&self.tree, table_folder(&folder, unsynced));
        for row in rows.try_iter()? {
            let row: PyStaged<'_> = row?.extract()?;
            let (key, value) = staged_parts(&row).or_raise()?;
            writing.push(py, key, value)?;
        }
        writing.finish(py)
    }

    #[pyo3(signature = (*, prefix = b"".as_slice(), after = b"".as_slice(), decoded = true, batch = 65536))]
    fn scan(
        &self,
        prefix: &[u8],
        after: &[u8],
        decoded: bool,
        batch: usize,
    ) -> PyResult<ArrowStream> {
        let range = range(prefix, after, b"");
        let scan = Scan::new(&self.tree, range, decoded, batch).or_raise()?;
        Ok(ArrowStream::new(scan))
    }

    #[pyo3(signature = (
        columns, *, prefix = b"".as_slice(), start = b"".as_slice(), end = None, namespace = "", local_root = "",
        sizes = None, times = None, content_types = vec![], metadata = vec![], batch = 65536
    ))]
    #[expect(clippy::too_many_arguments, reason = "they are Python's keywords")]
    fn search(
        &self,
        columns: Vec<String>,
        prefix: &[u8],
        start: &[u8],
        end: Option<&[u8]>,
        namespace: &str,
        local_root: &str,
        sizes: Option<(i64, i64)>,
        times: Option<(i64, i64)>,
        content_types: Vec<String>,
        metadata: Vec<(String, String, Vec<String>)>,
        batch: usize,
    ) -> PyResult<ArrowStream> {
        let keys = KeyBounds::new(prefix, start, end);
        let conditions = Conditions {
            sizes: sizes.map(|(least, most)| least..=most),
            times: times.map(|(least, most)| least..=most),
            content_types,
            metadata: metadata
                .into_iter()
                .map(metadata_condition)
                .collect::<Result<_>>()
                .or_raise()?,
        };
        let filled = Filling::new(&columns, namespace, local_root).or_raise()?;
        let search = Search::new(&self.tree, keys, conditions, filled, batch).or_raise()?;
        Ok(ArrowStream::new(search))
    }

    #[pyo3(signature = (
        right, columns, *, prefix = b"".as_slice(), start = b"".as_slice(), end = None, kinds = vec![],
        namespace = "", local_root = "", batch = 65536
    ))]
    #[expect(clippy::too_many_arguments, reason = "they are Python's keywords")]
    fn changes(
        &self,
        right: &Tree,
        columns: Vec<String>,
        prefix: &[u8],
        start: &[u8],
        end: Option<&[u8]>,
        kinds: Vec<String>,
        namespace: &str,
        local_root: &str,
        batch: usize,
    ) -> PyResult<ArrowStream> {
        let keys = KeyBounds::new(prefix, start, end);
        let sides = (&self.tree, &right.tree);
        let roots = (namespace, local_root);
        let rows = TreeChanges::new(sides, &columns, &keys, kinds, roots, batch).or_raise()?;
        Ok(ArrowStream::new(rows))
    }

    fn part<'py>(
        &self,
        py: Python<'py>,
        number: usize,
        parts: usize,
    ) -> PyResult<(Bound<'py, PyBytes>, Option<Bound<'py, PyBytes>>)> {
        let (after, until) = py
            .detach(|| tree::parts::part(&self.tree, number, parts))
            .or_raise()?;
        let until = until.map(|key| PyBytes::new(py, &key));
        Ok((PyBytes::new(py, &after), until))
    }

    #[pyo3(signature = (*, after, last, amount))]
    fn addresses<'py>(
        &self,
        py: Python<'py>,
        after: &[u8],
        last: &[u8],
        amount: usize,
    ) -> PyResult<PyAddresses<'py>> {
        let page = py
            .detach(|| tree::addresses::page(&self.tree, after, last, amount))
            .or_raise()?;
        let found = page.found.iter().map(|found| {
            (
                PyBytes::new(py, &found.key),
                PyBytes::new(py, &found.address),
                found.address_type,
            )
        });
        let next = page.next.map(|key| PyBytes::new(py, &key));
        Ok((found.collect(), next))
    }

    #[pyo3(signature = (source, base, folder, *, strategy = "", max_conflicts = 1000, unsynced = false))]
    #[expect(clippy::too_many_arguments, reason = "Python gives them by name")]
    fn merge(
        &self,
        py: Python<'_>,
        source: &Tree,
        base: &Tree,
        folder: PathBuf,
        strategy: &str,
        max_conflicts: usize,
        unsynced: bool,
    ) -> PyResult<Merged> {
        let folder = table_folder(&folder, unsynced);
        let rules = Rules {
            strategy: strategy_named(strategy)?,
            max_conflicts,
        };
        let done = py
            .detach(|| tree::merge::merge(self.sides(source, base), &folder, rules))
            .or_raise()?;
        Merged::new(py, done, &folder)
    }

    fn merge_counts(
        &self,
        py: Python<'_>,
        source: &Tree,
        base: &Tree,
    ) -> PyResult<(u64, u64, u64, u64)> {
        let (counts, conflicts) = py
            .detach(|| tree::merge::count(self.sides(source, base)))
            .or_raise()?;
        Ok((counts.added, counts.changed, counts.removed, conflicts))
    }

    #[pyo3(signature = (source, base, *, prefix = b"".as_slice(), after = b"".as_slice(), amount))]
    fn conflicts<'py>(
        &self,
        py: Python<'py>,
        source: &Tree,
        base: &Tree,
        prefix: &[u8],
        after: &[u8],
        amount: usize,
    ) -> PyResult<(Bound<'py, PyList>, bool)> {
        let range = range(prefix, after, b"");
        let page = py
            .detach(|| tree::conflicts::conflict_page(self.sides(source, base), &range, amount))
            .or_raise()?;
        py_conflicts(py, &page)
    }
}

impl Tree {
    /// The sides of a merge into this tree.
    fn sides<'a>(&'a self, source: &'a Tree, base: &'a Tree) -> Sides<'a> {
        Sides {
            dest: &self.tree,
            source: &source.tree,
            base: &base.tree,
        }
    }
}

/// Changes that are applied to a tree, and the paths that they name.
struct Writing {
    folder: TableFolder,
    application: Application,
    changed: ChangedPaths,
    count: usize,
}

impl Writing {
    fn new(base: &tree::Tree, folder: TableFolder) -> Writing {
        Writing {
            application: Application::new(base, &folder),
            folder,
            changed: ChangedPaths::default(),
            count: 0,
        }
    }

    fn push(&mut self, py: Python<'_>, key: &[u8], value: Option<(&[u8], &[u8])>) -> PyResult<()> {
        if self.count <= MAX_PATHS {
            self.changed.add(key);
            self.count += 1;
        }
        if self.application.push(key, value).or_raise()? {
            py.detach(|| self.application.apply_waiting()).or_raise()?;
        }
        Ok(())
    }

    fn finish(self, py: Python<'_>) -> PyResult<Written> {
        let done = py.detach(|| self.application.finish()).or_raise()?;
        let mut written = Written::from(done).with_unsynced(py, &self.folder);
        written.changed_paths = Some(self.changed.encode());
        Ok(written)
    }
}

fn range(prefix: &[u8], after: &[u8], delimiter: &[u8]) -> ListRange {
    ListRange {
        prefix: prefix.to_vec(),
        after: after.to_vec(),
        delimiter: delimiter.to_vec(),
    }
}

pub fn register(module: &Bound<'_, PyModule>) -> PyResult<()> {
    module.add_class::<Tree>()
}
