"""What PostgreSQL's errors mean here.

Two things can go wrong with what was sent: the server says that it failed (then it did, and
nothing of it was written), or no whole answer comes (then nobody knows).
"""

from __future__ import annotations

from anabranch.errors import AnabranchError, Busy, Invalid, NotSupported

__all__ = [
    "ConnectionLost",
    "StatementFailed",
    "is_worth_repeating",
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
    """The connection broke, or no answer came in time: what it was doing is of unknown outcome.

    `in_time` says that the server had answered or hung up before the deadline.
    """

    def __init__(self, reason: str, *, in_time: bool = True) -> None:
        super().__init__(reason)
        self.reason = " ".join(reason.split())
        self.in_time = in_time


class StatementFailed(Exception):
    """The server refused a statement and has undone its transaction; `sqlstate` says why
    (PostgreSQL's documentation, appendix A).
    """

    def __init__(self, sqlstate: str, message: str) -> None:
        super().__init__(message)
        self.sqlstate = sqlstate
        self.message = message


def is_worth_repeating(error: StatementFailed) -> bool:
    """Returns whether the same may succeed at once: the server sacrificed it to another."""
    return error.sqlstate in (SERIALIZATION_FAILURE, DEADLOCK)


def leaves_connection_sound(error: StatementFailed) -> bool:
    """Returns whether the connection may be used again. Where the server itself is at fault, or
    has become one that only reads, a new connection may find a better one.
    """
    return error.sqlstate in (LOCK_TIMEOUT, CANCELLED, *TOO_LARGE) or error.sqlstate[:2] in (
        "22",
        "40",
    )


def translate(error: StatementFailed) -> AnabranchError:
    """Returns the server's error as one of ours."""
    state, message = error.sqlstate, f"the database refused: {error.message}"
    if state in TOO_LARGE:
        return Invalid(f"this key or value cannot be stored: {error.message}")
    if state in _UNFIT:
        return NotSupported(message, kind=_UNFIT[state], hint=_HINTS[state])
    kind = _BUSY.get(state, "storage_failed")
    return Busy(message, kind=kind, hint=_HINTS.get(state))


_UNFIT = {UNDEFINED_TABLE: "not_migrated", NO_PRIVILEGE: "no_database_rights"}
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
    NO_PRIVILEGE: "Give the database's user all rights on the table kv and those beneath it.",
    READ_ONLY: "It only reads while another takes over; try again later.",
    DISK_FULL: "Make room on the database's disk.",
    LOCKS_EXHAUSTED: "Raise max_locks_per_transaction in PostgreSQL's settings.",
}
