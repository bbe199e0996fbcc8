"""The objects of a commit, with their metadata, as a DataFrame."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import partial
from typing import TYPE_CHECKING

import pyarrow as pa
import pyarrow.compute as pc

from anabranch.errors import Corrupt
from anabranch.model.commits.commit import Commit
from anabranch.model.objects.entry import DEFAULT_CONTENT_TYPE, AddressType
from anabranch.spark.dataframes.columns import OBJECTS, select_columns
from anabranch.spark.planning.key_range import KeyRange, key_range
from anabranch.spark.planning.partition_planning import ENTRIES_PER_TASK, Ranges, partition_ranges
from anabranch.spark.planning.scan_plan import Plan, map_in_tasks
from anabranch.spark.sources.commit_pins import pin_for_session
from anabranch.spark.sources.commit_sources import Repository, Source, open_repository
from anabranch.spark.sources.stores import Opener
from anabranch.spark.sources.table_files import TableFiles, open_range_tables

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

__all__ = ["objects", "plan_objects", "read_objects"]

_BATCH_ROWS = 20_000


def objects(
    spark: SparkSession,
    source: Source,
    repository: str,
    reference: str,
    *,
    prefix: str = "",
    after: str = "",
    until: str = "",
    columns: Sequence[str] = (),
    entries_per_task: int = ENTRIES_PER_TASK,
    store: Opener | None = None,
) -> DataFrame:
    """Returns the objects of a commit whose paths begin with `prefix` and sort after `after`, up to
    and including `until`: path, physical_address, last_modified, size (bytes), checksum, metadata,
    content_type, or only the given `columns`. Uncommitted changes are not included. Unless the lake
    is in a folder, `store` must give workers access to its object store. With a server and `store`,
    tasks read tables from the store itself.

    The reference is resolved immediately; tables are read when Spark runs a query. The objects are
    pinned against garbage collection until the session stops, for a day at most. Raises NotFound,
    and Invalid for an unknown column. A missing or damaged table fails the Spark job with an error
    that names the table.
    """
    schema = select_columns(OBJECTS, columns)
    opened = open_repository(source, repository, store)
    commit = opened.references.commit(reference)
    pin_for_session(spark, source, repository, opened.references, [commit.id])
    keys = key_range(prefix, after, until)
    plan = plan_objects(opened, commit, keys, entries_per_task, schema)
    return map_in_tasks(spark, *plan, schema)


def plan_objects(
    repository: Repository,
    commit: Commit,
    keys: KeyRange,
    entries: int,
    schema: pa.Schema = OBJECTS,
) -> Plan:
    """Returns the plan that reads the columns of a schema of a commit's objects, with about
    `entries` entries in each task.
    """
    namespace = repository.storage_namespace
    read = partial(read_objects, repository.tables, namespace, keys, schema=schema)
    return Plan(
        partition_ranges(repository.ranges_in_tree(commit.metarange_id, keys), entries), read
    )


def read_objects(
    files: TableFiles,
    storage_namespace: str,
    keys: KeyRange,
    ranges: Ranges,
    schema: pa.Schema = OBJECTS,
) -> Iterator[pa.RecordBatch]:
    """Yields the objects of ranges, by path, with the columns of a schema. Raises Corrupt, with the
    name of the table's file.
    """
    with open_range_tables(files, ranges) as tree:
        scan = tree.scan(prefix=keys.prefix, after=keys.after, batch=_BATCH_ROWS)
        try:
            for batch in pa.RecordBatchReader.from_stream(scan):
                if (rows := keys.trim(batch)).num_rows:
                    yield _to_objects(rows, storage_namespace, schema)
                if rows.num_rows < batch.num_rows:
                    break
        except pa.ArrowInvalid as error:
            # Arrow wraps the kernel's errors
            raise Corrupt(str(error).removeprefix("External error: ")) from error


def _to_objects(batch: pa.RecordBatch, storage_namespace: str, schema: pa.Schema) -> pa.RecordBatch:
    """Returns columns of entries, with absolute addresses and with a default content type."""
    columns = {name: batch.column(name) for name in batch.schema.names}
    if "physical_address" in schema.names:
        columns["physical_address"] = _absolute_addresses(
            columns["physical_address"], columns["address_type"], storage_namespace.rstrip("/")
        )
    if "content_type" in schema.names:
        columns["content_type"] = _default_content_types(columns["content_type"])
    return pa.RecordBatch.from_arrays(
        [columns[field.name].cast(field.type) for field in schema], schema=schema
    )


def _absolute_addresses(address: pa.Array, kind: pa.Array, root: str) -> pa.Array:
    """Returns addresses with the namespace prepended to relative ones. Usually all addresses of a
    batch are of the same type; then rows are not distinguished.
    """
    full = pc.equal(kind, AddressType.FULL.value)
    by_prefix = pc.equal(kind, AddressType.BY_PREFIX.value)
    if pc.any(by_prefix).as_py():
        full = pc.or_(full, pc.and_(by_prefix, pc.match_substring(address, "://")))
    if pc.all(full).as_py():
        return address
    absolute = pc.binary_join_element_wise(root, address, "/")
    return pc.if_else(full, address, absolute) if pc.any(full).as_py() else absolute


def _default_content_types(content_types: pa.Array) -> pa.Array:
    missing = pc.equal(content_types, "")
    if pc.all(missing).as_py():
        return pa.repeat(pa.scalar(DEFAULT_CONTENT_TYPE), len(content_types))
    return pc.if_else(missing, DEFAULT_CONTENT_TYPE, content_types)
