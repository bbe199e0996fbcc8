"""The purge of a storage namespace: removes the data of a deleted repository for good.

It is fenced like a sweep of garbage collection (`versioning.garbage.sweeps`): in rounds of about a
minute it writes tombstones of the objects, which no reference can be made to from then on, searches
all references again, and only then removes the objects. Its claim on the namespace keeps new
repositories away (`versioning.records.left_namespaces`), and is renewed before each round.

Only what Anabranch and lakeFS store for a repository is removed: objects at generated addresses,
files of tables of the Iceberg catalog, tables of commits and records. The file that marks the
namespace as used is removed last, so that a purge that was killed can be started again, and none of
the namespace is free before all of it is.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from itertools import islice
from typing import NamedTuple

from anabranch.blocks.contract import BlockInfo, BlockStore
from anabranch.blocks.quarantine import Removal
from anabranch.catalog.repositories.repositories import MARK_KEY
from anabranch.errors import AnabranchError, Busy
from anabranch.model.repositories.purge import LeftNamespace, PurgeResult
from anabranch.model.tables.table_area import is_area_file
from anabranch.pipelines.garbage.addresses.namespace import to_namespace
from anabranch.pipelines.garbage.fence import Fence
from anabranch.pipelines.garbage.installations.stored import StoredInstallation
from anabranch.pipelines.garbage.sweeping.quarantine_files import QuarantineFiles
from anabranch.pipelines.garbage.sweeping.removal import STORE_THREADS, delete_with_backoff
from anabranch.pipelines.garbage.sweeping.sweep import BATCH_SIZE, RoundSizes
from anabranch.pipelines.jobs.parallel_map import parallel_map
from anabranch.pipelines.purges.references import (
    FOLDERS,
    NamespaceReferences,
    deleted_repository,
    deletions_in,
)
from anabranch.versioning.core import Core
from anabranch.versioning.garbage.tree_admission import is_collectable

__all__ = ["purge_namespace"]

_DATA, _TABLES, _AREAS = FOLDERS
_ADDRESS_SEGMENTS = 3
_DAY = 24 * 3600.0


class _Removed(NamedTuple):
    objects: int = 0
    bytes: int = 0


def purge_namespace(
    core: Core,
    blocks: BlockStore,
    left: LeftNamespace,
    delete: Callable[[], LeftNamespace],
    *,
    advance: Callable[[int], None],
    clock: Callable[[], float],
    ticks: Callable[[], float] = time.monotonic,
) -> PurgeResult:
    """Removes the data in a storage namespace. `delete` deletes its repository, unless that is
    deleted already, and returns the record of the namespace; it is called if nothing else refers to
    the data. `advance` is called with numbers of removed objects, and may raise. `clock` returns
    seconds since 1970, `ticks` seconds of a monotonic clock.

    Raises Conflict (kind namespace_in_use) if anything refers to the data, and the errors of
    `delete` and the store. What was not removed is left to the next purge.
    """
    records, token, purge = core.repositories.left, core.identifiers.xid(), None
    records.claim(left.storage_namespace, token)
    try:
        references = NamespaceReferences(core, blocks, left, lambda _: advance(0))
        references.require_none()
        deleted = delete()
        references.require_deleted()
        for each in deletions_in(core, left.storage_namespace):
            core.repositories.forget(each)
        purge = _NamespacePurge(
            *(core, blocks, deleted, token, references),
            advance=advance,
            clock=clock,
            ticks=ticks,
        )
        return purge.run()
    finally:
        # a request to the store that has failed may still take effect: then the claim expires
        if purge is None or not purge.is_removing:
            records.release(left.storage_namespace, token)


class _NamespacePurge:
    """Purges the namespace of a deleted repository, which the caller has claimed with `token`."""

    def __init__(
        self,
        core: Core,
        blocks: BlockStore,
        left: LeftNamespace,
        token: str,
        references: NamespaceReferences,
        *,
        advance: Callable[[int], None],
        clock: Callable[[], float],
        ticks: Callable[[], float],
    ) -> None:
        self._core = core
        self._blocks = blocks
        self._left = left
        self._token = token
        self._references = references
        self._advance = advance
        self._clock = clock
        self._ticks = ticks
        self.is_removing = False
        """Whether a request to remove objects is under way, or has failed."""
        repository = deleted_repository(left)
        self._namespace = to_namespace(repository, blocks)
        self._partition = repository.partition
        self._fence = Fence(
            StoredInstallation(core, blocks), repository, self._namespace.prefix, token
        )

    def run(self) -> PurgeResult:
        """Removes the data, and then the record that they are there."""
        with self._fence.register():
            self._references.require_none()
            self._abort_uploads()
            objects = self._remove_all(_DATA, _is_object)
            files = self._remove_all(_AREAS, is_area_file)
            self._purge_quarantine()
            tables = self._remove_all(_TABLES, lambda name: name != MARK_KEY)
            kept = sum(1 for folder in (_DATA, _AREAS) for _ in self._list(folder))
            self._core.repositories.left.renew(self._left.storage_namespace, self._token)
            with self._track_removal():
                self._blocks.delete([self._namespace.prefix + MARK_KEY])
        self._core.repositories.left.forget(self._left)
        return PurgeResult(
            storage_namespace=self._left.written_namespace,
            repository=self._left.repository,
            objects=objects.objects + files.objects,
            bytes=objects.bytes + files.bytes,
            tables=tables.objects,
            kept=kept,
        )

    def _remove_all(self, folder: str, is_removable: Callable[[str], bool]) -> _Removed:
        """Removes what is removable in a folder, until a listing has nothing more of it."""
        total = _Removed()
        while True:
            removed, left_over = self._remove_once(folder, is_removable)
            total = _Removed(total.objects + removed.objects, total.bytes + removed.bytes)
            if not removed.objects and left_over:
                raise Busy(
                    f"{left_over:,} objects of {self._left.written_namespace} could not be removed "
                    "in time",
                    kind="storage_failed",
                    hint="Start the purge again.",
                )
            if not removed.objects:
                return total

    def _remove_once(
        self, folder: str, is_removable: Callable[[str], bool]
    ) -> tuple[_Removed, int]:
        """Removes what one listing has; returns it, and the number of objects that are left because
        the deadline of their round has passed.
        """
        removed, left_over, amount = _Removed(), 0, BATCH_SIZE
        infos = (info for info in self._list(folder) if is_removable(self._name(info)))
        while batch := list(islice(infos, amount)):
            began = self._ticks()
            self._core.repositories.left.renew(self._left.storage_namespace, self._token)
            names = [self._name(info) for info in batch]
            deadline = self._fence.begin_round(names, self._references.require_none)
            for start in range(0, len(batch), BATCH_SIZE):
                part = batch[start : start + BATCH_SIZE]
                if deadline.passed():
                    left_over += len(part)
                    continue
                with self._track_removal():
                    delete_with_backoff(self._blocks, [info.address for info in part], deadline)
                size = sum(info.size for info in part)
                removed = _Removed(removed.objects + len(part), removed.bytes + size)
                self._advance(len(part))
            self._fence.end_round()
            amount = RoundSizes(BATCH_SIZE).next(amount, self._ticks() - began)
        return removed, left_over

    @contextmanager
    def _track_removal(self) -> Iterator[None]:
        """Is entered during a removal; `is_removing` stays set if it fails."""
        self.is_removing = True
        with self._fence.track_removal():
            yield
        self.is_removing = False

    def _list(self, folder: str) -> Iterator[BlockInfo]:
        return self._blocks.list(self._namespace.prefix + folder)

    def _name(self, info: BlockInfo) -> str:
        return info.address.removeprefix(self._namespace.prefix)

    def _abort_uploads(self) -> None:
        """Removes the parts of uploads that the deletion of the repository has ended."""
        for upload in list(self._core.uploads.all()):
            if upload.partition == self._partition:
                with suppress(AnabranchError):
                    self._blocks.abort_upload(upload.block, upload.id)
                if is_area_file(upload.address):  # the deletion of the repository has not ended it
                    self._core.uploads.forget_in_area(upload.id, upload.block)

    def _purge_quarantine(self) -> None:
        """Removes what sweeps have put into quarantine, of which no reference was found either."""
        quarantine = self._blocks.quarantine
        if quarantine is None:
            return
        files = QuarantineFiles(self._blocks, self._namespace)
        before = self._clock() + _DAY
        for part, objects in files.read_all(files.parts()):
            removals = [
                Removal(self._namespace.prefix, item.address, part.batch, item.version)
                for item in objects
            ]
            with self._track_removal():
                for _ in parallel_map(
                    lambda removal: quarantine.purge(removal, before),
                    removals,
                    threads=STORE_THREADS,
                ):
                    pass
            self._advance(0)


def _is_object(name: str) -> bool:
    """Returns whether a name is a generated address, and not one in a folder below the data."""
    return name.count("/") == _ADDRESS_SEGMENTS - 1 and is_collectable(name)
