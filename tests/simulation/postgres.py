"""A model of PostgreSQL, below the store that the code has: it runs the statements that are sent.

`PostgresStore` is the one of the code, with its pool, its retries and the settings of its sessions.
Its connections are those of this model, and fail as a server and a network do: a transaction is
refused as it conflicts with another one, a connection breaks before it is made, after, or while it
still runs, so that it may be made later, until its backend is ended.

The database crashes, too. Its log has transactions in the order in which they were made. One with
`synchronous_commit` is on the disk, with all before it, when its client learns that it was made; of
the others, a crash loses as many of the newest as it likes. Sessions end with a crash, and so do
their locks and what they still run; for a while, none begins. A standby that takes over, and has
what clients were told, is the same to them. The contract suite and `tests/keyvalue/test_crashes.py`
hold the model to what the real one does.
"""

from __future__ import annotations

import itertools
import threading
from collections.abc import Callable, Sequence
from functools import lru_cache, partial
from random import Random
from unittest import mock

from simulation.postgres_statements import WORD, Records, Result, Value, change, select

from anabranch.errors import Busy
from anabranch.keyvalue.postgres.connection import Backend, Statement
from anabranch.keyvalue.postgres.database import SCHEMA_VERSION, PostgresDatabase
from anabranch.keyvalue.postgres.errors import ConnectionLost, StatementFailed
from anabranch.keyvalue.postgres.store import PostgresStore

__all__ = ["Database", "Disturbance", "open_store"]

_VERSION = {b"kv-internal-metadata": {b"kv/schema/version": b"%d" % SCHEMA_VERSION}}

_TRUE, _FALSE = b"\1", b"\0"

Disturbance = Callable[[Sequence[Statement]], str]
"""Is called ahead of a transaction; returns what becomes of it: "made", "refused", that the
connection breaks: "unsent", "lost" after it was made, "late" while it still runs, or that the
database crashes: "crash", or "crash after" it was made. It may raise.
"""


class Session:
    """A session of the database, of one of its clients."""

    def __init__(self, database: Database, number: int, client: Disturbance) -> None:
        self.pid = WORD.pack(number)
        self.client = client
        self.is_open = True
        self.is_noticed = False
        """Whether its client would notice that it has ended before it sends anything."""
        self.synchronous_commit = database.synchronous_commit


class Database:
    """The table of all connections, the log of what is not on the disk, and the transactions that
    still run. Its owner has set `synchronous_commit` for all sessions; `random` decides what a
    crash loses. While `is_up` returns False, no session begins.
    """

    def __init__(self, synchronous_commit: str = "on", random: Random | None = None) -> None:
        self.synchronous_commit = synchronous_commit
        self.is_up: Callable[[], bool] = lambda: True
        self._random = random or Random(0)
        self._records: Records = {name: {**records} for name, records in _VERSION.items()}
        self._unflushed: list[list[tuple[bytes, bytes, Value]]] = []
        """What undoes the transactions that are not on the disk, the oldest first."""
        self._sessions: dict[bytes, Session] = {}
        self._locks: dict[bytes, Session] = {}
        self._running: dict[Session, Sequence[Statement]] = {}
        self._numbers = itertools.count(1)
        self._lock = threading.RLock()

    @property
    def is_behind(self) -> bool:
        """Whether something was made that is not on the disk."""
        return bool(self._unflushed)

    def begin(self, client: Disturbance) -> Session:
        """Returns a new session. Raises Busy when the database is not there."""
        if not self.is_up():
            raise Busy("the database system is starting up", kind="database_unreachable")
        session = Session(self, next(self._numbers), client)
        self._sessions[session.pid] = session
        return session

    def end(self, session: Session) -> None:
        """Ends a session: its locks go, and what it still runs is not made."""
        session.is_open = False
        self._sessions.pop(session.pid, None)
        self._running.pop(session, None)
        self._locks = {lock: of for lock, of in self._locks.items() if of is not session}

    def leave(self, client: Disturbance) -> None:
        """Ends the sessions of a client that has ended, after making the transactions that they
        still run. PostgreSQL may need half a minute for that, and no server ends them meanwhile.
        """
        for session in list(self._sessions.values()):
            if session.client == client:
                if session in self._running:
                    self.make(session, self._running.pop(session))
                self.end(session)

    def finish(self) -> None:
        """Makes the transactions that still run."""
        for session, statements in list(self._running.items()):
            self.make(session, statements)
            self.end(session)

    def leave_running(self, session: Session, statements: Sequence[Statement]) -> None:
        """Keeps a transaction that runs on although its connection is broken."""
        self._running[session] = statements

    def flush(self) -> None:
        """Writes the log to the disk, as a background process does now and then."""
        self._unflushed.clear()

    def crash(self) -> None:
        """Ends all sessions, and loses transactions that are not on the disk, the newest ones."""
        with self._lock:
            for session in list(self._sessions.values()):
                session.is_noticed = self._random.random() < 0.5
                self.end(session)
            for _ in range(self._random.randrange(len(self._unflushed) + 1)):
                for partition, key, value in reversed(self._unflushed.pop()):
                    self._set(partition, key, value)
            self.flush()

    def make(self, session: Session, statements: Sequence[Statement]) -> list[Result]:
        """Makes a transaction: nothing else happens meanwhile. Raises ConnectionLost."""
        with self._lock:
            if not session.is_open:
                raise ConnectionLost("terminating connection because of crash of server")
            transaction = _Transaction(session.synchronous_commit)
            results = [
                self._execute(session, transaction, _one_line(sql), values)
                for sql, values in statements
            ]
            if transaction.undo:
                self._unflushed.append(transaction.undo)
                if transaction.synchronous_commit != "off":
                    self.flush()
            return results

    def _execute(
        self, session: Session, transaction: _Transaction, sql: str, values: Sequence[Value]
    ) -> Result:
        if "set_config('synchronous_commit', 'off', true)" in sql:
            transaction.synchronous_commit = "off"
        if sql.startswith("SELECT format("):  # the partitions of the table: it has none
            return Result([])
        if sql.startswith("SELECT set_config('anabranch.holds', 'true'"):
            return Result([(b"true", b"")])
        if sql.startswith(("SELECT pid", "SELECT pg_")):
            return Result(self._of_sessions(session, sql, values))
        records = self._records.setdefault(values[0] or b"", {})
        if sql.startswith("SELECT set_config('anabranch.holds', ("):
            transaction.holds &= records.get(values[1] or b"") == values[2]
            return Result([(b"true" if transaction.holds else b"false", b"")])
        if sql.startswith("SELECT"):
            return Result(select(sql, records, values))
        changes = change(sql, records, values) if transaction.holds else {}
        for key, value in changes.items():
            transaction.undo.append((values[0] or b"", key, records.get(key)))
            self._set(values[0] or b"", key, value)
        return Result([], len(changes))

    def _of_sessions(
        self, session: Session, sql: str, values: Sequence[Value]
    ) -> list[tuple[bytes, bytes]]:
        """Returns the rows of a statement about sessions and their locks."""
        if sql.startswith("SELECT pid, backend_start,"):
            if session.synchronous_commit == "off" and "WHEN 'off' THEN 'on'" in sql:
                session.synchronous_commit = "on"
            return [(session.pid, b"")]
        what = values[0] or b""
        if sql.startswith("SELECT pg_terminate_backend"):
            return [(_TRUE, b"")] if self._terminate(what) else []
        if sql.startswith("SELECT pg_try_advisory_lock"):
            is_held = self._locks.setdefault(what, session) is session
        else:
            is_held = self._locks.pop(what, None) is session
        return [(_TRUE if is_held else _FALSE, b"")]

    def _set(self, partition: bytes, key: bytes, value: Value) -> None:
        if value is None:
            self._records[partition].pop(key, None)
        else:
            self._records[partition][key] = value

    def _terminate(self, pid: bytes) -> bool:
        session = self._sessions.get(pid)
        if session is not None:
            self.end(session)
        return session is not None


@lru_cache(1000)
def _one_line(sql: bytes) -> str:
    return " ".join(sql.decode().split())


class _Transaction:
    """What a transaction knows of itself."""

    def __init__(self, synchronous_commit: str) -> None:
        self.synchronous_commit = synchronous_commit
        self.holds = True
        self.undo: list[tuple[bytes, bytes, Value]] = []


class Connection:
    """A connection to the model, as the pool of the store has it."""

    def __init__(self, database: Database, client: Disturbance, clock: Callable[[], float]) -> None:
        self.backend = Backend(b"", b"")
        self.opened_at = clock()
        self._database = database
        self._session = database.begin(client)

    def run(self, *statements: Statement) -> list[Result]:
        """Runs statements as one transaction. Raises StatementFailed and ConnectionLost."""
        database, session = self._database, self._session
        fate = session.client(statements)
        if fate == "refused" and session.is_open:
            raise StatementFailed("40001", "could not serialize access due to concurrent update")
        if fate == "late" and session.is_open:
            database.leave_running(session, statements)
        makes = fate in ("made", "lost", "crash after")
        results = database.make(session, statements) if makes else []
        if fate.startswith("crash"):
            database.crash()
        elif fate in ("unsent", "lost"):
            database.end(session)
        if fate != "made":
            raise ConnectionLost("the server closed the connection unexpectedly")
        return results

    def is_stale(self) -> bool:
        """Returns whether the server has closed the connection and the client knows it."""
        return self._session.is_noticed

    def close(self) -> None:
        """Ends the session, unless it runs something."""
        if self._session not in self._database._running:
            self._database.end(self._session)


_DATABASE = PostgresDatabase("postgres://model")
"""A database whose connection string was parsed."""


class _ModelledDatabase(PostgresDatabase):
    """The database of the code, whose connections are those of the model."""

    def __init__(self, database: Database, client: Disturbance, clock: Callable[[], float]) -> None:
        vars(self).update(vars(_DATABASE))
        self._open = partial(Connection, database, client, clock)


def _given(database: PostgresDatabase, *_arguments: object) -> PostgresDatabase:
    return database


def open_store(
    database: Database,
    disturbance: Disturbance = lambda _statements: "made",
    clock: Callable[[], float] = lambda: 0.0,
) -> PostgresStore:
    """Returns a store over the model."""
    opened = _ModelledDatabase(database, disturbance, clock)
    name = "anabranch.keyvalue.postgres.store.PostgresDatabase"
    with mock.patch(name, partial(_given, opened)):  # `return_value` takes a half millisecond
        return PostgresStore("postgres://model", connection_max_lifetime=0)
