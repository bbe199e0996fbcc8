"""What users see of a job that runs: names of its stages in Spark's interface, a log, and times.

While a phase runs, Spark's jobs have its name as description and belong to a group, unless the
caller has set one. A thread writes to the log how many tasks have ended and how many objects and
bytes these have processed. Repeated attempts of a task count again there, and only there.

When a phase has ended, the log and `JobMonitor.tasks` have the totals of its tasks, such as their
time and the bytes that they shuffled.

A session of Spark Connect has neither descriptions nor accumulators: there, Spark's jobs have a
tag, and only the times of phases are in the log.
"""

from __future__ import annotations

import logging
import threading
import uuid
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, NamedTuple

from anabranch.pipelines.jobs.phase_times import PhaseTimes
from anabranch.pipelines.jobs.task_totals import TaskTotals
from anabranch.spark.jobs.stage_totals import StageTotals

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

__all__ = ["NO_COUNTS", "JobMonitor", "TaskCounts"]

_log = logging.getLogger("anabranch.spark")

_INTERVAL_SECONDS = 10.0
_GROUP, _DESCRIPTION = "spark.jobGroup.id", "spark.job.description"


class TaskCounts(NamedTuple):
    """The objects and bytes that tasks have processed, as accumulators; it can be pickled."""

    objects: Any = None
    bytes: Any = None

    def add(self, objects: int, size: int) -> None:
        """Adds to the counts, in a task."""
        if self.objects is not None:
            self.objects.add(objects)
            self.bytes.add(size)


NO_COUNTS = TaskCounts()


class JobMonitor:
    """Monitors the job with this name, such as "gc of sea". The phases of several threads may run
    at the same time. `interval` is the time between lines of the log, in seconds.
    """

    def __init__(
        self, spark: SparkSession, name: str, *, interval: float = _INTERVAL_SECONDS
    ) -> None:
        self._spark = spark
        self._context = getattr(spark, "_sc", None)
        self._name = name
        self._interval = interval
        self._own_group = f"anabranch-{uuid.uuid4()}"
        self._times = PhaseTimes()
        self._totals = StageTotals(self._context)
        self.counts = NO_COUNTS
        if self._context is not None:
            self.counts = TaskCounts(self._context.accumulator(0), self._context.accumulator(0))

    @property
    def phases(self) -> dict[str, float]:
        """The seconds that each phase has taken."""
        return dict(self._times.seconds)

    @property
    def tasks(self) -> dict[str, TaskTotals]:
        """The totals of the tasks of each phase that has ended, if Spark has recorded them."""
        found = {name: self._totals.get(self._description(name)) for name in self._times.seconds}
        return {name: totals for name, totals in found.items() if totals is not None}

    @contextmanager
    def phase(self, name: str) -> Iterator[None]:
        """Names the Spark jobs of this thread while the context is entered, and logs their progress
        and their time.
        """
        try:
            with self._times.measure(name), self.describe(name), self._progress(name):
                _log.info("%s: %s", self._name, name)
                yield
        finally:
            self._totals.collect(wait=True)
        counted = "" if self._context is None else f", {self._count_text()}"
        tasks = self.tasks.get(name)
        if tasks is not None:
            counted += f"; {_format_totals(tasks)}"
        _log.info("%s: %s took %.1f s%s", self._name, name, self._times.seconds[name], counted)

    @contextmanager
    def describe(self, name: str) -> Iterator[None]:
        """Names the Spark jobs of this thread while the context is entered."""
        description = self._description(name)
        if self._context is None:
            tag = description.replace(",", " ")
            self._spark.addTag(tag)
            try:
                yield
            finally:
                self._spark.removeTag(tag)
            return
        before = {key: self._context.getLocalProperty(key) for key in (_GROUP, _DESCRIPTION)}
        if before[_GROUP] is None:
            self._context.setLocalProperty(_GROUP, self._own_group)
        self._context.setLocalProperty(_DESCRIPTION, description)
        self._totals.add_group(before[_GROUP] or self._own_group)
        try:
            yield
        finally:
            for key, value in before.items():
                self._context.setLocalProperty(key, value)

    @contextmanager
    def _progress(self, name: str) -> Iterator[None]:
        """Logs the progress of a phase in a thread."""
        if self._context is None:
            yield
            return
        group = self._context.getLocalProperty(_GROUP)
        ended = threading.Event()

        def log() -> None:
            while not ended.wait(self._interval):
                self._totals.collect()
                done, total = _tasks(self._context, group)
                _log.info(
                    "%s: %s: %d of %d tasks, %s", self._name, name, done, total, self._count_text()
                )

        thread = threading.Thread(target=log, name="anabranch-spark-log", daemon=True)
        thread.start()
        try:
            yield
        finally:
            ended.set()
            thread.join()

    def _description(self, phase: str) -> str:
        """Returns the description of the Spark jobs of a phase."""
        return f"anabranch: {self._name}: {phase}"

    def _count_text(self) -> str:
        return f"{self.counts.objects.value:,} objects, {self.counts.bytes.value:,} bytes"


def _format_totals(totals: TaskTotals) -> str:
    return (
        f"{totals.completed:,} tasks, {totals.failed:,} failed, {totals.killed:,} killed,"
        f" {totals.executor_seconds:,.1f} s of executors, {totals.shuffled_bytes:,} bytes shuffled"
    )


def _tasks(context: Any, group: str) -> tuple[int, int]:
    """Returns the numbers of tasks that have ended, and of all tasks, in the active stages of a
    group of jobs.
    """
    tracker = context.statusTracker()
    active = set(tracker.getActiveStageIds())
    done = total = 0
    for job in map(tracker.getJobInfo, tracker.getJobIdsForGroup(group)):
        for stage in () if job is None else active.intersection(job.stageIds):
            info = tracker.getStageInfo(stage)
            if info is not None:
                done, total = done + info.numCompletedTasks, total + info.numTasks
    return done, total
