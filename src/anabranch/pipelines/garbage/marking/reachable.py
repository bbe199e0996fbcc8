"""Reachability: the hashes of all addresses in a namespace that may still be read.

Every repository is looked at, as an object may be named by others than the one that it lies with.
What was found to live once stays found: looking again only adds.
"""

from __future__ import annotations

import shutil
from collections.abc import Callable, Container, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TypeAlias

import msgspec
import pyarrow as pa

from anabranch import _kernel as kernel
from anabranch.errors import Gone, NotFound
from anabranch.model.repository import Repository
from anabranch.model.uploads.upload import Upload
from anabranch.pipelines.column_hashes import Hashes, distinct
from anabranch.pipelines.garbage.addresses.address_index import AddressIndex
from anabranch.pipelines.garbage.addresses.anti_join import intersect
from anabranch.pipelines.garbage.addresses.namespace import Namespace
from anabranch.pipelines.garbage.fence import Fence
from anabranch.pipelines.garbage.installations.gc_roots import Roots
from anabranch.pipelines.garbage.installations.installation import Installation, StagedRows
from anabranch.pipelines.garbage.marking.attribution import Origins, OriginTracer
from anabranch.pipelines.garbage.marking.missing import MissingReference, MissingTracer
from anabranch.pipelines.garbage.marking.needs import Need, needs_of_ranges
from anabranch.pipelines.garbage.object_totals import ObjectTotals
from anabranch.pipelines.jobs.parallel_map import parallel_map
from anabranch.pipelines.jobs.progress import Progress

__all__ = ["Found", "Reachability", "ReadRanges"]

_LOOKS = 5


ReadRanges: TypeAlias = Callable[[Repository, Sequence[kernel.RangeInfo]], Iterable[Hashes]]
"""Gives the marks of ranges of a repository."""


class Found(msgspec.Struct):
    """What was looked at: `ranges` of active commits, those of them that had to be `read`, their
    `addresses` in the namespace, and how many more are named by staged changes and uploads.
    """

    repositories: int = 0
    commits: int = 0
    active_commits: int = 0
    ranges: int = 0
    ranges_read: int = 0
    addresses: int = 0
    uncommitted: int = 0


class Reachability:
    """What lives in the namespace of a repository, the `collected` one. Marks are kept in `folder`;
    `now`, in seconds since 1970, decides what is past.
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
        self._folder = folder
        self._now = now
        self._progress = progress
        self._marks: dict[str, AddressIndex] = {}
        self._trees: set[tuple[str, str]] = set()
        self._ranges: set[tuple[str, str]] = set()
        self.found = Found()
        self.hashes: list[Hashes] = []
        self._read_ranges: ReadRanges = self._read_marks
        self._hashes_by_range: list[tuple[str, kernel.RangeInfo, Hashes]] = []

    def mark(self) -> None:
        """Looks at all repositories until two looks agree, at most five times. Raises Gone and
        Corrupt for what is missing or damaged, NotFound if the repository itself is deleted
        meanwhile; nothing may be removed then.
        """
        before: dict[str, Roots] = {}
        for _ in range(_LOOKS):
            self._look_at_uncommitted()
            seen = self._look_at_references()
            if _references(seen) == _references(before):
                break
            before = seen
        if self._collected.partition not in seen:
            raise NotFound("repository not found", kind="repository_not_found")
        self.found.repositories = len(seen)
        self.found.commits = sum(roots.commits for roots in seen.values())
        self.found.active_commits = sum(roots.active for roots in seen.values())

    @contextmanager
    def reading(self, read_ranges: ReadRanges) -> Iterator[None]:
        """Has ranges read another way while it is entered."""
        before, self._read_ranges = self._read_ranges, read_ranges
        try:
            yield
        finally:
            self._read_ranges = before

    def origins(self, dead: Iterable[pa.RecordBatch], total: ObjectTotals) -> Origins:
        """Returns where dead objects come from, which batches of candidates name, so many in
        all.
        """
        partition = self._collected.partition
        living = frozenset(name for where, name in self._ranges if where == partition)
        reading = self._namespace.reading(self._collected)
        tracing = OriginTracer(self._installation, self._collected, reading)
        return tracing.trace(dead, total, self._now, living)

    def missing(
        self, absent: Hashes, before: int, is_there: Callable[[str], bool]
    ) -> tuple[MissingTracer, list[MissingReference]]:
        """Returns the references to missing objects, and what has traced them; see
        `MissingTracer`. Raises what a look raises.
        """
        tracer = MissingTracer(self._installation, absent, before, is_there)
        found: list[MissingReference] = []
        if not len(absent):
            return tracer, found
        found += tracer.staged(self._collected, self._namespace)
        for repository in self._installation.repositories():
            ranges = [
                info
                for partition, info, hashes in self._hashes_by_range
                if partition == repository.partition and intersect(hashes, absent)
            ]
            reading = self._namespace.reading(repository)
            with self._unless_deleted(repository):
                found += tracer.committed(repository, reading, ranges, self._now)
        return tracer, found

    def staged(self) -> Iterable[StagedRows] | None:
        """Returns the staged entries of all repositories with addresses in the namespace; None
        where they are not known.
        """
        return self._installation.staged(self._collected, self._namespace)

    def needs(
        self, range_ids: Mapping[str, Container[str]]
    ) -> Iterator[tuple[Repository, dict[str, list[Need]]]]:
        """Yields the repositories of some partitions, each with the needs of those ranges, by
        range. Raises what a look raises.
        """
        for repository in self._installation.repositories():
            if wanted := range_ids.get(repository.partition):
                found: dict[str, list[Need]] = {}
                with self._unless_deleted(repository):
                    found = needs_of_ranges(self._installation, repository, wanted, self._now)
                yield repository, found

    def old_uploads(self, before: float) -> Sequence[Upload]:
        """Returns the uploads in parts that began before a time and have not ended."""
        return self._installation.old_uploads(self._collected, before)

    def end_upload(self, upload: Upload) -> bool:
        """Ends an upload; returns whether it had not ended meanwhile."""
        return self._installation.end_upload(self._collected, upload)

    def fence(self, sweep: str) -> Fence:
        """Returns what keeps a sweep and new references apart."""
        return Fence(self._installation, self._collected, self._namespace.stem, sweep)

    def forget_unused(self) -> None:
        """Removes the marks of ranges and repositories that are not there any more."""
        if not self._marks:
            return  # another engine has read the ranges
        for marks in self._marks.values():
            marks.forget_unused()
        for folder in self._folder.iterdir():
            if folder.name not in self._marks:
                shutil.rmtree(folder, ignore_errors=True)

    def _look_at_uncommitted(self) -> None:
        known = distinct(self._installation.uncommitted(self._collected, self._namespace))
        self.hashes.append(known)
        self.found.uncommitted = max(self.found.uncommitted, len(known))

    def _look_at_references(self) -> dict[str, Roots]:
        """Returns the roots of all repositories, by partition; not of those that are deleted while
        they are read, in which a commit may be missing.
        """
        seen: dict[str, Roots] = {}
        for repository in self._installation.repositories():
            try:
                roots = self._installation.roots(repository, self._now)
            except (Gone, NotFound):
                if self._is_there(repository):
                    raise
            else:
                if self._is_there(repository):
                    self._look_at_trees(repository, roots.trees)
                    seen[repository.partition] = roots
        return seen

    @contextmanager
    def _unless_deleted(self, repository: Repository) -> Iterator[None]:
        """Suppresses Gone and NotFound where they come from the repository's deletion."""
        try:
            yield
        except (Gone, NotFound):
            if self._is_there(repository):
                raise

    def _is_there(self, repository: Repository) -> bool:
        try:
            found = self._installation.repository(repository.id)
        except (NotFound, Gone):
            return False
        return found.partition == repository.partition

    def _look_at_trees(self, repository: Repository, trees: Iterable[str]) -> None:
        fresh = [tree for tree in trees if (repository.partition, tree) not in self._trees]
        ranges = {
            found.id: found
            for metarange_id in fresh
            for found in self._installation.ranges(repository, metarange_id)
            if (repository.partition, found.id) not in self._ranges
        }
        self._progress.begin(f"reading the ranges of {repository.id}", len(ranges))
        self.found.ranges += len(ranges)
        self.hashes.extend(self._read_ranges(repository, list(ranges.values())))
        self._ranges.update((repository.partition, range_id) for range_id in ranges)
        self._trees.update((repository.partition, tree) for tree in fresh)

    def _read_marks(
        self, repository: Repository, ranges: Sequence[kernel.RangeInfo]
    ) -> Iterator[Hashes]:
        marks = self._marks_for(repository)
        for info, (hashes, read) in zip(ranges, parallel_map(marks.of, ranges), strict=True):
            self._hashes_by_range.append((repository.partition, info, hashes))
            self.found.ranges_read += read
            self.found.addresses += len(hashes)
            self._progress.advance(1)
            yield hashes

    def _marks_for(self, repository: Repository) -> AddressIndex:
        marks = self._marks.get(repository.partition)
        if marks is None:
            marks = AddressIndex(
                self._folder / repository.partition,
                self._namespace.reading(repository),
                lambda table_id: self._installation.locate(repository, table_id),
            )
            self._marks[repository.partition] = marks
        return marks


def _references(seen: dict[str, Roots]) -> dict[str, frozenset[object]]:
    return {partition: roots.references for partition, roots in seen.items()}
