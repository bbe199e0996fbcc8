"""Changes: how two commits differ, as a DataFrame.

Ranges that both commits have are never read: the cost follows the difference. Where one commit
has nothing, all that the other has is the difference, and is taken in whole batches; elsewhere the
kernel compares, and what differs is made a row at a time.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial
from typing import TYPE_CHECKING, Any

import pyarrow as pa

from anabranch.model.entry import Entry, physical_address
from anabranch.model.names import key_of, path_of
from anabranch.spark.columns import CHANGES, CHANGES_ARROW, ENTRY_ARROW
from anabranch.spark.objects import read_objects
from anabranch.spark.pieces import ENTRIES, Pair, cut_difference
from anabranch.spark.sources import Repository, Source, repository_of
from anabranch.spark.stores import Opener
from anabranch.spark.table_files import TableFiles, opened
from anabranch.spark.tasks import Plan, in_tasks
from anabranch.versioning.entries import entry_from

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

__all__ = ["changes", "plan_changes", "read_changes"]

_BATCH = 10_000


def changes(
    spark: SparkSession,
    source: Source,
    repository: str,
    left: str,
    right: str,
    *,
    prefix: str = "",
    entries_per_task: int = ENTRIES,
    store: Opener | None = None,
) -> DataFrame:
    """Returns what must change in `left` to make it `right`, as a two-dot difference has it: change
    (added, removed or changed), path, and what `left` and `right` hold there, as `objects` tells
    it; null where there is nothing. References and errors are as there.
    """
    found = repository_of(source, repository, store)
    return in_tasks(spark, *plan_changes(found, left, right, prefix, entries_per_task), CHANGES)


def plan_changes(repository: Repository, left: str, right: str, prefix: str, entries: int) -> Plan:
    """Returns how tasks compare two commits, about so many entries each. Ranges that both have are
    in none of them.
    """
    pieces = cut_difference(
        repository.ranges(left, prefix), repository.ranges(right, prefix), entries
    )
    read = partial(read_changes, repository.tables, repository.storage_namespace, key_of(prefix))
    return Plan(pieces, read)


def read_changes(
    files: TableFiles, storage_namespace: str, prefix: bytes, pair: Pair
) -> Iterator[pa.RecordBatch]:
    """Yields the changes in one piece, in order."""
    if pair.left and pair.right:
        yield from _compared(files, storage_namespace, prefix, pair)
        return
    kind = "added" if pair.right else "removed"
    for batch in read_objects(files, storage_namespace, prefix, pair.left or pair.right):
        yield _one_sided(kind, batch)


def _compared(
    files: TableFiles, storage_namespace: str, prefix: bytes, pair: Pair
) -> Iterator[pa.RecordBatch]:
    def shown(value: tuple[bytes, bytes] | None) -> dict[str, Any] | None:
        return None if value is None else _shown(entry_from(value), storage_namespace)

    with opened(files, pair.left) as left, opened(files, pair.right) as right:
        after, more = b"", True
        while more:
            page = left.diff(right, prefix=prefix, after=after, amount=_BATCH)
            rows = [
                {"change": kind, "path": path_of(key), "left": shown(old), "right": shown(new)}
                for kind, key, old, new in page.rows
            ]
            if rows:
                yield pa.RecordBatch.from_pylist(rows, schema=CHANGES_ARROW)
                after = page.rows[-1][1]
            more = page.has_more


def _one_sided(kind: str, objects: pa.RecordBatch) -> pa.RecordBatch:
    """Returns objects as changes."""
    entries = pa.StructArray.from_arrays(
        [objects.column(field.name) for field in ENTRY_ARROW], fields=list(ENTRY_ARROW)
    )
    nothing = pa.nulls(objects.num_rows, ENTRY_ARROW)
    sides = [nothing, entries] if kind == "added" else [entries, nothing]
    return pa.RecordBatch.from_arrays(
        [pa.repeat(pa.scalar(kind), objects.num_rows), objects.column("path"), *sides],
        schema=CHANGES_ARROW,
    )


def _shown(entry: Entry, storage_namespace: str) -> dict[str, Any]:
    return {
        "physical_address": physical_address(storage_namespace, entry.address, entry.address_type),
        "last_modified": entry.mtime * 1_000_000 + entry.mtime_nanos // 1000,
        "size": entry.size,
        "checksum": entry.checksum,
        "metadata": list(entry.metadata.items()),
        "content_type": entry.content_type,
    }
