"""Whether the client of the request that this thread performs has gone.

Operations that take long ask now and then, and end early. The server tells it for requests that it
performs on threads; elsewhere a request is never abandoned.
"""

from __future__ import annotations

from collections.abc import Callable
from contextvars import ContextVar, Token

__all__ = ["IsAbandoned", "abandonment", "reset_abandonment", "set_abandonment"]

IsAbandoned = Callable[[], bool]
"""Returns whether the client has disconnected; for use on any thread."""

_current: ContextVar[IsAbandoned] = ContextVar("abandonment", default=lambda: False)


def abandonment() -> IsAbandoned:
    """Returns the function that says so for this thread's request."""
    return _current.get()


def set_abandonment(is_abandoned: IsAbandoned) -> Token[IsAbandoned]:
    """Sets the function for the request that this thread performs now; returns a token to reset
    it.
    """
    return _current.set(is_abandoned)


def reset_abandonment(token: Token[IsAbandoned]) -> None:
    """Ends what `set_abandonment` began."""
    _current.reset(token)
