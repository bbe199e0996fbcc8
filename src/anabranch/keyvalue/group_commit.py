"""Group commit: requests that have gathered while a transaction ran make the next one together.

A transaction costs one wait for the disk, however many requests it holds. Nobody waits for
company: requests that come while a transaction runs are committed by the writer thread, all of
them in the next one. While requests come one at a time, the thread that brings one commits it
itself, which saves waking another. Each request has its own answer.
"""

from __future__ import annotations

import threading
from collections import deque
from collections.abc import Callable, Sequence
from typing import Any, Protocol

from anabranch.errors import Busy

__all__ = ["GroupCommit", "Request", "Transactions"]

_LONGEST_CLOSE_SECONDS = 30.0


class Request:
    """Work to be done in a transaction, and then its answer or its error."""

    __slots__ = ("_answered", "answer", "error", "work")

    def __init__(self, work: Callable[[Any], int]) -> None:
        self.work = work
        self.answer: int | None = None
        self.error: BaseException | None = None
        self._answered = threading.Lock()
        self._answered.acquire()

    def wait(self, seconds: float = -1) -> bool:
        """Waits until answered, for ever or for so long; returns whether it is."""
        return self._answered.acquire(timeout=seconds)

    def answered(self) -> None:
        """Wakes the thread that waits."""
        self._answered.release()

    def result(self) -> int:
        """Returns the answer, or raises the error."""
        if self.error is not None:
            raise self.error
        if self.answer is None:
            raise Busy("the transaction was interrupted", kind="interrupted")
        return self.answer


class Transactions(Protocol):
    """What makes the transactions; used by one thread at a time."""

    def take_turn(self) -> None:
        """Waits until no other process writes."""

    def try_turn(self) -> bool:
        """Takes the turn if no other process writes or waits; returns whether."""

    def release_turn(self) -> None:
        """Lets the next process write."""

    def run(self, requests: Sequence[Request]) -> None:
        """Does the work of all requests in one transaction and sets their answers or errors."""

    def needs_tidying(self) -> bool:
        """Returns whether there is housekeeping to do."""

    def tidy(self) -> None:
        """Does the housekeeping, which no request waits for."""

    def close(self) -> None:
        """Releases what the transactions are made with; a second time does nothing."""


class GroupCommit:
    """Brings requests from many threads into few transactions.

    `patience_seconds` bounds how long a request waits for other processes to end theirs.
    """

    def __init__(self, transactions: Transactions, patience_seconds: float) -> None:
        self._transactions = transactions
        self._patience = patience_seconds
        self._state = threading.Condition(threading.Lock())
        self._waiting: deque[Request] = deque()
        self._at_work = False
        self._alone = True  # the latest transaction held one request, and none came meanwhile
        self._closed = False
        self._writer: threading.Thread | None = None

    def submit(self, work: Callable[[Any], int]) -> int:
        """Returns what `work` returned, once its transaction is durable. Raises what it raised,
        or Busy when the transaction failed or could not begin.
        """
        return self.submit_all((work,))[0].result()

    def submit_all(self, works: Sequence[Callable[[Any], int]]) -> Sequence[Request]:
        """Returns requests that have been answered, for several works that have gathered already.
        Raises Busy when the store is closed.
        """
        requests = [Request(work) for work in works]
        if self._begin(requests):
            self._run_here(requests)
        else:
            for request in requests:
                self._await(request)
        return requests

    def close(self) -> None:
        """Lets the requests in flight finish and refuses new ones."""
        with self._state:
            self._closed = True
            self._state.notify_all()
            writer = self._writer
        if writer is not None:
            writer.join(_LONGEST_CLOSE_SECONDS)
        with self._state:
            self._state.wait_for(lambda: not self._at_work, _LONGEST_CLOSE_SECONDS)
            if not self._at_work:
                self._transactions.close()

    def _begin(self, requests: Sequence[Request]) -> bool:
        """Returns whether the caller shall run the requests itself; else they are in the queue."""
        with self._state:
            if self._closed:
                raise Busy("the store is closed", kind="closed")
            gathered = len(requests) > 1
            if (self._alone or gathered) and not self._at_work and self._transactions.try_turn():
                self._at_work = True
                return True
            self._alone = False
            self._waiting.extend(requests)
            self._wake_writer()
            return False

    def _wake_writer(self) -> None:
        if self._writer is None:
            self._writer = threading.Thread(
                target=self._write, name="anabranch-writer", daemon=True
            )
            self._writer.start()
        elif not self._at_work:
            self._state.notify_all()

    def _run_here(self, requests: Sequence[Request]) -> None:
        try:
            self._transactions.run(requests)
        finally:
            with self._state:
                self._transactions.release_turn()
                self._at_work = False
                if self._waiting or self._transactions.needs_tidying():
                    self._wake_writer()
                elif self._closed:
                    self._state.notify_all()

    def _await(self, request: Request) -> None:
        answered = False
        try:
            answered = request.wait(self._patience)
        finally:
            if not answered and not self._withdraw(request):
                request.wait()  # it is in a transaction: the answer comes
                answered = True
        if not answered:
            request.error = Busy("the database is locked by another process", kind="locked")

    def _withdraw(self, request: Request) -> bool:
        with self._state:
            try:
                self._waiting.remove(request)
            except ValueError:
                return False
            return True

    def _write(self) -> None:
        """The life of the writer thread."""
        while self._next_round():
            committed = self._commit_waiting() if self._waiting else 0
            if self._transactions.needs_tidying():
                self._transactions.tidy()
            with self._state:
                self._at_work = False
                self._alone = committed <= 1 and not self._waiting
                self._state.notify_all()

    def _commit_waiting(self) -> int:
        """Commits all requests that wait and returns how many they were."""
        self._transactions.take_turn()
        with self._state:
            group = tuple(self._waiting)
            self._waiting.clear()
        try:
            if group:  # all may have lost patience meanwhile
                self._transactions.run(group)
        finally:
            self._transactions.release_turn()
            for request in group:
                request.answered()
        return len(group)

    def _next_round(self) -> bool:
        """Waits for work and returns True, or False when there will be none."""
        with self._state:
            while True:
                if not self._at_work:
                    if self._waiting or self._transactions.needs_tidying():
                        self._at_work = True
                        return True
                    if self._closed:
                        return False
                self._state.wait()
