"""Import of a listing, given as a DataFrame, to a branch by one commit.

Spark sorts the listing by path, in as many tasks as it likes. Each task writes its share as ranges,
with the kernel. The driver joins the ranges at the boundaries, writes the metarange and commits.
The result has the ids that the server's import and a commit of the same objects have.
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
    Unfit,
    Verify,
    WrittenListing,
    commit_listing,
)
from anabranch.pipelines.imports.listings.rejected_rows import open_rejected_rows
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
from anabranch.spark.jobs.server_import_target import ServerTarget
from anabranch.spark.jobs.stored_sample import stored_problems
from anabranch.spark.planning.partition_planning import Range
from anabranch.spark.planning.range_boundaries import join_ranges
from anabranch.spark.require_version import require_version
from anabranch.spark.sources.commit_sources import Stores, open_tables
from anabranch.spark.sources.server_source import Server
from anabranch.spark.sources.stores import Opener, open_store, store_opener
from anabranch.spark.sources.table_files import FolderTables, StoredTables, WritableTables
from anabranch.versioning.trees import translate_errors

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

__all__ = ["Imported", "import_listing"]

_COLUMNS = {
    "path": "CAST({} AS STRING)",
    "physical_address": "CAST({} AS STRING)",
    "size": "CAST({} AS BIGINT)",
    "checksum": "CAST({} AS STRING)",
    "last_modified": "CAST({} AS TIMESTAMP)",
    # a map costs twenty microseconds on its way from Spark to Python, empty or not; a text, one
    "metadata": "to_json(CAST({} AS MAP<STRING, STRING>))",
    "content_type": "CAST({} AS STRING)",
}
"""How tasks get what a listing has."""

_TEXT = "CAST({} AS STRING)"
"""How they get metadata that are JSON already."""

_TOLD = pa.schema(
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
    ]
)
"""What a task tells: its ranges, how many rows it left out for each reason, and some of them; with
no task's name, a row for the file of all that are left out, or, with a hash, one of its sample.
"""

_TOLD_SPARK = (
    "task STRING, reason STRING, path STRING, number BIGINT, range STRING, min_key BINARY, "
    "max_key BINARY, size BIGINT, physical_address STRING, last_modified TIMESTAMP, "
    "checksum STRING, hash BIGINT"
)

_SAMPLED_ROWS = 200_000
"""So many rows of samples come to the driver at most, unless there are more tasks than a tenth of
these.
"""
_SAMPLED_PER_TASK = 10


def import_listing(
    source: Stores | Server,
    repository: str,
    branch: str,
    listing: DataFrame,
    *,
    store: Opener | None = None,
    destination: str = "",
    message: str = "",
    metadata: Mapping[str, str] | None = None,
    committer: str = "",
    unfit: Unfit = "fail",
    left_out: Path | None = None,
    verify: Verify = "sample",
    force: bool = False,
) -> Imported:
    """Brings what a listing names onto a branch, in place of all that is under `destination`.

    `source` is a lake, or whatever has its core and its blocks open in the driver, or a server.
    `store` is how workers reach the object store of the repository; a server needs one,
    and so does a lake that is in no folder. Tables go straight there.

    The listing has the columns path (behind the destination and a slash), physical_address and
    size (bytes), and perhaps checksum, last_modified, metadata and content_type. Rows that can be
    no objects fail the import, or are skipped: without a path, address or size, with a negative
    one, over 1,024 bytes of path, with an address that staging by address refuses, or with a path
    that came before, of which the newest is taken. All of them are written to the file `left_out`,
    if there is one; they come through the driver.

    `verify` says which rows tasks compare with the store: with "all", every one, and those that do
    not name an object as it is stored can be no objects; with "sample", some 1,000 that are spread
    over the listing, of which all must name one.

    Raises Invalid for such rows and for columns that are missing, NotFound for an empty listing,
    NotSupported without a store where one is needed, DirtyBranch, ReadOnlyRepository without
    `force`. The branch is then as it was.
    """
    require_version(listing.sparkSession)
    request = ListingRequest(
        branch=branch,
        destination=destination,
        message=message,
        metadata=metadata or {},
        committer=committer,
        unfit=unfit,
        left_out=left_out,
        verify=verify,
        force=force,
    )

    ground: ImportTarget
    if isinstance(source, Server):
        ground = ServerTarget(source, repository, store)
        tables: FolderTables | StoredTables = ground.tables
        opener = ground.tables.store
    else:
        namespace = source.core.repositories.get(repository).storage_namespace
        tables = open_tables(source.blocks, namespace, store)
        local = isinstance(source.blocks, LocalBlocks)
        opener = store_opener(source.blocks, None if local else store, namespace)
        ground = LakeTarget(source.core, repository, adopted=isinstance(tables, StoredTables))

    def write(folder: str) -> WrittenListing:
        place = tables if isinstance(tables, StoredTables) else FolderTables(folder)
        return _write(listing, request, folder, place, opener)

    return commit_listing(ground, request, write)


def _write(
    listing: DataFrame,
    request: ListingRequest,
    folder: str,
    tables: WritableTables,
    opener: Opener,
) -> WrittenListing:
    """Writes a listing's tables; `folder` is for the driver's own files."""
    spark = listing.sparkSession
    work = _Writing(
        request.prefix,
        tables,
        opener,
        request.verify,
        _sampled_rows(spark),
        tell_all=request.left_out is not None,
    )
    with translate_errors():
        told = _sorted(listing).mapInArrow(work.run, _TOLD_SPARK).toArrow()
        of_task, sampled = pc.is_valid(told["task"]), pc.is_valid(told["hash"])
        sample = smallest(told.filter(sampled).select(SAMPLED.names).cast(SAMPLED))
        left_out = told.filter(pc.invert(pc.or_(of_task, sampled)))
        _write_left_out(left_out, request.left_out)
        rows = told.filter(of_task).to_pylist()
        skipped, shown = _left_out(rows)
        tasks = _by_task(rows)
        if not tasks or (skipped and request.unfit == "fail"):  # the rest would be for nothing
            return WrittenListing(kernel.EMPTY_TREE_ID, [], 0, skipped, shown)
        require_stored(sample, stored_problems(spark, opener, sample))
        with tables.locator() as locate:
            ranges = join_ranges(tasks, folder, locate)
        metarange_id = kernel.write_metarange([kernel.RangeInfo(*each) for each in ranges], folder)
    made = {*(each.id for each in ranges), metarange_id}
    here = [table_id for table_id in made if Path(folder, table_id).exists()]
    return WrittenListing(metarange_id, here, sum(each.entries for each in ranges), skipped, shown)


def _write_left_out(told: pa.Table, path: Path | None) -> None:
    with open_rejected_rows(path) as write:
        for batch in told.select(LEFT_OUT.names).cast(LEFT_OUT).to_batches():
            write(batch)


def _sorted(listing: DataFrame) -> DataFrame:
    """Returns a listing sorted by path, the newest row first if a path repeats."""
    there = parse_columns(listing.columns)
    read = {name: _COLUMNS[name] for name in there}
    if "metadata" in there and dict(listing.dtypes)[there["metadata"]] == "string":
        read["metadata"] = _TEXT
    columns = [f"{read[name].format(f'`{column}`')} AS {name}" for name, column in there.items()]
    order = {name: direction == "ascending" for name, direction in ORDER if name in there}
    return (
        listing.selectExpr(*columns)
        .repartitionByRange("path")
        .sortWithinPartitions(*order, ascending=[*order.values()])
    )


def _sampled_rows(spark: SparkSession) -> int:
    """Returns the number of rows that each task contributes to the sample."""
    tasks = int(spark.conf.get("spark.sql.shuffle.partitions") or 1)
    return max(_SAMPLED_PER_TASK, min(SAMPLE_ROWS, _SAMPLED_ROWS // tasks))


class _Writing(NamedTuple):
    """The work of a task: it validates its rows, writes them as ranges, and reports the results."""

    prefix: str
    tables: WritableTables
    opener: Opener
    verify: Verify
    sampled_rows: int
    tell_all: bool

    def run(self, batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        """Yields the results, as batches of _TOLD."""
        left: list[pa.RecordBatch] = []
        sample = RowSample(self.sampled_rows if self.verify == "sample" else 0)
        with open_store(self.opener) as blocks:
            checks: list[RowCheck] = [AddressCheck(blocks)]
            if self.verify == "all":
                checks.append(StoredCheck(blocks))
            tell = left.append if self.tell_all else _forget
            fitting = RowValidator(self.prefix, tell, checks=checks)
            listed = sample.sample_batches(fitting.batches(map(to_listed, batches)))
            reader = pa.RecordBatchReader.from_batches(WRITTEN, listed)
            ranges = self.tables.write_ranges(partial(kernel.write_ranges_arrow, reader))
        rows = [
            {
                "range": made.id,
                "min_key": made.min_key,
                "max_key": made.max_key,
                "number": made.count,
                "size": made.estimated_size,
            }
            for made in ranges
        ]
        rows += [{"reason": reason, "number": number} for reason, number in fitting.counts.items()]
        rows += [{"reason": reason, "path": path} for path, reason in fitting.shown]
        task = uuid.uuid4().hex
        yield pa.RecordBatch.from_pylist([{"task": task, **row} for row in rows], schema=_TOLD)
        for batch in (*left, *sample.rows().to_batches()):
            nothing = {field.name: pa.nulls(batch.num_rows, field.type) for field in _TOLD}
            columns = {**nothing, **dict(zip(batch.schema.names, batch.columns, strict=True))}
            yield pa.RecordBatch.from_arrays(list(columns.values()), schema=_TOLD)


def _forget(_: pa.RecordBatch) -> None:
    pass


def _by_task(told: Iterable[Any]) -> list[list[Range]]:
    """Returns the ranges of each task, in order."""
    tasks: dict[str, list[Range]] = {}
    for row in told:
        if row["range"] is not None:
            made = Range(
                row["range"],
                bytes(row["min_key"]),
                bytes(row["max_key"]),
                row["number"],
                row["size"],
            )
            tasks.setdefault(row["task"], []).append(made)
    for ranges in tasks.values():
        ranges.sort(key=lambda each: each.min_key)
    return sorted(tasks.values(), key=lambda ranges: ranges[0].min_key)


def _left_out(told: Iterable[Any]) -> tuple[dict[str, int], list[tuple[str, str]]]:
    """Returns the number of rejected rows for each reason, and the first of them."""
    counts: Counter[str] = Counter()
    shown: list[tuple[str, str]] = []
    for row in told:
        if row["reason"] is not None and row["path"] is None:
            counts[row["reason"]] += row["number"]
        elif row["reason"] is not None:
            shown.append((row["path"], row["reason"]))
    return dict(counts), sorted(shown)[:SHOWN]
