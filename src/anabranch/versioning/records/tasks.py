"""The states of tasks, stored as lakeFS's records.

    partition          key        value
    (the repository's) tasks/ID   the record of the task's kind (see `task_formats`)

The server that runs a task updates its record every few seconds. A task whose record has not been
updated for INTERRUPTED_SECONDS was interrupted: its server has ended.
"""

from __future__ import annotations

import secrets
import string
from collections.abc import Callable, Sequence
from typing import Generic, Protocol, TypeVar

import msgspec

from anabranch.errors import Conflict, NotFound
from anabranch.keyvalue.contract import Expect, KeyValueStore, Write
from anabranch.model.names import encode_path
from anabranch.model.tasks.task import Task
from anabranch.versioning.records import keys
from anabranch.versioning.records.task_formats import JsonTaskFormat, TaskFormat

__all__ = ["INTERRUPTED_SECONDS", "TaskOwner", "TaskRecords"]

INTERRUPTED_SECONDS = 60.0
_EXPIRE_SECONDS = 24 * 3600.0
_LETTERS = string.ascii_letters + string.digits
_ID_LENGTH = 20

ResultT = TypeVar("ResultT")


class TaskOwner(Protocol):
    """What tasks belong to: a repository, or something else that has a partition."""

    @property
    def partition(self) -> str:
        """The partition that holds the states of the tasks."""


class TaskRecords(Generic[ResultT]):
    """The tasks of one kind, of all owners. `clock` returns seconds since 1970."""

    def __init__(
        self,
        keyvalue: KeyValueStore,
        clock: Callable[[], float],
        stored_as: TaskFormat[ResultT] | JsonTaskFormat[ResultT],
    ) -> None:
        self._keyvalue = keyvalue
        self._clock = clock
        self._format = stored_as

    def begin(self, owner: TaskOwner, server: str) -> Task[ResultT]:
        """Records a new task, and removes those of its kind that are a day old."""
        prefix = self._format.prefix
        for key, raw in self._keyvalue.scan(owner.partition, *keys.all_tasks(prefix)):
            if self._clock() - self._format.decode(raw).updated_at > _EXPIRE_SECONDS:
                self._keyvalue.apply([Write(owner.partition, key, None)])
        letters = (secrets.choice(_LETTERS) for _ in range(_ID_LENGTH))
        task: Task[ResultT] = Task(
            id=prefix + "".join(letters), updated_at=self._clock(), owner=server
        )
        self._keyvalue.apply([self._write(owner, task)])
        return task

    def update(self, owner: TaskOwner, task: Task[ResultT]) -> None:
        """Stores a task's state with the current time; does not change a task that is done."""
        write = self._write(owner, task)
        while True:
            raw = self._keyvalue.get(write.partition, write.key)
            if raw is None or self._format.decode(raw).done:
                return
            if self._keyvalue.apply([write], [Expect(write.partition, write.key, raw)]):
                return

    def completion(
        self, owner: TaskOwner, task: Task[ResultT]
    ) -> tuple[Sequence[Write], Sequence[Expect]]:
        """Returns the write that stores the state of a task that is done together with its change,
        and the condition that it was not done before. Raises Conflict (kind task_ended) if it was.
        """
        raw = self._keyvalue.get(owner.partition, keys.task(task.id))
        if raw is None or self._format.decode(raw).done:
            raise Conflict("the task has ended", kind="task_ended")
        write = self._write(owner, task)
        return [write], [Expect(write.partition, write.key, raw)]

    def get(self, owner: TaskOwner, task_id: str) -> Task[ResultT]:
        """Returns a task's state. Raises NotFound, also for a task that is a day old."""
        raw = None
        prefix = self._format.prefix
        if task_id.startswith(prefix) and len(task_id) == len(prefix) + _ID_LENGTH:
            raw = self._keyvalue.get(owner.partition, encode_path(f"tasks/{task_id}"))
        task = None if raw is None else self._format.decode(raw)
        if task is None or self._clock() - task.updated_at > _EXPIRE_SECONDS:
            raise NotFound("not found", kind="task_not_found")
        if not task.done and self._clock() - task.updated_at > INTERRUPTED_SECONDS:
            return msgspec.structs.replace(
                task,
                done=True,
                status_code=500,
                error="the server that ran this task has stopped: start the task again",
            )
        return task

    def _write(self, owner: TaskOwner, task: Task[ResultT]) -> Write:
        task = msgspec.structs.replace(task, updated_at=self._clock())
        return Write(owner.partition, keys.task(task.id), self._format.encode(task))
