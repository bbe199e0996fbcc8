"""Thread pool for calls that block or take long, with a limit on the calls that wait for a thread.

Callers take turns, and none may hold all threads; see `FairQueue`. Calls are passed to the threads
through one queue, and results return through the event loop; this takes a fifth of the CPU time of
an executor's futures. Calls are counted on the event loop only, so the counters need no lock.
"""

from __future__ import annotations

import asyncio
import threading
from collections import Counter
from collections.abc import Callable
from functools import partial
from queue import Empty, SimpleQueue
from typing import Any, Protocol, TypeAlias, TypeVar, TypeVarTuple

from anabranch.batching.scheduler import DoneCallback
from anabranch.errors import Busy
from anabranch.server.execution.fair_queue import FairQueue

__all__ = ["PoolObserver", "ThreadPool", "too_many_calls"]

Arguments = TypeVarTuple("Arguments")
Result = TypeVar("Result")

_Target: TypeAlias = "asyncio.Future[Any] | DoneCallback"
"""What learns the outcome of a call: a future, or the callback of `submit`."""

_Call: TypeAlias = (
    "tuple[str, asyncio.AbstractEventLoop, _Target, Callable[..., Any], tuple[Any, ...]]"
)

_SHARE = 3 / 4
"""The share of threads, and of the calls that may wait, that one caller can have."""


class PoolObserver(Protocol):
    """Learns how full pools are. Called on the event loop."""

    def call_refused(self, pool: str) -> None:
        """Counts a call that was refused since too many waited."""

    def calls_waiting(self, pool: str, count: int) -> None:
        """Receives how many calls of a pool wait for a thread, when that changes."""


class ThreadPool:
    """Pool of at most `threads` threads, for which at most `waiting` calls wait. Of either, one
    caller has at most three quarters.

    Used by one event loop.
    """

    def __init__(
        self,
        name: str,
        *,
        threads: int,
        waiting: int,
        observer: PoolObserver | None = None,
    ) -> None:
        self._name = name
        self._max_threads = threads
        self._max_admitted = threads + waiting
        self._max_of_caller = max(1, int(self._max_admitted * _SHARE))
        self._observer = observer
        self._observed = 0
        self._admitted = 0
        self._admitted_of: Counter[str] = Counter()
        self._unfinished = 0  # calls passed to the threads
        self._waiting: FairQueue[_Call] = FairQueue(max(1, int(threads * _SHARE)))
        self._queue: SimpleQueue[_Call | None] = SimpleQueue()
        self._threads: list[threading.Thread] = []

    async def run(
        self,
        function: Callable[[*Arguments], Result],
        *arguments: *Arguments,
        caller: str = "",
    ) -> Result:
        """Returns the result of the function, which runs on a thread. Raises Busy if too many calls
        are waiting, in all or of the caller.
        """
        self._acquire(caller)
        try:
            return await self.run_admitted(function, *arguments, caller=caller)
        finally:
            self._leave(caller)

    async def run_admitted(
        self,
        function: Callable[[*Arguments], Result],
        *arguments: *Arguments,
        caller: str = "",
    ) -> Result:
        """Returns the result of the function, which runs on a thread, for a caller that was
        admitted before: the limit does not apply.
        """
        future: asyncio.Future[Result] = asyncio.get_running_loop().create_future()
        self._enqueue(caller, future, function, arguments)
        return await future

    def submit(
        self,
        function: Callable[..., Any],
        arguments: tuple[Any, ...],
        done: DoneCallback,
        *,
        caller: str = "",
    ) -> None:
        """Runs a function on a thread; `done` receives its result or its exception on the event
        loop. Raises Busy as `run` does.
        """
        self._acquire(caller)
        # a future would call back in another round of the loop
        self._enqueue(caller, partial(self._call_back, done, caller), function, arguments)

    def _enqueue(
        self,
        caller: str,
        target: _Target,
        function: Callable[..., Any],
        arguments: tuple[Any, ...],
    ) -> None:
        loop = asyncio.get_running_loop()
        self._waiting.add(caller, (caller, loop, target, function, arguments))
        self._pass_on()

    def _pass_on(self) -> None:
        """Passes calls whose turn it is to the threads that are free."""
        while self._unfinished < self._max_threads and (taken := self._waiting.take()) is not None:
            self._unfinished += 1
            if len(self._threads) < self._unfinished:
                self._start()
            self._queue.put(taken[1])
        waiting = len(self._waiting)
        if waiting != self._observed and self._observer is not None:
            self._observed = waiting
            self._observer.calls_waiting(self._name, waiting)

    def _acquire(self, caller: str) -> None:
        of_caller = self._admitted_of[caller] if caller else 0
        if self._admitted >= self._max_admitted or of_caller >= self._max_of_caller:
            if self._observer is not None:
                self._observer.call_refused(self._name)
            raise too_many_calls()
        self._admitted += 1
        self._admitted_of[caller] += 1

    def _leave(self, caller: str) -> None:
        self._admitted -= 1
        self._admitted_of[caller] -= 1
        if not self._admitted_of[caller]:
            del self._admitted_of[caller]

    def _call_back(
        self, done: DoneCallback, caller: str, result: object, error: BaseException | None
    ) -> None:
        self._leave(caller)
        done(result, error)

    def close(self) -> None:
        """Waits for running calls; waiting calls are dropped."""
        self._waiting.clear()
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
            caller, loop, target, function, arguments = call
            result, error = None, None
            try:
                if not isinstance(target, asyncio.Future) or not target.cancelled():
                    result = function(*arguments)
            except BaseException as raised:  # noqa: BLE001  raised again where the future is awaited
                error = raised
            try:
                loop.call_soon_threadsafe(self._settle, caller, target, result, error)
            except RuntimeError:
                return  # the loop is closed, so no caller waits for the result
            del call, loop, target, function, arguments, result, error

    def _settle(
        self, caller: str, target: _Target, result: object, error: BaseException | None
    ) -> None:
        self._unfinished -= 1
        self._waiting.release(caller)
        self._pass_on()
        if isinstance(error, StopIteration):  # which no future may have
            error = RuntimeError("a call raised StopIteration")
        if not isinstance(target, asyncio.Future):
            target(result, error)
        elif target.cancelled():
            return
        elif error is None:
            target.set_result(result)
        else:
            target.set_exception(error)


def too_many_calls() -> Busy:
    """Returns the error for a call that is refused because too many are pending."""
    return Busy("too many requests at once, try again later", kind="too_many_requests")
