"""Runs the work of calls on threads, within their limits, and cancels it with them."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Callable
from contextlib import suppress
from typing import Generic, TypeVar

from anabranch.errors import Busy
from anabranch.mcp.api import Api, Performer
from anabranch.mcp.cancellation import Cancellation
from anabranch.mcp.limits import DEFAULT_LIMITS, CallLimits

__all__ = ["Runner"]

T = TypeVar("T")


class Runner:
    """Runs calls of all clients of a process."""

    def __init__(self, limits: CallLimits = DEFAULT_LIMITS) -> None:
        self._limits = limits
        self._slots = threading.BoundedSemaphore(limits.calls)

    async def run(self, performer: Performer, work: Callable[[Api], T]) -> T:
        """Returns what `work` returns on a thread, with the API as the performer's caller.

        Raises Busy if too many calls run (kind too_many_calls), and after the time limit (kind
        call_timeout). If this is cancelled, or the time is over, what the thread waits for is
        aborted, and what it returns is dropped.
        """
        if not self._slots.acquire(blocking=False):
            raise Busy(
                f"{self._limits.calls} calls are running",
                kind="too_many_calls",
                hint="Send fewer calls at once, and this one again when others have ended.",
            )
        cancellation = Cancellation()
        call = _Call(work, Api(performer, cancellation), self._slots)
        try:
            async with asyncio.timeout(self._limits.seconds):
                return await call.start()
        except TimeoutError:
            raise Busy(
                f"the call took longer than {self._limits.seconds:g} seconds",
                kind="call_timeout",
                hint="Ask for less: a narrower prefix, fewer rows, or an aggregate.",
            ) from None
        finally:
            cancellation.cancel()


class _Call(Generic[T]):
    """One call: its thread, and the future of its result. The thread is a daemon, so that a process
    can end while the thread of a cancelled call has not yet noticed.
    """

    def __init__(
        self, work: Callable[[Api], T], api: Api, slots: threading.BoundedSemaphore
    ) -> None:
        self._work = work
        self._api = api
        self._slots = slots
        self._loop = asyncio.get_running_loop()
        self._future: asyncio.Future[T] = self._loop.create_future()

    def start(self) -> asyncio.Future[T]:
        """Starts the thread; returns the future of the result."""
        threading.Thread(target=self._perform, name="mcp-call", daemon=True).start()
        return self._future

    def _perform(self) -> None:
        try:
            result = self._work(self._api)
        except BaseException as error:  # noqa: BLE001  raised where the call is awaited
            self._finish(None, error)
        else:
            self._finish(result, None)
        finally:
            self._slots.release()

    def _finish(self, result: T | None, error: BaseException | None) -> None:
        with suppress(RuntimeError):  # the loop of a cancelled call is closed
            self._loop.call_soon_threadsafe(self._settle, result, error)

    def _settle(self, result: T | None, error: BaseException | None) -> None:
        if self._future.done():
            return
        if error is not None:
            self._future.set_exception(error)
        else:
            self._future.set_result(result)  # type: ignore[arg-type]
