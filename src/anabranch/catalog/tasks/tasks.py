"""Tasks in the background: threads that run them, heartbeats, and their states.

States are stored with the references, so that each server can report them. The server that runs a
task sends a heartbeat every few seconds.
"""

from __future__ import annotations

import threading
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from contextvars import copy_context
from typing import Generic, TypeVar

import msgspec

from anabranch.errors import AnabranchError, Busy, Conflict, Denied, Invalid, NotFound
from anabranch.model.tasks.task import Task
from anabranch.versioning.core import Core
from anabranch.versioning.records.tasks import TaskOwner, TaskRecords
from anabranch.versioning.staging.extra_writes import ExtraWrites

__all__ = ["BackgroundTasks", "RunningTask"]

_THREADS = 2
_FAILED = 500
_STATUSES = {Invalid: 400, Denied: 403, NotFound: 404, Conflict: 409}
"""HTTP statuses that lakeFS stores with the errors of tasks; others are 500."""
_STOPPED = "the server stopped before the task was done: start it again"

ResultT = TypeVar("ResultT")


class RunningTask(Generic[ResultT]):
    """A task that this process runs, or will."""

    def __init__(
        self, records: TaskRecords[ResultT], owner: TaskOwner, task: Task[ResultT]
    ) -> None:
        self._owner = owner
        self._records = records
        self._task = task
        self._stopped = False
        self._progress = 0

    @property
    def id(self) -> str:
        """The task's id."""
        return self._task.id

    def advance(self, amount: int) -> None:
        """Counts what was processed. Raises Busy (kind task_stopped) if the server stops."""
        self._progress += amount
        if self._stopped:
            raise Busy(_STOPPED, kind="task_stopped")

    def writes_for(self, _: None, /) -> ExtraWrites:
        """Returns the write that completes the task together with its change, and its condition.
        Raises Conflict (kind task_ended) if it has ended, and Busy if the server stops.
        """
        self.advance(0)
        return self._records.completion(self._owner, self._state(done=True, result=None))

    def complete(self, result: ResultT | None) -> None:
        """Stores the result, unless the task is done."""
        self._records.update(self._owner, self._state(done=True, result=result))

    def fail(self, error: str, status: int = _FAILED) -> None:
        """Stores an error, unless the task is done."""
        state = self._state(done=True, error=error, status_code=status)
        self._records.update(self._owner, state)

    def send_heartbeat(self) -> None:
        """Records that the task is still running."""
        self._records.update(self._owner, self._state())

    def stop(self) -> None:
        """Makes the task fail soon, if it reports its progress."""
        self._stopped = True

    def _state(self, **changes: object) -> Task[ResultT]:
        return msgspec.structs.replace(self._task, progress=self._progress, **changes)


class BackgroundTasks(Generic[ResultT]):
    """The tasks of one kind. At most two run at once in a process; `name` is that of the
    threads.
    """

    def __init__(self, core: Core, records: TaskRecords[ResultT], name: str) -> None:
        self._core = core
        self._records = records
        self._owner = core.identifiers.xid()
        self._pool = ThreadPoolExecutor(_THREADS, thread_name_prefix=f"anabranch-{name}")
        self._lock = threading.Lock()
        self._running: dict[str, RunningTask[ResultT]] = {}

    def start(
        self, owner: TaskOwner, work: Callable[[RunningTask[ResultT]], ResultT | None]
    ) -> str:
        """Starts a task, whose result is what `work` returns; returns the task's id."""
        task = RunningTask(self._records, owner, self._records.begin(owner, self._owner))
        with self._lock:
            self._running[task.id] = task
        # in the context of the caller, to whom its changes are attributed
        self._pool.submit(copy_context().run, self._run, task, work)
        return task.id

    def status(self, repository: str, task_id: str) -> Task[ResultT]:
        """Returns the status of a task. Raises NotFound."""
        return self._records.get(self._core.repositories.get(repository), task_id)

    def send_heartbeats(self) -> None:
        """Records that the tasks of this process are still running."""
        for task in self._all():
            task.send_heartbeat()

    def close(self) -> None:
        """Stops the tasks that can be stopped, waits for the others, and fails the queued ones."""
        for task in self._all():
            task.stop()
        self._pool.shutdown(cancel_futures=True)
        for task in self._all():
            task.fail(_STOPPED)

    def _all(self) -> list[RunningTask[ResultT]]:
        with self._lock:
            return list(self._running.values())

    def _run(
        self, task: RunningTask[ResultT], work: Callable[[RunningTask[ResultT]], ResultT | None]
    ) -> None:
        try:
            task.complete(work(task))
        except AnabranchError as error:
            statuses = [_STATUSES[cls] for cls in type(error).__mro__ if cls in _STATUSES]
            task.fail(error.message, statuses[0] if statuses else _FAILED)
        except Exception as error:
            task.fail(f"{type(error).__name__}: {error}")
            raise
        finally:
            with self._lock:
                self._running.pop(task.id, None)
