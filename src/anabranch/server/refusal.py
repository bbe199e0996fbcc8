"""The response to what is not a request: plain text, the last one of its connection."""

from __future__ import annotations

from collections.abc import Iterable

from uvicorn.protocols.http.httptools_impl import STATUS_LINE

__all__ = ["refusal"]


def refusal(status: int, reason: str, headers: Iterable[tuple[bytes, bytes]]) -> bytes:
    """Returns a response as it is sent, with these headers and those that every refusal has."""
    body = reason.encode()
    lines = [name + b": " + value for name, value in headers]
    lines += [
        b"content-type: text/plain; charset=utf-8",
        b"content-length: %d" % len(body),
        b"connection: close",
    ]
    return STATUS_LINE[status] + b"\r\n".join([*lines, b"", body])
