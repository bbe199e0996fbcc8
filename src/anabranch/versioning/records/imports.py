"""The format of import states: lakeFS's ImportStatusData records under `imports/`."""

from __future__ import annotations

from google.protobuf.message import DecodeError

from anabranch.errors import Corrupt
from anabranch.model.tasks.job import JobStatus
from anabranch.records import lakefs_pb2 as records
from anabranch.records.timestamps import read_time, write_time
from anabranch.versioning.records import references
from anabranch.versioning.records.jobs import JobFormat

__all__ = ["IMPORTS"]


def _encode(status: JobStatus) -> bytes:
    message = records.ImportStatusData(
        id=status.id,
        completed=status.completed,
        progress=status.progress,
        metarange_id=status.metarange_id,
        error=status.error,
    )
    write_time(message.updated_at, status.updated_at)
    if status.commit is not None:
        message.commit.ParseFromString(references.commit_bytes(status.commit))
    return message.SerializeToString(deterministic=True)


def _decode(raw: bytes) -> JobStatus:
    message = records.ImportStatusData()
    try:
        message.ParseFromString(raw)
    except DecodeError as error:
        raise Corrupt(f"the record of an import cannot be read: {error}") from error
    commit = None
    if message.HasField("commit"):
        commit = references.commit_from(message.commit.SerializeToString())
    return JobStatus(
        id=message.id,
        updated_at=read_time(message.updated_at),
        completed=message.completed,
        progress=message.progress,
        metarange_id=message.metarange_id,
        commit=commit,
        error=message.error,
    )


IMPORTS = JobFormat(b"imports/", _encode, _decode)
