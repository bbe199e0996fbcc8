"""Tasks that prepare garbage collections, stored as lakeFS's records.

    partition          key        value
    (the repository's) tasks/ID   GarbageCollectionPrepareStatus

The server that runs a task updates its record every few seconds. A task whose record has not been
updated for INTERRUPTED_SECONDS was interrupted: its server has ended.
"""

from __future__ import annotations

import secrets
import string
from collections.abc import Callable

import msgspec
from google.protobuf.message import DecodeError

from anabranch.errors import Corrupt, NotFound
from anabranch.keyvalue.contract import Expect, KeyValueStore, Write
from anabranch.model.names import encode_path
from anabranch.model.preparation import Preparation, PreparationTask
from anabranch.model.repository import Repository
from anabranch.records import lakefs_pb2 as records
from anabranch.records.timestamps import read_time, write_time
from anabranch.versioning.records import keys

__all__ = ["INTERRUPTED_SECONDS", "PreparationTasks"]

INTERRUPTED_SECONDS = 60.0
_EXPIRE_SECONDS = 24 * 3600.0
_PREFIX = "GCPC"
_LETTERS = string.ascii_letters + string.digits
_ID_LENGTH = 20
_OPERATION = "GarbageCollectionPrepareCommits"


class PreparationTasks:
    """The tasks of all repositories. `clock` returns seconds since 1970."""

    def __init__(self, keyvalue: KeyValueStore, clock: Callable[[], float]) -> None:
        self._keyvalue = keyvalue
        self._clock = clock

    def begin(self, repository: Repository, owner: str) -> PreparationTask:
        """Records a new task, and removes those that are a day old."""
        for key, raw in self._keyvalue.scan(repository.partition, *keys.all_tasks(_PREFIX)):
            if self._clock() - _task_from(raw).updated_at > _EXPIRE_SECONDS:
                self._keyvalue.apply([Write(repository.partition, key, None)])
        letters = (secrets.choice(_LETTERS) for _ in range(_ID_LENGTH))
        task = PreparationTask(id=_PREFIX + "".join(letters), updated_at=self._clock(), owner=owner)
        self._keyvalue.apply([_write(repository, task)])
        return task

    def update(self, repository: Repository, task: PreparationTask) -> None:
        """Stores a task's state with the current time; does not change a task that is done."""
        raw = self._keyvalue.get(repository.partition, keys.task(task.id))
        if raw is not None and not _task_from(raw).done:
            write = _write(repository, msgspec.structs.replace(task, updated_at=self._clock()))
            self._keyvalue.apply([write], [Expect(write.partition, write.key, raw)])

    def get(self, repository: Repository, task_id: str) -> PreparationTask:
        """Returns a task's state. Raises NotFound, also for a task that is a day old."""
        raw = None
        if task_id.startswith(_PREFIX) and len(task_id) == len(_PREFIX) + _ID_LENGTH:
            raw = self._keyvalue.get(repository.partition, encode_path(f"tasks/{task_id}"))
        task = None if raw is None else _task_from(raw)
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


def _write(repository: Repository, task: PreparationTask) -> Write:
    message = records.GarbageCollectionPrepareStatus()
    message.task.id = task.id
    message.task.done = task.done
    message.task.error_msg = task.error
    message.task.status_code = task.status_code
    message.task.operation = _OPERATION
    message.task.owner_instance_id = task.owner
    write_time(message.task.updated_at, task.updated_at)
    if task.result is not None:
        message.info.run_id = task.result.run_id
        message.info.gc_commits_location = task.result.commits
        message.info.gc_addresses_location = task.result.addresses
    record = message.SerializeToString(deterministic=True)
    return Write(repository.partition, keys.task(task.id), record)


def _task_from(raw: bytes) -> PreparationTask:
    message = records.GarbageCollectionPrepareStatus()
    try:
        message.ParseFromString(raw)
    except DecodeError as error:
        raise Corrupt(f"a task in the key-value store cannot be read: {error}") from error
    result = None
    if message.info.run_id:
        result = Preparation(
            run_id=message.info.run_id,
            commits=message.info.gc_commits_location,
            addresses=message.info.gc_addresses_location,
        )
    return PreparationTask(
        id=message.task.id,
        updated_at=read_time(message.task.updated_at),
        done=message.task.done,
        result=result,
        error=message.task.error_msg,
        status_code=message.task.status_code,
        owner=message.task.owner_instance_id,
    )
