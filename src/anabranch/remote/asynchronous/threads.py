"""Threads that run functions for an event loop.

A task that is cancelled stops waiting; its function is not begun, or runs to its end, and its
result is dropped. So is the result for a loop that was closed meanwhile. The threads are daemons: a
program does not wait for their requests when it ends.
"""

from __future__ import annotations

import asyncio
import os
from collections import deque
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import suppress
from threading import Condition, Thread
from typing import Any, Generic, TypeVar

__all__ = ["Threads"]

T = TypeVar("T")

_IDLE_SECONDS = 30.0
_END: Any = object()


class _Task(Generic[T]):
    """A function, and the future of an event loop that gets its result."""

    def __init__(self, function: Callable[[], T], loop: asyncio.AbstractEventLoop) -> None:
        self._function = function
        self._loop = loop
        self.future: asyncio.Future[T] = loop.create_future()

    def run(self) -> None:
        """Runs the function, unless nothing waits for it any more."""
        if self.future.cancelled():
            return
        try:
            result = self._function()
        except BaseException as error:  # noqa: BLE001  raised where the result is awaited
            self.fail(error)
        else:
            self._deliver(lambda: self.future.set_result(result))

    def fail(self, error: BaseException) -> None:
        """Gives the future an error in place of a result."""
        self._deliver(lambda: self.future.set_exception(error))

    def _deliver(self, outcome: Callable[[], None]) -> None:
        def set_outcome() -> None:
            if not self.future.done():
                outcome()

        with suppress(RuntimeError):  # the loop is closed, so that nothing waits
            self._loop.call_soon_threadsafe(set_outcome)


class Threads:
    """At most `most` threads, which are started when they are needed. A forked process has none,
    and starts its own.
    """

    def __init__(self, most: int) -> None:
        self._most = most
        self._start_empty()

    def _start_empty(self) -> None:
        self._process = os.getpid()
        self._changed = Condition()
        self._waiting: deque[_Task[Any]] = deque()
        self._idle = 0
        self._count = 0
        self._is_closed = False

    async def run(self, function: Callable[[], T]) -> T:
        """Returns what a function returns in one of the threads, and raises what it raises. Raises
        RuntimeError after `close`.
        """
        task = _Task(function, asyncio.get_running_loop())
        self._submit(task)
        return await task.future

    async def iterate(self, items: Iterator[T]) -> AsyncIterator[T]:
        """Yields the items of an iterator that is advanced in the threads."""
        while (item := await self.run(lambda: next(items, _END))) is not _END:
            yield item

    def close(self) -> None:
        """Ends the threads after what they are doing. What waits for a thread fails."""
        with self._changed:
            self._is_closed = True
            dropped = list(self._waiting)
            self._waiting.clear()
            self._changed.notify_all()
        for task in dropped:
            task.fail(_closed())

    def _submit(self, task: _Task[Any]) -> None:
        if os.getpid() != self._process:
            self._start_empty()
        with self._changed:
            if self._is_closed:
                raise _closed()
            self._waiting.append(task)
            if self._idle >= len(self._waiting) or self._count == self._most:
                self._changed.notify()
                return
            self._count += 1
        Thread(target=self._work, name="anabranch-request", daemon=True).start()

    def _work(self) -> None:
        while (task := self._next()) is not None:
            task.run()

    def _next(self) -> _Task[Any] | None:
        with self._changed:
            self._idle += 1
            self._changed.wait_for(lambda: self._waiting or self._is_closed, _IDLE_SECONDS)
            self._idle -= 1
            if self._waiting:
                return self._waiting.popleft()
            self._count -= 1
            return None


def _closed() -> RuntimeError:
    return RuntimeError("the lake is closed")
