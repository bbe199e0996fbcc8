"""One connection to PostgreSQL: statements that run together, in one round trip, until a deadline.

psycopg opens the connection (hosts, passwords and TLS), and its binding of libpq sends and
receives. psycopg's cursors and adapters are not used: they would cost more than the rest of a
look-up. All values are sent and received in PostgreSQL's binary form.

Statements that are sent together form one transaction, which commits after the last; when one
fails, none has any effect. This is libpq's pipeline mode: PostgreSQL's documentation, "Pipeline
Mode" and "Extended Query".
"""

from __future__ import annotations

import select
import time
from collections.abc import Sequence
from typing import NamedTuple

import psycopg
from psycopg import pq
from psycopg.pq import abc

from anabranch.keyvalue.postgres.errors import ConnectionLost, StatementFailed

__all__ = ["Backend", "Connection", "Result", "Statement"]

Statement = tuple[bytes, Sequence[bytes | None]]
"""SQL with parameters $1, $2, … and their values, each in PostgreSQL's binary form."""

Result = abc.PGresult
"""The server's result of a statement."""

_MAX_PREPARED = 256
_BINARY = 1
_PARAMETER_FORMATS = [(_BINARY,) * count for count in range(8)]
_FATAL = (b"FATAL", b"PANIC")
_SUCCESSFUL = (pq.ExecStatus.TUPLES_OK, pq.ExecStatus.COMMAND_OK)


class Backend(NamedTuple):
    """The server process of a connection: its id and its start time, which together identify it;
    both in PostgreSQL's binary form.
    """

    pid: bytes
    start: bytes


class Connection:
    """A connection for one thread at a time. It waits at most `response_timeout` seconds for the
    results of a request.

    `opened_at` is when it was opened, in seconds of the monotonic clock. After ConnectionLost, or
    any error other than StatementFailed, the caller must close it.
    """

    def __init__(self, raw: psycopg.Connection[object], response_timeout: float) -> None:
        self._raw = raw  # referenced: psycopg closes the connection when `raw` is collected
        self._libpq = raw.pgconn
        self._response_timeout = response_timeout
        self._prepared: dict[bytes, bytes] = {}
        self._poll = select.poll()
        self._socket = self._libpq.socket
        self._poll.register(self._socket, select.POLLIN)
        self.opened_at = time.monotonic()
        self.backend = Backend(b"", b"")

    def run(self, *statements: Statement) -> list[Result]:
        """Runs statements as one transaction and returns their results once it is durable.

        Raises StatementFailed when the transaction was rolled back, ConnectionLost when its outcome
        is unknown.
        """
        deadline = time.monotonic() + self._response_timeout
        try:
            if len(statements) == 1 and statements[0][0] in self._prepared:
                sql, values = statements[0]
                name = self._prepared[sql]
                self._libpq.send_query_prepared(
                    name, values, _PARAMETER_FORMATS[len(values)], _BINARY
                )
                return [self._single_result(deadline)]
            return self._pipeline(statements, deadline)
        except psycopg.Error as error:
            raise ConnectionLost(str(error)) from error

    def is_stale(self) -> bool:
        """Returns whether the server has sent something unrequested, which is nearly always the
        notice that it closes the connection.
        """
        return bool(self._poll.poll(0))

    def close(self) -> None:
        """Closes the connection; the server may continue to run what it was running."""
        self._raw.close()

    def _single_result(self, deadline: float) -> Result:
        self._flush_output(deadline)
        result = self._next_result(deadline)
        while self._next_result(deadline) is not None:
            pass  # the transaction has ended when there are no more results
        if result is None:
            raise ConnectionLost("the server did not respond")
        return _check_result(result)

    def _pipeline(self, statements: Sequence[Statement], deadline: float) -> list[Result]:
        if len(self._prepared) > _MAX_PREPARED:
            self._forget_prepared(deadline)
        libpq = self._libpq
        new_names: dict[bytes, bytes] = {}
        sent: list[bytes | None] = []
        libpq.enter_pipeline_mode()
        for sql, values in statements:
            name = self._prepared.get(sql) or new_names.get(sql)
            if name is None:
                name = new_names[sql] = b"s%d" % (len(self._prepared) + len(new_names))
                libpq.send_prepare(name, sql)
                sent.append(sql)
            libpq.send_query_prepared(name, values, _PARAMETER_FORMATS[len(values)], _BINARY)
            sent.append(None)
        libpq.pipeline_sync()
        self._flush_output(deadline)
        results, failure = self._receive(sent, new_names, deadline)
        libpq.exit_pipeline_mode()
        if failure is not None:
            raise failure
        return results

    def _receive(
        self, sent: list[bytes | None], new_names: dict[bytes, bytes], deadline: float
    ) -> tuple[list[Result], StatementFailed | None]:
        """Returns the results of the statements that were run, and the error of one that failed.
        `sent` holds the SQL of each statement to prepare, None for each to run.
        """
        results: list[Result] = []
        failure: StatementFailed | None = None
        for sql in sent:
            result = self._next_result(deadline)
            if result is None or self._next_result(deadline) is not None:
                raise ConnectionLost("the server's responses are out of order")
            if result.status == pq.ExecStatus.PIPELINE_ABORTED:
                continue
            try:
                _check_result(result)
            except StatementFailed as error:
                failure = error
                continue
            if sql is None:
                results.append(result)
            else:
                self._prepared[sql] = new_names[sql]
        end = self._next_result(deadline)
        if end is None or end.status != pq.ExecStatus.PIPELINE_SYNC:
            failure = failure or _error_from(end)
            while end is not None and end.status != pq.ExecStatus.PIPELINE_SYNC:
                end = self._next_result(deadline) or self._next_result(deadline)
        return results, failure

    def _forget_prepared(self, deadline: float) -> None:
        """Deallocates all prepared statements of the connection: each table has its own."""
        self._libpq.send_query(b"DEALLOCATE ALL")
        self._single_result(deadline)
        self._prepared.clear()

    def _next_result(self, deadline: float) -> Result | None:
        libpq = self._libpq
        while libpq.is_busy():
            self._wait(deadline)
            libpq.consume_input()
        return libpq.get_result()

    def _flush_output(self, deadline: float) -> None:
        while self._libpq.flush():
            self._poll.modify(self._socket, select.POLLIN | select.POLLOUT)
            try:
                self._wait(deadline)
            finally:
                self._poll.modify(self._socket, select.POLLIN)
            self._libpq.consume_input()

    def _wait(self, deadline: float) -> None:
        remaining = deadline - time.monotonic()
        if remaining <= 0 or not self._poll.poll(remaining * 1000):
            raise ConnectionLost(f"no response within {self._response_timeout:g} s", in_time=False)


def _check_result(result: Result) -> Result:
    if result.status not in _SUCCESSFUL:
        raise _error_from(result)
    return result


def _error_from(result: Result | None) -> StatementFailed:
    """Returns the error of a failed statement. Raises ConnectionLost when the server process ended
    with it.
    """
    if result is None:
        raise ConnectionLost("the server did not respond")
    field = result.error_field
    message = (field(pq.DiagnosticField.MESSAGE_PRIMARY) or b"").decode(errors="replace")
    state = field(pq.DiagnosticField.SQLSTATE)
    if state is None or field(pq.DiagnosticField.SEVERITY_NONLOCALIZED) in _FATAL:
        raise ConnectionLost(message or result.error_message.decode(errors="replace"))
    return StatementFailed(state.decode(), message)
