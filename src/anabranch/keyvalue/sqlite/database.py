"""The SQLite file: opening and creating it, checking its identity, translating its errors.

The schema is one table, clustered by its key. `PRAGMA application_id` marks a database as
Anabranch's, and `PRAGMA user_version` is the version of its schema; a file with other numbers is
rejected and not changed.
"""

from __future__ import annotations

import errno
import os
import stat
from contextlib import suppress

import apsw

from anabranch.errors import AnabranchError, Busy, Corrupt, Invalid, NotFound, NotSupported
from anabranch.keyvalue.sqlite.writer_lock import WriterLock

__all__ = [
    "SCHEMA_VERSION",
    "SQLITE_ERRORS",
    "damage_error",
    "open_connection",
    "prepare",
    "translate",
]

SCHEMA_VERSION = 2
"""The version of the schema below. A newer database is rejected. One of version 1, whose programs
write without the change counter (see `shared_version`), is upgraded.
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
"""What calls of SQLite raise. On a damaged text, APSW fails to decode the error's own message."""

_DAMAGE = (apsw.NotADBError, apsw.CorruptError, apsw.SQLError, UnicodeDecodeError)
_UNREADABLE = frozenset({errno.EIO, errno.ENXIO, errno.ERANGE})
"""Errors of the disk that SQLite reports as a damaged file system, then as a damaged database."""

_FULL = frozenset({errno.ENOSPC, errno.EDQUOT, errno.EFBIG})


def open_connection(path: str, timeout_seconds: float, *, create: bool = False) -> apsw.Connection:
    """Returns a connection whose commits are durable when they return."""
    flags = apsw.SQLITE_OPEN_READWRITE | (apsw.SQLITE_OPEN_CREATE if create else 0)
    connection = apsw.Connection(path, flags=flags)
    connection.set_busy_timeout(int(timeout_seconds * 1000))
    connection.pragma("synchronous", "FULL")
    return connection


def prepare(path: str, timeout_seconds: float) -> None:
    """Creates the database if it does not exist, and checks that its schema is known.

    Raises Corrupt for a file of another kind, NotSupported for a newer schema, NotFound if its
    folder does not exist, Busy when it stays locked.
    """
    try:
        lock = WriterLock(path)
    except (FileNotFoundError, NotADirectoryError) as error:
        raise NotFound(
            f"{path}: the database's folder does not exist",
            hint="Check `data` and `database.local.path` in the settings.",
        ) from error
    except OSError as error:
        message = f"{path}: cannot open the database: {error.strerror}"
        raise Busy(message, kind="storage_failed") from error
    try:
        _create_private(path)
        connection = open_connection(path, timeout_seconds, create=True)
        try:
            if _identity(connection) != (_APPLICATION_ID, SCHEMA_VERSION):
                lock.acquire_within(timeout_seconds)  # no other process is creating it now
                if _is_new(connection, path):
                    _create(connection)
        finally:
            connection.close()
    except SQLITE_ERRORS as error:
        raise translate(error, path) from error
    finally:
        lock.close()


def _create_private(path: str) -> None:
    """Creates an empty file that only this user may read, if there is none; SQLite gives its other
    files the same mode. The file is not opened: closing it would drop locks of this process.
    """
    # if this fails (on macOS only the superuser may), SQLite creates the file or reports why not
    with suppress(OSError):
        os.mknod(path, 0o600 | stat.S_IFREG)


def _identity(connection: apsw.Connection) -> tuple[int, int]:
    """Returns the application id of the database and the version of its schema."""
    return connection.pragma("application_id"), connection.pragma("user_version")


def _is_new(connection: apsw.Connection, path: str) -> bool:
    application, version = _identity(connection)
    if application == _APPLICATION_ID and version == SCHEMA_VERSION:
        return False
    if application == _APPLICATION_ID and version > SCHEMA_VERSION:
        raise NotSupported(
            f"{path}: the database has schema version {version}, "
            f"this version of Anabranch knows {SCHEMA_VERSION}",
            kind="newer_schema",
            hint="Use the version of Anabranch that wrote it, or a later one.",
        )
    if application == _APPLICATION_ID and version:
        connection.execute(f"PRAGMA user_version = {SCHEMA_VERSION}")
        return False
    tables = connection.execute("SELECT count(*) FROM sqlite_schema").get
    if application or version or tables:
        raise Corrupt(f"{path}: a SQLite database, but not one of Anabranch", path=path)
    return True


def _create(connection: apsw.Connection) -> None:
    connection.pragma("journal_mode", "WAL")
    with connection:
        connection.execute(_SCHEMA)
        connection.execute(f"PRAGMA application_id = {_APPLICATION_ID}")
        connection.execute(f"PRAGMA user_version = {SCHEMA_VERSION}")


def damage_error(path: str, reason: str) -> Corrupt:
    """Returns the error for a damaged database."""
    return Corrupt(f"{path}: the database is damaged: {reason}", path=path)


def _last_errno(connection: apsw.Connection) -> int:
    """Returns the errno of the last failed system call on the database's file, 0 for none."""
    import ctypes  # noqa: PLC0415  after an error only

    number = ctypes.c_int(0)
    with suppress(apsw.Error):
        connection.file_control("main", apsw.SQLITE_FCNTL_LAST_ERRNO, ctypes.addressof(number))
    return number.value


def translate(
    error: apsw.Error | UnicodeDecodeError, path: str, connection: apsw.Connection | None = None
) -> AnabranchError:
    """Returns Anabranch's error for an error of SQLite; `connection` is the one that raised it, if
    any.

    A statement that SQLite does not understand, and a text that is not UTF-8, result from a damaged
    schema. A database reported as malformed may be on a disk that cannot be read.
    """
    failure = _disk_failure(error, path, connection)
    if failure is not None:
        return failure
    if isinstance(error, _DAMAGE):
        return damage_error(path, str(error))
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
    """Returns the error of a disk that is full or cannot be read, None for any other error."""
    if isinstance(error, apsw.FullError) or (
        isinstance(error, apsw.IOError) and connection and connection.system_errno in _FULL
    ):
        hint = "Free space on the disk."
        return Busy(f"{path}: the disk is full", kind="disk_full", hint=hint)
    if connection is not None and isinstance(error, (apsw.NotADBError, apsw.CorruptError)):
        number = _last_errno(connection)
        if number in _UNREADABLE:
            message = f"{path}: the disk cannot be read: {os.strerror(number)}"
            return Busy(message, kind="storage_failed", hint="Check the disk for errors.")
    return None
