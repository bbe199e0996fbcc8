"""The fence of a sweep: rounds in which objects are removed that nothing can refer to anew.

A round lasts as long as its objects may be removed: until a deadline, by which every clock is asked
that may have stood still, since a process or a machine may. What is not removed by then is left to
the next run.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import NamedTuple

from anabranch.model.repository import Repository
from anabranch.pipelines.garbage.installations.installation import Installation

__all__ = ["DEADLINE_SECONDS", "Deadline", "Fence"]

DEADLINE_SECONDS = 600.0
"""For so long after its tombstones were written the objects of a round may be removed; much less
than a lease of `versioning.sweeps`, so that clocks may differ.
"""


class Deadline(NamedTuple):
    """When a round ends: by the clock of the day, in seconds since 1970, which advances while
    a machine is suspended, and by one that cannot be set. The second is of one machine alone.
    """

    wall: float
    ticks: float | None = None

    @classmethod
    def after(cls, seconds: float) -> Deadline:
        """Returns the deadline so many seconds from now."""
        return cls(time.time() + seconds, time.monotonic() + seconds)

    @property
    def elsewhere(self) -> Deadline:
        """The deadline as another machine knows it."""
        return Deadline(self.wall)

    def passed(self) -> bool:
        """Returns whether nothing may be removed any more."""
        by_ticks = self.ticks is not None and time.monotonic() > self.ticks
        return by_ticks or time.time() > self.wall


class Fence:
    """The fence of one sweep of a repository, whose addresses begin with `stem`."""

    def __init__(
        self, installation: Installation, repository: Repository, stem: str, sweep: str
    ) -> None:
        self._installation = installation
        self._repository = repository
        self._stem = stem
        self._sweep = sweep
        self._in_doubt = False
        self._left = False

    @contextmanager
    def sweeping(self) -> Iterator[None]:
        """Enters the sweep. When it fails while it removes something, or has left a round, its
        records stay until its lease ends, for what it has asked the store to remove may yet be
        removed.
        """
        self._installation.begin_sweep(self._repository, self._sweep)
        try:
            yield
        finally:
            if not (self._in_doubt or self._left):
                self._installation.end_sweep(self._repository, self._sweep)

    @contextmanager
    def removing(self) -> Iterator[None]:
        """Is entered while the store removes something."""
        self._in_doubt = True
        yield
        self._in_doubt = False

    def condemn(
        self, names: Sequence[str], look: Callable[[], None], seconds: float = DEADLINE_SECONDS
    ) -> Deadline:
        """Begins a round: from now on nothing can refer anew to the objects of these names, which
        are relative to the namespace. Then calls `look`, which reads what refers to anything, and
        returns until when those may be removed that are still dead. Raises Conflict if the sweep
        has lost its lease.
        """
        self._installation.renew_sweep(self._repository, self._sweep)
        deadline = Deadline.after(seconds)
        stem = self._stem
        self._installation.condemn(self._repository, self._sweep, [stem + name for name in names])
        look()
        return deadline

    def spare(self) -> None:
        """Ends a round."""
        if not self._left:
            self._installation.spare(self._repository, self._sweep)

    def leave(self) -> None:
        """Ends a round of which objects are left that something may yet remove: their tombstones
        stay until the lease of the sweep ends.
        """
        self._left = True
