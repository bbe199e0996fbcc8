"""Use cases of background preparations of garbage collections: start, status.

Tasks are stored with the references, so that each server can report their status. The server that
runs a task sends a heartbeat every few seconds.
"""

from __future__ import annotations

import threading
from concurrent.futures import ThreadPoolExecutor

import msgspec

from anabranch.catalog.garbage.prepare import GarbagePreparation
from anabranch.errors import AnabranchError, NotFound
from anabranch.model.preparation import PreparationTask
from anabranch.model.repository import Repository
from anabranch.versioning.core import Core

__all__ = ["GarbageTasks"]

_THREADS = 2
_ABSENT, _FAILED = 404, 500
"""HTTP statuses that lakeFS stores with the error of a task."""


class GarbageTasks:
    """Use cases of background preparations."""

    def __init__(self, core: Core, preparation: GarbagePreparation) -> None:
        self._core = core
        self._preparation = preparation
        self._owner = core.identifiers.xid()
        self._pool = ThreadPoolExecutor(_THREADS, thread_name_prefix="anabranch-prepare")
        self._lock = threading.Lock()
        self._running: dict[str, tuple[Repository, PreparationTask]] = {}

    def start(self, repository: str) -> str:
        """Starts to prepare the commits; returns the task's id."""
        stored_repository = self._core.repositories.get(repository)
        task = self._core.preparation_tasks.begin(stored_repository, self._owner)
        with self._lock:
            self._running[task.id] = (stored_repository, task)
        self._pool.submit(self._run, stored_repository, task)
        return task.id

    def status(self, repository: str, task_id: str) -> PreparationTask:
        """Returns the status of a task. Raises NotFound."""
        return self._core.preparation_tasks.get(self._core.repositories.get(repository), task_id)

    def send_heartbeats(self) -> None:
        """Records that the tasks of this process are still running."""
        with self._lock:
            running = list(self._running.values())
        for repository, task in running:
            self._core.preparation_tasks.update(repository, task)

    def close(self) -> None:
        """Waits for running tasks and fails the queued ones."""
        self._pool.shutdown(cancel_futures=True)
        for repository, task in self._running.values():
            self._end(
                repository,
                task,
                error="the server stopped before the task was done: start it again",
            )

    def _run(self, repository: Repository, task: PreparationTask) -> None:
        try:
            result = self._preparation.commits(repository.id)
        except AnabranchError as error:
            status = _ABSENT if isinstance(error, NotFound) else _FAILED
            self._end(repository, task, error=error.message, status=status)
        except Exception as error:
            self._end(repository, task, error=f"{type(error).__name__}: {error}")
            raise
        else:
            done = msgspec.structs.replace(task, done=True, result=result)
            self._core.preparation_tasks.update(repository, done)
        finally:
            with self._lock:
                self._running.pop(task.id, None)

    def _end(
        self, repository: Repository, task: PreparationTask, *, error: str, status: int = _FAILED
    ) -> None:
        ended = msgspec.structs.replace(task, done=True, error=error, status_code=status)
        self._core.preparation_tasks.update(repository, ended)
