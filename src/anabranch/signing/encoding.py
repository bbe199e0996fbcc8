"""Percent-encoding as S3's signatures want it: every byte but `A-Z a-z 0-9 - . _ ~`, in capitals.

In a path the slash stays. In a query `+` is a space.
"""

from __future__ import annotations

from collections.abc import Mapping
from urllib.parse import quote_from_bytes, unquote_to_bytes

__all__ = [
    "decoded_text",
    "encode_key",
    "encode_query",
    "query_pairs",
]


def decoded_text(text: str) -> str:
    """Returns a name or a value of a query decoded, a character for each byte (Latin-1)."""
    if "%" in text or "+" in text:
        return _decoded(text).decode("latin-1")
    return text


def query_pairs(query: str) -> list[tuple[str, str, str]]:
    """Returns (name, `=` or nothing, value) of each part of a query, in order, not decoded."""
    return [part.partition("=") for part in query.split("&") if part] if query else []


def encode_key(key: str) -> str:
    """Returns a key as a path has it; for bytes that are not UTF-8, surrogates stand."""
    return quote_from_bytes(key.encode("utf-8", "surrogateescape"), safe="/")


def encode_query(parameters: Mapping[str, str]) -> str:
    """Returns a query as a URL has it, with its `?`; nothing for no parameters. Names are plain."""
    if not parameters:
        return ""
    return "?" + "&".join(
        f"{name}={quote_from_bytes(value.encode('utf-8', 'surrogateescape'), safe='')}"
        for name, value in parameters.items()
    )


def _decoded(text: str) -> bytes:
    return unquote_to_bytes(text.replace("+", " ").encode("latin-1"))
