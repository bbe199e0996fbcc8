"""A sweep by tasks: in rounds of a minute, before each of which the driver writes tombstones and
looks at what lives.

Tasks remove what they are given, a thousand at a time, each at its part of the rate, until the
round's deadline. A task that is done again removes what is gone already, which does nothing.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Iterator
from functools import partial
from typing import TYPE_CHECKING, NamedTuple

import pyarrow as pa
import pyarrow.compute as pc

from anabranch.errors import Corrupt
from anabranch.pipelines.garbage.fence import Deadline
from anabranch.pipelines.garbage.living import Living
from anabranch.pipelines.garbage.namespace import Namespace
from anabranch.pipelines.garbage.sweep import (
    BATCH,
    Removed,
    Rounds,
    StillDead,
    remove_patiently,
)
from anabranch.pipelines.garbage.watching import Watching
from anabranch.spark.stores import Opener, opened_store

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

__all__ = ["SparkSweep"]

_ROUND_SECONDS = 60.0
_LARGEST = 1 << 20
"""Objects of a round: what the driver hands to tasks, about a hundred megabytes."""

_TOLD = "objects BIGINT, size BIGINT, late BIGINT"
_TOLD_ARROW = pa.schema([("objects", pa.int64()), ("size", pa.int64()), ("late", pa.int64())])


class _Share(NamedTuple):
    """What a task does: `rate` is its own, in objects a second."""

    store: Opener
    stem: str
    rate: float | None


class SparkSweep:
    """Removes candidates in `tasks` tasks, at most `rate` of them a second if that is given.
    `ticks` is a clock that never goes back, in seconds.
    """

    def __init__(
        self,
        spark: SparkSession,
        store: Opener,
        namespace: Namespace,
        living: Living,
        watching: Watching,
        *,
        sweep: str,
        tasks: int,
        rate: float | None = None,
        ticks: Callable[[], float] = time.monotonic,
    ) -> None:
        self._spark = spark
        self._living = living
        self._fence = living.fence(sweep)
        self._watching = watching
        self._tasks = tasks
        self._rate = rate
        self._ticks = ticks
        self._share = _Share(store, namespace.stem, None if rate is None else rate / tasks)

    def remove(self, batches: Iterator[pa.RecordBatch]) -> Iterator[Removed]:
        """Removes the objects of batches of candidates and yields what was done, round by round.
        Raises what a look raises, and what a task does; nothing more is removed then.
        """
        still_dead = StillDead(self._living)
        rounds = Rounds(batches)
        amount = self._first()
        with self._fence.sweeping():
            while (given := rounds.next(amount)).num_rows:
                names = given.column("address").to_pylist()
                deadline = self._fence.condemn(names, self._living.look)
                began = self._ticks()
                dead = still_dead.of(given)
                removed, size = self._remove(dead, deadline) if dead.num_rows else (0, 0)
                self._fence.spare()
                self._watching.advance(given.num_rows)
                revived, late = given.num_rows - dead.num_rows, dead.num_rows - removed
                yield Removed(removed, size, revived, late)
                amount = self._next(amount, self._ticks() - began)

    def _first(self) -> int:
        return self._next(BATCH * self._tasks, _ROUND_SECONDS)

    def _next(self, amount: int, seconds: float) -> int:
        """Returns how many objects a round is to have, after one of so many in so long."""
        faster = amount * _ROUND_SECONDS / max(seconds, 1.0)
        most = _LARGEST if self._rate is None else self._rate * _ROUND_SECONDS
        return max(1, int(min(faster, most, _LARGEST)))

    def _remove(self, dead: pa.RecordBatch, deadline: Deadline) -> tuple[int, int]:
        """Returns how many objects were removed, and their bytes."""
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
    with opened_store(share.store) as blocks:
        for batch in batches:
            names = batch.column("address").to_pylist()
            for start in range(0, len(names), amount):
                some = names[start : start + amount]
                if deadline.passed():
                    late += len(some)
                    continue
                remove_patiently(blocks, [share.stem + name for name in some])
                removed += len(some)
                size += pc.sum(batch.column("size").slice(start, amount)).as_py() or 0
                if share.rate is not None:
                    ahead = removed / share.rate - (time.monotonic() - began)
                    time.sleep(max(0.0, ahead))
    told = [pa.array([value], pa.int64()) for value in (removed, size, late)]
    yield pa.RecordBatch.from_arrays(told, schema=_TOLD_ARROW)
