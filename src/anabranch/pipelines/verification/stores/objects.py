"""The check of tables and objects: every table has the content that its name says, and every entry
of a required tree or a staging area an object of its size.

A pass reads each distinct range once: it verifies the table and notes what its entries need. The
store is listed after that, so that objects of later entries are no concern, and both are joined in
files. What is not listed as it is needed is looked up, and reported if it is needed still. A sample
of the objects, or all of them, is read and compared with its checksum.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import NamedTuple

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from anabranch.blocks.contract import BlockInfo, BlockStore
from anabranch.errors import Invalid, NotFound
from anabranch.model.repositories.repository import Repository
from anabranch.pipelines.jobs.progress import Progress
from anabranch.pipelines.verification.findings import Finding
from anabranch.pipelines.verification.stores import live_needs
from anabranch.pipelines.verification.stores.entries import (
    EntryReader,
    RangeSource,
    Source,
    table_of,
)
from anabranch.pipelines.verification.stores.needed_objects import (
    NeededObjects,
    Needs,
    marked,
    needs_of,
)
from anabranch.pipelines.verification.stores.object_probes import ProbeResult
from anabranch.pipelines.verification.stores.object_sources import ObjectSources, RepositoryTrees
from anabranch.pipelines.verification.stores.ranges import Ranges
from anabranch.pipelines.verification.stores.store_looks import (
    LocalLooks,
    LostTable,
    MarkedSource,
    StoreLooks,
)
from anabranch.pipelines.verification.stores.table_scans import RangeLook

__all__ = ["ObjectCheck"]

_LISTED_AT_ONCE = 65_536
_CONFIRMED_AT_ONCE = 100_000


class _Numbered(NamedTuple):
    """A source, the number of its first entry, and how many it has."""

    source: Source
    start: int
    rows: int


class ObjectCheck:
    """Checks the tables and objects of an installation, with files below `folder`. `sample` is how
    many objects are read, None for all; `seed` chooses them. `tables` and `entries` were read,
    `compared` are the distinct objects that these need, and `read` those whose bytes were compared,
    of `bytes_read`. Unless it `looks_elsewhere`, objects outside of the storage namespaces are not
    looked up. `looks` looks at tables and objects, by default in this process.
    """

    def __init__(
        self,
        sources: ObjectSources,
        blocks: BlockStore,
        live: live_needs.Needs,
        folder: Path,
        *,
        sample: int | None,
        seed: int,
        progress: Progress,
        reader: EntryReader | None = None,
        looks: StoreLooks | None = None,
        looks_elsewhere: bool = True,
    ) -> None:
        self._sources = sources
        self._blocks = blocks
        self._live = live
        self._folder = folder
        self._sample = sample
        self._seed = seed
        self._progress = progress
        self._reader = reader or EntryReader(blocks)
        self._looks = looks or LocalLooks(blocks, self._reader)
        self._elsewhere = 0 if not looks_elsewhere else sample
        self._numbered: list[_Numbered] = []
        self._rows = 0
        self._late: list[LostTable] = []
        self.tables = self.entries = self.compared = self.read = self.bytes_read = 0

    def findings(self) -> Iterator[Finding]:
        """Yields what is missing or damaged."""
        listed: list[RangeLook] = []
        for trees in self._sources.repositories:
            yield from self._metaranges(trees, listed)
        rows = sum(each.info.count for each in listed if each.is_required)
        rows += sum(area.rows for area in self._sources.areas)
        needed = NeededObjects(self._folder, self._sources.roots, rows)
        self._scan_areas(needed)
        yield from self._scan_ranges(listed, needed)
        self._list_store(needed)
        self._progress.begin("comparing entries and objects", 0)
        marks = needed.mark(self._sample, self._seed, elsewhere=self._elsewhere)
        self.compared = marks.objects
        yield from self._look_again(marks.flags)

    def _metaranges(self, trees: RepositoryTrees, listed: list[RangeLook]) -> Iterator[Finding]:
        repository = trees.repository
        self._progress.begin(f"reading the trees of {repository.id}", len(trees.trees))
        self.tables += len(trees.trees)
        ranges = Ranges(repository, self._looks)
        for finding in ranges.read(trees.trees, trees.required, self._progress):
            yield from self._if_it_exists(repository, finding)
        listed += [
            RangeLook(repository, each.info, trees.trees[each.metarange_id], each.is_required)
            for each in ranges.listed.values()
        ]

    def _scan_ranges(self, listed: Sequence[RangeLook], needed: NeededObjects) -> Iterator[Finding]:
        self._progress.begin("reading ranges", len(listed))
        self.tables += len(listed)
        scans = self._looks.ranges(listed, self._sources.roots)
        for each, scanned in zip(listed, scans, strict=True):
            self._progress.advance(1)
            for finding in scanned.findings:
                yield from self._if_it_exists(each.repository, finding)
            self._need(RangeSource(each.repository, each.info), scanned.needs, needed)

    def _scan_areas(self, needed: NeededObjects) -> None:
        for area in self._sources.areas:
            needs = [needs_of(each, self._sources.roots) for each in self._reader.read(area)]
            self._need(area, needs, needed)

    def _need(
        self,
        source: Source,
        needs: Sequence[Needs],
        needed: NeededObjects,
    ) -> None:
        rows = sum(len(each.hashes) for each in needs)
        for each in needs:
            needed.need(each)
        if rows:
            self._numbered.append(_Numbered(source, self._rows, rows))
        self._rows += rows
        self.entries += rows

    def _list_store(self, needed: NeededObjects) -> None:
        self._progress.begin("listing the store", 0)
        listings = itertools.chain.from_iterable(map(self._listing, self._sources.roots))
        while batch := list(itertools.islice(listings, _LISTED_AT_ONCE)):
            addresses = pa.array([info.address for info in batch], pa.string())
            needed.list(addresses, pa.array([info.size for info in batch], pa.int64()))
            self._progress.advance(len(batch))

    def _listing(self, root: str) -> Iterator[BlockInfo]:
        try:
            yield from self._blocks.list(root)
        except (NotFound, Invalid):
            return  # a bucket that was deleted with its repository, or a damaged record of one

    def _look_again(self, flags: npt.NDArray[np.uint8]) -> Iterator[Finding]:
        self._progress.begin("looking at objects", int(np.count_nonzero(flags)))
        missing: list[ProbeResult] = []
        seen = self._looks.objects(self._marked(flags), reads_all=self._sample is None)
        for looked_at, read, bytes_read, found, lost in seen:
            self._progress.advance(looked_at)
            self.read += read
            self.bytes_read += bytes_read
            missing += found
            self._late += lost
            if len(missing) >= _CONFIRMED_AT_ONCE:
                yield from self._confirm(missing)
                missing = []
        yield from self._confirm(missing)
        for source, message in self._late:
            where = f"{source.repository.id} {table_of(source)}"
            finding = Finding("tables", "table_damaged", where, message)
            yield from self._if_it_exists(source.repository, finding)

    def _confirm(self, missing: Sequence[ProbeResult]) -> Iterator[Finding]:
        """Yields the findings whose objects are needed still: asked after the store, since what was
        removed with its last reference is not needed by then.
        """
        self._live.refresh()
        for result in missing:
            if result.finding is not None and self._live.needs(result.probe):
                yield result.finding

    def _marked(self, flags: npt.NDArray[np.uint8]) -> Iterator[MarkedSource]:
        """Yields the marked entries."""
        for source, start, rows in self._numbered:
            marks = dict(marked(flags, start, rows))
            if marks:
                yield MarkedSource(source, marks)

    def _if_it_exists(self, repository: Repository, finding: Finding) -> Iterator[Finding]:
        if self._live.has_repository(repository):
            yield finding
