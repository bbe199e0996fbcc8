"""Who looks at the tables and objects of an installation: threads of this process, or others.

A verification decides what has to be looked at, and what it means; it does not matter to it where
that is done.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import partial
from typing import NamedTuple, Protocol

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
from anabranch.pipelines.verification.stores.table_scans import (
    RangeLook,
    RangeScan,
    TreeLook,
    TreeScan,
    scan_range,
    scan_tree,
)

__all__ = ["LocalLooks", "LostTable", "MarkedSource", "ObjectsSeen", "StoreLooks"]

_PROBE_THREADS = 8


class MarkedSource(NamedTuple):
    """A source of entries, and the marks of those to look at, by their position."""

    source: Source
    marks: Mapping[int, int]


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


class StoreLooks(Protocol):
    """Looks at tables and objects. All raise the errors of a store that cannot be read."""

    def trees(self, looks: Sequence[TreeLook]) -> Iterator[TreeScan]:
        """Yields what each metarange has, in their order."""

    def ranges(self, looks: Sequence[RangeLook], roots: Sequence[str]) -> Iterator[RangeScan]:
        """Yields what each range has, in their order; see `scan_range`."""

    def objects(self, marked: Iterable[MarkedSource], *, reads_all: bool) -> Iterator[ObjectsSeen]:
        """Looks at the objects of marked entries, and yields what was seen, in any order. The bytes
        of those that are marked READ are compared, or of all.
        """


class LocalLooks:
    """Looks at tables and objects in threads of this process."""

    def __init__(self, blocks: BlockStore, reader: EntryReader | None = None) -> None:
        self._blocks = blocks
        self._reader = reader or EntryReader(blocks)

    def trees(self, looks: Sequence[TreeLook]) -> Iterator[TreeScan]:
        """Yields what metaranges have."""
        return parallel_map(partial(scan_tree, self._blocks), looks)

    def ranges(self, looks: Sequence[RangeLook], roots: Sequence[str]) -> Iterator[RangeScan]:
        """Yields what ranges have."""
        return parallel_map(partial(scan_range, self._blocks, self._reader, roots), looks)

    def objects(self, marked: Iterable[MarkedSource], *, reads_all: bool) -> Iterator[ObjectsSeen]:
        """Looks at objects, and yields what was seen of each."""
        lost: list[LostTable] = []

        def look(at: Probe) -> ObjectsSeen:
            result = probe(self._blocks, at, reads=reads_all or at.mark == READ)
            found = [] if result.finding is None else [result]
            return ObjectsSeen(1, int(result.read is not None), result.read or 0, found)

        yield from parallel_map(look, self._probes(marked, lost), threads=_PROBE_THREADS)
        if lost:
            yield ObjectsSeen(0, 0, 0, (), lost)

    def _probes(self, marked: Iterable[MarkedSource], lost: list[LostTable]) -> Iterator[Probe]:
        for source, marks in marked:
            try:
                yield from self._marked_entries(source, marks)
            except (Corrupt, Gone) as error:
                lost.append(LostTable(source, error.message))

    def _marked_entries(self, source: Source, marks: Mapping[int, int]) -> Iterator[Probe]:
        first = 0
        for entries in self._reader.read(source):
            count = len(entries.paths)
            for position in [each for each in marks if first <= each < first + count]:
                yield probe_of(source, entries, position - first, marks[position])
            first += count
