"""Processes that work on one lake and take turns, each with a clock of its own."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from anabranch.library import Lake
from anabranch.pipelines.garbage.collector import Collector
from anabranch.testing.lake import Clock
from anabranch.testing.stores import FaultyBlocks, FaultyStore
from anabranch.versioning.garbage.sweeps import MAX_REMOVAL_SECONDS
from support.sweep_machine.stepped_process import SteppedProcess

__all__ = ["LakeProcess", "WaitlessTime"]


class WaitlessTime:
    """Replaces the module `time` in a test that moves the clock itself: no call waits."""

    def __init__(self, clock: Callable[[], float]) -> None:
        self.time = self.monotonic = clock

    def sleep(self, seconds: float) -> None:
        """Returns at once."""


class LakeProcess(SteppedProcess):
    """A process that does `act` with a lake over the stores of another, a server's request or a
    collector's run. Its `clock` is ahead of the other's by so many seconds; it is not resumed more
    than `lives` seconds after it began.
    """

    def __init__(
        self,
        lake: Lake,
        folder: Path,
        clock: Clock,
        act: Callable[[LakeProcess], object],
        *,
        ahead: float = 0.0,
        lives: float,
    ) -> None:
        super().__init__(lambda: act(self))
        self._clock = clock
        self._ahead = ahead
        self._begun = self._asked = clock.now
        self._lives = lives
        self._folder = folder
        self.lake = Lake(
            FaultyStore(lake.keyvalue, self.before),
            FaultyBlocks(lake.blocks, self.before),
            cache_folder=folder / "cache",
            signing_secret=b"a secret of tests",
            clock=self.clock,
        )

    def clock(self) -> float:
        """Returns the time by the process' clock."""
        return self._clock.now + self._ahead

    @property
    def collector(self) -> Collector:
        """A collector of the lake."""
        lake = self.lake
        return Collector(lake.core, lake.blocks, self._folder / "gc", clock=self.clock)

    @property
    def operation(self) -> str:
        """The operation that it stopped ahead of, the empty string before the first."""
        return self.step.operation if self.step else ""

    def resume(self, failure: Exception | None = None) -> None:
        """Takes a step, as `advance` does; a process that was suspended for too long is killed. A
        store that was asked to remove something does so within three hours, or not at all.
        """
        now, operation = self._clock.now, self.operation
        late = operation == "delete" and now - self._asked > MAX_REMOVAL_SECONDS
        if late or now - self._begun > self._lives:
            self.kill()
            return
        self.advance(failure)
        if not operation == self.operation == "delete":
            self._asked = now
