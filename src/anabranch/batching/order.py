"""The order in which several threads submit items that depend on one another.

A group commit performs its items in the order in which they arrive. A thread whose item expects
what another's makes need not wait until that is durable, only until it has its place:

    with takes_place(mine):          first thread: `mine` is set when no later item can overtake
        store.apply(...)
    mine.wait()                      second thread
    store.apply(...)

What has no such order, such as a database with a connection for each thread, never sets the event;
the caller that waits for it must set it when the call has returned.
"""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar

__all__ = ["note_place", "takes_place"]

_event: ContextVar[threading.Event | None] = ContextVar("place", default=None)


@contextmanager
def takes_place(event: threading.Event) -> Iterator[None]:
    """Within the context, an event is set when the item that this thread submits has its place."""
    token = _event.set(event)
    try:
        yield
    finally:
        _event.reset(token)


def note_place() -> None:
    """Sets the event of the calling thread, whose item no later one can overtake from now on."""
    event = _event.get()
    if event is not None:
        event.set()
