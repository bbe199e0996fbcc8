"""Thread pool for calls that block or take long, with a limit on the calls that wait for a thread.

Calls are passed to the threads through one queue, and results return through the event loop; this
takes a fifth of the CPU time of an executor's futures. Calls are counted on the event loop only, so
the counters need no lock.
"""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Callable
from functools import partial
from queue import Empty, SimpleQueue
from typing import Any, Protocol, TypeAlias, TypeVar, TypeVarTuple

from anabranch.batching.scheduler import DoneCallback
from anabranch.errors import Busy

__all__ = ["Executor", "ThreadPool", "too_many_calls"]

Arguments = TypeVarTuple("Arguments")
Result = TypeVar("Result")

_Call: TypeAlias = "tuple[asyncio.Future[Any], Callable[..., Any], tuple[Any, ...]]"


class Executor(Protocol):
    """Runs calls that may block."""

    def submit(
        self, function: Callable[..., Any], arguments: tuple[Any, ...], done: DoneCallback
    ) -> None:
        """Runs a function on another thread than the event loop's; `done` receives its result or
        its exception on the event loop. Raises Busy if too many calls are waiting.
        """


class ThreadPool:
    """Pool of at most `threads` threads, for which at most `waiting` calls wait.

    Used by one event loop.
    """

    def __init__(self, name: str, *, threads: int, waiting: int) -> None:
        self._name = name
        self._max_threads = threads
        self._max_admitted = threads + waiting
        self._admitted = 0
        self._unfinished = 0  # calls in the queue or on a thread
        self._queue: SimpleQueue[_Call | None] = SimpleQueue()
        self._threads: list[threading.Thread] = []

    async def run(self, function: Callable[[*Arguments], Result], *arguments: *Arguments) -> Result:
        """Returns the result of the function, which runs on a thread. Raises Busy if too many calls
        are waiting.
        """
        self._acquire()
        try:
            return await self.run_admitted(function, *arguments)
        finally:
            self._admitted -= 1

    async def run_admitted(
        self, function: Callable[[*Arguments], Result], *arguments: *Arguments
    ) -> Result:
        """Returns the result of the function, which runs on a thread, for a caller that was
        admitted before: the limit does not apply.
        """
        return await self._enqueue(function, arguments)

    def submit(
        self, function: Callable[..., Any], arguments: tuple[Any, ...], done: DoneCallback
    ) -> None:
        """Runs a function on a thread; see `Executor`."""
        self._acquire()
        self._enqueue(function, arguments).add_done_callback(partial(self._call_back, done))

    def _enqueue(
        self, function: Callable[..., Result], arguments: tuple[Any, ...]
    ) -> asyncio.Future[Result]:
        future: asyncio.Future[Result] = asyncio.get_running_loop().create_future()
        if len(self._threads) < min(self._unfinished + 1, self._max_threads):
            self._start()
        self._unfinished += 1
        self._queue.put((future, function, arguments))
        return future

    def _acquire(self) -> None:
        if self._admitted >= self._max_admitted:
            raise too_many_calls()
        self._admitted += 1

    def _call_back(self, done: DoneCallback, future: asyncio.Future[Any]) -> None:
        self._admitted -= 1
        error = future.exception()
        done(None if error is not None else future.result(), error)

    def close(self) -> None:
        """Waits for running calls; waiting calls are dropped."""
        try:
            while True:
                self._queue.get_nowait()
        except Empty:
            pass
        for _ in self._threads:
            self._queue.put(None)
        for thread in self._threads:
            thread.join()

    def _start(self) -> None:
        name = f"{self._name}-{len(self._threads)}"
        thread = threading.Thread(target=self._work, name=name, daemon=True)
        thread.start()
        self._threads.append(thread)

    def _work(self) -> None:
        """Main loop of a thread."""
        while (call := self._queue.get()) is not None:
            future, function, arguments = call
            result, error = None, None
            try:
                if not future.cancelled():
                    result = function(*arguments)
            except BaseException as raised:  # noqa: BLE001  raised again where the future is awaited
                error = raised
            try:
                future.get_loop().call_soon_threadsafe(self._settle, future, result, error)
            except RuntimeError:
                return  # the loop is closed, so no caller waits for the result
            del call, future, function, arguments, result, error

    def _settle(
        self, future: asyncio.Future[Any], result: object, error: BaseException | None
    ) -> None:
        self._unfinished -= 1
        if future.cancelled():
            return
        if error is None:
            future.set_result(result)
        elif isinstance(error, StopIteration):
            future.set_exception(RuntimeError("a call raised StopIteration"))
        else:
            future.set_exception(error)


def too_many_calls() -> Busy:
    """Returns the error for a call that is refused because too many are pending."""
    return Busy("too many requests at once, try again later", kind="too_many_requests")
