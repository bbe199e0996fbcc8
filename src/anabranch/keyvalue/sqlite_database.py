"""The SQLite file: how it is opened, what it must be, and what its errors mean.

One table, clustered by its key, is all there is. `PRAGMA application_id` says that a database is
Anabranch's and `PRAGMA user_version` the version of its schema; a file that says otherwise is
refused and not touched.
"""

from __future__ import annotations

import errno
import os
import stat
from contextlib import suppress

import apsw

from anabranch.errors import AnabranchError, Busy, Corrupt, Invalid, NotFound, NotSupported
from anabranch.keyvalue.write_turn import WriteTurn

__all__ = [
    "SCHEMA_VERSION",
    "SQLITE_ERRORS",
    "damaged",
    "open_connection",
    "prepare",
    "translate",
]

SCHEMA_VERSION = 2
"""The version of the schema below. A database of a newer one is refused; one of version 1, to which
programs write without counting (see `change_counter`), is made one of this.
"""

_APPLICATION_ID = 0x416E6162  # "Anab"

_SCHEMA = """
CREATE TABLE kv (
    partition TEXT NOT NULL,
    key BLOB NOT NULL,
    value BLOB NOT NULL,
    PRIMARY KEY (partition, key)
) STRICT, WITHOUT ROWID
"""

SQLITE_ERRORS = (apsw.Error, UnicodeDecodeError)
"""What calls of SQLite raise: damaged text makes APSW fail at the message of the error itself."""

_DAMAGE = (apsw.NotADBError, apsw.CorruptError, apsw.SQLError, UnicodeDecodeError)
_UNREADABLE = frozenset({errno.EIO, errno.ENXIO, errno.ERANGE})
"""SQLite takes these for a damaged file system, and then for a damaged database."""

_FULL = frozenset({errno.ENOSPC, errno.EDQUOT, errno.EFBIG})


def open_connection(path: str, patience_seconds: float, *, create: bool = False) -> apsw.Connection:
    """Returns a connection whose commits are durable when they return."""
    flags = apsw.SQLITE_OPEN_READWRITE | (apsw.SQLITE_OPEN_CREATE if create else 0)
    connection = apsw.Connection(path, flags=flags)
    connection.set_busy_timeout(int(patience_seconds * 1000))
    connection.pragma("synchronous", "FULL")
    return connection


def prepare(path: str, patience_seconds: float) -> None:
    """Makes the database if there is none, and makes sure that it is one we know.

    Raises Corrupt for a file that is something else, NotSupported for a newer schema, NotFound
    where there is no folder for it, Busy when it stays locked.
    """
    try:
        turn = WriteTurn(path)
    except (FileNotFoundError, NotADirectoryError) as error:
        raise NotFound(f"{path}: there is no folder for the database") from error
    except OSError as error:
        message = f"{path}: cannot open the database: {error.strerror}"
        raise Busy(message, kind="storage_failed") from error
    try:
        _create_private(path)
        connection = open_connection(path, patience_seconds, create=True)
        try:
            if _identity(connection) != (_APPLICATION_ID, SCHEMA_VERSION):
                turn.take_within(patience_seconds)  # now nobody is half way through making it
                if _is_new(connection, path):
                    _create(connection)
        finally:
            connection.close()
    except SQLITE_ERRORS as error:
        raise translate(error, path) from error
    finally:
        turn.close()


def _create_private(path: str) -> None:
    """Makes an empty file that only our user may read, if there is none; SQLite gives its other
    files the same mode. The file is not opened: closing it would drop locks of this process.
    """
    # where it cannot be (on macOS only the superuser may), SQLite makes it or says why not
    with suppress(OSError):
        os.mknod(path, 0o600 | stat.S_IFREG)


def _identity(connection: apsw.Connection) -> tuple[int, int]:
    """Returns whose the database is and the version of its schema."""
    return connection.pragma("application_id"), connection.pragma("user_version")


def _is_new(connection: apsw.Connection, path: str) -> bool:
    application, version = _identity(connection)
    if application == _APPLICATION_ID and version == SCHEMA_VERSION:
        return False
    if application == _APPLICATION_ID and version > SCHEMA_VERSION:
        raise NotSupported(
            f"{path}: the database has schema version {version}, "
            f"this Anabranch knows {SCHEMA_VERSION}",
            kind="newer_schema",
            hint="Use the version of Anabranch that wrote it, or a later one.",
        )
    if application == _APPLICATION_ID and version:
        connection.execute(f"PRAGMA user_version = {SCHEMA_VERSION}")
        return False
    tables = connection.execute("SELECT count(*) FROM sqlite_schema").get
    if application or version or tables:
        raise Corrupt(f"{path}: a database, but not one of Anabranch's", path=path)
    return True


def _create(connection: apsw.Connection) -> None:
    connection.pragma("journal_mode", "WAL")
    with connection:
        connection.execute(_SCHEMA)
        connection.execute(f"PRAGMA application_id = {_APPLICATION_ID}")
        connection.execute(f"PRAGMA user_version = {SCHEMA_VERSION}")


def damaged(path: str, reason: str) -> Corrupt:
    """Returns the error of a database whose bytes are not what they must be."""
    return Corrupt(f"{path}: the database is damaged: {reason}", path=path)


def _last_errno(connection: apsw.Connection) -> int:
    """Returns the number of the system's last error at the database's file, 0 for none."""
    import ctypes  # noqa: PLC0415  after an error only

    number = ctypes.c_int(0)
    with suppress(apsw.Error):
        connection.file_control("main", apsw.SQLITE_FCNTL_LAST_ERRNO, ctypes.addressof(number))
    return number.value


def translate(
    error: apsw.Error | UnicodeDecodeError, path: str, connection: apsw.Connection | None = None
) -> AnabranchError:
    """Returns an error of SQLite's as one of ours; `connection` is the one it was met on, if any.

    A statement of ours that SQLite does not understand, and a text that is no UTF-8, come from a
    damaged schema. What it calls malformed may be a disk that cannot be read.
    """
    failure = _disk_failure(error, path, connection)
    if failure is not None:
        return failure
    if isinstance(error, _DAMAGE):
        return damaged(path, str(error))
    if isinstance(error, (apsw.BusyError, apsw.LockedError, apsw.ProtocolError)):
        return Busy(f"{path}: the database is locked by another process", kind="locked")
    if isinstance(error, (apsw.ConnectionClosedError, apsw.CursorClosedError)):
        return Busy("the store is closed", kind="closed")
    if isinstance(error, (apsw.TooBigError, apsw.ConstraintError)):
        return Invalid(f"this key or value cannot be stored: {error}")
    return Busy(f"{path}: {error}", kind="storage_failed")


def _disk_failure(
    error: Exception, path: str, connection: apsw.Connection | None
) -> AnabranchError | None:
    """Returns the error of a disk that is full or cannot be read, None for another."""
    if isinstance(error, apsw.FullError) or (
        isinstance(error, apsw.IOError) and connection and connection.system_errno in _FULL
    ):
        return Busy(f"{path}: the disk is full", kind="disk_full", hint="Make room on the disk.")
    if connection is not None and isinstance(error, (apsw.NotADBError, apsw.CorruptError)):
        number = _last_errno(connection)
        if number in _UNREADABLE:
            message = f"{path}: the disk cannot be read: {os.strerror(number)}"
            return Busy(message, kind="storage_failed", hint="Look at the disk.")
    return None
