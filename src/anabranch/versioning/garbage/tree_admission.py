"""Checks of trees that come neither from staged changes nor from another commit: those of imports,
those that callers upload, and image layers listed from the store.

Such a tree can contain any object, including those that garbage collection is about to remove.
While a sweep runs, it must not add objects that are stored in a repository's own data folder. If a
sweep was under way when the tree was read, or has begun since, such objects must still exist.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from itertools import islice

from anabranch.blocks.contract import BlockStore
from anabranch.errors import Conflict, Invalid
from anabranch.model.names import decode_key
from anabranch.model.repositories.repository import Repository
from anabranch.model.tables.table_record import is_record_path
from anabranch.versioning.garbage.record_admission import (
    RecordAdmission,
    RecordChange,
    written_rows,
)
from anabranch.versioning.garbage.sweeps import SweepRecords
from anabranch.versioning.records.entries import entry_from
from anabranch.versioning.staging.extra_writes import ExtraWrites
from anabranch.versioning.trees.trees import Trees

__all__ = ["TreeAdmission", "is_collectable"]

_PAGE = 1000
_THREADS = 8
_MAX_EXISTENCE_CHECKS = 100_000
"""The largest number of objects of one commit that are looked up in the store."""
_COLLECTABLE = re.compile(
    r"(?:^|/)(?:data/[0-9a-v]{20}/[0-9a-v]{20}(?:,[\w-]+)?$|tables/[0-9a-f]{32}/)"
)
"""Addresses that can be removed: those that are generated for uploads, and those of files of tables
of the Iceberg catalog.
"""


def is_collectable(address: str) -> bool:
    """Returns whether garbage collection or a purge may remove the object at an address."""
    return _COLLECTABLE.search(address) is not None


class TreeAdmission:
    """Returns the conditions for commits of such trees, or rejects them."""

    def __init__(
        self, sweeps: SweepRecords, trees: Trees, blocks: BlockStore, records: RecordAdmission
    ) -> None:
        self._sweeps = sweeps
        self._trees = trees
        self._blocks = blocks
        self._records = records

    def admit(
        self, repository: Repository, head: str, metarange_id: str, since: int | None = None
    ) -> ExtraWrites:
        """Returns the conditions for committing a tree on top of the tree of a branch's head.
        `since` is the number of sweeps that had ended when the tree was read, if known.

        Raises Conflict: kind sweep_under_way if the tree adds an object that can be collected while
        a sweep runs; kind swept_meanwhile if it adds a missing one and a sweep ran meanwhile.
        """
        sweep_ids, unchanged = self._sweeps.running()
        if sweep_ids:
            for each in self._collectable(repository, head, metarange_id):
                raise _sweep_under_way(each.path)
        elif since is not None and self._sweeps.begun_count() != since:
            missing = self.missing_object(repository, head, metarange_id)
            if missing:
                raise Conflict(
                    f"garbage collection has removed objects since the import began: {missing}",
                    kind="swept_meanwhile",
                    hint="Repeat the import.",
                )
        return (), (unchanged,)

    def admit_object(self, path: str, since: int) -> ExtraWrites:
        """Returns the conditions for committing a tree that adds a collectable object at `path`.
        `since` is the number of sweeps that had ended when the object was listed.

        Raises Conflict: kind sweep_under_way while a sweep runs, kind swept_meanwhile if one has
        run meanwhile.
        """
        sweep_ids, unchanged = self._sweeps.running()
        if sweep_ids:
            raise _sweep_under_way(path)
        if self._sweeps.begun_count() != since:
            raise Conflict(
                f"garbage collection may have removed {path} since it was listed",
                kind="swept_meanwhile",
                hint="Build the image again.",
            )
        return (), (unchanged,)

    def missing_object(
        self, repository: Repository, head: str, metarange_id: str, prefix: bytes = b""
    ) -> str:
        """Returns which object that a tree has under a prefix, and the tree `head` has not, is
        missing in the store, or which file of a table whose record is one of these, as a phrase; ""
        if all are stored. Only objects that can be collected are looked up, at most
        MAX_EXISTENCE_CHECKS.
        """
        changed = self._collectable(repository, head, metarange_id, prefix)
        checked = 0
        with ThreadPoolExecutor(_THREADS) as pool:
            while page := list(islice(changed, _PAGE)):
                checked += len(page)
                if checked > _MAX_EXISTENCE_CHECKS:
                    return f"over {_MAX_EXISTENCE_CHECKS} objects may have been removed"
                namespace = repository.storage_namespace
                addresses = [each.after.full_address(namespace) for each in page]
                stored = pool.map(self._is_stored, addresses)
                for each, is_stored in zip(page, stored, strict=True):
                    if not is_stored:
                        return f"the object of {each.path} was removed"
                    if is_record_path(each.path):
                        missing = self._records.missing_file(repository, each)
                        if missing:
                            return missing
        return ""

    def _is_stored(self, address: str) -> bool:
        """Returns whether an object exists at an address. Objects of other stores count as existing
        because garbage collection does not remove them.
        """
        try:
            relative = self._blocks.unqualify(address)
        except Invalid:
            return True
        return self._blocks.stat(relative) is not None

    def _collectable(
        self, repository: Repository, head: str, metarange_id: str, prefix: bytes = b""
    ) -> Iterator[RecordChange]:
        """Yields the changed objects that can be collected, and all records of tables."""
        for key, old, new in written_rows(self._trees, repository, head, metarange_id, prefix):
            entry, path = entry_from(new), decode_key(key)
            if is_collectable(entry.address) or is_record_path(path):
                yield RecordChange(path, None if old is None else entry_from(old), entry)


def _sweep_under_way(path: str) -> Conflict:
    return Conflict(
        f"garbage collection is removing objects, and {path} may be one of them",
        kind="sweep_under_way",
        hint="Try again when it is over.",
    )
