"""Origins: where dead objects come from, as far as commits that are active no more can tell.

Who reads a report wants to know whose data it is. An object that such a commit names is counted
once, for the branch that has left the commit behind, and for the first folder of its path. What no
commit names was overwritten or given up before it was committed. A metadata file that is lost keeps
nobody from collecting: what it named is not told apart then.
"""

from __future__ import annotations

from collections.abc import Iterable

import msgspec
import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from anabranch import _kernel as kernel
from anabranch.errors import Corrupt, Gone
from anabranch.model.repository import Repository
from anabranch.pipelines.column_hashes import hash_addresses
from anabranch.pipelines.garbage.addresses.namespace import Reading
from anabranch.pipelines.garbage.installations.installation import Installation
from anabranch.pipelines.garbage.marking.range_tree import range_tree
from anabranch.pipelines.garbage.object_totals import ObjectTotals

__all__ = ["OriginTracer", "Origins"]

_MOST_ENTRIES = 20_000_000
"""What is looked through for a report at most: a minute's work or less."""

_MOST_FOLDERS = 10_000
_SHOWN_FOLDERS = 50


class Origins(msgspec.Struct):
    """Dead objects by the branch that has left them behind, the empty name for branches that are
    not there any more, and by the first folder of their paths, the empty name for those in none;
    of folders the largest are named. The other dead objects were `never_committed`, or it was not
    `traced` where they come from.
    """

    by_branch: dict[str, ObjectTotals] = msgspec.field(default_factory=dict)
    by_folder: dict[str, ObjectTotals] = msgspec.field(default_factory=dict)
    other_folders: ObjectTotals = msgspec.field(default_factory=ObjectTotals)
    never_committed: ObjectTotals = msgspec.field(default_factory=ObjectTotals)
    not_traced: ObjectTotals = msgspec.field(default_factory=ObjectTotals)


class OriginTracer:
    """Traces the dead objects of a repository, once."""

    def __init__(
        self,
        installation: Installation,
        repository: Repository,
        reading: Reading,
    ) -> None:
        self._installation = installation
        self._repository = repository
        self._reading = reading
        self._hashes = np.empty(0, np.uint64)
        self._sizes = np.empty(0, np.int64)
        self._left = np.empty(0, np.bool_)
        self._room = _MOST_ENTRIES
        self._whole = True
        self._seen: set[str] = set()

    def trace(
        self,
        dead: Iterable[pa.RecordBatch],
        total: ObjectTotals,
        now: float,
        living: frozenset[str],
    ) -> Origins:
        """Returns where they come from, which batches of candidates name, `total` in all; `now` in
        seconds since 1970. What is in `living` ranges is not dead, so these are not read.
        """
        found = Origins()
        self._seen |= living
        known = False
        for branch, tree in self._installation.past(self._repository, now):
            if not known:
                self._take(dead)
                known = True
            if not self._left.any() or self._room <= 0:
                break
            try:
                ranges = self._installation.ranges(self._repository, tree)
            except (Gone, Corrupt):
                self._whole = False
                continue
            for each in ranges:
                self._read(each, found, branch)
        rest = ObjectTotals(total.objects, total.bytes)
        if known:
            rest = ObjectTotals(int(self._left.sum()), int(self._sizes[self._left].sum()))
        if self._whole and self._room > 0:
            found.never_committed = rest
        else:
            found.not_traced = rest
        _shorten(found)
        return found

    def _take(self, dead: Iterable[pa.RecordBatch]) -> None:
        hashes, sizes = [self._hashes], [self._sizes]
        for batch in dead:
            hashes.append(hash_addresses(batch.column("address")))
            sizes.append(batch.column("size").to_numpy())
        together = np.concatenate(hashes)
        order = np.argsort(together)
        self._hashes = together[order]
        self._sizes = np.concatenate(sizes)[order]
        self._left = np.ones(len(order), np.bool_)

    def _read(self, each: kernel.RangeInfo, found: Origins, branch: str) -> None:
        if each.id in self._seen or self._room <= 0:
            return
        self._seen.add(each.id)
        self._room -= each.count
        try:
            with range_tree(self._installation, self._repository, each) as tree:
                for batch in pa.RecordBatchReader.from_stream(tree.scan()):
                    self._count(batch, found, branch)
        except (Gone, Corrupt, pa.ArrowInvalid):
            self._whole = False

    def _count(self, batch: pa.RecordBatch, found: Origins, branch: str) -> None:
        """Counts what a batch of entries names for the first time."""
        columns = (batch.column("physical_address"), batch.column("address_type"))
        for rows, addresses in self._reading.located(*columns):
            hashes = hash_addresses(addresses)
            places = np.searchsorted(self._hashes, hashes)
            places[places == len(self._hashes)] = 0
            fresh = (self._hashes[places] == hashes) & self._left[places]
            places, first = np.unique(places[fresh], return_index=True)
            if len(places):
                self._left[places] = False
                named = rows.filter(pa.array(fresh)).take(pa.array(first))
                folders = _folders(batch.column("path").take(named))
                _add(found, branch, folders, self._sizes[places])


def _add(
    found: Origins, branch: str, folders: pa.StringArray, sizes: npt.NDArray[np.int64]
) -> None:
    found.by_branch.setdefault(branch, ObjectTotals()).add(len(sizes), int(sizes.sum()))
    table = pa.table({"folder": folders, "size": sizes})
    counted = table.group_by("folder").aggregate([("size", "count"), ("size", "sum")])
    for row in counted.to_pylist():
        amount = found.other_folders
        if row["folder"] in found.by_folder or len(found.by_folder) < _MOST_FOLDERS:
            amount = found.by_folder.setdefault(row["folder"], ObjectTotals())
        amount.add(row["size_count"], row["size_sum"])


def _folders(paths: pa.StringArray) -> pa.StringArray:
    first = pc.list_element(pc.split_pattern(paths, "/", max_splits=1), 0)
    return pc.if_else(
        pc.match_substring(paths, "/"), pc.binary_join_element_wise(first, "/", ""), ""
    )


def _shorten(found: Origins) -> None:
    """Leaves the largest folders, by bytes."""
    order = sorted(found.by_folder, key=lambda name: (-found.by_folder[name].bytes, name))
    for name in order[_SHOWN_FOLDERS:]:
        rest = found.by_folder.pop(name)
        found.other_folders.add(rest.objects, rest.bytes)
