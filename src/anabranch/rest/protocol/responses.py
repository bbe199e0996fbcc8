"""JSON responses, in the form of lakeFS: keys in alphabetical order, without fields that are not
set, one newline at the end.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Any

import msgspec

from anabranch.http.response import Response

__all__ = ["BYTES", "JSON", "TEXT", "encode", "json_response", "no_content"]

JSON = "application/json"
BYTES = "application/octet-stream"
TEXT = "text/plain; charset=utf-8"

_OTHER_SURROGATES = re.compile(r"[\ud800-\udc7f\udd00-\udfff]")
"""Those that stand for no byte: JSON of tables may have them as escapes."""

_encoder = msgspec.json.Encoder(order="sorted")


def encode(value: object) -> bytes:
    """Returns a value as JSON. Invalid UTF-8, which other systems may have stored, is replaced by
    replacement characters.
    """
    try:
        return _encoder.encode(value)
    except UnicodeEncodeError:
        return _encoder.encode(_replace_invalid(msgspec.to_builtins(value)))


def json_response(
    status: int,
    value: object,
    headers: Sequence[tuple[str, str]] = (),
    *,
    error: BaseException | None = None,
) -> Response:
    """Returns a response whose body is `value` as JSON; a value of type bytes is JSON already."""
    body = value if isinstance(value, bytes) else encode(value)
    return Response(status, body + b"\n", content_type=JSON, headers=headers, error=error)


def _replace_invalid(value: Any) -> Any:
    if isinstance(value, str):
        escaped = _OTHER_SURROGATES.sub("\N{REPLACEMENT CHARACTER}", value)
        return escaped.encode("utf-8", "surrogateescape").decode("utf-8", "replace")
    if isinstance(value, dict):
        return {_replace_invalid(key): _replace_invalid(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [_replace_invalid(item) for item in value]
    return value


def no_content(_: object) -> None:
    """Returns None, the body of a response without content, for every result."""
