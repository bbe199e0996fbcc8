"""Job that runs one commit or merge, whose write to the branch also completes the job's state."""

from __future__ import annotations

import threading
from collections.abc import Callable, Sequence
from typing import Final, Protocol

import msgspec

from anabranch import errors
from anabranch.errors import AnabranchError
from anabranch.model.commits.commit import Commit
from anabranch.model.repositories.repository import Repository
from anabranch.model.tasks.job import JobStatus
from anabranch.pipelines.jobs.job import Job
from anabranch.versioning.core import Core
from anabranch.versioning.records.jobs import JobRecords
from anabranch.versioning.staging.extra_writes import ExtraWritesFor

__all__ = ["INTERRUPTED_STATUS", "BackgroundChange", "BranchJob", "http_status"]

INTERRUPTED_STATUS: Final = 503
"""The HTTP status of a task whose server stopped: nothing was changed, so it can be repeated."""

_FAILED = 500
_STATUSES = {
    errors.Invalid: 400,
    errors.Denied: 403,
    errors.NotFound: 404,
    errors.Conflict: 409,
    errors.Gone: 410,
    errors.PreconditionFailed: 412,
    errors.NotSupported: 501,
    errors.Busy: 503,
}


class BackgroundChange(Protocol):
    """A commit or a merge that runs in the background."""

    def run(self, extra_writes: Sequence[ExtraWritesFor[Commit]]) -> object:
        """Commits or merges; the extra writes are made atomically with those of the commit."""


def http_status(error: AnabranchError) -> int:
    """Returns the HTTP status with which the synchronous operation reports an error."""
    for cls in type(error).__mro__:
        if cls in _STATUSES:
            return _STATUSES[cls]
    return _FAILED


class BranchJob(Job):
    """A commit on a branch or a merge into it; `name` is the kind of its task."""

    def __init__(
        self,
        core: Core,
        repository: Repository,
        branch: str,
        change: BackgroundChange,
        *,
        name: str,
        records: JobRecords,
        slots: threading.Semaphore,
        clock: Callable[[], float],
        on_done: Callable[[str], None],
    ) -> None:
        super().__init__(
            *(core, repository, core.identifiers.xid()),
            records=records,
            slots=slots,
            clock=clock,
            on_done=on_done,
        )
        self.name = name
        self._branch = branch
        self._change = change

    def run(self) -> None:
        """Commits or merges."""
        self._change.run([self])

    def status(self) -> JobStatus:
        """Returns the state of the job while it runs."""
        return msgspec.structs.replace(super().status(), branch=self._branch)

    def failure(self, reason: str) -> JobStatus:
        """Returns the state of the job after it has failed, with the HTTP status, the kind and the
        hint of its error, or 503 if it was stopped without an error.
        """
        failed = super().failure(reason)
        if self.error is None:
            return msgspec.structs.replace(
                failed,
                status_code=INTERRUPTED_STATUS,
                error_kind="interrupted",
                error_hint="Nothing was changed: start it again.",
            )
        return msgspec.structs.replace(
            failed,
            status_code=http_status(self.error),
            error_kind=self.error.kind,
            error_hint=self.error.hint,
        )
