"""The sweep, which removes candidates that have waited for the restore window and are still dead.

It proceeds in rounds. In each round it writes tombstones of the candidates, marks reachable
addresses again, and then removes the candidates that are still dead, batch by batch. It can be
interrupted at any time; the next run finds the remaining objects.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from itertools import compress
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
    "BATCH_SIZE",
    "LivenessRecheck",
    "Removed",
    "Rounds",
    "Sweep",
    "next_round_size",
]

BATCH_SIZE = 1000
"""The largest number of objects that S3 removes in one request."""

_ROUND_SECONDS = 60.0
_GROWTH = 8.0
_MAX_ROUND_SIZE = 100_000


class Removed(NamedTuple):
    """The result of a batch: the number of removed objects, and their bytes; `revived` candidates,
    which are reachable again; `late` ones, which are left to the next run because the deadline of
    their round has passed; and those that are `gone`, which another sweep has removed and counts.
    """

    objects: int
    size: int
    revived: int
    late: int = 0
    gone: int = 0


class Sweep:
    """Removes candidates, at most `rate` a second if it is given. Objects are removed permanently
    unless a `remover` is given. `ticks` is a monotonic clock in seconds.
    """

    def __init__(
        self,
        blocks: BlockStore,
        namespace: Namespace,
        reachability: Reachability,
        progress: Progress,
        *,
        sweep: str,
        rate: float | None = None,
        remover: Remover | None = None,
        ticks: Callable[[], float] = time.monotonic,
        sleep: Callable[[float], None] = time.sleep,
    ) -> None:
        self._remover = remover or Deletion(blocks, namespace.prefix, sleep)
        self._reachability = reachability
        self._progress = progress
        self._fence = reachability.fence(sweep)
        self._rate = rate
        self._ticks = ticks
        self._sleep = sleep

    def remove(self, batches: Iterator[pa.RecordBatch]) -> Iterator[Removed]:
        """Removes the candidates that are still dead, and yields the result of each batch. Raises
        the errors of marking and of the store; nothing more is removed then.
        """
        liveness = LivenessRecheck(self._reachability)
        rounds = Rounds(batches)
        amount = BATCH_SIZE
        with self._fence.register():
            while (candidates := rounds.take(amount)).num_rows:
                began = self._ticks()
                names = candidates.column("address").to_pylist()
                deadline = self._fence.begin_round(names, self._reachability.mark)
                dead = liveness.still_dead(candidates)
                revived = candidates.num_rows - dead.num_rows
                self._progress.advance(revived)
                yield from self._round(dead, revived, deadline, began)
                self._fence.end_round()
                amount = next_round_size(amount, self._ticks() - began, self._rate)

    def _round(
        self, dead: pa.RecordBatch, revived: int, deadline: Deadline, began: float
    ) -> Iterator[Removed]:
        done, exist = 0, self._fence.is_alone()
        for start in range(0, max(1, dead.num_rows), BATCH_SIZE):
            batch = dead.slice(start, BATCH_SIZE)
            self._progress.advance(batch.num_rows)
            if deadline.passed():
                yield Removed(0, 0, revived if not start else 0, batch.num_rows)
                continue
            prepared = self._remover.prepare(batch, exist=exist)
            if deadline.passed():
                self._remover.cancel(prepared)
                yield Removed(0, 0, revived if not start else 0, batch.num_rows)
                continue
            with self._fence.track_removal():
                self._remover.remove(prepared, deadline)
            done += batch.num_rows
            counted = self._fence.count_removed(prepared.names)
            size = sum(compress(prepared.sizes, counted))
            gone = batch.num_rows - sum(counted)
            yield Removed(sum(counted), size, revived if not start else 0, gone=gone)
            if self._rate and done:
                self._sleep(max(0.0, done / self._rate - (self._ticks() - began)))


def next_round_size(amount: int, seconds: float, rate: float | None = None) -> int:
    """Returns the number of objects of the next round, given the number and the duration of the
    last round: as many as take about a minute, so that marking before each round costs little.
    `rate` is in objects a second.
    """
    estimate = amount * min(_ROUND_SECONDS / max(seconds, 0.001), _GROWTH)
    limit = _MAX_ROUND_SIZE if rate is None else rate * _ROUND_SECONDS
    return max(1, int(min(estimate, limit, _MAX_ROUND_SIZE)))


class LivenessRecheck:
    """Checks whether candidates have been found reachable since this object was created."""

    def __init__(self, reachability: Reachability) -> None:
        self._reachability = reachability
        self._marked = len(reachability.hashes)

    def still_dead(self, batch: pa.RecordBatch) -> pa.RecordBatch:
        """Returns the candidates of a batch that are still dead."""
        hashes = hash_addresses(batch.column("address"))
        reachable = np.zeros(batch.num_rows, np.bool_)
        for known in self._reachability.hashes[self._marked :]:
            reachable |= is_in(hashes, known)
        return batch.filter(pa.array(~reachable))


class Rounds:
    """Regroups batches of candidates into rounds of given sizes."""

    def __init__(self, batches: Iterator[pa.RecordBatch]) -> None:
        self._batches = batches
        self._rest = pa.RecordBatch.from_pylist([], schema=CANDIDATES)

    def take(self, amount: int) -> pa.RecordBatch:
        """Returns the next `amount` rows, or fewer at the end."""
        batches, rows = [self._rest], self._rest.num_rows
        while rows < amount and (batch := next(self._batches, None)) is not None:
            batches.append(batch)
            rows += batch.num_rows
        (merged,) = pa.Table.from_batches(batches).combine_chunks().to_batches() or [self._rest]
        self._rest = merged[amount:]
        return merged[:amount]
