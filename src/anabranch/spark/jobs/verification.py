"""The looks of a verification at tables and objects, by tasks of a Spark cluster.

The driver reads the references, lists the stores and compares; it keeps staged changes, which are
on its own disk. Tasks read the tables of commits and the bytes of objects, which is nearly all that
has to be read, with the code of a verification in one process, so they find the same. The looks of
a job are as many as the driver can hold the results of.
"""

from __future__ import annotations

import copyreg
import itertools
import pickle
from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import partial
from typing import TYPE_CHECKING, Any, NamedTuple

import pyarrow as pa

from anabranch import _kernel as kernel
from anabranch.blocks.contract import BlockStore
from anabranch.pipelines.verification.stores.entries import EntryReader, RangeSource
from anabranch.pipelines.verification.stores.object_probes import ProbeResult
from anabranch.pipelines.verification.stores.store_looks import (
    LocalLooks,
    LostTable,
    MarkedSource,
    ObjectsSeen,
)
from anabranch.pipelines.verification.stores.table_scans import (
    RangeLook,
    RangeScan,
    TreeLook,
    TreeScan,
    scan_range,
    scan_tree,
)
from anabranch.spark.arrow_tables import collect_arrow
from anabranch.spark.jobs.monitor import JobMonitor
from anabranch.spark.planning.scan_plan import map_in_tasks
from anabranch.spark.sources.refusals import raise_refusals
from anabranch.spark.sources.stores import Opener, open_store, store_opener

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

__all__ = ["SparkLooks"]

_ENTRIES_PER_TASK = 200_000
_TREES_PER_TASK = 200
_OBJECTS_PER_TASK = 1_000
_TASKS_PER_JOB = 80
"""The results of 80 tasks with 200,000 entries each take about 400 MB in the driver."""

_RESULTS = pa.schema([("number", pa.int64()), ("results", pa.binary())])
"""The number of a task's piece of work, and what it has found, pickled."""

Look = Callable[[BlockStore, Sequence[Any]], Iterable[Any]]


def _reduce_range(info: kernel.RangeInfo) -> tuple[Any, ...]:
    described = info.id, info.min_key, info.max_key, info.count, info.estimated_size
    return kernel.RangeInfo, described


copyreg.pickle(kernel.RangeInfo, _reduce_range)


class _Piece(NamedTuple):
    """The work of a task."""

    number: int
    work: Sequence[Any]


class SparkLooks:
    """Looks at tables and objects in tasks of the caller's session. `store` gives workers access to
    the object store, such as `anabranch.spark.S3Store`; without it, they must have the lake's
    folder at the path that it has on the driver.
    """

    def __init__(
        self, spark: SparkSession, blocks: BlockStore, store: Opener | None = None
    ) -> None:
        self._spark = spark
        self._store = store_opener(blocks, store, "the installation")
        self._local = LocalLooks(blocks)
        self._monitor = JobMonitor(spark, "fsck")

    def trees(self, looks: Sequence[TreeLook]) -> Iterator[TreeScan]:
        """Yields what metaranges have, in their order."""
        pieces = _pieces(((each, 1) for each in looks), _TREES_PER_TASK)
        return self._run("reading trees", pieces, _scan_trees)

    def ranges(self, looks: Sequence[RangeLook], roots: Sequence[str]) -> Iterator[RangeScan]:
        """Yields what ranges have, in their order."""
        pieces = _pieces(((each, each.info.count) for each in looks), _ENTRIES_PER_TASK)
        return self._run("reading ranges", pieces, partial(_scan_ranges, roots))

    def objects(self, marked: Iterable[MarkedSource], *, reads_all: bool) -> Iterator[ObjectsSeen]:
        """Looks at objects, and yields what was seen. Those of staged changes are looked at here,
        where their tables are.
        """
        here: list[MarkedSource] = []
        pieces = _pieces(_divided(marked, here), _OBJECTS_PER_TASK)
        yield from self._run("looking at objects", pieces, partial(_see_objects, reads_all))
        yield from self._local.objects(here, reads_all=reads_all)

    def _run(self, phase: str, pieces: Iterator[_Piece], look: Look) -> Iterator[Any]:
        """Yields what tasks find, in the order of the pieces."""
        while group := list(itertools.islice(pieces, _TASKS_PER_JOB)):
            with raise_refusals(), self._monitor.phase(phase):
                found = collect_arrow(
                    map_in_tasks(self._spark, group, partial(_look, self._store, look), _RESULTS)
                ).sort_by("number")
            for results in found.column("results"):
                # of a task of this job, whose functions were pickled, too
                yield from pickle.loads(results.as_py())  # noqa: S301


def _pieces(work: Iterable[tuple[Any, int]], size: int) -> Iterator[_Piece]:
    """Yields pieces of work, each of about a size."""
    numbers = itertools.count()
    piece: list[Any] = []
    total = 0
    for each, its_size in work:
        piece.append(each)
        total += its_size
        if total >= size:
            yield _Piece(next(numbers), piece)
            piece, total = [], 0
    if piece:
        yield _Piece(next(numbers), piece)


def _divided(
    marked: Iterable[MarkedSource], here: list[MarkedSource]
) -> Iterator[tuple[MarkedSource, int]]:
    """Yields the marked entries of ranges, at most as many at once as a task looks at; adds those
    of staged changes to `here`.
    """
    for source, marks in marked:
        if not isinstance(source, RangeSource):
            here.append(MarkedSource(source, marks))
            continue
        items = iter(marks.items())
        while part := dict(itertools.islice(items, _OBJECTS_PER_TASK)):
            yield MarkedSource(source, part), len(part)


def _look(store: Opener, look: Look, piece: _Piece) -> Iterator[pa.RecordBatch]:
    """Does the work of a piece, in a task."""
    with open_store(store) as blocks:
        results = pickle.dumps(list(look(blocks, piece.work)))
    yield pa.RecordBatch.from_pylist(
        [{"number": piece.number, "results": results}], schema=_RESULTS
    )


def _scan_trees(blocks: BlockStore, looks: Sequence[TreeLook]) -> Iterator[TreeScan]:
    return (scan_tree(blocks, each) for each in looks)


def _scan_ranges(
    roots: Sequence[str], blocks: BlockStore, looks: Sequence[RangeLook]
) -> Iterator[RangeScan]:
    reader = EntryReader(blocks)
    return (scan_range(blocks, reader, roots, each) for each in looks)


def _see_objects(
    reads_all: bool, blocks: BlockStore, marked: Sequence[MarkedSource]
) -> Iterator[ObjectsSeen]:
    """Yields what a task has seen, as one."""
    looked_at = read = bytes_read = 0
    found: list[ProbeResult] = []
    lost: list[LostTable] = []
    for seen in LocalLooks(blocks).objects(marked, reads_all=reads_all):
        looked_at += seen.looked_at
        read += seen.read
        bytes_read += seen.bytes_read
        found += seen.found
        lost += seen.lost
    yield ObjectsSeen(looked_at, read, bytes_read, found, lost)
