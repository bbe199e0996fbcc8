"""The response of either gateway."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

__all__ = ["BODILESS", "Headers", "Response"]

Headers = list[tuple[str, str]]
"""Names, in any case, and values: text with a character for each byte (Latin-1)."""

BODILESS = frozenset({204, 304})
"""Statuses of responses that have no body, nor its length."""


class Response:
    """A status, headers except Content-Type and Content-Length, and a body: either `body`, a byte
    string, or `pieces`, an iterator, and `length`, their size in bytes. An error raised before
    the first piece replaces the response. `error` is the reported error, if any.
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
        self.content_type = content_type
        self.headers = headers
        self.pieces = pieces
        self.length = len(body) if length is None else length
        self.error = error

    def all_headers(self, first: Headers, content_type: str) -> Headers:
        """Returns `first`, to which the headers of the body and the others are added."""
        if self.status not in BODILESS:
            first.append(("content-length", str(self.length)))
            if content_type:
                first.append(("content-type", content_type))
        first += self.headers
        return first
