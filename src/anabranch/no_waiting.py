"""Calls that must not wait for another machine, such as those on an event loop.

    with no_waiting():
        respond()          raises WouldWait where it would send a request to a store

Code that waits, or takes a lock that is held while others wait, calls `about_to_wait()` first. If
that raises, the caller of `no_waiting` does the work again where waiting is allowed. So the work
must be safe to begin twice.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar

__all__ = ["WouldWait", "about_to_wait", "no_waiting"]

_forbidden: ContextVar[bool] = ContextVar("no_waiting", default=False)


class WouldWait(BaseException):
    """Raised in place of waiting. It is no error: nothing that handles errors may take it."""


@contextmanager
def no_waiting() -> Iterator[None]:
    """Within the context, this thread raises WouldWait instead of waiting for another machine."""
    token = _forbidden.set(True)
    try:
        yield
    finally:
        _forbidden.reset(token)


def about_to_wait() -> None:
    """Must be called before waiting for another machine. Raises WouldWait where that is not
    allowed.
    """
    if _forbidden.get():
        raise WouldWait
