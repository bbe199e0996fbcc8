"""Restoration of objects from quarantine to their addresses.

Before an object is restored, it is recorded as protected, on condition that no sweep is about to
remove it. No sweep removes a protected object, so that there is time to reference it. A restoration
can be repeated after a failure at any point, and by several processes concurrently.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import NamedTuple

import msgspec

from anabranch.blocks.contract import BlockStore
from anabranch.blocks.quarantine import Quarantine
from anabranch.errors import Conflict, NotFound
from anabranch.pipelines.garbage.addresses.namespace import Namespace, to_namespace
from anabranch.pipelines.garbage.sweeping.quarantine_files import (
    Part,
    QuarantinedObject,
    QuarantinedRun,
    QuarantineFiles,
)
from anabranch.pipelines.garbage.sweeping.removal import (
    STORE_THREADS,
    require_quarantine,
    to_removals,
)
from anabranch.pipelines.garbage.totals import ObjectTotals
from anabranch.pipelines.jobs.parallel_map import parallel_map
from anabranch.versioning.core import Core

__all__ = ["PROTECTION_SECONDS", "Restoration", "Restorer"]

PROTECTION_SECONDS = 7 * 24 * 3600.0
"""The time for which no sweep removes a restored object, even if nothing references it."""

_BATCH_SIZE = 1000
_MAX_LISTED = 1000


class Restoration(msgspec.Struct, kw_only=True):
    """The result of a restoration. `present` objects were restored before, or never removed. The
    addresses of objects that could not be restored are in `replaced`, where another object has the
    address and is kept; in `gone`, where the data was purged; and in `busy`, where a sweep or a
    purge is about to remove the object. Each list has at most a thousand addresses; `failed` is the
    number of all. No sweep removes restored objects before `kept_until`, in seconds since 1970.
    """

    run_id: str
    dry_run: bool = False
    restored: ObjectTotals = msgspec.field(default_factory=ObjectTotals)
    present: int = 0
    failed: int = 0
    replaced: list[str] = msgspec.field(default_factory=list)
    gone: list[str] = msgspec.field(default_factory=list)
    busy: list[str] = msgspec.field(default_factory=list)
    kept_until: int = 0


class _Batch(NamedTuple):
    """Objects of a part; their addresses are relative to `prefix`."""

    prefix: str
    part: Part
    objects: Sequence[QuarantinedObject]


class Restorer:
    """Restores objects from quarantine. `clock` returns seconds since 1970."""

    def __init__(self, core: Core, blocks: BlockStore, *, clock: Callable[[], float]) -> None:
        self._core = core
        self._blocks = blocks
        self._clock = clock

    def runs(self, repository: str) -> list[QuarantinedRun]:
        """Returns the runs that have objects in quarantine, newest first. Raises NotFound."""
        return QuarantineFiles(self._blocks, self._namespace(repository)).runs()

    def objects(
        self, repository: str, run: str, prefixes: Sequence[str] = ()
    ) -> Iterator[tuple[Part, list[QuarantinedObject]]]:
        """Yields the objects of a run that were not restored yet, part by part, limited to
        addresses with one of the prefixes, if any are given. Raises NotFound for a run without
        objects in quarantine.
        """
        files = QuarantineFiles(self._blocks, self._namespace(repository))
        parts = files.parts(run) if run and "/" not in run else []
        if not parts:
            raise NotFound(
                f"{run}: this run has nothing in quarantine",
                kind="quarantine_not_found",
                hint=f"`anabranch gc quarantine lakefs://{repository}` lists the runs that have.",
            )
        restored = files.restored(run)
        for part, objects in files.read_all(parts):
            selected = [
                item
                for item in objects
                if (part.name, item.address) not in restored
                and (not prefixes or item.address.startswith(tuple(prefixes)))
            ]
            if selected:
                yield part, selected

    def restore(
        self, repository: str, run: str, *, prefixes: Sequence[str] = (), dry_run: bool = False
    ) -> Restoration:
        """Restores the objects of a run, limited to addresses with one of the prefixes, if any are
        given. With `dry_run` it changes nothing, and the result counts the objects to restore.
        Raises NotFound for a missing repository or run, and NotSupported if the store does not
        support quarantine.
        """
        namespace = self._namespace(repository)
        quarantine = require_quarantine(self._blocks, namespace)
        files = QuarantineFiles(self._blocks, namespace)
        result = Restoration(run_id=run, dry_run=dry_run)
        if not dry_run:
            result.kept_until = int(self._clock() + PROTECTION_SECONDS)
        for part, objects in self.objects(repository, run, prefixes):
            if dry_run:
                result.restored.add(len(objects), sum(item.size for item in objects))
                continue
            for start in range(0, len(objects), _BATCH_SIZE):
                batch = _Batch(namespace.prefix, part, objects[start : start + _BATCH_SIZE])
                present = self._restore(quarantine, batch, result)
                if present:
                    files.record_restored(part, present)
        return result

    def _namespace(self, repository: str) -> Namespace:
        return to_namespace(self._core.repositories.get(repository), self._blocks)

    def _restore(self, quarantine: Quarantine, batch: _Batch, result: Restoration) -> list[str]:
        """Restores objects; returns the addresses of those that are now at their addresses."""
        owner = self._core.identifiers.xid()
        objects = self._protect(owner, batch, result)
        removals = to_removals(batch.prefix, batch.part, objects)
        outcomes = parallel_map(quarantine.restore, removals, threads=STORE_THREADS)
        present, gone = [], []
        for item, outcome in zip(objects, outcomes, strict=True):
            if outcome in ("restored", "present"):
                present.append(item.address)
            if outcome == "restored":
                result.restored.add(1, item.size)
            elif outcome == "present":
                result.present += 1
            elif outcome == "replaced":
                _add_failure(result, result.replaced, item)
            else:
                gone.append(batch.prefix + item.address)
                _add_failure(result, result.gone, item)
        self._core.restored.release(owner, gone)
        return present

    def _protect(
        self, owner: str, batch: _Batch, result: Restoration
    ) -> Sequence[QuarantinedObject]:
        """Records objects as protected; returns those that no sweep is about to remove."""

        def protect(objects: Sequence[QuarantinedObject]) -> bool:
            try:
                addresses = [batch.prefix + item.address for item in objects]
                self._core.restored.keep(owner, addresses, PROTECTION_SECONDS)
            except Conflict as error:
                if error.kind != "being_removed":
                    raise
                return False
            return True

        if protect(batch.objects):
            return batch.objects
        protected = []
        for item in batch.objects:
            if protect([item]):
                protected.append(item)
            else:
                _add_failure(result, result.busy, item)
        return protected


def _add_failure(result: Restoration, addresses: list[str], item: QuarantinedObject) -> None:
    result.failed += 1
    if len(addresses) < _MAX_LISTED:
        addresses.append(item.address)
