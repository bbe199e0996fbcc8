"""What goes back to a client of S3."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

__all__ = ["XML", "Answer", "header_safe"]

XML = "application/xml"

_UNFIT_FOR_HEADER = re.compile(r"[^\x20-\x7e]")


class Answer:
    """A status, headers beside Content-Type and Content-Length, and a body, whole or in pieces,
    whose `length` in bytes is then known. `error` is what it tells of, if anything.
    """

    __slots__ = ("body", "content_type", "error", "headers", "length", "pieces", "status")

    def __init__(
        self,
        status: int,
        body: bytes = b"",
        *,
        content_type: str = "",
        headers: Sequence[tuple[str, str]] = (),
        pieces: Iterator[bytes] | None = None,
        length: int | None = None,
        error: BaseException | None = None,
    ) -> None:
        self.status = status
        self.body = body
        self.content_type = content_type or (XML if body else "")
        self.headers = headers
        self.pieces = pieces
        self.length = len(body) if length is None else length
        self.error = error


def header_safe(text: str) -> str:
    """Returns a text with everything that must not stand in a header replaced by `?`."""
    if text.isascii() and text.isprintable():
        return text
    return _UNFIT_FOR_HEADER.sub("?", text)
