"""Cooperative scheduler that batches calls waiting for the same resource.

A call runs until it needs an operation that takes as long for one item as for many: a sync, a
transaction, a query. It suspends there (`batch`) and the next call runs; when all calls are
suspended, each operation they wait for is performed once for all of its items. Sixteen writers
share one wait on one thread without waking each other. The calls are plain synchronous code that
behaves the same on any other thread.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Any, TypeAlias, TypeVar

import greenlet

__all__ = ["BatchScheduler", "Call", "DoneCallback", "batch"]

Item = TypeVar("Item")
Outcome = TypeVar("Outcome")

DoneCallback: TypeAlias = Callable[[Any, BaseException | None], None]
"""Receives what a call returned, or the exception it raised."""

Call: TypeAlias = tuple[Callable[..., Any], tuple[Any, ...], DoneCallback]
"""A function, its arguments, and the callback that receives its result."""

_MAX_PARKED = 64


def batch(call_many: Callable[[Sequence[Item]], Sequence[Outcome]], item: Item) -> Outcome:
    """Returns the outcome of `call_many` for an item: under a scheduler it is called once with the
    items of all calls that wait for the same function; elsewhere at once with this item alone.

    `call_many` returns the outcomes in the order of the items. An exception it raises is raised in
    each of the calls, so an error of a single item should be an outcome. The caller must not hold
    a lock that another call may want.
    """
    current = greenlet.getcurrent()
    if isinstance(current, _Runner):
        outcome: Outcome = current.suspend(call_many, item)
        return outcome
    return call_many((item,))[0]


class _Runner(greenlet.greenlet):
    """Runs calls one after another. It is kept for the next call, since creating one costs more
    than many calls do.
    """

    def __init__(self, scheduler: BatchScheduler) -> None:
        super().__init__()
        self._scheduler = scheduler
        self._raised: BaseException | None = None
        self._outcome: Any = None

    def run(self, call: Call | None) -> None:
        """Runs calls; `switch` passes the next one, or None to end."""
        while call is not None:
            function, arguments, done = call
            call = None
            try:
                result = function(*arguments)
            except BaseException as error:  # noqa: BLE001  the callback receives it
                done(None, error)
            else:
                done(result, None)
            del function, arguments, done
            result = None
            call = self._scheduler.park(self)

    def suspend(self, call_many: _CallMany, item: Any) -> Any:
        """Lets other calls run until `call_many` was called for this item; returns its outcome."""
        self._scheduler.suspend(self, call_many, item)
        outcome, raised = self._outcome, self._raised
        self._outcome = self._raised = None
        if raised is not None:
            raise raised
        return outcome

    def resume(self, outcome: Any, raised: BaseException | None) -> None:
        """Continues a suspended call until it suspends again or ends."""
        self._outcome, self._raised = outcome, raised
        self.switch()


_CallMany: TypeAlias = Callable[[Sequence[Any]], Sequence[Any]]


class BatchScheduler:
    """Runs calls in turns on the thread that created it, which calls `start` and `steps`."""

    def __init__(self) -> None:
        self._hub = greenlet.getcurrent()
        self._parked: list[_Runner] = []
        self._suspended: dict[_CallMany, list[tuple[_Runner, Any]]] = {}

    @property
    def busy(self) -> bool:
        """Whether calls are suspended."""
        return bool(self._suspended)

    def start(
        self, function: Callable[..., Any], arguments: tuple[Any, ...], done: DoneCallback
    ) -> None:
        """Runs a call until it ends or suspends."""
        runner = self._parked.pop() if self._parked else _Runner(self)
        runner.switch((function, arguments, done))

    def steps(self) -> Iterator[None]:
        """Performs each operation that calls wait for, once for all that wait for it by then, and
        resumes them; yields in between, when it was performed. The operation reached last is
        performed first: where calls pass through the same operations in turn, those behind catch up
        with those in front.
        """
        for call_many in [*reversed(self._suspended)]:
            waiting = self._suspended.pop(call_many)
            outcomes: Sequence[Any] = (None,) * len(waiting)
            raised = None
            try:
                outcomes = call_many([item for _, item in waiting])
            except BaseException as error:  # noqa: BLE001  raised in each of the calls
                raised = error
            yield
            for (runner, _), outcome in zip(waiting, outcomes, strict=True):
                runner.resume(outcome, raised)

    def close(self) -> None:
        """Ends the parked runners."""
        while self._parked:
            self._parked.pop().switch(None)

    def park(self, runner: _Runner) -> Call | None:
        """Keeps a runner for the next call, and returns that."""
        if len(self._parked) >= _MAX_PARKED:
            return None
        self._parked.append(runner)
        call: Call | None = self._hub.switch()
        return call

    def suspend(self, runner: _Runner, call_many: _CallMany, item: Any) -> None:
        """Suspends a runner until `steps` has performed the operation."""
        self._suspended.setdefault(call_many, []).append((runner, item))
        self._hub.switch()
