"""The connection that writes: transactions of whole groups, and the log kept short.

SQLite appends what it commits to a log beside the database, and moves it into the database at a
*checkpoint*, after which the log begins anew if no reader is in it just then. Checkpoints are made
here, after requests have been answered, and when overlapping readers have kept the log from
beginning anew for long, one that makes new readers wait a moment.
"""

from __future__ import annotations

from collections.abc import Sequence

import apsw

from anabranch.errors import Busy
from anabranch.keyvalue.change_counter import ChangeCounter
from anabranch.keyvalue.group_commit import Request
from anabranch.keyvalue.sqlite_database import SQLITE_ERRORS, open_connection, translate
from anabranch.keyvalue.write_turn import WriteTurn

__all__ = ["SQLiteWriter"]

_CHECKPOINT_PAGES = 2_000
_RESTART_PAGES = 8_000
_LONGEST_RESTART_MILLISECONDS = 200


class SQLiteWriter:
    """The `Transactions` of a SQLite database; opens it at the first. What it commits is counted
    in `changes`.
    """

    def __init__(self, path: str, patience_seconds: float, changes: ChangeCounter) -> None:
        self._path = path
        self._changes = changes
        self._patience = patience_seconds
        self._turn = WriteTurn(path)
        self._connection: apsw.Connection | None = None
        self._log_pages = 0
        self._checkpoint_at = _CHECKPOINT_PAGES
        self._closed = False
        self.transactions = 0
        """How many were committed."""

    def take_turn(self) -> None:
        """Waits until no other process writes."""
        self._turn.take()

    def try_turn(self) -> bool:
        """Takes the turn if no other process writes or waits; returns whether."""
        return self._turn.try_take()

    def release_turn(self) -> None:
        """Lets the next process write."""
        self._turn.release()

    def run(self, requests: Sequence[Request]) -> None:
        """Does the work of all requests in one transaction and sets their answers or errors.

        When one request fails for a reason of its own, each gets a transaction of its own, so
        that its neighbours do not suffer.
        """
        try:
            answers = self._transact(requests)
        except Busy as error:
            for request in requests:
                request.error = Busy(error.message, kind=error.kind, hint=error.hint)
        except Exception as error:  # noqa: BLE001  whatever the work raises is its caller's
            if len(requests) == 1:
                requests[0].error = error
                return
            for request in requests:
                self.run((request,))
        else:
            for request, answer in zip(requests, answers, strict=True):
                request.answer = answer

    def needs_tidying(self) -> bool:
        """Returns whether the log has grown so long that it should be moved."""
        return self._log_pages >= self._checkpoint_at

    def tidy(self) -> None:
        """Moves the log into the database."""
        restart = self._log_pages >= _RESTART_PAGES
        self._checkpoint_at = self._log_pages + _CHECKPOINT_PAGES
        try:
            if restart:
                self._turn.take()
                self._checkpoint(apsw.SQLITE_CHECKPOINT_RESTART)
            else:
                self._checkpoint(apsw.SQLITE_CHECKPOINT_PASSIVE)
        except apsw.Error:
            pass  # the log stays as it is, complete; the next round tries again
        finally:
            if restart:
                self._turn.release()

    def close(self) -> None:
        """Closes the connection; a second time does nothing."""
        if self._closed:
            return
        self._closed = True
        if self._connection is not None:
            self._connection.close()
        self._turn.close()

    def leave_to_parent(self) -> None:
        """In a forked process: lets go of the parent's turn. Its connection is left as it is."""
        self._turn.close()

    def _transact(self, requests: Sequence[Request]) -> list[int]:
        connection: apsw.Connection | None = None
        try:
            connection = self._open()
            cursor = connection.cursor()
            cursor.execute("BEGIN IMMEDIATE")
            answers = [request.work(cursor) for request in requests]
            self._commit(cursor)
        except SQLITE_ERRORS as error:
            translated = translate(error, self._path, connection)
            self._roll_back()
            raise translated from error
        except BaseException:
            self._roll_back()
            raise
        self.transactions += 1
        return answers

    def _commit(self, cursor: apsw.Cursor) -> None:
        self._changes.begin()
        cursor.execute("COMMIT")
        # not after one that failed: what it wrote may come to light when the log is read again
        self._changes.end()

    def _roll_back(self) -> None:
        connection = self._connection
        if connection is None or not connection.in_transaction:
            return  # SQLite has rolled back itself, as it does when the disk fails
        try:
            connection.execute("ROLLBACK")
        except apsw.Error:
            self._connection = None
            connection.close()

    def _checkpoint(self, mode: int) -> None:
        connection = self._open()
        connection.set_busy_timeout(_LONGEST_RESTART_MILLISECONDS)
        try:
            connection.wal_checkpoint(mode=mode)
        finally:
            connection.set_busy_timeout(int(self._patience * 1000))

    def _open(self) -> apsw.Connection:
        if self._connection is None:
            self._connection = open_connection(self._path, self._patience)
            self._connection.set_wal_hook(self._committed)
        return self._connection

    def _committed(self, _connection: apsw.Connection, _name: str, pages: int) -> int:
        if pages < self._log_pages:
            self._checkpoint_at = _CHECKPOINT_PAGES  # the log has begun anew
        self._log_pages = pages
        return apsw.SQLITE_OK
