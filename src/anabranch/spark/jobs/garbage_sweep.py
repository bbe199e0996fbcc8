"""Sweep by tasks, in rounds of a minute. Before each, the driver writes tombstones and checks
reachability.

Tasks remove their objects, a thousand at a time, each at its part of the rate, until the round's
deadline. A retried task removes objects that are gone already, which has no effect. An earlier
attempt that Spark has given up may still be running, and may remove objects that the retry reports
as late. The tombstones of a round that did not finish in time therefore stay until the lease of the
sweep ends.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Iterator
from functools import partial
from typing import TYPE_CHECKING, NamedTuple

import pyarrow as pa
import pyarrow.compute as pc

from anabranch.errors import Corrupt
from anabranch.pipelines.garbage.addresses.namespace import Namespace
from anabranch.pipelines.garbage.fence import Deadline
from anabranch.pipelines.garbage.marking.reachable import Reachability
from anabranch.pipelines.garbage.sweeping.removal import delete_with_backoff
from anabranch.pipelines.garbage.sweeping.sweep import (
    BATCH,
    LivenessRecheck,
    Removed,
    Rounds,
)
from anabranch.pipelines.jobs.progress import Progress
from anabranch.spark.sources.stores import Opener, open_store

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

__all__ = ["SparkSweep"]

_ROUND_SECONDS = 60.0
_LARGEST = 1 << 20
"""The most objects of a round, which the driver sends to tasks: about a hundred megabytes."""

_TOLD = "objects BIGINT, size BIGINT, late BIGINT"
_TOLD_ARROW = pa.schema([("objects", pa.int64()), ("size", pa.int64()), ("late", pa.int64())])


class _Share(NamedTuple):
    """The work of a task; `rate` is its own, in objects a second."""

    store: Opener
    stem: str
    rate: float | None


class SparkSweep:
    """Removes candidates in `tasks` tasks, at most `rate` of them a second. `ticks` is a monotonic
    clock in seconds.
    """

    def __init__(
        self,
        spark: SparkSession,
        store: Opener,
        namespace: Namespace,
        living: Reachability,
        progress: Progress,
        *,
        sweep: str,
        tasks: int,
        rate: float | None = None,
        ticks: Callable[[], float] = time.monotonic,
    ) -> None:
        self._spark = spark
        self._living = living
        self._fence = living.fence(sweep)
        self._progress = progress
        self._tasks = tasks
        self._rate = rate
        self._ticks = ticks
        self._share = _Share(store, namespace.stem, None if rate is None else rate / tasks)

    def remove(self, batches: Iterator[pa.RecordBatch]) -> Iterator[Removed]:
        """Removes the objects of batches of candidates and yields the results of each round. Raises
        the errors of the reachability check and of tasks; nothing more is removed then.
        """
        still_dead = LivenessRecheck(self._living)
        rounds = Rounds(batches)
        amount = self._first()
        with self._fence.sweeping():
            while (given := rounds.next(amount)).num_rows:
                names = given.column("address").to_pylist()
                deadline = self._fence.condemn(names, self._living.mark)
                began = self._ticks()
                dead = still_dead.of(given)
                removed, size = self._remove(dead, deadline) if dead.num_rows else (0, 0)
                revived, late = given.num_rows - dead.num_rows, dead.num_rows - removed
                if late:
                    self._fence.leave()
                self._fence.spare()
                self._progress.advance(given.num_rows)
                yield Removed(removed, size, revived, late)
                amount = self._next(amount, self._ticks() - began)

    def _first(self) -> int:
        return self._next(BATCH * self._tasks, _ROUND_SECONDS)

    def _next(self, amount: int, seconds: float) -> int:
        """Returns the number of objects of the next round, from the number and the duration of the
        last.
        """
        faster = amount * _ROUND_SECONDS / max(seconds, 1.0)
        most = _LARGEST if self._rate is None else self._rate * _ROUND_SECONDS
        return max(1, int(min(faster, most, _LARGEST)))

    def _remove(self, dead: pa.RecordBatch, deadline: Deadline) -> tuple[int, int]:
        """Returns the number of removed objects, and their bytes."""
        table = pa.Table.from_batches([dead]).select(["address", "size"])
        frame = self._spark.createDataFrame(table).repartition(self._tasks)
        work = partial(_remove, self._share, deadline.elsewhere)
        with self._fence.removing():
            told = frame.mapInArrow(work, _TOLD).collect()
        removed, size, late = (sum(row[name] for row in told) for name in _TOLD_ARROW.names)
        if removed + late != dead.num_rows:
            raise Corrupt(f"Spark was given {removed + late} of {dead.num_rows} objects")
        return removed, size


def _remove(
    share: _Share, deadline: Deadline, batches: Iterable[pa.RecordBatch]
) -> Iterator[pa.RecordBatch]:
    began, removed, size, late = time.monotonic(), 0, 0, 0
    amount = BATCH if share.rate is None else max(1, min(BATCH, int(share.rate)))
    with open_store(share.store) as blocks:
        for batch in batches:
            names = batch.column("address").to_pylist()
            for start in range(0, len(names), amount):
                some = names[start : start + amount]
                if deadline.passed():
                    late += len(some)
                    continue
                delete_with_backoff(blocks, [share.stem + name for name in some], deadline)
                removed += len(some)
                size += pc.sum(batch.column("size").slice(start, amount)).as_py() or 0
                if share.rate is not None:
                    ahead = removed / share.rate - (time.monotonic() - began)
                    time.sleep(max(0.0, ahead))
    told = [pa.array([value], pa.int64()) for value in (removed, size, late)]
    yield pa.RecordBatch.from_arrays(told, schema=_TOLD_ARROW)
