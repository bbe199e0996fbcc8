"""A repository in memory whose stores do something ahead of any step that they are asked for."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager
from pathlib import Path
from random import Random

import greenlet

from anabranch.blocks.memory import MemoryBlocks
from anabranch.errors import Gone
from anabranch.keyvalue.memory import MemoryStore
from anabranch.library import Lake
from anabranch.model.repositories.retention import RetentionRules
from anabranch.pipelines.garbage.collector import Collector
from anabranch.pipelines.garbage.reports.summary import Summary
from anabranch.pipelines.garbage.run import Run
from anabranch.testing.lake import Clock
from anabranch.testing.stores import FaultyBlocks, FaultyStore
from support.garbage import DAY, commit, put

__all__ = ["Scenario", "Steps", "read_staged_first"]


class Steps:
    """Counts the steps that stores are asked for, and does something ahead of one of them; or has
    several take turns, who switch ahead of steps.
    """

    def __init__(self) -> None:
        self.actors: list[greenlet.greenlet] = []
        self.arm(-1, lambda: None)

    def take_turns(self, chance: Random, actors: Sequence[Callable[[], object]]) -> None:
        """Runs all to their ends. Each runs for some steps before another does."""
        self.actors = [greenlet.greenlet(act) for act in actors]
        while alive := [actor for actor in self.actors if not actor.dead]:
            actor = chance.choice(alive)
            for _ in range(chance.choice((1, 1, 2, 5, 20))):
                if not actor.dead:
                    actor.switch()
        self.actors = []

    def arm(self, number: int, act: Callable[[], object]) -> None:
        """Has something done ahead of the step of that number."""
        self.left, self.act, self.count = number, act, 0

    def __call__(self, _operation: str, _subject: str) -> None:
        current = greenlet.getcurrent()
        if current in self.actors and current.parent is not None:
            current.parent.switch()
        self.count += 1
        if self.left == 0:
            self.left = -1
            self.act()
        self.left -= self.left > 0


class Scenario:
    """A repository with an object that nothing refers to, and a commit that has expired. What can
    be undone is kept for `undo_days`.
    """

    def __init__(self, folder: Path, undo_days: int = 0) -> None:
        self.clock, self.steps = Clock(), Steps()
        keyvalue, blocks = MemoryStore(), MemoryBlocks(clock=self.clock)
        self.lake = Lake(
            FaultyStore(keyvalue, self.steps),
            FaultyBlocks(blocks, self.steps),
            cache_folder=folder / "cache",
            signing_secret=b"a secret of tests",
            clock=self.clock,
            undo_days=undo_days,
        )
        read_staged_first(self.lake)
        lake = self.lake
        lake.repositories.create("sea", "mem://sea")
        lake.garbage_rules.set("sea", RetentionRules(1))
        put(lake, "stays", body=b"stays")
        commit(lake)
        self.left = put(lake, "left", body=b"left")
        self.checksum = lake.objects.stat("sea", "main", "left").entry.checksum
        lake.objects.delete("sea", "main", "left")
        self.object = put(lake, "old", body=b"old")
        self.expired = commit(lake).id
        lake.objects.delete("sea", "main", "old")
        self.removal = commit(lake).id
        put(lake, "new", body=b"new")
        commit(lake)
        lake.branches.create("sea", "side", "main")
        self.clock.advance(3 * DAY)
        self.collector = Collector(lake.core, lake.blocks, folder / "gc", clock=self.clock)

    def mark(self) -> AbstractContextManager[Run]:
        """Marks what is dead, with no window."""
        return self.collector.mark("sea", window_seconds=0)

    def sweep(self) -> Summary:
        """Removes what is dead, with no window, and returns the summary."""
        with self.mark() as run:
            return run.sweep()

    def readable(self, reference: str, path: str) -> bool:
        """Returns whether an object can be read and is what was put there."""
        found = self.lake.objects.open("sea", reference, path)
        try:
            return found.read_bytes() == path.encode()
        except Gone:
            return False


def read_staged_first(lake: Lake) -> None:
    """Has staged changes read before the kernel is entered, which counts for each thread how often
    it has entered the interpreter, and not for each greenlet: no actor may switch in a call back.
    """
    trees = lake.core.trees
    overlaid = trees.overlaid
    trees.overlaid = lambda repository, tree, staged, *folders: overlaid(  # type: ignore[method-assign]
        repository, tree, list(staged), *folders
    )
