"""A sweep by tasks: in rounds of a minute, before each of which the driver looks at what lives.

Tasks remove what they are given, a thousand at a time, each at its part of the rate. A task that is
done again removes what is gone already, which does nothing.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Iterator
from functools import partial
from typing import TYPE_CHECKING, NamedTuple

import pyarrow as pa
import pyarrow.compute as pc

from anabranch.errors import Corrupt
from anabranch.pipelines.garbage.candidates import CANDIDATES
from anabranch.pipelines.garbage.living import Living
from anabranch.pipelines.garbage.namespace import Namespace
from anabranch.pipelines.garbage.sweep import BATCH, Removed, StillDead, remove_patiently
from anabranch.pipelines.garbage.watching import Watching
from anabranch.spark.stores import Opener, opened_store

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

__all__ = ["SparkSweep"]

_ROUND_SECONDS = 60.0
_LARGEST = 1 << 20
"""Objects of a round: what the driver hands to tasks, about a hundred megabytes."""

_TOLD = "objects BIGINT"
_TOLD_ARROW = pa.schema([("objects", pa.int64())])


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
        tasks: int,
        rate: float | None = None,
        ticks: Callable[[], float] = time.monotonic,
    ) -> None:
        self._spark = spark
        self._living = living
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
        rounds = _Rounds(batches)
        amount = self._first()
        while (given := rounds.next(amount)).num_rows:
            self._living.look()
            began = self._ticks()
            dead = still_dead.of(given)
            if dead.num_rows:
                self._remove(dead)
            self._watching.advance(given.num_rows)
            size = pc.sum(dead.column("size")).as_py() or 0
            yield Removed(dead.num_rows, size, given.num_rows - dead.num_rows)
            amount = self._next(amount, self._ticks() - began)

    def _first(self) -> int:
        return self._next(BATCH * self._tasks, _ROUND_SECONDS)

    def _next(self, amount: int, seconds: float) -> int:
        """Returns how many objects a round is to have, after one of so many in so long."""
        faster = amount * _ROUND_SECONDS / max(seconds, 1.0)
        most = _LARGEST if self._rate is None else self._rate * _ROUND_SECONDS
        return max(1, int(min(faster, most, _LARGEST)))

    def _remove(self, dead: pa.RecordBatch) -> None:
        table = pa.Table.from_batches([dead]).select(["address"])
        frame = self._spark.createDataFrame(table).repartition(self._tasks)
        told = frame.mapInArrow(partial(_remove, self._share), _TOLD).collect()
        removed = sum(row["objects"] for row in told)
        if removed != dead.num_rows:
            raise Corrupt(f"Spark has removed {removed} of {dead.num_rows} objects")


class _Rounds:
    """Batches, taken in amounts."""

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


def _remove(share: _Share, batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    began, removed = time.monotonic(), 0
    amount = BATCH if share.rate is None else max(1, min(BATCH, int(share.rate)))
    with opened_store(share.store) as blocks:
        for batch in batches:
            names = batch.column("address").to_pylist()
            for start in range(0, len(names), amount):
                some = names[start : start + amount]
                remove_patiently(blocks, [share.stem + name for name in some])
                removed += len(some)
                if share.rate is not None:
                    ahead = removed / share.rate - (time.monotonic() - began)
                    time.sleep(max(0.0, ahead))
    yield pa.RecordBatch.from_arrays([pa.array([removed], pa.int64())], schema=_TOLD_ARROW)
