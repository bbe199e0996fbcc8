"""A read-only view of the SQLite file at one moment: a transaction of a connection of its own.

It delays no writer. While it is open, the write-ahead log keeps all later changes.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import partial
from pathlib import Path
from typing import Any

import apsw

from anabranch.keyvalue.contract import PartitionSize
from anabranch.keyvalue.scan_pages import scan_in_pages
from anabranch.keyvalue.sqlite.database import (
    SQLITE_ERRORS,
    damage_error,
    open_connection,
    translate,
)

__all__ = ["SQLiteSnapshot", "integrity_problems"]

_GET = "SELECT value FROM kv WHERE partition = ? AND key = ?"
_PAGE = "SELECT key, value FROM kv WHERE partition = ? AND key >= ? ORDER BY key LIMIT ?"
_PAGE_TO = (
    "SELECT key, value FROM kv WHERE partition = ? AND key >= ? AND key < ? ORDER BY key LIMIT ?"
)
_PARTITIONS = "SELECT partition, count(*) FROM kv GROUP BY partition ORDER BY partition"
_MAX_PROBLEMS = 100


class SQLiteSnapshot:
    """The state of the file at `path` at the moment it is opened. Raises Corrupt, Busy."""

    def __init__(self, path: Path, *, timeout_seconds: float = 20.0) -> None:
        self._path = str(path.resolve())
        try:
            self._connection = open_connection(self._path, timeout_seconds)
        except SQLITE_ERRORS as error:
            raise translate(error, self._path) from error
        self._cursor = self._connection.cursor()
        self._rows("BEGIN")
        self._rows("SELECT 1 FROM kv LIMIT 1")  # the first read chooses the moment

    def get(self, partition: str, key: bytes) -> bytes | None:
        """Returns the value, or None."""
        rows = self._rows(_GET, (partition, key))
        return rows[0][0] if rows else None

    def scan(
        self,
        partition: str,
        start: bytes = b"",
        end: bytes | None = None,
        *,
        limit: int | None = None,
    ) -> Iterator[tuple[bytes, bytes]]:
        """Yields (key, value) with start <= key < end, in order, at most `limit` of them."""
        return scan_in_pages(partial(self._page, partition), start, end, limit)

    def partitions(self) -> Sequence[PartitionSize]:
        """Returns all partitions, with the numbers of their keys. Reads the whole table."""
        return [
            PartitionSize(name.encode("utf-8", "surrogateescape"), number)
            for name, number in self._rows(_PARTITIONS)
        ]

    def close(self) -> None:
        """Ends the transaction and closes the connection."""
        self._connection.close()

    def _page(
        self, partition: str, start: bytes, end: bytes | None, limit: int
    ) -> list[tuple[bytes, bytes]]:
        if end is None:
            rows = self._rows(_PAGE, (partition, start, limit))
        else:
            rows = self._rows(_PAGE_TO, (partition, start, end, limit))
        for key, value in rows:
            if type(key) is not bytes or type(value) is not bytes:
                raise damage_error(self._path, "a key or a value is not of type bytes")
        return rows

    def _rows(self, sql: str, values: tuple[Any, ...] = ()) -> list[tuple[Any, ...]]:
        try:
            return self._cursor.execute(sql, values).fetchall()
        except SQLITE_ERRORS as error:
            raise translate(error, self._path, self._connection) from error


def integrity_problems(path: Path, *, timeout_seconds: float = 20.0) -> list[str]:
    """Returns what SQLite itself finds wrong with the file, at most 100 texts. Reads all of it.
    Raises Busy.
    """
    try:
        connection = open_connection(str(path.resolve()), timeout_seconds)
    except SQLITE_ERRORS as error:
        raise translate(error, str(path)) from error
    try:
        rows = connection.execute(f"PRAGMA integrity_check({_MAX_PROBLEMS})").fetchall()
    except (apsw.CorruptError, apsw.NotADBError) as error:
        return [str(error)]
    except SQLITE_ERRORS as error:
        raise translate(error, str(path), connection) from error
    finally:
        connection.close()
    return [str(text) for (text,) in rows if text != "ok"]
