"""What the request that this thread performs has waited for: stores, hooks, threads, its client.

The server sets the record of a request where it performs it, and the stores and the hooks add to
it. Of parts within each other the outermost counts, and time in which the client sends the body is
the client's alone. Where no record is set, as in a library's process, nothing is measured.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from contextvars import ContextVar
from functools import wraps
from time import perf_counter
from typing import Literal, ParamSpec, TypeVar

__all__ = [
    "Part",
    "SpentTime",
    "current_spent_time",
    "performed",
    "reset_spent_time",
    "set_spent_time",
    "timed",
    "timed_pieces",
]

Part = Literal["keyvalue", "blocks", "hooks"]
"""The key-value store, the block store, and hooks before a change."""

Parameters = ParamSpec("Parameters")
Result = TypeVar("Result")
Item = TypeVar("Item")


class SpentTime:
    """Seconds by part of a request. One thread at a time adds to it."""

    # attributes of the class until they change: most requests set none of them
    client: float = 0.0
    """Waiting for bytes of the body, and for the client to take those of the response."""
    threads: float = 0.0
    """Waiting until a thread was free."""
    keyvalue: float = 0.0
    keyvalue_calls: int = 0
    blocks: float = 0.0
    blocks_calls: int = 0
    hooks: float = 0.0
    sending: float = 0.0
    """Reading what follows the first bytes of a response, and passing it to the system."""
    awaits_body_since: float | None = None
    is_in_part: bool = False
    trace_headers: Mapping[str, str] = {}
    """Headers by which requests to others continue the trace of this one."""

    @property
    def known(self) -> float:
        """The seconds of all parts but `sending`."""
        return self.client + self.threads + self.keyvalue + self.blocks + self.hooks

    def call(
        self,
        part: Part,
        calls: int,
        function: Callable[Parameters, Result],
        *args: Parameters.args,
        **kwargs: Parameters.kwargs,
    ) -> Result:
        """Returns the result of a function, and adds the time that it takes to a part."""
        self.is_in_part = True
        began, client = perf_counter(), self.client
        try:
            return function(*args, **kwargs)
        finally:
            took = perf_counter() - began - (self.client - client)
            self.is_in_part = False
            if part == "keyvalue":
                self.keyvalue += took
                self.keyvalue_calls += calls
            elif part == "blocks":
                self.blocks += took
                self.blocks_calls += calls
            else:
                self.hooks += took


_current: ContextVar[SpentTime | None] = ContextVar("spent time", default=None)

# methods of the variable, since each request calls them
set_spent_time = _current.set
"""Sets the record of the request that this thread performs now; returns a token to reset it."""
reset_spent_time = _current.reset
"""Ends what `set_spent_time` began."""
current_spent_time = _current.get
"""Returns the record of the request that this thread performs, None without one."""


def timed(
    part: Part, *, calls: int = 1
) -> Callable[[Callable[Parameters, Result]], Callable[Parameters, Result]]:
    """Returns a decorator that adds the time in a function to a part of the current request, and
    `calls` to how often it was called.
    """

    def decorate(function: Callable[Parameters, Result]) -> Callable[Parameters, Result]:
        @wraps(function)
        def call(*args: Parameters.args, **kwargs: Parameters.kwargs) -> Result:
            spent = _current.get()
            if spent is None or spent.is_in_part:
                return function(*args, **kwargs)
            return spent.call(part, calls, function, *args, **kwargs)

        return call

    return decorate


def timed_pieces(part: Part, pieces: Iterator[Item]) -> Iterator[Item]:
    """Yields what an iterator does; adds the time until each to a part of the request that asks
    for it.
    """
    following = timed(part, calls=0)(pieces.__next__)
    while True:
        try:
            piece = following()
        except StopIteration:
            return
        yield piece


def performed(
    spent: SpentTime, function: Callable[Parameters, Result]
) -> Callable[Parameters, Result]:
    """Returns the function for a request's thread: what waits for a thread from now until it runs
    there, and what it waits for then, is added to the record.
    """
    queued = perf_counter()

    def perform(*args: Parameters.args, **kwargs: Parameters.kwargs) -> Result:
        spent.threads += perf_counter() - queued
        token = _current.set(spent)
        try:
            return function(*args, **kwargs)
        finally:
            _current.reset(token)

    return perform
