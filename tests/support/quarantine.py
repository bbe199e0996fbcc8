"""For tests of quarantine: a repository with objects that nothing refers to, in any store, whose
steps can be interrupted.
"""

from __future__ import annotations

import random
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import greenlet

from anabranch.blocks.contract import BlockStore
from anabranch.errors import Gone
from anabranch.keyvalue.memory import MemoryStore
from anabranch.library import Lake
from anabranch.pipelines.garbage.collector import Collector
from anabranch.pipelines.garbage.reports.summary import Summary
from anabranch.pipelines.garbage.run import Run
from anabranch.pipelines.garbage.sweeping.restore import Restorer
from anabranch.testing.lake import Clock
from anabranch.testing.stores import FaultyBlocks, FaultyStore
from anabranch.versioning.garbage.sweeps import CLOCK_SKEW_SECONDS, LEASE_SECONDS
from support.garbage import DAY, commit, put, stored

__all__ = ["NOW", "WEEK", "Killed", "QuarantineScenario", "Steps"]

NOW: Any = {"grace_seconds": -60, "window_seconds": -60}
"""Has all dead objects be removed at once."""

WEEK = 7 * DAY

_BEFORE_SECONDS = 7200
"""So long before a sweep objects are stored: those of the hour before are not reported missing."""


class Killed(BaseException):
    """The end of a process."""


class Steps:
    """Does something ahead of one step that the stores are asked for, or kills the process there;
    or lets several take turns.
    """

    def __init__(self) -> None:
        self._actors: list[greenlet.greenlet] = []
        self.arm(-1)

    def arm(self, number: int, act: Callable[[], object] | None = None) -> None:
        """Acts ahead of the step of this number from now on, from 0, or raises Killed without an
        act; never for -1. `left` is -1 after that.
        """
        self.left, self._act = number, act

    def __call__(self, _operation: str, _subject: str) -> None:
        """Is called ahead of a step."""
        current = greenlet.getcurrent()
        if current in self._actors and current.parent is not None:
            current.parent.switch()
        if self.left == 0:
            self.left = -1
            if self._act is None:
                raise Killed
            self._act()
        self.left -= self.left > 0

    def take_turns(self, chance: random.Random, actors: Sequence[Callable[[], object]]) -> None:
        """Runs all to their ends, each for some steps at a time."""
        self._actors = [greenlet.greenlet(act) for act in actors]
        while living := [actor for actor in self._actors if not actor.dead]:
            actor = chance.choice(living)
            for _ in range(chance.choice((1, 1, 2, 5, 20))):
                if not actor.dead:
                    actor.switch()
        self._actors = []


class QuarantineScenario:
    """A repository `sea` with three objects that nothing refers to, `dead`, and one that stays,
    `kept`, in a namespace of a store. The clock shows the real time until it is moved.
    """

    def __init__(self, folder: Path, blocks: BlockStore, namespace: str) -> None:
        folder.mkdir(parents=True, exist_ok=True)
        self.clock, self.steps = Clock(time.time() - _BEFORE_SECONDS), Steps()
        self.keyvalue, self.namespace, self.folder = MemoryStore(), namespace, folder
        self.blocks = FaultyBlocks(blocks, self.steps)
        self.lake = Lake(
            FaultyStore(self.keyvalue, self.steps),
            self.blocks,
            cache_folder=folder / "cache",
            signing_secret=b"a secret of tests",
            clock=self.clock,
        )
        self.lake.repositories.create("sea", namespace)
        self.dead: dict[str, bytes] = {}
        for number in range(3):
            body = b"dead %d" % number
            self.dead[put(self.lake, "a", body=body)] = body
        self.kept = put(self.lake, "a", body=b"kept")
        commit(self.lake)
        self.clock.advance(_BEFORE_SECONDS)
        self.collector = Collector(
            self.lake.core, self.lake.blocks, folder / "gc", clock=self.clock
        )
        self.restorer = Restorer(self.lake.core, self.lake.blocks, clock=self.clock)

    def mark(self, seconds: float = WEEK) -> Run:
        """Begins a run whose sweep puts objects into quarantine for so long."""
        return self.collector.mark("sea", quarantine_seconds=seconds, **NOW)

    def sweep(self, seconds: float = WEEK) -> Summary:
        """Puts all dead objects into quarantine for so long."""
        with self.mark(seconds) as run:
            return run.sweep()

    def data(self) -> set[str]:
        """Returns the objects that are at their addresses."""
        return {name for name in stored(self.lake, self.namespace) if name.startswith("data/")}

    def read(self, name: str) -> bytes | None:
        """Returns the bytes of an object, None if they are gone."""
        try:
            return self.lake.blocks.read(f"{self.namespace}/{name}")
        except Gone:
            return None

    def stage(self, name: str, path: str = "again") -> None:
        """Refers to an object, whether it is there or not."""
        address = f"{self.namespace}/{name}"
        self.lake.staging.stage("sea", "main", path, address=address, checksum="0" * 32, size=6)

    def end_leases(self) -> None:
        """Lets the time pass after which the records of killed sweeps forbid nothing."""
        self.clock.advance(LEASE_SECONDS + CLOCK_SKEW_SECONDS + 1)
