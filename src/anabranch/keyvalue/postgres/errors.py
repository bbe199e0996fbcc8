"""Translation of PostgreSQL's errors.

A request can fail in two ways: the server reports an error (then nothing was written), or no
complete response arrives (then the outcome is unknown).
"""

from __future__ import annotations

from anabranch.errors import AnabranchError, Busy, Invalid, NotSupported

__all__ = [
    "ConnectionLost",
    "StatementFailed",
    "is_retryable",
    "leaves_connection_sound",
    "translate",
]

SERIALIZATION_FAILURE = "40001"
DEADLOCK = "40P01"
LOCK_TIMEOUT = "55P03"
CANCELLED = "57014"
READ_ONLY = "25006"
UNDEFINED_TABLE = "42P01"
NO_PRIVILEGE = "42501"
TOO_LARGE = ("54000", "54001", "22001")
DISK_FULL = "53100"
LOCKS_EXHAUSTED = "53200"

MIGRATE = "Run `anabranch migrate` with the same settings."


class ConnectionLost(Exception):
    """The connection broke, or no response arrived in time: the outcome of the request is unknown.

    `in_time` is whether the connection broke before the deadline.
    """

    def __init__(self, reason: str, *, in_time: bool = True) -> None:
        super().__init__(reason)
        self.reason = " ".join(reason.split())
        self.in_time = in_time


class StatementFailed(Exception):
    """The server rejected a statement and rolled back its transaction; `sqlstate` is the error code
    (PostgreSQL's documentation, appendix A).
    """

    def __init__(self, sqlstate: str, message: str) -> None:
        super().__init__(message)
        self.sqlstate = sqlstate
        self.message = message


def is_retryable(error: StatementFailed) -> bool:
    """Returns whether an immediate retry may succeed: the server aborted the transaction in favour
    of another.
    """
    return error.sqlstate in (SERIALIZATION_FAILURE, DEADLOCK)


def leaves_connection_sound(error: StatementFailed) -> bool:
    """Returns whether the connection can be reused. If the server itself failed or has become
    read-only, a new connection may reach a working one.
    """
    return error.sqlstate in (LOCK_TIMEOUT, CANCELLED, *TOO_LARGE) or error.sqlstate[:2] in (
        "22",
        "40",
    )


def translate(error: StatementFailed) -> AnabranchError:
    """Returns Anabranch's error for an error of the server."""
    state, message = error.sqlstate, f"the database rejected a statement: {error.message}"
    if state in TOO_LARGE:
        return Invalid(f"this key or value cannot be stored: {error.message}")
    if state in _NOT_SUPPORTED:
        return NotSupported(message, kind=_NOT_SUPPORTED[state], hint=_HINTS[state])
    kind = _BUSY.get(state, "storage_failed")
    return Busy(message, kind=kind, hint=_HINTS.get(state))


_NOT_SUPPORTED = {UNDEFINED_TABLE: "not_migrated", NO_PRIVILEGE: "no_database_rights"}
_BUSY = {
    LOCK_TIMEOUT: "locked",
    CANCELLED: "locked",
    SERIALIZATION_FAILURE: "locked",
    DEADLOCK: "locked",
    READ_ONLY: "read_only_database",
    DISK_FULL: "disk_full",
    LOCKS_EXHAUSTED: "locks_exhausted",
}
_HINTS = {
    UNDEFINED_TABLE: MIGRATE,
    NO_PRIVILEGE: "Grant the database user all privileges on the table kv and its partitions.",
    READ_ONLY: "The server is read-only, as during a failover; try again later.",
    DISK_FULL: "Free space on the database's disk.",
    LOCKS_EXHAUSTED: "Raise max_locks_per_transaction in PostgreSQL's settings.",
}
