"""Text from outside, made safe for the value of a header."""

from __future__ import annotations

import re

__all__ = ["header_safe"]

_UNSAFE = re.compile(r"[^\x20-\x7e]")


def header_safe(text: str) -> str:
    """Returns a text with every character replaced by `?` that a header must not contain."""
    if text.isascii() and text.isprintable():
        return text
    return _UNSAFE.sub("?", text)
