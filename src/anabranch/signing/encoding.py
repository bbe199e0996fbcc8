"""Percent-encoding as S3's signatures want it: every byte but `A-Z a-z 0-9 - . _ ~`, in capitals.

In a path the slash stays; a path is decoded and encoded once, never normalised, since `//`, `.`
and `..` are parts of keys. In a query `+` is a space.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from urllib.parse import quote_from_bytes, unquote_to_bytes

__all__ = [
    "canonical_pairs",
    "canonical_path",
    "decoded_text",
    "encode_key",
    "encode_query",
    "query_pairs",
]

# What encoding would leave as it is: plain characters, and encodings of those that need one.
_NEEDS_ENCODING = r"[01][0-9A-F]|2[0-9A-C]|3[A-F]|40|5[B-E]|60|7[B-DF]|[89A-F][0-9A-F]"
_PATH = re.compile(rf"[\w.~/-]*(?:%(?:{_NEEDS_ENCODING})[\w.~/-]*)*", re.ASCII)
_PLAIN_TEXT = rf"[\w.~-]*(?:%(?:{_NEEDS_ENCODING}|2F)[\w.~-]*)*"
_TEXT = re.compile(_PLAIN_TEXT, re.ASCII)
_QUERY = re.compile(rf"(?:{_PLAIN_TEXT}(?:={_PLAIN_TEXT})?(?:&|\Z))*", re.ASCII)


def canonical_path(path: str) -> str:
    """Returns a path as it was sent, encoded anew; `/` for an empty one."""
    if _PATH.fullmatch(path):
        return path or "/"
    return quote_from_bytes(unquote_to_bytes(path.encode("latin-1")), safe="/")


def canonical_pairs(query: str) -> list[tuple[str, str]]:
    """Returns the names and values of a query as it was sent, encoded anew, in order."""
    pairs = [(name, value) for name, _, value in query_pairs(query)]
    if _QUERY.fullmatch(query):
        return pairs
    return [(_canonical_text(name), _canonical_text(value)) for name, value in pairs]


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


def _canonical_text(text: str) -> str:
    return text if _TEXT.fullmatch(text) else quote_from_bytes(_decoded(text), safe="")


def _decoded(text: str) -> bytes:
    return unquote_to_bytes(text.replace("+", " ").encode("latin-1"))
