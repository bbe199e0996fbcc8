"""Processes that stop ahead of each step that they ask of the stores, so that a test decides which
of several goes on, and which never does.

    process = SteppedProcess(lambda: ...)     # what it does, with stores that call `process.before`
    process.advance()                         # up to its first step

Each runs in a thread of its own, of which one goes on at a time: the test's, or that of the process
that the test advances. What other threads ask of the stores on its behalf goes on without a stop.
"""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import NamedTuple

__all__ = ["Killed", "Step", "SteppedProcess"]

_PATIENCE_SECONDS = 120


class Killed(BaseException):
    """The end of a process: nothing that it asks of the stores from then on takes effect."""


class Step(NamedTuple):
    """A step that a process asks of a store: the name of the contract's method, and the address or
    partition that it is about.
    """

    operation: str
    subject: str


class SteppedProcess:
    """A process that has not begun. `act` is what it does."""

    def __init__(self, act: Callable[[], object]) -> None:
        self._act = act
        self._thread = threading.Thread(target=self._run, daemon=True)
        self._go = threading.Semaphore(0)
        self._stopped = threading.Semaphore(0)
        self._failure: Exception | None = None
        self.step: Step | None = None
        """The step that it stopped ahead of."""
        self.ended = False
        self.killed = False
        self.result: object = None
        self.error: BaseException | None = None

    def before(self, operation: str, subject: str) -> None:
        """Stops the process; to be called by its stores ahead of each step."""
        if not self.killed and threading.current_thread() is self._thread:
            self.step = Step(operation, subject)
            self._stopped.release()
            self._go.acquire()
            failure, self._failure = self._failure, None
            if failure is not None:
                raise failure
        if self.killed:
            raise Killed

    def advance(self, failure: Exception | None = None) -> None:
        """Carries out the step that it stopped ahead of, up to the next one or the end; with a
        `failure`, the store raises that instead. Raises AssertionError if that takes minutes.
        """
        self._failure = failure
        if self._thread.ident is None:
            self._thread.start()
        else:
            self._go.release()
        assert self._stopped.acquire(timeout=_PATIENCE_SECONDS), f"hangs after {self.step}"

    def kill(self) -> None:
        """Ends the process where it is."""
        if not self.ended:
            self.killed = True
            if self._thread.ident is not None:
                self.advance()
            self.ended = True

    def _run(self) -> None:
        try:
            self.result = self._act()
        except Killed:
            pass
        except BaseException as error:  # noqa: BLE001  the test asks for it
            self.error = error
        self.ended = True
        self._stopped.release()
