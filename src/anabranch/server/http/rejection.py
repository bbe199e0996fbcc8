"""The response to an invalid request: plain text, the last one of its connection."""

from __future__ import annotations

from collections.abc import Iterable
from http import HTTPStatus

__all__ = ["STATUS_LINES", "rejection"]

_PHRASES = {status.value: status.phrase for status in HTTPStatus}
STATUS_LINES = {
    status: f"HTTP/1.1 {status} {_PHRASES.get(status, '')}\r\n".encode()
    for status in range(100, 600)
}
"""The status lines of responses."""


def rejection(status: int, reason: str, headers: Iterable[tuple[bytes, bytes]]) -> bytes:
    """Returns a serialized response with these headers and those of all rejections."""
    body = reason.encode()
    lines = [name + b": " + value for name, value in headers]
    lines += [
        b"content-type: text/plain; charset=utf-8",
        b"content-length: %d" % len(body),
        b"connection: close",
    ]
    return STATUS_LINES[status] + b"\r\n".join([*lines, b"", body])
