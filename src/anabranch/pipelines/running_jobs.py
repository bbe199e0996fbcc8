"""The jobs of one kind that go on in this process: let in, asked about, ended.

What a job writes of itself is kept for a day. One that has neither ended nor been heard of for a
minute was interrupted, unless it goes on here.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from typing import Generic, TypeVar

import msgspec

from anabranch.errors import Busy
from anabranch.model.imports import ImportStatus
from anabranch.model.repository import Repository
from anabranch.pipelines.running import RunningJob
from anabranch.versioning.core import Core
from anabranch.versioning.import_records import StoredImport

__all__ = ["RunningJobs"]

_AT_ONCE = 4
_WAITING = 64
_SILENT_SECONDS = 60.0
_KEPT_SECONDS = 24 * 3600.0
_PATIENCE_SECONDS = 10.0

Job = TypeVar("Job", bound=RunningJob)


class RunningJobs(Generic[Job]):
    """Jobs that are called `kind` where people read of them. `slots` lets four work at once; 64 go
    on at most. `clock` gives seconds since 1970.
    """

    def __init__(self, kind: str, core: Core, clock: Callable[[], float]) -> None:
        self._kind = kind
        self._core = core
        self._clock = clock
        self._lock = threading.Lock()
        self._running: dict[str, Job] = {}
        self.slots = threading.Semaphore(_AT_ONCE)

    def start(self, job: Job) -> None:
        """Starts a job, which calls `forget` when it has ended. Raises Busy when too many go on."""
        with self._lock:
            if len(self._running) >= _WAITING:
                raise Busy(
                    f"{_WAITING} {self._kind}s go on already", kind=f"too_many_{self._kind}s"
                )
            self._running[job.id] = job
        try:
            job.start()
        except BaseException:
            self.forget(job.id)
            raise

    def forget(self, job_id: str) -> None:
        """Notes that a job has ended."""
        with self._lock:
            self._running.pop(job_id, None)

    def stop(self, job_id: str, reason: str) -> None:
        """Lets a job end soon, if it goes on here."""
        job = self._running.get(job_id)
        if job is not None:
            job.stop(reason)

    def status(self, stored: StoredImport) -> ImportStatus:
        """Returns what a job has written, with an error if it was interrupted."""
        status = stored.status
        silent = self._clock() - status.updated_at > _SILENT_SECONDS
        if silent and not status.ended and status.id not in self._running:
            return msgspec.structs.replace(
                status, error=f"interrupted: the server that ran the {self._kind} has ended"
            )
        return status

    def is_old(self, stored: StoredImport) -> bool:
        """Returns whether what a job has written is kept no longer."""
        return self._clock() - stored.status.updated_at > _KEPT_SECONDS

    def forget_old(self, repository: Repository) -> None:
        """Removes what is kept no longer of a repository's jobs."""
        for stored in list(self._core.imports.all(repository)):
            if self.is_old(stored):
                self._core.imports.remove(repository, stored)

    def close(self) -> None:
        """Ends all jobs that go on; their states say that they were interrupted."""
        with self._lock:
            running = list(self._running.values())
        for each in running:
            each.stop("interrupted: the server was stopped")
        deadline = time.monotonic() + _PATIENCE_SECONDS
        for each in running:
            each.wait(max(0.0, deadline - time.monotonic()))
