"""The connection that writes: one transaction for each group, and checkpoints of the log.

SQLite appends commits to a write-ahead log next to the database, and moves them into the database
at a *checkpoint*; the log then restarts at its beginning, provided that no reader uses it at that
moment. Checkpoints are made here, after requests have been acknowledged. When overlapping readers
have prevented a restart for long, a checkpoint makes new readers wait for a moment.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import NamedTuple

import apsw

from anabranch.errors import Busy, OutcomeUnknown
from anabranch.keyvalue.caching.read_cache import ReadCache
from anabranch.keyvalue.contract import Write
from anabranch.keyvalue.sqlite.database import SQLITE_ERRORS, open_connection, translate
from anabranch.keyvalue.sqlite.writer_lock import WriterLock

__all__ = ["CHECKPOINT_POLICY", "CheckpointPolicy", "SQLiteWriter", "Work"]

_MAX_WRITES_CACHED = 10_000


class Work(NamedTuple):
    """What is done in a transaction: `run` returns a number for its caller. If that is not 0, it
    has made all `writes`, else none; None stands for writes that are not known before. One that is
    not `durable` becomes so with the next that is.
    """

    run: Callable[[apsw.Cursor], int]
    writes: Sequence[Write] | None = None
    durable: bool = True


class CheckpointPolicy(NamedTuple):
    """When checkpoints are made: one whenever the log has grown by `pages`; from `restart_pages`
    on, one that makes new readers wait, for at most `restart_timeout_milliseconds`.
    """

    pages: int = 2_000
    restart_pages: int = 8_000
    restart_timeout_milliseconds: int = 200


CHECKPOINT_POLICY = CheckpointPolicy()


class SQLiteWriter:
    """Commits works, and makes checkpoints, for a `GroupCommit` that holds `lock`. The first commit
    opens the connection. Of the values in `cache`, those that are written are replaced.
    """

    def __init__(
        self,
        path: str,
        timeout_seconds: float,
        cache: ReadCache,
        policy: CheckpointPolicy = CHECKPOINT_POLICY,
    ) -> None:
        self._path = path
        self._cache = cache
        self._timeout = timeout_seconds
        self._policy = policy
        self.lock = WriterLock(path)
        self._connection: apsw.Connection | None = None
        self._syncs = True
        self._log_pages = 0
        self._checkpoint_at = policy.pages
        self._closed = False
        self.transactions = 0
        """The number of committed transactions."""

    def commit(self, works: Sequence[Work]) -> Sequence[int | Exception]:
        """Does all works in one transaction and returns what each returned, or its error.

        When one work fails for a reason of its own, each is done in a separate transaction, so that
        the others are not affected.
        """
        try:
            return self._transact(works)
        except Busy as error:
            return [type(error)(error.message, kind=error.kind, hint=error.hint) for _ in works]
        except Exception as error:  # noqa: BLE001  the caller of the work gets what it raises
            if len(works) == 1:
                return [error]
            return [self.commit((work,))[0] for work in works]

    def needs_checkpoint(self) -> bool:
        """Returns whether the log has grown so long that a checkpoint is due."""
        return self._log_pages >= self._checkpoint_at

    def checkpoint(self) -> None:
        """Copies the log into the database."""
        restart = self._log_pages >= self._policy.restart_pages
        self._checkpoint_at = self._log_pages + self._policy.pages
        try:
            if restart:
                self.lock.acquire()
                self._checkpoint(apsw.SQLITE_CHECKPOINT_RESTART)
            else:
                self._checkpoint(apsw.SQLITE_CHECKPOINT_PASSIVE)
        except (apsw.Error, OSError):
            pass  # the log remains complete; the next round tries again
        finally:
            if restart:
                self.lock.release()

    def close(self) -> None:
        """Closes the connection; a second call does nothing."""
        if self._closed:
            return
        self._closed = True
        if self._connection is not None:
            self._connection.close()
        self.lock.close()

    def leave_to_parent(self) -> None:
        """In a forked process: closes the descriptors of the parent's lock, not its connection."""
        self.lock.close()

    def _transact(self, works: Sequence[Work]) -> list[int]:
        connection: apsw.Connection | None = None
        try:
            connection = self._open()
            cursor = connection.cursor()
            self._sync_if(any(work.durable for work in works), cursor)
            cursor.execute("BEGIN IMMEDIATE")
            values = [work.run(cursor) for work in works]
            self._commit(cursor, _written(works, values))
        except SQLITE_ERRORS as error:
            translated = translate(error, self._path, connection)
            self._roll_back()
            raise translated from error
        except BaseException:
            self._roll_back()
            raise
        self.transactions += 1
        return values

    def _sync_if(self, durable: bool, cursor: apsw.Cursor) -> None:
        """Lets the following transaction wait for the disk, or not: it is then in the log, and the
        next one that waits makes both durable.
        """
        if durable != self._syncs:
            cursor.execute(f"PRAGMA synchronous = {'FULL' if durable else 'NORMAL'}")
            self._syncs = durable

    def _commit(self, cursor: apsw.Cursor, written: Sequence[Write] | None) -> None:
        before = self._cache.begin_commit()
        try:
            cursor.execute("COMMIT")
        except apsw.IOError as error:
            if getattr(error, "extendedresult", 0) == apsw.SQLITE_IOERR_FSYNC:
                # all of the transaction is in the log, which a restart reads again
                message = f"{self._path}: the disk did not confirm a write: {error}"
                raise OutcomeUnknown(message) from error
            raise
        # not after a failed commit: its writes may appear when the log is read again
        self._cache.end_commit(before, written)

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
        connection.set_busy_timeout(self._policy.restart_timeout_milliseconds)
        try:
            connection.wal_checkpoint(mode=mode)
        finally:
            connection.set_busy_timeout(int(self._timeout * 1000))

    def _open(self) -> apsw.Connection:
        if self._connection is None:
            self._connection = open_connection(self._path, self._timeout)
            self._syncs = True
            self._connection.set_wal_hook(self._on_commit)
        return self._connection

    def _on_commit(self, _connection: apsw.Connection, _name: str, pages: int) -> int:
        if pages < self._log_pages:
            self._checkpoint_at = self._policy.pages  # the log has restarted
        self._log_pages = pages
        return apsw.SQLITE_OK


def _written(works: Sequence[Work], outcomes: Sequence[int]) -> Sequence[Write] | None:
    """Returns what works have written, in order, or None if that is not known or too much."""
    made: list[Write] = []
    for work, outcome in zip(works, outcomes, strict=True):
        if work.writes is None:
            return None
        if outcome:
            made += work.writes
    return made if len(made) <= _MAX_WRITES_CACHED else None
