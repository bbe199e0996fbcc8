"""Requests to a server, as a collection that works through one makes them."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, Protocol

__all__ = ["Asking"]


class Asking(Protocol):
    """Requests about repositories, by the segments of their path behind `/repositories`. All raise
    NotFound and the other errors that statuses mean.
    """

    def get(self, *segments: str) -> Any:
        """Returns what an answer in JSON holds."""

    def items(self, *segments: str, **query: str) -> Iterator[Any]:
        """Yields the items of a listing, all pages."""

    def change(
        self,
        method: str,
        *segments: str,
        body: Mapping[str, Any] | None = None,
        query: Mapping[str, str] | None = None,
    ) -> bytes:
        """Makes a request that changes something; returns what is answered."""
