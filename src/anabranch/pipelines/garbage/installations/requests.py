"""The interface of the requests that a collection through a server makes."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, Protocol

__all__ = ["ServerRequests"]


class ServerRequests(Protocol):
    """Requests about repositories, by the path segments after `/repositories`. All methods raise
    the error that corresponds to the status of the response, such as NotFound.
    """

    def get(self, *segments: str) -> Any:
        """Returns the decoded JSON of a response."""

    def items(self, *segments: str, **query: str) -> Iterator[Any]:
        """Yields the items of all pages of a listing."""

    def change(
        self,
        method: str,
        *segments: str,
        body: Mapping[str, Any] | None = None,
        query: Mapping[str, str] | None = None,
    ) -> bytes:
        """Sends a request that changes something; returns the body of the response."""
