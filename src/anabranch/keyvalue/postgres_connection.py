"""One connection to PostgreSQL: statements that run together, in one round trip, until a deadline.

psycopg opens the connection (it knows hosts, passwords and TLS) and its binding of libpq sends
and receives; what lies between, cursors and adaptation, would cost more than all the rest of a
look-up. Every value here is binary, so that bytes go over as they are.

Statements that are sent together make one transaction, which commits when the last has run; when
one fails, none of them has had any effect. That is libpq's pipeline mode: PostgreSQL's
documentation, "Pipeline Mode" and "Extended Query".
"""

from __future__ import annotations

import select
import time
from collections.abc import Sequence
from typing import NamedTuple

import psycopg
from psycopg import pq
from psycopg.pq import abc

from anabranch.keyvalue.postgres_errors import ConnectionLost, StatementFailed

__all__ = ["Answer", "Backend", "Connection", "Statement"]

Statement = tuple[bytes, Sequence[bytes | None]]
"""SQL with $1, $2, … and the values of these, each in PostgreSQL's binary form."""

Answer = abc.PGresult
"""What the server says to a statement."""

_MOST_PREPARED = 256
_BINARY = 1
_BINARIES = [(_BINARY,) * count for count in range(8)]
_FATAL = (b"FATAL", b"PANIC")
_GOOD = (pq.ExecStatus.TUPLES_OK, pq.ExecStatus.COMMAND_OK)


class Backend(NamedTuple):
    """The server's process at the other end: its id, and when it began, which no other shares;
    both in PostgreSQL's binary form.
    """

    pid: bytes
    start: bytes


class Connection:
    """A connection for one thread at a time. It waits `answer_seconds` at most for an answer.

    `born` is when it was made, in seconds of the monotonic clock. Who has met ConnectionLost, or
    anything but StatementFailed, must close it.
    """

    def __init__(self, raw: psycopg.Connection[object], answer_seconds: float) -> None:
        self._raw = raw  # closes the connection when it is forgotten
        self._libpq = raw.pgconn
        self._answer_seconds = answer_seconds
        self._prepared: dict[bytes, bytes] = {}
        self._poll = select.poll()
        self._socket = self._libpq.socket
        self._poll.register(self._socket, select.POLLIN)
        self.born = time.monotonic()
        self.backend = Backend(b"", b"")

    def run(self, *statements: Statement) -> list[Answer]:
        """Returns the answers to statements that make one transaction, which is durable then.

        Raises StatementFailed when it was undone, ConnectionLost when its outcome is unknown.
        """
        deadline = time.monotonic() + self._answer_seconds
        try:
            if len(statements) == 1 and statements[0][0] in self._prepared:
                sql, values = statements[0]
                name = self._prepared[sql]
                self._libpq.send_query_prepared(name, values, _BINARIES[len(values)], _BINARY)
                return [self._only_answer(deadline)]
            return self._pipeline(statements, deadline)
        except psycopg.Error as error:
            raise ConnectionLost(str(error)) from error

    def is_stale(self) -> bool:
        """Returns whether the server has said something unasked, which is nearly always that it
        hangs up.
        """
        return bool(self._poll.poll(0))

    def close(self) -> None:
        """Closes the connection; whatever it was doing may go on in the server."""
        self._raw.close()

    def _only_answer(self, deadline: float) -> Answer:
        self._send_rest(deadline)
        answer = self._next(deadline)
        while self._next(deadline) is not None:
            pass  # the transaction has ended when there is no more
        if answer is None:
            raise ConnectionLost("the server did not answer")
        return _checked(answer)

    def _pipeline(self, statements: Sequence[Statement], deadline: float) -> list[Answer]:
        if len(self._prepared) > _MOST_PREPARED:
            self._forget_prepared(deadline)
        libpq = self._libpq
        fresh: dict[bytes, bytes] = {}
        kinds: list[bytes | None] = []
        libpq.enter_pipeline_mode()
        for sql, values in statements:
            name = self._prepared.get(sql) or fresh.get(sql)
            if name is None:
                name = fresh[sql] = b"s%d" % (len(self._prepared) + len(fresh))
                libpq.send_prepare(name, sql)
                kinds.append(sql)
            libpq.send_query_prepared(name, values, _BINARIES[len(values)], _BINARY)
            kinds.append(None)
        libpq.pipeline_sync()
        self._send_rest(deadline)
        answers, failed = self._answers(kinds, fresh, deadline)
        libpq.exit_pipeline_mode()
        if failed is not None:
            raise failed
        return answers

    def _answers(
        self, kinds: list[bytes | None], fresh: dict[bytes, bytes], deadline: float
    ) -> tuple[list[Answer], StatementFailed | None]:
        """Returns the answers to what was sent: for each statement to prepare its SQL, for each
        to run None.
        """
        answers: list[Answer] = []
        failed: StatementFailed | None = None
        for sql in kinds:
            answer = self._next(deadline)
            if answer is None or self._next(deadline) is not None:
                raise ConnectionLost("the server's answers are out of order")
            if answer.status == pq.ExecStatus.PIPELINE_ABORTED:
                continue
            try:
                _checked(answer)
            except StatementFailed as error:
                failed = error
                continue
            if sql is None:
                answers.append(answer)
            else:
                self._prepared[sql] = fresh[sql]
        end = self._next(deadline)
        if end is None or end.status != pq.ExecStatus.PIPELINE_SYNC:
            failed = failed or _failure(end)
            while end is not None and end.status != pq.ExecStatus.PIPELINE_SYNC:
                end = self._next(deadline) or self._next(deadline)
        return answers, failed

    def _forget_prepared(self, deadline: float) -> None:
        """Gives back the server's memory of statements, of which each table has some."""
        self._libpq.send_query(b"DEALLOCATE ALL")
        self._only_answer(deadline)
        self._prepared.clear()

    def _next(self, deadline: float) -> Answer | None:
        libpq = self._libpq
        while libpq.is_busy():
            self._wait(deadline)
            libpq.consume_input()
        return libpq.get_result()

    def _send_rest(self, deadline: float) -> None:
        while self._libpq.flush():
            self._poll.modify(self._socket, select.POLLIN | select.POLLOUT)
            try:
                self._wait(deadline)
            finally:
                self._poll.modify(self._socket, select.POLLIN)
            self._libpq.consume_input()

    def _wait(self, deadline: float) -> None:
        left = deadline - time.monotonic()
        if left <= 0 or not self._poll.poll(left * 1000):
            raise ConnectionLost(f"no answer within {self._answer_seconds:g} s", in_time=False)


def _checked(answer: Answer) -> Answer:
    if answer.status not in _GOOD:
        raise _failure(answer)
    return answer


def _failure(answer: Answer | None) -> StatementFailed:
    """Returns why a statement failed. Raises ConnectionLost when the server ended with it."""
    if answer is None:
        raise ConnectionLost("the server did not answer")
    field = answer.error_field
    message = (field(pq.DiagnosticField.MESSAGE_PRIMARY) or b"").decode(errors="replace")
    state = field(pq.DiagnosticField.SQLSTATE)
    if state is None or field(pq.DiagnosticField.SEVERITY_NONLOCALIZED) in _FATAL:
        raise ConnectionLost(message or answer.error_message.decode(errors="replace"))
    return StatementFailed(state.decode(), message)
