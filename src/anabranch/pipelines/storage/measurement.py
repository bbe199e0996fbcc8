"""Measures a repository's storage from the trees of its commits."""

from __future__ import annotations

import threading
from collections import OrderedDict
from collections.abc import Iterator
from functools import partial
from typing import NamedTuple

import msgspec

from anabranch import _kernel as kernel
from anabranch.blocks.contract import BlockStore
from anabranch.model.commits.commit import Commit
from anabranch.model.references.branch import Branch
from anabranch.model.repositories.repository import Repository
from anabranch.pipelines.garbage.run_files import read_summaries
from anabranch.pipelines.storage.branch_sharing import measure_branches
from anabranch.pipelines.storage.kept_for_undo import kept_totals
from anabranch.pipelines.storage.range_entries import RangeEntries, read_range
from anabranch.pipelines.storage.report import (
    BranchStorage,
    GarbageFound,
    GrowthPoint,
    StorageReport,
    Totals,
)
from anabranch.versioning.core import Core
from anabranch.versioning.history.log import log
from anabranch.versioning.trees.trees import translate_errors

__all__ = ["MAX_ENTRIES", "Measurement"]

_FOUND_DECODER = msgspec.json.Decoder(GarbageFound)

MAX_ENTRIES = 5_000_000
"""The most entries that are read for one report, which takes a few seconds."""

_MAX_COMMITS = 100_000
_MAX_KNOWN_RANGES = 100_000
_MAX_LATEST = 100
_COMPLETE = frozenset({"reported", "swept"})


class _Sharing(NamedTuple):
    """What branches have and share, what is kept for undo, of how many entries, and whether it is
    all of them.
    """

    branches: list[BranchStorage]
    distinct: Totals
    kept: Totals
    entries: int
    complete: bool


class Measurement:
    """Measures repositories, one at a time. Ranges never change, so their totals are kept."""

    def __init__(self, core: Core, blocks: BlockStore) -> None:
        self._core = core
        self._blocks = blocks
        self._lock = threading.Lock()
        self._known: OrderedDict[str, Totals] = OrderedDict()
        self._latest: dict[str, tuple[object, _Sharing]] = {}

    def measure(self, repository: Repository, growth_of: str, points: int) -> StorageReport:
        """Returns the report on a repository, with at most `points` commits of a branch. Raises
        NotFound for the branch, Gone and Corrupt.
        """
        start = self._core.branches.read(repository, growth_of).branch
        sharing = self._sharing(repository, list(self._branches(repository, first=start)))
        return StorageReport(
            branches=_by_size(sharing.branches),
            distinct=sharing.distinct,
            kept_for_undo=sharing.kept,
            growth=self._growth(repository, start, points, MAX_ENTRIES - sharing.entries),
            garbage=self._garbage(repository),
            complete=sharing.complete,
        )

    def _sharing(self, repository: Repository, branches: list[Branch]) -> _Sharing:
        """Returns what branches share; of the first ones, if all are too many entries to read. The
        latest result is kept while no head moves and the same can be undone.
        """
        kept = self._core.operation_retention.kept(repository)
        key = ([(branch.id, branch.commit_id) for branch in branches], kept)
        latest = self._latest.get(repository.partition)
        if latest is not None and latest[0] == key:
            return latest[1]
        heads: dict[str, list[kernel.RangeInfo]] = {}
        ranges: dict[str, int] = {}
        entries = 0
        for branch in branches:
            own = self._ranges(repository, self._core.commits.get(repository, branch.commit_id))
            added = {info.id: info.count for info in own if info.id not in ranges}
            if entries + sum(added.values()) > MAX_ENTRIES and heads:
                continue
            entries += sum(added.values())
            ranges |= added
            heads[branch.id] = own
        read = partial(self._read, repository)
        measured = measure_branches(heads, read)
        totals, complete = kept_totals(
            *(self._core, repository, kept, heads, measured.hashes, read),
            max_entries=MAX_ENTRIES - entries,
        )
        complete = complete and len(heads) == len(branches)
        sharing = _Sharing(measured.branches, measured.distinct, totals, entries, complete)
        while len(self._latest) >= _MAX_LATEST:
            self._latest.pop(next(iter(self._latest)))
        self._latest[repository.partition] = (key, sharing)
        return sharing

    def _branches(self, repository: Repository, first: Branch) -> Iterator[Branch]:
        yield first
        for branch in self._core.branches.all(repository):
            if branch.id != first.id:
                yield branch

    def _growth(
        self, repository: Repository, branch: Branch, points: int, remaining: int
    ) -> list[GrowthPoint]:
        """Returns commits of a branch, oldest first, spread evenly over its first parents; those
        whose ranges would be too many entries to read are left out.
        """
        head = self._core.commits.get(repository, branch.commit_id)
        reader = self._core.commits.reader(repository)
        commits = []
        for commit in log(reader, head, first_parent=True):
            commits.append(commit)
            if len(commits) == _MAX_COMMITS:
                break
        grown = []
        for commit in _spread(commits, points):
            ranges = self._ranges(repository, commit)
            unread = sum(info.count for info in ranges if info.id not in self._known)
            if unread > remaining:
                continue
            remaining -= unread
            sizes = [self._totals(repository, info) for info in ranges]
            total = Totals(sum(each.objects for each in sizes), sum(each.bytes for each in sizes))
            grown.append(GrowthPoint(commit.id, commit.creation_date, total))
        return grown[::-1]

    def _garbage(self, repository: Repository) -> GarbageFound | None:
        """Returns what the newest complete run found."""
        namespace = self._blocks.namespace(repository.storage_namespace)
        prefix = f"{namespace.rstrip('/')}/"
        summaries = read_summaries(self._blocks, prefix, _FOUND_DECODER)
        return next((found for found in summaries if found.state in _COMPLETE), None)

    def _ranges(self, repository: Repository, commit: Commit) -> list[kernel.RangeInfo]:
        with translate_errors():
            return self._core.trees.open(repository, commit.metarange_id).ranges()

    def _totals(self, repository: Repository, info: kernel.RangeInfo) -> Totals:
        known = self._known.get(info.id)
        if known is None:
            self._read(repository, info)
            known = self._known[info.id]
        return known

    def _read(self, repository: Repository, info: kernel.RangeInfo) -> RangeEntries:
        entries = read_range(self._core.trees, repository, info)
        with self._lock:
            self._known[info.id] = Totals(info.count, int(entries.sizes.sum()))
            while len(self._known) > _MAX_KNOWN_RANGES:
                self._known.popitem(last=False)
        return entries


def _spread(commits: list[Commit], points: int) -> list[Commit]:
    """Returns at most `points` items of a list, evenly spread, with its first one and, if there is
    more than one, its last.
    """
    if len(commits) <= points:
        return commits
    last = len(commits) - 1
    places = {round(number * last / max(1, points - 1)) for number in range(points)}
    return [commits[place] for place in sorted(places)]


def _by_size(branches: list[BranchStorage]) -> list[BranchStorage]:
    return sorted(branches, key=lambda each: (-each.unique.bytes, -each.total.bytes, each.branch))
