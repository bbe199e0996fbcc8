"""A request as it was sent, which signatures cover.

Text is decoded as Latin-1, one character for each byte, so that no byte changes between the wire
and the signature.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import TypeAlias

import msgspec

from anabranch import _kernel as kernel

__all__ = ["HeaderPairs", "Request", "header_text", "join_headers"]

HeaderPairs: TypeAlias = Iterable[tuple[bytes | str, bytes | str]]


class Request(msgspec.Struct, frozen=True, kw_only=True):
    """The parts of a request that a signature covers.

    `path` and `query` are percent-encoded as they were sent, the query without its `?`.
    `headers` have lower-case names, as `join_headers` returns them. `bucket` is that of a
    virtual-hosted request, empty if the path has it.
    """

    method: str
    path: str
    query: str
    headers: dict[str, str]
    bucket: str = ""

    @classmethod
    def from_wire(
        cls,
        method: str,
        path: bytes | str,
        query: bytes | str,
        headers: HeaderPairs,
        *,
        bucket: str = "",
    ) -> Request:
        """Returns a request made of a path and a query as they are sent, and pairs of headers."""
        return cls(
            method=method,
            path=_text(path),
            query=_text(query),
            headers=join_headers(headers),
            bucket=bucket,
        )


def join_headers(headers: HeaderPairs) -> dict[str, str]:
    """Returns headers by lower-case name. Values are trimmed; those of a repeated name are joined
    by commas, in order (RFC 9110, 5.3, and AWS's canonical headers).
    """
    return kernel.joined_headers(headers)


def header_text(value: str) -> str:
    """Returns a header's value decoded as UTF-8, which clients send, or else as Latin-1, which HTTP
    specifies.
    """
    if value.isascii():
        return value
    try:
        return value.encode("latin-1").decode()
    except UnicodeDecodeError:
        return value


def _text(raw: bytes | str) -> str:
    if isinstance(raw, bytes):
        return raw.decode("latin-1")
    if raw.isascii():
        return raw
    try:
        raw.encode("latin-1")
    except UnicodeEncodeError:
        return raw.encode("utf-8", "surrogatepass").decode("latin-1")
    return raw
