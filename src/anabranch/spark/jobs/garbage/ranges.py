"""Reading of ranges in tasks of a garbage collection: the hashes of addresses, and entries.

A range never changes. Its hashes are kept in the store, in the format of the local engine's cache,
and later runs read these instead of the range, which is about ten times as large.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import NamedTuple, Protocol, TypeVar

import numpy as np
import pyarrow as pa

from anabranch.blocks.contract import BlockStore
from anabranch.errors import Gone
from anabranch.pipelines.column_hashes import Hashes
from anabranch.pipelines.garbage.addresses.address_index import (
    decode_index,
    encode_index,
    index_tree,
    require_rows,
    resolver_folder,
)
from anabranch.pipelines.garbage.addresses.namespace import AddressResolver
from anabranch.pipelines.garbage.marking.missing import created_before
from anabranch.spark.jobs.parts import signed_hashes
from anabranch.spark.planning.partition_planning import Range
from anabranch.spark.sources.stores import Opener, open_store
from anabranch.spark.sources.table_files import TableFiles, open_range_tables

__all__ = [
    "MARKS",
    "OF_TABLE",
    "ROWS",
    "UNCOMMITTED",
    "RangeRead",
    "mark_batch",
    "marks_folder",
    "read_marks",
    "read_rows",
    "split_reads",
]

UNCOMMITTED, OF_TABLE = -1, -2
"""The range numbers of an address of a multipart upload or of a staged change, and of that of a
file of a table.
"""

MARKS = pa.schema([("hash", pa.int64()), ("number", pa.int32())])
"""The hash of a reachable address, and the number of a range that has it."""

ROWS = pa.schema(
    [("number", pa.int32()), ("path", pa.string()), ("address", pa.string()), ("hash", pa.int64())]
)
"""An entry of a range, with the range's number."""

_BATCH = 1 << 16


class RangeRead(NamedTuple):
    """A range to read: its number in the run, its files, the resolver of its addresses, and the
    address of its marks.
    """

    number: int
    files: TableFiles
    resolver: AddressResolver
    range: Range
    marks: str


class _OfRange(Protocol):
    @property
    def range(self) -> Range: ...


Read = TypeVar("Read", bound=_OfRange)


def split_reads(reads: Iterable[Read], entries: int) -> list[list[Read]]:
    """Returns the ranges of each task, which have about `entries` entries in total."""
    tasks: list[list[Read]] = []
    remaining = 0
    for read in reads:
        if remaining <= 0:
            tasks.append([])
            remaining = entries
        tasks[-1].append(read)
        remaining -= read.range.entries
    return tasks


def marks_folder(root: str, partition: str, resolver: AddressResolver) -> str:
    """Returns the folder of the marks of a repository's ranges, which have the ranges' names."""
    return f"{root}{partition}/{resolver_folder(resolver)}/"


def read_marks(store: Opener, reads: Sequence[RangeRead]) -> Iterator[pa.RecordBatch]:
    """Yields the hashes of the addresses in ranges, as MARKS. Keeps those of ranges that had to be
    read. Raises Gone, Corrupt.
    """
    with open_store(store) as blocks:
        for read in reads:
            kept = _read_kept(blocks, read)
            hashes = _read_hashes(read) if kept is None else kept
            if kept is None:
                blocks.put(read.marks, [encode_index(read.range.entries, hashes)])
            for start in range(0, len(hashes), _BATCH):
                yield mark_batch(hashes[start : start + _BATCH], read.number)


def _read_kept(blocks: BlockStore, read: RangeRead) -> Hashes | None:
    """Returns the kept hashes of a range, or None if they are missing or damaged."""
    try:
        content = blocks.read(read.marks)
    except Gone:
        return None
    return decode_index(memoryview(content), read.range.entries)


def _read_hashes(read: RangeRead) -> Hashes:
    with open_range_tables(read.files, [read.range]) as tree:
        hashes, rows = index_tree(tree, read.resolver, read.range.id)
    require_rows(rows, read.range.entries, read.range.id)
    return hashes


def mark_batch(hashes: Hashes, number: int) -> pa.RecordBatch:
    """Returns hashes of one range as a batch of MARKS."""
    numbers = np.full(len(hashes), number, np.int32)
    columns = [pa.array(hashes.view(np.int64)), pa.array(numbers)]
    return pa.RecordBatch.from_arrays(columns, schema=MARKS)


def read_rows(before: int, reads: Sequence[RangeRead]) -> Iterator[pa.RecordBatch]:
    """Yields the entries of ranges whose addresses were generated before a time, in seconds since
    1970, as ROWS. Raises Gone, Corrupt.
    """
    for read in reads:
        with open_range_tables(read.files, [read.range]) as tree:
            for batch in pa.RecordBatchReader.from_stream(tree.scan()):
                for all_paths, all_addresses in read.resolver.resolve_batch(batch):
                    mask = pa.array(created_before(all_addresses, before))
                    paths, addresses = all_paths.filter(mask), all_addresses.filter(mask)
                    if not len(paths):
                        continue  # Spark may drop the batches after an empty one
                    numbers = pa.array(np.full(len(paths), read.number, np.int32))
                    columns = [numbers, paths, addresses, signed_hashes(addresses)]
                    yield pa.RecordBatch.from_arrays(columns, schema=ROWS)
