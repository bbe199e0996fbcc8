"""The service that deletes repositories with their data, lists data that were left, and purges it.

A purge is a task: its state is kept where every server can read it, under its storage namespace,
for the repository no longer exists then.
"""

from __future__ import annotations

import importlib.util
import threading
import time
from collections.abc import Callable, Sequence
from typing import NamedTuple

from anabranch.blocks.contract import BlockStore
from anabranch.blocks.namespaces import kept_namespace
from anabranch.catalog.repositories.repositories import Repositories
from anabranch.catalog.tasks.tasks import BackgroundTasks, RunningTask
from anabranch.errors import NotFound, NotSupported
from anabranch.model.repositories.purge import LeftNamespace, PurgeResult
from anabranch.model.tasks.task import Task
from anabranch.versioning.core import Core
from anabranch.versioning.records.left_namespaces import same_namespace
from anabranch.versioning.records.task_formats import PURGE_TASKS
from anabranch.versioning.records.tasks import TaskRecords
from anabranch.versioning.repositories.repositories import check_writable

__all__ = ["Purges", "StartedPurge"]

_LIBRARIES = ("numpy", "pyarrow")
_HEARTBEAT_INTERVAL = 5.0


class StartedPurge(NamedTuple):
    """A purge that was started: the id of its task, and the namespace, under which its state is
    found.
    """

    id: str
    storage_namespace: str


class _Owner(NamedTuple):
    """The owner of the tasks of a namespace."""

    partition: str


class Purges:
    """Purges storage namespaces, two at once. `clock` returns seconds since 1970."""

    def __init__(
        self,
        core: Core,
        blocks: BlockStore,
        repositories: Repositories,
        clock: Callable[[], float] = time.time,
    ) -> None:
        self._core = core
        self._blocks = blocks
        self._repositories = repositories
        self._clock = clock
        self._states = TaskRecords(core.keyvalue, clock, PURGE_TASKS)
        self._tasks = BackgroundTasks(core, self._states, "purge")
        self._closed = threading.Event()
        self._heartbeat: threading.Thread | None = None
        self._lock = threading.Lock()

    def left(self) -> Sequence[LeftNamespace]:
        """Returns the namespaces of deleted repositories that may still have data, without those
        that have a repository again.
        """
        used = [repository.storage_namespace for repository in self._core.repositories.all()]
        return [
            left
            for left in self._core.repositories.left.all()
            if not any(same_namespace(left.storage_namespace, namespace) for namespace in used)
        ]

    def delete(self, repository: str, *, force: bool = False) -> StartedPurge:
        """Starts to delete a repository with its data. It is deleted only if nothing else refers to
        the data; else the task fails with Conflict (kind namespace_in_use).

        Raises NotFound, ReadOnlyRepository without `force`, and NotSupported without the libraries.
        """
        _require_libraries()
        stored = self._core.repositories.get(repository)
        check_writable(stored, force=force)
        left = LeftNamespace(
            storage_namespace=stored.storage_namespace,
            written_namespace=stored.shown_namespace,
            repository=stored.id,
            instance_uid=stored.instance_uid,
            default_branch=stored.default_branch,
            deleted_at=self._clock(),
        )

        def delete() -> LeftNamespace:
            self._repositories.delete(
                repository, force=force, instance_uid=stored.instance_uid, forget=True
            )
            return self._core.repositories.left.find(stored.storage_namespace) or left

        return self._start(left, delete)

    def purge(self, storage_namespace: str) -> StartedPurge:
        """Starts to remove the data of a deleted repository. Raises NotFound for a namespace that
        is not that of a deleted repository, or has a repository again, and NotSupported without the
        libraries.
        """
        _require_libraries()
        namespace = kept_namespace(storage_namespace, self._blocks)
        found = [left for left in self.left() if same_namespace(left.storage_namespace, namespace)]
        if not found:
            raise NotFound(
                f"{storage_namespace}: no repository was deleted in this storage namespace, or its "
                "data were purged",
                kind="namespace_not_found",
                hint="`anabranch repo namespaces` lists those that have data.",
            )
        return self._start(found[0], lambda: found[0])

    def status(self, storage_namespace: str, task_id: str) -> Task[PurgeResult]:
        """Returns the state of a purge. Raises NotFound."""
        namespace = kept_namespace(storage_namespace, self._blocks)
        return self._states.get(_owner(namespace), task_id)

    def close(self) -> None:
        """Stops running purges, which can be started again."""
        self._tasks.close()
        self._closed.set()
        if self._heartbeat is not None:
            self._heartbeat.join()

    def _start(self, left: LeftNamespace, delete: Callable[[], LeftNamespace]) -> StartedPurge:
        """Starts a purge, in which `delete` deletes the repository unless it is deleted already."""
        # the core runs without these libraries
        from anabranch.pipelines.purges.purge import purge_namespace  # noqa: PLC0415

        def work(task: RunningTask[PurgeResult]) -> PurgeResult:
            return purge_namespace(
                self._core, self._blocks, left, delete, advance=task.advance, clock=self._clock
            )

        self._begin_heartbeats()
        return StartedPurge(
            self._tasks.start(_owner(left.storage_namespace), work), left.written_namespace
        )

    def _begin_heartbeats(self) -> None:
        with self._lock:
            if self._heartbeat is None:
                self._heartbeat = threading.Thread(
                    target=self._beat, name="anabranch-purge-heartbeat", daemon=True
                )
                self._heartbeat.start()

    def _beat(self) -> None:
        while not self._closed.wait(_HEARTBEAT_INTERVAL):
            self._tasks.send_heartbeats()


def _owner(storage_namespace: str) -> _Owner:
    return _Owner(f"anabranch-purges/{storage_namespace.rstrip('/')}")


def _require_libraries() -> None:
    if not all(map(importlib.util.find_spec, _LIBRARIES)):
        raise NotSupported(
            "this server cannot purge data",
            kind="purge_unavailable",
            hint="It needs `pip install 'anabranch[gc]'`.",
        )
