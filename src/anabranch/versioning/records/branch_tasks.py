"""The format of the states of asynchronous commits and merges: JSON records of Anabranch's own.

partition          key              value
(the repository's) commit-tasks/ID  JobStatus
(the repository's) merge-tasks/ID   JobStatus
"""

from __future__ import annotations

import msgspec

from anabranch.errors import Corrupt
from anabranch.model.tasks.job import JobStatus
from anabranch.versioning.records.jobs import JobFormat

__all__ = ["COMMIT_TASKS", "MERGE_TASKS"]

_DECODER = msgspec.json.Decoder(JobStatus)


def _decode(raw: bytes) -> JobStatus:
    try:
        return _DECODER.decode(raw)
    except (msgspec.DecodeError, UnicodeDecodeError) as error:
        raise Corrupt(f"the record of a task cannot be read: {error}") from error


COMMIT_TASKS = JobFormat(b"commit-tasks/", msgspec.json.encode, _decode)
MERGE_TASKS = JobFormat(b"merge-tasks/", msgspec.json.encode, _decode)
