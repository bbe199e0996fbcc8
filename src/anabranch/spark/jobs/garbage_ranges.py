"""The ranges that tasks read for a garbage collection: their marks and their rows."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import NamedTuple

import numpy as np
import pyarrow as pa

from anabranch.errors import Corrupt
from anabranch.pipelines.column_hashes import Hashes, hash_addresses
from anabranch.pipelines.garbage.addresses.address_index import index_tree
from anabranch.pipelines.garbage.addresses.namespace import Reading
from anabranch.pipelines.garbage.marking.missing import named_before
from anabranch.spark.planning.partition_planning import Range
from anabranch.spark.sources.table_files import TableFiles, open_range_tables

__all__ = [
    "MARKS",
    "ROWS",
    "UNCOMMITTED",
    "RangeRead",
    "mark_batch",
    "read_marks",
    "read_rows",
    "shares",
]

MARKS = "hash BIGINT, number INT"
"""The hash of a living address, and the number of a range that holds it."""

UNCOMMITTED = -1
"""The range number of an address of a multipart upload or of a staged change."""

ROWS = "number INT, path STRING, address STRING, hash BIGINT"
"""An entry of the range of this number."""

_MARKS_ARROW = pa.schema([("hash", pa.int64()), ("number", pa.int32())])
_ROWS_ARROW = pa.schema(
    [("number", pa.int32()), ("path", pa.string()), ("address", pa.string()), ("hash", pa.int64())]
)
_BATCH = 1 << 16


class RangeRead(NamedTuple):
    """A range, its number in the run, and its decoding."""

    number: int
    files: TableFiles
    reading: Reading
    range: Range


def shares(reads: Iterable[RangeRead], entries: int) -> list[list[RangeRead]]:
    """Returns the shares of tasks: ranges with about this many entries together."""
    found: list[list[RangeRead]] = []
    room = 0
    for read in reads:
        if room <= 0:
            found.append([])
            room = entries
        found[-1].append(read)
        room -= read.range.entries
    return found


def read_marks(reads: Sequence[RangeRead]) -> Iterator[pa.RecordBatch]:
    """Yields the marks of ranges, as MARKS. Raises Gone, Corrupt."""
    for read in reads:
        with open_range_tables(read.files, [read.range]) as tree:
            hashes, rows = index_tree(tree, read.reading, read.range.id)
        if rows != read.range.entries:
            raise Corrupt(
                f"{read.range.id}: holds {rows} objects where its tree says {read.range.entries}",
                path=read.range.id,
            )
        for start in range(0, len(hashes), _BATCH):
            yield mark_batch(hashes[start : start + _BATCH], read.number)


def mark_batch(hashes: Hashes, number: int) -> pa.RecordBatch:
    """Returns marks of one range as a batch."""
    numbers = np.full(len(hashes), number, np.int32)
    columns = [pa.array(hashes.view(np.int64)), pa.array(numbers)]
    return pa.RecordBatch.from_arrays(columns, schema=_MARKS_ARROW)


def read_rows(before: int, reads: Sequence[RangeRead]) -> Iterator[pa.RecordBatch]:
    """Yields the entries of ranges whose addresses were named before a time, in seconds since 1970,
    as ROWS. Raises Gone, Corrupt.
    """
    for read in reads:
        with open_range_tables(read.files, [read.range]) as tree:
            for batch in pa.RecordBatchReader.from_stream(tree.scan()):
                for all_paths, all_addresses in read.reading.rows(batch):
                    mask = pa.array(named_before(all_addresses, before))
                    paths, addresses = all_paths.filter(mask), all_addresses.filter(mask)
                    if not len(paths):
                        continue  # Spark may leave out what follows a batch without rows
                    numbers = pa.array(np.full(len(paths), read.number, np.int32))
                    hashes = pa.array(hash_addresses(addresses).view(np.int64))
                    yield pa.RecordBatch.from_arrays(
                        [numbers, paths, addresses, hashes], schema=_ROWS_ARROW
                    )
