"""What entries need, as rows that tasks read from ranges and the driver from staging areas."""

from __future__ import annotations

import pickle
from collections.abc import Iterator, Sequence
from typing import NamedTuple

import numpy as np
import pyarrow as pa

from anabranch.pipelines.verification.stores.entries import Entries, EntryReader
from anabranch.pipelines.verification.stores.needed_objects import Needs, needs_of
from anabranch.pipelines.verification.stores.store_looks import RangesScanned
from anabranch.pipelines.verification.stores.table_scans import RangeLook, scan_range
from anabranch.spark.jobs.parts import to_row
from anabranch.spark.sources.stores import Opener, open_store

__all__ = [
    "FULL_BIT",
    "NEEDS",
    "POSITION_BITS",
    "SCANS",
    "STAGED",
    "RangePiece",
    "scan_ranges",
    "staged_rows",
]

POSITION_BITS = 32
FULL_BIT = 62
"""An entry is numbered by its source and its position there. Those that have their addresses in
full come after the others: only entries of relative addresses prove the MD5 of the bytes.
"""

NEEDS = pa.schema(
    [
        *((name, pa.int64()) for name in ("hash", "size", "entry")),
        ("inside", pa.bool_()),
    ]
)
"""What an entry needs: the hash of the address of an object and its size; the number of the entry,
and whether the store is listed there.
"""

SCANS = pa.schema([*NEEDS, ("piece", pa.int32()), ("scanned", pa.binary())])
"""What entries of ranges need; and at the end of each piece of work its number, and what was found,
pickled.
"""

STAGED = pa.schema(
    [
        *NEEDS,
        *((name, pa.string()) for name in ("path", "address", "stored", "checksum")),
        ("kind", pa.int32()),
    ]
)
"""What a staged entry needs, and the entry."""


class RangePiece(NamedTuple):
    """The work of a task: its number, that of its first range among all sources, and ranges."""

    number: int
    first: int
    looks: Sequence[RangeLook]


def scan_ranges(store: Opener, roots: Sequence[str], piece: RangePiece) -> Iterator[pa.RecordBatch]:
    """Reads ranges, in a task, and yields SCANS."""
    entries = 0
    found = []
    with open_store(store) as blocks:
        reader = EntryReader(blocks)
        for number, look in enumerate(piece.looks, piece.first):
            scanned = scan_range(blocks, reader, roots, look)
            found += [(look.repository, finding) for finding in scanned.findings]
            position = 0
            for needs in scanned.needs:
                if len(needs.hashes):  # Spark may drop the batches after an empty one
                    yield _with_nulls(_needs_columns(needs, number, position))
                position += len(needs.hashes)
            entries += position
    result = RangesScanned(len(piece.looks), entries, found)
    yield to_row(SCANS, *(None for _ in NEEDS), piece.number, pickle.dumps(result))


def staged_rows(
    entries: Entries, roots: Sequence[str], number: int, position: int
) -> pa.RecordBatch:
    """Returns entries of a staging area, given its number among all sources and the position of the
    first one, as STAGED.
    """
    columns = [
        *_needs_columns(needs_of(entries, roots), number, position),
        *(entries.paths, entries.addresses, entries.stored, entries.checksums, entries.kinds),
    ]
    cast = [column.cast(field.type) for column, field in zip(columns, STAGED, strict=True)]
    return pa.RecordBatch.from_arrays(cast, schema=STAGED)


def _needs_columns(needs: Needs, number: int, position: int) -> list[pa.Array]:
    numbers = np.arange(position, position + len(needs.hashes), dtype=np.int64)
    numbers |= number << POSITION_BITS
    numbers |= needs.full.astype(np.int64) << FULL_BIT
    hashes = needs.hashes.view(np.int64)
    return [pa.array(each) for each in (hashes, needs.sizes, numbers, needs.inside)]


def _with_nulls(columns: list[pa.Array]) -> pa.RecordBatch:
    nulls = [pa.nulls(len(columns[0]), SCANS.field(name).type) for name in ("piece", "scanned")]
    return pa.RecordBatch.from_arrays([*columns, *nulls], schema=SCANS)
