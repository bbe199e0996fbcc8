"""Attribution of dead objects to the branches and folders that they come from, by expired commits.

A dead object that an expired commit references is counted once: for the branch whose history has
the commit, and for the first folder of its path. Dead objects that no commit references were
replaced or discarded before they were committed. A missing metadata file does not fail a run; the
objects that were not attributed are then reported as not traced.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import NamedTuple

import msgspec
import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from anabranch import _kernel as kernel
from anabranch.errors import Corrupt, Gone
from anabranch.model.repositories.repository import Repository
from anabranch.pipelines.column_hashes import hash_addresses
from anabranch.pipelines.garbage.addresses.namespace import AddressResolver
from anabranch.pipelines.garbage.installations.installation import Installation
from anabranch.pipelines.garbage.marking.range_tree import range_tree
from anabranch.pipelines.garbage.object_totals import ObjectTotals

__all__ = [
    "MAX_SHOWN_FOLDERS",
    "ExpiredRanges",
    "OriginTracer",
    "Origins",
    "expired_ranges",
    "first_folders",
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


class ExpiredRanges(NamedTuple):
    """The ranges of expired commits that are read for a report, each with the branch whose history
    has the commit, in order; whether the lists of all ranges could be read, and whether the ranges
    are within the limit.
    """

    ranges: Sequence[tuple[str, kernel.RangeInfo]]
    complete: bool
    within_limit: bool


def expired_ranges(
    installation: Installation, repository: Repository, now: float, active_ranges: Iterable[str]
) -> ExpiredRanges:
    """Returns the ranges of a repository's expired commits that `OriginTracer` reads if it does not
    find all objects before; `now` is in seconds since 1970.
    """
    seen, remaining, complete = set(active_ranges), _MAX_ENTRIES, True
    ranges: list[tuple[str, kernel.RangeInfo]] = []
    for branch, tree in installation.expired_commits(repository, now):
        if remaining <= 0:
            break
        try:
            infos = installation.ranges(repository, tree)
        except (Gone, Corrupt):
            complete = False
            continue
        for info in infos:
            if info.id not in seen and remaining > 0:
                seen.add(info.id)
                remaining -= info.count
                ranges.append((branch, info))
    return ExpiredRanges(ranges, complete, remaining > 0)


class OriginTracer:
    """Attributes the dead objects of a repository; an instance can be used once."""

    def __init__(
        self,
        installation: Installation,
        repository: Repository,
        resolver: AddressResolver,
    ) -> None:
        self._installation = installation
        self._repository = repository
        self._resolver = resolver
        self._hashes = np.empty(0, np.uint64)
        self._sizes = np.empty(0, np.int64)
        self._untraced = np.empty(0, np.bool_)
        self._remaining_entries = _MAX_ENTRIES
        self._complete = True
        self._seen: set[str] = set()

    def trace(
        self,
        dead: Iterable[pa.RecordBatch],
        total: ObjectTotals,
        now: float,
        active_ranges: frozenset[str],
    ) -> Origins:
        """Returns the origins of the candidates in `dead`, given their totals; `now` is in seconds
        since 1970. `active_ranges` are not read, because their objects are not dead.
        """
        origins = Origins()
        self._seen |= active_ranges
        loaded = False
        for branch, tree in self._installation.expired_commits(self._repository, now):
            if not loaded:
                self._load_dead(dead)
                loaded = True
            if not self._untraced.any() or self._remaining_entries <= 0:
                break
            try:
                ranges = self._installation.ranges(self._repository, tree)
            except (Gone, Corrupt):
                self._complete = False
                continue
            for info in ranges:
                self._read(info, origins, branch)
        rest = ObjectTotals(total.objects, total.bytes)
        if loaded:
            rest = ObjectTotals(int(self._untraced.sum()), int(self._sizes[self._untraced].sum()))
        if self._complete and self._remaining_entries > 0:
            origins.never_committed = rest
        else:
            origins.not_traced = rest
        _limit_folders(origins)
        return origins

    def _load_dead(self, dead: Iterable[pa.RecordBatch]) -> None:
        hashes, sizes = [self._hashes], [self._sizes]
        for batch in dead:
            hashes.append(hash_addresses(batch.column("address")))
            sizes.append(batch.column("size").to_numpy())
        unordered = np.concatenate(hashes)
        order = np.argsort(unordered)
        self._hashes = unordered[order]
        self._sizes = np.concatenate(sizes)[order]
        self._untraced = np.ones(len(order), np.bool_)

    def _read(self, info: kernel.RangeInfo, origins: Origins, branch: str) -> None:
        if info.id in self._seen or self._remaining_entries <= 0:
            return
        self._seen.add(info.id)
        self._remaining_entries -= info.count
        try:
            with range_tree(self._installation, self._repository, info) as tree:
                for batch in pa.RecordBatchReader.from_stream(tree.scan()):
                    self._count(batch, origins, branch)
        except (Gone, Corrupt, pa.ArrowInvalid):
            self._complete = False

    def _count(self, batch: pa.RecordBatch, origins: Origins, branch: str) -> None:
        """Counts the untraced objects that a batch of entries references."""
        columns = (batch.column("physical_address"), batch.column("address_type"))
        for rows, addresses in self._resolver.resolve_with_rows(*columns):
            hashes = hash_addresses(addresses)
            positions = np.searchsorted(self._hashes, hashes)
            positions[positions == len(self._hashes)] = 0
            is_new = (self._hashes[positions] == hashes) & self._untraced[positions]
            positions, first = np.unique(positions[is_new], return_index=True)
            if len(positions):
                self._untraced[positions] = False
                new_rows = rows.filter(pa.array(is_new)).take(pa.array(first))
                folders = first_folders(batch.column("path").take(new_rows))
                _add(origins, branch, folders, self._sizes[positions])


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
