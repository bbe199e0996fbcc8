"""A request as it was sent, which is what signatures cover.

Text is kept as HTTP has it, one character for each byte (Latin-1), so that no byte is changed
between the wire and the signature.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import TypeAlias

import msgspec

from anabranch import _kernel as kernel

__all__ = ["HeaderPairs", "Request", "header_text", "joined_headers"]

HeaderPairs: TypeAlias = Iterable[tuple[bytes | str, bytes | str]]


class Request(msgspec.Struct, frozen=True, kw_only=True):
    """What a signature covers of a request.

    `path` and `query` are percent-encoded as they were sent, the query without its `?`.
    `headers` are by lower-case name, as `joined_headers` makes them. `bucket` is the one that the
    host names, empty when the path names it.
    """

    method: str
    path: str
    query: str
    headers: dict[str, str]
    bucket: str = ""

    @classmethod
    def received(
        cls,
        method: str,
        path: bytes | str,
        query: bytes | str,
        headers: HeaderPairs,
        *,
        bucket: str = "",
    ) -> Request:
        """Returns a request made of what ASGI gives: `raw_path`, `query_string`, `headers`."""
        return cls(
            method=method,
            path=_text(path),
            query=_text(query),
            headers=joined_headers(headers),
            bucket=bucket,
        )


def joined_headers(headers: HeaderPairs) -> dict[str, str]:
    """Returns headers by lower-case name; the values of a name that comes several times are
    trimmed and joined by commas, in order (RFC 9110, 5.3, and AWS's canonical headers).
    """
    return kernel.joined_headers(headers)


def header_text(value: str) -> str:
    """Returns a header's value as it was meant: UTF-8, which clients send, or Latin-1, which HTTP
    says.
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
