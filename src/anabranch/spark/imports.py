"""Import: a listing, as a DataFrame, comes onto a branch by one commit.

Spark sorts the listing by path, over as many tasks as it likes; each task writes its share as
ranges, with the kernel; the driver cuts those at the borders anew, writes the metarange and
commits. What comes out has the ids that the server's import and a commit of the same objects give.
"""

from __future__ import annotations

import uuid
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pyarrow.compute as pc

from anabranch import _kernel as kernel
from anabranch.pipelines.imports.landed_listing import (
    Ground,
    Imported,
    LakeGround,
    ListingRequest,
    Unfit,
    WrittenListing,
    land,
)
from anabranch.pipelines.imports.left_out import writing_left_out
from anabranch.pipelines.imports.listing_columns import as_listed, columns_of
from anabranch.pipelines.imports.listings import LEFT_OUT, ORDER, SHOWN, WRITTEN, Fitting
from anabranch.spark.borders import joined
from anabranch.spark.pieces import Range
from anabranch.spark.recent import require_recent
from anabranch.spark.served_ground import ServedGround
from anabranch.spark.server import Server
from anabranch.spark.sources import Stores, tables_of
from anabranch.spark.stores import Opener
from anabranch.spark.table_files import FolderTables, StoredTables, WritableTables
from anabranch.versioning.trees import translated

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

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
    ]
)
"""What a task tells: its ranges, how many rows it left out for each reason, and some of them; with
no task's name, a row for the file of all that are left out.
"""

_TOLD_SPARK = (
    "task STRING, reason STRING, path STRING, number BIGINT, range STRING, min_key BINARY, "
    "max_key BINARY, size BIGINT, physical_address STRING, last_modified TIMESTAMP"
)


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
    force: bool = False,
) -> Imported:
    """Brings what a listing names onto a branch, in place of all that is under `destination`.

    `source` is a lake, or whatever has its core and its blocks open in the driver, or a server.
    `store` is how workers reach the object store that the repository lies in; a server needs one,
    and so does a lake that is in no folder. Tables go straight there.

    The listing has the columns path (behind the destination and a slash), physical_address and
    size (bytes), and perhaps checksum, last_modified, metadata and content_type. Rows that can be
    no objects fail the import, or are skipped: without a path, address or size, with a negative
    one, over 1,024 bytes of path, or with a path that came before, of which the newest is taken.
    All of them are written to the file `left_out`, if there is one; they come through the driver.

    Raises Invalid for such rows and for columns that are missing, NotFound for an empty listing,
    NotSupported without a store where one is needed, DirtyBranch, ReadOnlyRepository without
    `force`. The branch is then as it was.
    """
    require_recent(listing.sparkSession)
    request = ListingRequest(
        branch=branch,
        destination=destination,
        message=message,
        metadata=metadata or {},
        committer=committer,
        unfit=unfit,
        left_out=left_out,
        force=force,
    )

    ground: Ground
    if isinstance(source, Server):
        ground = ServedGround(source, repository, store)
        tables: FolderTables | StoredTables = ground.tables
    else:
        namespace = source.core.repositories.get(repository).storage_namespace
        tables = tables_of(source.blocks, namespace, store)
        ground = LakeGround(source.core, repository, adopted=isinstance(tables, StoredTables))

    def write(folder: str) -> WrittenListing:
        place = tables if isinstance(tables, StoredTables) else FolderTables(folder)
        return _write(listing, request, folder, place)

    return land(ground, request, write)


def _write(
    listing: DataFrame, request: ListingRequest, folder: str, tables: WritableTables
) -> WrittenListing:
    """Writes a listing's tables; the folder is for the driver's own."""
    work = _writing(request.prefix, tables, tell_all=request.left_out is not None)
    with translated():
        told = _sorted(listing).mapInArrow(work, _TOLD_SPARK).toArrow()
        _write_left_out(told.filter(pc.is_null(told["task"])), request.left_out)
        rows = told.filter(pc.is_valid(told["task"])).to_pylist()
        skipped, shown = _left_out(rows)
        tasks = _by_task(rows)
        if not tasks or (skipped and request.unfit == "fail"):  # the rest would be for nothing
            return WrittenListing(kernel.EMPTY_TREE_ID, [], 0, skipped, shown)
        with tables.located() as locate:
            ranges = joined(tasks, folder, locate)
        metarange_id = kernel.write_metarange([kernel.RangeInfo(*each) for each in ranges], folder)
    made = {*(each.id for each in ranges), metarange_id}
    here = [table_id for table_id in made if Path(folder, table_id).exists()]
    return WrittenListing(metarange_id, here, sum(each.entries for each in ranges), skipped, shown)


def _write_left_out(told: pa.Table, path: Path | None) -> None:
    with writing_left_out(path) as write:
        for batch in told.select(LEFT_OUT.names).cast(LEFT_OUT).to_batches():
            write(batch)


def _sorted(listing: DataFrame) -> DataFrame:
    """Returns a listing by path, the newest first where one comes twice."""
    there = columns_of(listing.columns)
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


def _writing(
    prefix: str, tables: WritableTables, *, tell_all: bool
) -> Callable[[Iterable[pa.RecordBatch]], Iterator[pa.RecordBatch]]:
    """Returns what a task does: it writes its rows as ranges, and tells of them."""

    def run(batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        left: list[pa.RecordBatch] = []
        fitting = Fitting(prefix, left.append) if tell_all else Fitting(prefix)
        listed = fitting.batches(map(as_listed, batches))
        reader = pa.RecordBatchReader.from_batches(WRITTEN, listed)
        rows = [
            {
                "range": made.id,
                "min_key": made.min_key,
                "max_key": made.max_key,
                "number": made.count,
                "size": made.estimated_size,
            }
            for made in tables.written(partial(kernel.write_ranges_arrow, reader))
        ]
        rows += [{"reason": reason, "number": number} for reason, number in fitting.counts.items()]
        rows += [{"reason": reason, "path": path} for path, reason in fitting.shown]
        task = uuid.uuid4().hex
        yield pa.RecordBatch.from_pylist([{"task": task, **row} for row in rows], schema=_TOLD)
        for batch in left:
            nothing = {field.name: pa.nulls(batch.num_rows, field.type) for field in _TOLD}
            columns = {**nothing, **dict(zip(batch.schema.names, batch.columns, strict=True))}
            yield pa.RecordBatch.from_arrays(list(columns.values()), schema=_TOLD)

    return run


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
    """Returns how many rows were left out for each reason, and the first of them."""
    counts: Counter[str] = Counter()
    shown: list[tuple[str, str]] = []
    for row in told:
        if row["reason"] is not None and row["path"] is None:
            counts[row["reason"]] += row["number"]
        elif row["reason"] is not None:
            shown.append((row["path"], row["reason"]))
    return dict(counts), sorted(shown)[:SHOWN]
