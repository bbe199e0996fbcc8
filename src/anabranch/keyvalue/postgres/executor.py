"""Execution of requests to PostgreSQL, with retries when the connection breaks.

A request that may be performed twice is retried on another connection. For one that may not, the
outcome is unknown once it has been sent, and a slow or disconnected server may still perform it
later. So the server process of that connection is terminated first; then the outcome, although
unknown, is final.
"""

from __future__ import annotations

import random
import time
from collections.abc import Callable, Collection, Mapping

from anabranch.errors import AnabranchError, Busy, OutcomeUnknown
from anabranch.keyvalue.postgres.connection import Backend, Result, Statement
from anabranch.keyvalue.postgres.database import PostgresDatabase
from anabranch.keyvalue.postgres.errors import (
    ConnectionLost,
    StatementFailed,
    is_retryable,
    leaves_connection_sound,
    translate,
)
from anabranch.keyvalue.postgres.partitions import Layout, PartitionTable
from anabranch.keyvalue.postgres.pool import Pool
from anabranch.no_waiting import about_to_wait
from anabranch.store_observer import UNOBSERVED, StoreObserver

__all__ = ["BuildStatements", "RequestExecutor"]

BuildStatements = Callable[[Mapping[str, PartitionTable]], list[Statement]]
"""Returns a request's statements, given the tables of its partitions."""

_MAX_ATTEMPTS = 6
_BACKOFF_SECONDS = 0.02
_TERMINATE_TIMEOUT_SECONDS = 5.0

_TERMINATE_BACKEND = (
    b"SELECT pg_terminate_backend(pid) FROM pg_stat_activity "
    b"WHERE pid = $1::int4 AND backend_start = $2::timestamptz"
)


class RequestExecutor:
    """Runs requests on the connections of a pool. Raises the errors that `PostgresStore` lists."""

    def __init__(
        self, database: PostgresDatabase, pool: Pool, observer: StoreObserver = UNOBSERVED
    ) -> None:
        self._pool = pool
        self._observer = observer
        connection = pool.acquire()
        try:
            database.check(connection)
            self._layout = Layout(connection)
        except ConnectionLost as error:
            pool.discard(connection)
            raise _connection_lost(error) from error
        except StatementFailed as error:
            pool.discard(connection)
            raise translate(error) from error
        except AnabranchError:
            pool.discard(connection)
            raise
        pool.release(connection)

    def run(
        self, partitions: Collection[str], build: BuildStatements, *, once: bool = False
    ) -> list[Result]:
        """Runs the statements that `build` returns as one transaction and returns their results.

        When the connection breaks after they were sent, raises OutcomeUnknown with `once`, and
        sends them again without.
        """
        about_to_wait()
        attempt = 0
        self._observer.sent()
        while True:
            attempt += 1
            try:
                return self._attempt(partitions, build, once=once)
            except StatementFailed as error:
                if attempt == _MAX_ATTEMPTS or not is_retryable(error):
                    raise translate(error) from error
                reason = "conflict"
            except ConnectionLost as error:
                if attempt == _MAX_ATTEMPTS or not error.in_time:
                    raise _connection_lost(error) from error
                reason = "connection_lost"
            self._observer.repeated(reason)
            time.sleep(random.uniform(0, _BACKOFF_SECONDS * attempt))  # noqa: S311

    def close(self) -> None:
        """Lets requests in flight finish and closes the connections."""
        self._pool.close()

    def _attempt(
        self, partitions: Collection[str], build: BuildStatements, *, once: bool
    ) -> list[Result]:
        pool, layout = self._pool, self._layout
        connection = pool.acquire()
        sent = False
        try:
            unknown = layout.unknown(partitions)
            statements = build({name: layout.table_for(name) for name in partitions})
            sent = True
            results = connection.run(*statements, *layout.queries(unknown))
        except StatementFailed as error:
            if leaves_connection_sound(error):
                pool.release(connection)
            else:
                pool.discard(connection)
            raise
        except ConnectionLost as error:
            pool.discard(connection)
            if sent and once:
                self._terminate(connection.backend)
                raise _outcome_unknown(error) from error
            raise
        except BaseException:
            pool.discard(connection)
            raise
        pool.release(connection)
        if unknown:
            layout.learn(unknown, results[len(statements) :])
        return results[: len(statements)]

    def _terminate(self, backend: Backend) -> None:
        """Terminates the server process of a broken connection, if it exists, and waits until it
        has ended. What breaks one connection may refuse the next ones for a moment, too.
        """
        deadline = time.monotonic() + _TERMINATE_TIMEOUT_SECONDS
        attempt = 1
        while not self._has_ended(backend):
            if attempt >= _MAX_ATTEMPTS and time.monotonic() > deadline:
                return
            time.sleep(_BACKOFF_SECONDS)
            attempt += 1

    def _has_ended(self, backend: Backend) -> bool:
        """Terminates a server process; returns whether there is none, as far as can be known."""
        try:
            connection = self._pool.acquire()
        except Busy as error:
            return error.kind == "closed"
        try:
            (result,) = connection.run((_TERMINATE_BACKEND, backend))
        except (ConnectionLost, StatementFailed):
            self._pool.discard(connection)
            return False
        self._pool.release(connection)
        return not result.ntuples


def _connection_lost(error: ConnectionLost) -> Busy:
    return Busy(f"the connection to the database was lost: {error.reason}", kind="connection_lost")


def _outcome_unknown(error: ConnectionLost) -> OutcomeUnknown:
    return OutcomeUnknown(
        f"the connection to the database was lost during a write: {error.reason}; "
        "whether the write was made is unknown"
    )
