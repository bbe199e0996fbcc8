"""The check of tables and objects: every table has the content that its name says, and every entry
of a required tree or a staging area an object of its size.

A pass reads each distinct range once: it verifies the table and notes what its entries need. The
store is listed after that, so that objects of later entries are no concern, and both are joined in
files. What is not listed as it is needed is looked up, and reported if it is needed still. A sample
of the objects, or all of them, is read and compared with its checksum.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import NamedTuple

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from anabranch import _kernel as kernel
from anabranch.blocks.contract import BlockInfo, BlockStore
from anabranch.errors import Corrupt, Gone, Invalid, NotFound
from anabranch.model.repositories.repository import Repository
from anabranch.pipelines.jobs.parallel_map import parallel_map
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
    READ,
    NeededObjects,
    Needs,
    marked,
)
from anabranch.pipelines.verification.stores.object_probes import (
    Probe,
    ProbeResult,
    probe,
    probe_of,
)
from anabranch.pipelines.verification.stores.object_sources import ObjectSources, RepositoryTrees
from anabranch.pipelines.verification.stores.ranges import ListedRange, Ranges
from anabranch.pipelines.verification.stores.table_files import (
    missing_finding,
    stored_table,
    table_finding,
    table_problem,
)

__all__ = ["ObjectCheck"]

_LISTED_AT_ONCE = 65_536
_PROBE_THREADS = 8
_CONFIRMED_AT_ONCE = 100_000


class _Scanned(NamedTuple):
    """A range that was read: what is wrong with it, and what its entries need."""

    findings: list[Finding]
    needs: list[Needs]


class _Listed(NamedTuple):
    """A range of a repository, and a commit that has it."""

    repository: Repository
    range: ListedRange
    commit_id: str


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
    looked up.
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
        self._elsewhere = 0 if not looks_elsewhere else sample
        self._numbered: list[_Numbered] = []
        self._rows = 0
        self._late: list[Finding] = []
        self.tables = self.entries = self.compared = self.read = self.bytes_read = 0

    def findings(self) -> Iterator[Finding]:
        """Yields what is missing or damaged."""
        listed: list[_Listed] = []
        for trees in self._sources.repositories:
            yield from self._metaranges(trees, listed)
        rows = sum(each.range.info.count for each in listed if each.range.is_required)
        rows += sum(area.rows for area in self._sources.areas)
        needed = NeededObjects(self._folder, self._sources.roots, rows)
        self._scan_areas(needed)
        yield from self._scan_ranges(listed, needed)
        self._list_store(needed)
        self._progress.begin("comparing entries and objects", 0)
        marks = needed.mark(self._sample, self._seed, elsewhere=self._elsewhere)
        self.compared = marks.objects
        yield from self._look_again(marks.flags)

    def _metaranges(self, trees: RepositoryTrees, listed: list[_Listed]) -> Iterator[Finding]:
        repository = trees.repository
        self._progress.begin(f"reading the trees of {repository.id}", len(trees.trees))
        self.tables += len(trees.trees)
        ranges = Ranges(repository, self._blocks)
        for finding in ranges.read(trees.trees, trees.required, self._progress):
            yield from self._if_it_exists(repository, finding)
        listed += [
            _Listed(repository, each, trees.trees[each.metarange_id])
            for each in ranges.listed.values()
        ]

    def _scan_ranges(self, listed: Sequence[_Listed], needed: NeededObjects) -> Iterator[Finding]:
        self._progress.begin("reading ranges", len(listed))
        self.tables += len(listed)
        scan = partial(self._scan_range, needed=needed)
        for each, scanned in zip(listed, parallel_map(scan, listed), strict=True):
            self._progress.advance(1)
            for finding in scanned.findings:
                yield from self._if_it_exists(each.repository, finding)
            self._need(RangeSource(each.repository, each.range.info), scanned.needs, needed)

    def _scan_range(self, listed: _Listed, needed: NeededObjects) -> _Scanned:
        repository, each, commit_id = listed
        info = each.info
        named = repository, info.id, commit_id
        try:
            with stored_table(self._blocks, repository, info.id) as path:
                problem = table_problem(path, info.id)
                if problem:
                    return _Scanned([table_finding(*named, problem)], [])
                problem = _description_problem(info, path)
                if problem:
                    finding = table_finding(*named, problem, "range_description")
                    return _Scanned([finding], [])
                if not each.is_required:
                    return _Scanned([], [])
                entries = self._reader.read_range(RangeSource(repository, info), path)
                return _Scanned([], [needed.needs_of(each) for each in entries])
        except Gone:
            return _Scanned([missing_finding(*named)], [])
        except (Corrupt, Invalid, pa.ArrowInvalid) as error:
            return _Scanned([table_finding(*named, f"its entries cannot be read: {error}")], [])

    def _scan_areas(self, needed: NeededObjects) -> None:
        for area in self._sources.areas:
            needs = [needed.needs_of(entries) for entries in self._reader.read(area)]
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
        for result in parallel_map(self._probe, self._probes(flags), threads=_PROBE_THREADS):
            self._progress.advance(1)
            self.read += result.read is not None
            self.bytes_read += result.read or 0
            if result.finding is not None:
                missing.append(result)
            if len(missing) == _CONFIRMED_AT_ONCE:
                yield from self._confirm(missing)
                missing = []
        yield from self._confirm(missing)
        yield from self._late

    def _confirm(self, missing: Sequence[ProbeResult]) -> Iterator[Finding]:
        """Yields the findings whose objects are needed still: asked after the store, since what was
        removed with its last reference is not needed by then.
        """
        self._live.refresh()
        for result in missing:
            if result.finding is not None and self._live.needs(result.probe):
                yield result.finding

    def _probe(self, looked_at: Probe) -> ProbeResult:
        return probe(self._blocks, looked_at, reads=looked_at.mark == READ or self._sample is None)

    def _probes(self, flags: npt.NDArray[np.uint8]) -> Iterator[Probe]:
        """Yields the marked entries. A table that was there before and has gone since is added to
        the late findings.
        """
        for source, start, rows in self._numbered:
            wanted = dict(marked(flags, start, rows))
            try:
                if wanted:
                    yield from self._marked_entries(source, wanted)
            except (Corrupt, Gone) as error:
                where = f"{source.repository.id} {table_of(source)}"
                finding = Finding("tables", "table_damaged", where, error.message)
                self._late += self._if_it_exists(source.repository, finding)

    def _marked_entries(self, source: Source, wanted: Mapping[int, int]) -> Iterator[Probe]:
        first = 0
        for entries in self._reader.read(source):
            count = len(entries.paths)
            for position in [each for each in wanted if first <= each < first + count]:
                yield probe_of(source, entries, position - first, wanted[position])
            first += count

    def _if_it_exists(self, repository: Repository, finding: Finding) -> Iterator[Finding]:
        if self._live.has_repository(repository):
            yield finding


def _description_problem(info: kernel.RangeInfo, path: str) -> str:
    """Returns how a range differs from what its metarange says of it, empty if it does not."""
    properties = kernel.table_properties(path)
    actual = properties["min_key"], properties["max_key"], properties["count"]
    said = info.min_key, info.max_key, b"%d" % info.count
    if actual == said:
        return ""
    return f"its metarange says {_described(said)}, and it has {_described(actual)}"


def _described(keys_and_count: tuple[bytes, bytes, bytes]) -> str:
    first, last, count = (part.decode("utf-8", "backslashreplace") for part in keys_and_count)
    return f"{count} entries from {first!r} to {last!r}"
