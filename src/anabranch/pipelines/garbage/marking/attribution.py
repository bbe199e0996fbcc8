"""Attribution of dead objects to the branches and folders that they come from, by expired commits.

A dead object that an expired commit references is counted once: for the branch whose history has
the commit, and for the first folder of its path. Dead objects that no commit references were
replaced or discarded before they were committed. A missing metadata file does not fail a run; the
objects that were not attributed are then reported as not traced.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator

import msgspec
import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from anabranch import _kernel as kernel
from anabranch.errors import Corrupt, Gone
from anabranch.model.repositories.repository import Repository
from anabranch.pipelines.column_hashes import Hashes, hash_addresses, sorted_by_hash
from anabranch.pipelines.garbage.addresses.anti_join import search
from anabranch.pipelines.garbage.addresses.namespace import AddressResolver
from anabranch.pipelines.garbage.addresses.range_tree import range_tree
from anabranch.pipelines.garbage.installations.installation import Installation
from anabranch.pipelines.garbage.totals import ObjectTotals

__all__ = [
    "MAX_SHOWN_FOLDERS",
    "ExpiredRanges",
    "OriginTracer",
    "Origins",
    "first_folders",
    "set_rest",
]

_MAX_ENTRIES = 20_000_000
"""The largest number of entries that are read for a report, which takes up to a minute."""

_MAX_FOLDERS = 10_000
MAX_SHOWN_FOLDERS = 50


class Origins(msgspec.Struct):
    """Dead objects by the branch whose history had them, with an empty name for deleted branches,
    and by the first folder of their paths, with an empty name for paths without a folder. Only the
    largest folders have names. The other dead objects were `never_committed`, or were `not_traced`.
    """

    by_branch: dict[str, ObjectTotals] = msgspec.field(default_factory=dict)
    by_folder: dict[str, ObjectTotals] = msgspec.field(default_factory=dict)
    other_folders: ObjectTotals = msgspec.field(default_factory=ObjectTotals)
    never_committed: ObjectTotals = msgspec.field(default_factory=ObjectTotals)
    not_traced: ObjectTotals = msgspec.field(default_factory=ObjectTotals)


class ExpiredRanges:
    """The ranges of a repository's expired commits that are read for a report, each with the branch
    whose history has the commit, in order; those in `active_ranges` are left out, because their
    objects are not dead. `now` is in seconds since 1970. After the iteration, `complete` says
    whether the lists of all ranges could be read, and `within_limit` whether none was left out.
    """

    def __init__(
        self,
        installation: Installation,
        repository: Repository,
        now: float,
        active_ranges: Iterable[str],
    ) -> None:
        self._installation = installation
        self._repository = repository
        self._now = now
        self._seen = set(active_ranges)
        self._remaining = _MAX_ENTRIES
        self.complete = True

    @property
    def within_limit(self) -> bool:
        """Whether the ranges have fewer entries than are read for a report."""
        return self._remaining > 0

    def __iter__(self) -> Iterator[tuple[str, kernel.RangeInfo]]:
        """Yields the ranges."""
        repository = self._repository
        for branch, tree in self._installation.expired_commits(repository, self._now):
            if not self.within_limit:
                return
            try:
                infos = self._installation.ranges(repository, tree)
            except (Gone, Corrupt):
                self.complete = False
                continue
            for info in infos:
                if info.id not in self._seen and self.within_limit:
                    self._seen.add(info.id)
                    self._remaining -= info.count
                    yield branch, info


class OriginTracer:
    """Attributes the dead objects of a repository; an instance can be used once."""

    _hashes: Hashes
    _sizes: npt.NDArray[np.int64]
    _untraced: npt.NDArray[np.bool_]

    def __init__(
        self, installation: Installation, repository: Repository, resolver: AddressResolver
    ) -> None:
        self._installation = installation
        self._repository = repository
        self._resolver = resolver

    def trace(
        self, dead: Iterable[pa.RecordBatch], total: ObjectTotals, expired: ExpiredRanges
    ) -> Origins:
        """Returns the origins of the candidates in `dead`, given their totals. The ranges of
        expired commits are read until all objects are found.
        """
        origins, complete, loaded = Origins(), True, False
        for branch, info in expired:
            if not loaded:
                self._load_dead(dead)
                loaded = True
            if not self._untraced.any():
                break
            complete &= self._read(info, origins, branch)
        rest = ObjectTotals(total.objects, total.bytes)
        if loaded:
            rest = ObjectTotals(int(self._untraced.sum()), int(self._sizes[self._untraced].sum()))
        set_rest(origins, rest, complete=complete and expired.complete and expired.within_limit)
        _limit_folders(origins)
        return origins

    def _load_dead(self, dead: Iterable[pa.RecordBatch]) -> None:
        self._hashes, self._sizes = sorted_by_hash(dead, "size")
        self._untraced = np.ones(len(self._hashes), np.bool_)

    def _read(self, info: kernel.RangeInfo, origins: Origins, branch: str) -> bool:
        """Counts the untraced objects of a range; returns whether it could be read."""
        try:
            path = self._installation.locate(self._repository, info.id)
            with range_tree(info, path) as tree:
                for batch in pa.RecordBatchReader.from_stream(tree.scan()):
                    self._count(batch, origins, branch)
        except (Gone, Corrupt, pa.ArrowInvalid):
            return False
        return True

    def _count(self, batch: pa.RecordBatch, origins: Origins, branch: str) -> None:
        """Counts the untraced objects that a batch of entries references."""
        columns = (batch.column("physical_address"), batch.column("address_type"))
        for rows, addresses in self._resolver.resolve(*columns):
            hashes = hash_addresses(addresses)
            positions, found = search(hashes, self._hashes)
            is_new = found & self._untraced[positions]
            positions, first = np.unique(positions[is_new], return_index=True)
            if len(positions):
                self._untraced[positions] = False
                new_rows = rows.filter(pa.array(is_new)).take(pa.array(first))
                folders = first_folders(batch.column("path").take(new_rows))
                _add(origins, branch, folders, self._sizes[positions])


def set_rest(origins: Origins, rest: ObjectTotals, *, complete: bool) -> None:
    """Sets the totals of the objects that were not found: if all expired commits were read, they
    were never committed.
    """
    if complete:
        origins.never_committed = rest
    else:
        origins.not_traced = rest


def _add(
    origins: Origins, branch: str, folders: pa.StringArray, sizes: npt.NDArray[np.int64]
) -> None:
    origins.by_branch.setdefault(branch, ObjectTotals()).add(len(sizes), int(sizes.sum()))
    table = pa.table({"folder": folders, "size": sizes})
    by_folder = table.group_by("folder").aggregate([("size", "count"), ("size", "sum")])
    for row in by_folder.to_pylist():
        totals = origins.other_folders
        if row["folder"] in origins.by_folder or len(origins.by_folder) < _MAX_FOLDERS:
            totals = origins.by_folder.setdefault(row["folder"], ObjectTotals())
        totals.add(row["size_count"], row["size_sum"])


def first_folders(paths: pa.StringArray) -> pa.StringArray:
    """Returns the first folder of each path, with its slash; empty for a path without one."""
    first = pc.list_element(pc.split_pattern(paths, "/", max_splits=1), 0)
    return pc.if_else(
        pc.match_substring(paths, "/"), pc.binary_join_element_wise(first, "/", ""), ""
    )


def _limit_folders(origins: Origins) -> None:
    """Moves all folders but the largest, by bytes, to `other_folders`."""
    order = sorted(origins.by_folder, key=lambda name: (-origins.by_folder[name].bytes, name))
    for name in order[MAX_SHOWN_FOLDERS:]:
        totals = origins.by_folder.pop(name)
        origins.other_folders.add(totals.objects, totals.bytes)
