"""A thread for calls that wait for the same things, which wait together there (see `lane`).

Calls of one turn of the event loop are handed over in one go, and so is what came of them.
"""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Callable
from contextlib import suppress
from queue import Empty, SimpleQueue
from typing import Any

from anabranch.lane import Call, Ended, Lane
from anabranch.server.workers import too_many_calls

__all__ = ["LaneThread"]


class LaneThread:
    """Runs calls in a lane, `most` of them at once. Used by one event loop."""

    def __init__(self, name: str, *, most: int) -> None:
        self._name = name
        self._most = most
        self._let_in = 0
        self._given: list[Call] = []
        self._loop: asyncio.AbstractEventLoop | None = None
        self._queue: SimpleQueue[list[Call] | None] = SimpleQueue()
        self._ended: list[tuple[Ended, Any, BaseException | None]] = []
        self._thread: threading.Thread | None = None

    def submit(
        self, function: Callable[..., Any], arguments: tuple[Any, ...], ended: Ended
    ) -> None:
        """Has the function run on the thread; what comes of it is told on the event loop, which
        must run now. Raises Busy when too many calls are there.
        """
        if self._let_in >= self._most:
            raise too_many_calls()
        self._let_in += 1
        if not self._given:
            self._loop = asyncio.get_running_loop()
            self._loop.call_soon(self._hand_over)
        self._given.append((function, arguments, ended))

    def close(self) -> None:
        """Waits for the calls that have been handed over."""
        if self._thread is not None:
            self._queue.put(None)
            self._thread.join()

    def _hand_over(self) -> None:
        given, self._given = self._given, []
        self._queue.put(given)
        if self._thread is None:
            self._thread = threading.Thread(target=self._work, name=self._name, daemon=True)
            self._thread.start()

    def _work(self) -> None:
        """The life of the thread."""
        lane = Lane()
        more = True
        while more or lane.busy:
            more = more and self._begin_all(lane)
            if lane.busy:
                lane.perform()
            self._hand_back()
        lane.close()

    def _begin_all(self, lane: Lane) -> bool:
        """Begins the calls that are there, after waiting for some if there is nothing else to do;
        returns whether more may come.
        """
        try:
            while (given := self._queue.get(block=not lane.busy and not self._ended)) is not None:
                for function, arguments, ended in given:
                    lane.begin(function, arguments, self._note(ended))
        except Empty:
            return True
        return False

    def _note(self, ended: Ended) -> Ended:
        return lambda result, error: self._ended.append((ended, result, error))

    def _hand_back(self) -> None:
        if not self._ended or self._loop is None:
            return
        all_ended, self._ended = self._ended, []
        with suppress(RuntimeError):  # of a loop that is closed: nobody waits any more
            self._loop.call_soon_threadsafe(self._tell, all_ended)

    def _tell(self, all_ended: list[tuple[Ended, Any, BaseException | None]]) -> None:
        self._let_in -= len(all_ended)
        for ended, result, error in all_ended:
            ended(result, error)
