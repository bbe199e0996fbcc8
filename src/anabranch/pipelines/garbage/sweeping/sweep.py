"""The sweep, which removes candidates that have waited for the restore window and are still dead.

It proceeds in rounds. In each round it writes tombstones of the candidates, marks reachable
addresses again, and then removes the candidates that are still dead: batch by batch in this
process, or in tasks of a cluster. It can be interrupted at any time; the next run finds the
remaining objects.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from itertools import compress
from typing import NamedTuple, Protocol

import pyarrow as pa

from anabranch.pipelines.column_hashes import hash_addresses
from anabranch.pipelines.garbage.addresses.anti_join import is_in
from anabranch.pipelines.garbage.addresses.candidates import CANDIDATES
from anabranch.pipelines.garbage.fence import Deadline, Fence
from anabranch.pipelines.garbage.marking.reachable import Reachability
from anabranch.pipelines.garbage.sweeping.removal import Remover
from anabranch.pipelines.jobs.progress import Progress

__all__ = [
    "BATCH_SIZE",
    "RemovalInBatches",
    "Removed",
    "Round",
    "RoundRemover",
    "RoundSizes",
    "Sweep",
]

BATCH_SIZE = 1000
"""The largest number of objects that S3 removes in one request."""

_ROUND_SECONDS = 60.0


class Removed(NamedTuple):
    """The result of a batch: the number of removed objects, and their bytes; `revived` candidates,
    which are reachable again; `late` ones, which are left to the next run because the deadline of
    their round has passed; and those that are `gone`, which another sweep has removed and counts.
    """

    objects: int
    size: int
    revived: int = 0
    late: int = 0
    gone: int = 0


class Round(NamedTuple):
    """The candidates of a round that are still `dead`, and the deadline for removing them. `began`
    is when the round began, by a monotonic clock in seconds.
    """

    dead: pa.RecordBatch
    deadline: Deadline
    fence: Fence
    began: float


class RoundSizes(NamedTuple):
    """The sizes of rounds: of the first one, the largest ones, and the largest factor between one
    and the next. `rate` is the largest number of objects a second, `shortest` the seconds that a
    round takes at least.
    """

    first: int
    rate: float | None = None
    maximum: int = 100_000
    growth: float = 8.0
    shortest: float = 0.001

    def next(self, amount: int, seconds: float) -> int:
        """Returns the number of objects of the next round, given the number and the duration of the
        last removal: as many as take about a minute, so that marking before each costs little.
        """
        estimate = amount * min(_ROUND_SECONDS / max(seconds, self.shortest), self.growth)
        limit = self.maximum if self.rate is None else self.rate * _ROUND_SECONDS
        return max(1, int(min(estimate, limit, self.maximum)))


class RoundRemover(Protocol):
    """Removes the objects of rounds of these sizes."""

    sizes: RoundSizes

    def remove(self, of: Round) -> Iterator[Removed]:
        """Removes the dead objects of a round and yields the results, which count each of them.
        Raises the errors of the store; nothing more is removed then.
        """


class Sweep:
    """Removes candidates with a remover, as the sweep with the id `sweep`. `ticks` is a monotonic
    clock in seconds.
    """

    def __init__(
        self,
        reachability: Reachability,
        remover: RoundRemover,
        progress: Progress,
        *,
        sweep: str,
        ticks: Callable[[], float] = time.monotonic,
    ) -> None:
        self._reachability = reachability
        self._remover = remover
        self._progress = progress
        self._fence = reachability.fence(sweep)
        self._ticks = ticks

    def remove(self, batches: Iterator[pa.RecordBatch]) -> Iterator[Removed]:
        """Removes the candidates that are still dead, and yields the results. Raises the errors of
        marking and of the remover; nothing more is removed then.
        """
        marked, rounds, sizes = (
            len(self._reachability.hashes),
            _Rounds(batches),
            self._remover.sizes,
        )
        amount = sizes.next(sizes.first, _ROUND_SECONDS)
        most = sizes.maximum
        with self._fence.register():
            while (candidates := rounds.take(amount)).num_rows:
                began = self._ticks()
                deadline = self._fence.begin_round(_names(candidates), self._reachability.mark)
                marked_at = self._ticks()
                dead = self._still_dead(candidates, marked)
                revived = candidates.num_rows - dead.num_rows
                self._progress.advance(revived)
                results = self._remover.remove(Round(dead, deadline, self._fence, began))
                for removed in results if dead.num_rows else [Removed(0, 0)]:
                    if removed.late:
                        # the tombstones may have taken too long, so a larger round is late, too
                        most = max(1, amount // 2)
                    self._progress.advance(removed.objects + removed.late + removed.gone)
                    yield removed._replace(revived=revived)
                    revived = 0
                self._fence.end_round()
                amount = min(sizes.next(amount, self._ticks() - marked_at), most)

    def _still_dead(self, batch: pa.RecordBatch, marked: int) -> pa.RecordBatch:
        """Returns the candidates of a batch that were not found reachable since the sweep began,
        when there were `marked` arrays of hashes.
        """
        hashes = hash_addresses(batch.column("address"))
        reachable = self._reachability.tables.protects(batch.column("address"))
        for known in self._reachability.hashes[marked:]:
            reachable |= is_in(hashes, known)
        return batch.filter(pa.array(~reachable))


class RemovalInBatches:
    """Removes objects in this process, a batch at a time, at most `rate` a second if it is given.
    `ticks` is a monotonic clock in seconds.
    """

    def __init__(
        self,
        remover: Remover,
        rate: float | None = None,
        *,
        ticks: Callable[[], float] = time.monotonic,
        sleep: Callable[[float], None] = time.sleep,
    ) -> None:
        self.sizes = RoundSizes(BATCH_SIZE, rate)
        self._remover = remover
        self._rate = rate
        self._ticks = ticks
        self._sleep = sleep

    def remove(self, of: Round) -> Iterator[Removed]:
        """Removes the objects and yields the result of each batch."""
        done, exist = 0, of.fence.is_alone()
        for start in range(0, of.dead.num_rows, BATCH_SIZE):
            batch = of.dead.slice(start, BATCH_SIZE)
            if of.deadline.passed():
                yield Removed(0, 0, late=batch.num_rows)
                continue
            prepared = self._remover.prepare(batch, exist=exist)
            if of.deadline.passed():
                self._remover.cancel(prepared)
                yield Removed(0, 0, late=batch.num_rows)
                continue
            with of.fence.track_removal():
                self._remover.remove(prepared, of.deadline)
            done += batch.num_rows
            counted = of.fence.count_removed(prepared.names)
            size = sum(compress(prepared.sizes, counted))
            yield Removed(sum(counted), size, gone=batch.num_rows - sum(counted))
            if self._rate:
                self._sleep(max(0.0, done / self._rate - (self._ticks() - of.began)))


def _names(batch: pa.RecordBatch) -> Iterator[str]:
    """Yields the addresses of a batch, which may be too many for a list of texts."""
    for start in range(0, batch.num_rows, BATCH_SIZE):
        yield from batch.slice(start, BATCH_SIZE).column("address").to_pylist()


class _Rounds:
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
