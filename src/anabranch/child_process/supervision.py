"""Supervision of a process that works for a request."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from enum import Enum
from typing import Self

from anabranch.child_process.fork_server import StartedProcess

__all__ = ["Stop", "Supervision"]

_WATCH_SECONDS = 0.25
"""How often it is looked whether the client of a request has gone."""


class Stop(Enum):
    """Why a process was killed."""

    ABANDONED = "abandoned"
    TIMED_OUT = "timed out"


class Supervision:
    """Kills a process, until the end of the context, when it has run for `seconds` or the client of
    its request has gone; `is_abandoned` tells, on another thread.
    """

    stop: Stop | None = None
    """Why the process was killed, None if it was not."""

    def __init__(
        self, process: StartedProcess, seconds: float, is_abandoned: Callable[[], bool]
    ) -> None:
        self._process = process
        self._deadline = time.monotonic() + seconds
        self._is_abandoned = is_abandoned
        self._ended = threading.Event()
        self._thread = threading.Thread(target=self._watch, daemon=True)

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._ended.set()
        self._thread.join()

    def _watch(self) -> None:
        while not self._ended.wait(min(_WATCH_SECONDS, max(0.0, self._rest()))):
            if self._is_abandoned():
                self.stop = Stop.ABANDONED
            elif self._rest() <= 0:
                self.stop = Stop.TIMED_OUT
            if self.stop is not None:
                self._process.kill()
                return

    def _rest(self) -> float:
        return self._deadline - time.monotonic()
