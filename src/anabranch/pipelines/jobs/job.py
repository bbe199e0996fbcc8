"""Long-running job of this process, whose state is stored in the key-value store.

The job works in one thread. A second thread writes its state every two seconds by compare-and-set,
and so notices when another server cancels the job. The write that publishes the job's result also
completes its state, so that the two never disagree.
"""

from __future__ import annotations

import logging
import os
import threading
from collections.abc import Callable
from contextlib import suppress
from contextvars import copy_context

import msgspec

from anabranch.errors import AnabranchError, Conflict
from anabranch.model.commits.commit import Commit
from anabranch.model.repositories.repository import Repository
from anabranch.model.tasks.job import JobStatus
from anabranch.versioning.core import Core
from anabranch.versioning.records.jobs import JobRecords
from anabranch.versioning.staging.extra_writes import ExtraWrites

__all__ = ["Job", "JobProgress", "Stopped"]

_log = logging.getLogger(__name__)

_HEARTBEAT_INTERVAL = 2.0
_INTERNAL = "internal error; see the server's log"


class Stopped(Exception):
    """The job was stopped or cancelled; the reason is in its record."""


class JobProgress:
    """Progress that counts the items of the current step. `check` is called with every report and
    raises to stop the job.
    """

    def __init__(self, check: Callable[[], None]) -> None:
        self._check = check
        self.done = 0
        """The number of completed items of the current step."""

    def begin(self, step: str, total: int) -> None:  # noqa: ARG002  only the count is stored
        """Begins a step: the count starts at 0."""
        self.done = 0
        self._check()

    def advance(self, amount: int) -> None:
        """Counts items."""
        self.done += amount
        self._check()


class Job:
    """A job in two threads of its own. A subclass defines `run` and the `name` of its kind.

    `records` stores the states of its kind, `slots` limits the number of concurrent jobs, `clock`
    returns seconds since 1970, `on_done` is called with the id when the job has ended.
    """

    name = "job"

    def __init__(
        self,
        core: Core,
        repository: Repository,
        job_id: str,
        *,
        records: JobRecords,
        slots: threading.Semaphore,
        clock: Callable[[], float],
        on_done: Callable[[str], None],
    ) -> None:
        self.id = job_id
        self.core = core
        self.repository = repository
        self.clock = clock
        self.progress = JobProgress(self.check_cancelled)
        self.folder = ""
        """The folder for temporary tables while it is in use, else ""."""
        self.error: AnabranchError | None = None
        """The error of a job that failed."""
        self._records = records
        self._slots = slots
        self._on_done = on_done
        self._stop_reason: str | None = None
        self._work_ended = threading.Event()
        self._done = threading.Event()

    def run(self) -> None:
        """Does the work. Raises Stopped if the job is stopped, and the errors of its kind."""
        raise NotImplementedError

    def start(self, extra_writes: ExtraWrites = ((), ())) -> None:
        """Writes the first state, together with `extra_writes`, and starts both threads. Raises
        Conflict (kind job_not_started) if a condition of the extra writes does not hold.
        """
        if not self._records.create(self.repository, self.status(), *extra_writes):
            raise Conflict(f"the {self.name} was not started", kind="job_not_started")
        for part, run in (("heartbeat", self._heartbeat), ("work", self._work)):
            name = f"{self.name}-{part}-{self.id}"
            # the work goes on in the name of the caller
            threading.Thread(target=copy_context().run, args=(run,), name=name, daemon=True).start()

    def stop(self, reason: str) -> None:
        """Requests the job to stop soon; the reason becomes its error unless it has one already."""
        self._stop_reason = reason

    def wait(self, seconds: float) -> None:
        """Waits until the job has ended; after the timeout, its state says that it failed."""
        if not self.wait_done(seconds):
            self._fail(self._stop_reason or "it did not end in time")

    def wait_done(self, seconds: float) -> bool:
        """Waits at most `seconds` for the job, and returns whether it has ended."""
        return self._done.wait(seconds)

    def writes_for(self, commit: Commit, /) -> ExtraWrites:
        """Returns the writes and conditions that complete the state together with the result.
        Raises Stopped.
        """
        self.check_cancelled()
        record = self._records.find(self.repository, self.id)
        if record is None or record.status.ended:
            raise Stopped
        status = msgspec.structs.replace(
            self.status(), completed=True, commit=commit, metarange_id=commit.metarange_id
        )
        write, expect = self._records.replacement(self.repository, record, status)
        return [write], [expect]

    def check_cancelled(self) -> None:
        """Raises Stopped if the job was stopped or cancelled."""
        if self._stop_reason is not None:
            raise Stopped

    def keep_alive(self) -> None:
        """Renews the job's pins; called every two seconds by the heartbeat thread."""

    def status(self) -> JobStatus:
        """Returns the state of the job while it runs."""
        return JobStatus(id=self.id, updated_at=self.clock(), progress=self.progress.done)

    def failure(self, reason: str) -> JobStatus:
        """Returns the state of the job after it has failed for that reason."""
        return msgspec.structs.replace(self.status(), error=reason)

    def _heartbeat(self) -> None:
        try:
            while not self._work_ended.wait(_HEARTBEAT_INTERVAL):
                try:
                    self._record()
                    self.keep_alive()
                except AnabranchError as error:
                    _log.warning("%s %s: %s", self.name, self.id, error.message)
        finally:
            self._on_done(self.id)
            self._done.set()

    def _record(self) -> None:
        """Writes the state, and stops the job if it was cancelled."""
        record = self._records.find(self.repository, self.id)
        if record is None or record.status.ended:
            self.stop("Canceled")
        else:
            self._records.replace(self.repository, record, self.status())
        if folder := self.folder:
            with suppress(FileNotFoundError):  # the job may have removed it meanwhile
                os.utime(folder)  # otherwise the cleanup of abandoned folders would remove it

    def _work(self) -> None:
        try:
            while not self._slots.acquire(timeout=_HEARTBEAT_INTERVAL):
                self.check_cancelled()
            try:
                self.run()
            finally:
                self._slots.release()
        except Stopped:
            self._fail(self._stop_reason or "Canceled")
        except AnabranchError as error:
            self.error = error
            self._fail(error.message)
        except Exception:  # noqa: BLE001  any error fails the job
            _log.exception("%s %s", self.name, self.id)
            self.error = AnabranchError(_INTERNAL, kind="internal_error")
            self._fail(_INTERNAL)
        finally:
            self._work_ended.set()

    def _fail(self, reason: str) -> None:
        """Writes the reason into the state, unless the state has ended already."""
        try:
            while True:
                record = self._records.find(self.repository, self.id)
                if record is None or record.status.ended:
                    return
                status = self.failure(reason)
                if self._records.replace(self.repository, record, status):
                    return
        except AnabranchError as error:
            _log.warning(
                "%s %s: %s; its state cannot be written: %s", self.name, self.id, reason, error
            )
