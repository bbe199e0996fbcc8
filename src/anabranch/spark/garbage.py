"""Garbage collection on a cluster: the same as in one process, with marking in tasks.

    from anabranch.spark.garbage import SparkMarking

    run = collector.mark("sea", marking=SparkMarking(spark, lake, "sea"))

The driver reads references and staged changes; tasks read ranges with the kernel and tell of each
address as a hash; Spark joins these with the listing. What comes back is what is dead: writing it
down, the restore window and the sweep are the collector's.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
import pyarrow as pa

from anabranch import _kernel as kernel
from anabranch.errors import Corrupt
from anabranch.model.repository import Repository
from anabranch.pipelines.garbage.address_hashes import Hashes, distinct, hashes_of
from anabranch.pipelines.garbage.listing import LISTING, listed
from anabranch.pipelines.garbage.living import Living
from anabranch.pipelines.garbage.marking import Listed
from anabranch.pipelines.garbage.marks import marks_of_tree
from anabranch.pipelines.garbage.namespace import Reading, namespace_of
from anabranch.pipelines.garbage.watching import Watching
from anabranch.spark.pieces import ENTRIES, Range
from anabranch.spark.sources import repository_of
from anabranch.spark.table_files import TableFiles, opened
from anabranch.spark.tasks import in_tasks

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

    from anabranch.library import Lake

__all__ = ["SparkMarking"]

_HASHED = "address STRING, size BIGINT, mtime BIGINT, hash BIGINT"
_HASHED_ARROW = LISTING.append(pa.field("hash", pa.int64()))
_HASH_ARROW = pa.schema([("hash", pa.int64())])
_BATCH = 1 << 16


class _Read(NamedTuple):
    """A range, and how it is read."""

    files: TableFiles
    reading: Reading
    range: Range


class SparkMarking:
    """The engine on the caller's session. `listing` takes the place of the driver's own: a
    DataFrame of address (relative to the namespace), size (bytes) and mtime (seconds since 1970),
    of an inventory that was made before, for one. Tables must lie where every worker sees them.
    """

    engine = "spark"

    def __init__(
        self,
        spark: SparkSession,
        lake: Lake,
        repository: str,
        *,
        listing: DataFrame | None = None,
        entries_per_task: int = ENTRIES,
    ) -> None:
        self._spark = spark
        self._lake = lake
        self._namespace = namespace_of(lake.repositories.get(repository), lake.blocks)
        self._listing = listing
        self._entries = entries_per_task
        self._reads: list[_Read] = []
        self._old: DataFrame | None = None

    def list(self, folder: Path, before: int, watching: Watching) -> Listed:  # noqa: ARG002
        """Lists the store on the driver, unless there is a listing."""
        watching.begin("listing the store", 0)
        there = self._listing
        if there is None:
            batches = list(listed(self._lake.blocks, self._namespace))
            there = self._frame(pa.Table.from_batches(batches, schema=LISTING))
        there = there.select("address", "size", "mtime")
        old = there.where(f"mtime < {before}")
        self._old = old.mapInArrow(_hashed, _HASHED)
        counted = there.selectExpr(
            "count(*)", "coalesce(sum(size), 0)", f"count_if(mtime >= {before})"
        )
        (row,) = counted.collect()
        return Listed(*(int(value) for value in row))

    def dead(self, living: Living, watching: Watching) -> Iterator[pa.RecordBatch]:
        """Looks at what lives, and yields the listed objects that do not. Raises what a look
        raises; a table that is missing or damaged fails the job, which names it.
        """
        assert self._old is not None  # noqa: S101  it lists first
        before = living.read_ranges
        living.read_ranges = self._planned
        try:
            living.look()
        finally:
            living.read_ranges = before
        watching.begin("comparing", 0)
        marks = in_tasks(self._spark, self._shares(), _marks, "hash BIGINT")
        uncommitted = pa.Table.from_batches([_hash_batch(distinct(living.hashes))])
        alive = marks.unionAll(self._frame(uncommitted))
        dead = self._old.join(alive, "hash", "left_anti").orderBy("address").toArrow()
        for batch in dead.select(_HASHED_ARROW.names).to_batches():
            hashes = pa.array(batch.column("hash").to_numpy().view(np.uint64))
            columns = [batch.column(field.name).cast(field.type) for field in LISTING]
            yield pa.RecordBatch.from_arrays(
                [*columns, hashes], schema=LISTING.append(pa.field("hash", pa.uint64()))
            )

    def _frame(self, table: pa.Table) -> DataFrame:
        """Returns a table as a DataFrame, all of it: PySpark 4.1 leaves out what follows a batch
        without rows. Raises Corrupt if it is not whole all the same: a mark that is lost is an
        object that is lost.
        """
        frame = self._spark.createDataFrame(table.combine_chunks())
        if frame.count() != table.num_rows:
            raise Corrupt(f"Spark has taken in other than all of {table.num_rows} rows")
        return frame

    def _planned(
        self, repository: Repository, ranges: Iterable[kernel.RangeInfo]
    ) -> Iterable[Hashes]:
        """Leaves the ranges to tasks."""
        files = repository_of(self._lake, repository.id).tables
        reading = self._namespace.reading(repository)
        self._reads += [
            _Read(
                files,
                reading,
                Range(each.id, each.min_key, each.max_key, each.count, each.estimated_size),
            )
            for each in ranges
        ]
        return ()

    def _shares(self) -> Sequence[Sequence[_Read]]:
        """Returns what each task reads: ranges of about so many entries together."""
        shares: list[list[_Read]] = []
        room = 0
        for read in self._reads:
            if room <= 0:
                shares.append([])
                room = self._entries
            shares[-1].append(read)
            room -= read.range.entries
        return shares


def _hashed(batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    for batch in batches:
        columns = [batch.column(field.name).cast(field.type) for field in LISTING]
        hashes = hashes_of(columns[0]).view(np.int64)
        yield pa.RecordBatch.from_arrays([*columns, pa.array(hashes)], schema=_HASHED_ARROW)


def _marks(reads: Iterable[_Read]) -> Iterator[pa.RecordBatch]:
    for files, reading, found in reads:
        with opened(files, [found]) as tree:
            hashes, rows = marks_of_tree(tree, reading, found.id)
        if rows != found.entries:
            raise Corrupt(
                f"{found.id}: holds {rows} objects where its tree says {found.entries}",
                path=found.id,
            )
        for start in range(0, len(hashes), _BATCH):
            yield _hash_batch(hashes[start : start + _BATCH])


def _hash_batch(hashes: Hashes) -> pa.RecordBatch:
    return pa.RecordBatch.from_arrays([pa.array(hashes.view(np.int64))], schema=_HASH_ARROW)
