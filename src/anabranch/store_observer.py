"""Who counts the requests that stores send over the network, and why they repeat them."""

from __future__ import annotations

from typing import Protocol

__all__ = ["UNOBSERVED", "StoreObserver"]


class StoreObserver(Protocol):
    """Learns of the requests of one store. Called on any thread."""

    def sent(self) -> None:
        """Counts a request, however often it is repeated."""

    def repeated(self, reason: str) -> None:
        """Counts that a request is sent once more, for one of a few reasons."""


class _Unobserved:
    def sent(self) -> None:
        """Counts nothing."""

    def repeated(self, reason: str) -> None:
        """Counts nothing."""


UNOBSERVED: StoreObserver = _Unobserved()
"""Counts nothing."""
