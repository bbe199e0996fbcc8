"""Export of a commit to a folder or a prefix, by tasks.

    summary = anabranch.spark.export(spark, lake, "sea", "main", "/data/sea")

It differs from the export of one process, `anabranch.pipelines.exports`, in how objects are copied.
Its results, errors and progress records are the same, and either export continues an interrupted
one of the other. Each task compares a part of the trees, some of their ranges or some keys of a
range, and copies the objects that differ. In a store, where no path is in the way of another, it
also removes objects; in a folder, tasks remove files before others copy what these have found.
The driver records the progress at the destination and pins the commit during the export.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import nullcontext
from functools import partial
from math import ceil
from typing import TYPE_CHECKING, TypeVar

import pyarrow as pa

from anabranch.model.names import decode_key, encode_path
from anabranch.pipelines.exports.destination_parsing import parse_destination, require_separate
from anabranch.pipelines.exports.export_run import ExportRun, ExportSummary
from anabranch.pipelines.jobs.leases import hold_lease
from anabranch.pipelines.jobs.parallel_map import parallel_map
from anabranch.pipelines.jobs.progress import NO_PROGRESS, Progress
from anabranch.spark.jobs.change_files import CHANGES_FOLDER, ChangeFiles
from anabranch.spark.jobs.copy_tasks import (
    RESULT,
    CopyPartition,
    ExportTasks,
    ExtraPartition,
    Results,
    partition_extra,
    sum_results,
)
from anabranch.spark.jobs.export_source import export_source, tree_ranges
from anabranch.spark.jobs.monitor import JobMonitor
from anabranch.spark.planning.partition_planning import ENTRIES_PER_TASK, Range
from anabranch.spark.planning.scan_plan import default_tasks, map_in_tasks
from anabranch.spark.planning.tree_parts import TreePart, entries_of, group_parts
from anabranch.spark.require_version import require_version
from anabranch.spark.sources.commit_sources import Stores
from anabranch.spark.sources.refusals import raise_refusals
from anabranch.spark.sources.server_source import Server
from anabranch.spark.sources.stores import Opener

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

__all__ = ["export"]

_TASKS_PER_CORE = 16
_MIN_ENTRIES = 10_000
_MAX_ENTRIES = 250_000
"""The objects of a task, which a retry copies again."""

_MAX_WAVES = 64
_WAVE_TASKS_PER_CORE = 2
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
    entries_per_task: int = 0,
    tasks_at_once: int = 0,
) -> ExportSummary:
    """Exports the commit of a reference to a destination and returns the summary.

    `source` is a lake, another object with an open core and block store, or a server. The
    destination is a folder that every worker sees at the same path, or an address in the store of
    the repository. `store` gives workers access to the object store; only a lake in a folder does
    not need it. `progress` receives the number of objects copied. A task has about
    `entries_per_task` objects, by default 10,000 to 250,000, so that there are 16 tasks for each
    core. Progress is recorded after every `tasks_at_once` tasks, which are a Spark job: by default
    two for each core, or more if there would be more than 64 jobs. While some of these run, the
    next ones begin.

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
            found = ChangeFiles(f"{target.address}/{CHANGES_FOLDER}")
            tasks = ExportTasks(
                *(opened.opener, opened.tables, opened.repository, destination, found),
                *(skip_invalid, monitor.counts),
            )

            def run(
                phase: str,
                work: Callable[[Partition], Iterator[pa.RecordBatch]],
                wave: Sequence[Partition],
            ) -> Results:
                lease.check()
                with monitor.describe(phase):
                    return sum_results(map_in_tasks(spark, wave, work, RESULT).collect())

            progress.begin("copying", 0)
            with monitor.describe("planning"):
                cores = default_tasks(spark)
            waves = _plan_waves(trees, cores, entries_per_task, tasks_at_once)
            was_exported = len(trees) > 2 or bool(trees[0])  # noqa: PLR2004  base and one attempt
            removes_first = was_exported and target.has_folders
            with found.kept() if removes_first else nullcontext():
                if removes_first:
                    with monitor.phase("removing"):
                        remove = partial(run, "removing", tasks.remove)
                        for wave, results in _overlap(remove, waves.after(b"")):
                            waves.record(wave, results.changes)
                            export_run.summary.removed += results.removed
                left = waves.after(encode_path(export_run.state.after))
                with monitor.phase("copying"):
                    for wave, results in _overlap(partial(run, "copying", tasks.copy), left):
                        export_run.summary.removed += results.removed
                        export_run.checkpoint(_last_path(wave), results.copied)
                        progress.advance(results.copied.stored + results.copied.invalid)
            if remove_extra:
                extra = partition_extra(
                    trees[-1], entries_per_task or ENTRIES_PER_TASK, export_run.own_files
                )
                with monitor.phase("removing extra files"):
                    results = run("removing extra files", tasks.remove_extra, extra)
                    export_run.summary.extra += results.removed
            export_run.summary.phases = monitor.phases
            export_run.summary.tasks = monitor.tasks
            return export_run.end()


Done = TypeVar("Done")
Partition = TypeVar("Partition", CopyPartition, ExtraPartition)


def _plan_waves(
    trees: Sequence[Sequence[Range]], cores: int, entries_per_task: int, tasks_at_once: int
) -> _Waves:
    """Returns the waves of an export on so many cores. Their number has a limit, whatever the
    number of objects is.
    """
    entries = entries_per_task or min(
        max(entries_of(trees[-1]) // (_TASKS_PER_CORE * cores), _MIN_ENTRIES), _MAX_ENTRIES
    )
    groups = group_parts(trees, entries)
    shares = ceil(sum(map(len, groups)) / _MAX_WAVES)
    return _Waves(groups, tasks_at_once or max(_WAVE_TASKS_PER_CORE * cores, shares))


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
    """The parts of an export, in order of their keys, in waves of about `at_once` tasks, each of
    which is a Spark job.
    """

    def __init__(self, groups: Sequence[Sequence[TreePart]], at_once: int) -> None:
        self._groups = groups
        self._at_once = at_once
        self._files: dict[TreePart, str] = {}

    def record(self, wave: Sequence[CopyPartition], files: Sequence[str]) -> None:
        """Records the files of changes of a wave's tasks: their parts need not be compared again.
        Those whose names are empty have no changes, and are left out from now on.
        """
        parts = (partition.part for partition in wave)
        self._files.update(zip(parts, files, strict=True))

    def after(self, key: bytes) -> Iterator[list[CopyPartition]]:
        """Yields the waves of the parts that have keys after `key`."""
        wave: list[CopyPartition] = []
        for group in self._groups:
            if all(ranges[-1].max_key <= key for ranges in group[0].trees if ranges):
                continue
            # a wave ends between ranges, as the driver does not know where their parts end
            files = ((part, self._files.get(part)) for part in group)
            wave += [CopyPartition(part, key, file or "") for part, file in files if file != ""]
            if len(wave) >= self._at_once:
                yield wave
                wave = []
        if wave:
            yield wave


def _last_path(wave: Sequence[CopyPartition]) -> str:
    """Returns the last path of the ranges of a wave."""
    return decode_key(
        max(ranges[-1].max_key for partition in wave for ranges in partition.part.trees if ranges)
    )
