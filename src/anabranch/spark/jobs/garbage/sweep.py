"""Removal of the objects of a round by tasks.

The driver writes the objects of a round to a file for each task, so that all attempts at a task
have the same batches. Tasks remove the objects of their files, a thousand at a time and at their
part of the rate, until the round's deadline, for which the clocks of their machines do not count. A
retried task removes objects that are gone already, which has no effect. An earlier attempt that
Spark has given up may still be running, and may remove objects that the retry reports as late. The
tombstones of a round that did not finish in time therefore stay until the lease of the sweep ends.
So do those of a round whose objects are in quarantine, or among them files of tables, if it had
more attempts than tasks: an object that is restored must not be moved again, and a file that an
engine has written again under its name must not be removed.

While another sweep of the repository runs, tasks look up which objects exist before any of them is
removed, and send the addresses of removed objects to the driver, which counts its own.
"""

from __future__ import annotations

import math
import secrets
import time
from collections.abc import Iterator, Sequence
from functools import partial
from itertools import compress
from typing import TYPE_CHECKING, NamedTuple

import pyarrow as pa

from anabranch.blocks.contract import BlockStore
from anabranch.errors import Corrupt
from anabranch.pipelines.garbage.addresses.table_files import in_areas
from anabranch.pipelines.garbage.fence import Deadline, Fence
from anabranch.pipelines.garbage.run_context import RunContext
from anabranch.pipelines.garbage.sweeping.removal import (
    QuarantineTime,
    delete_with_backoff,
    existing_rows,
)
from anabranch.pipelines.garbage.sweeping.sweep import BATCH_SIZE, Removed, Round, RoundSizes
from anabranch.pipelines.garbage.totals import ObjectTotals
from anabranch.spark.arrow_tables import collect_arrow
from anabranch.spark.jobs.garbage.quarantine import RoundQuarantine
from anabranch.spark.jobs.garbage.round_gate import RoundGate
from anabranch.spark.jobs.garbage.store_deadline import StoreDeadline
from anabranch.spark.jobs.monitor import JobMonitor, TaskCounts
from anabranch.spark.jobs.parts import PartReader, PartWriter, remove_parts, to_row
from anabranch.spark.planning.scan_plan import map_in_tasks
from anabranch.spark.sources.refusals import raise_refusals
from anabranch.spark.sources.stores import Opener, open_store

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

__all__ = ["RemovalByTasks"]

_MIN_MAX_ROUND = 1 << 20
_MAX_ROUND = 1 << 22
_MAX_TASK_OBJECTS = 1 << 16
"""The largest number of objects of a round is that of a task times the number of tasks, between two
limits. The driver holds the objects of a round, with copies 230 bytes each: a gigabyte at most.
"""

_DUE = pa.schema([("address", pa.string()), ("size", pa.int64())])
_COUNTS = ("candidates", "objects", "size", "late")
_TOTALS = pa.schema(
    [
        ("attempt", pa.string()),
        *((name, pa.int64()) for name in _COUNTS),
        ("names", pa.list_(pa.string())),
        ("sizes", pa.list_(pa.int64())),
    ]
)
"""The result of a task: the name of the attempt, the number of candidates that were processed, of
the objects that were removed, and their bytes; and of the candidates that were late. If it is
required, also the addresses of the removed objects and the bytes of each.
"""


class _TaskParameters(NamedTuple):
    """The parameters of a task; `rate` is the rate of one task, in objects a second."""

    store: Opener
    prefix: str
    rate: float | None
    counts: TaskCounts


class _Conditions(NamedTuple):
    """The conditions of a round. Objects are removed permanently without a quarantine. `named` says
    that the addresses of removed objects are required.
    """

    deadline: StoreDeadline
    gate: RoundGate
    quarantine: RoundQuarantine | None
    named: bool


class _RemovedObjects(NamedTuple):
    """The addresses of removed objects, and the bytes of each."""

    names: Sequence[str]
    sizes: Sequence[int]


class RemovalByTasks:
    """Removes objects in `tasks` tasks, at most `rate` of them a second, permanently unless
    `quarantine` is a time for which they can be restored.
    """

    def __init__(
        self,
        spark: SparkSession,
        store: Opener,
        context: RunContext,
        *,
        monitor: JobMonitor,
        tasks: int,
        rate: float | None = None,
        quarantine: QuarantineTime | None = None,
    ) -> None:
        self.sizes = RoundSizes(
            *(BATCH_SIZE * tasks, rate, _largest_round(tasks)), growth=math.inf, shortest=1.0
        )
        self._spark = spark
        self._monitor = monitor
        self._context = context
        self._tasks = tasks
        self._quarantine = quarantine
        self._parameters = _TaskParameters(
            *(store, context.namespace.prefix, None if rate is None else rate / tasks),
            monitor.counts,
        )

    def remove(self, of: Round) -> Iterator[Removed]:
        """Removes the objects and yields the totals of all tasks. Raises the errors of tasks."""
        removed = self._remove(of.dead, of.deadline, of.fence)
        if removed.late:
            of.fence.keep_tombstones()
        yield removed

    @raise_refusals()
    def _remove(self, dead: pa.RecordBatch, deadline: Deadline, fence: Fence) -> Removed:
        """Removes objects and returns the totals."""
        context, quarantine, rows = self._context, None, dead.num_rows
        is_alone = fence.is_alone()
        if self._quarantine is not None:
            quarantine = RoundQuarantine.of(
                context.namespace, context.run_id, self._quarantine, deadline
            )
        due_files = f"{context.prefix}due/{secrets.token_hex(8)}/"
        parts = self._write_parts(due_files, [dead.select(_DUE.names)])
        if quarantine is None and not is_alone:
            # before any is removed: a retried task would not find what an earlier attempt removed
            with self._monitor.phase("looking for removed objects"):
                work = partial(_existing, self._parameters)
                found = collect_arrow(map_in_tasks(self._spark, parts, work, _DUE))
            if not found.num_rows:
                remove_parts(context.blocks, due_files)
                return Removed(0, 0, 0, gone=rows)
            rows = found.num_rows
            parts = self._write_parts(due_files, found.combine_chunks().to_batches())
        clock_files = f"{context.prefix}clock/"
        in_tasks = StoreDeadline.of(deadline, context.blocks, clock_files)
        gate = RoundGate.open(context.blocks, f"{context.prefix}attempts/")
        remove = partial(
            _remove, self._parameters, _Conditions(in_tasks, gate, quarantine, not is_alone)
        )
        with self._monitor.phase("removing"), fence.track_removal():
            totals = map_in_tasks(self._spark, parts, remove, _TOTALS).collect()
            is_over = gate.close(context.blocks, {row["attempt"] for row in totals})
        if not is_over and (quarantine is not None or in_areas(dead.column("address")).any()):
            fence.keep_tombstones()
        remove_parts(context.blocks, clock_files)
        remove_parts(context.blocks, due_files)
        processed, removed, size, late = (sum(row[name] for row in totals) for name in _COUNTS)
        if processed + late != rows:
            raise Corrupt(f"Spark tasks processed {processed + late} of {rows} objects")
        if not is_alone:
            removed, size = _count(
                fence,
                [name for row in totals for name in row["names"]],
                [size for row in totals for size in row["sizes"]],
            )
        return Removed(removed, size, 0, late, dead.num_rows - late - removed)

    def _write_parts(self, prefix: str, batches: Sequence[pa.RecordBatch]) -> Sequence[str]:
        """Writes objects to a file for each task, and returns the addresses of the files."""
        rows = -(-sum(batch.num_rows for batch in batches) // self._tasks)
        with PartWriter(self._context.blocks, prefix, _DUE, rows) as writer:
            for batch in batches:
                writer.write(batch.cast(_DUE))
        return [prefix + name for name, _ in writer.files]


def _largest_round(tasks: int) -> int:
    """Returns the largest number of objects of a round of so many tasks."""
    return min(max(_MAX_TASK_OBJECTS * tasks, _MIN_MAX_ROUND), _MAX_ROUND)


def _count(fence: Fence, names: Sequence[str], sizes: Sequence[int]) -> tuple[int, int]:
    """Returns how many of the removed objects this sweep counts, and their bytes."""
    objects = size = 0
    for start in range(0, len(names), BATCH_SIZE):
        batch = slice(start, start + BATCH_SIZE)
        counted = fence.count_removed(names[batch])
        objects += sum(counted)
        size += sum(compress(sizes[batch], counted))
    return objects, size


def _remove(
    parameters: _TaskParameters, conditions: _Conditions, part: str
) -> Iterator[pa.RecordBatch]:
    """Removes the objects of a file, and yields the totals of the attempt."""
    began, processed, late, totals = time.monotonic(), 0, 0, ObjectTotals()
    names: list[str] = []
    sizes: list[int] = []
    rate = parameters.rate
    amount = BATCH_SIZE if rate is None else max(1, min(BATCH_SIZE, int(rate)))
    with open_store(parameters.store) as blocks:
        attempt = conditions.gate.enter(blocks)
        deadline = conditions.deadline.on_this_machine(blocks)
        for batch in _read_part(parameters, part):
            for start in range(0, batch.num_rows, amount):
                piece = batch[start : start + amount]
                removed = None
                if attempt and not deadline.passed():
                    removed = _remove_batch(parameters.prefix, conditions, blocks, piece, deadline)
                if removed is None:
                    late += piece.num_rows
                    continue
                processed += piece.num_rows
                size = sum(removed.sizes)
                totals.add(len(removed.names), size)
                parameters.counts.add(len(removed.names), size)
                if conditions.named:
                    names += removed.names
                    sizes += removed.sizes
                if rate is not None:
                    time.sleep(max(0.0, processed / rate - (time.monotonic() - began)))
    yield to_row(_TOTALS, attempt, processed, totals.objects, totals.bytes, late, names, sizes)


def _remove_batch(
    prefix: str,
    conditions: _Conditions,
    blocks: BlockStore,
    batch: pa.RecordBatch,
    deadline: Deadline,
) -> _RemovedObjects | None:
    """Removes objects below a prefix, and returns them, None if they are late."""
    names = batch.column("address").to_pylist()
    if conditions.quarantine is not None:
        moved = conditions.quarantine.move(blocks, names, deadline)
        if moved is None:
            return None
        return _RemovedObjects([item.address for item in moved], [item.size for item in moved])
    delete_with_backoff(blocks, [prefix + name for name in names], deadline)
    return _RemovedObjects(names, batch.column("size").to_pylist())


def _existing(parameters: _TaskParameters, part: str) -> Iterator[pa.RecordBatch]:
    """Yields those of the objects of a file that exist."""
    with open_store(parameters.store) as blocks:
        for batch in _read_part(parameters, part):
            yield existing_rows(blocks, parameters.prefix, batch)


def _read_part(parameters: _TaskParameters, part: str) -> Iterator[pa.RecordBatch]:
    return PartReader(parameters.store, _DUE.names)(part)
