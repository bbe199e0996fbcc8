"""The looks at tables and objects by threads of this process, which joins in files."""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Sequence
from functools import partial
from typing import NamedTuple

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from anabranch.blocks.contract import BlockInfo, BlockStore
from anabranch.errors import Invalid, NotFound
from anabranch.pipelines.exports.chunked import chunked
from anabranch.pipelines.jobs.parallel_map import parallel_map
from anabranch.pipelines.jobs.progress import Progress
from anabranch.pipelines.verification.stores.entries import EntryReader, RangeSource, Source
from anabranch.pipelines.verification.stores.marked_entries import (
    MarkedSource,
    ObjectsSeen,
    see_marked,
)
from anabranch.pipelines.verification.stores.needed_objects import NeededObjects, needs_of
from anabranch.pipelines.verification.stores.store_looks import (
    Chosen,
    Compared,
    EntrySources,
    RangesScanned,
)
from anabranch.pipelines.verification.stores.table_scans import (
    TreeLook,
    TreeScan,
    scan_range,
    scan_tree,
)

__all__ = ["LISTED_AT_ONCE", "LocalLooks", "stored_below"]

LISTED_AT_ONCE = 65_536


class _Numbered(NamedTuple):
    """A source, the number of its first entry, and how many it has."""

    source: Source
    start: int
    rows: int


class LocalLooks:
    """Looks at tables and objects in threads of this process."""

    _sources: EntrySources
    _needed: NeededObjects
    _flags: npt.NDArray[np.uint8]

    def __init__(self, blocks: BlockStore, reader: EntryReader | None = None) -> None:
        self._blocks = blocks
        self._reader = reader or EntryReader(blocks)
        self._numbered: list[_Numbered] = []
        self._reads_all = False

    def trees(self, looks: Sequence[TreeLook]) -> Iterator[TreeScan]:
        """Yields what metaranges have."""
        return parallel_map(partial(scan_tree, self._blocks), looks)

    def entries(self, sources: EntrySources) -> Iterator[RangesScanned]:
        """Reads ranges, and writes what entries need to files."""
        rows = sum(each.info.count for each in sources.ranges if each.is_required)
        rows += sum(area.rows for area in sources.areas)
        self._sources = sources
        self._needed = needed = NeededObjects(sources.folder, sources.roots, rows)
        for area in sources.areas:
            start = needed.rows
            for entries in self._reader.read(area):
                needed.need(needs_of(entries, sources.roots))
            yield RangesScanned(0, self._note(area, start))
        scan = partial(scan_range, self._blocks, self._reader, sources.roots)
        for each, scanned in zip(sources.ranges, parallel_map(scan, sources.ranges), strict=True):
            start = needed.rows
            for needs in scanned.needs:
                needed.need(needs)
            found = [(each.repository, finding) for finding in scanned.findings]
            own = RangeSource(each.repository, each.info)
            yield RangesScanned(1, self._note(own, start), found)

    def compare(self, chosen: Chosen, progress: Progress) -> Compared:
        """Lists the store, and joins one pair of files after the other."""
        progress.begin("listing the store", 0)
        roots = self._sources.roots
        listed = itertools.chain.from_iterable(stored_below(self._blocks, root) for root in roots)
        for batch in chunked(listed, LISTED_AT_ONCE):
            addresses = pa.array([info.address for info in batch], pa.string())
            self._needed.list(addresses, pa.array([info.size for info in batch], pa.int64()))
            progress.advance(len(batch))
        progress.begin("comparing entries and objects", 0)
        sample, elsewhere, seed = chosen
        self._reads_all = sample is None
        self._flags, objects = self._needed.mark(sample, seed, elsewhere=elsewhere)
        return Compared(objects, int(np.count_nonzero(self._flags)))

    def objects(self) -> Iterator[ObjectsSeen]:
        """Looks at objects, and yields what was seen of each."""
        return see_marked(self._blocks, self._reader, self._marked(), reads_all=self._reads_all)

    def close(self) -> None:
        """Does nothing: the files are in the folder of the sources."""

    def _note(self, source: Source, start: int) -> int:
        """Notes a source, whose entries have numbers from `start` on, and returns how many."""
        rows = self._needed.rows - start
        if rows:
            self._numbered.append(_Numbered(source, start, rows))
        return rows

    def _marked(self) -> Iterator[MarkedSource]:
        """Yields the marked entries."""
        for source, start, rows in self._numbered:
            flags = self._flags[start : start + rows]
            positions = np.flatnonzero(flags)
            if len(positions):
                yield MarkedSource(source, positions, flags[positions])


def stored_below(blocks: BlockStore, root: str) -> Iterator[BlockInfo]:
    """Yields the blocks below a prefix of addresses; none if the store does not know it: its bucket
    was deleted with its repository, or the record of that is damaged.
    """
    try:
        yield from blocks.list(root)
    except (NotFound, Invalid):
        return
