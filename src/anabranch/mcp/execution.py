"""Runs the work of calls on threads, within their limits, and cancels it with them."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Callable
from functools import partial
from typing import TypeVar

from anabranch.errors import Busy
from anabranch.mcp.api import Api, Performer
from anabranch.mcp.cancellation import Cancellation
from anabranch.mcp.daemon_thread import in_daemon_thread
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
        call = partial(_perform, work, Api(performer, cancellation), self._slots)
        try:
            future = in_daemon_thread(call)
        except RuntimeError:
            self._slots.release()
            raise Busy("no thread could be started", kind="too_many_calls") from None
        try:
            async with asyncio.timeout(self._limits.seconds):
                return await future
        except TimeoutError:
            raise Busy(
                f"the call took longer than {self._limits.seconds:g} seconds",
                kind="call_timeout",
                hint="Ask for less: a narrower prefix, fewer rows, or an aggregate.",
            ) from None
        finally:
            cancellation.cancel()


def _perform(work: Callable[[Api], T], api: Api, slots: threading.BoundedSemaphore) -> T:
    """Returns what the work of a call returns, and gives its place back when that has ended."""
    try:
        return work(api)
    finally:
        slots.release()
