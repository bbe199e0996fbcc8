"""Thread for calls that wait for shared resources; a `BatchScheduler` batches their waits.

Calls submitted in one iteration of the event loop are passed to the thread together, and their
results are passed back together.
"""

from __future__ import annotations

import asyncio
import sys
import threading
import time
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
        self._performed = 0
        self._responded = 0
        self._clock: int | None = None
        self._waited = 0.0
        self._submitted: list[Call] = []
        self._loop: asyncio.AbstractEventLoop | None = None
        self._queue: SimpleQueue[list[Call] | None] = SimpleQueue()
        self._ended: list[tuple[DoneCallback, Any, BaseException | None]] = []
        self._thread: threading.Thread | None = None
        self._turn_ended = threading.Event()

    @property
    def is_busy(self) -> bool:
        """Whether it has calls to perform. For the event loop."""
        return self._admitted > self._performed

    def used_seconds(self) -> float:
        """Returns the processor time of the thread so far, in seconds; where the system does not
        tell it, for how long the event loop has waited for turns.
        """
        return self._waited if self._clock is None else time.clock_gettime(self._clock)

    def await_turn(self, seconds: float) -> bool:
        """Waits until the thread has performed an operation that its calls wait for, or has nothing
        to do, or for so long; returns whether it has done so since the last call.
        """
        self._waited += seconds
        had_ended = self._turn_ended.is_set()
        self._turn_ended.clear()
        has_ended = self._turn_ended.wait(seconds)
        self._turn_ended.clear()
        return has_ended or had_ended

    def submit(
        self, function: Callable[..., Any], arguments: tuple[Any, ...], done: DoneCallback
    ) -> None:
        """Runs a function on the thread; `done` receives its result on the event loop. Must be
        called on the running event loop. Raises Busy if too many calls are pending.
        """
        if self._admitted - self._responded >= self._max_calls:
            raise too_many_calls()
        self._admitted += 1
        if not self._submitted:
            self._loop = asyncio.get_running_loop()
            self._loop.call_soon(self._flush_to_thread)
        self._submitted.append((function, arguments, done))

    def close(self) -> None:
        """Waits until the calls that were passed to the thread have ended."""
        if self._thread is not None:
            self._queue.put(None)
            self._thread.join()

    def _flush_to_thread(self) -> None:
        submitted, self._submitted = self._submitted, []
        self._queue.put(submitted)
        if self._thread is None:
            self._thread = threading.Thread(target=self._work, name=self._name, daemon=True)
            self._thread.start()
            if sys.platform == "linux" and self._thread.ident is not None:
                self._clock = time.pthread_getcpuclockid(self._thread.ident)

    def _work(self) -> None:
        """Main loop of the thread."""
        scheduler = BatchScheduler()
        more = True
        while more or scheduler.busy:
            more = more and self._start_all(scheduler)
            for _ in scheduler.steps():
                self._turn_ended.set()  # it has mostly waited for the disk until now
            self._flush_to_loop()
            self._turn_ended.set()
        scheduler.close()

    def _start_all(self, scheduler: BatchScheduler) -> bool:
        """Starts the queued calls, and waits for some if the thread is idle. Returns False once the
        thread is being closed.
        """
        try:
            while (
                submitted := self._queue.get(block=not scheduler.busy and not self._ended)
            ) is not None:
                for function, arguments, done in submitted:
                    scheduler.start(function, arguments, self._collect_result(done))
        except Empty:
            return True
        return False

    def _collect_result(self, done: DoneCallback) -> DoneCallback:
        return lambda result, error: self._ended.append((done, result, error))

    def _flush_to_loop(self) -> None:
        if not self._ended or self._loop is None:
            return
        all_ended, self._ended = self._ended, []
        self._performed += len(all_ended)
        with suppress(RuntimeError):  # the loop is closed, so no caller waits for the results
            self._loop.call_soon_threadsafe(self._run_callbacks, all_ended)

    def _run_callbacks(
        self, all_ended: list[tuple[DoneCallback, Any, BaseException | None]]
    ) -> None:
        self._responded += len(all_ended)
        for done, result, error in all_ended:
            done(result, error)
