"""Export of a commit to a folder or a prefix, by tasks.

    summary = anabranch.spark.export(spark, lake, "sea", "main", "/data/sea")

It differs from the export of one process, `anabranch.pipelines.exports`, in how objects are copied.
Its results, errors and progress records are the same, and either export continues an interrupted
one of the other. Each task compares a part of the trees' ranges and copies the objects that differ.
The driver records the progress at the destination and pins the commit during the export.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import partial
from math import ceil
from typing import TYPE_CHECKING, TypeVar

import pyarrow as pa

from anabranch.model.names import decode_key, encode_path
from anabranch.pipelines.exports.copier import Copied
from anabranch.pipelines.exports.destination_parsing import parse_destination, require_separate
from anabranch.pipelines.exports.export_run import ExportRun, ExportSummary
from anabranch.pipelines.jobs.leases import hold_lease
from anabranch.pipelines.jobs.parallel_map import parallel_map
from anabranch.pipelines.jobs.progress import NO_PROGRESS, Progress
from anabranch.spark.jobs.copy_tasks import (
    RESULT,
    CopyPartition,
    ExportTasks,
    ExtraPartition,
    partition_extra,
    sum_results,
)
from anabranch.spark.jobs.export_source import export_source, tree_ranges
from anabranch.spark.jobs.monitor import JobMonitor
from anabranch.spark.planning.partition_planning import Range, partition_trees
from anabranch.spark.planning.scan_plan import default_tasks, map_in_tasks
from anabranch.spark.require_version import require_version
from anabranch.spark.sources.commit_sources import Stores
from anabranch.spark.sources.refusals import raise_refusals
from anabranch.spark.sources.server_source import Server
from anabranch.spark.sources.stores import Opener

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

__all__ = ["export"]

_ENTRIES_PER_TASK = 5_000
_COMPARED_PER_TASK = 20
"""How many times as many objects a task compares as it copies."""

_MIN_WAVE_TASKS = 64
_WAVES_AT_ONCE = 4


@raise_refusals()
def export(
    spark: SparkSession,
    source: Stores | Server,
    repository: str,
    reference: str,
    destination: str,
    *,
    store: Opener | None = None,
    everything: bool = False,
    remove_extra: bool = False,
    skip_invalid: bool = False,
    progress: Progress = NO_PROGRESS,
    clock: Callable[[], float] = time.time,
    entries_per_task: int = _ENTRIES_PER_TASK,
    tasks_at_once: int = 0,
) -> ExportSummary:
    """Exports the commit of a reference to a destination and returns the summary.

    `source` is a lake, another object with an open core and block store, or a server. The
    destination is a folder that every worker sees at the same path, or an address in the store of
    the repository. `store` gives workers access to the object store; only a lake in a folder does
    not need it. `progress` receives the number of objects copied. A task has about
    `entries_per_task` objects. Progress is recorded after every `tasks_at_once` tasks, by default
    64 or twice the session's default parallelism. While some of these run, the next ones begin.

    The other options and the errors are those of `anabranch.pipelines.exports.export.Exporter`.
    Also raises NotSupported if `store` is missing, and for a version of Spark that is too old.
    """
    require_version(spark)
    monitor = JobMonitor(spark, f"export of {repository}")
    with export_source(source, repository, store) as opened:
        target = parse_destination(destination, opened.blocks)
        require_separate(target, opened.namespaces(), opened.blocks)
        commit = opened.commit(reference)
        with hold_lease(opened.new_pin(), [commit.id]) as lease:
            export_run = ExportRun(
                target, repository, commit.id, clock=clock, everything=everything
            )
            commit_ids = (export_run.state.complete, *export_run.commits)
            trees = [tree_ranges(opened, each) for each in commit_ids]
            tasks = ExportTasks(
                *(opened.opener, opened.tables, opened.repository, destination, skip_invalid),
                monitor.counts,
            )

            def run(
                phase: str,
                work: Callable[[Partition], Iterator[pa.RecordBatch]],
                wave: Sequence[Partition],
            ) -> tuple[Copied, int]:
                lease.check()
                with monitor.describe(phase):
                    return sum_results(map_in_tasks(spark, wave, work, RESULT).collect())

            progress.begin("copying", 0)
            with monitor.describe("planning"):
                wave_tasks = tasks_at_once or _wave_tasks(spark)
            waves = _Waves(trees, entries_per_task, wave_tasks)
            if len(trees) > 2 or trees[0]:  # noqa: PLR2004  else nothing was exported
                with monitor.phase("removing"):
                    for _, (_, removed) in _overlap(
                        partial(run, "removing", tasks.remove), waves.after(b"")
                    ):
                        export_run.summary.removed += removed
            left = waves.after(encode_path(export_run.state.after))
            with monitor.phase("copying"):
                for wave, (done, _) in _overlap(partial(run, "copying", tasks.copy), left):
                    export_run.checkpoint(_last_path(wave), done)
                    progress.advance(done.stored + done.invalid)
            if remove_extra:
                extra = partition_extra(
                    trees[-1], _COMPARED_PER_TASK * entries_per_task, export_run.own_files
                )
                with monitor.phase("removing extra files"):
                    _, removed = run("removing extra files", tasks.remove_extra, extra)
                    export_run.summary.extra += removed
            export_run.summary.phases = monitor.phases
            export_run.summary.tasks = monitor.tasks
            return export_run.end()


Done = TypeVar("Done")
Partition = TypeVar("Partition", CopyPartition, ExtraPartition)


def _wave_tasks(spark: SparkSession) -> int:
    return max(_MIN_WAVE_TASKS, 2 * default_tasks(spark))


def _overlap(
    run: Callable[[Sequence[CopyPartition]], Done], waves: Iterable[Sequence[CopyPartition]]
) -> Iterator[tuple[Sequence[CopyPartition], Done]]:
    """Yields each wave with its result, in order. Several waves run at a time, so that no core
    waits for the last task of a wave.
    """
    yield from parallel_map(
        lambda wave: (wave, run(wave)), waves, threads=_WAVES_AT_ONCE, ahead=_WAVES_AT_ONCE - 1
    )


class _Waves:
    """The partitions of an export, in order of their keys, in waves of about `at_once` tasks, each
    of which is a Spark job. If the destination has no earlier export of a range, all objects of the
    range are copied, by several tasks. Otherwise few of its objects are expected to differ, and one
    task copies them.
    """

    def __init__(self, trees: Sequence[Sequence[Range]], entries: int, at_once: int) -> None:
        self._groups = partition_trees(trees, entries)
        self._entries = entries
        self._at_once = at_once

    def after(self, key: bytes) -> Iterator[list[CopyPartition]]:
        """Yields the waves of the partitions that have keys after `key`."""
        wave: list[CopyPartition] = []
        for trees in self._groups:
            base, *attempts = trees
            if all(ranges[-1].max_key <= key for ranges in trees if ranges):
                continue
            entries = sum(each.entries for ranges in attempts for each in ranges)
            tasks = 1 if base else max(1, ceil(entries / self._entries))
            wave += [CopyPartition(trees, key, offset, tasks) for offset in range(tasks)]
            if len(wave) >= self._at_once:
                yield wave
                wave = []
        if wave:
            yield wave


def _last_path(wave: Sequence[CopyPartition]) -> str:
    """Returns the last path of the ranges of a wave."""
    return decode_key(
        max(ranges[-1].max_key for partition in wave for ranges in partition.trees if ranges)
    )
