"""The head of a request: all that comes before its body."""

from __future__ import annotations

from typing import NamedTuple
from urllib.parse import unquote

__all__ = ["RequestHead"]


class RequestHead(NamedTuple):
    """Method, target and headers of a request. `path` is decoded, `raw_path` and `query` are as
    they were sent; headers are as `join_headers` makes them. `client` is the address of the client,
    as a trusted proxy reports it; empty if it reports none.
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
    ) -> RequestHead:
        """Returns the head of a request with a path as it was sent."""
        path = unquote(raw_path) if "%" in raw_path else raw_path
        return cls(method, raw_path, query, headers, path, scheme, client)
