"""Registry of the running jobs of one kind in this process.

The record of a job is kept for a day. A job that has not ended and whose record has not been
updated for a minute was interrupted, unless it runs in this process.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from typing import Generic, TypeVar

import msgspec

from anabranch.errors import Busy
from anabranch.model.repositories.repository import Repository
from anabranch.model.tasks.job import JobStatus
from anabranch.pipelines.jobs.job import Job
from anabranch.versioning.records.jobs import JobRecord, JobRecords
from anabranch.versioning.staging.extra_writes import ExtraWrites

__all__ = ["JobRegistry"]

_MAX_CONCURRENT = 4
_MAX_STARTED = 64
_HEARTBEAT_TIMEOUT = 60.0
_RECORD_LIFETIME = 24 * 3600.0
_CLOSE_TIMEOUT = 10.0

AnyJob = TypeVar("AnyJob", bound=Job)


class JobRegistry(Generic[AnyJob]):
    """Running jobs of one kind. `kind` names it in messages, `records` stores the states, `clock`
    returns seconds since 1970. At most 4 jobs run at once, and at most 60 others wait.
    """

    def __init__(self, kind: str, records: JobRecords, clock: Callable[[], float]) -> None:
        self.records = records
        self.slots = threading.Semaphore(_MAX_CONCURRENT)
        self._kind = kind
        self._clock = clock
        self._lock = threading.Lock()
        self._running: dict[str, AnyJob] = {}

    def start(self, job: AnyJob, extra_writes: ExtraWrites = ((), ())) -> None:
        """Starts a job, which calls `forget` when it has ended; `extra_writes` are added to the
        write of its first state. Raises Busy if 64 jobs are running or waiting, and the errors of
        `Job.start`.
        """
        with self._lock:
            if len(self._running) >= _MAX_STARTED:
                raise Busy(
                    f"{_MAX_STARTED} {self._kind}s are running already",
                    kind=f"too_many_{self._kind}s",
                )
            self._running[job.id] = job
        try:
            job.start(extra_writes)
        except BaseException:
            self.forget(job.id)
            raise

    def forget(self, job_id: str) -> None:
        """Removes a job that has ended from the registry."""
        with self._lock:
            self._running.pop(job_id, None)

    def stop(self, job_id: str, reason: str) -> None:
        """Requests a job to stop, if it runs in this process."""
        job = self._running.get(job_id)
        if job is not None:
            job.stop(reason)

    def status(self, record: JobRecord) -> JobStatus:
        """Returns the state of a job, with an error if it was interrupted."""
        status = record.status
        timed_out = self._clock() - status.updated_at > _HEARTBEAT_TIMEOUT
        if timed_out and not status.ended and status.id not in self._running:
            return msgspec.structs.replace(
                status, error=f"interrupted: the server that ran the {self._kind} has ended"
            )
        return status

    def is_expired(self, record: JobRecord) -> bool:
        """Returns whether a record is older than a day."""
        return self._clock() - record.status.updated_at > _RECORD_LIFETIME

    def remove_expired(self, repository: Repository) -> None:
        """Removes the expired records of a repository."""
        for record in list(self.records.all(repository)):
            if self.is_expired(record):
                self.records.remove(repository, record)

    def close(self) -> None:
        """Stops all running jobs; their states say that they were interrupted."""
        with self._lock:
            running = list(self._running.values())
        for job in running:
            job.stop("interrupted: the server was stopped")
        deadline = time.monotonic() + _CLOSE_TIMEOUT
        for job in running:
            job.wait(max(0.0, deadline - time.monotonic()))
