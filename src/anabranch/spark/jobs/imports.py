"""Import of a listing, given as a DataFrame, to a branch in one commit.

Spark sorts the listing by path, and each task writes its partition as ranges, with the kernel. The
driver corrects the ranges at the boundaries between tasks, writes the metarange and commits. The
ids are the same as those of the server's import, and of a commit of the same objects.
"""

from __future__ import annotations

import uuid
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import pyarrow as pa
import pyarrow.compute as pc

from anabranch import _kernel as kernel
from anabranch.blocks.local.store import LocalBlocks
from anabranch.pipelines.imports.listings.address_check import AddressCheck
from anabranch.pipelines.imports.listings.columns import parse_columns, to_listed
from anabranch.pipelines.imports.listings.import_listing import (
    Imported,
    ImportTarget,
    LakeTarget,
    ListingRequest,
    OnInvalid,
    Verify,
    WrittenListing,
    commit_listing,
)
from anabranch.pipelines.imports.listings.row_checks import RowCheck
from anabranch.pipelines.imports.listings.row_sample import (
    SAMPLE_ROWS,
    SAMPLED,
    RowSample,
    smallest,
)
from anabranch.pipelines.imports.listings.row_validation import (
    LEFT_OUT,
    ORDER,
    SHOWN,
    WRITTEN,
    RowValidator,
)
from anabranch.pipelines.imports.listings.stored_check import StoredCheck, require_stored
from anabranch.spark.arrow_tables import collect_arrow
from anabranch.spark.jobs.boundary_tasks import join_in_tasks
from anabranch.spark.jobs.monitor import JobMonitor, TaskCounts
from anabranch.spark.jobs.parts import PartWriter
from anabranch.spark.jobs.rejected_files import RejectedFiles
from anabranch.spark.jobs.server_import_target import ServerTarget
from anabranch.spark.jobs.stored_sample import stored_problems
from anabranch.spark.planning.declaration import declaration
from anabranch.spark.planning.partition_planning import Range
from anabranch.spark.require_version import require_version
from anabranch.spark.sources.commit_sources import HookedStores, open_tables
from anabranch.spark.sources.refusals import note_refusals, raise_refusals
from anabranch.spark.sources.server_source import Server
from anabranch.spark.sources.stores import Opener, open_store, store_opener
from anabranch.spark.sources.table_files import FolderTables, StoredTables, WritableTables
from anabranch.versioning.trees.trees import translate_errors

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

__all__ = ["Imported", "import_listing"]

_COLUMNS = {
    "path": "CAST({} AS STRING)",
    "physical_address": "CAST({} AS STRING)",
    "size": "CAST({} AS BIGINT)",
    "checksum": "CAST({} AS STRING)",
    "last_modified": "CAST({} AS TIMESTAMP)",
    # transferring a map from Spark to Python takes 20 µs for each row, even if it is empty; a
    # string takes 1 µs
    "metadata": "to_json(CAST({} AS MAP<STRING, STRING>))",
    "content_type": "CAST({} AS STRING)",
}
"""The SQL expressions of the columns that tasks receive."""

_JSON_METADATA = "CAST({} AS STRING)"
"""The expression of metadata that are JSON already."""

_RESULT = pa.schema(
    [
        ("task", pa.string()),
        ("reason", pa.string()),
        ("path", pa.string()),
        ("number", pa.int64()),
        ("range", pa.string()),
        ("min_key", pa.binary()),
        ("max_key", pa.binary()),
        ("size", pa.int64()),
        ("physical_address", pa.string()),
        ("last_modified", pa.timestamp("us", "UTC")),
        ("checksum", pa.string()),
        ("hash", pa.int64()),
        ("file", pa.string()),
    ]
)
"""The results of a task. Rows with its id in `task` are its ranges, the number of rejected rows for
each reason, some of the rejected rows, and the files in the store that have all of them, for the
file `rejected_rows`. The rows without a task are the task's sample.
"""

_MAX_SAMPLED_ROWS = 200_000
"""The maximum number of sampled rows that the driver receives, unless the minimum of each task adds
up to more.
"""

_MIN_SAMPLED_PER_TASK = 10


@raise_refusals()
def import_listing(
    source: HookedStores | Server,
    repository: str,
    branch: str,
    listing: DataFrame,
    *,
    store: Opener | None = None,
    destination: str = "",
    message: str = "",
    metadata: Mapping[str, str] | None = None,
    committer: str = "",
    on_invalid: OnInvalid = "fail",
    rejected_rows: Path | None = None,
    verify: Verify = "sample",
    force: bool = False,
) -> Imported:
    """Imports the objects of a listing to a branch in one commit. They replace all objects under
    `destination`.

    `source` is a lake, another object with an open core and block store, or a server. `store` gives
    workers access to the object store of the repository, to which they write tables; only a lake in
    a folder does not need it.

    The listing has the columns path (relative to the destination), physical_address and size
    (bytes), and optionally checksum, last_modified, metadata and content_type. A row is invalid if
    the path, address or size is missing, the size is negative, the path is longer than 1,024 bytes,
    staging by address would refuse the address, or a newer row has the same path. Invalid rows fail
    the import, or with `on_invalid` = "skip" are left out. All of them are written to the file
    `rejected_rows`, if it is given; tasks pass them through temporary files in the store.

    `verify` selects the rows that tasks compare with the store. With "all", all rows are compared,
    and those without a matching object are invalid. With "sample", about 1,000 rows from the whole
    listing are compared, and each must have a matching object.

    Raises Invalid for invalid rows and missing columns, NotFound for an empty listing, NotSupported
    if `store` is missing, DirtyBranch, and ReadOnlyRepository without `force`. The branch is not
    changed then.
    """
    require_version(listing.sparkSession)
    monitor = JobMonitor(listing.sparkSession, f"import to {repository}")
    request = ListingRequest(
        branch=branch,
        destination=destination,
        message=message,
        metadata=metadata or {},
        committer=committer,
        on_invalid=on_invalid,
        rejected_rows=rejected_rows,
        verify=verify,
        force=force,
    )
    target: ImportTarget
    if isinstance(source, Server):
        target = ServerTarget(source, repository, store)
        tables: FolderTables | StoredTables = target.tables
        opener, namespace = target.tables.store, target.tables.storage_namespace
    else:
        namespace = source.core.repositories.get(repository).storage_namespace
        tables = open_tables(source.blocks, namespace, store)
        local = isinstance(source.blocks, LocalBlocks)
        opener = store_opener(source.blocks, None if local else store, namespace)
        target = LakeTarget(
            source.core,
            repository,
            adopted=isinstance(tables, StoredTables),
            changes=source.changes,
        )

    def write(folder: str) -> WrittenListing:
        writable = tables if isinstance(tables, StoredTables) else FolderTables(folder)
        rejected = RejectedFiles(opener, namespace, request.rejected_rows)
        with rejected:
            written = _write(listing, request, folder, writable, opener, rejected, monitor)
        return written._replace(phases=monitor.phases, tasks=monitor.tasks)

    return commit_listing(target, request, write)


def _write(
    listing: DataFrame,
    request: ListingRequest,
    folder: str,
    tables: WritableTables,
    opener: Opener,
    rejected: RejectedFiles,
    monitor: JobMonitor,
) -> WrittenListing:
    """Writes the tables of a listing. The driver writes its own tables to `folder`."""
    spark = listing.sparkSession
    writer = _ListingWriter(
        request.prefix,
        tables,
        opener,
        request.verify,
        _sampled_rows(spark),
        rejected.prefix,
        monitor.counts,
    )
    with translate_errors():
        with monitor.phase("sorting and writing ranges"):
            results = collect_arrow(_sort(listing).mapInArrow(writer.write, declaration(_RESULT)))
        of_task, sampled = pc.is_valid(results["task"]), pc.is_valid(results["hash"])
        sample = smallest(results.filter(sampled).select(SAMPLED.names).cast(SAMPLED))
        rows = results.filter(of_task).to_pylist()
        rejected.collect(row["file"] for row in rows if row["file"] is not None)
        skipped, shown = _count_rejected(rows)
        tasks = _ranges_by_task(rows)
        if not tasks or (skipped and request.on_invalid == "fail"):  # the import fails anyway
            return WrittenListing(kernel.EMPTY_TREE_ID, [], 0, skipped, shown)
        with monitor.phase("comparing a sample with the store"):
            require_stored(sample, stored_problems(spark, opener, sample))
        with monitor.phase("joining ranges"):
            ranges = join_in_tasks(spark, tables, tasks)
        metarange_id = kernel.write_metarange([kernel.RangeInfo(*each) for each in ranges], folder)
    table_ids = {*(each.id for each in ranges), metarange_id}
    in_folder = [table_id for table_id in table_ids if Path(folder, table_id).exists()]
    return WrittenListing(
        metarange_id, in_folder, sum(each.entries for each in ranges), skipped, shown
    )


def _sort(listing: DataFrame) -> DataFrame:
    """Returns a listing sorted by path, and rows with the same path by time, the newest first."""
    columns = parse_columns(listing.columns)
    templates = {name: _COLUMNS[name] for name in columns}
    if "metadata" in columns and dict(listing.dtypes)[columns["metadata"]] == "string":
        templates["metadata"] = _JSON_METADATA
    expressions = [
        f"{templates[name].format(f'`{column}`')} AS {name}" for name, column in columns.items()
    ]
    order = {name: direction == "ascending" for name, direction in ORDER if name in columns}
    return (
        listing.selectExpr(*expressions)
        .repartitionByRange("path")
        .sortWithinPartitions(*order, ascending=[*order.values()])
    )


def _sampled_rows(spark: SparkSession) -> int:
    """Returns the number of rows that each task contributes to the sample."""
    tasks = int(spark.conf.get("spark.sql.shuffle.partitions") or 1)
    return max(_MIN_SAMPLED_PER_TASK, min(SAMPLE_ROWS, _MAX_SAMPLED_ROWS // tasks))


class _ListingWriter(NamedTuple):
    """The work of a task: it validates rows and writes them as ranges."""

    prefix: str
    tables: WritableTables
    opener: Opener
    verify: Verify
    sampled_rows: int
    rejected_prefix: str
    counts: TaskCounts

    def write(self, batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        """Writes rows and yields the results, as batches of _RESULT."""
        sample = RowSample(self.sampled_rows if self.verify == "sample" else 0)
        with (
            open_store(self.opener) as blocks,
            PartWriter(blocks, self.rejected_prefix, LEFT_OUT) as rejected,
        ):
            checks: list[RowCheck] = [AddressCheck(blocks)]
            if self.verify == "all":
                checks.append(StoredCheck(blocks))
            reject = rejected.write if self.rejected_prefix else _ignore
            validator = RowValidator(self.prefix, reject, checks=checks)
            valid = sample.sample_batches(validator.batches(map(to_listed, batches)))
            reader = pa.RecordBatchReader.from_batches(WRITTEN, self._count(valid))
            ranges = self.tables.write_ranges(partial(kernel.write_ranges_arrow, reader))
        rows = [
            {
                "range": info.id,
                "min_key": info.min_key,
                "max_key": info.max_key,
                "number": info.count,
                "size": info.estimated_size,
            }
            for info in ranges
        ]
        rows += [
            {"reason": reason, "number": number} for reason, number in validator.counts.items()
        ]
        rows += [{"reason": reason, "path": path} for path, reason in validator.shown]
        rows += [{"file": name} for name, _ in rejected.files]
        task = uuid.uuid4().hex
        yield pa.RecordBatch.from_pylist([{"task": task, **row} for row in rows], schema=_RESULT)
        for batch in sample.rows().to_batches():
            nulls = {field.name: pa.nulls(batch.num_rows, field.type) for field in _RESULT}
            columns = {**nulls, **dict(zip(batch.schema.names, batch.columns, strict=True))}
            yield pa.RecordBatch.from_arrays(list(columns.values()), schema=_RESULT)

    def _count(self, batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        with note_refusals():  # the kernel, which reads them, raises errors of its own
            for batch in batches:
                self.counts.add(batch.num_rows, pc.sum(batch.column("size")).as_py() or 0)
                yield batch


def _ignore(_: pa.RecordBatch) -> None:
    pass


def _ranges_by_task(rows: Iterable[Any]) -> list[list[Range]]:
    """Returns the ranges that each task wrote, in order of their keys."""
    tasks: dict[str, list[Range]] = {}
    for row in rows:
        if row["range"] is not None:
            written = Range(
                row["range"],
                bytes(row["min_key"]),
                bytes(row["max_key"]),
                row["number"],
                row["size"],
            )
            tasks.setdefault(row["task"], []).append(written)
    for ranges in tasks.values():
        ranges.sort(key=lambda each: each.min_key)
    return sorted(tasks.values(), key=lambda ranges: ranges[0].min_key)


def _count_rejected(rows: Iterable[Any]) -> tuple[dict[str, int], list[tuple[str, str]]]:
    """Returns the number of rejected rows for each reason, and the path and reason of the first
    ones.
    """
    counts: Counter[str] = Counter()
    shown: list[tuple[str, str]] = []
    for row in rows:
        if row["reason"] is not None and row["path"] is None:
            counts[row["reason"]] += row["number"]
        elif row["reason"] is not None:
            shown.append((row["path"], row["reason"]))
    return dict(counts), sorted(shown)[:SHOWN]
