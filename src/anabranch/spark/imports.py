"""Import: a listing, as a DataFrame, comes onto a branch by one commit.

Spark sorts the listing by path, over as many tasks as it likes; each task writes its share as
ranges, with the kernel; the driver cuts those at the borders anew, writes the metarange and
commits. What comes out has the ids that the server's import and a commit of the same objects give.
"""

from __future__ import annotations

import uuid
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, NamedTuple

import pyarrow as pa

from anabranch import _kernel as kernel
from anabranch.errors import Invalid, NotFound, NotSupported
from anabranch.model.commit import Commit
from anabranch.model.imports import ImportSource
from anabranch.pipelines.imports.landing import ImportRequest, Landing, require_clean
from anabranch.spark.borders import joined
from anabranch.spark.listings import COLUMNS, OPTIONAL, SHOWN, WRITTEN_ARROW, Fitting
from anabranch.spark.pieces import Range
from anabranch.versioning.repositories import check_writable
from anabranch.versioning.trees import translated

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

    from anabranch.library import Lake

__all__ = ["Imported", "import_listing"]

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
    ]
)
"""What a task tells: its ranges, how many rows it left out for each reason, and some of them."""

_TOLD_SPARK = (
    "task STRING, reason STRING, path STRING, number BIGINT, range STRING, min_key BINARY, "
    "max_key BINARY, size BIGINT"
)


class Imported(NamedTuple):
    """What an import brought: the commit, how many objects, how many rows were left out for each
    reason, and the first of those, as (path, reason).
    """

    commit: Commit
    objects: int
    skipped: Mapping[str, int]
    shown: Sequence[tuple[str, str]]


class _Gathered(NamedTuple):
    metarange_id: str
    tables: list[str]


def import_listing(
    lake: Lake,
    repository: str,
    branch: str,
    listing: DataFrame,
    *,
    destination: str = "",
    message: str = "",
    metadata: Mapping[str, str] | None = None,
    committer: str = "",
    unfit: Literal["fail", "skip"] = "fail",
    force: bool = False,
) -> Imported:
    """Brings what a listing names onto a branch, in place of all that is under `destination`.

    The listing has the columns path (behind the destination and a slash), physical_address and
    size (bytes), and perhaps checksum, last_modified, metadata and content_type. Rows that can be
    no objects fail the import, or are skipped: without a path, address or size, with a negative
    one, over 1,024 bytes of path, or with a path that came before, of which the newest is taken.

    Raises Invalid for such rows and for columns that are missing, NotFound for an empty listing,
    NotSupported for a lake whose tables are not in a folder, DirtyBranch, ReadOnlyRepository
    without `force`. The branch is then as it was.
    """
    core = lake.core
    found = core.repositories.get(repository)
    check_writable(found, force=force)
    require_clean(core, found, branch)
    if lake.blocks.local_path(f"{found.storage_namespace.rstrip('/')}/_") is None:
        raise NotSupported(
            f"{found.storage_namespace}: workers cannot write into this store",
            hint="Import through the server: importStart, or the command `import`.",
        )
    if unfit not in {"fail", "skip"}:
        raise Invalid(f"unfit is {unfit!r}, neither 'fail' nor 'skip'", kind="invalid_choice")
    request = ImportRequest(
        branch=branch,
        sources=[ImportSource(type="common_prefix", path="", destination=destination)],
        committer=committer,
        message=message,
        metadata=metadata or {},
    )
    prefix = f"{destination}/" if destination and not destination.endswith("/") else destination
    with core.trees.scratch() as folder, translated():
        told = _sorted(listing).mapInArrow(_writing(prefix, folder), _TOLD_SPARK).collect()
        skipped, shown = _left_out(told)
        if skipped and unfit == "fail":
            raise _refused(skipped, shown)
        ranges = joined(_by_task(told), folder)
        if not ranges:
            raise NotFound("the listing has no objects", kind="nothing_to_import")
        metarange_id = kernel.write_metarange([kernel.RangeInfo(*each) for each in ranges], folder)
        gathered = _Gathered(metarange_id, [*{each.id for each in ranges}, metarange_id])
        landing = Landing(core, found, request, folder, gathered)
        commit = landing.commit()
    landing.remember(commit.creation_date)
    return Imported(commit, sum(each.entries for each in ranges), skipped, shown)


def _sorted(listing: DataFrame) -> DataFrame:
    """Returns a listing by path, the newest first where one comes twice."""
    there = {name.lower() for name in listing.columns}
    missing = [name for name in COLUMNS if name not in there and name not in OPTIONAL]
    if missing:
        raise Invalid(f"the listing has no column {', '.join(missing)}", kind="invalid_listing")
    columns = [
        f"CAST({name if name in there else 'NULL'} AS {kind}) AS {name}"
        for name, kind in COLUMNS.items()
    ]
    return (
        listing.selectExpr(*columns)
        .repartitionByRange("path")
        .sortWithinPartitions(
            *("path", "last_modified", "physical_address"), ascending=[True, False, True]
        )
    )


def _writing(
    prefix: str, folder: str
) -> Callable[[Iterable[pa.RecordBatch]], Iterator[pa.RecordBatch]]:
    """Returns what a task does: it writes its rows as ranges into the folder, and tells of it."""

    def run(batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        if not Path(folder).is_dir():
            raise NotSupported(f"this worker does not see the lake's folder: {folder}")
        fitting = Fitting(prefix)
        reader = pa.RecordBatchReader.from_batches(WRITTEN_ARROW, fitting.batches(batches))
        rows = [
            {
                "range": made.id,
                "min_key": made.min_key,
                "max_key": made.max_key,
                "number": made.count,
                "size": made.estimated_size,
            }
            for made in kernel.write_ranges_arrow(reader, folder)
        ]
        rows += [{"reason": reason, "number": number} for reason, number in fitting.counts.items()]
        rows += [{"reason": reason, "path": path} for path, reason in fitting.shown]
        task = uuid.uuid4().hex
        yield pa.RecordBatch.from_pylist([{"task": task, **row} for row in rows], schema=_TOLD)

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


def _refused(skipped: Mapping[str, int], shown: Sequence[tuple[str, str]]) -> Invalid:
    reasons = ", ".join(f"{each} with {reason}" for reason, each in sorted(skipped.items()))
    first = "; ".join(f"{path[:200]!r}: {reason}" for path, reason in shown)
    number = sum(skipped.values())
    return Invalid(
        f"{number} row{'' if number == 1 else 's'} of the listing can be no objects: {reasons}. "
        f"The first: {first}",
        kind="unfit_rows",
        hint="Correct the listing, or leave them out by unfit='skip'.",
    )
