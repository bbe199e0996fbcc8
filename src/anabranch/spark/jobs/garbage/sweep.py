"""Sweep by tasks, in rounds of about a minute. Before each round, the driver writes tombstones and
marks reachable addresses again.

Tasks remove their objects, each those of a range of addresses, a thousand at a time and at its part
of the rate, until the round's deadline, for which the clocks of their machines do not count. A
retried task removes objects that are gone already, which has no effect. An earlier attempt that
Spark has given up may still be running, and may remove objects that the retry reports as late. The
tombstones of a round that did not finish in time therefore stay until the lease of the sweep ends.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Iterator
from functools import partial
from typing import TYPE_CHECKING, NamedTuple

import pyarrow as pa
import pyarrow.compute as pc

from anabranch.errors import Corrupt
from anabranch.pipelines.garbage.engine import RunContext
from anabranch.pipelines.garbage.fence import Deadline
from anabranch.pipelines.garbage.marking.reachable import Reachability
from anabranch.pipelines.garbage.sweeping.removal import delete_with_backoff
from anabranch.pipelines.garbage.sweeping.sweep import (
    BATCH_SIZE,
    LivenessRecheck,
    Removed,
    Rounds,
)
from anabranch.pipelines.jobs.progress import Progress
from anabranch.spark.arrow_tables import to_frame
from anabranch.spark.jobs.garbage.store_deadline import StoreDeadline
from anabranch.spark.jobs.monitor import JobMonitor, TaskCounts
from anabranch.spark.jobs.parts import remove_parts
from anabranch.spark.sources.refusals import raise_refusals
from anabranch.spark.sources.stores import Opener, open_store

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

__all__ = ["SparkSweep"]

_ROUND_SECONDS = 60.0
_MAX_ROUND_SIZE = 1 << 20
"""The largest number of objects of a round, which the driver sends to tasks: about 100 MB."""

_DUE = "address STRING, size BIGINT"
_TOTALS = "objects BIGINT, size BIGINT, late BIGINT"
_TOTALS_ARROW = pa.schema([("objects", pa.int64()), ("size", pa.int64()), ("late", pa.int64())])


class _TaskParameters(NamedTuple):
    """The parameters of a task; `rate` is the rate of one task, in objects a second."""

    store: Opener
    prefix: str
    rate: float | None
    counts: TaskCounts


class SparkSweep:
    """Removes candidates in `tasks` tasks, at most `rate` of them a second. `ticks` is a monotonic
    clock in seconds.
    """

    def __init__(
        self,
        spark: SparkSession,
        store: Opener,
        context: RunContext,
        reachability: Reachability,
        progress: Progress,
        *,
        monitor: JobMonitor,
        tasks: int,
        rate: float | None = None,
        ticks: Callable[[], float] = time.monotonic,
    ) -> None:
        self._spark = spark
        self._monitor = monitor
        self._reachability = reachability
        self._context = context
        self._fence = reachability.fence(context.run_id)
        self._progress = progress
        self._tasks = tasks
        self._rate = rate
        self._ticks = ticks
        self._parameters = _TaskParameters(
            *(store, context.namespace.prefix, None if rate is None else rate / tasks),
            monitor.counts,
        )

    def remove(self, batches: Iterator[pa.RecordBatch]) -> Iterator[Removed]:
        """Removes the objects of batches of candidates and yields the results of each round. Raises
        the errors of the reachability check and of tasks; nothing more is removed then.
        """
        liveness = LivenessRecheck(self._reachability)
        rounds = Rounds(batches)
        amount = self._first_amount()
        with self._fence.register():
            while (candidates := rounds.take(amount)).num_rows:
                names = candidates.column("address").to_pylist()
                deadline = self._fence.begin_round(names, self._reachability.mark)
                began = self._ticks()
                dead = liveness.still_dead(candidates)
                removed, size = self._remove(dead, deadline) if dead.num_rows else (0, 0)
                revived, late = candidates.num_rows - dead.num_rows, dead.num_rows - removed
                if late:
                    self._fence.keep_tombstones()
                self._fence.end_round()
                self._progress.advance(candidates.num_rows)
                yield Removed(removed, size, revived, late)
                amount = self._next_amount(amount, self._ticks() - began)

    def _first_amount(self) -> int:
        return self._next_amount(BATCH_SIZE * self._tasks, _ROUND_SECONDS)

    def _next_amount(self, amount: int, seconds: float) -> int:
        """Returns the number of objects of the next round, from the number and the duration of the
        last.
        """
        estimate = amount * _ROUND_SECONDS / max(seconds, 1.0)
        limit = _MAX_ROUND_SIZE if self._rate is None else self._rate * _ROUND_SECONDS
        return max(1, int(min(estimate, limit, _MAX_ROUND_SIZE)))

    @raise_refusals()
    def _remove(self, dead: pa.RecordBatch, deadline: Deadline) -> tuple[int, int]:
        """Returns the number of removed objects, and their bytes."""
        table = pa.Table.from_batches([dead]).select(["address", "size"])
        frame = to_frame(self._spark, table, _DUE).repartitionByRange(self._tasks, "address")
        blocks, clock_files = self._context.blocks, f"{self._context.prefix}clock/"
        in_tasks = StoreDeadline.of(deadline, blocks, clock_files)
        work = partial(_remove, self._parameters, in_tasks)
        with self._monitor.phase("removing"), self._fence.track_removal():
            totals = frame.mapInArrow(work, _TOTALS).collect()
        remove_parts(blocks, clock_files)
        removed, size, late = (sum(row[name] for row in totals) for name in _TOTALS_ARROW.names)
        if removed + late != dead.num_rows:
            raise Corrupt(f"Spark tasks processed {removed + late} of {dead.num_rows} objects")
        return removed, size


def _remove(
    parameters: _TaskParameters, until: StoreDeadline, batches: Iterable[pa.RecordBatch]
) -> Iterator[pa.RecordBatch]:
    began, removed, size, late = time.monotonic(), 0, 0, 0
    amount = (
        BATCH_SIZE if parameters.rate is None else max(1, min(BATCH_SIZE, int(parameters.rate)))
    )
    with open_store(parameters.store) as blocks:
        deadline = until.on_this_machine(blocks)
        for batch in batches:
            names = batch.column("address").to_pylist()
            for start in range(0, len(names), amount):
                batch_names = names[start : start + amount]
                if deadline.passed():
                    late += len(batch_names)
                    continue
                addresses = [parameters.prefix + name for name in batch_names]
                delete_with_backoff(blocks, addresses, deadline)
                removed += len(addresses)
                batch_size = pc.sum(batch.column("size").slice(start, amount)).as_py() or 0
                size += batch_size
                parameters.counts.add(len(addresses), batch_size)
                if parameters.rate is not None:
                    ahead = removed / parameters.rate - (time.monotonic() - began)
                    time.sleep(max(0.0, ahead))
    totals = [pa.array([value], pa.int64()) for value in (removed, size, late)]
    yield pa.RecordBatch.from_arrays(totals, schema=_TOTALS_ARROW)
