"""The engine of garbage collection that runs on a Spark cluster.

Tasks list the store, and read ranges with the kernel to hash their addresses. Spark joins these
hashes with the listing in both directions: listed objects without a hash are dead, hashes without a
listed object may be of missing objects. Tasks remove the dead objects. The driver reads references
and staged changes before the first removal, and again before each round of about a minute. The
retention rules and the restore window are handled by the collector, as with the local engine.
"""

from __future__ import annotations

import time
from collections.abc import Iterable, Iterator, Sequence
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa

from anabranch import _kernel as kernel
from anabranch.blocks.cache.table_cache import TableCache
from anabranch.blocks.contract import BlockStore
from anabranch.errors import Corrupt
from anabranch.model.repositories.repository import Repository
from anabranch.pipelines.column_hashes import Hashes, distinct
from anabranch.pipelines.garbage.engine import ListingTotals
from anabranch.pipelines.garbage.installations.served import ServedInstallation
from anabranch.pipelines.garbage.marking.attribution import ExpiredRanges, Origins
from anabranch.pipelines.garbage.marking.missing import Missing
from anabranch.pipelines.garbage.run_context import RunContext
from anabranch.pipelines.garbage.run_files import MARKS_FOLDER
from anabranch.pipelines.garbage.sweeping.removal import QuarantineTime
from anabranch.pipelines.garbage.totals import CandidateTimes, CandidateTotals
from anabranch.pipelines.jobs.task_totals import TaskTotals
from anabranch.spark.arrow_tables import collect_arrow, to_frame
from anabranch.spark.jobs.garbage.dead import DeadObjects
from anabranch.spark.jobs.garbage.listing import HASHED, StoredListing, hash_column
from anabranch.spark.jobs.garbage.missing import Absent, MissingSearch
from anabranch.spark.jobs.garbage.origins import BranchRead, trace_origins
from anabranch.spark.jobs.garbage.quarantine import read_quarantined
from anabranch.spark.jobs.garbage.ranges import (
    MARKS,
    OF_TABLE,
    UNCOMMITTED,
    RangeRead,
    mark_batch,
    marks_folder,
    read_marks,
    split_reads,
)
from anabranch.spark.jobs.garbage.sweep import RemovalByTasks
from anabranch.spark.jobs.monitor import JobMonitor
from anabranch.spark.jobs.parts import HashReader
from anabranch.spark.planning.declaration import declaration
from anabranch.spark.planning.partition_planning import ENTRIES_PER_TASK, Range
from anabranch.spark.planning.scan_plan import default_tasks, map_in_tasks
from anabranch.spark.sources.commit_sources import open_tables
from anabranch.spark.sources.refusals import raise_refusals
from anabranch.spark.sources.server_source import Server
from anabranch.spark.sources.stores import Opener, store_opener
from anabranch.versioning.identifiers import Identifiers

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

__all__ = ["SparkEngine", "served_installation"]

_SLICES_PER_TASK = 2
_CACHE_BYTES = 1 << 30


class SparkEngine:
    """The engine on the caller's session, for one run. `store` gives workers access to the object
    store, such as `anabranch.spark.S3Store`; without it, they must have the lake's folder at the
    path that it has on the driver.

    `listing` replaces listing the store, for example with an inventory: a DataFrame of address
    (relative to the namespace), size (bytes) and mtime (seconds since 1970). `slices` is the
    largest number of tasks that list the store, by default twice the session's default parallelism,
    and `tasks` the number of tasks that remove objects, by default this parallelism.
    """

    name = "spark"
    _context: RunContext
    _listed: DataFrame

    def __init__(
        self,
        spark: SparkSession,
        store: Opener | None = None,
        *,
        listing: DataFrame | None = None,
        entries_per_task: int = ENTRIES_PER_TASK,
        slices: int = 0,
        tasks: int = 0,
    ) -> None:
        self._spark = spark
        self._monitor = JobMonitor(spark, "garbage collection")
        self._store = store
        self._listing = listing
        self._entries = entries_per_task
        self._slices = slices
        self._tasks = tasks
        self._reads: dict[int, tuple[str, RangeRead]] = {}
        self._absent: Absent | None = None

    @property
    def tasks(self) -> dict[str, TaskTotals]:
        """The totals of the tasks of each phase that has ended, if Spark has recorded them."""
        return self._monitor.tasks

    @raise_refusals()
    def list(self, context: RunContext, before: int) -> ListingTotals:
        """Lists the store, or takes the given listing."""
        self._context = context
        context.progress.begin("listing the store", 0)
        with self._monitor.phase("listing the store"):
            if self._listing is not None:
                return self._count_given(self._listing, before)
            slices = self._slices or _SLICES_PER_TASK * default_tasks(self._spark)
            stored = self._stored_listing()
            totals = stored.make(context.blocks, before, slices)
            self._listed = stored.frame()
            context.reachability.tables.note_listed(stored.areas, context.tables_before)
            return totals

    def _count_given(self, listing: DataFrame, before: int) -> ListingTotals:
        """Takes the given listing and returns its totals."""
        columns = listing.select("address", "size", "mtime")
        self._listed = columns.mapInArrow(hash_column, declaration(HASHED))
        aggregates = columns.selectExpr(
            "count(*)", "coalesce(sum(size), 0)", f"count_if(mtime >= {before})"
        )
        (row,) = aggregates.collect()
        return ListingTotals(*(int(value) for value in row))

    def mark(self) -> None:
        """Marks uncommitted addresses and plans the tasks that read ranges."""
        self._context.reachability.mark(self._plan)

    @raise_refusals()
    def find_candidates(self, times: CandidateTimes) -> CandidateTotals:
        """Finds the candidates and writes them to files. A missing or damaged table fails the job
        with an error that names the table.
        """
        self._context.progress.begin("comparing", 0)
        with self._monitor.phase("comparing with references"):
            marks = self._marks()
            files, unknown, self._absent = self._dead().find(
                self._listed, marks, len(self._reads), times
            )
        with self._monitor.phase("sorting candidates"):
            totals = self._dead().sort(files, times)
            totals.unknown = unknown
        self._remove_unused_marks()
        return totals

    @raise_refusals()
    def find_missing(self, before: int) -> Missing:
        """Returns the missing objects. Tasks find them, query the store for each, and write the
        run's file.
        """
        context = self._context
        context.progress.begin("looking for missing objects", 0)
        with self._monitor.phase("looking for missing objects"):
            if self._absent is None:
                marks = self._marks()
                self._absent = self._dead().find_absent(self._listed, marks, len(self._reads))
            search = MissingSearch(self._spark, self._opener, context, self._entries)
            return search.find(self._absent, self._listed, self._reads, before)

    @raise_refusals()
    def trace_origins(self, totals: CandidateTotals) -> Origins:
        """Returns the origins of the candidates."""
        context = self._context
        context.progress.begin("reading expired commits", 0)
        active = context.reachability.active_ranges()
        expired = ExpiredRanges(context.installation, context.repository, context.now, active)
        if not totals.candidates.objects:
            return Origins()
        named = list(expired)
        planned = self._planned_reads(context.repository, [info for _, info in named])
        reads = [BranchRead(read, branch) for read, (branch, _) in zip(planned, named, strict=True)]
        with self._monitor.phase("reading expired commits"):
            return trace_origins(
                *(self._spark, self._opener, context.files.candidate_files()),
                tasks=split_reads(reads, self._entries),
                expired=expired,
                total=totals.candidates,
            )

    def release(self) -> None:
        """Removes the files of the listing, and the marks of ranges that no longer exist."""
        self._stored_listing().remove(self._context.blocks)
        self._dead().remove()

    def remover(self, rate: float | None, quarantine: QuarantineTime | None) -> RemovalByTasks:
        """Returns what removes objects in tasks."""
        context = self._context
        with self._monitor.describe("planning"):
            tasks = self._tasks or default_tasks(self._spark)
        return RemovalByTasks(
            *(self._spark, self._opener, context),
            monitor=self._monitor,
            tasks=tasks,
            rate=rate,
            quarantine=quarantine,
        )

    @raise_refusals()
    def reachable_in(self, files: Sequence[str]) -> Hashes:
        """Returns the hashes of those addresses in files of quarantined objects that ranges have.
        Tasks read the files and the marks of the ranges.
        """
        context = self._context
        context.progress.begin("comparing the quarantine", 0)
        read = HashReader(self._opener)
        with self._monitor.phase("comparing the quarantine"):
            quarantined = map_in_tasks(
                self._spark, files, partial(read_quarantined, read), read.schema
            )
            marks = self._marks().select("hash")
            found = collect_arrow(quarantined.join(marks, "hash", "left_semi").distinct())
        return distinct([found.column("hash").to_numpy().view(np.uint64)])

    @property
    def _opener(self) -> Opener:
        return store_opener(self._context.blocks, self._store, self._context.namespace.prefix)

    def _stored_listing(self) -> StoredListing:
        return StoredListing(
            *(self._spark, self._opener, self._context.namespace.prefix, self._context.prefix),
            counts=self._monitor.counts,
        )

    def _dead(self) -> DeadObjects:
        return DeadObjects(self._spark, self._opener, self._context)

    def _remove_unused_marks(self) -> None:
        """Removes the kept marks of ranges that are not referenced any more."""
        context = self._context
        used = {read.marks for _, read in self._reads.values()}
        kept = context.blocks.list(context.namespace.prefix + MARKS_FOLDER)
        context.blocks.delete(block.address for block in kept if block.address not in used)

    def _marks(self) -> DataFrame:
        """Returns the hashes of all reachable addresses, once for each range that has them."""
        pieces = split_reads((read for _, read in self._reads.values()), self._entries)
        context = self._context
        read = partial(read_marks, self._opener)
        marks = map_in_tasks(self._spark, pieces, read, MARKS)
        found = context.reachability
        own = [
            mark_batch(distinct(found.hashes), UNCOMMITTED),
            mark_batch(found.tables.hashes(), OF_TABLE),
        ]
        return marks.unionAll(self._own_frame(pa.Table.from_batches(own)))

    def _own_frame(self, table: pa.Table) -> DataFrame:
        """Returns a table of MARKS as a DataFrame. Raises Corrupt if rows are missing: a lost hash
        would cause the loss of an object.
        """
        frame = to_frame(self._spark, table)
        if frame.count() != table.num_rows:
            raise Corrupt(f"Spark created a DataFrame without all of the {table.num_rows} rows")
        return frame

    def _plan(self, repository: Repository, ranges: Iterable[kernel.RangeInfo]) -> Iterable[Hashes]:
        """Adds ranges to those that tasks will read; returns no hashes."""
        for read in self._planned_reads(repository, ranges, len(self._reads)):
            self._reads[read.number] = (repository.partition, read)
        return ()

    def _planned_reads(
        self, repository: Repository, ranges: Iterable[kernel.RangeInfo], first: int = 0
    ) -> Iterator[RangeRead]:
        """Yields the reads of a repository's ranges, with their numbers from `first` on."""
        namespace = self._context.namespace
        files = open_tables(self._context.blocks, repository.storage_namespace, self._store)
        resolver = namespace.resolver(repository)
        marks = marks_folder(namespace.prefix + MARKS_FOLDER, repository.partition, resolver)
        for number, info in enumerate(ranges, first):
            part = Range(info.id, info.min_key, info.max_key, info.count, info.estimated_size)
            yield RangeRead(number, files, resolver, part, marks + info.id)


def served_installation(server: Server, blocks: BlockStore, folder: Path) -> ServedInstallation:
    """Returns the installation of a server, for `Collector`. `blocks` is the server's store, whose
    tables are cached in a local folder.
    """
    tables = TableCache(blocks, folder / "tables", _CACHE_BYTES, verify=kernel.verify_table)
    return ServedInstallation(server.client, blocks, tables, Identifiers(time.time))
