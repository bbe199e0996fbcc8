"""What a store offers that can be told beforehand what a request will read."""

from __future__ import annotations

from collections.abc import Hashable
from contextlib import AbstractContextManager
from typing import Protocol, runtime_checkable

__all__ = ["Foreseeing"]


@runtime_checkable
class Foreseeing(Protocol):
    """A store with requests that are alike."""

    def foreseen(self, topic: Hashable, *keys: bytes) -> AbstractContextManager[None]:
        """Returns a context in which this thread reads what the last request of the topic has read,
        with each of `keys` in place of the one that it was given. Within another such context, it
        is part of that one.
        """
