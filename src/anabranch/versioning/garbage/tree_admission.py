"""Trees that a commit takes from elsewhere, not from staged changes or another commit: those of
imports and of callers, and the layers of images that are listed in the store.

Their objects may be any, those included that garbage collection is about to remove. While a sweep
is under way, such a tree may bring in no object that is stored in a repository's own data. Where a
sweep has begun since the tree was read, such objects must be there still.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from itertools import islice

from anabranch.blocks.contract import BlockStore
from anabranch.errors import Conflict, Invalid
from anabranch.model.entry import physical_address
from anabranch.model.names import decode_key
from anabranch.model.repository import Repository
from anabranch.versioning.garbage.sweeps import SweepRecords
from anabranch.versioning.records.entries import entry_from
from anabranch.versioning.staging.extra_writes import ExtraWrites
from anabranch.versioning.trees import Trees

__all__ = ["TreeAdmission", "is_collectable"]

_PAGE = 1000
_THREADS = 8
_MAX_CHECKED = 100_000
"""So many objects at most are looked up in the store for one commit."""
_OURS = re.compile(r"(?:^|/)data/[0-9a-v]{20}/[0-9a-v]{20}(?:,[\w-]+)?$")
"""What can be collected: addresses as they are made for uploads."""


def is_collectable(address: str) -> bool:
    """Returns whether garbage collection may remove the object at an address."""
    return _OURS.search(address) is not None


class TreeAdmission:
    """Decides on commits of such trees."""

    def __init__(self, sweeps: SweepRecords, trees: Trees, blocks: BlockStore) -> None:
        self._sweeps = sweeps
        self._trees = trees
        self._blocks = blocks

    def admit(
        self, repository: Repository, head: str, metarange_id: str, since: int | None = None
    ) -> ExtraWrites:
        """Decides on the commit of a tree over the tree of a branch's head. `since` is how many
        sweeps had begun when the tree was read, if that is known.

        Raises Conflict: sweep_under_way where it brings in an object that may be collected;
        swept_meanwhile where it brings in one that is not there, and a sweep has begun since.
        """
        names, unchanged = self._sweeps.under_way()
        if names:
            for path, _ in self._collectable(repository, head, metarange_id):
                raise _sweep_under_way(path)
        elif since is not None and self._sweeps.begun() != since:
            self._require_stored(repository, head, metarange_id)
        return (), (unchanged,)

    def admit_object(self, path: str) -> ExtraWrites:
        """Decides on a tree that brings in an object that may be collected, at `path`.

        Raises Conflict (kind sweep_under_way) while a sweep is under way.
        """
        names, unchanged = self._sweeps.under_way()
        if names:
            raise _sweep_under_way(path)
        return (), (unchanged,)

    def _require_stored(self, repository: Repository, head: str, metarange_id: str) -> None:
        """Raises Conflict for a changed object that can be collected and is not there."""
        found = self._collectable(repository, head, metarange_id)
        checked = 0
        with ThreadPoolExecutor(_THREADS) as pool:
            while page := list(islice(found, _PAGE)):
                checked += len(page)
                if checked > _MAX_CHECKED:
                    raise _swept_meanwhile(f"over {_MAX_CHECKED} objects may have been removed")
                stored = pool.map(self._is_stored, (address for _, address in page))
                for (path, _), is_stored in zip(page, stored, strict=True):
                    if not is_stored:
                        raise _swept_meanwhile(f"the object of {path} was removed")

    def _is_stored(self, address: str) -> bool:
        """Returns whether an object is stored at an address; what is in another store is not ours
        to remove.
        """
        try:
            kept = self._blocks.unqualify(address)
        except Invalid:
            return True
        return self._blocks.stat(kept) is not None

    def _collectable(
        self, repository: Repository, head: str, metarange_id: str
    ) -> Iterator[tuple[str, str]]:
        """Yields the paths and the full addresses of changed objects that can be collected."""
        before = self._trees.open(repository, head)
        tree = self._trees.open(repository, metarange_id)
        after, more = b"", True
        while more:
            page = self._trees.read(before.diff, tree, after=after, amount=_PAGE)
            for _, key, _, value in page.rows:
                after = key
                if value is None:
                    continue
                entry = entry_from(value)
                if is_collectable(entry.address):
                    yield (
                        decode_key(key),
                        physical_address(
                            repository.storage_namespace, entry.address, entry.address_type
                        ),
                    )
            more = page.has_more


def _swept_meanwhile(reason: str) -> Conflict:
    return Conflict(
        f"garbage collection has removed objects since the import began: {reason}",
        kind="swept_meanwhile",
        hint="Import again what is there now.",
    )


def _sweep_under_way(path: str) -> Conflict:
    return Conflict(
        f"garbage collection is removing objects, and {path} may be one of them",
        kind="sweep_under_way",
        hint="Try again when it is over.",
    )
