"""What a store offers that can be told beforehand what a request will read."""

from __future__ import annotations

from collections.abc import Hashable
from contextlib import AbstractContextManager
from typing import Protocol, runtime_checkable

__all__ = ["Foreseeing"]


@runtime_checkable
class Foreseeing(Protocol):
    """A store with requests that are alike."""

    def foreseen(self, topic: Hashable, key: bytes) -> AbstractContextManager[None]:
        """Returns a context in which this thread reads what the last request of the topic has read,
        with `key` in place of the key that it was given.
        """
