"""What goes back over the wire, and how values become JSON.

JSON is written as lakeFS writes it: keys in alphabetical order, fields that are not set left out,
one newline at the end.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from typing import Any

import msgspec

__all__ = ["BYTES", "JSON", "TEXT", "Answer", "encode", "header_safe", "json_answer"]

JSON = "application/json"
BYTES = "application/octet-stream"
TEXT = "text/plain; charset=utf-8"

_encoder = msgspec.json.Encoder(order="sorted")
_UNFIT_FOR_HEADER = re.compile(r"[^\x20-\x7e]")


class Answer:
    """An answer: a status, headers beside Content-Type and Content-Length, and a body, either
    whole or as pieces, whose `length` in bytes is then known. An error that is raised before the
    first piece takes the answer's place. `error` is what it tells of, if anything.
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


def encode(value: object) -> bytes:
    """Returns a value as JSON. Text that is no Unicode, which only foreign systems store, is
    shown with replacement characters.
    """
    try:
        return _encoder.encode(value)
    except UnicodeEncodeError:
        return _encoder.encode(_shown(msgspec.to_builtins(value)))


def json_answer(
    status: int,
    value: object,
    headers: Sequence[tuple[str, str]] = (),
    *,
    error: BaseException | None = None,
) -> Answer:
    """Returns an answer whose body is `value` as JSON; bytes are JSON already."""
    body = value if isinstance(value, bytes) else encode(value)
    return Answer(status, body + b"\n", content_type=JSON, headers=headers, error=error)


def header_safe(text: str) -> str:
    """Returns a text with everything that must not stand in a header replaced by `?`."""
    return _UNFIT_FOR_HEADER.sub("?", text)


def _shown(value: Any) -> Any:
    if isinstance(value, str):
        return value.encode("utf-8", "surrogateescape").decode("utf-8", "replace")
    if isinstance(value, dict):
        return {_shown(key): _shown(item) for key, item in value.items()}
    if isinstance(value, list):
        return [_shown(item) for item in value]
    return value
