"""Reachability: the hashes of all addresses in a namespace that references can still reach.

All repositories are marked, because a repository can reference objects in another one's namespace.
Marking again only adds hashes; an address that was once found reachable stays reachable.
"""

from __future__ import annotations

import shutil
from collections.abc import Callable, Container, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TypeAlias

import msgspec

from anabranch import _kernel as kernel
from anabranch.errors import Gone, NotFound
from anabranch.files.private_folders import make_private_folder
from anabranch.model.repositories.repository import Repository
from anabranch.pipelines.column_hashes import Hashes, distinct
from anabranch.pipelines.garbage.addresses.address_index import AddressIndex
from anabranch.pipelines.garbage.addresses.anti_join import intersect, is_in
from anabranch.pipelines.garbage.addresses.checked_file import remove_others
from anabranch.pipelines.garbage.addresses.foreign_spans import ForeignSpans
from anabranch.pipelines.garbage.addresses.namespace import Namespace
from anabranch.pipelines.garbage.fence import Fence
from anabranch.pipelines.garbage.installations.gc_roots import Roots
from anabranch.pipelines.garbage.installations.installation import Installation
from anabranch.pipelines.garbage.marking.missing import MissingReference, MissingTracer
from anabranch.pipelines.garbage.marking.needs import Need, find_needs
from anabranch.pipelines.garbage.marking.table_marks import TableMarks
from anabranch.pipelines.jobs.parallel_map import parallel_map
from anabranch.pipelines.jobs.progress import Progress
from anabranch.versioning.garbage.removal_counts import NamespaceSweeps

__all__ = ["MarkStatistics", "RangeReader", "Reachability"]

_MAX_PASSES = 5


RangeReader: TypeAlias = Callable[[Repository, Sequence[kernel.RangeInfo]], Iterable[Hashes]]
"""Returns the hashes of the addresses in ranges of a repository."""


class MarkStatistics(msgspec.Struct):
    """Counts of what was marked: `ranges` of active commits, those that were not cached and had to
    be read, their `addresses` in the namespace, and the `uncommitted` addresses, which staged
    changes, uploads and restorations reference.
    """

    repositories: int = 0
    commits: int = 0
    active_commits: int = 0
    ranges: int = 0
    ranges_read: int = 0
    addresses: int = 0
    uncommitted: int = 0


class Reachability:
    """The reachable addresses in the namespace of the `collected` repository. Address indexes are
    cached below `folder`; `now`, in seconds since 1970, decides which commits have expired.
    """

    def __init__(
        self,
        installation: Installation,
        collected: Repository,
        namespace: Namespace,
        folder: Path,
        now: float,
        progress: Progress,
    ) -> None:
        self._installation = installation
        self._collected = collected
        self._namespace = namespace
        self.tables = TableMarks(installation, collected, folder, now)
        self._folder = folder / "marks" / collected.partition
        self._spans_folder = folder / "spans"
        make_private_folder(self._folder)
        make_private_folder(self._spans_folder)
        self._now = now
        self._progress = progress
        self._indexes: dict[str, AddressIndex] = {}
        self._spans: dict[str, ForeignSpans] = {}
        self._trees: set[tuple[str, str]] = set()
        self._ranges: set[tuple[str, str]] = set()
        self._partitions: frozenset[str] = frozenset()
        self.statistics = MarkStatistics()
        self.hashes: list[Hashes] = []
        self._uncommitted: Hashes = distinct([])
        self._sweeps_before: NamespaceSweeps | None = None
        self._hashes_by_range: list[tuple[str, kernel.RangeInfo, Hashes]] = []

    def mark(self, read_ranges: RangeReader | None = None) -> None:
        """Marks all repositories, in up to five passes, until two passes agree. `read_ranges`
        replaces how ranges are read. Raises Gone and Corrupt for missing or damaged metadata, and
        NotFound if the collected repository is deleted meanwhile; nothing may be removed then.
        """
        before: dict[str, Roots] = {}
        for _ in range(_MAX_PASSES):
            self._mark_uncommitted()
            seen = self._mark_references(read_ranges or self._load_hashes)
            if _references(seen) == _references(before):
                break
            before = seen
        if self._collected.partition not in seen:
            raise NotFound("repository not found", kind="repository_not_found")
        self._partitions = frozenset(seen)
        self.statistics.repositories = len(seen)
        self.statistics.commits = sum(roots.commits for roots in seen.values())
        self.statistics.active_commits = sum(roots.active for roots in seen.values())

    def find_missing(self, tracer: MissingTracer) -> list[MissingReference]:
        """Returns the references to missing objects that a tracer finds. Raises the errors of
        `mark`.
        """
        if not len(tracer.absent):
            return []
        references = tracer.staged(self._collected, self._namespace)
        for repository in self._installation.repositories():
            ranges = [
                info
                for partition, info, hashes in self._hashes_by_range
                if partition == repository.partition and intersect(hashes, tracer.absent)
            ]
            resolver = self._namespace.resolver(repository)
            with self._unless_deleted(repository):
                references += tracer.committed(repository, resolver, ranges, self._now)
        return references

    def active_ranges(self) -> frozenset[str]:
        """Returns the ids of the marked ranges of the collected repository."""
        collected = self._collected.partition
        return frozenset(range_id for partition, range_id in self._ranges if partition == collected)

    def needs_by_range(
        self, range_ids: Mapping[str, Container[str]]
    ) -> Iterator[tuple[Repository, dict[str, list[Need]]]]:
        """Yields each repository in `range_ids`, which has sets of range ids by partition, with the
        needs of its ranges, by range id. Raises the errors of `mark`.
        """
        for repository in self._installation.repositories():
            if wanted := range_ids.get(repository.partition):
                needs: dict[str, list[Need]] = {}
                with self._unless_deleted(repository):
                    needs = find_needs(self._installation, repository, wanted, self._now)
                yield repository, needs

    def observe_sweeps(self) -> None:
        """Reads which sweeps have begun, before the store is listed."""
        self._sweeps_before = self._installation.sweeps_of(self._collected)

    def fence(self, sweep: str) -> Fence:
        """Returns the fence of a sweep of what was listed after `observe_sweeps`."""
        return Fence(
            *(self._installation, self._collected, self._namespace.prefix),
            *(sweep, self._sweeps_before),
        )

    def remove_unused_indexes(self) -> None:
        """Removes what is cached of ranges and repositories that no longer exist."""
        self.tables.remove_unused()
        if not self._indexes and not self._spans:
            return  # another engine read the ranges
        for index in self._indexes.values():
            index.remove_unused()
        for spans in self._spans.values():
            spans.remove_unused()
        for folder in self._folder.iterdir():
            if folder.name not in self._indexes:
                shutil.rmtree(folder, ignore_errors=True)
        remove_others(self._spans_folder, self._partitions)

    def _mark_uncommitted(self) -> None:
        """Marks uncommitted addresses. They are read before each round of a sweep, and only those
        that are new are added.
        """
        hashes = distinct(self._installation.uncommitted_hashes(self._collected, self._namespace))
        self.statistics.uncommitted = max(self.statistics.uncommitted, len(hashes))
        new = hashes[~is_in(hashes, self._uncommitted)]
        if len(new):
            self.hashes.append(new)
            self._uncommitted = distinct([self._uncommitted, new])
        self.tables.mark_staged()

    def _mark_references(self, read_ranges: RangeReader) -> dict[str, Roots]:
        """Marks the trees of all repositories and returns the roots by partition. Leaves out
        repositories that are deleted while they are read, in which commits may be missing.
        """
        seen: dict[str, Roots] = {}
        for repository in self._installation.repositories():
            try:
                roots = self._installation.roots(repository, self._now)
            except (Gone, NotFound):
                if self._installation.exists(repository):
                    raise
            else:
                if self._installation.exists(repository):
                    self._mark_trees(repository, roots.trees, read_ranges)
                    seen[repository.partition] = roots
        return seen

    @contextmanager
    def _unless_deleted(self, repository: Repository) -> Iterator[None]:
        """Suppresses Gone and NotFound if the repository was deleted."""
        try:
            yield
        except (Gone, NotFound):
            if self._installation.exists(repository):
                raise

    def _mark_trees(
        self, repository: Repository, trees: Iterable[str], read_ranges: RangeReader
    ) -> None:
        new_trees = [tree for tree in trees if (repository.partition, tree) not in self._trees]
        ranges = {
            info.id: info
            for metarange_id in new_trees
            for info in self._installation.ranges(repository, metarange_id)
            if (repository.partition, info.id) not in self._ranges
        }
        self._progress.begin(f"reading the ranges of {repository.id}", len(ranges))
        self.statistics.ranges += len(ranges)
        self.hashes.extend(read_ranges(repository, list(ranges.values())))
        self.tables.mark_ranges(repository, ranges.values())
        self._ranges.update((repository.partition, range_id) for range_id in ranges)
        self._trees.update((repository.partition, tree) for tree in new_trees)

    def _load_hashes(
        self, repository: Repository, ranges: Sequence[kernel.RangeInfo]
    ) -> Iterator[Hashes]:
        if self._namespace.resolver(repository).is_elsewhere:
            ranges = self._with_addresses_elsewhere(repository, ranges)
            if not ranges:
                return
        index = self._index_for(repository)
        for info, (hashes, read) in zip(ranges, parallel_map(index.load, ranges), strict=True):
            self._hashes_by_range.append((repository.partition, info, hashes))
            self.statistics.ranges_read += read
            self.statistics.addresses += len(hashes)
            self._progress.advance(1)
            yield hashes

    def _with_addresses_elsewhere(
        self, repository: Repository, ranges: Sequence[kernel.RangeInfo]
    ) -> Sequence[kernel.RangeInfo]:
        """Returns the ranges of a repository whose full addresses may be in the namespace."""
        spans = self._spans.get(repository.partition)
        if spans is None:
            spans = self._spans[repository.partition] = ForeignSpans(
                self._spans_folder / repository.partition,
                lambda table_id: self._installation.locate(repository, table_id),
            )
        kept = []
        for info, (span, read) in zip(ranges, spans.load(ranges), strict=True):
            if span.may_be_in(self._namespace):
                kept.append(info)
            else:
                self.statistics.ranges_read += read
                self._progress.advance(1)
        return kept

    def _index_for(self, repository: Repository) -> AddressIndex:
        index = self._indexes.get(repository.partition)
        if index is None:
            index = AddressIndex(
                self._folder / repository.partition,
                self._namespace.resolver(repository),
                lambda table_id: self._installation.locate(repository, table_id),
            )
            self._indexes[repository.partition] = index
        return index


def _references(seen: dict[str, Roots]) -> dict[str, frozenset[object]]:
    return {partition: roots.references for partition, roots in seen.items()}
