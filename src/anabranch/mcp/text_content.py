"""Bytes as text, where they are text."""

from __future__ import annotations

__all__ = ["whole_characters"]

_LONGEST_CHARACTER = 4


def whole_characters(content: bytes) -> str | None:
    """Returns bytes of UTF-8 as text, without a character that is cut off at their end; None if
    they are not text, such as with NUL bytes.
    """
    if b"\0" in content:
        return None
    try:
        return content.decode()
    except UnicodeDecodeError as error:
        cut = error.start
        if error.reason != "unexpected end of data" or len(content) - cut >= _LONGEST_CHARACTER:
            return None
        return content[:cut].decode() if cut else None
