"""Threads for what may wait or take long, and the limit on how much may wait for them.

A call goes to a thread through one queue and its result comes back through the event loop's own,
which takes a fifth of what an executor's futures take. Everything that counts calls happens on the
loop, so it needs no lock.
"""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Callable
from functools import partial
from queue import Empty, SimpleQueue
from typing import Any, Protocol, TypeAlias, TypeVar, TypeVarTuple

from anabranch.errors import Busy
from anabranch.lane import Ended

__all__ = ["Calls", "Workers", "too_many_calls"]

Arguments = TypeVarTuple("Arguments")
Result = TypeVar("Result")

_Call: TypeAlias = "tuple[asyncio.Future[Any], Callable[..., Any], tuple[Any, ...]]"


class Calls(Protocol):
    """Where calls run that may wait."""

    def submit(
        self, function: Callable[..., Any], arguments: tuple[Any, ...], ended: Ended
    ) -> None:
        """Has a function run on another thread than the event loop's, on which what comes of it is
        told. Raises Busy when too many calls wait already.
        """


class Workers:
    """A number of threads and of calls that may wait for one; there is no queue beyond that.

    Used by one event loop.
    """

    def __init__(self, name: str, *, threads: int, waiting: int) -> None:
        self._name = name
        self._most_threads = threads
        self._most = threads + waiting
        self._let_in = 0
        self._unfinished = 0  # given to threads
        self._queue: SimpleQueue[_Call | None] = SimpleQueue()
        self._threads: list[threading.Thread] = []

    async def run(self, function: Callable[[*Arguments], Result], *arguments: *Arguments) -> Result:
        """Returns what the function does on a thread. Raises Busy when too many wait already."""
        self._let_one_in()
        try:
            return await self.continue_with(function, *arguments)
        finally:
            self._let_in -= 1

    async def continue_with(
        self, function: Callable[[*Arguments], Result], *arguments: *Arguments
    ) -> Result:
        """Returns the same for what was let in before: never refused."""
        return await self._begun(function, arguments)

    def submit(
        self, function: Callable[..., Any], arguments: tuple[Any, ...], ended: Ended
    ) -> None:
        """Has a function run on a thread; see `Calls`."""
        self._let_one_in()
        self._begun(function, arguments).add_done_callback(partial(self._told, ended))

    def _begun(
        self, function: Callable[..., Result], arguments: tuple[Any, ...]
    ) -> asyncio.Future[Result]:
        future: asyncio.Future[Result] = asyncio.get_running_loop().create_future()
        if len(self._threads) < min(self._unfinished + 1, self._most_threads):
            self._start()
        self._unfinished += 1
        self._queue.put((future, function, arguments))
        return future

    def _let_one_in(self) -> None:
        if self._let_in >= self._most:
            raise too_many_calls()
        self._let_in += 1

    def _told(self, ended: Ended, future: asyncio.Future[Any]) -> None:
        self._let_in -= 1
        error = future.exception()
        ended(None if error is not None else future.result(), error)

    def close(self) -> None:
        """Waits for the calls that run; those that wait are dropped."""
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
        """The life of a thread."""
        while (call := self._queue.get()) is not None:
            future, function, arguments = call
            result, error = None, None
            try:
                if not future.cancelled():
                    result = function(*arguments)
            except BaseException as raised:  # noqa: BLE001  it is raised where it is awaited
                error = raised
            try:
                future.get_loop().call_soon_threadsafe(self._settle, future, result, error)
            except RuntimeError:
                return  # the loop has been closed: nobody waits any more
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
    """Returns the error that refuses a call where too many are let in already."""
    return Busy("too many requests at once, try again later", kind="too_many_requests")
