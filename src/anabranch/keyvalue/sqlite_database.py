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

__all__ = ["SCHEMA_VERSION", "open_connection", "prepare", "translate"]

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
    except apsw.Error as error:
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


def translate(error: apsw.Error, path: str, system_errno: int = 0) -> AnabranchError:
    """Returns SQLite's error as one of ours; `system_errno` is that of the connection, if
    known.
    """
    if isinstance(error, apsw.FullError) or (
        isinstance(error, apsw.IOError) and system_errno in _FULL
    ):
        return Busy(f"{path}: the disk is full", kind="disk_full", hint="Make room on the disk.")
    if isinstance(error, (apsw.NotADBError, apsw.CorruptError)):
        return Corrupt(f"{path}: {error}", path=path)
    if isinstance(error, (apsw.BusyError, apsw.LockedError, apsw.ProtocolError)):
        return Busy(f"{path}: the database is locked by another process", kind="locked")
    if isinstance(error, (apsw.ConnectionClosedError, apsw.CursorClosedError)):
        return Busy("the store is closed", kind="closed")
    if isinstance(error, (apsw.TooBigError, apsw.ConstraintError)):
        return Invalid(f"this key or value cannot be stored: {error}")
    return Busy(f"{path}: {error}", kind="storage_failed")
