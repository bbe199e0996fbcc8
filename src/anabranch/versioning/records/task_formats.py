"""The formats of the states of tasks: lakeFS's status records, one kind of record for each kind of
task, and JSON for tasks that lakeFS does not have.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Generic, NamedTuple, TypeVar

import msgspec
from google.protobuf.message import DecodeError

from anabranch.errors import Corrupt
from anabranch.model.repositories.preparation import Preparation
from anabranch.model.repositories.purge import PurgeResult
from anabranch.model.repositories.refs_dump import RefsDump
from anabranch.model.tasks.task import Task
from anabranch.records import lakefs_pb2 as records
from anabranch.records.timestamps import read_time, write_time

__all__ = ["DUMP_TASKS", "PREPARATION_TASKS", "PURGE_TASKS", "RESTORE_TASKS"]
__all__ += ["JsonTaskFormat", "TaskFormat"]

ResultT = TypeVar("ResultT")


class TaskFormat(NamedTuple, Generic[ResultT]):
    """How the states of one kind of task are stored: the prefix of their ids, the name of the
    operation in the record, the record's message, and the functions that write a result to a
    message and read it.
    """

    prefix: str
    operation: str
    message: Callable[[], Any]
    write: Callable[[Any, ResultT], None]
    read: Callable[[Any], ResultT | None]

    def encode(self, task: Task[ResultT]) -> bytes:
        """Returns the record of a state."""
        message = self.message()
        message.task.id = task.id
        message.task.done = task.done
        message.task.progress = task.progress
        message.task.error_msg = task.error
        message.task.status_code = task.status_code
        message.task.operation = self.operation
        message.task.owner_instance_id = task.owner
        write_time(message.task.updated_at, task.updated_at)
        if task.result is not None:
            self.write(message, task.result)
        record: bytes = message.SerializeToString(deterministic=True)
        return record

    def decode(self, raw: bytes) -> Task[ResultT]:
        """Returns the state of a record. Raises Corrupt."""
        message = self.message()
        try:
            message.ParseFromString(raw)
        except DecodeError as error:
            raise Corrupt(f"a task in the key-value store cannot be read: {error}") from error
        return Task(
            id=message.task.id,
            updated_at=read_time(message.task.updated_at),
            done=message.task.done,
            progress=message.task.progress,
            result=self.read(message),
            error=message.task.error_msg,
            status_code=message.task.status_code,
            owner=message.task.owner_instance_id,
        )


class JsonTaskFormat(Generic[ResultT]):
    """How the states of a kind of task are stored that lakeFS does not have: as JSON, which
    `decoder` decodes.
    """

    def __init__(self, prefix: str, decoder: msgspec.json.Decoder[Task[ResultT]]) -> None:
        self.prefix = prefix
        self._decoder = decoder

    def encode(self, task: Task[ResultT]) -> bytes:
        """Returns the record of a state."""
        return msgspec.json.encode(task)

    def decode(self, raw: bytes) -> Task[ResultT]:
        """Returns the state of a record. Raises Corrupt."""
        try:
            return self._decoder.decode(raw)
        except msgspec.MsgspecError as error:
            raise Corrupt(f"a task in the key-value store cannot be read: {error}") from error


def _write_preparation(message: Any, result: Preparation) -> None:
    message.info.run_id = result.run_id
    message.info.gc_commits_location = result.commits
    message.info.gc_addresses_location = result.addresses


def _read_preparation(message: Any) -> Preparation | None:
    if not message.info.run_id:
        return None
    return Preparation(
        run_id=message.info.run_id,
        commits=message.info.gc_commits_location,
        addresses=message.info.gc_addresses_location,
    )


def _write_dump(message: Any, result: RefsDump) -> None:
    message.info.commits_metarange_id = result.commits
    message.info.branches_metarange_id = result.branches
    message.info.tags_metarange_id = result.tags


def _read_dump(message: Any) -> RefsDump | None:
    if not message.HasField("info"):
        return None
    return RefsDump(
        commits=message.info.commits_metarange_id,
        branches=message.info.branches_metarange_id,
        tags=message.info.tags_metarange_id,
    )


def _write_nothing(message: Any, result: None) -> None:
    """Writes nothing: tasks of this kind have no results."""


def _read_nothing(message: Any) -> None:  # noqa: ARG001  as above
    return None


PREPARATION_TASKS = TaskFormat(
    "GCPC",
    "GarbageCollectionPrepareCommits",
    records.GarbageCollectionPrepareStatus,
    _write_preparation,
    _read_preparation,
)
"""Tasks that prepare garbage collections."""

DUMP_TASKS = TaskFormat("DR", "DumpRefs", records.RepositoryDumpStatus, _write_dump, _read_dump)
"""Tasks that dump references."""

RESTORE_TASKS: TaskFormat[None] = TaskFormat(
    "RR", "RestoreRefs", records.RepositoryRestoreStatus, _write_nothing, _read_nothing
)
"""Tasks that restore references."""

PURGE_TASKS = JsonTaskFormat("PURGE", msgspec.json.Decoder(Task[PurgeResult]))
"""Tasks that purge storage namespaces."""
