"""What Spark's listener has recorded of the stages of jobs: tasks, their time, shuffled bytes.

Spark keeps it in the status store of the driver, also without its web interface, for the latest
thousand jobs (`spark.ui.retainedJobs`). So totals are added up while a job runs. The store is read
through the gateway to Java that PySpark has. Sessions of Spark Connect have none, and a version of
Spark may change these internal classes: then there are no totals, and nothing fails.
"""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import suppress
from typing import Any

from anabranch.pipelines.jobs.task_totals import TaskTotals

__all__ = ["StageTotals"]

_LISTENER_MILLISECONDS = 5_000
"""The time that the listener has for the events of tasks that have ended."""


class StageTotals:
    """The totals of the stages of Spark jobs, by the descriptions of the jobs. `context` is the
    SparkContext, or None. Jobs are found by their groups.
    """

    def __init__(self, context: Any) -> None:
        self._context = context
        self._groups: set[str] = set()
        self._jobs: set[int] = set()
        self._stages: set[int] = set()
        self._totals: dict[str, TaskTotals] = {}
        self._lock = threading.Lock()

    def add_group(self, group: str) -> None:
        """Adds a group of jobs. Jobs that it already has are left out."""
        if self._context is None:
            return
        with self._lock:
            if group not in self._groups:
                self._groups.add(group)
                self._jobs.update(self._context.statusTracker().getJobIdsForGroup(group))

    def collect(self, *, wait: bool = False) -> None:
        """Adds the jobs that have ended since the last call. With `wait`, those whose events the
        listener has not processed yet are included.
        """
        if self._context is None:
            return
        from py4j.protocol import Py4JError  # noqa: PLC0415  an extra

        with self._lock:
            try:
                scala = self._context._jsc.sc()  # noqa: SLF001  PySpark has no other way to Java
                self._collect(scala, wait=wait)
            except (Py4JError, AttributeError, TypeError):
                self._context = None
                self._totals.clear()

    def get(self, description: str) -> TaskTotals | None:
        """Returns the totals of the jobs with a description, or None if none have been recorded."""
        with self._lock:
            return self._totals.get(description)

    def _collect(self, scala: Any, *, wait: bool) -> None:
        from py4j.protocol import Py4JJavaError  # noqa: PLC0415  an extra

        if wait:
            with suppress(Py4JJavaError):  # a slow listener: its totals are incomplete
                scala.listenerBus().waitUntilEmpty(_LISTENER_MILLISECONDS)
        tracker, store = self._context.statusTracker(), scala.statusStore()
        for group in self._groups:
            for number in tracker.getJobIdsForGroup(group):
                if number not in self._jobs:
                    with suppress(Py4JJavaError):  # Spark has dropped the job meanwhile
                        self._add_job(store, number)

    def _add_job(self, store: Any, number: int) -> None:
        """Adds a job, unless it runs."""
        job = store.job(number)
        if job.status().toString() == "RUNNING":
            return
        self._jobs.add(number)
        description = job.description().get() if job.description().isDefined() else ""
        for stage in _items(job.stageIds()):
            # a stage belongs to each job that needs it, and runs in one
            if stage not in self._stages:
                self._add_stage(store, stage, description)

    def _add_stage(self, store: Any, number: int, description: str) -> None:
        gateway = self._context._gateway  # noqa: SLF001
        quantiles = gateway.new_array(gateway.jvm.double, 0)
        statuses = gateway.jvm.java.util.ArrayList()
        for attempt in _items(store.stageData(number, False, statuses, False, quantiles)):
            if attempt.status().toString() in {"COMPLETE", "FAILED"}:
                self._stages.add(number)
                totals = self._totals.get(description, TaskTotals())
                self._totals[description] = totals + _attempt_totals(attempt)


def _items(sequence: Any) -> Iterator[Any]:
    """Yields the items of a sequence of Scala."""
    for index in range(sequence.size()):
        yield sequence.apply(index)


def _attempt_totals(attempt: Any) -> TaskTotals:
    """Returns the totals of an attempt of a stage."""
    peak = attempt.peakExecutorMetrics()
    heap = peak.get().getMetricValue("JVMHeapMemory") if peak.isDefined() else 0
    return TaskTotals(
        completed=attempt.numCompleteTasks(),
        failed=attempt.numFailedTasks(),
        killed=attempt.numKilledTasks(),
        executor_seconds=attempt.executorRunTime() / 1000,
        collection_seconds=attempt.jvmGcTime() / 1000,
        shuffled_bytes=attempt.shuffleWriteBytes(),
        spilled_bytes=attempt.diskBytesSpilled(),
        peak_heap_bytes=max(0, heap),
    )
