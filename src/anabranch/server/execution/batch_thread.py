"""A thread for calls that wait for the same things and wait together there (see `BatchScheduler`).

Calls of one turn of the event loop are handed over in one go, and so is what came of them.
"""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Callable
from contextlib import suppress
from queue import Empty, SimpleQueue
from typing import Any

from anabranch.batching.scheduler import BatchScheduler, Call, DoneCallback
from anabranch.server.execution.thread_pool import too_many_calls

__all__ = ["BatchThread"]


class BatchThread:
    """Runs calls under a batch scheduler, `max_calls` of them at once. Used by one event loop."""

    def __init__(self, name: str, *, max_calls: int) -> None:
        self._name = name
        self._max_calls = max_calls
        self._admitted = 0
        self._submitted: list[Call] = []
        self._loop: asyncio.AbstractEventLoop | None = None
        self._queue: SimpleQueue[list[Call] | None] = SimpleQueue()
        self._ended: list[tuple[DoneCallback, Any, BaseException | None]] = []
        self._thread: threading.Thread | None = None

    def submit(
        self, function: Callable[..., Any], arguments: tuple[Any, ...], done: DoneCallback
    ) -> None:
        """Runs a function on the thread; `done` receives its result on the event loop, which
        must run now. Raises Busy when too many calls are there.
        """
        if self._admitted >= self._max_calls:
            raise too_many_calls()
        self._admitted += 1
        if not self._submitted:
            self._loop = asyncio.get_running_loop()
            self._loop.call_soon(self._hand_to_thread)
        self._submitted.append((function, arguments, done))

    def close(self) -> None:
        """Waits for the calls that have been handed over."""
        if self._thread is not None:
            self._queue.put(None)
            self._thread.join()

    def _hand_to_thread(self) -> None:
        submitted, self._submitted = self._submitted, []
        self._queue.put(submitted)
        if self._thread is None:
            self._thread = threading.Thread(target=self._work, name=self._name, daemon=True)
            self._thread.start()

    def _work(self) -> None:
        """The life of the thread."""
        scheduler = BatchScheduler()
        more = True
        while more or scheduler.busy:
            more = more and self._start_all(scheduler)
            if scheduler.busy:
                scheduler.flush()
            self._hand_to_loop()
        scheduler.close()

    def _start_all(self, scheduler: BatchScheduler) -> bool:
        """Begins the calls that are there, after waiting for some if there is nothing else to do;
        returns whether more may come.
        """
        try:
            while (
                submitted := self._queue.get(block=not scheduler.busy and not self._ended)
            ) is not None:
                for function, arguments, done in submitted:
                    scheduler.start(function, arguments, self._note(done))
        except Empty:
            return True
        return False

    def _note(self, done: DoneCallback) -> DoneCallback:
        return lambda result, error: self._ended.append((done, result, error))

    def _hand_to_loop(self) -> None:
        if not self._ended or self._loop is None:
            return
        all_ended, self._ended = self._ended, []
        with suppress(RuntimeError):  # of a loop that is closed: no caller waits any more
            self._loop.call_soon_threadsafe(self._call_back, all_ended)

    def _call_back(self, all_ended: list[tuple[DoneCallback, Any, BaseException | None]]) -> None:
        self._admitted -= len(all_ended)
        for done, result, error in all_ended:
            done(result, error)
