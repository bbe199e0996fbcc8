"""Garbage collection on a Spark cluster.

    from anabranch.spark.jobs.garbage import SparkEngine

    with collector.mark("sea", engine=SparkEngine(spark)) as run:
        run.sweep(rate=2000)

Tasks list the store, and read ranges with the kernel to hash their addresses. Spark joins these
hashes with the listing in both directions: listed objects without a hash are dead, hashes without a
listed object may be of missing objects. Tasks remove the dead objects. The driver reads references
and staged changes before the first removal, and again before each round of about a minute. The
retention rules, the candidates and the restore window are handled by the collector, as with the
local engine.
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
from anabranch.pipelines.garbage.engine import ListingTotals, RunContext
from anabranch.pipelines.garbage.installations.served import ServedInstallation
from anabranch.pipelines.garbage.marking.missing import Missing
from anabranch.pipelines.garbage.marking.reachable import Reachability
from anabranch.pipelines.garbage.sweeping.removal import Remover, quarantine_not_supported
from anabranch.pipelines.jobs.progress import Progress
from anabranch.spark.jobs.garbage_listing import HASHED, HASHED_ARROW, StoredListing, hash_column
from anabranch.spark.jobs.garbage_missing import Absent, MissingSearch
from anabranch.spark.jobs.garbage_ranges import (
    MARKS,
    UNCOMMITTED,
    RangeRead,
    mark_batch,
    read_marks,
    split_reads,
)
from anabranch.spark.jobs.garbage_sweep import SparkSweep
from anabranch.spark.planning.partition_planning import ENTRIES_PER_TASK, Range
from anabranch.spark.planning.scan_plan import map_in_tasks
from anabranch.spark.sources.commit_sources import open_tables
from anabranch.spark.sources.server_source import Server
from anabranch.spark.sources.stores import Opener, store_opener
from anabranch.versioning.identifiers import Identifiers

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

__all__ = ["SparkEngine", "served_installation"]

_LISTED_TYPES = (("address", "STRING"), ("size", "BIGINT"), ("mtime", "BIGINT"))
_UNMATCHED = f"{HASHED}, number INT"
"""A listed object without a reachable hash, or a reachable hash without a listed object."""

_UNMATCHED_ARROW = pa.schema(
    [
        *(pa.field(field.name, field.type) for field in HASHED_ARROW),
        pa.field("number", pa.int32()),
    ]
)
_SLICES = 256
_CACHE_BYTES = 1 << 30


class SparkEngine:
    """The engine on the caller's session, for one run. `store` gives workers access to the object
    store, such as `anabranch.spark.S3Store`; without it, they must have the lake's folder at the
    path that it has on the driver.

    `listing` replaces listing the store, for example with an inventory: a DataFrame of address
    (relative to the namespace), size (bytes) and mtime (seconds since 1970). `slices` is the
    largest number of tasks that list the store, and `tasks` the number of tasks that remove
    objects, by default the session's default parallelism.
    """

    name = "spark"
    supports_quarantine = False

    def __init__(
        self,
        spark: SparkSession,
        store: Opener | None = None,
        *,
        listing: DataFrame | None = None,
        entries_per_task: int = ENTRIES_PER_TASK,
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
        self._context: RunContext | None = None
        self._before = 0
        self._stored_files: StoredListing | None = None
        self._listed: DataFrame | None = None
        self._absent: Absent | None = None

    def list(self, context: RunContext, before: int, progress: Progress) -> ListingTotals:
        """Lists the store, or takes the given listing."""
        progress.begin("listing the store", 0)
        self._context, self._before = context, before
        if self._listing is None:
            self._stored_files = self._stored_listing(context)
            totals = self._stored_files.make(context.blocks, before, self._slices)
            self._listed = self._stored_files.frame()
            return totals
        columns = self._listing.select("address", "size", "mtime")
        self._listed = columns.mapInArrow(hash_column, HASHED)
        aggregates = columns.selectExpr(
            "count(*)", "coalesce(sum(size), 0)", f"count_if(mtime >= {before})"
        )
        (row,) = aggregates.collect()
        return ListingTotals(*(int(value) for value in row))

    def mark(self, reachability: Reachability) -> None:
        """Marks uncommitted addresses and plans the tasks that read ranges. Raises the errors of
        `Reachability.mark`.
        """
        assert self._context is not None  # noqa: S101  list() comes first
        with reachability.use_range_reader(partial(self._plan, self._context)):
            reachability.mark()

    def dead_objects(
        self, reachability: Reachability, progress: Progress
    ) -> Iterator[pa.RecordBatch]:
        """Yields the listed objects that are neither young nor reachable. A missing or damaged
        table fails the job with an error that names the table.
        """
        assert self._listed is not None  # noqa: S101  list() comes first
        progress.begin("comparing", 0)
        joined = self._listed.join(self._marks(reachability), "hash", "full_outer")
        unmatched = joined.where(
            f"number IS NULL AND mtime < {self._before} OR address IS NULL"
        ).select(*_UNMATCHED_ARROW.names)
        rows = unmatched.mapInArrow(_deduplicate_ranges, _UNMATCHED).toArrow()
        self._absent = _absent(rows.filter(pc.is_null(rows.column("address"))))
        dead = rows.filter(pc.is_valid(rows.column("address"))).sort_by("address")
        for batch in dead.to_batches():
            hashes = pa.array(batch.column("hash").to_numpy().view(np.uint64))
            columns = [batch.column(field.name).cast(field.type) for field in LISTING]
            yield pa.RecordBatch.from_arrays(
                [*columns, hashes], schema=LISTING.append(pa.field("hash", pa.uint64()))
            )

    def find_missing(self, reachability: Reachability, before: int, progress: Progress) -> Missing:
        """Returns the missing objects whose addresses were generated before a time, in seconds
        since 1970. Tasks find them, query the store for each, and write the run's file.
        """
        assert self._context is not None  # noqa: S101  list() comes first
        assert self._listed is not None  # noqa: S101
        progress.begin("looking for missing objects", 0)
        if self._absent is None:
            marks = self._marks(reachability).join(self._listed.select("hash"), "hash", "left_anti")
            nulls = [f"CAST(NULL AS {kind}) AS {name}" for name, kind in _LISTED_TYPES]
            absent = marks.selectExpr(*nulls, "hash", "number")
            self._absent = _absent(absent.mapInArrow(_deduplicate_ranges, _UNMATCHED).toArrow())
        store = store_opener(self._context.blocks, self._store, self._context.namespace.prefix)
        search = MissingSearch(self._spark, store, self._context, self._entries)
        return search.find(self._absent, self._listed, self._reads, reachability, before)

    def release(self) -> None:
        """Removes the files of the listing."""
        if self._stored_files is not None and self._context is not None:
            self._stored_files.remove(self._context.blocks)

    def sweeper(
        self,
        context: RunContext,
        reachability: Reachability,
        progress: Progress,
        rate: float | None,
        remover: Remover | None = None,
    ) -> SparkSweep:
        """Returns a sweeper that runs tasks. Raises NotSupported for a remover, because tasks
        remove objects permanently.
        """
        if remover is not None:
            raise quarantine_not_supported(self.name)
        tasks = (
            self._tasks
            or self._spark.range(1 << 20)
            .selectExpr("spark_partition_id() AS id")
            .distinct()
            .count()
        )
        store = store_opener(context.blocks, self._store, context.namespace.prefix)
        return SparkSweep(
            self._spark,
            store,
            context.namespace,
            reachability,
            progress,
            sweep=context.run_id,
            tasks=tasks,
            rate=rate,
        )

    def _stored_listing(self, context: RunContext) -> StoredListing:
        store = store_opener(context.blocks, self._store, context.namespace.prefix)
        return StoredListing(self._spark, store, context.namespace.prefix, context.prefix)

    def _marks(self, reachability: Reachability) -> DataFrame:
        """Returns the hashes of all reachable addresses, once for each range that has them."""
        pieces = split_reads((read for _, read in self._reads.values()), self._entries)
        marks = map_in_tasks(self._spark, pieces, read_marks, MARKS)
        uncommitted = pa.Table.from_batches(
            [mark_batch(distinct(reachability.hashes), UNCOMMITTED)]
        )
        return marks.unionAll(self._frame(uncommitted))

    def _frame(self, table: pa.Table) -> DataFrame:
        """Returns a table as a DataFrame. It is passed as one batch, because PySpark 4.1 drops the
        batches after an empty one. Raises Corrupt if rows are missing nevertheless: a lost hash
        would cause the loss of an object.
        """
        frame = self._spark.createDataFrame(table.combine_chunks())
        if frame.count() != table.num_rows:
            raise Corrupt(f"Spark created a DataFrame without all of the {table.num_rows} rows")
        return frame

    def _plan(
        self, context: RunContext, repository: Repository, ranges: Iterable[kernel.RangeInfo]
    ) -> Iterable[Hashes]:
        """Adds ranges to those that tasks will read; returns no hashes."""
        files = open_tables(context.blocks, repository.storage_namespace, self._store)
        resolver = context.namespace.resolver(repository)
        for info in ranges:
            number = len(self._reads)
            part = Range(info.id, info.min_key, info.max_key, info.count, info.estimated_size)
            self._reads[number] = (
                repository.partition,
                RangeRead(number, files, resolver, part),
            )
        return ()


def served_installation(server: Server, blocks: BlockStore, folder: Path) -> ServedInstallation:
    """Returns the installation of a server, for `Collector`. `blocks` is the server's store, whose
    tables are cached in a local folder.
    """
    tables = TableCache(blocks, folder / "tables", _CACHE_BYTES, verify=kernel.verify_table)
    return ServedInstallation(server.client, blocks, tables, Identifiers(time.time))


def _deduplicate_ranges(batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    """Yields the unmatched rows of listed objects and of uncommitted addresses, and one row for
    each range with unmatched hashes.
    """
    seen: set[int] = set()
    for batch in batches:
        numbers = batch.column("number")
        in_range = pc.fill_null(pc.not_equal(numbers, UNCOMMITTED), fill_value=False)
        others = batch.filter(pc.invert(in_range))
        if others.num_rows:
            yield pa.RecordBatch.from_arrays(others.columns, schema=_UNMATCHED_ARROW)
        new_numbers = set(pc.unique(numbers.filter(in_range)).to_pylist()) - seen
        seen |= new_numbers
        if new_numbers:
            rows = [{"hash": 0, "number": number} for number in sorted(new_numbers)]
            yield pa.RecordBatch.from_pylist(rows, schema=_UNMATCHED_ARROW)


def _absent(rows: pa.Table) -> Absent:
    numbers = rows.column("number")
    uncommitted = rows.filter(pc.equal(numbers, UNCOMMITTED)).column("hash").to_numpy()
    return Absent(
        frozenset(pc.unique(numbers).to_pylist()) - {UNCOMMITTED},
        np.sort(uncommitted.view(np.uint64)),
    )
