"""Percent-encoding of S3's signatures: all bytes but `A-Z a-z 0-9 - . _ ~`, in upper case.

Slashes in a path are not encoded. A `+` in a query is a space.
"""

from __future__ import annotations

from collections.abc import Mapping
from urllib.parse import quote_from_bytes, unquote_to_bytes

__all__ = [
    "decode_text",
    "encode_key",
    "encode_query",
    "query_pairs",
]


def decode_text(text: str) -> str:
    """Returns a decoded name or value of a query, one character for each byte (Latin-1)."""
    if "%" in text or "+" in text:
        return _decode(text).decode("latin-1")
    return text


def query_pairs(query: str) -> list[tuple[str, str, str]]:
    """Returns (name, `=` or "", value) of each part of a query, in order, not decoded."""
    return [part.partition("=") for part in query.split("&") if part] if query else []


def encode_key(key: str) -> str:
    """Returns a key encoded for a path; surrogates stand for bytes that are not UTF-8."""
    return quote_from_bytes(key.encode("utf-8", "surrogateescape"), safe="/")


def encode_query(parameters: Mapping[str, str]) -> str:
    """Returns an encoded query with its `?`, "" for no parameters. Names are not encoded."""
    if not parameters:
        return ""
    return "?" + "&".join(
        f"{name}={quote_from_bytes(value.encode('utf-8', 'surrogateescape'), safe='')}"
        for name, value in parameters.items()
    )


def _decode(text: str) -> bytes:
    return unquote_to_bytes(text.replace("+", " ").encode("latin-1"))
