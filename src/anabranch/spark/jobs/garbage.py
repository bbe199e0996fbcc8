"""Garbage collection on a cluster: the same as in one process, with the work in tasks.

    from anabranch.spark.jobs.garbage import SparkEngine

    with collector.mark("sea", engine=SparkEngine(spark)) as run:
        run.sweep(rate=2000)

Tasks list the store, read ranges with the kernel and tell of each address as a hash; Spark joins
these with the listing, both ways: what has no reference is dead, what is not listed may be missing.
Tasks remove what is dead. The driver reads references and staged changes,
before the first object is removed and every minute after. The rules, the candidates that are
written down and the restore window are the collector's.
"""

from __future__ import annotations

import time
from collections.abc import Iterable, Iterator
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from anabranch import _kernel as kernel
from anabranch.blocks.cache.table_cache import TableCache
from anabranch.blocks.contract import BlockStore
from anabranch.errors import Corrupt
from anabranch.model.repository import Repository
from anabranch.pipelines.column_hashes import Hashes, distinct
from anabranch.pipelines.garbage.addresses.listing import LISTING
from anabranch.pipelines.garbage.engine import Listed, Place
from anabranch.pipelines.garbage.installations.served import ServedInstallation
from anabranch.pipelines.garbage.marking.missing import Missing
from anabranch.pipelines.garbage.marking.reachable import Reachability
from anabranch.pipelines.garbage.sweeping.removal import Remover, no_quarantine
from anabranch.pipelines.jobs.progress import Progress
from anabranch.spark.jobs.garbage_listing import HASHED, HASHED_ARROW, StoredListing, hash_column
from anabranch.spark.jobs.garbage_missing import Absent, MissingSearch
from anabranch.spark.jobs.garbage_ranges import (
    MARKS,
    UNCOMMITTED,
    RangeRead,
    mark_batch,
    read_marks,
    shares,
)
from anabranch.spark.jobs.garbage_sweep import SparkSweep
from anabranch.spark.planning.partition_planning import ENTRIES, Range
from anabranch.spark.planning.scan_plan import in_tasks
from anabranch.spark.sources.commit_sources import open_tables
from anabranch.spark.sources.server_source import Server
from anabranch.spark.sources.stores import Opener, store_opener
from anabranch.versioning.identifiers import Identifiers

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

__all__ = ["SparkEngine", "served_installation"]

_LISTED_TYPES = (("address", "STRING"), ("size", "BIGINT"), ("mtime", "BIGINT"))
_UNMATCHED = f"{HASHED}, number INT"
"""A listed object without a mark, or a mark without a listed object."""

_UNMATCHED_ARROW = pa.schema(
    [
        *(pa.field(field.name, field.type) for field in HASHED_ARROW),
        pa.field("number", pa.int32()),
    ]
)
_SLICES = 256
_CACHE_BYTES = 1 << 30


class SparkEngine:
    """The engine on the caller's session, for one run. `store` is how workers reach the object
    store, as `anabranch.spark.S3Store`; without, they must see the lake's folder at the same path.

    `listing` takes the place of listing the store: a DataFrame of address (relative to the
    namespace), size (bytes) and mtime (seconds since 1970), of an inventory that was made before,
    for one. `slices` is in how many parts the store is listed, at most, and `tasks` how many at a
    time remove; without, as many as Spark makes of a range of numbers.
    """

    name = "spark"
    quarantines = False

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
        self._reads: dict[int, tuple[str, RangeRead]] = {}
        self._place: Place | None = None
        self._before = 0
        self._kept: StoredListing | None = None
        self._listed: DataFrame | None = None
        self._absent: Absent | None = None

    def list(self, place: Place, before: int, progress: Progress) -> Listed:
        """Lists the store, unless there is a listing."""
        progress.begin("listing the store", 0)
        self._place, self._before = place, before
        if self._listing is None:
            self._kept = self._stored_listing(place)
            there = self._kept.make(place.blocks, before, self._slices)
            self._listed = self._kept.frame()
            return there
        columns = self._listing.select("address", "size", "mtime")
        self._listed = columns.mapInArrow(hash_column, HASHED)
        counted = columns.selectExpr(
            "count(*)", "coalesce(sum(size), 0)", f"count_if(mtime >= {before})"
        )
        (row,) = counted.collect()
        return Listed(*(int(value) for value in row))

    def look(self, living: Reachability) -> None:
        """Looks at what lives; the ranges are left to tasks. Raises what a look raises."""
        assert self._place is not None  # noqa: S101  it lists first
        with living.reading(partial(self._plan, self._place)):
            living.mark()

    def dead(self, living: Reachability, progress: Progress) -> Iterator[pa.RecordBatch]:
        """Yields the old listed objects that do not live; a table that is missing or damaged fails
        the job, which names it.
        """
        assert self._listed is not None  # noqa: S101  it lists first
        progress.begin("comparing", 0)
        together = self._listed.join(self._alive(living), "hash", "full_outer")
        unmatched = together.where(
            f"number IS NULL AND mtime < {self._before} OR address IS NULL"
        ).select(*_UNMATCHED_ARROW.names)
        found = unmatched.mapInArrow(_without_repeats, _UNMATCHED).toArrow()
        self._absent = _absent(found.filter(pc.is_null(found.column("address"))))
        dead = found.filter(pc.is_valid(found.column("address"))).sort_by("address")
        for batch in dead.to_batches():
            hashes = pa.array(batch.column("hash").to_numpy().view(np.uint64))
            columns = [batch.column(field.name).cast(field.type) for field in LISTING]
            yield pa.RecordBatch.from_arrays(
                [*columns, hashes], schema=LISTING.append(pa.field("hash", pa.uint64()))
            )

    def missing(self, living: Reachability, before: int, progress: Progress) -> Missing:
        """Returns the missing objects that were named before a time, in seconds since 1970; tasks
        find them, ask the store for each and write the file of the run.
        """
        assert self._place is not None  # noqa: S101  it lists first
        assert self._listed is not None  # noqa: S101
        progress.begin("looking for missing objects", 0)
        if self._absent is None:
            marks = self._alive(living).join(self._listed.select("hash"), "hash", "left_anti")
            nothing = [f"CAST(NULL AS {kind}) AS {name}" for name, kind in _LISTED_TYPES]
            absent = marks.selectExpr(*nothing, "hash", "number")
            self._absent = _absent(absent.mapInArrow(_without_repeats, _UNMATCHED).toArrow())
        store = store_opener(self._place.blocks, self._store, self._place.namespace.stem)
        search = MissingSearch(self._spark, store, self._place, self._entries)
        return search.find(self._absent, self._listed, self._reads, living, before)

    def release(self) -> None:
        """Removes the listing."""
        if self._kept is not None and self._place is not None:
            self._kept.forget(self._place.blocks)

    def sweeping(
        self,
        place: Place,
        living: Reachability,
        progress: Progress,
        rate: float | None,
        remover: Remover | None = None,
    ) -> SparkSweep:
        """Returns a sweep by tasks. Raises NotSupported for a remover: tasks remove for good."""
        if remover is not None:
            raise no_quarantine(self.name)
        tasks = (
            self._tasks
            or self._spark.range(1 << 20)
            .selectExpr("spark_partition_id() AS id")
            .distinct()
            .count()
        )
        store = store_opener(place.blocks, self._store, place.namespace.stem)
        return SparkSweep(
            self._spark,
            store,
            place.namespace,
            living,
            progress,
            sweep=place.run_id,
            tasks=tasks,
            rate=rate,
        )

    def _stored_listing(self, place: Place) -> StoredListing:
        store = store_opener(place.blocks, self._store, place.namespace.stem)
        return StoredListing(self._spark, store, place.namespace.stem, place.stem)

    def _alive(self, living: Reachability) -> DataFrame:
        """Returns all marks: hashes of living addresses, as often as ranges hold them."""
        pieces = shares((read for _, read in self._reads.values()), self._entries)
        marks = in_tasks(self._spark, pieces, read_marks, MARKS)
        uncommitted = pa.Table.from_batches([mark_batch(distinct(living.hashes), UNCOMMITTED)])
        return marks.unionAll(self._frame(uncommitted))

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
        files = open_tables(place.blocks, repository.storage_namespace, self._store)
        reading = place.namespace.reading(repository)
        for each in ranges:
            number = len(self._reads)
            info = Range(each.id, each.min_key, each.max_key, each.count, each.estimated_size)
            read = RangeRead(number, files, reading, info)
            self._reads[number] = (repository.partition, read)
        return ()


def served_installation(server: Server, blocks: BlockStore, folder: Path) -> ServedInstallation:
    """Returns what a server tells to collections, for `Collector`. `blocks` is its store, of which
    tables are kept in a folder of this machine.
    """
    tables = TableCache(blocks, folder / "tables", _CACHE_BYTES, verify=kernel.verify_table)
    return ServedInstallation(server.calls, blocks, tables, Identifiers(time.time))


def _without_repeats(batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    """Yields rows without a match: those of listed objects, those of addresses that are not
    committed, and one of each range.
    """
    seen: set[int] = set()
    for batch in batches:
        numbers = batch.column("number")
        of_ranges = pc.fill_null(pc.not_equal(numbers, UNCOMMITTED), fill_value=False)
        others = batch.filter(pc.invert(of_ranges))
        if others.num_rows:
            yield pa.RecordBatch.from_arrays(others.columns, schema=_UNMATCHED_ARROW)
        fresh = set(pc.unique(numbers.filter(of_ranges)).to_pylist()) - seen
        seen |= fresh
        if fresh:
            rows = [{"hash": 0, "number": number} for number in sorted(fresh)]
            yield pa.RecordBatch.from_pylist(rows, schema=_UNMATCHED_ARROW)


def _absent(rows: pa.Table) -> Absent:
    numbers = rows.column("number")
    uncommitted = rows.filter(pc.equal(numbers, UNCOMMITTED)).column("hash").to_numpy()
    return Absent(
        frozenset(pc.unique(numbers).to_pylist()) - {UNCOMMITTED},
        np.sort(uncommitted.view(np.uint64)),
    )
