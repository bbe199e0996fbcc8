"""The look at the objects of marked entries, in tasks."""

from __future__ import annotations

import itertools
import pickle
from collections.abc import Iterable, Iterator, Sequence
from typing import TypeAlias

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from anabranch.model.objects.entry import Entry
from anabranch.pipelines.verification.stores.entries import AreaSource, EntryReader, RangeSource
from anabranch.pipelines.verification.stores.marked_entries import (
    LostTable,
    MarkedSource,
    ObjectsSeen,
    see_marked,
    see_objects,
)
from anabranch.pipelines.verification.stores.object_probes import Probe, ProbeResult
from anabranch.pipelines.verification.stores.table_scans import RangeLook
from anabranch.spark.jobs.parts import to_row
from anabranch.spark.sources.stores import Opener, open_store

__all__ = ["SEEN", "see_ranges", "see_staged"]

_FOUND_AT_ONCE = 1_000

_Positions: TypeAlias = npt.NDArray[np.int64]
_Marks: TypeAlias = npt.NDArray[np.uint8]

SEEN = pa.schema(
    [
        *((name, pa.int64()) for name in ("looked_at", "read", "bytes_read")),
        ("found", pa.binary()),
    ]
)
"""What was seen of some objects; those with findings, and tables that are gone, are pickled."""


def see_ranges(
    store: Opener,
    ranges: Sequence[RangeLook],
    first: int,
    reads_all: bool,
    batches: Iterable[pa.RecordBatch],
) -> Iterator[pa.RecordBatch]:
    """Looks at the objects of marked entries of ranges, which are sorted by source and position;
    the sources are numbered from `first` on. Yields SEEN.
    """
    with open_store(store) as blocks:
        marked = (
            MarkedSource(RangeSource(*ranges[source - first][:2]), positions, marks)
            for source, positions, marks in _by_source(batches)
        )
        seen = see_marked(blocks, EntryReader(blocks), marked, reads_all=reads_all)
        yield from _rows(seen)


def see_staged(
    store: Opener,
    areas: Sequence[AreaSource],
    reads_all: bool,
    batches: Iterable[pa.RecordBatch],
) -> Iterator[pa.RecordBatch]:
    """Looks at the objects of marked entries of staging areas, and yields SEEN."""
    with open_store(store) as blocks:
        yield from _rows(see_objects(blocks, _probes(areas, batches), reads_all=reads_all))


def _by_source(batches: Iterable[pa.RecordBatch]) -> Iterator[tuple[int, _Positions, _Marks]]:
    """Yields the positions and marks of each source."""
    current = -1
    positions: list[_Positions] = []
    marks: list[_Marks] = []
    for batch in batches:
        sources, all_positions = (batch.column(name).to_numpy() for name in ("source", "position"))
        all_marks = batch.column("mark").to_numpy().astype(np.uint8)
        bounds = np.flatnonzero(np.diff(sources)) + 1
        for start, end in itertools.pairwise([0, *bounds.tolist(), len(sources)]):
            if start == end:
                continue  # an empty batch
            if sources[start] != current and positions:
                yield current, np.concatenate(positions), np.concatenate(marks)
                positions, marks = [], []
            current = int(sources[start])
            positions.append(all_positions[start:end])
            marks.append(all_marks[start:end])
    if positions:
        yield current, np.concatenate(positions), np.concatenate(marks)


def _probes(areas: Sequence[AreaSource], batches: Iterable[pa.RecordBatch]) -> Iterator[Probe]:
    for batch in batches:
        for row in batch.to_pylist():
            entry = Entry(
                address=row["stored"],
                address_type=row["kind"],
                size=row["size"],
                mtime=0,
                checksum=row["checksum"],
            )
            source = areas[row["source"]]
            yield Probe(source, entry, row["path"], row["address"], row["mark"])


def _rows(seen: Iterable[ObjectsSeen]) -> Iterator[pa.RecordBatch]:
    """Yields what was seen, of many objects at a time."""
    looked_at = read = bytes_read = 0
    found: list[ProbeResult] = []
    lost: list[LostTable] = []
    for each in seen:
        looked_at += each.looked_at
        read += each.read
        bytes_read += each.bytes_read
        found += each.found
        lost += each.lost
        if len(found) >= _FOUND_AT_ONCE:
            yield to_row(SEEN, looked_at, read, bytes_read, pickle.dumps((found, lost)))
            looked_at = read = bytes_read = 0
            found, lost = [], []
    pickled = pickle.dumps((found, lost)) if found or lost else None
    yield to_row(SEEN, looked_at, read, bytes_read, pickled)
