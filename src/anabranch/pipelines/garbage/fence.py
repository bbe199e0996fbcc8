"""The fence of a sweep: rounds of objects that cannot be referenced while they are removed.

The objects of a round may be removed until its deadline. The deadline is checked by two clocks,
because a process or a machine may be suspended. Objects that are not removed by then are left for
the next run.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from itertools import islice
from typing import NamedTuple

from anabranch.model.repositories.repository import Repository
from anabranch.pipelines.garbage.installations.installation import Installation
from anabranch.versioning.garbage.removal_counts import NamespaceSweeps

__all__ = ["DEADLINE_SECONDS", "Deadline", "Fence"]

DEADLINE_SECONDS = 600.0
"""The time for which the objects of a round may be removed, from the renewal of the lease. It is
much shorter than the lease (`versioning.garbage.sweeps`), so that clocks may differ.
"""


_TOMBSTONES = 10_000
"""The addresses whose tombstones are written by one call: a round may have millions."""


class Deadline(NamedTuple):
    """The end of a round: by the wall clock, in seconds since 1970, which advances while a machine
    is suspended, and by the monotonic clock, which cannot be set. Both are valid on one machine
    only.
    """

    wall: float
    ticks: float

    @classmethod
    def after(cls, seconds: float) -> Deadline:
        """Returns the deadline a number of seconds from now."""
        return cls(time.time() + seconds, time.monotonic() + seconds)

    def postponed(self, seconds: float) -> Deadline:
        """Returns the deadline that is later by a number of seconds."""
        return Deadline(self.wall + seconds, self.ticks + seconds)

    def left(self) -> float:
        """Returns the seconds that are left by the clock that has advanced more."""
        return min(self.wall - time.time(), self.ticks - time.monotonic())

    def passed(self) -> bool:
        """Returns whether the deadline has passed by either clock."""
        return self.left() < 0


class Fence:
    """The fence of one sweep of a repository. `prefix` is the prefix of its full addresses.
    `before` are the repository's sweeps when the listing of the candidates began, None if unknown.
    """

    def __init__(
        self,
        installation: Installation,
        repository: Repository,
        prefix: str,
        sweep: str,
        before: NamespaceSweeps | None = None,
    ) -> None:
        self._installation = installation
        self._repository = repository
        self._prefix = prefix
        self._sweep = installation.sweep(repository, sweep)
        self._before = before
        self._removal_in_doubt = False
        self._keeps_tombstones = False

    @contextmanager
    def register(self) -> Iterator[None]:
        """Registers the sweep while the context is entered. If the sweep fails during a removal, or
        keeps the tombstones of a round, its records stay until its lease expires, because the store
        may still perform the requested removals.
        """
        self._sweep.begin()
        try:
            yield
        finally:
            if not (self._removal_in_doubt or self._keeps_tombstones):
                self._sweep.end()

    @contextmanager
    def track_removal(self) -> Iterator[None]:
        """Is entered during a removal. If the removal fails, the sweep's records are kept."""
        self._removal_in_doubt = True
        yield
        self._removal_in_doubt = False

    def begin_round(
        self, names: Iterable[str], mark: Callable[[], None], seconds: float = DEADLINE_SECONDS
    ) -> Deadline:
        """Begins a round: renews the lease and writes tombstones of addresses, relative to the
        namespace, which cannot be referenced from then on. Then calls `mark`, which reads all
        references, and records the commits that have expired. Returns the deadline for removing the
        objects that are still dead. Raises Conflict if the lease has expired.
        """
        self._sweep.renew()
        deadline = Deadline.after(seconds)
        remaining = iter(names)
        while addresses := [self._prefix + name for name in islice(remaining, _TOMBSTONES)]:
            self._sweep.add_tombstones(addresses)
        mark()
        # after the pass: a commit that has lost its last reference before it is recorded as well
        self._sweep.record_expired()
        return deadline

    def is_alone(self) -> bool:
        """Returns whether no other sweep of the repository has run since the listing began. After
        `begin_round`, this means that the objects of the round exist.
        """
        if self._before is None or self._before.running:
            return False
        # this one has begun since
        return self._installation.sweeps_of(self._repository).begun == self._before.begun + 1

    def count_removed(self, names: Sequence[str]) -> Sequence[bool]:
        """Returns for each address, relative to the namespace, whether this sweep counts its
        object, which it has found in this round and removed. Another sweep counts the others.
        """
        if not names or self.is_alone():
            return [True] * len(names)
        addresses = [self._prefix + name for name in names]
        return self._sweep.claim_removed(addresses)

    def end_round(self) -> None:
        """Ends a round and removes its tombstones, unless they must be kept."""
        if not self._keeps_tombstones:
            self._sweep.remove_tombstones()

    def keep_tombstones(self) -> None:
        """Keeps all tombstones until the sweep's lease expires, because a late request may still
        remove objects of the round.
        """
        self._keeps_tombstones = True
