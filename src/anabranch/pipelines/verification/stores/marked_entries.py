"""The second look at marked entries: objects are looked up, and the bytes of some compared."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from anabranch.blocks.contract import BlockStore
from anabranch.errors import Corrupt, Gone
from anabranch.pipelines.jobs.parallel_map import parallel_map
from anabranch.pipelines.verification.stores.entries import EntryReader, Source
from anabranch.pipelines.verification.stores.needed_objects import READ
from anabranch.pipelines.verification.stores.object_probes import (
    Probe,
    ProbeResult,
    probe,
    probe_of,
)

__all__ = ["LostTable", "MarkedSource", "ObjectsSeen", "see_marked", "see_objects"]

_THREADS = 8


class MarkedSource(NamedTuple):
    """A source of entries, the positions of those to look at, in order, and their marks."""

    source: Source
    positions: npt.NDArray[np.int64]
    marks: npt.NDArray[np.uint8]


class LostTable(NamedTuple):
    """A source whose table was there before, and has gone or is damaged since."""

    source: Source
    message: str


class ObjectsSeen(NamedTuple):
    """How many objects were looked at, how many of them and how many bytes were compared, and those
    with findings.
    """

    looked_at: int
    read: int
    bytes_read: int
    found: Sequence[ProbeResult]
    lost: Sequence[LostTable] = ()


def see_objects(
    blocks: BlockStore, probes: Iterable[Probe], *, reads_all: bool
) -> Iterator[ObjectsSeen]:
    """Looks at objects, and yields what was seen of each. The bytes of those that are marked READ
    are compared, or of all.
    """

    def look(at: Probe) -> ObjectsSeen:
        result = probe(blocks, at, reads=reads_all or at.mark == READ)
        found = [] if result.finding is None else [result]
        return ObjectsSeen(1, int(result.read is not None), result.read or 0, found)

    return parallel_map(look, probes, threads=_THREADS)


def see_marked(
    blocks: BlockStore, reader: EntryReader, marked: Iterable[MarkedSource], *, reads_all: bool
) -> Iterator[ObjectsSeen]:
    """Looks at the objects of marked entries, as `see_objects` does."""
    lost: list[LostTable] = []
    yield from see_objects(blocks, _probes(reader, marked, lost), reads_all=reads_all)
    if lost:
        yield ObjectsSeen(0, 0, 0, (), lost)


def _probes(
    reader: EntryReader, marked: Iterable[MarkedSource], lost: list[LostTable]
) -> Iterator[Probe]:
    for each in marked:
        try:
            yield from _marked_entries(reader, each)
        except (Corrupt, Gone) as error:
            lost.append(LostTable(each.source, error.message))


def _marked_entries(reader: EntryReader, marked: MarkedSource) -> Iterator[Probe]:
    source, positions, marks = marked
    first = 0
    for entries in reader.read(source):
        last = first + len(entries.paths)
        start, end = np.searchsorted(positions, [first, last]).tolist()
        for row in range(start, end):
            yield probe_of(source, entries, int(positions[row]) - first, int(marks[row]))
        first = last
