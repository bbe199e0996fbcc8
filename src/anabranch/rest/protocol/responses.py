"""What goes back over the wire, and how values become JSON.

JSON is written as lakeFS writes it: keys in alphabetical order, fields that are not set left out,
one newline at the end.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import msgspec

from anabranch.http.response import Response

__all__ = ["BYTES", "JSON", "TEXT", "encode", "json_response", "no_content"]

JSON = "application/json"
BYTES = "application/octet-stream"
TEXT = "text/plain; charset=utf-8"

_encoder = msgspec.json.Encoder(order="sorted")


def encode(value: object) -> bytes:
    """Returns a value as JSON. Text that is no Unicode, which only foreign systems store, is
    shown with replacement characters.
    """
    try:
        return _encoder.encode(value)
    except UnicodeEncodeError:
        return _encoder.encode(_shown(msgspec.to_builtins(value)))


def json_response(
    status: int,
    value: object,
    headers: Sequence[tuple[str, str]] = (),
    *,
    error: BaseException | None = None,
) -> Response:
    """Returns an answer whose body is `value` as JSON; bytes are JSON already."""
    body = value if isinstance(value, bytes) else encode(value)
    return Response(status, body + b"\n", content_type=JSON, headers=headers, error=error)


def _shown(value: Any) -> Any:
    if isinstance(value, str):
        return value.encode("utf-8", "surrogateescape").decode("utf-8", "replace")
    if isinstance(value, dict):
        return {_shown(key): _shown(item) for key, item in value.items()}
    if isinstance(value, list):
        return [_shown(item) for item in value]
    return value


def no_content(_: object) -> None:
    """Returns the body of a response without content, whatever the result is."""
