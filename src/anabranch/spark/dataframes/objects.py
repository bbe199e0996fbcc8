"""The objects of a commit with their metadata, as a DataFrame."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial
from typing import TYPE_CHECKING

import pyarrow as pa
import pyarrow.compute as pc

from anabranch.errors import Corrupt
from anabranch.model.commit import Commit
from anabranch.model.entry import DEFAULT_CONTENT_TYPE, AddressType
from anabranch.model.names import encode_path
from anabranch.spark.dataframes.columns import OBJECTS, OBJECTS_ARROW
from anabranch.spark.planning.partition_planning import ENTRIES, Cut, cut
from anabranch.spark.planning.scan_plan import Plan, in_tasks
from anabranch.spark.sources.commit_sources import Repository, Source, open_repository
from anabranch.spark.sources.held_commits import hold
from anabranch.spark.sources.stores import Opener
from anabranch.spark.sources.table_files import TableFiles, open_range_tables

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

__all__ = ["objects", "plan_objects", "read_objects"]

_BATCH = 20_000


def objects(
    spark: SparkSession,
    source: Source,
    repository: str,
    reference: str,
    *,
    prefix: str = "",
    entries_per_task: int = ENTRIES,
    store: Opener | None = None,
) -> DataFrame:
    """Returns the objects of the commit of a reference whose paths begin with `prefix`: path,
    physical_address, last_modified, size (bytes), checksum, metadata, content_type. Uncommitted
    changes are not included. A lake without a folder needs the `store` that workers use.

    The reference is resolved immediately; tables are read when Spark runs. The objects are pinned
    against garbage collection until the session stops, for a day at most. Raises NotFound. A
    missing or damaged table fails the job with an error that names it.
    """
    found = open_repository(source, repository, store)
    commit = found.references.commit(reference)
    hold(spark, source, repository, found.references, [commit.id])
    return in_tasks(spark, *plan_objects(found, commit, prefix, entries_per_task), OBJECTS)


def plan_objects(repository: Repository, commit: Commit, prefix: str, entries: int) -> Plan:
    """Returns the plan that reads a commit's objects, about this many entries for each task."""
    read = partial(
        read_objects, repository.tables, repository.storage_namespace, encode_path(prefix)
    )
    return Plan(cut(repository.ranges_of(commit.metarange_id, prefix), entries), read)


def read_objects(
    files: TableFiles, storage_namespace: str, prefix: bytes, ranges: Cut
) -> Iterator[pa.RecordBatch]:
    """Yields the objects of several ranges, in order. Raises Corrupt, which names the file."""
    with open_range_tables(files, ranges) as tree:
        scan = tree.scan(prefix=prefix, batch=_BATCH)
        try:
            for batch in pa.RecordBatchReader.from_stream(scan):
                yield _as_seen(batch, storage_namespace)
        except pa.ArrowInvalid as error:
            # an error of the kernel, wrapped by Arrow
            raise Corrupt(str(error).removeprefix("External error: ")) from error


def _as_seen(batch: pa.RecordBatch, storage_namespace: str) -> pa.RecordBatch:
    """Returns objects with complete addresses and with defaults for missing values."""
    columns = {name: batch.column(name) for name in batch.schema.names}
    columns["physical_address"] = _whole(
        columns["physical_address"], columns["address_type"], storage_namespace.rstrip("/")
    )
    columns["content_type"] = _defaulted(columns["content_type"])
    return pa.RecordBatch.from_arrays(
        [columns[field.name].cast(field.type) for field in OBJECTS_ARROW], schema=OBJECTS_ARROW
    )


def _whole(address: pa.Array, kind: pa.Array, root: str) -> pa.Array:
    """Returns addresses with the namespace added to relative ones. The objects of a batch are
    mostly alike; then no choice is made for each row.
    """
    full = pc.equal(kind, AddressType.FULL.value)
    by_prefix = pc.equal(kind, AddressType.BY_PREFIX.value)
    if pc.any(by_prefix).as_py():
        full = pc.or_(full, pc.and_(by_prefix, pc.match_substring(address, "://")))
    if pc.all(full).as_py():
        return address
    below = pc.binary_join_element_wise(root, address, "/")
    return pc.if_else(full, address, below) if pc.any(full).as_py() else below


def _defaulted(content: pa.Array) -> pa.Array:
    missing = pc.equal(content, "")
    if pc.all(missing).as_py():
        return pa.repeat(pa.scalar(DEFAULT_CONTENT_TYPE), len(content))
    return pc.if_else(missing, DEFAULT_CONTENT_TYPE, content)
