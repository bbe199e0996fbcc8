"""A key-value store in a SQLite file, for one machine and any number of its processes.

Each thread reads through a connection of its own, from the latest commit, and never waits for a
writer. All writes of a process go through one connection, in groups (see `group_commit`); each
group is a transaction that is synced before its requests are acknowledged. Processes write one
after another (see `writer_lock`). Values read are cached until they change (see `read_cache`).

The file must be on a local disk. No other code in the process may open it: closing any descriptor
of a file drops the locks that the process holds on it. A forked process inherits SQLite's records
of locks that it does not hold, so it may not use the store.
"""

from __future__ import annotations

import os
import threading
import weakref
from collections.abc import Iterator, Sequence
from functools import partial
from itertools import chain
from pathlib import Path
from typing import cast

import apsw

from anabranch.batching.group_commit import GroupCommit
from anabranch.batching.scheduler import batch
from anabranch.errors import Busy, NotSupported
from anabranch.keyvalue.batching.apply_batching import Apply, ApplyResult, apply_all, unwrap
from anabranch.keyvalue.caching.read_cache import ReadCache
from anabranch.keyvalue.caching.shared_version import SeqlockCounter
from anabranch.keyvalue.contract import Expect, KeyRange, Row, Write
from anabranch.keyvalue.later_durability import may_be_durable_later
from anabranch.keyvalue.scan_pages import scan_in_pages
from anabranch.keyvalue.sqlite.database import (
    SQLITE_ERRORS,
    damage_error,
    open_connection,
    prepare,
    translate,
)
from anabranch.keyvalue.sqlite.writer import (
    CHECKPOINT_POLICY,
    CheckpointPolicy,
    SQLiteWriter,
    Work,
)
from anabranch.spent_time import timed

__all__ = ["SQLiteStore"]

_GET = "SELECT value FROM kv WHERE partition = ? AND key = ?"
_SET = (
    "INSERT INTO kv (partition, key, value) VALUES (?, ?, ?) "
    "ON CONFLICT DO UPDATE SET value = excluded.value"
)
_ROWS_AT_ONCE = 32
"""Rows of one statement of a large transaction; 32 statements take half as much time again."""
_SETS = [
    _SET.replace("(?, ?, ?)", ", ".join(["(?, ?, ?)"] * rows)) for rows in range(_ROWS_AT_ONCE + 1)
]
"""Statements that set so many rows."""
_REMOVE = "DELETE FROM kv WHERE partition = ? AND key = ?"
_SCAN = "SELECT key, value FROM kv WHERE partition = ? AND key >= ? ORDER BY key LIMIT ?"
_SCAN_TO = (
    "SELECT key, value FROM kv WHERE partition = ? AND key >= ? AND key < ? ORDER BY key LIMIT ?"
)
_KEY_AT = "SELECT key FROM kv WHERE partition = ? ORDER BY key LIMIT 1 OFFSET ?"
_DROP_THROUGH = "DELETE FROM kv WHERE partition = ? AND key <= ?"
_DROP_ALL = "DELETE FROM kv WHERE partition = ?"

_SLICE = 1_000
_UNLIMITED = -1


class _Reader(threading.local):
    """The cursor of the current thread, if it has one."""

    cursor: apsw.Cursor | None = None


class SQLiteStore:
    """A `KeyValueStore` in the SQLite file at `path`, which is created if it does not exist.

    `timeout_seconds` is how long a write waits for other processes before it raises Busy. Raises
    Corrupt for a file of another kind, NotSupported for one of a newer version, NotFound if its
    folder is missing. In a process forked while the store was open, using the store and opening
    the file again raise NotSupported.
    """

    def __init__(
        self,
        path: str | os.PathLike[str],
        *,
        timeout_seconds: float = 20.0,
        checkpoints: CheckpointPolicy = CHECKPOINT_POLICY,
    ) -> None:
        self._path = str(Path(path).resolve())
        self._timeout = timeout_seconds
        if self._path in _paths_of_parent:
            raise _fork_error(self._path)
        prepare(self._path, timeout_seconds)
        self._closed = False
        self._fork_error = False
        self._reader = _Reader()
        self._opening_lock = threading.Lock()
        self._readers: weakref.WeakSet[apsw.Connection] = weakref.WeakSet()
        self._cache = ReadCache(_open_counter(self._path), self._read, self._page)
        self._writer = SQLiteWriter(self._path, timeout_seconds, self._cache, checkpoints)
        self._writes: GroupCommit[Work, int | Exception] = GroupCommit(
            self._writer.commit,
            name="anabranch-writer",
            lock=self._writer.lock,
            checkpoints=self._writer,
            timeout_seconds=timeout_seconds,
        )
        _stores.add(self)

    def get(self, partition: str, key: bytes) -> bytes | None:
        """Returns the value, or None."""
        return self._cache.get(partition, key)

    def version(self) -> object | None:
        """Returns the database's version; None while it is not known. See `VersionedReads`."""
        return self._cache.version()

    @timed("keyvalue")
    def get_many(self, partition: str, keys: Sequence[bytes]) -> list[bytes | None]:
        """Returns the values of several keys, in their order, from one snapshot."""
        cursor = self._reader.cursor or self._open_reader()
        try:
            cursor.execute("BEGIN")
            try:
                values = [cursor.execute(_GET, (partition, key)).get for key in keys]
            finally:
                cursor.execute("COMMIT")
        except SQLITE_ERRORS as error:
            raise translate(error, self._path, cursor.connection) from error
        for value in values:
            self._require_bytes(value)
        return values

    def scan(
        self,
        partition: str,
        start: bytes = b"",
        end: bytes | None = None,
        *,
        limit: int | None = None,
    ) -> Iterator[tuple[bytes, bytes]]:
        """Yields (key, value) with start <= key < end, in order, at most `limit` of them.

        Reads in pages, so that an unfinished scan holds no lock.
        """
        return scan_in_pages(partial(self._cache.page, partition), start, end, limit)

    @timed("keyvalue")
    def snapshot(self, partition: str, ranges: Sequence[KeyRange]) -> list[list[Row]]:
        """Returns the pairs of each range, in order, as they were at one moment: a transaction
        reads them, which does not delay writers.
        """
        cursor = self._reader.cursor or self._open_reader()
        try:
            cursor.execute("BEGIN")
            try:
                return [self._page(partition, start, end, _UNLIMITED) for start, end in ranges]
            finally:
                cursor.execute("COMMIT")
        except SQLITE_ERRORS as error:
            raise translate(error, self._path, cursor.connection) from error

    @timed("keyvalue")
    def apply(self, writes: Sequence[Write], expect: Sequence[Expect] = ()) -> bool:
        """Makes all writes atomically if every expectation holds, else none; returns whether it
        made them.

        Raises Busy when the disk is full or another process does not end its transaction in time,
        and Invalid for a value that is too large (about 1 GB); nothing is written then.
        """
        apply = Apply(writes, expect, not may_be_durable_later())
        return unwrap(batch(self._apply_all, apply))

    @timed("keyvalue")
    def drop(self, partition: str) -> None:
        """Removes a whole partition, in slices, between which other requests can write."""

        def drop_slice(cursor: apsw.Cursor) -> int:
            """Removes a slice and returns whether there may be more."""
            last = cursor.execute(_KEY_AT, (partition, _SLICE - 1)).get
            if last is None:
                cursor.execute(_DROP_ALL, (partition,))
                return False
            cursor.execute(_DROP_THROUGH, (partition, last))
            return True

        while self._submit(Work(drop_slice)):
            pass

    def close(self) -> None:
        """Finishes writes in flight and releases the store; later calls raise Busy."""
        self._closed = True
        if self._fork_error:
            return
        self._cache.close()
        if self._writes.close():
            self._writer.close()
        with self._opening_lock:
            readers = list(self._readers)
        for connection in readers:
            try:
                connection.close()
            except apsw.ThreadingViolationError:
                continue  # a thread is reading with it; it is closed when that thread ends

    def _leave_to_parent(self) -> None:
        self._fork_error = True
        self._cache.leave_to_parent()
        self._reader = _Reader()
        self._writer.leave_to_parent()

    def _apply_all(self, applies: Sequence[Apply]) -> Sequence[ApplyResult]:
        return apply_all(applies, self._run)

    def _run(self, applies: Sequence[Apply]) -> Sequence[ApplyResult]:
        if self._fork_error:
            raise _fork_error(self._path)
        works = [Work(partial(_apply, apply), apply.writes, apply.durable) for apply in applies]
        outcomes = self._writes.submit_all(works)
        return [
            outcome if isinstance(outcome, Exception) else bool(outcome) for outcome in outcomes
        ]

    def _submit(self, work: Work) -> int:
        if self._fork_error:
            raise _fork_error(self._path)
        outcome = self._writes.submit(work)
        if isinstance(outcome, Exception):
            raise outcome
        return outcome

    @timed("keyvalue")
    def _read(self, partition: str, key: bytes) -> bytes | None:
        cursor = self._reader.cursor or self._open_reader()
        try:
            value: bytes | None = cursor.execute(_GET, (partition, key)).get
        except SQLITE_ERRORS as error:
            raise translate(error, self._path, cursor.connection) from error
        self._require_bytes(value)
        return value

    def _require_bytes(self, value: object) -> None:
        """Raises Corrupt for a value of another type: its record header is damaged."""
        if value is not None and type(value) is not bytes:
            raise damage_error(self._path, f"a value is of type {type(value).__name__}")

    def _open_reader(self) -> apsw.Cursor:
        if self._fork_error:
            raise _fork_error(self._path)
        try:
            connection = open_connection(self._path, self._timeout)
            cursor = connection.cursor()
        except SQLITE_ERRORS as error:
            raise translate(error, self._path) from error
        with self._opening_lock:
            if self._closed:
                connection.close()
                raise Busy("the store is closed", kind="closed")
            self._readers.add(connection)
        self._reader.cursor = cursor
        return cursor

    @timed("keyvalue")
    def _page(
        self, partition: str, start: bytes, end: bytes | None, limit: int
    ) -> list[tuple[bytes, bytes]]:
        cursor = self._reader.cursor or self._open_reader()
        try:
            if end is None:
                rows = cursor.execute(_SCAN, (partition, start, limit)).fetchall()
            else:
                rows = cursor.execute(_SCAN_TO, (partition, start, end, limit)).fetchall()
        except SQLITE_ERRORS as error:
            raise translate(error, self._path, cursor.connection) from error
        for key, value in rows:
            if type(key) is not bytes or type(value) is not bytes:
                raise damage_error(self._path, "a key or a value is not of type bytes")
        return cast("list[tuple[bytes, bytes]]", rows)


def _apply(apply: Apply, cursor: apsw.Cursor) -> int:
    """Makes the writes if all expectations hold; returns whether it made them."""
    for partition, key, value in apply.expect:
        if cursor.execute(_GET, (partition, key)).get != value:
            return False
    writes = apply.writes
    if len(writes) < _ROWS_AT_ONCE:
        _write(writes, cursor)
        return True
    for start in range(0, len(writes), _ROWS_AT_ONCE):
        rows = writes[start : start + _ROWS_AT_ONCE]
        if len(rows) < _ROWS_AT_ONCE or any(value is None for _, _, value in rows):
            _write(rows, cursor)
        else:
            _set(rows, cursor)
    return True


def _write(writes: Sequence[Write], cursor: apsw.Cursor) -> None:
    """Makes few writes: those in a row that set values, by one statement."""
    start = 0
    for number, (partition, key, value) in enumerate(writes):
        if value is None:
            _set(writes[start:number], cursor)
            cursor.execute(_REMOVE, (partition, key))
            start = number + 1
    _set(writes[start:], cursor)


def _set(writes: Sequence[Write], cursor: apsw.Cursor) -> None:
    if writes:
        cursor.execute(_SETS[len(writes)], tuple(chain.from_iterable(writes)))


def _open_counter(path: str) -> SeqlockCounter:
    try:
        return SeqlockCounter(path)
    except OSError as error:
        message = f"{path}: cannot open the change counter: {error.strerror}"
        raise Busy(message, kind="storage_failed") from error


def _fork_error(path: str) -> NotSupported:
    return NotSupported(
        f"{path}: opened before this process was forked",
        kind="forked",
        hint="Start processes with 'spawn', or open the store only after forking.",
    )


_stores: weakref.WeakSet[SQLiteStore] = weakref.WeakSet()
_parents: list[object] = []
"""In a forked process: the parent's connections, referenced so that they are not closed."""
_paths_of_parent: set[str] = set()


def _before_fork() -> None:
    for store in list(_stores):
        if not store._closed:  # noqa: SLF001  of this module
            _parents.append(store)
            _parents.extend((store._reader, *store._readers))  # noqa: SLF001  of this module


def _after_fork_in_child() -> None:
    for store in _parents:
        if isinstance(store, SQLiteStore):
            _paths_of_parent.add(store._path)  # noqa: SLF001  of this module
            store._leave_to_parent()  # noqa: SLF001  of this module


os.register_at_fork(
    before=_before_fork, after_in_parent=_parents.clear, after_in_child=_after_fork_in_child
)
