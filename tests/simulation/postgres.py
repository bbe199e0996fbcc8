"""A model of PostgreSQL, below the store that the code has: it runs the statements that are sent.

`PostgresStore` is the one of the code, with its pool and its retries. Its connections are those of
this model, which tells statements apart by how they begin, and fails as a server and a network do:
a transaction is refused as it conflicts with another one, a connection breaks before it is made,
after, or while it still runs, so that it may be made later, until its backend is ended. The
contract suite holds it to what the real one does (`tests/keyvalue/conftest.py`).
"""

from __future__ import annotations

import itertools
import struct
import threading
from bisect import bisect_left
from collections.abc import Callable, Iterator, Sequence
from typing import NamedTuple
from unittest import mock

from anabranch.keyvalue.postgres.connection import Backend, Statement
from anabranch.keyvalue.postgres.errors import ConnectionLost, StatementFailed
from anabranch.keyvalue.postgres.store import PostgresStore

__all__ = ["Database", "Disturbance", "open_store"]

_HEAD = struct.Struct(">iiIii")
_WORD = struct.Struct(">i")

Disturbance = Callable[[Sequence[Statement]], str]
"""Is called ahead of a transaction; returns what becomes of it: "made", "refused", or that the
connection breaks: "unsent", "lost" after it was made, "late" while it still runs. It may raise.
"""


class Result(NamedTuple):
    """The result of a statement, as libpq has it."""

    rows: list[tuple[bytes, bytes]]
    command_tuples: int | None = None

    @property
    def ntuples(self) -> int:
        return len(self.rows)

    def get_value(self, row: int, column: int) -> bytes:
        return self.rows[row][column]


class Database:
    """The table of all connections, and the transactions that still run."""

    def __init__(self) -> None:
        self._records: dict[bytes, dict[bytes, bytes]] = {}
        self._running: dict[bytes, Sequence[Statement]] = {}
        self._pids = itertools.count(1)
        self._lock = threading.Lock()

    def connect(self, disturbance: Disturbance, clock: Callable[[], float]) -> Connection:
        """Returns a new connection."""
        return Connection(self, _WORD.pack(next(self._pids)), disturbance, clock)

    def finish(self) -> None:
        """Makes the transactions that still run."""
        running, self._running = self._running, {}
        for statements in running.values():
            self.make(statements)

    def leave_running(self, pid: bytes, statements: Sequence[Statement]) -> None:
        """Keeps a transaction that runs on although its connection is broken."""
        self._running[pid] = statements

    def make(self, statements: Sequence[Statement]) -> list[Result]:
        """Makes a transaction: nothing else happens meanwhile."""
        holds = [True]
        with self._lock:
            return [
                self._execute(" ".join(sql.decode().split()), values, holds)
                for sql, values in statements
            ]

    def _execute(self, sql: str, values: Sequence[bytes | None], holds: list[bool]) -> Result:
        if sql.startswith("SELECT format("):  # the partitions of the table: it has none
            return Result([])
        if sql.startswith("SELECT pg_terminate_backend"):
            found = self._running.pop(values[0] or b"", None)
            return Result([] if found is None else [(b"\1", b"")])
        if sql.startswith("SELECT set_config('anabranch.holds', 'true'"):
            return Result([(b"true", b"")])
        records = self._records.setdefault(values[0] or b"", {})
        if sql.startswith("SELECT set_config('anabranch.holds', ("):
            holds[0] &= records.get(values[1] or b"") == values[2]
            return Result([(b"true" if holds[0] else b"false", b"")])
        if sql.startswith("SELECT"):
            return Result(_select(sql, records, values))
        return Result([], _change(sql, records, values) if holds[0] else 0)


def _change(sql: str, records: dict[bytes, bytes], values: Sequence[bytes | None]) -> int:
    """Returns how many rows were changed, where the store asks for that."""
    if sql.startswith("INSERT INTO kv SELECT $1::bytea, $2::bytea"):
        records[values[1] or b""] = values[2] or b""
    elif sql.startswith("INSERT INTO kv SELECT $1::bytea, key, value"):
        records.update(zip(_array(values[1]), _array(values[2]), strict=True))
    elif sql.startswith("DELETE") and "LIMIT" in sql:
        removed = sorted(records)[: int.from_bytes(values[1] or b"")]
        return sum(records.pop(key) is not None for key in removed)
    elif sql.startswith("DELETE"):
        for key in _array(values[1]):
            records.pop(key, None)
    else:
        raise NotImplementedError(sql)
    return 1


def _select(
    sql: str, records: dict[bytes, bytes], values: Sequence[bytes | None]
) -> list[tuple[bytes, bytes]]:
    if "unnest($2" in sql:
        bounds = zip(_array(values[1]), _array(values[2]), strict=True)
        return [row for bound in bounds for row in _between(records, *bound)]
    if "key = ANY" in sql:
        return [(key, records[key]) for key in _array(values[1]) if key in records]
    if "key = $2" in sql:
        key = values[1] or b""
        return [(key, records[key])] if key in records else []
    end = values[2] if "key < $3" in sql else None
    return _between(records, values[1] or b"", end)[: int.from_bytes(values[-1] or b"")]


def _between(
    records: dict[bytes, bytes], start: bytes, end: bytes | None
) -> list[tuple[bytes, bytes]]:
    keys = sorted(records)
    last = len(keys) if end is None else bisect_left(keys, end)
    return [(key, records[key]) for key in keys[bisect_left(keys, start) : last]]


def _array(value: bytes | None) -> Iterator[bytes]:
    """Yields the items of a `bytea[]` in PostgreSQL's binary form."""
    data, at = value or b"", _HEAD.size
    while at < len(data):
        (size,) = _WORD.unpack_from(data, at)
        at += _WORD.size
        yield data[at : at + size]
        at += size


class Connection:
    """A connection to the model, as the pool of the store has it."""

    def __init__(
        self, database: Database, pid: bytes, disturbance: Disturbance, clock: Callable[[], float]
    ) -> None:
        self.backend = Backend(pid, b"")
        self.opened_at = clock()
        self._database = database
        self._disturbance = disturbance

    def run(self, *statements: Statement) -> list[Result]:
        """Runs statements as one transaction. Raises StatementFailed and ConnectionLost."""
        fate = self._disturbance(statements)
        if fate == "refused":
            raise StatementFailed("40001", "could not serialize access due to concurrent update")
        if fate == "late":
            self._database.leave_running(self.backend.pid, statements)
        results = self._database.make(statements) if fate in ("made", "lost") else []
        if fate != "made":
            raise ConnectionLost("the server closed the connection unexpectedly")
        return results

    def is_stale(self) -> bool:
        """Returns False: servers close no connections."""
        return False

    def close(self) -> None:
        """Does nothing: the server may run on what it runs."""


class _Client:
    """What a store asks for connections."""

    def __init__(
        self, database: Database, disturbance: Disturbance, clock: Callable[[], float]
    ) -> None:
        self._database, self._disturbance, self._clock = database, disturbance, clock

    def connect(self) -> Connection:
        return self._database.connect(self._disturbance, self._clock)

    def check(self, connection: Connection) -> None:
        """Does nothing: the database has been migrated."""


def open_store(
    database: Database,
    disturbance: Disturbance = lambda _statements: "made",
    clock: Callable[[], float] = lambda: 0.0,
) -> PostgresStore:
    """Returns a store over the model."""
    client = _Client(database, disturbance, clock)
    name = "anabranch.keyvalue.postgres.store.PostgresDatabase"
    with mock.patch(name, return_value=client):
        return PostgresStore("postgres://model", connection_max_lifetime=0)
