"""Work on threads that nothing waits for: a process ends, or its event loop, while they still run.

The threads of asyncio's own executor are joined at the end of the loop. One that waits for a client
that sends nothing, or has not noticed yet that its call was cancelled, would hold that up.
"""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Callable
from contextlib import suppress
from typing import Generic, TypeVar

__all__ = ["in_daemon_thread"]

T = TypeVar("T")


def in_daemon_thread(work: Callable[[], T]) -> asyncio.Future[T]:
    """Starts work on a thread; returns the future of its result, for the running event loop."""
    call = _Call(work)
    threading.Thread(target=call.perform, name="mcp", daemon=True).start()
    return call.future


class _Call(Generic[T]):
    """Work, and the future of its result."""

    def __init__(self, work: Callable[[], T]) -> None:
        self._work = work
        self._loop = asyncio.get_running_loop()
        self.future: asyncio.Future[T] = self._loop.create_future()

    def perform(self) -> None:
        """Does the work, on the thread."""
        try:
            result = self._work()
        except BaseException as error:  # noqa: BLE001  raised where the future is awaited
            self._finish(self._fail, error)
        else:
            self._finish(self._succeed, result)

    def _finish(self, settle: Callable[..., None], outcome: object) -> None:
        with suppress(RuntimeError):  # the loop is closed
            self._loop.call_soon_threadsafe(settle, outcome)

    def _succeed(self, result: T) -> None:
        if not self.future.done():
            self.future.set_result(result)

    def _fail(self, error: BaseException) -> None:
        if not self.future.done():
            self.future.set_exception(error)
