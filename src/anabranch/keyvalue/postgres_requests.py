"""Requests to PostgreSQL, and what becomes of them when the connection breaks.

A request that may be made twice is made again, on another connection. One that may not be, and was
sent, is of unknown outcome. It is not only unknown: a server that is slow or cut off may yet be
about to do it. So that process of the server is ended first, and then the outcome is final, if
unknown.
"""

from __future__ import annotations

import random
import time
from collections.abc import Callable, Collection, Mapping

from anabranch.errors import AnabranchError, Busy, OutcomeUnknown
from anabranch.keyvalue.postgres_connection import Answer, Backend, Statement
from anabranch.keyvalue.postgres_database import PostgresDatabase
from anabranch.keyvalue.postgres_errors import (
    ConnectionLost,
    StatementFailed,
    is_worth_repeating,
    leaves_connection_sound,
    translate,
)
from anabranch.keyvalue.postgres_layout import Layout, TableOf
from anabranch.keyvalue.postgres_pool import Pool

__all__ = ["Make", "Requests"]

Make = Callable[[Mapping[str, TableOf]], list[Statement]]
"""Makes a request's statements, told in which tables its partitions are."""

_TRIES = 6
_PAUSE_SECONDS = 0.02
_END_SECONDS = 5.0

_END_BACKEND = (
    b"SELECT pg_terminate_backend(pid) FROM pg_stat_activity "
    b"WHERE pid = $1::int4 AND backend_start = $2::timestamptz"
)


class Requests:
    """Runs requests over the connections of a pool. Raises what `PostgresStore` says."""

    def __init__(self, database: PostgresDatabase, pool: Pool) -> None:
        self._pool = pool
        connection = pool.take()
        try:
            database.check(connection)
            self._layout = Layout(connection)
        except ConnectionLost as error:
            pool.discard(connection)
            raise _lost(error) from error
        except StatementFailed as error:
            pool.discard(connection)
            raise translate(error) from error
        except AnabranchError:
            pool.discard(connection)
            raise
        pool.give(connection)

    def run(self, partitions: Collection[str], make: Make, *, once: bool = False) -> list[Answer]:
        """Returns the answers to the statements that `make` makes; they are one transaction.

        With `once`, raises OutcomeUnknown when the connection broke after they
        were sent; without, they are sent again.
        """
        attempt = 0
        while True:
            attempt += 1
            try:
                return self._attempt(partitions, make, once=once)
            except StatementFailed as error:
                if attempt == _TRIES or not is_worth_repeating(error):
                    raise translate(error) from error
            except ConnectionLost as error:
                if attempt == _TRIES or not error.in_time:
                    raise _lost(error) from error
            time.sleep(random.uniform(0, _PAUSE_SECONDS * attempt))  # noqa: S311

    def close(self) -> None:
        """Lets requests in flight finish and closes the connections."""
        self._pool.close()

    def _attempt(self, partitions: Collection[str], make: Make, *, once: bool) -> list[Answer]:
        pool, layout = self._pool, self._layout
        connection = pool.take()
        sent = False
        try:
            unknown = layout.unknown(partitions)
            statements = make({each: layout.table_of(each) for each in partitions})
            sent = True
            answers = connection.run(*statements, *layout.questions(unknown))
        except StatementFailed as error:
            if leaves_connection_sound(error):
                pool.give(connection)
            else:
                pool.discard(connection)
            raise
        except ConnectionLost as error:
            pool.discard(connection)
            if sent and once:
                self._end(connection.backend)
                raise _unknown(error) from error
            raise
        except BaseException:
            pool.discard(connection)
            raise
        pool.give(connection)
        if unknown:
            layout.learn(unknown, answers[len(statements) :])
        return answers[: len(statements)]

    def _end(self, backend: Backend) -> None:
        """Ends the server's process of a broken connection, if it and the database are there."""
        deadline = time.monotonic() + _END_SECONDS
        try:
            connection = self._pool.take()
        except Busy:
            return
        try:
            while connection.run((_END_BACKEND, backend))[0].ntuples:
                if time.monotonic() > deadline:
                    break
                time.sleep(_PAUSE_SECONDS)
        except (ConnectionLost, StatementFailed):
            self._pool.discard(connection)
            return
        self._pool.give(connection)


def _lost(error: ConnectionLost) -> Busy:
    return Busy(f"the connection to the database was lost: {error.reason}", kind="connection_lost")


def _unknown(error: ConnectionLost) -> OutcomeUnknown:
    return OutcomeUnknown(
        f"the connection to the database was lost in a write: {error.reason}; "
        "whether it was made is not known"
    )
