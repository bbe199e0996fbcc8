"""The interface of stores that prefetch what a request will probably read."""

from __future__ import annotations

from collections.abc import Hashable
from contextlib import AbstractContextManager
from typing import Protocol, runtime_checkable

__all__ = ["PrefetchingStore"]


@runtime_checkable
class PrefetchingStore(Protocol):
    """A store that remembers which keys similar requests read."""

    def prefetch(self, pattern_key: Hashable, *keys: bytes) -> AbstractContextManager[None]:
        """Returns a context manager that prefetches what the last request with this pattern key
        has read, with each of `keys` in place of the key which that request named. Within another
        such context it does nothing.
        """
