"""Service that starts asynchronous commits and merges, and returns their states.

Before a task is reported as interrupted, its state is set to ended, by compare-and-set. The write
that moves the branch has a condition on the state, too. So a task that was reported as interrupted
never moves the branch later.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Sequence
from math import inf

import msgspec

from anabranch.errors import NotFound
from anabranch.model.repositories.repository import Repository
from anabranch.model.tasks.job import JobStatus
from anabranch.pipelines.branch_tasks.branch_job import (
    INTERRUPTED_STATUS,
    BackgroundChange,
    BranchJob,
)
from anabranch.pipelines.jobs.registry import JobRegistry
from anabranch.versioning.core import Core
from anabranch.versioning.records.jobs import JobRecords
from anabranch.versioning.repositories.repositories import check_writable
from anabranch.versioning.staging.extra_writes import ExtraWritesFor, collect_extra_writes

__all__ = ["BranchTasks", "TasksOfKind"]

CLEANUP_INTERVAL = 600.0
"""The minimum number of seconds between two removals of a repository's expired states."""

_RETRY = "; nothing was changed: start it again"


class TasksOfKind:
    """The tasks of one kind, commits or merges. `clock` returns seconds since 1970."""

    def __init__(
        self, kind: str, core: Core, records: JobRecords, clock: Callable[[], float]
    ) -> None:
        self._kind = kind
        self._core = core
        self._records = records
        self._clock = clock
        self._lock = threading.Lock()
        self._cleaned: dict[str, float] = {}
        self._jobs: JobRegistry[BranchJob] = JobRegistry(kind, records, clock)

    def start(
        self,
        repository: str,
        branch: str,
        change: BackgroundChange,
        *,
        force: bool = False,
        extra_writes: Sequence[ExtraWritesFor[str]] = (),
    ) -> str:
        """Starts a task and returns its id. `extra_writes` are added to the write of the task's
        first state.

        Raises NotFound for the repository or the branch, ReadOnlyRepository unless `force`, Busy
        if 64 tasks are running or waiting, and Conflict if a condition of the extra writes does not
        hold.
        """
        target = self._core.repositories.get(repository)
        check_writable(target, force=force)
        self._core.branches.read(target, branch)
        self._clean(target)
        job = BranchJob(
            *(self._core, target, branch, change),
            name=self._kind,
            records=self._records,
            slots=self._jobs.slots,
            clock=self._clock,
            on_done=self._jobs.forget,
        )
        self._jobs.start(job, collect_extra_writes(extra_writes, job.id))
        return job.id

    def status(self, repository: str, branch: str, task_id: str) -> JobStatus:
        """Returns the state of a task on a branch. A task whose state has not been updated for a
        minute is ended as interrupted. Raises NotFound, also for a task that is more than a day
        old.
        """
        target = self._core.repositories.get(repository)
        while True:
            record = self._records.find(target, task_id)
            if record is None or record.status.branch != branch or self._jobs.is_expired(record):
                raise NotFound(f"{self._kind} task not found", kind="task_not_found")
            status = self._jobs.status(record)
            if status is record.status:
                return status
            ended = msgspec.structs.replace(
                status, error=status.error + _RETRY, status_code=INTERRUPTED_STATUS
            )
            if self._records.replace(target, record, ended):
                return ended

    def close(self) -> None:
        """Stops all running tasks; their states say that they were interrupted."""
        self._jobs.close()

    def _clean(self, repository: Repository) -> None:
        """Removes expired states of a repository, once per CLEANUP_INTERVAL: there may be many."""
        now = self._clock()
        with self._lock:
            if now < self._cleaned.get(repository.partition, -inf) + CLEANUP_INTERVAL:
                return
            self._cleaned[repository.partition] = now
        self._jobs.remove_expired(repository)


class BranchTasks:
    """All asynchronous commits and merges. `clock` returns seconds since 1970."""

    def __init__(self, core: Core, clock: Callable[[], float] = time.time) -> None:
        self.commits = TasksOfKind("commit", core, core.commit_tasks, clock)
        self.merges = TasksOfKind("merge", core, core.merge_tasks, clock)

    def close(self) -> None:
        """Stops all running tasks; their states say that they were interrupted."""
        self.commits.close()
        self.merges.close()
