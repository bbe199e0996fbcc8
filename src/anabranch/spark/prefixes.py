"""Listings of prefixes: files below a folder, found by tasks that share its subfolders."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import partial
from itertools import islice
from typing import TYPE_CHECKING

import pyarrow as pa

from anabranch.blocks.local_sources import LocalSources
from anabranch.blocks.sources import Source, base_length
from anabranch.errors import NotSupported
from anabranch.spark.sources import Stores
from anabranch.spark.tasks import in_tasks

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


def prefix_listing(spark: SparkSession, source: Stores, prefix: str) -> DataFrame:
    """Returns what lies at addresses that begin so, as `import_listing` takes it. What is directly
    in the folder is looked up at once and shared among at most 64 tasks, which need to see the
    folder at the same path.

    Raises NotFound, Denied for what may not be read, and NotSupported for what is no folder.
    """
    sources = source.blocks.sources
    if not isinstance(sources, LocalSources):
        raise NotSupported(
            "only folders are listed by tasks",
            hint="Read an inventory of the bucket, or let the server import by prefix.",
        )
    found = sources.children(prefix)
    pieces = [found[number::_TASKS] for number in range(min(_TASKS, len(found)))]
    return in_tasks(spark, pieces, partial(_read, sources, base_length(prefix)), _COLUMNS)


def _read(sources: LocalSources, base: int, addresses: Sequence[str]) -> Iterator[pa.RecordBatch]:
    found = (source for address in addresses for source in _at(sources, address))
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


def _at(sources: LocalSources, address: str) -> Iterator[Source]:
    if address.endswith("/"):
        yield from sources.list(address)
    else:
        yield sources.find(address)


def _text(name: str) -> str | None:
    """Returns a name that is Unicode; None for another."""
    try:
        name.encode()
    except UnicodeEncodeError:
        return None
    return name
