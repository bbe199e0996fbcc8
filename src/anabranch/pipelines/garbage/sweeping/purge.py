"""The purge, which permanently removes quarantined objects after their time.

It is fenced like a sweep: it writes tombstones, so that the objects cannot be restored, then marks
reachable addresses, and only then removes the objects. An object that is referenced, but missing at
its address, stays in quarantine without a time limit.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Sequence
from typing import NamedTuple

import msgspec
import numpy as np
import numpy.typing as npt
import pyarrow as pa

from anabranch.blocks.contract import BlockStore
from anabranch.blocks.quarantine import Removal
from anabranch.pipelines.column_hashes import Hashes, distinct, hash_addresses
from anabranch.pipelines.garbage.addresses.anti_join import is_in
from anabranch.pipelines.garbage.addresses.namespace import Namespace
from anabranch.pipelines.garbage.fence import Deadline
from anabranch.pipelines.garbage.marking.reachable import Reachability
from anabranch.pipelines.garbage.sweeping.quarantine_files import (
    Part,
    QuarantinedObject,
    QuarantineFiles,
)
from anabranch.pipelines.garbage.sweeping.removal import STORE_THREADS
from anabranch.pipelines.garbage.sweeping.sweep import BATCH_SIZE, RoundSizes
from anabranch.pipelines.garbage.totals import ObjectTotals
from anabranch.pipelines.jobs.parallel_map import parallel_map
from anabranch.pipelines.jobs.progress import Progress
from anabranch.versioning.garbage.sweeps import CLOCK_SKEW_SECONDS

__all__ = ["Purge", "PurgeResult"]


class PurgeResult(msgspec.Struct):
    """The result of a purge. `kept` is the number of objects whose time has passed, but that are
    still needed: they are referenced, or a later sweep has quarantined them again.
    """

    purged: ObjectTotals = msgspec.field(default_factory=ObjectTotals)
    kept: int = 0


class _Entry(NamedTuple):
    """A quarantined object with its part."""

    part: Part
    object: QuarantinedObject


class Purge:
    """Purges the quarantine of a namespace for the run `sweep`. `now`, in seconds since 1970,
    decides which objects have expired. `reachability` need not be marked yet. If it was marked by
    an engine that keeps the hashes of ranges elsewhere, `run` is given those of the expired
    objects. `ticks` is a monotonic clock in seconds.
    """

    def __init__(
        self,
        blocks: BlockStore,
        namespace: Namespace,
        reachability: Reachability,
        progress: Progress,
        *,
        sweep: str,
        now: float,
        ticks: Callable[[], float] = time.monotonic,
    ) -> None:
        self._blocks = blocks
        self._prefix = namespace.prefix
        self._files = QuarantineFiles(blocks, namespace)
        self._reachability = reachability
        self._fence = reachability.fence(sweep)
        self._progress = progress
        self._now = now
        self._ticks = ticks
        self._reachable_elsewhere = distinct([])

    def expired(self) -> list[Part]:
        """Returns the parts that expired at least CLOCK_SKEW_SECONDS ago, because clocks may
        differ; none if the store has no quarantine.
        """
        if self._blocks.quarantine is None:
            return []
        parts = self._files.parts()
        return [part for part in parts if part.until + CLOCK_SKEW_SECONDS <= self._now]

    def addresses(self, parts: Sequence[Part]) -> list[str]:
        """Returns the full addresses of the files of parts."""
        return [self._files.address(part) for part in parts]

    def run(self, expired: list[Part], reachable_elsewhere: Hashes | None = None) -> PurgeResult:
        """Purges the objects of expired parts. `reachable_elsewhere` are hashes of reachable
        addresses that `reachability` does not have. Raises the errors of marking and of the store.
        """
        result = PurgeResult()
        if not expired:
            return result
        if reachable_elsewhere is not None:
            self._reachable_elsewhere = reachable_elsewhere
        self._progress.begin("purging the quarantine", 0)
        amount = BATCH_SIZE
        with self._fence.register():
            while expired:
                began = self._ticks()
                entries, expired = self._take(expired, amount)
                names = list(dict.fromkeys(entry.object.address for entry in entries))
                deadline = self._fence.begin_round(names, self._reachability.mark)
                is_complete = self._round(entries, names, deadline, result)
                self._fence.end_round()
                if not is_complete:
                    break
                amount = RoundSizes(BATCH_SIZE).next(amount, self._ticks() - began)
        return result

    def _take(self, parts: list[Part], amount: int) -> tuple[list[_Entry], list[Part]]:
        """Returns the objects of the first parts, at most `amount` or those of one part, and the
        other parts. Removes empty parts.
        """
        entries: list[_Entry] = []
        for number, part in enumerate(parts):
            objects = self._files.read(part)
            if entries and len(entries) + len(objects) > amount:
                return entries, parts[number:]
            entries += [_Entry(part, item) for item in objects]
            if not objects:
                self._files.remove(part)
        return entries, []

    def _round(
        self,
        entries: Sequence[_Entry],
        names: Sequence[str],
        deadline: Deadline,
        result: PurgeResult,
    ) -> bool:
        """Purges objects; returns whether it finished before the deadline."""
        needed = self._needed_addresses(names)
        kept_parts = {entry.part for entry in entries if entry.object.address in needed}
        result.kept += sum(entry.object.address in needed for entry in entries)
        purged = [entry for entry in entries if entry.object.address not in needed]
        for start in range(0, len(purged), BATCH_SIZE):
            if deadline.passed():
                return False
            with self._fence.track_removal():
                for size in self._purge(purged[start : start + BATCH_SIZE]):
                    if size is not None:
                        result.purged.add(1, size)
            self._progress.advance(len(purged[start : start + BATCH_SIZE]))
        for part in dict.fromkeys(entry.part for entry in entries):
            if part not in kept_parts:
                self._files.remove(part)
        return True

    def _purge(self, entries: Sequence[_Entry]) -> Iterator[int | None]:
        """Purges objects and yields their sizes, None for one that was already gone."""
        quarantine = self._blocks.quarantine
        assert quarantine is not None  # noqa: S101  run() has checked
        before = self._now - CLOCK_SKEW_SECONDS

        def purge(entry: _Entry) -> int | None:
            address, _, version = entry.object
            return quarantine.purge(
                Removal(self._prefix, address, entry.part.batch, version), before
            )

        return parallel_map(purge, entries, threads=STORE_THREADS)

    def _needed_addresses(self, names: Sequence[str]) -> set[str]:
        """Returns the addresses that must stay in quarantine: those that are referenced but missing
        in the store, and those in a part that has not expired.
        """
        addresses = pa.array(names, pa.string())
        hashes = hash_addresses(addresses)
        unexpired = self._in_unexpired_parts(hashes)
        reachable = self._reachability.tables.protects(addresses)
        for known in (*self._reachability.hashes, self._reachable_elsewhere):
            reachable |= is_in(hashes, known)
        queried = [name for name, flag in zip(names, reachable & ~unexpired, strict=True) if flag]
        infos = parallel_map(
            lambda name: self._blocks.stat(self._prefix + name),
            queried,
            threads=STORE_THREADS,
        )
        missing = {name for name, info in zip(queried, infos, strict=True) if info is None}
        return missing | {name for name, flag in zip(names, unexpired, strict=True) if flag}

    def _in_unexpired_parts(self, hashes: Hashes) -> npt.NDArray[np.bool_]:
        """Returns for each hash whether its object is in a part that has not expired."""
        flags = np.zeros(len(hashes), np.bool_)
        earliest = self._now - CLOCK_SKEW_SECONDS
        parts = [part for part in self._files.parts() if part.until > earliest]
        for _, objects in self._files.read_all(parts):
            others = hash_addresses(pa.array([item.address for item in objects], pa.string()))
            flags |= is_in(hashes, np.sort(others))
        return flags
