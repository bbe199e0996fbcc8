"""The looks at tables and objects by tasks of a Spark cluster, which the driver plans."""

from __future__ import annotations

import itertools
import pickle
from collections.abc import Iterator, Sequence
from functools import partial
from typing import TYPE_CHECKING, NamedTuple

import pyarrow as pa

from anabranch.blocks.contract import BlockStore
from anabranch.pipelines.exports.chunked import chunked
from anabranch.pipelines.jobs.progress import Progress
from anabranch.pipelines.verification.stores.entries import EntryReader
from anabranch.pipelines.verification.stores.marked_entries import ObjectsSeen
from anabranch.pipelines.verification.stores.store_looks import (
    Chosen,
    Compared,
    EntrySources,
    RangesScanned,
)
from anabranch.pipelines.verification.stores.table_scans import (
    RangeLook,
    TreeLook,
    TreeScan,
    scan_tree,
)
from anabranch.spark.arrow_tables import collect_arrow
from anabranch.spark.jobs.monitor import JobMonitor
from anabranch.spark.jobs.parts import to_row
from anabranch.spark.jobs.verification.comparison import choose, mark
from anabranch.spark.jobs.verification.kept_frames import KeptFrames, all_rows
from anabranch.spark.jobs.verification.listing import list_stores
from anabranch.spark.jobs.verification.needs import (
    NEEDS,
    SCANS,
    STAGED,
    RangePiece,
    scan_ranges,
    staged_rows,
)
from anabranch.spark.jobs.verification.seen import SEEN, see_ranges, see_staged
from anabranch.spark.planning.declaration import declaration
from anabranch.spark.planning.scan_plan import default_tasks, map_in_tasks
from anabranch.spark.sources.refusals import raise_refusals
from anabranch.spark.sources.stores import Opener, open_store, store_opener

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

__all__ = ["SparkLooks"]

_ENTRIES_PER_TASK = 200_000
_TREES_PER_TASK = 200
_TREE_TASKS_PER_JOB = 80
_OBJECTS_PER_TASK = 1_000
_MOST_OBJECT_TASKS = 10_000
_STAGED_AT_ONCE = 50_000
"""Staged entries that the driver holds: about 10 MB."""
_SLICES_PER_TASK = 2
_FOUND_AT_ONCE = 20
"""Rows of SEEN, each with 1,000 findings, that the driver holds."""

_TREES = pa.schema([("piece", pa.int32()), ("scans", pa.binary())])


class _TreePiece(NamedTuple):
    """The work of a task, with its number."""

    number: int
    looks: Sequence[TreeLook]


class SparkLooks:
    """Looks at tables and objects in tasks of the caller's session. `store` gives workers access to
    the object store, such as `anabranch.spark.S3Store`; without it, they must have the lake's
    folder at the path that it has on the driver.
    """

    _sources: EntrySources
    _marked: DataFrame
    _reads_all: bool

    def __init__(
        self, spark: SparkSession, blocks: BlockStore, store: Opener | None = None
    ) -> None:
        self._spark = spark
        self._blocks = blocks
        self._store = store_opener(blocks, store, "the installation")
        self._monitor = JobMonitor(spark, "fsck")
        self._frames = KeptFrames()
        self._staged: list[DataFrame] = []
        self._needed: list[DataFrame] = []
        self._count = 0

    def trees(self, looks: Sequence[TreeLook]) -> Iterator[TreeScan]:
        """Yields what metaranges have, in their order."""
        pieces = itertools.starmap(_TreePiece, enumerate(chunked(looks, _TREES_PER_TASK)))
        for group in chunked(pieces, _TREE_TASKS_PER_JOB):
            with raise_refusals(), self._monitor.phase("reading trees"):
                work = partial(_scan_trees, self._store)
                found = collect_arrow(map_in_tasks(self._spark, group, work, _TREES))
            for scans in found.sort_by("piece").column("scans"):
                # of a task of this job, whose functions were pickled, too
                yield from pickle.loads(scans.as_py())  # noqa: S301

    def entries(self, sources: EntrySources) -> Iterator[RangesScanned]:
        """Sends staged entries to the workers, some at a time, and lets tasks read ranges."""
        self._sources = sources
        for number in range(len(sources.areas)):
            yield RangesScanned(0, sources.areas[number].rows)
        with raise_refusals(), self._monitor.phase("sending staged changes"):
            self._send_staged(sources)
        if not sources.ranges:
            return
        pieces = list(_range_pieces(sources.ranges, len(sources.areas)))
        work = partial(scan_ranges, self._store, sources.roots)
        with raise_refusals(), self._monitor.phase("reading ranges"):
            scans = self._frames.keep(map_in_tasks(self._spark, pieces, work, SCANS))
            done = scans.where("scanned IS NOT NULL").select("piece", "scanned").collect()
        self._needed.append(scans.where("scanned IS NULL").select(*NEEDS.names))
        for row in sorted(done, key=lambda row: row["piece"]):
            yield pickle.loads(row["scanned"])  # noqa: S301  as above

    def compare(self, chosen: Chosen, progress: Progress) -> Compared:
        """Lets tasks list the store, and Spark compare."""
        self._reads_all = chosen.sample is None
        progress.begin("listing the store", 0)
        with raise_refusals(), self._monitor.phase("listing the store"):
            slices = _SLICES_PER_TASK * default_tasks(self._spark)
            tasks = self._store, self._monitor.counts
            listed = list_stores(
                *(self._spark, self._blocks, tasks, self._sources.roots, slices),
                *(self._frames, progress),
            )
        progress.begin("comparing entries and objects", 0)
        if not self._needed:
            return Compared(0, 0)
        with raise_refusals(), self._monitor.phase("comparing entries and objects"):
            needed = all_rows(self._needed)
            self._marked, compared = choose(mark(needed, listed), chosen, self._frames)
        self._count = compared.marked
        return compared

    def objects(self) -> Iterator[ObjectsSeen]:
        """Lets tasks look at objects, and yields what they have seen."""
        if not self._count:
            return
        with raise_refusals(), self._monitor.phase("looking at objects"):
            looked = [self._see_ranges()] if self._sources.ranges else []
            looked += [self._see_staged()] if self._staged else []
            seen = self._frames.keep(all_rows(looked))
            (totals,) = seen.selectExpr(
                *(f"coalesce(sum({name}), 0) AS {name}" for name in SEEN.names[:3]),
                "count(found) AS found",
            ).collect()
            yield ObjectsSeen(totals["looked_at"], totals["read"], totals["bytes_read"], ())
            found = seen.where("found IS NOT NULL").select("found")
            parts = -(-totals["found"] // _FOUND_AT_ONCE)
            for row in found.coalesce(parts).toLocalIterator() if parts else ():
                results, lost = pickle.loads(row["found"])  # noqa: S301  as above
                yield ObjectsSeen(0, 0, 0, results, lost)

    def close(self) -> None:
        """Removes the rows that workers keep."""
        self._frames.remove()

    def _send_staged(self, sources: EntrySources) -> None:
        reader = EntryReader(self._blocks)
        batches: list[pa.RecordBatch] = []
        for number, area in enumerate(sources.areas):
            position = 0
            for entries in reader.read(area):
                batches.append(staged_rows(entries, sources.roots, number, position))
                position += len(entries.paths)
                if sum(each.num_rows for each in batches) >= _STAGED_AT_ONCE:
                    self._send(batches)
                    batches = []
        self._send(batches)

    def _send(self, batches: Sequence[pa.RecordBatch]) -> None:
        batches = [each for each in batches if each.num_rows]
        if not batches:
            return
        sent = map_in_tasks(self._spark, [batches], _given, STAGED)
        frame = self._frames.keep(sent)
        frame.count()  # now, so that the driver need not hold them
        self._staged.append(frame)
        self._needed.append(frame.select(*NEEDS.names))

    def _see_ranges(self) -> DataFrame:
        """Returns what is seen of the entries of ranges. A task has entries of few ranges, and few
        entries, since each is a request to the store.
        """
        first = len(self._sources.areas)
        tasks = min(_MOST_OBJECT_TASKS, -(-self._count // _OBJECTS_PER_TASK))
        marked = self._marked.where(f"source >= {first}").drop("entry")
        chunks = marked.selectExpr("*", f"position DIV {_OBJECTS_PER_TASK} AS chunk")
        divided = chunks.repartition(tasks, "source", "chunk").drop("chunk")
        work = partial(see_ranges, self._store, self._sources.ranges, first, self._reads_all)
        ordered = divided.sortWithinPartitions("source", "position")
        return ordered.mapInArrow(work, declaration(SEEN))

    def _see_staged(self) -> DataFrame:
        """Returns what is seen of the entries of staging areas."""
        areas = self._sources.areas
        tasks = min(_MOST_OBJECT_TASKS, -(-self._count // _OBJECTS_PER_TASK))
        marked = self._marked.where(f"source < {len(areas)}").select("entry", "source", "mark")
        # Spark would collect a small table on the driver to broadcast it
        joined = all_rows(self._staged).join(marked.hint("merge"), "entry")
        work = partial(see_staged, self._store, areas, self._reads_all)
        return joined.repartition(tasks).mapInArrow(work, declaration(SEEN))


def _range_pieces(ranges: Sequence[RangeLook], first: int) -> Iterator[RangePiece]:
    """Yields pieces of work of about as many entries; the sources of ranges have numbers from
    `first` on.
    """
    numbers = itertools.count()
    start = entries = 0
    for end, each in enumerate(ranges, 1):
        entries += each.info.count
        if entries >= _ENTRIES_PER_TASK or end == len(ranges):
            yield RangePiece(next(numbers), first + start, ranges[start:end])
            start, entries = end, 0


def _given(batches: Sequence[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    yield from batches


def _scan_trees(store: Opener, piece: _TreePiece) -> Iterator[pa.RecordBatch]:
    """Reads metaranges, in a task."""
    with open_store(store) as blocks:
        scans = [scan_tree(blocks, look) for look in piece.looks]
    yield to_row(_TREES, piece.number, pickle.dumps(scans))
