"""The sweep: candidates that have waited long enough are removed, as long as they are still dead.

It goes round by round: the candidates of a round get tombstones, then what lives is looked at
again, and only then is what is still dead removed, batch by batch. It may be stopped anywhere: what
is gone is gone, and the next run finds the rest.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from typing import NamedTuple

import numpy as np
import pyarrow as pa

from anabranch.blocks.contract import BlockStore
from anabranch.pipelines.column_hashes import hash_addresses
from anabranch.pipelines.garbage.addresses.anti_join import is_in
from anabranch.pipelines.garbage.addresses.candidates import CANDIDATES
from anabranch.pipelines.garbage.addresses.namespace import Namespace
from anabranch.pipelines.garbage.fence import Deadline
from anabranch.pipelines.garbage.marking.reachable import Reachability
from anabranch.pipelines.garbage.sweeping.removal import Deletion, Remover
from anabranch.pipelines.jobs.progress import Progress

__all__ = [
    "BATCH",
    "LivenessRecheck",
    "Removed",
    "Rounds",
    "Sweep",
    "next_amount",
]

BATCH = 1000
"""As many as S3 removes in one request."""

_ROUND_SECONDS = 60.0
_GROWTH = 8.0
_LARGEST = 100_000


class Removed(NamedTuple):
    """What became of a batch: `late` objects were left to the next run: their round had ended."""

    objects: int
    size: int
    revived: int
    late: int = 0


class Sweep:
    """Removes candidates, at most `rate` of them a second if that is given; for good unless there
    is another `remover`. `ticks` is a clock that never goes back, in seconds.
    """

    def __init__(
        self,
        blocks: BlockStore,
        namespace: Namespace,
        living: Reachability,
        progress: Progress,
        *,
        sweep: str,
        rate: float | None = None,
        remover: Remover | None = None,
        ticks: Callable[[], float] = time.monotonic,
        sleep: Callable[[float], None] = time.sleep,
    ) -> None:
        self._remover = remover or Deletion(blocks, namespace.stem, sleep)
        self._living = living
        self._progress = progress
        self._fence = living.fence(sweep)
        self._rate = rate
        self._ticks = ticks
        self._sleep = sleep

    def remove(self, batches: Iterator[pa.RecordBatch]) -> Iterator[Removed]:
        """Removes the objects of batches of candidates and yields what was done, batch by batch.
        Raises what a look raises, and what the store does; nothing more is removed then.
        """
        still_dead = LivenessRecheck(self._living)
        rounds = Rounds(batches)
        amount = BATCH
        with self._fence.sweeping():
            while (given := rounds.next(amount)).num_rows:
                began = self._ticks()
                names = given.column("address").to_pylist()
                deadline = self._fence.condemn(names, self._living.mark)
                dead = still_dead.of(given)
                revived = given.num_rows - dead.num_rows
                self._progress.advance(revived)
                yield from self._round(dead, revived, deadline, began)
                self._fence.spare()
                amount = next_amount(amount, self._ticks() - began, self._rate)

    def _round(
        self, dead: pa.RecordBatch, revived: int, deadline: Deadline, began: float
    ) -> Iterator[Removed]:
        done = 0
        for start in range(0, max(1, dead.num_rows), BATCH):
            batch = dead.slice(start, BATCH)
            self._progress.advance(batch.num_rows)
            if deadline.passed():
                yield Removed(0, 0, revived if not start else 0, batch.num_rows)
                continue
            ready = self._remover.prepare(batch)
            if deadline.passed():
                self._remover.drop(ready)
                yield Removed(0, 0, revived if not start else 0, batch.num_rows)
                continue
            with self._fence.removing():
                self._remover.remove(ready, deadline)
            done += batch.num_rows
            yield Removed(ready.objects, ready.size, revived if not start else 0)
            if self._rate and done:
                self._sleep(max(0.0, done / self._rate - (self._ticks() - began)))


def next_amount(amount: int, seconds: float, rate: float | None = None) -> int:
    """Returns how many objects a round is to have, after one of so many in so many seconds: as many
    as take a minute, which the looks before each round then do not slow down. `rate` is in objects
    a second.
    """
    faster = amount * min(_ROUND_SECONDS / max(seconds, 0.001), _GROWTH)
    most = _LARGEST if rate is None else rate * _ROUND_SECONDS
    return max(1, int(min(faster, most, _LARGEST)))


class LivenessRecheck:
    """Which candidates no look has found alive since the marking."""

    def __init__(self, living: Reachability) -> None:
        self._living = living
        self._marked = len(living.hashes)

    def of(self, batch: pa.RecordBatch) -> pa.RecordBatch:
        """Returns those of a batch."""
        hashes = hash_addresses(batch.column("address"))
        alive = np.zeros(batch.num_rows, np.bool_)
        for found in self._living.hashes[self._marked :]:
            alive |= is_in(hashes, found)
        return batch.filter(pa.array(~alive))


class Rounds:
    """Batches of candidates, taken in amounts."""

    def __init__(self, batches: Iterator[pa.RecordBatch]) -> None:
        self._batches = batches
        self._left = pa.RecordBatch.from_pylist([], schema=CANDIDATES)

    def next(self, amount: int) -> pa.RecordBatch:
        """Returns so many rows, fewer at the end."""
        found, rows = [self._left], self._left.num_rows
        while rows < amount and (batch := next(self._batches, None)) is not None:
            found.append(batch)
            rows += batch.num_rows
        (together,) = pa.Table.from_batches(found).combine_chunks().to_batches() or [self._left]
        self._left = together[amount:]
        return together[:amount]
