"""The differences between two commits, as a DataFrame.

Ranges that both commits share are never read, so the cost follows the size of the difference. If
one commit has no entries in a range, the other's are read as whole batches; otherwise the kernel
compares them, and rows are built one by one.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial
from typing import TYPE_CHECKING, Any

import pyarrow as pa

from anabranch.model.commit import Commit
from anabranch.model.entry import Entry, physical_address
from anabranch.model.names import decode_key, encode_path
from anabranch.spark.dataframes.columns import CHANGES, CHANGES_ARROW, ENTRY_ARROW
from anabranch.spark.dataframes.objects import read_objects
from anabranch.spark.planning.partition_planning import ENTRIES, Pair, cut_difference
from anabranch.spark.planning.scan_plan import Plan, in_tasks
from anabranch.spark.sources.commit_sources import Repository, Source, open_repository
from anabranch.spark.sources.held_commits import hold
from anabranch.spark.sources.stores import Opener
from anabranch.spark.sources.table_files import TableFiles, open_range_tables
from anabranch.versioning.records.entries import entry_from

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
    """Returns the changes from `left` to `right`, as a two-dot diff: change (added, removed or
    changed), path, and the objects of `left` and `right` with the columns of `objects`; null where
    the object does not exist. References and errors are as for `objects`.
    """
    found = open_repository(source, repository, store)
    both = found.references.commit(left), found.references.commit(right)
    hold(spark, source, repository, found.references, [commit.id for commit in both])
    return in_tasks(spark, *plan_changes(found, *both, prefix, entries_per_task), CHANGES)


def plan_changes(
    repository: Repository, left: Commit, right: Commit, prefix: str, entries: int
) -> Plan:
    """Returns the plan that compares two commits, about this many entries for each task. Ranges
    that both share are left out.
    """
    pieces = cut_difference(
        repository.ranges_of(left.metarange_id, prefix),
        repository.ranges_of(right.metarange_id, prefix),
        entries,
    )
    read = partial(
        read_changes, repository.tables, repository.storage_namespace, encode_path(prefix)
    )
    return Plan(pieces, read)


def read_changes(
    files: TableFiles, storage_namespace: str, prefix: bytes, pair: Pair
) -> Iterator[pa.RecordBatch]:
    """Yields the changes of one piece, in order."""
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

    with open_range_tables(files, pair.left) as left, open_range_tables(files, pair.right) as right:
        after, more = b"", True
        while more:
            page = left.diff(right, prefix=prefix, after=after, amount=_BATCH)
            rows = [
                {"change": kind, "path": decode_key(key), "left": shown(old), "right": shown(new)}
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
