"""The head of a request: all that comes before its body."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple
from urllib.parse import unquote

from anabranch.signing.request import joined_headers

__all__ = ["Head"]


class Head(NamedTuple):
    """What was asked. `path` is decoded, `raw_path` and `query` stand as they were sent; headers
    are as `joined_headers` makes them. `client` is where the request came from.
    """

    method: str
    raw_path: str
    query: str
    headers: dict[str, str]
    path: str
    scheme: str
    client: str

    @classmethod
    def sent(
        cls,
        method: str,
        raw_path: str,
        query: str,
        headers: dict[str, str],
        *,
        scheme: str,
        client: str,
    ) -> Head:
        """Returns the head of a request with a path as it was sent."""
        path = unquote(raw_path) if "%" in raw_path else raw_path
        return cls(method, raw_path, query, headers, path, scheme, client)

    @classmethod
    def of(cls, scope: Mapping[str, Any]) -> Head:
        """Returns the head of a request as ASGI has it."""
        client = scope.get("client")
        return cls(
            scope["method"],
            scope["raw_path"].decode("latin-1"),
            scope["query_string"].decode("latin-1"),
            joined_headers(scope["headers"]),
            scope["path"],
            scope["scheme"],
            client[0] if client else "",
        )
