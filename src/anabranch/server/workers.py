"""Threads for what may wait or take long, and the limit on how much may wait for them."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import TypeVar, TypeVarTuple

from anabranch.errors import Busy

__all__ = ["Workers"]

Arguments = TypeVarTuple("Arguments")
Result = TypeVar("Result")


class Workers:
    """A number of threads and of calls that may wait for one; there is no queue beyond that."""

    def __init__(self, name: str, *, threads: int, waiting: int) -> None:
        self._executor = ThreadPoolExecutor(threads, thread_name_prefix=name)
        self._most = threads + waiting
        self._calls = 0

    async def run(self, function: Callable[[*Arguments], Result], *arguments: *Arguments) -> Result:
        """Returns what the function does on a thread. Raises Busy when too many wait already."""
        if self._calls >= self._most:
            raise Busy("too many requests at once, try again later", kind="too_many_requests")
        self._calls += 1
        try:
            return await self.continue_with(function, *arguments)
        finally:
            self._calls -= 1

    async def continue_with(
        self, function: Callable[[*Arguments], Result], *arguments: *Arguments
    ) -> Result:
        """Returns the same for what was let in before: never refused."""
        loop = asyncio.get_running_loop()
        return await loop.run_in_executor(self._executor, function, *arguments)

    def close(self) -> None:
        """Waits for the calls that run; those that wait are dropped."""
        self._executor.shutdown(cancel_futures=True)
