"""Objects: all that a commit has, with what is known of each, as a DataFrame."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial
from typing import TYPE_CHECKING

import pyarrow as pa
import pyarrow.compute as pc

from anabranch.errors import Corrupt
from anabranch.model.entry import DEFAULT_CONTENT_TYPE, AddressType
from anabranch.model.names import key_of
from anabranch.spark.columns import OBJECTS, OBJECTS_ARROW
from anabranch.spark.pieces import ENTRIES, Cut, cut
from anabranch.spark.sources import Repository, Source, repository_of
from anabranch.spark.stores import Opener
from anabranch.spark.table_files import TableFiles, opened
from anabranch.spark.tasks import Plan, in_tasks

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
    """Returns the objects of the commit that a reference means, those whose path begins with
    `prefix`: path, physical_address, last_modified, size (bytes), checksum, metadata,
    content_type. What is staged on a branch is in no commit. A lake that is in no folder needs the
    `store` by which workers reach it.

    The reference is looked up at once; tables are read when Spark runs. Raises NotFound; a table
    that is missing or damaged fails the job with an error that names it.
    """
    found = repository_of(source, repository, store)
    return in_tasks(spark, *plan_objects(found, reference, prefix, entries_per_task), OBJECTS)


def plan_objects(repository: Repository, reference: str, prefix: str, entries: int) -> Plan:
    """Returns how tasks read the objects of a commit, of about so many entries each."""
    read = partial(read_objects, repository.tables, repository.storage_namespace, key_of(prefix))
    return Plan(cut(repository.ranges(reference, prefix), entries), read)


def read_objects(
    files: TableFiles, storage_namespace: str, prefix: bytes, ranges: Cut
) -> Iterator[pa.RecordBatch]:
    """Yields the objects of some ranges, in order. Raises Corrupt, naming the file."""
    with opened(files, ranges) as tree:
        scan = tree.scan(prefix=prefix, batch=_BATCH)
        try:
            for batch in pa.RecordBatchReader.from_stream(scan):
                yield _as_seen(batch, storage_namespace)
        except pa.ArrowInvalid as error:
            # what went wrong in the kernel, in Arrow's wrapping
            raise Corrupt(str(error).removeprefix("External error: ")) from error


def _as_seen(batch: pa.RecordBatch, storage_namespace: str) -> pa.RecordBatch:
    """Returns objects as they are meant: addresses whole, defaults put in."""
    columns = {name: batch.column(name) for name in batch.schema.names}
    columns["physical_address"] = _whole(
        columns["physical_address"], columns["address_type"], storage_namespace.rstrip("/")
    )
    columns["content_type"] = _defaulted(columns["content_type"])
    return pa.RecordBatch.from_arrays(
        [columns[field.name].cast(field.type) for field in OBJECTS_ARROW], schema=OBJECTS_ARROW
    )


def _whole(address: pa.Array, kind: pa.Array, root: str) -> pa.Array:
    """Returns addresses with the namespace before them, where it is no part of them. Objects of
    one batch are mostly alike, and then nothing is chosen row by row.
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
