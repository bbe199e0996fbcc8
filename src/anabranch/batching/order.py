"""The order in which several threads submit items that depend on one another.

A group commit performs its items in the order in which they arrive. A thread whose item expects
what another's makes need not wait until that is durable, only until it has its place:

    with takes_place(mine, key):     first thread: `mine` is set when no later item can overtake
        store.apply(...)
    mine.wait()                      second thread, with the same key
    store.apply(...)

What has no order of all items, such as a database with a connection for each thread, keeps that of
the items of one key. A store without any never sets the event; the caller that waits for it must
set it when the call has returned.
"""

from __future__ import annotations

import threading
from collections.abc import Hashable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from typing import NamedTuple

__all__ = ["current_order", "note_place", "takes_place"]


class _Place(NamedTuple):
    event: threading.Event
    key: Hashable


_place: ContextVar[_Place | None] = ContextVar("place", default=None)


@contextmanager
def takes_place(event: threading.Event, key: Hashable) -> Iterator[None]:
    """Within the context, an event is set when the item that this thread submits has its place
    among those of a key.
    """
    token = _place.set(_Place(event, key))
    try:
        yield
    finally:
        _place.reset(token)


def current_order() -> Hashable | None:
    """Returns the key among whose items that of the calling thread has its place, or None."""
    place = _place.get()
    return None if place is None else place.key


def note_place() -> None:
    """Sets the event of the calling thread, whose item no later one can overtake from now on."""
    place = _place.get()
    if place is not None:
        place.event.set()
