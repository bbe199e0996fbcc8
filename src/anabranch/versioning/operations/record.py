"""The stored form of operations, and their keys.

The operations of a repository, and those of the installation, have a partition of their own. The
key of each ends with its id, which begins with the time that is left until a distant moment: newer
operations sort first. A second key for each reference that an operation has changed finds what it
was at a moment; a zero byte is before the id.

    since                             when the log begins, in microseconds since 1970
    undo-days                         the repository's own number of days, if it has one
    log/<id>                          the operation
    by-reference/branches/main <id>   the commit after it, empty if the branch was deleted
"""

from __future__ import annotations

import secrets
from typing import Protocol

import msgspec

from anabranch.errors import Corrupt
from anabranch.keyvalue.contract import KeyRange, Write
from anabranch.model.references.operation import (
    BranchChanged,
    LoggedOperation,
    ReferenceChanged,
    SettingChanged,
)
from anabranch.versioning.records import keys

__all__ = [
    "ID_LENGTH",
    "LOG",
    "SINCE",
    "UNDO_DAYS",
    "LogOwner",
    "after_moment",
    "log_key",
    "log_write",
    "microseconds",
    "new_id",
    "operation_from",
    "operation_writes",
    "operations_partition",
    "reference_key",
    "reference_range",
    "since_write",
]

LOG = b"log/"
SINCE = b"since"
UNDO_DAYS = b"undo-days"
_TIME_DIGITS, _RANDOM_BYTES = 13, 3
ID_LENGTH = _TIME_DIGITS + 2 * _RANDOM_BYTES
_END = (1 << 4 * _TIME_DIGITS) - 1
"""The time at which ids begin with zeros, in microseconds since 1970: in the year 2112."""


class LogOwner(Protocol):
    """Who has a log: a repository, or the installation."""

    @property
    def partition(self) -> str:
        """The partition of its references."""


class _Record(msgspec.Struct, frozen=True, omit_defaults=True):
    """A stored operation; its id is in its key."""

    time: float
    changes: tuple[ReferenceChanged, ...] = ()
    settings: tuple[SettingChanged, ...] = ()
    user: str = ""
    request_id: str = ""
    action: str = ""
    undone_at: float = 0
    given_up_at: float = 0
    record_id: str = ""
    workspace: str = ""


_ENCODER = msgspec.json.Encoder()
_DECODER = msgspec.json.Decoder(_Record)


def operations_partition(partition: str) -> str:
    """Returns the partition of the operations of the repository with a partition."""
    return f"anabranch-operations:{partition}"


def new_id(time: int) -> str:
    """Returns the id of an operation at a time in microseconds since 1970."""
    return f"{_END - time:0{_TIME_DIGITS}x}{secrets.token_hex(_RANDOM_BYTES)}"


def microseconds(operation_id: str) -> int:
    """Returns the time of an operation by its id, in microseconds since 1970."""
    return _END - int(operation_id[:_TIME_DIGITS], 16)


def after_moment(moment: float) -> str:
    """Returns the text that sorts before the ids of all operations until a moment, in seconds since
    1970, and after those of all later ones.
    """
    return f"{max(_END - int(moment * 1e6), 0):0{_TIME_DIGITS}x}"


def since_write(partition: str, time: int) -> Write:
    """Returns the write that says that the log of the repository with a partition begins at a time,
    in microseconds since 1970.
    """
    return Write(operations_partition(partition), SINCE, b"%d" % time)


def log_key(operation_id: str) -> bytes:
    """Returns the key of an operation."""
    return LOG + operation_id.encode("utf-8", "surrogateescape")


def reference_key(change: ReferenceChanged) -> bytes:
    """Returns the key of the reference that has changed, in its repository's partition."""
    is_branch = isinstance(change, BranchChanged)
    return keys.branch(change.name) if is_branch else keys.tag(change.name)


def reference_range(key: bytes) -> KeyRange:
    """Returns the bounds of the keys of the operations that have changed the reference of a key."""
    stem = b"by-reference/" + key
    return stem + b"\0", stem + b"\1"


def operation_writes(partition: str, operation: LoggedOperation) -> list[Write]:
    """Returns the writes that record an operation of the repository with a partition."""
    own, suffix = operations_partition(partition), operation.id.encode()
    writes = [log_write(partition, operation)]
    for change in operation.changes:
        after = b"" if change.after is None else change.after.commit_id.encode()
        writes.append(Write(own, reference_range(reference_key(change))[0] + suffix, after))
    return writes


def log_write(partition: str, operation: LoggedOperation) -> Write:
    """Returns the write that stores an operation of the repository with a partition, or replaces
    one.
    """
    record = _Record(
        operation.time,
        operation.changes,
        operation.settings,
        operation.user,
        operation.request_id,
        operation.action,
        operation.undone_at,
        operation.given_up_at,
        operation.record_id,
        operation.workspace,
    )
    key = log_key(operation.id)
    return Write(operations_partition(partition), key, _ENCODER.encode(record))


def operation_from(key: bytes, raw: bytes) -> LoggedOperation:
    """Returns the operation of a key and a record. Raises Corrupt."""
    try:
        record = _DECODER.decode(raw)
    except msgspec.DecodeError as error:
        raise Corrupt(f"a record of the operation log cannot be read: {error}") from error
    return LoggedOperation(
        id=key.removeprefix(LOG).decode(),
        time=record.time,
        user=record.user,
        request_id=record.request_id,
        action=record.action,
        changes=record.changes,
        settings=record.settings,
        undone_at=record.undone_at,
        given_up_at=record.given_up_at,
        record_id=record.record_id,
        workspace=record.workspace,
    )
