"""The purge: what has been in quarantine for its time is removed for good.

It is fenced as a sweep is: objects get tombstones, so that nothing can restore them anew, then what
lives is looked at, and only then are they removed. An object that something refers to and that is
missing at its address is kept in quarantine, however long it has been there.
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
from anabranch.pipelines.column_hashes import Hashes, hash_addresses
from anabranch.pipelines.garbage.addresses.anti_join import is_in
from anabranch.pipelines.garbage.addresses.namespace import Namespace
from anabranch.pipelines.garbage.fence import Deadline
from anabranch.pipelines.garbage.marking.missing import CLOCK_SECONDS
from anabranch.pipelines.garbage.marking.reachable import Reachability
from anabranch.pipelines.garbage.object_totals import ObjectTotals
from anabranch.pipelines.garbage.sweeping.quarantine_files import Held, Part, QuarantineFiles
from anabranch.pipelines.garbage.sweeping.removal import STORE_THREADS
from anabranch.pipelines.garbage.sweeping.sweep import BATCH, next_amount
from anabranch.pipelines.jobs.parallel_map import parallel_map
from anabranch.pipelines.jobs.progress import Progress

__all__ = ["Purge", "Purged"]


class Purged(msgspec.Struct):
    """What a purge did: `kept` objects were there for their time, but something refers to them, or
    they were removed again since.
    """

    purged: ObjectTotals = msgspec.field(default_factory=ObjectTotals)
    kept: int = 0


class _Object(NamedTuple):
    """An object in quarantine."""

    part: Part
    held: Held


class Purge:
    """Purges the quarantine of a namespace on behalf of the run `sweep`; `now`, in seconds since
    1970, decides whose time is over. `living` knows all that lives, or nothing yet. `ticks` is a
    clock that never goes back, in seconds.
    """

    def __init__(
        self,
        blocks: BlockStore,
        namespace: Namespace,
        living: Reachability,
        progress: Progress,
        *,
        sweep: str,
        now: float,
        ticks: Callable[[], float] = time.monotonic,
    ) -> None:
        self._blocks = blocks
        self._stem = namespace.stem
        self._files = QuarantineFiles(blocks, namespace)
        self._living = living
        self._fence = living.fence(sweep)
        self._progress = progress
        self._now = now
        self._ticks = ticks

    def run(self) -> Purged:
        """Purges what has been in quarantine for its time, and an hour longer, as clocks may
        differ; returns what was done. Raises what a look raises, and what the store does.
        """
        done = Purged()
        parts = self._files.parts()
        ended = [part for part in parts if part.until + CLOCK_SECONDS <= self._now]
        if self._blocks.quarantine is None or not ended:
            return done
        self._progress.begin("purging the quarantine", 0)
        amount = BATCH
        with self._fence.sweeping():
            while ended:
                began = self._ticks()
                round_, ended = self._take(ended, amount)
                names = list(dict.fromkeys(each.held.address for each in round_))
                deadline = self._fence.condemn(names, self._living.mark)
                is_complete = self._round(round_, names, deadline, done)
                self._fence.spare()
                if not is_complete:
                    break
                amount = next_amount(amount, self._ticks() - began)
        return done

    def _take(self, parts: list[Part], amount: int) -> tuple[list[_Object], list[Part]]:
        """Returns the objects of the first parts, so many or a few more, and the other parts."""
        taken: list[_Object] = []
        for number, part in enumerate(parts):
            held = self._files.read(part)
            if taken and len(taken) + len(held) > amount:
                return taken, parts[number:]
            taken += [_Object(part, each) for each in held]
            if not held:
                self._files.remove(part)
        return taken, []

    def _round(
        self, objects: Sequence[_Object], names: Sequence[str], deadline: Deadline, done: Purged
    ) -> bool:
        """Purges objects; returns whether the deadline was kept."""
        needed = self._needed(names)
        kept_parts = {each.part for each in objects if each.held.address in needed}
        done.kept += sum(each.held.address in needed for each in objects)
        purged = [each for each in objects if each.held.address not in needed]
        for start in range(0, len(purged), BATCH):
            if deadline.passed():
                return False
            with self._fence.removing():
                for size in self._purge(purged[start : start + BATCH]):
                    if size is not None:
                        done.purged.add(1, size)
            self._progress.advance(len(purged[start : start + BATCH]))
        for part in dict.fromkeys(each.part for each in objects):
            if part not in kept_parts:
                self._files.remove(part)
        return True

    def _purge(self, objects: Sequence[_Object]) -> Iterator[int | None]:
        """Purges objects and yields the sizes, None where there was nothing left of one."""
        quarantine = self._blocks.quarantine
        assert quarantine is not None  # noqa: S101  run() has looked
        before = self._now - CLOCK_SECONDS

        def purge(each: _Object) -> int | None:
            removal = Removal(self._stem, each.held.address, each.part.batch, each.held.version)
            return quarantine.purge(removal, before)

        return parallel_map(purge, objects, threads=STORE_THREADS)

    def _needed(self, names: Sequence[str]) -> set[str]:
        """Returns the addresses that must stay in quarantine: those that something refers to and
        that are not there, and those that a later part holds, whose time is not over.
        """
        hashes = hash_addresses(pa.array(names, pa.string()))
        later = self._later(hashes)
        alive = np.zeros(len(names), np.bool_)
        for found in self._living.hashes:
            alive |= is_in(hashes, found)
        asked = [name for name, lives in zip(names, alive & ~later, strict=True) if lives]
        stats = parallel_map(
            lambda name: self._blocks.stat(self._stem + name),
            asked,
            threads=STORE_THREADS,
        )
        missing = {name for name, found in zip(asked, stats, strict=True) if found is None}
        return missing | {name for name, kept in zip(names, later, strict=True) if kept}

    def _later(self, hashes: Hashes) -> npt.NDArray[np.bool_]:
        """Returns which hashes are of objects in parts whose time is not over."""
        found = np.zeros(len(hashes), np.bool_)
        parts = [part for part in self._files.parts() if part.until + CLOCK_SECONDS > self._now]
        for _, held in self._files.read_all(parts):
            others = hash_addresses(pa.array([each.address for each in held], pa.string()))
            found |= is_in(hashes, np.sort(others))
        return found
