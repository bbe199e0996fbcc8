"""Writes that need not be durable when they return, since nothing is acknowledged because of them.

    with durable_later():
        store.apply(...)

The writes are visible to all at once. A loss of power may lose them, but never without whatever was
written after them: when a later write of the store is durable, they are. So a step that others
build on, such as the sealing of a staging area before a commit, need not wait for the disk by
itself. Stores that cannot tell make them durable at once.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar

__all__ = ["durable_later", "may_be_durable_later"]

_later: ContextVar[bool] = ContextVar("durable_later", default=False)


@contextmanager
def durable_later() -> Iterator[None]:
    """Within the context, the writes of this thread need not be durable when they return."""
    token = _later.set(True)
    try:
        yield
    finally:
        _later.reset(token)


def may_be_durable_later() -> bool:
    """Returns whether a write of the calling thread need not be durable when it returns."""
    return _later.get()
