"""The check of tables and objects: every table has the content that its name says, and every entry
of a required tree or a staging area an object of its size.

A pass reads each distinct range once: it verifies the table and notes what its entries need. The
store is listed after that, so that objects of later entries are no concern, and both are joined in
files. What is not listed as it is needed is looked up, and reported if it is needed still. A sample
of the objects, or all of them, is read and compared with its checksum.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path

from anabranch.blocks.contract import BlockStore
from anabranch.model.repositories.repository import Repository
from anabranch.pipelines.jobs.progress import Progress
from anabranch.pipelines.verification.findings import Finding
from anabranch.pipelines.verification.stores import live_needs
from anabranch.pipelines.verification.stores.entries import EntryReader, table_of
from anabranch.pipelines.verification.stores.local_looks import LocalLooks
from anabranch.pipelines.verification.stores.marked_entries import LostTable
from anabranch.pipelines.verification.stores.object_probes import ProbeResult
from anabranch.pipelines.verification.stores.object_sources import ObjectSources, RepositoryTrees
from anabranch.pipelines.verification.stores.ranges import Ranges
from anabranch.pipelines.verification.stores.store_looks import Chosen, EntrySources, StoreLooks
from anabranch.pipelines.verification.stores.table_scans import RangeLook

__all__ = ["ObjectCheck"]

_CONFIRMED_AT_ONCE = 100_000


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
        self._live = live
        self._folder = folder
        self._chosen = Chosen(sample, sample if looks_elsewhere else 0, seed)
        self._progress = progress
        self._looks: StoreLooks = looks or LocalLooks(blocks, reader)
        self._late: dict[tuple[str, str], LostTable] = {}
        self.tables = self.entries = self.compared = self.read = self.bytes_read = 0

    def findings(self) -> Iterator[Finding]:
        """Yields what is missing or damaged."""
        try:
            listed: list[RangeLook] = []
            for trees in self._sources.repositories:
                yield from self._metaranges(trees, listed)
            yield from self._scan(listed)
            self.compared, marked = self._looks.compare(self._chosen, self._progress)
            yield from self._look_again(marked)
        finally:
            self._looks.close()

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

    def _scan(self, listed: Sequence[RangeLook]) -> Iterator[Finding]:
        self._progress.begin("reading ranges", len(listed))
        self.tables += len(listed)
        sources = self._sources
        found = EntrySources(sources.areas, listed, sources.roots, self._folder)
        for scanned in self._looks.entries(found):
            self._progress.advance(scanned.ranges)
            self.entries += scanned.entries
            for repository, finding in scanned.findings:
                yield from self._if_it_exists(repository, finding)

    def _look_again(self, marked: int) -> Iterator[Finding]:
        self._progress.begin("looking at objects", marked)
        missing: list[ProbeResult] = []
        for looked_at, read, bytes_read, found, lost in self._looks.objects():
            self._progress.advance(looked_at)
            self.read += read
            self.bytes_read += bytes_read
            missing += found
            for each in lost:  # several tasks may miss the same table
                self._late[each.source.repository.id, table_of(each.source)] = each
            if len(missing) >= _CONFIRMED_AT_ONCE:
                yield from self._confirm(missing)
                missing = []
        yield from self._confirm(missing)
        for source, message in self._late.values():
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

    def _if_it_exists(self, repository: Repository, finding: Finding) -> Iterator[Finding]:
        if self._live.has_repository(repository):
            yield finding
