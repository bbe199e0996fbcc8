"""Restoring objects from quarantine to the addresses where they were.

An object is recorded as kept before it is restored, on condition that no sweep is about to remove
it, so that no sweep removes it again before there has been time to refer to it. All of it may be
repeated after a failure at any point, and by several processes at once.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import NamedTuple

import msgspec

from anabranch.blocks.contract import BlockStore
from anabranch.blocks.quarantine import Quarantine, Removal
from anabranch.errors import Conflict, NotFound
from anabranch.pipelines.garbage.addresses.namespace import Namespace, to_namespace
from anabranch.pipelines.garbage.object_totals import ObjectTotals
from anabranch.pipelines.garbage.sweeping.quarantine_files import (
    Held,
    Part,
    QuarantinedRun,
    QuarantineFiles,
)
from anabranch.pipelines.garbage.sweeping.removal import STORE_THREADS, quarantine_of
from anabranch.pipelines.jobs.parallel_map import parallel_map
from anabranch.versioning.core import Core

__all__ = ["KEPT_SECONDS", "Restoration", "Restorer"]

KEPT_SECONDS = 7 * 24 * 3600.0
"""For so long no sweep removes a restored object, whether something refers to it or not."""

_BATCH = 1000
_LISTED = 1000


class Restoration(msgspec.Struct, kw_only=True):
    """What was restored. Objects that were `present` had been restored before, or never removed.
    `replaced` addresses have another object, which stays; the data of those that are `gone` were
    purged; a sweep or a purge is about to remove those that are `busy`. Of each at most a thousand
    are listed, and `failed` is how many there are. `kept_until` is in seconds since 1970.
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
    """Objects of a part; their addresses are relative to `stem`."""

    stem: str
    part: Part
    held: Sequence[Held]


class Restorer:
    """Restores what runs have in quarantine. `clock` gives seconds since 1970."""

    def __init__(self, core: Core, blocks: BlockStore, *, clock: Callable[[], float]) -> None:
        self._core = core
        self._blocks = blocks
        self._clock = clock

    def runs(self, repository: str) -> list[QuarantinedRun]:
        """Returns the runs that have something in quarantine, the newest first. Raises NotFound."""
        return QuarantineFiles(self._blocks, self._namespace(repository)).runs()

    def objects(
        self, repository: str, run: str, prefixes: Sequence[str] = ()
    ) -> Iterator[tuple[Part, list[Held]]]:
        """Yields the objects of a run that were not restored yet, part by part; those whose address
        begins with one of the prefixes, if there are any. Raises NotFound for a run without a
        quarantine.
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
        for part, held in files.read_all(parts):
            left = [
                each
                for each in held
                if (part.name, each.address) not in restored
                and (not prefixes or each.address.startswith(tuple(prefixes)))
            ]
            if left:
                yield part, left

    def restore(
        self, repository: str, run: str, *, prefixes: Sequence[str] = (), dry_run: bool = False
    ) -> Restoration:
        """Restores the objects of a run whose address begins with one of the prefixes, or all
        without; returns what was done, or would be with `dry_run`. Raises NotFound for a repository
        or a run that is not there, and NotSupported.
        """
        namespace = self._namespace(repository)
        quarantine = quarantine_of(self._blocks, namespace)
        files = QuarantineFiles(self._blocks, namespace)
        done = Restoration(run_id=run, dry_run=dry_run)
        if not dry_run:
            done.kept_until = int(self._clock() + KEPT_SECONDS)
        for part, held in self.objects(repository, run, prefixes):
            if dry_run:
                done.restored.add(len(held), sum(each.size for each in held))
                continue
            for start in range(0, len(held), _BATCH):
                batch = _Batch(namespace.stem, part, held[start : start + _BATCH])
                there = self._restore(quarantine, batch, done)
                if there:
                    files.note_restored(part, there)
        return done

    def _namespace(self, repository: str) -> Namespace:
        return to_namespace(self._core.repositories.get(repository), self._blocks)

    def _restore(self, quarantine: Quarantine, batch: _Batch, done: Restoration) -> list[str]:
        """Restores objects; returns the addresses of those that are there now."""
        owner = self._core.identifiers.xid()
        held = self._keep(owner, batch, done)
        removals = (
            Removal(batch.stem, each.address, batch.part.batch, each.version) for each in held
        )
        outcomes = parallel_map(quarantine.restore, removals, threads=STORE_THREADS)
        there, gone = [], []
        for each, outcome in zip(held, outcomes, strict=True):
            if outcome in ("restored", "present"):
                there.append(each.address)
            if outcome == "restored":
                done.restored.add(1, each.size)
            elif outcome == "present":
                done.present += 1
            elif outcome == "replaced":
                _add(done, done.replaced, each)
            else:
                gone.append(batch.stem + each.address)
                _add(done, done.gone, each)
        self._core.restored.release(owner, gone)
        return there

    def _keep(self, owner: str, batch: _Batch, done: Restoration) -> Sequence[Held]:
        """Records objects as kept; returns those that no sweep is about to remove."""

        def keeps(held: Sequence[Held]) -> bool:
            try:
                addresses = [batch.stem + each.address for each in held]
                self._core.restored.keep(owner, addresses, KEPT_SECONDS)
            except Conflict as error:
                if error.kind != "being_removed":
                    raise
                return False
            return True

        if keeps(batch.held):
            return batch.held
        kept = []
        for each in batch.held:
            if keeps([each]):
                kept.append(each)
            else:
                _add(done, done.busy, each)
        return kept


def _add(done: Restoration, addresses: list[str], held: Held) -> None:
    done.failed += 1
    if len(addresses) < _LISTED:
        addresses.append(held.address)
