"""Listings of a prefix of a bucket or of a folder, made by several tasks."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import partial
from itertools import islice, takewhile
from typing import TYPE_CHECKING

import pyarrow as pa

from anabranch.blocks.cloud.external_objects import CloudExternalObjects
from anabranch.blocks.external_objects import Source, base_length
from anabranch.blocks.local.external_objects import LocalExternalObjects
from anabranch.errors import NotSupported
from anabranch.spark.planning.listing_slices import Slice, cut_names
from anabranch.spark.planning.scan_plan import in_tasks
from anabranch.spark.sources.commit_sources import Stores
from anabranch.spark.sources.stores import Opener, open_store, unreachable

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

__all__ = ["prefix_listing"]

_COLUMNS = (
    "path STRING, physical_address STRING, size BIGINT, checksum STRING, last_modified TIMESTAMP"
)
_ARROW = pa.schema(
    [
        ("path", pa.string()),
        ("physical_address", pa.string()),
        ("size", pa.int64()),
        ("checksum", pa.string()),
        ("last_modified", pa.timestamp("us", "UTC")),
    ]
)
_BATCH = 10_000
_TASKS = 64


def prefix_listing(
    spark: SparkSession, source: Stores, prefix: str, *, store: Opener | None = None
) -> DataFrame:
    """Returns the objects whose addresses begin with a prefix, as a listing for `import_listing`. A
    bucket is cut into about 64 slices, or more; `store` is the store that workers use. The direct
    content of a folder is listed immediately and divided among at most 64 tasks, which need to see
    the folder at the same path. A marker of the prefix itself, which would have no path, is left
    out.

    Raises NotFound and Denied for a prefix that cannot be read, Invalid for an address of another
    store, and NotSupported without a store where one is needed, and for stores that cannot list.
    """
    sources = source.blocks.sources
    if isinstance(sources, LocalExternalObjects):
        prefix = sources.prefix(prefix)
    base = base_length(prefix)
    if isinstance(sources, LocalExternalObjects):
        found = sources.children(prefix)
        shares = [found[number::_TASKS] for number in range(min(_TASKS, len(found)))]
        return in_tasks(spark, shares, partial(_below, sources, base), _COLUMNS)
    if not isinstance(sources, CloudExternalObjects):
        raise NotSupported(f"{prefix}: this store can list its own blocks only")
    if store is None:
        raise unreachable(prefix)
    bucket = sources

    def first_after(name: str) -> str | None:
        found = (each.address[len(prefix) :] for each in bucket.list(prefix, name))
        return next((each for each in found if each != name), None)  # one may be empty, too

    slices = cut_names(first_after, _TASKS)
    return in_tasks(spark, slices, partial(_slice, store, prefix, base), _COLUMNS)


def _below(
    sources: LocalExternalObjects, base: int, addresses: Sequence[str]
) -> Iterator[pa.RecordBatch]:
    return _rows((source for address in addresses for source in _at(sources, address)), base)


def _slice(store: Opener, prefix: str, base: int, part: Slice) -> Iterator[pa.RecordBatch]:
    last = part.last.encode()
    with open_store(store) as blocks:
        sources = blocks.sources
        assert isinstance(sources, CloudExternalObjects)  # noqa: S101  the driver's are
        found: Iterator[Source] = sources.list(prefix, part.after)
        if last:
            found = takewhile(lambda each: each.address[len(prefix) :].encode() <= last, found)
        yield from _rows((each for each in found if each.name), base)


def _rows(found: Iterator[Source], base: int) -> Iterator[pa.RecordBatch]:
    while batch := list(islice(found, _BATCH)):
        yield pa.RecordBatch.from_arrays(
            [
                pa.array([_text(source.address[base:]) for source in batch], pa.string()),
                pa.array([_text(source.address) for source in batch], pa.string()),
                pa.array([source.size for source in batch], pa.int64()),
                pa.array([source.checksum for source in batch], pa.string()),
                pa.array([source.mtime // 1_000 for source in batch], _ARROW.field(4).type),
            ],
            schema=_ARROW,
        )


def _at(sources: LocalExternalObjects, address: str) -> Iterator[Source]:
    if address.endswith("/"):
        yield from sources.list(address)
    else:
        yield sources.find(address)


def _text(name: str) -> str | None:
    """Returns a name if it is valid Unicode, None otherwise."""
    try:
        name.encode()
    except UnicodeEncodeError:
        return None
    return name
