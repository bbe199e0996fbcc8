"""Group commit: requests that arrive while a transaction runs share the next transaction.

A transaction costs one wait for the disk, however many requests it holds. No request is delayed to
form a group: requests that arrive while a transaction runs are committed by the writer thread, all
in the next transaction. While requests arrive one at a time, the calling thread commits its request
itself, which saves waking another thread. Each request has its own result.
"""

from __future__ import annotations

import threading
from collections import deque
from collections.abc import Callable, Sequence
from typing import Any, Protocol

from anabranch.errors import Busy

__all__ = ["GroupCommit", "Request", "Transactions"]

_CLOSE_TIMEOUT_SECONDS = 30.0


class Request:
    """Work to be done in a transaction, and afterwards its value or its error."""

    __slots__ = ("_done", "error", "value", "work")

    def __init__(self, work: Callable[[Any], int]) -> None:
        self.work = work
        self.value: int | None = None
        self.error: BaseException | None = None
        self._done = threading.Lock()
        self._done.acquire()

    def wait(self, seconds: float = -1) -> bool:
        """Waits until the request is done, at most `seconds` (negative: without a limit). Returns
        whether it is done.
        """
        return self._done.acquire(timeout=seconds)

    def set_done(self) -> None:
        """Wakes the thread that waits for this request."""
        self._done.release()

    def result(self) -> int:
        """Returns the value, or raises the error."""
        if self.error is not None:
            raise self.error
        if self.value is None:
            raise Busy("the transaction was interrupted", kind="interrupted")
        return self.value


class Transactions(Protocol):
    """Runs transactions; used by one thread at a time."""

    def acquire_write_lock(self) -> None:
        """Waits until no other process writes."""

    def try_write_lock(self) -> bool:
        """Takes the lock if no other process holds it or waits for it; returns whether it did."""

    def release_write_lock(self) -> None:
        """Lets the next process write."""

    def run(self, requests: Sequence[Request]) -> None:
        """Does the work of all requests in one transaction and sets their values or errors."""

    def needs_checkpoint(self) -> bool:
        """Returns whether a checkpoint is due."""

    def checkpoint(self) -> None:
        """Makes a checkpoint. No request waits for it."""

    def close(self) -> None:
        """Releases the database; a second call does nothing."""


class GroupCommit:
    """Gathers requests of many threads into few transactions.

    `timeout_seconds` limits how long a request waits for the transactions of other processes.
    """

    def __init__(self, transactions: Transactions, timeout_seconds: float) -> None:
        self._transactions = transactions
        self._timeout = timeout_seconds
        self._state = threading.Condition(threading.Lock())
        self._waiting: deque[Request] = deque()
        self._busy = False
        # whether the latest transaction held one request, and none arrived meanwhile
        self._single_writer = True
        self._closed = False
        self._writer: threading.Thread | None = None

    def submit(self, work: Callable[[Any], int]) -> int:
        """Returns what `work` returned, once its transaction is durable. Raises what `work` raised,
        or Busy when the transaction failed or could not begin.
        """
        return self.submit_all((work,))[0].result()

    def submit_all(self, works: Sequence[Callable[[Any], int]]) -> Sequence[Request]:
        """Runs several works and returns their requests, done; the works share a transaction if
        the calling thread can commit. Raises Busy when the store is closed.
        """
        requests = [Request(work) for work in works]
        if self._begin(requests):
            self._run_in_caller(requests)
        else:
            for request in requests:
                self._await(request)
        return requests

    def close(self) -> None:
        """Refuses new requests and waits until those in flight are done."""
        with self._state:
            self._closed = True
            self._state.notify_all()
            writer = self._writer
        if writer is not None:
            writer.join(_CLOSE_TIMEOUT_SECONDS)
        with self._state:
            self._state.wait_for(lambda: not self._busy, _CLOSE_TIMEOUT_SECONDS)
            if not self._busy:
                self._transactions.close()

    def _begin(self, requests: Sequence[Request]) -> bool:
        """Returns whether the calling thread must run the requests itself; else queues them."""
        with self._state:
            if self._closed:
                raise Busy("the store is closed", kind="closed")
            is_group = len(requests) > 1
            if (
                (self._single_writer or is_group)
                and not self._busy
                and self._transactions.try_write_lock()
            ):
                self._busy = True
                return True
            self._single_writer = False
            self._waiting.extend(requests)
            self._wake_writer()
            return False

    def _wake_writer(self) -> None:
        if self._writer is None:
            self._writer = threading.Thread(
                target=self._writer_loop, name="anabranch-writer", daemon=True
            )
            self._writer.start()
        elif not self._busy:
            self._state.notify_all()

    def _run_in_caller(self, requests: Sequence[Request]) -> None:
        try:
            self._transactions.run(requests)
        finally:
            with self._state:
                self._transactions.release_write_lock()
                self._busy = False
                if self._waiting or self._transactions.needs_checkpoint():
                    self._wake_writer()
                elif self._closed:
                    self._state.notify_all()

    def _await(self, request: Request) -> None:
        done = False
        try:
            done = request.wait(self._timeout)
        finally:
            if not done and not self._withdraw(request):
                request.wait()  # it is in a transaction: the answer comes
                done = True
        if not done:
            request.error = Busy("the database is locked by another process", kind="locked")

    def _withdraw(self, request: Request) -> bool:
        with self._state:
            try:
                self._waiting.remove(request)
            except ValueError:
                return False
            return True

    def _writer_loop(self) -> None:
        """Runs the writer thread until the store is closed."""
        while self._wait_for_work():
            committed = self._commit_waiting() if self._waiting else 0
            if self._transactions.needs_checkpoint():
                self._transactions.checkpoint()
            with self._state:
                self._busy = False
                self._single_writer = committed <= 1 and not self._waiting
                self._state.notify_all()

    def _commit_waiting(self) -> int:
        """Commits all waiting requests and returns their number."""
        self._transactions.acquire_write_lock()
        with self._state:
            group = tuple(self._waiting)
            self._waiting.clear()
        try:
            if group:  # empty if all have timed out meanwhile
                self._transactions.run(group)
        finally:
            self._transactions.release_write_lock()
            for request in group:
                request.set_done()
        return len(group)

    def _wait_for_work(self) -> bool:
        """Waits for work and returns True, or False when the store is closed."""
        with self._state:
            while True:
                if not self._busy:
                    if self._waiting or self._transactions.needs_checkpoint():
                        self._busy = True
                        return True
                    if self._closed:
                        return False
                self._state.wait()
