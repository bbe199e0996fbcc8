"""A lane: many calls on one thread, which wait for the disk or the network together.

A call runs until it needs something that takes as long for one as for many: a sync, a transaction,
an answer of a database. There it stands aside (`together`) and the next call runs; when all stand
aside, what they need is done for all of them in one go. So sixteen writers share one wait, on one
thread, without waking each other; and what they call is written from top to bottom as ever, and
does the same on any other thread.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, TypeAlias, TypeVar

import greenlet

__all__ = ["Call", "Ended", "Lane", "together"]

Item = TypeVar("Item")
Outcome = TypeVar("Outcome")

Ended: TypeAlias = Callable[[Any, BaseException | None], None]
"""Is told what a call returned, or what it raised."""

Call: TypeAlias = tuple[Callable[..., Any], tuple[Any, ...], Ended]
"""A function, its arguments, and who is told how it ended."""

_MOST_KEPT = 64


def together(perform: Callable[[Sequence[Item]], Sequence[Outcome]], item: Item) -> Outcome:
    """Returns what `perform` makes of an item: in a lane, of the items of all calls that wait for
    the same function; elsewhere at once, of this one alone.

    `perform` returns the outcomes in the order of the items. What it raises is raised in each of
    the calls, so what concerns one item is better an outcome. No lock may be held meanwhile that
    another call may want.
    """
    here = greenlet.getcurrent()
    if isinstance(here, _Runner):
        outcome: Outcome = here.stand_aside(perform, item)
        return outcome
    return perform((item,))[0]


class _Runner(greenlet.greenlet):
    """What runs calls, one after another. It is kept for the next, since a new one costs more
    than many a call.
    """

    def __init__(self, lane: Lane) -> None:
        super().__init__()
        self._lane = lane
        self._raised: BaseException | None = None
        self._outcome: Any = None

    def run(self, call: Call | None) -> None:
        """The life of a runner; `switch` gives it the next call, or None when there is none."""
        while call is not None:
            function, arguments, ended = call
            call = None
            try:
                result = function(*arguments)
            except BaseException as error:  # noqa: BLE001  whoever waits for the call is told
                ended(None, error)
            else:
                ended(result, None)
            del function, arguments, ended
            result = None
            call = self._lane.rest(self)

    def stand_aside(self, perform: _Perform, item: Any) -> Any:
        """Lets others run until `perform` was done for this item, too; returns what came of it."""
        self._lane.wait(self, perform, item)
        outcome, raised = self._outcome, self._raised
        self._outcome = self._raised = None
        if raised is not None:
            raise raised
        return outcome

    def go_on(self, outcome: Any, raised: BaseException | None) -> None:
        """Runs the call on, from where it stood aside to where it does again or ends."""
        self._outcome, self._raised = outcome, raised
        self.switch()


_Perform: TypeAlias = Callable[[Sequence[Any]], Sequence[Any]]


class Lane:
    """Calls that run in turns. Used by one thread; `begin` and `perform` are its whole work."""

    def __init__(self) -> None:
        self._hub = greenlet.getcurrent()
        self._resting: list[_Runner] = []
        self._aside: dict[_Perform, list[tuple[_Runner, Any]]] = {}

    @property
    def busy(self) -> bool:
        """Whether calls stand aside."""
        return bool(self._aside)

    def begin(self, function: Callable[..., Any], arguments: tuple[Any, ...], ended: Ended) -> None:
        """Runs a call until it ends or stands aside."""
        runner = self._resting.pop() if self._resting else _Runner(self)
        runner.switch((function, arguments, ended))

    def perform(self) -> None:
        """Does what calls wait for, each thing once, for all that wait for it by then, and runs
        them on. What others have come to last is done first: where calls go from one thing to the
        next, those behind catch up with those in front.
        """
        for function in [*reversed(self._aside)]:
            waiting = self._aside.pop(function)
            outcomes: Sequence[Any] = (None,) * len(waiting)
            raised = None
            try:
                outcomes = function([item for _, item in waiting])
            except BaseException as error:  # noqa: BLE001  each of the calls is told
                raised = error
            for (runner, _), outcome in zip(waiting, outcomes, strict=True):
                runner.go_on(outcome, raised)

    def close(self) -> None:
        """Ends the runners that rest."""
        while self._resting:
            self._resting.pop().switch(None)

    def rest(self, runner: _Runner) -> Call | None:
        """Lets a runner wait for the next call, and returns it."""
        if len(self._resting) >= _MOST_KEPT:
            return None
        self._resting.append(runner)
        call: Call | None = self._hub.switch()
        return call

    def wait(self, runner: _Runner, perform: _Perform, item: Any) -> None:
        """Lets a runner stand aside."""
        self._aside.setdefault(perform, []).append((runner, item))
        self._hub.switch()
