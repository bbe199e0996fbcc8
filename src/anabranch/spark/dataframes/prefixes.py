"""Listings of a prefix of a bucket or of a folder, which tasks list concurrently."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import partial
from itertools import islice, takewhile
from typing import TYPE_CHECKING

import pyarrow as pa

from anabranch.blocks.cloud.external_objects import CloudExternalObjects
from anabranch.blocks.contract import BlockStore
from anabranch.blocks.external_objects import ExternalObject, base_length
from anabranch.blocks.local.external_objects import LocalExternalObjects
from anabranch.errors import NotSupported
from anabranch.spark.planning.listing_slices import Slice, balanced_slices
from anabranch.spark.planning.scan_plan import default_tasks, map_in_tasks
from anabranch.spark.sources.commit_sources import Stores
from anabranch.spark.sources.stores import Opener, open_store, unreachable

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

__all__ = ["prefix_listing"]

_SCHEMA = pa.schema(
    [
        ("path", pa.string()),
        ("physical_address", pa.string()),
        ("size", pa.int64()),
        ("checksum", pa.string()),
        ("last_modified", pa.timestamp("us", "UTC")),
    ]
)
_END = pa.schema([("slice", pa.int64()), ("last", pa.string())])
_BATCH_ROWS = 10_000
_OBJECTS_PER_TASK = 100_000
_MIN_TASKS = 64


def prefix_listing(
    spark: SparkSession,
    source: Stores,
    prefix: str,
    *,
    store: Opener | None = None,
    objects_per_task: int = _OBJECTS_PER_TASK,
    min_tasks: int = _MIN_TASKS,
) -> DataFrame:
    """Returns the objects whose addresses begin with a prefix, as a listing for `import_listing`.
    Paths are relative to the last slash of the prefix.

    The driver divides a bucket into about `min_tasks` slices or more, or twice the session's
    default parallelism; `store` gives workers access to the bucket. Tasks list it once to divide
    slices with many more than `objects_per_task` objects further, so that tasks of the listing have
    similar numbers of objects. In a folder, the driver lists the direct children and divides them
    among at most as many tasks, which need to see the folder at the same path. An object at the
    prefix itself, such as a directory marker, is left out, because its path would be empty.

    Raises NotFound and Denied for a prefix that cannot be read, Invalid for an address of another
    store, and NotSupported if a `store` is needed, and for stores that cannot list a prefix.
    """
    sources = source.blocks.sources
    if isinstance(sources, LocalExternalObjects):
        prefix = sources.prefix(prefix)
    base = base_length(prefix)
    tasks = max(min_tasks, 2 * default_tasks(spark))
    if isinstance(sources, LocalExternalObjects):
        children = sources.children(prefix)
        partitions = [children[number::tasks] for number in range(min(tasks, len(children)))]
        return map_in_tasks(spark, partitions, partial(_list_children, sources, base), _SCHEMA)
    if not isinstance(sources, CloudExternalObjects):
        raise NotSupported(
            f"{prefix}: this store can list only its own blocks",
            hint="List the objects in S3, Azure or Google Cloud Storage, or import a listing.",
        )
    if store is None:
        raise unreachable(prefix)
    bucket = sources

    def first_after(name: str) -> str | None:
        names = (each.address[len(prefix) :] for each in bucket.list(prefix, name))
        return next((each for each in names if each != name), None)  # both may be empty

    def probe(parts: Sequence[Slice], limit: int) -> Sequence[str | None]:
        numbered = list(enumerate(parts))
        ends = map_in_tasks(spark, numbered, partial(_probe, store, prefix, limit), _END).collect()
        return [row["last"] for row in sorted(ends, key=lambda row: row["slice"])]

    slices = balanced_slices(first_after, probe, tasks, objects_per_task)
    return map_in_tasks(spark, slices, partial(_list_slice, store, prefix, base), _SCHEMA)


def _list_children(
    sources: LocalExternalObjects, base: int, addresses: Sequence[str]
) -> Iterator[pa.RecordBatch]:
    return _rows(
        (source for address in addresses for source in _list_child(sources, address)), base
    )


def _probe(
    store: Opener, prefix: str, limit: int, numbered: tuple[int, Slice]
) -> Iterator[pa.RecordBatch]:
    """Yields the number of a slice, and the last of its first `limit` names if it has more."""
    number, part = numbered
    with open_store(store) as blocks:
        names = _names(blocks, prefix, part)
        last = next(islice(names, limit - 1, limit), None)
        if next(names, None) is None:
            last = None
    yield pa.RecordBatch.from_pylist([{"slice": number, "last": last}], schema=_END)


def _names(blocks: BlockStore, prefix: str, part: Slice) -> Iterator[str]:
    return (each.address[len(prefix) :] for each in _objects(blocks, prefix, part))


def _objects(blocks: BlockStore, prefix: str, part: Slice) -> Iterator[ExternalObject]:
    """Yields the objects of a slice."""
    sources, last = blocks.sources, part.last.encode()
    assert isinstance(sources, CloudExternalObjects)  # noqa: S101  checked by the driver
    objects = sources.list(prefix, part.after)
    if not last:
        return objects
    return takewhile(lambda each: each.address[len(prefix) :].encode() <= last, objects)


def _list_slice(store: Opener, prefix: str, base: int, part: Slice) -> Iterator[pa.RecordBatch]:
    with open_store(store) as blocks:
        yield from _rows((each for each in _objects(blocks, prefix, part) if each.name), base)


def _rows(objects: Iterator[ExternalObject], base: int) -> Iterator[pa.RecordBatch]:
    while batch := list(islice(objects, _BATCH_ROWS)):
        yield pa.RecordBatch.from_arrays(
            [
                pa.array([_valid_text(source.address[base:]) for source in batch], pa.string()),
                pa.array([_valid_text(source.address) for source in batch], pa.string()),
                pa.array([source.size for source in batch], pa.int64()),
                pa.array([source.checksum for source in batch], pa.string()),
                pa.array([source.mtime // 1_000 for source in batch], _SCHEMA.field(4).type),
            ],
            schema=_SCHEMA,
        )


def _list_child(sources: LocalExternalObjects, address: str) -> Iterator[ExternalObject]:
    if address.endswith("/"):
        yield from sources.list(address)
    else:
        yield sources.find(address)


def _valid_text(name: str) -> str | None:
    """Returns a name, or None if it is not valid Unicode."""
    try:
        name.encode()
    except UnicodeEncodeError:
        return None
    return name
