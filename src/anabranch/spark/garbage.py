"""Garbage collection on a cluster: the same as in one process, with the work in tasks.

    from anabranch.spark.garbage import SparkEngine

    with collector.mark("sea", engine=SparkEngine(spark)) as run:
        run.sweep(rate=2000)

Tasks list the store, read ranges with the kernel and tell of each address as a hash; Spark joins
these with the listing; tasks remove what is dead. The driver reads references and staged changes,
before the first object is removed and every minute after. The rules, the candidates that are
written down and the restore window are the collector's.
"""

from __future__ import annotations

import time
from collections.abc import Iterable, Iterator, Sequence
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
import pyarrow as pa

from anabranch import _kernel as kernel
from anabranch.blocks.contract import BlockStore
from anabranch.blocks.table_cache import TableCache
from anabranch.errors import Corrupt
from anabranch.model.repository import Repository
from anabranch.pipelines.garbage.address_hashes import Hashes, distinct
from anabranch.pipelines.garbage.engine import Listed, Place
from anabranch.pipelines.garbage.listing import LISTING
from anabranch.pipelines.garbage.living import Living
from anabranch.pipelines.garbage.marks import marks_of_tree
from anabranch.pipelines.garbage.namespace import Reading
from anabranch.pipelines.garbage.served_installation import ServedInstallation
from anabranch.pipelines.garbage.watching import Watching
from anabranch.spark.garbage_listing import HASHED, HASHED_ARROW, KeptListing, hashed
from anabranch.spark.garbage_sweep import SparkSweep
from anabranch.spark.pieces import ENTRIES, Range
from anabranch.spark.server import Server
from anabranch.spark.sources import tables_of
from anabranch.spark.stores import Opener, opener_of
from anabranch.spark.table_files import TableFiles, opened
from anabranch.spark.tasks import in_tasks
from anabranch.versioning.identifiers import Identifiers

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

__all__ = ["SparkEngine", "served_installation"]

_HASH_ARROW = pa.schema([("hash", pa.int64())])
_BATCH = 1 << 16
_SLICES = 256
_CACHE_BYTES = 1 << 30


class _Read(NamedTuple):
    """A range, and how it is read."""

    files: TableFiles
    reading: Reading
    range: Range


class SparkEngine:
    """The engine on the caller's session, for one run. `store` is how workers reach the object
    store, as `anabranch.spark.S3Store`; without, they must see the lake's folder at the same path.

    `listing` takes the place of listing the store: a DataFrame of address (relative to the
    namespace), size (bytes) and mtime (seconds since 1970), of an inventory that was made before,
    for one. `slices` is in how many parts the store is listed, at most, and `tasks` how many at a
    time remove; without, as many as Spark makes of a range of numbers.
    """

    name = "spark"

    def __init__(
        self,
        spark: SparkSession,
        store: Opener | None = None,
        *,
        listing: DataFrame | None = None,
        entries_per_task: int = ENTRIES,
        slices: int = _SLICES,
        tasks: int = 0,
    ) -> None:
        self._spark = spark
        self._store = store
        self._listing = listing
        self._entries = entries_per_task
        self._slices = slices
        self._tasks = tasks
        self._reads: list[_Read] = []
        self._place: Place | None = None
        self._kept: KeptListing | None = None
        self._old: DataFrame | None = None

    def list(self, place: Place, before: int, watching: Watching) -> Listed:
        """Lists the store, unless there is a listing."""
        watching.begin("listing the store", 0)
        self._place = place
        if self._listing is None:
            self._kept = self._listing_of(place)
            there = self._kept.make(place.blocks, before, self._slices)
            self._old = self._kept.frame()
            return there
        columns = self._listing.select("address", "size", "mtime")
        self._old = columns.where(f"mtime < {before}").mapInArrow(hashed, HASHED)
        counted = columns.selectExpr(
            "count(*)", "coalesce(sum(size), 0)", f"count_if(mtime >= {before})"
        )
        (row,) = counted.collect()
        return Listed(*(int(value) for value in row))

    def dead(self, living: Living, watching: Watching) -> Iterator[pa.RecordBatch]:
        """Looks at what lives, and yields the listed objects that do not. Raises what a look
        raises; a table that is missing or damaged fails the job, which names it.
        """
        assert self._place is not None  # noqa: S101  it lists first
        assert self._old is not None  # noqa: S101
        try:
            with living.reading(partial(self._plan, self._place)):
                living.look()
            watching.begin("comparing", 0)
            marks = in_tasks(self._spark, self._shares(), _marks, "hash BIGINT")
            uncommitted = pa.Table.from_batches([_hash_batch(distinct(living.hashes))])
            alive = marks.unionAll(self._frame(uncommitted))
            dead = self._old.join(alive, "hash", "left_anti").orderBy("address").toArrow()
        finally:
            if self._kept is not None:
                self._kept.forget(self._place.blocks)
        for batch in dead.select(HASHED_ARROW.names).to_batches():
            hashes = pa.array(batch.column("hash").to_numpy().view(np.uint64))
            columns = [batch.column(field.name).cast(field.type) for field in LISTING]
            yield pa.RecordBatch.from_arrays(
                [*columns, hashes], schema=LISTING.append(pa.field("hash", pa.uint64()))
            )

    def absent(self, living: Living, watching: Watching) -> None:
        """Returns None: this engine does not look for missing objects."""

    def sweeping(
        self, place: Place, living: Living, watching: Watching, rate: float | None
    ) -> SparkSweep:
        """Returns a sweep by tasks."""
        tasks = (
            self._tasks
            or self._spark.range(1 << 20)
            .selectExpr("spark_partition_id() AS id")
            .distinct()
            .count()
        )
        store = opener_of(place.blocks, self._store, place.namespace.stem)
        return SparkSweep(
            self._spark,
            store,
            place.namespace,
            living,
            watching,
            sweep=place.run_id,
            tasks=tasks,
            rate=rate,
        )

    def _listing_of(self, place: Place) -> KeptListing:
        store = opener_of(place.blocks, self._store, place.namespace.stem)
        return KeptListing(self._spark, store, place.namespace.stem, place.stem)

    def _frame(self, table: pa.Table) -> DataFrame:
        """Returns a table as a DataFrame, all of it: PySpark 4.1 leaves out what follows a batch
        without rows. Raises Corrupt if it is not whole all the same: a mark that is lost is an
        object that is lost.
        """
        frame = self._spark.createDataFrame(table.combine_chunks())
        if frame.count() != table.num_rows:
            raise Corrupt(f"Spark has taken in other than all of {table.num_rows} rows")
        return frame

    def _plan(
        self, place: Place, repository: Repository, ranges: Iterable[kernel.RangeInfo]
    ) -> Iterable[Hashes]:
        """Leaves the ranges to tasks."""
        files = tables_of(place.blocks, repository.storage_namespace, self._store)
        reading = place.namespace.reading(repository)
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


def served_installation(server: Server, blocks: BlockStore, folder: Path) -> ServedInstallation:
    """Returns what a server tells to collections, for `Collector`. `blocks` is its store, of which
    tables are kept in a folder of this machine.
    """
    tables = TableCache(blocks, folder / "tables", _CACHE_BYTES, verify=kernel.verify_table)
    return ServedInstallation(server.calls, blocks, tables, Identifiers(time.time))


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
