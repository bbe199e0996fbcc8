"""The differences between two commits, as a DataFrame.

Ranges that both commits share are not read, so the cost is proportional to the size of the
difference. If only one commit has ranges in a partition, their entries are read as Arrow batches.
Otherwise the kernel compares the ranges of both, and rows are built one by one.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import partial
from typing import TYPE_CHECKING, Any

import pyarrow as pa

from anabranch.model.commits.commit import Commit
from anabranch.model.names import decode_key
from anabranch.model.objects.entry import Entry, physical_address
from anabranch.spark.dataframes.columns import CHANGES, ENTRY, select_columns
from anabranch.spark.dataframes.objects import read_objects
from anabranch.spark.planning.key_range import KeyRange, key_range
from anabranch.spark.planning.partition_planning import (
    ENTRIES_PER_TASK,
    DiffPartition,
    partition_diff,
)
from anabranch.spark.planning.scan_plan import Plan, map_in_tasks
from anabranch.spark.sources.commit_pins import pin_for_session
from anabranch.spark.sources.commit_sources import Repository, Source, open_repository
from anabranch.spark.sources.stores import Opener
from anabranch.spark.sources.table_files import TableFiles, open_range_tables
from anabranch.versioning.records.entries import entry_from

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

__all__ = ["changes", "plan_changes", "read_changes"]

_BATCH_ROWS = 10_000


def changes(
    spark: SparkSession,
    source: Source,
    repository: str,
    left: str,
    right: str,
    *,
    prefix: str = "",
    after: str = "",
    until: str = "",
    columns: Sequence[str] = (),
    entries_per_task: int = ENTRIES_PER_TASK,
    store: Opener | None = None,
) -> DataFrame:
    """Returns the changes from `left` to `right`, like a two-dot diff: change (added, removed or
    changed), path, and the objects of `left` and `right` with the columns of `objects`; null where
    the object does not exist. The parameters and errors are as for `objects`.
    """
    schema = select_columns(CHANGES, columns)
    opened = open_repository(source, repository, store)
    commits = opened.references.commit(left), opened.references.commit(right)
    commit_ids = [commit.id for commit in commits]
    pin_for_session(spark, source, repository, opened.references, commit_ids)
    keys = key_range(prefix, after, until)
    plan = plan_changes(opened, *commits, keys, entries_per_task, schema)
    return map_in_tasks(spark, *plan, schema)


def plan_changes(
    repository: Repository,
    left: Commit,
    right: Commit,
    keys: KeyRange,
    entries: int,
    schema: pa.Schema = CHANGES,
) -> Plan:
    """Returns the plan that compares two commits, with about `entries` entries in each task. Ranges
    that both commits share are left out.
    """
    partitions = partition_diff(
        repository.ranges_in_tree(left.metarange_id, keys),
        repository.ranges_in_tree(right.metarange_id, keys),
        entries,
    )
    namespace = repository.storage_namespace
    read = partial(_read_columns, schema.names, repository.tables, namespace, keys)
    return Plan(partitions, read)


def read_changes(
    files: TableFiles, storage_namespace: str, keys: KeyRange, ranges: DiffPartition
) -> Iterator[pa.RecordBatch]:
    """Yields the changes of one partition, by path."""
    if ranges.left and ranges.right:
        yield from _diff(files, storage_namespace, keys, ranges)
        return
    kind = "added" if ranges.right else "removed"
    for batch in read_objects(files, storage_namespace, keys, ranges.left or ranges.right):
        yield _one_sided_changes(kind, batch)


def _read_columns(
    names: Sequence[str],
    files: TableFiles,
    storage_namespace: str,
    keys: KeyRange,
    ranges: DiffPartition,
) -> Iterator[pa.RecordBatch]:
    for batch in read_changes(files, storage_namespace, keys, ranges):
        yield batch.select(names)


def _diff(
    files: TableFiles, storage_namespace: str, keys: KeyRange, ranges: DiffPartition
) -> Iterator[pa.RecordBatch]:
    def to_struct(value: tuple[bytes, bytes] | None) -> dict[str, Any] | None:
        return None if value is None else _entry_struct(entry_from(value), storage_namespace)

    with (
        open_range_tables(files, ranges.left) as left,
        open_range_tables(files, ranges.right) as right,
    ):
        after, more = keys.after, True
        while more:
            page = left.diff(right, prefix=keys.prefix, after=after, amount=_BATCH_ROWS)
            rows = [
                {
                    "change": kind,
                    "path": decode_key(key),
                    "left": to_struct(old),
                    "right": to_struct(new),
                }
                for kind, key, old, new in page.rows
                if not keys.until or key <= keys.until
            ]
            if rows:
                yield pa.RecordBatch.from_pylist(rows, schema=CHANGES)
                after = page.rows[-1][1]
            more = page.has_more and len(rows) == len(page.rows)


def _one_sided_changes(kind: str, objects: pa.RecordBatch) -> pa.RecordBatch:
    """Returns objects as additions or removals."""
    entries = pa.StructArray.from_arrays(
        [objects.column(field.name) for field in ENTRY], fields=list(ENTRY)
    )
    nulls = pa.nulls(objects.num_rows, ENTRY)
    sides = [nulls, entries] if kind == "added" else [entries, nulls]
    return pa.RecordBatch.from_arrays(
        [pa.repeat(pa.scalar(kind), objects.num_rows), objects.column("path"), *sides],
        schema=CHANGES,
    )


def _entry_struct(entry: Entry, storage_namespace: str) -> dict[str, Any]:
    return {
        "physical_address": physical_address(storage_namespace, entry.address, entry.address_type),
        "last_modified": entry.mtime * 1_000_000 + entry.mtime_nanos // 1000,
        "size": entry.size,
        "checksum": entry.checksum,
        "metadata": list(entry.metadata.items()),
        "content_type": entry.content_type,
    }
